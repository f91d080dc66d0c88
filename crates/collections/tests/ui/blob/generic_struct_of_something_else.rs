use ancho_collections::{BlobBuilder, BlobData};

#[derive(BlobData)]
#[repr(C)]
struct Wrap<T>(T);

fn main() {
    let _ = BlobBuilder::new(Wrap(String::new()));
}
