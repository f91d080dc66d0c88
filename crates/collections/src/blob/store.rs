//! Store of the assets that components refer to, and the reader by which jobs access them.
#![expect(unsafe_code, reason = "lends assets whose type it has compared")]

use std::any::{TypeId, type_name};
use std::collections::HashMap;
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use super::asset::{BlobAsset, Block};
use super::data::BlobData;
use super::error::BlobError;
use super::reference::BlobAssetReference;

/// A store of the blob assets that components refer to.
///
/// It returns a [`BlobAssetReference`] for each asset, and the asset for a reference. Equal assets
/// of one type are kept once. Each [`insert`](Self::insert) adds one to a count and each
/// [`remove`](Self::remove) subtracts one. At zero the asset is disposed of, and references to it
/// return an error.
///
/// Jobs and other threads read through a [`BlobReader`], which keeps alive the state of the store at the time the reader was
/// created.
///
/// # Determinism
///
/// References depend only on the order of the calls, except for the number of the store, which
/// counts the stores of the program.
///
/// # Examples
///
/// ```
/// use ancho_collections::{BlobBuilder, BlobStore};
///
/// let mut store = BlobStore::new();
/// let height = store.insert(BlobBuilder::new(1.5).build().unwrap());
/// assert_eq!(store.get(height), Ok(&1.5));
/// store.remove(height).unwrap();
/// let refused = store.get(height).unwrap_err();
/// assert!(refused.to_string().starts_with("A0040: the blob asset `f64` was disposed"));
/// ```
pub struct BlobStore {
    /// The slots, shared with readers. A change copies the table while readers exist.
    table: Arc<Table>,
    /// Number of inserts minus removes of each slot's asset. The counts are not in the table, so that changes of a count do not
    /// copy the table.
    counts: Vec<u64>,
    /// Slots that can be used again, the last first.
    free: Vec<u32>,
    /// The slots of all assets, by type and content hash.
    by_content: HashMap<(TypeId, u64), Vec<u32>>,
    length: usize,
}

impl BlobStore {
    /// Creates an empty store.
    ///
    /// # Panics
    ///
    /// Panics if the program has created 4,294,967,295 stores.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::BlobStore;
    ///
    /// assert!(BlobStore::new().is_empty());
    /// ```
    #[track_caller]
    pub fn new() -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        // Relaxed: only uniqueness matters.
        let made = MADE.fetch_update(Relaxed, Relaxed, |made| made.checked_add(1));
        let table = Table::new(made.expect("a program makes fewer than 2^32 blob stores") + 1);
        let (counts, free, by_content) = (Vec::new(), Vec::new(), HashMap::new());
        Self { table: Arc::new(table), counts, free, by_content, length: 0 }
    }

    /// Puts an asset in the store, and returns the reference to it.
    ///
    /// If the store has an equal asset of the same type, its count rises by one, and its reference
    /// is returned. Equal means equal bytes, as with `==`.
    ///
    /// # Complexity
    ///
    /// The first change after a [`reader`](Self::reader) was created copies the table, which has one entry for each asset, if the
    /// reader still exists.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{BlobBuilder, BlobStore};
    ///
    /// let mut store = BlobStore::new();
    /// let first = store.insert(BlobBuilder::new(1.5).build().unwrap());
    /// let second = store.insert(BlobBuilder::new(1.5).build().unwrap());
    /// assert_eq!(first, second);
    /// // An asset must be removed as often as it was inserted.
    /// store.remove(first).unwrap();
    /// assert_eq!(store.get(second), Ok(&1.5));
    /// store.remove(second).unwrap();
    /// assert!(store.get(second).is_err());
    /// ```
    pub fn insert<T: BlobData>(&mut self, asset: BlobAsset<T>) -> BlobAssetReference<T> {
        let indices = self.by_content.entry(content_key(&asset)).or_default();
        let is_equal = |index: &&u32| {
            let block = self.table.block(**index);
            block.is_some_and(|block| block.as_bytes() == asset.as_bytes())
        };
        if let Some(index) = indices.iter().find(is_equal) {
            self.counts[*index as usize] += 1;
            return self.table.reference(*index);
        }
        let table = Arc::make_mut(&mut self.table);
        let index = self.free.pop().unwrap_or_else(|| {
            self.counts.push(0);
            table.add()
        });
        indices.push(index);
        self.length += 1;
        self.counts[index as usize] = 1;
        table.fill(index, asset)
    }

    /// Lowers the count of an asset, and removes it from the store at zero.
    ///
    /// Returns the asset. References to it return an error once it is removed; existing readers
    /// still see it. Unity calls this `Dispose`.
    ///
    /// # Errors
    ///
    /// Returns an error if the asset was already removed, or if the reference is null, of another store
    /// or of another type.
    ///
    /// # Complexity
    ///
    /// The first change after a [`reader`](Self::reader) was created copies the table, as for [`insert`](Self::insert).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{BlobBuilder, BlobStore};
    ///
    /// let mut store = BlobStore::new();
    /// let height = store.insert(BlobBuilder::new(1.5).build().unwrap());
    /// assert_eq!(*store.remove(height).unwrap(), 1.5);
    /// assert!(store.remove(height).is_err());
    /// ```
    pub fn remove<T: BlobData>(
        &mut self,
        reference: BlobAssetReference<T>,
    ) -> Result<BlobAsset<T>, BlobError> {
        let asset = self.table.asset(reference)?;
        let index = reference.index;
        let count = &mut self.counts[index as usize];
        *count -= 1;
        if *count == 0 {
            self.length -= 1;
            let key = content_key(&asset);
            if let Some(indices) = self.by_content.get_mut(&key) {
                indices.retain(|other| *other != index);
                if indices.is_empty() {
                    self.by_content.remove(&key);
                }
            }
            if Arc::make_mut(&mut self.table).clear(index) {
                self.free.push(index);
            }
        }
        Ok(asset)
    }

    /// Returns the root of an asset.
    ///
    /// # Errors
    ///
    /// Returns an error if the asset was removed, or if the reference is null, of another store or of
    /// another type.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{BlobBuilder, BlobStore};
    ///
    /// let mut store = BlobStore::new();
    /// let height = store.insert(BlobBuilder::new(1.5).build().unwrap());
    /// assert_eq!(store.get(height), Ok(&1.5));
    /// ```
    #[inline]
    pub fn get<T: BlobData>(&self, reference: BlobAssetReference<T>) -> Result<&T, BlobError> {
        self.table.get(reference)
    }

    /// Returns an asset with a reference count of its own: it outlives removal from the store.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`get`](Self::get).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{BlobBuilder, BlobStore};
    ///
    /// let mut store = BlobStore::new();
    /// let height = store.insert(BlobBuilder::new(1.5_f32).build().unwrap());
    /// let file = store.asset(height).unwrap().to_bytes(1);
    /// assert_eq!(file.len(), 48 + 4);
    /// ```
    pub fn asset<T: BlobData>(
        &self,
        reference: BlobAssetReference<T>,
    ) -> Result<BlobAsset<T>, BlobError> {
        self.table.asset(reference)
    }

    /// Returns a snapshot of the store, for jobs and other threads.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{BlobBuilder, BlobStore};
    ///
    /// let mut store = BlobStore::new();
    /// let height = store.insert(BlobBuilder::new(1.5).build().unwrap());
    /// let reader = store.reader();
    /// store.remove(height).unwrap();
    /// assert_eq!(reader.get(height), Ok(&1.5));
    /// ```
    pub fn reader(&self) -> BlobReader {
        BlobReader::new(self.table.clone())
    }

    /// Returns the number of assets.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{BlobBuilder, BlobStore};
    ///
    /// let mut store = BlobStore::new();
    /// store.insert(BlobBuilder::new(1.5).build().unwrap());
    /// assert_eq!(store.len(), 1);
    /// ```
    pub fn len(&self) -> usize {
        self.length
    }

    /// Returns whether there are no assets.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::BlobStore;
    ///
    /// assert!(BlobStore::new().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }
}

fn content_key<T: BlobData>(asset: &BlobAsset<T>) -> (TypeId, u64) {
    (TypeId::of::<T>(), asset.content_hash())
}

impl Default for BlobStore {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for BlobStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlobStore({} assets)", self.len())
    }
}

/// A snapshot of a [`BlobStore`](crate::BlobStore), for jobs and other threads.
///
/// Creating or cloning a reader costs one increment of a reference count. A reader can be sent to other threads and shared.
/// Assets that are inserted later are not in the reader, and assets that are removed later stay in it.
///
/// # Examples
///
/// ```
/// use ancho_collections::{BlobBuilder, BlobStore};
/// use ancho_jobs::{JobPool, JobScheduler};
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let mut store = BlobStore::new();
/// let height = store.insert(BlobBuilder::new(1.5).build().unwrap());
/// let reader = store.reader();
/// let job = jobs.schedule(&[], (), move |()| assert_eq!(reader.get(height), Ok(&1.5)));
/// jobs.complete(job.unwrap());
/// ```
#[derive(Clone)]
pub struct BlobReader {
    table: Arc<Table>,
}

impl BlobReader {
    fn new(table: Arc<Table>) -> Self {
        Self { table }
    }

    /// Returns the root of an asset.
    ///
    /// # Errors
    ///
    /// Returns an error if the asset was removed before the reader was created, or if the reference is null, of another store or
    /// of another type.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{BlobBuilder, BlobStore};
    ///
    /// let mut store = BlobStore::new();
    /// let height = store.insert(BlobBuilder::new(1.5).build().unwrap());
    /// let reader = store.reader();
    /// std::thread::spawn(move || assert_eq!(reader.get(height), Ok(&1.5))).join().unwrap();
    /// ```
    #[inline]
    pub fn get<T: BlobData>(&self, reference: BlobAssetReference<T>) -> Result<&T, BlobError> {
        self.table.get(reference)
    }
}

impl fmt::Debug for BlobReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlobReader(store {}, {} slots)", self.table.store, self.table.len())
    }
}

/// The slots of a store. The table of a reader never changes.
#[derive(Clone)]
struct Table {
    /// Number of the store.
    store: u32,
    slots: Vec<Slot>,
}

/// The slot of one asset.
#[derive(Clone)]
struct Slot {
    /// The generation of the slot's asset; of an empty slot, that of the next asset.
    generation: u32,
    /// The lower half of the content hash; 0 if there is no asset.
    content: u32,
    /// The type of the root; that of `Empty` if there is no asset.
    asset: TypeId,
    name: &'static str,
    /// Pointer to the root; dangling if there is no asset. Duplicated from the block, to save a
    /// load.
    root: NonNull<u8>,
    block: Option<Arc<Block>>,
}

// SAFETY: the root is in the block, which the slot has a count on, and which is `Send` and `Sync`.
unsafe impl Send for Slot {}
// SAFETY: the root is in the block, which the slot has a count on, and which is `Send` and `Sync`.
unsafe impl Sync for Slot {}

/// A type that no asset has.
struct Empty;

impl Slot {
    fn empty(generation: u32) -> Self {
        let (asset, name) = (TypeId::of::<Empty>(), "");
        Self { generation, content: 0, asset, name, root: NonNull::dangling(), block: None }
    }
}

impl Table {
    fn new(store: u32) -> Self {
        Self { store, slots: Vec::new() }
    }

    /// Returns the root of an asset.
    #[inline]
    fn get<T: BlobData>(&self, reference: BlobAssetReference<T>) -> Result<&T, BlobError> {
        match self.find(reference) {
            // SAFETY: the slot has an asset of type `T`, and a count on its block; see `fill`. The
            // slot does not change while the table is borrowed.
            Some(slot) => Ok(unsafe { slot.root.cast::<T>().as_ref() }),
            None => Err(self.explain(reference)),
        }
    }

    /// Returns an asset, with a reference count of its own.
    fn asset<T: BlobData>(
        &self,
        reference: BlobAssetReference<T>,
    ) -> Result<BlobAsset<T>, BlobError> {
        let block = self.find(reference).and_then(|slot| slot.block.clone());
        let block = block.ok_or_else(|| self.explain(reference))?;
        // SAFETY: the slot has an asset of type `T`, and this is its block; see `fill`.
        Ok(unsafe { BlobAsset::from_shared(block) })
    }

    /// Returns the slot of an asset, if the asset exists and has that type.
    #[inline]
    fn find<T: BlobData>(&self, reference: BlobAssetReference<T>) -> Option<&Slot> {
        let slot = self.slots.get(reference.index as usize)?;
        let is_this = slot.generation == reference.generation
            && slot.content == reference.content
            && slot.asset == TypeId::of::<T>()
            && reference.store == self.store;
        is_this.then_some(slot)
    }

    /// Returns the reason why a reference leads to no asset.
    #[cold]
    fn explain<T: BlobData>(&self, reference: BlobAssetReference<T>) -> BlobError {
        let asset = type_name::<T>();
        if reference.is_null() {
            return BlobError::Null { asset };
        }
        if reference.store != self.store {
            return BlobError::ForeignStore { asset };
        }
        match self.slots.get(reference.index as usize) {
            Some(slot)
                if slot.generation == reference.generation
                    && slot.content == reference.content
                    && slot.block.is_some() =>
            {
                BlobError::WrongType { wanted: asset, found: slot.name }
            }
            _ => BlobError::Disposed { asset },
        }
    }

    fn len(&self) -> usize {
        self.slots.len()
    }

    /// Returns the reference to the asset in a slot, which must have this type.
    fn reference<T>(&self, index: u32) -> BlobAssetReference<T> {
        let Slot { generation, content, .. } = self.slots[index as usize];
        BlobAssetReference::new(index, generation, self.store, content)
    }

    /// Returns the block in a slot.
    fn block(&self, index: u32) -> Option<&Arc<Block>> {
        self.slots[index as usize].block.as_ref()
    }

    /// Adds an empty slot, and returns its index.
    fn add(&mut self) -> u32 {
        let index = u32::try_from(self.slots.len()).expect("a store has room for 2^32 assets");
        self.slots.push(Slot::empty(1));
        index
    }

    /// Puts an asset in an empty slot, and returns the reference to it.
    fn fill<T: BlobData>(&mut self, index: u32, asset: BlobAsset<T>) -> BlobAssetReference<T> {
        let slot = &mut self.slots[index as usize];
        slot.content = asset.content_hash() as u32;
        let block = asset.into_shared();
        // The block is that of a `BlobAsset<T>`, so it has a `T` as root, at its start.
        slot.root = block.start();
        slot.asset = TypeId::of::<T>();
        slot.name = type_name::<T>();
        slot.block = Some(block);
        self.reference(index)
    }

    /// Removes the asset from a slot, and returns whether the slot can be used again. A slot that has reached the highest
    /// generation cannot, because old references would lead to the next asset.
    fn clear(&mut self, index: u32) -> bool {
        let slot = &mut self.slots[index as usize];
        *slot = Slot::empty(slot.generation.saturating_add(1));
        slot.generation < u32::MAX
    }

    #[cfg(test)]
    fn set_generation(&mut self, index: u32, generation: u32) {
        self.slots[index as usize].generation = generation;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blob::BlobBuilder;

    #[test]
    fn a_slot_retires_before_its_generations_repeat() {
        let mut store = BlobStore::new();
        let asset = BlobBuilder::new(7_u32).build().unwrap();
        let first = store.insert(asset.clone());
        Arc::make_mut(&mut store.table).set_generation(0, u32::MAX - 1);
        let last = BlobAssetReference::<u32>::new(0, u32::MAX - 1, first.store, first.content);
        assert_eq!(store.get(last), Ok(&7));
        store.remove(last).unwrap();

        let next = store.insert(asset);
        assert_eq!((next.index, next.generation), (1, 1));
        for generation in [0, 1, u32::MAX - 1, u32::MAX] {
            let retired = BlobAssetReference::<u32>::new(0, generation, first.store, first.content);
            assert!(store.get(retired).is_err());
        }
    }
}
