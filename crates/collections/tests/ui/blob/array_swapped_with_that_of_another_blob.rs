use ancho_collections::{BlobArray, BlobBuilder, BlobData};

#[derive(BlobData, Default)]
#[repr(C)]
struct Curve {
    samples: BlobArray<f32>,
}

fn main() {
    let mut one = BlobBuilder::new(Curve::default()).build().unwrap();
    let mut other = BlobBuilder::new(Curve::default()).build().unwrap();
    std::mem::swap(&mut one.samples, &mut other.samples);
}
