use ancho_collections::BlobData;

#[derive(BlobData)]
#[repr(C)]
union Either {
    number: u32,
    fraction: f32,
}

fn main() {}
