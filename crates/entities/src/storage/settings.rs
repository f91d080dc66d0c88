//! How a world stores its entities.

use std::num::NonZero;

use super::arena::ChunkArena;

#[derive(Clone)]
pub(crate) struct StorageSettings {
    pub(crate) chunk_size: u32,
    pub(crate) capacity_limit: Option<NonZero<u32>>,
    pub(crate) arena: ChunkArena,
}
