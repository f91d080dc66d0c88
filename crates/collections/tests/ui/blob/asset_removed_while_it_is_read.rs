use ancho_collections::{BlobBuilder, BlobStore};

fn main() {
    let mut store = BlobStore::new();
    let height = store.insert(BlobBuilder::new(1.5).build().unwrap());
    let value = store.get(height).unwrap();
    store.remove(height).unwrap();
    assert_eq!(*value, 1.5);
}
