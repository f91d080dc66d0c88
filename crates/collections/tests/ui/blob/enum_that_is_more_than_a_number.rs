use ancho_collections::BlobData;

#[derive(BlobData)]
enum NoSize {
    One,
    Two,
}

#[derive(BlobData)]
#[repr(u8)]
enum Fields {
    One(u32),
    Two,
}

#[derive(BlobData)]
#[repr(u8)]
enum Never {}

fn main() {}
