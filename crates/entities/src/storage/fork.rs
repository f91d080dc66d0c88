//! Copy on write: forks of a storage, unsharing chunks, and replacing a storage with a fork.

use std::sync::Arc;
use std::{mem, ptr};

use ancho_collections::FixedState;
use hashbrown::HashMap;

use super::archetype::{Archetype, ArchetypeShape};
use super::arena::{ChunkMemory, OutOfMemory};
use super::chunk::{Chunk, ChunkValues};
use super::chunks::Chunks;
use super::rows::release;
use super::{Lifecycle, Storage, StorageSettings};
use crate::component::{ComponentType, Copying, SharedValue};
use crate::error::EntityError;

impl Storage {
    /// Returns an error if a component cannot be duplicated.
    pub(crate) fn check_duplicable(&self) -> Result<(), EntityError> {
        check_duplicable(self.inhabited())
    }

    /// Returns an error if these archetypes have types whose values cannot be duplicated.
    pub(crate) fn check_duplicable_in(
        &self,
        archetypes: impl Iterator<Item = u32>,
    ) -> Result<(), EntityError> {
        check_duplicable(archetypes.map(|number| &self.archetypes[number]))
    }

    /// Creates a fork: a second storage with the same entities, which shares the memory of chunks until one of the two writes to
    /// it. The caller has checked that all values can be duplicated.
    pub(crate) fn fork(&mut self) -> Result<Self, OutOfMemory> {
        debug_assert_eq!(self.check_duplicable(), Ok(()));
        // Only this line runs user code, and it comes first. If it panics, there is no fork, and nothing has changed.
        let copies = self.copies_for_fork()?;
        Ok(Self {
            settings: self.settings.clone(),
            table: self.table.fork(),
            archetypes: self.archetypes.clone(),
            chunks: self.chunks.fork(copies),
            shared: self.shared.fork(),
            version: self.version,
            room_changes: self.room_changes,
            reserve_scratch: Default::default(),
            lifecycle: Lifecycle::default(),
        })
    }

    /// Copies the parts of chunks that cannot be shared. The result is sorted by number.
    fn copies_for_fork(&self) -> Result<Vec<ChunkCopy>, OutOfMemory> {
        let mut copies = Vec::new();
        for (_, owner) in self.archetypes.iter() {
            let shape = &owner.shape;
            if shape.is_shared && shape.values.is_none() {
                continue;
            }
            for &number in &owner.chunks {
                let chunk = &self.chunks[number];
                let with_memory = !shape.is_shared;
                copies.push(ChunkCopy::new(number, chunk, shape, &self.settings, with_memory)?);
            }
        }
        copies.sort_unstable_by_key(|copy| copy.number);
        Ok(copies)
    }

    /// Makes the memory of a chunk unshared, so that it can be written.
    #[inline]
    pub(crate) fn make_unique(&mut self, number: u32) -> Result<(), OutOfMemory> {
        if self.chunks[number].may_be_shared() {
            return unshare(&mut self.chunks, number, &self.settings);
        }
        Ok(())
    }

    /// Copies all memory that is still shared with forks.
    pub(crate) fn make_all_unique(&mut self) -> Result<(), OutOfMemory> {
        let numbers: Vec<u32> = self.chunks.iter().map(|(number, _)| number).collect();
        for number in numbers {
            self.make_unique(number)?;
        }
        self.table.unshare();
        Ok(())
    }
}

/// Copies of the parts of a chunk that a fork cannot share. They are dropped if the fork fails.
pub(crate) struct ChunkCopy {
    /// The number of the chunk.
    pub(super) number: u32,
    /// The copied memory. `None` if the fork shares the memory, or if it was moved to the fork.
    memory: Option<ChunkMemory>,
    values: ChunkValues,
    shape: Arc<ArchetypeShape>,
    rows: u32,
}

impl ChunkCopy {
    /// Copies the chunk components, and the memory if `with_memory`. Runs user code, and does not change the chunk.
    ///
    /// # Panics
    ///
    /// Panics if a type cannot be duplicated.
    pub(super) fn new(
        number: u32,
        chunk: &Chunk,
        shape: &Arc<ArchetypeShape>,
        settings: &StorageSettings,
        with_memory: bool,
    ) -> Result<Self, OutOfMemory> {
        assert!(ptr::eq(chunk.shape(), &raw const **shape));
        let (rows, values) = (chunk.len, ChunkValues::NONE);
        let mut copy = Self { number, memory: None, values, shape: Arc::clone(shape), rows };
        if with_memory {
            copy.memory = Some(chunk.duplicate(settings)?);
        }
        copy.values = chunk.values.duplicate();
        Ok(copy)
    }

    /// Returns the copied memory, if any, and the chunk components.
    pub(super) fn into_parts(mut self) -> (Option<ChunkMemory>, ChunkValues) {
        (self.memory.take(), mem::replace(&mut self.values, ChunkValues::NONE))
    }
}

impl Drop for ChunkCopy {
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take() {
            release(memory, &self.shape, &self.shape.dropped, self.rows);
        }
    }
}

impl Storage {
    /// Replaces the storage `before` with this storage, which is a fork, and continues its versions and event counts. Chunks that
    /// are the same in both keep their versions from `before`. All other chunks count as changed at the current version.
    ///
    /// Afterwards `before` can only be dropped.
    pub(crate) fn replace(&mut self, before: &mut Self) {
        self.version = before.version;
        self.room_changes = self.room_changes.max(before.room_changes) + 1;
        let numbers: Vec<u32> = self.chunks.iter().map(|(number, _)| number).collect();
        // For each archetype, the events in chunks that it no longer has: those so far, and one for each chunk of `before` that
        // is replaced.
        let mut events: Vec<u32> = self
            .archetypes
            .iter()
            .map(|(_, archetype)| before.order_events_of(&archetype.shape.types))
            .collect();
        // For each shared value, the events in chunks of `before`, counted in the same way.
        let mut counted: HashMap<(u32, u32), u32, FixedState> = HashMap::default();
        for (_, chunk) in before.chunks.iter() {
            let more = chunk.order_events.wrapping_add(1);
            for place in before.archetypes.values_of(chunk) {
                let events = counted.entry(place).or_insert(0);
                *events = events.wrapping_add(more);
            }
        }
        let chunks = |table, index| counted.get(&(table, index)).copied().unwrap_or(0);
        self.shared.replace(&before.shared, chunks);
        for number in numbers {
            let is_same =
                before.chunks.get(number).is_some_and(|old| self.is_same(number, old, before));
            let chunk = &mut self.chunks[number];
            let events = &mut events[chunk.archetype as usize];
            if is_same {
                let old = &mut before.chunks[number];
                mem::swap(&mut chunk.versions, &mut old.versions);
                chunk.order_version = old.order_version;
                chunk.order_events = old.order_events;
                *events = events.wrapping_sub(old.order_events).wrapping_sub(1);
                let more = old.order_events.wrapping_add(1);
                for (table, index) in self.archetypes.values_of(&self.chunks[number]) {
                    self.shared.uncount(table, index, more);
                }
            } else {
                // The result is ignored, because `note_uniform` below is called in any case.
                _ = chunk.note_written_rows(0, chunk.len, self.version);
                chunk.order_events = 0;
                chunk.note_order(self.version);
            }
            self.chunks.note_uniform(number);
        }
        for (number, events) in (0..).zip(events) {
            self.archetypes[number].order_events = events;
        }
    }

    /// Returns the event count that the archetype with these types has if all its rows are removed now.
    fn order_events_of(&self, types: &[ComponentType]) -> u32 {
        let Some(archetype) = self.archetypes.find(types) else { return 0 };
        let archetype = &self.archetypes[archetype];
        let chunks = archetype.chunks.iter().map(|&number| self.chunks[number].order_events);
        chunks.fold(archetype.order_events, |sum, events| sum.wrapping_add(events).wrapping_add(1))
    }

    /// Returns whether a chunk is the same as `old`, the chunk of the same number in `before`. Neither storage has written to
    /// memory that both share, so such memory is equal.
    fn is_same(&self, number: u32, old: &Chunk, before: &Self) -> bool {
        let chunk = &self.chunks[number];
        let shape = chunk.shape();
        let has_same_masks = || {
            (0..shape.enableable.len() as u32)
                .all(|mask| chunk.enabled.words(mask) == old.enabled.words(mask))
        };
        chunk.memory_address() == old.memory_address()
            && chunk.len == old.len
            && shape.values.is_none()
            && shape.types == old.shape().types
            && has_same_masks()
            && self.values(chunk).eq(before.values(old))
    }

    /// Iterates over the addresses of the shared values of a chunk.
    fn values(&self, chunk: &Chunk) -> impl Iterator<Item = *const ()> {
        let address = |value: &SharedValue| Arc::as_ptr(value).cast::<()>();
        let places = self.archetypes.values_of(chunk);
        places.map(move |(table, index)| address(self.shared.value(table, index)))
    }
}

/// Replaces the memory of a chunk with a copy, unless the chunk is no longer shared.
#[cold]
pub(crate) fn unshare(
    chunks: &mut Chunks,
    number: u32,
    settings: &StorageSettings,
) -> Result<(), OutOfMemory> {
    if let Some(shared) = chunks.unshare(number, |chunk| chunk.duplicate(settings))? {
        // The other owners may have released the old memory meanwhile. If this is the last owner, it drops the values.
        let chunk = &chunks[number];
        release(shared, chunk.shape(), &chunk.shape().dropped, chunk.len);
    }
    Ok(())
}

fn check_duplicable<'a>(
    archetypes: impl Iterator<Item = &'a Archetype>,
) -> Result<(), EntityError> {
    let mut types = archetypes.flat_map(|archetype| &archetype.shape.types);
    let is_refused = |ty: &&ComponentType| {
        let value = ty.0.per_chunk.map_or(**ty, |value| value.of);
        matches!(value.0.copying, Copying::NotAtAll)
    };
    types
        .find(is_refused)
        .map_or(Ok(()), |&component| Err(EntityError::NotDuplicable { component }))
}
