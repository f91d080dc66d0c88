use ancho_collections::BlobData;

#[derive(BlobData)]
#[repr(C)]
struct Borrowed<'a> {
    text: &'a str,
}

fn main() {}
