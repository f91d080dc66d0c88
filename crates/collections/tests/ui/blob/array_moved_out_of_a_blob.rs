use ancho_collections::{BlobArray, BlobBuilder, BlobData};

#[derive(BlobData, Default)]
#[repr(C)]
struct Curve {
    samples: BlobArray<f32>,
}

fn main() {
    let curve = BlobBuilder::new(Curve::default()).build().unwrap();
    let _moved: BlobArray<f32> = curve.samples;
}
