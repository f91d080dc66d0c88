use ancho_collections::BlobData;

#[derive(BlobData)]
struct Any {
    small: u8,
    large: u32,
}

#[derive(BlobData)]
#[repr(C, packed)]
struct Packed {
    small: u8,
    large: u32,
}

fn main() {}
