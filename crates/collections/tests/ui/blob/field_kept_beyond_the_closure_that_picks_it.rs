use ancho_collections::{BlobArray, BlobBuilder, BlobData};

#[derive(BlobData, Default)]
#[repr(C)]
struct Curve {
    samples: BlobArray<f32>,
}

fn main() {
    let mut builder = BlobBuilder::new(Curve::default());
    let mut kept = None;
    let pick = |curve: &Curve| {
        kept = Some(&curve.samples);
        &curve.samples
    };
    builder.array(builder.root(), pick, [1.0]).unwrap();
}
