//! What a fork does not share with its world.

#![expect(unsafe_code, reason = "duplicates rows of chunks")]

use std::sync::Arc;

use super::archetype::ArchetypeShape;
use super::arena::{ChunkMemory, OutOfMemory};
use super::chunk::Chunk;
use super::rows::release;
use super::settings::StorageSettings;
use super::values::duplicate_rows;

/// A copy of the memory of a chunk that cannot be shared, for a fork that is being made. Dropped if that fails.
pub(crate) struct ChunkCopy {
    /// Which chunk.
    pub(super) number: u32,
    /// `None` once the fork has it.
    memory: Option<ChunkMemory>,
    shape: Arc<ArchetypeShape>,
    rows: u32,
}

impl ChunkCopy {
    /// Copies a chunk of a shape whose types can all be duplicated. Code of the user runs, and the chunk stays as it is.
    pub(super) fn new(
        number: u32,
        chunk: &Chunk,
        shape: &Arc<ArchetypeShape>,
        settings: &StorageSettings,
    ) -> Result<Self, OutOfMemory> {
        let memory = settings.arena.allocate(settings.chunk_size)?;
        // SAFETY:
        // - both are chunks of the shape, the second with nothing
        // - all types can be duplicated, as the caller knows
        unsafe { duplicate_rows(shape, chunk.data(), memory.as_ptr().as_ptr(), chunk.len) };
        Ok(Self { number, memory: Some(memory), shape: Arc::clone(shape), rows: chunk.len })
    }

    /// The memory, for the chunk of the fork.
    pub(super) fn into_memory(mut self) -> ChunkMemory {
        self.memory.take().expect("taken only here, and by dropping")
    }
}

impl Drop for ChunkCopy {
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take() {
            release(memory, &self.shape, self.rows);
        }
    }
}
