//! What a fork does not share with its world.

#![expect(unsafe_code, reason = "duplicates rows of chunks")]

use std::mem;
use std::sync::Arc;

use super::archetype::ArchetypeShape;
use super::arena::{ChunkMemory, OutOfMemory};
use super::chunk::Chunk;
use super::chunk_values::ChunkValues;
use super::raw_values::duplicate_rows;
use super::rows::release;
use super::settings::StorageSettings;

/// Copies of what cannot be shared of a chunk, for a fork that is being made. Dropped if that fails.
pub(crate) struct ChunkCopy {
    /// Which chunk.
    pub(super) number: u32,
    /// `None` if it is shared, or the fork has it.
    memory: Option<ChunkMemory>,
    values: ChunkValues,
    shape: Arc<ArchetypeShape>,
    rows: u32,
}

impl ChunkCopy {
    /// Copies what cannot be shared of a chunk. Code of the user runs, and the chunk stays as it is.
    ///
    /// # Safety
    ///
    /// - the chunk is of the shape, whose types can all be duplicated
    pub(super) unsafe fn new(
        number: u32,
        chunk: &Chunk,
        shape: &Arc<ArchetypeShape>,
        settings: &StorageSettings,
    ) -> Result<Self, OutOfMemory> {
        // SAFETY: as the caller promises.
        unsafe { Self::of_parts(number, chunk, shape, settings, !shape.is_shared) }
    }

    /// Copies a chunk with all that is in it. Code of the user runs, and the chunk stays as it is.
    ///
    /// # Safety
    ///
    /// - the chunk is of the shape, whose types can all be duplicated
    /// - chunks of these settings have room for what is in one of the shape
    pub(super) unsafe fn whole(
        number: u32,
        chunk: &Chunk,
        shape: &Arc<ArchetypeShape>,
        settings: &StorageSettings,
    ) -> Result<Self, OutOfMemory> {
        // SAFETY: as the caller promises.
        unsafe { Self::of_parts(number, chunk, shape, settings, true) }
    }

    /// # Safety
    ///
    /// - as for [`whole`](Self::whole)
    unsafe fn of_parts(
        number: u32,
        chunk: &Chunk,
        shape: &Arc<ArchetypeShape>,
        settings: &StorageSettings,
        with_memory: bool,
    ) -> Result<Self, OutOfMemory> {
        let (rows, values) = (chunk.len, ChunkValues::NONE);
        let mut copy = Self { number, memory: None, values, shape: Arc::clone(shape), rows };
        if with_memory {
            let memory = settings.arena.allocate(settings.chunk_size, shape.align)?;
            // SAFETY:
            // - both are chunks of the shape, the second with nothing
            // - all types can be duplicated, as the caller promises
            unsafe { duplicate_rows(shape, chunk.data(), memory.as_ptr().as_ptr(), rows) };
            copy.memory = Some(memory);
        }
        // SAFETY: as the caller promises.
        copy.values = unsafe { chunk.values.duplicate() };
        Ok(copy)
    }

    /// The memory, unless it is shared, and the values, for the chunk of the fork.
    pub(super) fn into_parts(mut self) -> (Option<ChunkMemory>, ChunkValues) {
        (self.memory.take(), mem::replace(&mut self.values, ChunkValues::NONE))
    }
}

impl Drop for ChunkCopy {
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take() {
            release(memory, &self.shape, self.rows);
        }
    }
}
