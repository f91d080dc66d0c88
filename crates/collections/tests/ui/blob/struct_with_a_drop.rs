use ancho_collections::BlobData;

#[derive(BlobData)]
#[repr(C)]
struct Handle(u32);

impl Drop for Handle {
    fn drop(&mut self) {}
}

#[derive(BlobData)]
#[repr(C)]
struct Generic<T>(T);

impl<T> Drop for Generic<T> {
    fn drop(&mut self) {}
}

fn main() {}
