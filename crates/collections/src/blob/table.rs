//! The slots of a store.
#![expect(unsafe_code, reason = "lends assets whose type it has compared")]

use std::any::{TypeId, type_name};
use std::ptr::NonNull;
use std::sync::Arc;

use super::asset::BlobAsset;
use super::block::Block;
use super::data::BlobData;
use super::error::BlobError;
use super::reference::BlobAssetReference;

/// The slots of a store. The table of a reader never changes.
#[derive(Clone)]
pub(super) struct Table {
    /// Number of the store.
    pub(super) store: u32,
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
    pub(super) fn new(store: u32) -> Self {
        Self { store, slots: Vec::new() }
    }

    /// Returns the root of an asset.
    #[inline]
    pub(super) fn get<T: BlobData>(
        &self,
        reference: BlobAssetReference<T>,
    ) -> Result<&T, BlobError> {
        match self.find(reference) {
            // SAFETY: the slot has an asset of type `T`, and a count on its block; see `fill`. The
            // slot does not change while the table is borrowed.
            Some(slot) => Ok(unsafe { slot.root.cast::<T>().as_ref() }),
            None => Err(self.explain(reference)),
        }
    }

    /// Returns an asset, with a reference count of its own.
    pub(super) fn asset<T: BlobData>(
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

    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Returns the reference to the asset in a slot, which must have this type.
    pub(super) fn reference<T>(&self, index: u32) -> BlobAssetReference<T> {
        let Slot { generation, content, .. } = self.slots[index as usize];
        BlobAssetReference::new(index, generation, self.store, content)
    }

    /// Returns the block in a slot.
    pub(super) fn block(&self, index: u32) -> Option<&Arc<Block>> {
        self.slots[index as usize].block.as_ref()
    }

    /// Adds an empty slot, and returns its index.
    pub(super) fn add(&mut self) -> u32 {
        let index = u32::try_from(self.slots.len()).expect("a store has room for 2^32 assets");
        self.slots.push(Slot::empty(1));
        index
    }

    /// Puts an asset in an empty slot, and returns the reference to it.
    pub(super) fn fill<T: BlobData>(
        &mut self,
        index: u32,
        asset: BlobAsset<T>,
    ) -> BlobAssetReference<T> {
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

    /// Takes the asset out of a slot, and returns whether the slot can be used again. After its
    /// last generation it cannot, since references of the first would lead to it.
    pub(super) fn clear(&mut self, index: u32) -> bool {
        let slot = &mut self.slots[index as usize];
        *slot = Slot::empty(slot.generation.saturating_add(1));
        slot.generation < u32::MAX
    }

    #[cfg(test)]
    pub(super) fn set_generation(&mut self, index: u32, generation: u32) {
        self.slots[index as usize].generation = generation;
    }
}
