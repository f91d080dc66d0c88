//! How a world stores its entities.

use std::num::NonZero;

use super::arena::ChunkArena;

#[derive(Clone)]
pub(crate) struct StorageSettings {
    pub(crate) chunk_size: u32,
    pub(crate) capacity_limit: Option<NonZero<u32>>,
    pub(crate) arena: ChunkArena,
}

impl StorageSettings {
    /// Whether chunks are divided in the same way.
    pub(crate) fn divide_as(&self, other: &Self) -> bool {
        (self.chunk_size, self.capacity_limit) == (other.chunk_size, other.capacity_limit)
    }
}
