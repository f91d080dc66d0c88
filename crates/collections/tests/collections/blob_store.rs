//! The lifetime of assets in stores.

use std::collections::HashSet;

use ancho_collections::{
    BlobArray, BlobAsset, BlobAssetReference, BlobBuilder, BlobError, BlobReader, BlobStore,
};
use ancho_jobs::{JobCell, JobPool, JobScheduler};

fn numbers(numbers: &[u32]) -> BlobAsset<BlobArray<u32>> {
    let mut builder = BlobBuilder::new(BlobArray::new());
    builder.array(builder.root(), |root| root, numbers.iter().copied()).unwrap();
    builder.build().unwrap()
}

#[test]
fn assets_are_found_until_they_are_removed() {
    let mut store = BlobStore::new();
    let first = store.insert(numbers(&[1, 2, 3]));
    let second = store.insert(numbers(&[4]));
    assert_eq!(store.len(), 2);
    assert_eq!(store.get(first).unwrap()[2], 3);
    let removed = store.remove(first).unwrap();
    assert_eq!(
        store.get(first).unwrap_err().to_string(),
        "A0040: the blob asset `ancho_collections::blob::relative::BlobArray<u32>` was disposed; remove it \
         from its store only when no reference to it is left in use"
    );
    assert_eq!(store.get(second).unwrap()[0], 4);
    // The asset itself lives as long as a clone of it.
    assert_eq!(removed[2], 3);
    assert_eq!(store.len(), 1);
}

#[test]
fn an_asset_is_removed_once() {
    let mut store = BlobStore::new();
    let reference = store.insert(numbers(&[1]));
    store.remove(reference).unwrap();
    assert!(matches!(store.remove(reference), Err(BlobError::Disposed { .. })));
    assert!(store.is_empty());
}

#[test]
fn a_reference_never_leads_to_a_later_asset() {
    let mut store = BlobStore::new();
    let old = store.insert(numbers(&[1]));
    store.remove(old).unwrap();
    let new = store.insert(numbers(&[2]));
    assert_ne!(old, new);
    assert!(store.get(old).is_err());
    assert_eq!(store.get(new).unwrap()[0], 2);
    assert!(store.remove(old).is_err());
    assert_eq!(store.get(new).unwrap()[0], 2);
}

#[test]
fn null_leads_to_nothing() {
    let mut store = BlobStore::new();
    store.insert(BlobBuilder::new(7).build().unwrap());
    let null = BlobAssetReference::<i32>::default();
    assert_eq!(
        store.get(null).unwrap_err().to_string(),
        "A0041: the reference to a blob asset `i32` is null; set it to what `BlobStore::insert` returns"
    );
    assert_eq!(store.remove(null), Err(BlobError::Null { asset: "i32" }));
    assert_eq!(null, BlobAssetReference::from_bits(0));
}

#[test]
fn references_of_another_store_are_refused() {
    let (mut store, mut other) = (BlobStore::new(), BlobStore::new());
    store.insert(BlobBuilder::new(7).build().unwrap());
    let foreign = other.insert(BlobBuilder::new(7).build().unwrap());
    assert_eq!(
        store.get(foreign).unwrap_err().to_string(),
        "A0042: the reference to a blob asset `i32` is of another store; use the store that it was inserted in"
    );
    assert_eq!(store.remove(foreign), Err(BlobError::ForeignStore { asset: "i32" }));
}

#[test]
fn references_of_another_type_are_refused() {
    let mut store = BlobStore::new();
    let reference = store.insert(BlobBuilder::new(7_u8).build().unwrap());
    let wrong = BlobAssetReference::<BlobArray<u8>>::from_bits(reference.to_bits());
    assert_eq!(
        store.get(wrong).unwrap_err().to_string(),
        "A0043: the reference to a blob asset `ancho_collections::blob::relative::BlobArray<u8>` refers to a `u8`; \
         create references from bits only with the type that the bits came from"
    );
    assert!(matches!(store.remove(wrong), Err(BlobError::WrongType { .. })));
    assert_eq!(store.get(reference), Ok(&7));
}

#[test]
fn no_bits_lead_to_a_missing_asset() {
    let mut store = BlobStore::new();
    let reference = store.insert(BlobBuilder::new(7_u8).build().unwrap());
    let gone = store.insert(BlobBuilder::new(8_u8).build().unwrap());
    store.remove(gone).unwrap();
    for bit in 0..128 {
        let forged = BlobAssetReference::<u8>::from_bits(reference.to_bits() ^ (1 << bit));
        assert!(store.get(forged).is_err(), "{forged:?}");
        // The next generation of an empty slot does not exist yet.
        let forged = BlobAssetReference::<u8>::from_bits(gone.to_bits() ^ (1 << bit));
        assert!(store.get(forged).is_err() || forged == reference, "{forged:?}");
    }
}

#[test]
fn equal_assets_of_one_type_are_kept_once() {
    let mut store = BlobStore::new();
    let first = store.insert(numbers(&[1, 2]));
    let second = store.insert(numbers(&[1, 2]));
    assert_eq!((first, store.len()), (second, 1));
    assert_ne!(first, store.insert(numbers(&[1, 3])));

    // Equal bytes of another type are another asset.
    let signed = store.insert(BlobBuilder::new(7_i32).build().unwrap());
    let unsigned = store.insert(BlobBuilder::new(7_u32).build().unwrap());
    assert_ne!(signed.to_bits(), unsigned.to_bits());
    assert_eq!(store.len(), 4);

    store.remove(first).unwrap();
    assert_eq!(store.get(second).unwrap()[1], 2);
    store.remove(second).unwrap();
    assert!(store.remove(second).is_err());
    // After its removal, an equal asset is a new one.
    assert_ne!(store.insert(numbers(&[1, 2])), first);
}

#[test]
fn references_are_keys() {
    let mut store = BlobStore::new();
    let references: HashSet<_> = (0..10).map(|index| store.insert(numbers(&[index]))).collect();
    assert_eq!(references.len(), 10);
    assert_eq!(size_of::<BlobAssetReference<BlobArray<u32>>>(), 16);
    assert_eq!(format!("{:?}", BlobAssetReference::<u8>::NULL), "BlobAssetReference<u8>(null)");
}

#[test]
fn readers_see_the_store_as_it_was() {
    let mut store = BlobStore::new();
    let first = store.insert(numbers(&[1]));
    let reader = store.reader();
    store.remove(first).unwrap();
    let second = store.insert(numbers(&[2]));
    assert_eq!(reader.get(first).unwrap()[0], 1);
    assert!(reader.get(second).is_err());
    let later = store.reader();
    assert!(later.get(first).is_err());
    assert_eq!(later.get(second).unwrap()[0], 2);
    drop(store);
    assert_eq!((reader.get(first).unwrap()[0], later.get(second).unwrap()[0]), (1, 2));
}

#[test]
fn jobs_read_while_the_owner_continues() {
    let jobs = JobScheduler::new(&JobPool::new());
    let mut store = BlobStore::new();
    let mut sums: Vec<JobCell<u32>> = (0..8).map(|_| JobCell::new(0)).collect();
    let mut handles = Vec::new();
    for (round, sum) in sums.iter_mut().enumerate() {
        let reference = store.insert(numbers(&[round as u32; 1000]));
        let reader = store.reader();
        let job = jobs.schedule(&[], sum.write(), move |sum| {
            *sum = reader.get(reference).unwrap().iter().sum();
        });
        handles.push(job.unwrap());
        store.remove(reference).unwrap();
    }
    for handle in handles {
        jobs.complete(handle);
    }
    for (round, sum) in sums.iter().enumerate() {
        assert_eq!(sum.get(), Ok(&(round as u32 * 1000)));
    }
}

#[test]
fn assets_readers_and_references_can_be_sent_to_other_threads() {
    fn crosses<T: Send + Sync + 'static>() {}
    crosses::<BlobAsset<BlobArray<u32>>>();
    crosses::<BlobAssetReference<BlobArray<u32>>>();
    crosses::<BlobReader>();
    crosses::<BlobStore>();

    let asset = numbers(&[1, 2, 3]);
    let clone = asset.clone();
    let sum = std::thread::spawn(move || clone.iter().sum::<u32>()).join().unwrap();
    assert_eq!(sum, asset.iter().sum());
}
