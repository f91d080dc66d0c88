use ancho_collections::{BlobArray, BlobBuilder, BlobData};

#[derive(BlobData, Default)]
#[repr(C)]
struct Curve {
    samples: BlobArray<f32>,
}

fn main() {
    let mut builder = BlobBuilder::new(Curve::default());
    let root = builder.root();
    let values = (0..3).map(|_| {
        builder.array(root, |curve| &curve.samples, [1.0]).unwrap();
        2.0
    });
    builder.array(root, |curve| &curve.samples, values).unwrap();
}
