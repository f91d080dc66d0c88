//! Events of enabled bits, found by comparing the bits with a copy.

use ancho_collections::FixedState;
use hashbrown::HashSet;

use super::{EventBatch, EventKind, WatchNumber};
use crate::component::ComponentType;
use crate::entity::Entity;
use crate::storage::{Chunk, Storage};
use crate::version::Version;

/// Copies of the enabled bits of observed types, made at the last command point.
#[derive(Default)]
pub(crate) struct MaskCopies {
    types: Vec<MaskedType>,
}

/// The enabled bits of one type.
struct MaskedType {
    number: WatchNumber,
    ty: ComponentType,
    /// The number of observers.
    users: u32,
    /// The version of the last comparison.
    since: Version,
    /// The entities that had the component, disabled.
    disabled: HashSet<Entity, FixedState>,
    /// The copy of each chunk, by its number.
    chunks: Vec<ChunkMask>,
}

/// The enabled bits of a type in one chunk.
#[derive(Default)]
struct ChunkMask {
    /// The sequence number of the chunk, and its number of order events. If they are the same, no row has moved.
    key: (u64, u32),
    words: Vec<u64>,
}

impl MaskCopies {
    /// Returns whether no enabled bits are observed.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.types.is_empty()
    }

    /// Iterates over the observed types.
    pub(crate) fn types(&self) -> impl Iterator<Item = ComponentType> {
        self.types.iter().map(|masked| masked.ty)
    }

    /// Begins to observe the enabled bits of a type.
    pub(crate) fn watch(&mut self, number: WatchNumber, ty: ComponentType, storage: &Storage) {
        if let Some(known) = self.types.iter_mut().find(|masked| masked.number == number) {
            known.users += 1;
            return;
        }
        let mut masked = MaskedType {
            number,
            ty,
            users: 1,
            since: storage.version,
            disabled: HashSet::default(),
            chunks: Vec::new(),
        };
        // The bits of now are not events.
        masked.copy_all(storage);
        self.types.push(masked);
    }

    /// Observes nothing any more.
    pub(crate) fn clear(&mut self) {
        self.types.clear();
    }

    /// Ends what [`watch`](Self::watch) began.
    pub(crate) fn unwatch(&mut self, number: WatchNumber) {
        if let Some(at) = self.types.iter().position(|masked| masked.number == number) {
            self.types[at].users -= 1;
            if self.types[at].users == 0 {
                self.types.remove(at);
            }
        }
    }

    /// Forgets the bits of components that were removed. If the entities were replaced, copies all bits.
    pub(crate) fn follow(&mut self, batch: &EventBatch, storage: &Storage) {
        for masked in &mut self.types {
            if batch.replaced {
                masked.copy_all(storage);
                continue;
            }
            if masked.disabled.is_empty() {
                continue;
            }
            for run in batch.runs.iter().filter(|run| run.number == masked.number) {
                if run.kind == EventKind::Remove || run.was_absent {
                    for entity in batch.entities_of(run) {
                        masked.disabled.remove(entity);
                    }
                }
            }
        }
    }

    /// Compares the bits of all observed types with their copies, and appends the differences to a batch. No job writes the bits.
    pub(crate) fn compare(&mut self, storage: &Storage, batch: &mut EventBatch) {
        for masked in &mut self.types {
            let since = std::mem::replace(&mut masked.since, storage.version);
            for (_, archetype) in storage.archetypes.iter() {
                let Some(found) = archetype.shape.index.find(masked.ty) else { continue };
                let Some(mask) = found.mask() else { continue };
                let is_prefab = archetype.shape.has(ComponentType::of::<crate::builtin::Prefab>());
                for &number in &archetype.chunks {
                    let chunk = &storage.chunks[number];
                    // Rows of another chunk keep the versions of their columns, but change the order.
                    let is_changed = |version: Version| !since.is_newer_than(version);
                    if is_changed(chunk.order_version)
                        || is_changed(chunk.versions.version(found.column))
                    {
                        masked.compare_chunk(
                            number,
                            chunk,
                            mask,
                            (!is_prefab).then_some(&mut *batch),
                        );
                    }
                }
            }
        }
    }
}

impl MaskedType {
    /// Copies the bits of all chunks.
    fn copy_all(&mut self, storage: &Storage) {
        self.disabled.clear();
        self.chunks.clear();
        self.since = storage.version;
        for (_, archetype) in storage.archetypes.iter() {
            let found = archetype.shape.index.find(self.ty);
            let Some(mask) = found.and_then(|found| found.mask()) else { continue };
            for &number in &archetype.chunks {
                self.compare_chunk(number, &storage.chunks[number], mask, None);
            }
        }
    }

    /// Compares the bits of a chunk with the copy, and updates the copy.
    fn compare_chunk(
        &mut self,
        number: u32,
        chunk: &Chunk,
        mask: u32,
        mut batch: Option<&mut EventBatch>,
    ) {
        if self.chunks.len() <= number as usize {
            self.chunks.resize_with(number as usize + 1, ChunkMask::default);
        }
        let copy = &mut self.chunks[number as usize];
        let key = (chunk.sequence, chunk.order_events);
        let is_same_order = copy.key == key;
        copy.key = key;
        let now = chunk.enabled.words(mask);
        copy.words.resize(now.len(), 0);
        let rows = chunk.len as usize;
        for (at, (old, &new)) in copy.words.iter_mut().zip(now).enumerate() {
            let first = at * 64;
            if first >= rows {
                break;
            }
            let used = if rows - first < 64 { (1 << (rows - first)) - 1 } else { u64::MAX };
            let mut differs = if is_same_order {
                (*old ^ new) & used
            } else if self.disabled.is_empty() {
                !new & used
            } else {
                used
            };
            *old = new;
            while differs != 0 {
                let bit = differs.trailing_zeros();
                differs &= differs - 1;
                let entity = chunk.entities()[first + bit as usize];
                let is_enabled = new >> bit & 1 != 0;
                let (is_event, kind) = if is_enabled {
                    (self.disabled.remove(&entity), EventKind::Enable)
                } else {
                    (self.disabled.insert(entity), EventKind::Disable)
                };
                if let (true, Some(batch)) = (is_event, &mut batch) {
                    batch.push(self.number, kind, [entity]);
                }
            }
        }
    }
}
