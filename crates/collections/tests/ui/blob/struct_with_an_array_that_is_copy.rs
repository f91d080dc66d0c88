use ancho_collections::{BlobArray, BlobData};

#[derive(BlobData, Clone, Copy)]
#[repr(C)]
struct Curve {
    samples: BlobArray<f32>,
}

fn main() {}
