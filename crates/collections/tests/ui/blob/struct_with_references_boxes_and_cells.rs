use std::cell::Cell;

use ancho_collections::BlobData;

#[derive(BlobData)]
#[repr(C)]
struct Reference {
    text: &'static str,
}

#[derive(BlobData)]
#[repr(C)]
struct Boxed {
    value: Box<u32>,
}

#[derive(BlobData)]
#[repr(C)]
struct Celled {
    value: Cell<u32>,
}

#[derive(BlobData)]
#[repr(C)]
struct Pointed {
    value: *const u32,
}

fn main() {}
