use ancho_collections::BlobData;

#[derive(BlobData)]
#[repr(C, align(32))]
struct Line {
    bytes: [u8; 32],
}

fn main() {}
