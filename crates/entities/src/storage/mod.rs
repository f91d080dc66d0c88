#![doc = include_str!("README.md")]

/// Returns an error with a message unless a condition holds.
macro_rules! holds {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(format!($($message)+).into());
        }
    };
}

mod archetype;
mod archetypes;
mod arena;
mod chunk;
mod chunk_layout;
mod chunk_lists;
mod chunks;
mod enabled;
mod entity_table;
mod fork;
mod import;
mod inline_vec;
mod invariants;
mod lifecycle;
mod raw_values;
mod rebuild;
mod recent_cache;
mod reserve;
mod row_moves;
mod rows;
mod shared_groups;
mod shared_values;
mod staging_arena;
mod state_hash;
mod transfer;
mod versions;

use std::num::NonZero;

use crate::entity::Entity;
use crate::version::Version;
pub(crate) use archetype::{Archetype, ArchetypeShape, sort_types};
pub(crate) use archetypes::Archetypes;
pub use arena::{ArenaStats, ChunkArena, OutOfMemory};
pub(crate) use arena::{CHUNK_ALIGN, ChunkMemory};
pub use chunk::RowPlace;
pub(crate) use chunk::{Chunk, NOWHERE};
pub(crate) use chunk_layout::DoesNotFit;
pub(crate) use chunks::{Chunks, StableVec};
pub(crate) use enabled::EnabledMasks;
pub use entity_table::FutureIds;
pub(crate) use entity_table::{
    EntityTable, Location, NextIds, PageView, SlotMut, SlotView, next_version,
};
pub(crate) use fork::unshare;
pub(crate) use import::{ImportPlan, ImportStep, ImportTarget};
pub(crate) use inline_vec::{InlineIndices, InlineVec};
pub use lifecycle::RemoveCause;
pub(crate) use lifecycle::{
    DESPAWN, EventBatch, EventKind, EventRun, Lifecycle, MaskCopies, REPLACED, WatchNumber,
};
pub(crate) use raw_values::{
    copy_value, for_each_to_end, prefetch, prefetch_soon, repeat_bytes, repeat_row, write_initial,
};
pub(crate) use rebuild::{ReadValue, RebuiltRows};
pub(crate) use recent_cache::RecentCache;
pub(crate) use reserve::{NewRows, ReservedRows, RowCursor, RowRange};
pub(crate) use row_moves::RowMove;
pub(crate) use rows::DeferredDrop;
pub(crate) use shared_groups::{GroupKey, INLINE_SHARED};
pub(crate) use shared_values::{SharedLookup, SharedLookups, SharedValues};
pub(crate) use staging_arena::{StagedRows, StagingArena};
pub(crate) use transfer::{
    Edge, RequiredColumn, SetOperation, SharedSource, Transfer, Transfers, given_sources,
};
pub(crate) use versions::TrackedColumn;

/// All entities of a world, with their ids, components and locations.
///
/// Storage identifies component types by [`ComponentType`](crate::component::ComponentType). Typed access is in `manager`.
pub(crate) struct Storage {
    pub(crate) settings: StorageSettings,
    pub(crate) table: EntityTable,
    pub(crate) archetypes: Archetypes,
    pub(crate) chunks: Chunks,
    pub(crate) shared: SharedValues,
    /// The current change version, recorded with every change.
    pub(crate) version: Version,
    /// The number of changes to the lists of chunks with room, by which cached entries of these lists are validated.
    pub(crate) room_changes: u64,
    /// Memory for [`ReservedRows`]: lists of groups and of filled rows. Both are empty between two changes.
    reserve_scratch: (Vec<(u32, u32)>, Vec<NewRows>),
    /// The observed types, and the log of their changes.
    pub(crate) lifecycle: Lifecycle,
}

impl Storage {
    pub(crate) fn new(settings: StorageSettings) -> Self {
        let mut archetypes = Archetypes::default();
        let mut shared = SharedValues::default();
        let empty = archetypes.find_or_create(&[], &settings, &mut shared);
        debug_assert_eq!(empty.ok(), Some(0), "the archetype without components is the first");
        Self {
            settings,
            table: EntityTable::new(),
            archetypes,
            chunks: Chunks::default(),
            shared,
            version: Version::FIRST,
            room_changes: 0,
            reserve_scratch: Default::default(),
            lifecycle: Lifecycle::default(),
        }
    }

    /// Returns the archetype of an entity.
    #[inline]
    pub(crate) fn archetype_of(&self, entity: Entity) -> Option<&Archetype> {
        let location = self.table.locate(entity)?;
        Some(&self.archetypes[self.chunks[location.chunk].archetype])
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        self.remove_all();
    }
}

#[derive(Clone)]
pub(crate) struct StorageSettings {
    pub(crate) chunk_size: u32,
    pub(crate) capacity_limit: Option<NonZero<u32>>,
    pub(crate) arena: ChunkArena,
}

impl StorageSettings {
    /// Returns whether chunks with both settings have the same layout.
    pub(crate) fn has_same_layout(&self, other: &Self) -> bool {
        (self.chunk_size, self.capacity_limit) == (other.chunk_size, other.capacity_limit)
    }
}
