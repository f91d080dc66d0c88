#![doc = include_str!("README.md")]
#![expect(unsafe_code, reason = "chunks that are known to be there")]

mod archetype;
mod archetypes;
mod arena;
mod chunk;
mod chunk_copy;
mod chunk_layout;
mod chunk_state;
mod chunk_tracking;
mod chunk_values;
mod chunks;
mod column_index;
mod continue_after;
mod dead;
mod enabled;
mod entity_table;
mod fetch;
mod fork;
mod import;
mod inline_vec;
mod invariants;
mod raw_values;
mod refit;
mod regroup;
mod reserve;
mod row_moves;
mod row_place;
mod row_runs;
mod rows;
mod settings;
mod shared_groups;
mod shared_values;
mod sought_values;
mod staged;
mod staging_arena;
mod state_hash;
mod state_memory;
mod staying;
mod tracking;
mod transfer;
mod uniform_chunks;
mod whole_chunks;

pub use arena::{ArenaStats, ChunkArena, OutOfMemory};
pub(crate) use arena::{CHUNK_ALIGN, ChunkMemory};
pub use invariants::InvariantViolation;
pub use row_place::RowPlace;

pub(crate) use archetype::{Archetype, ArchetypeShape, Column, sort_types};
pub(crate) use chunk::{Chunk, NOWHERE};
pub(crate) use chunk_copy::ChunkCopy;
pub(crate) use chunk_layout::DoesNotFit;
pub(crate) use chunk_values::ChunkValues;
pub(crate) use dead::{Dead, DeadLists};
pub(crate) use enabled::EnabledMasks;
pub(crate) use entity_table::{EntityTable, Location, OpenSlot, SeenPages, SeenSlots, Upcoming};
pub(crate) use fetch::{fetch, fetch_soon};
pub(crate) use import::{Arrival, duplicate_values, move_values};
pub(crate) use inline_vec::{Few, FewNumbers};
pub(crate) use raw_values::{
    NewRows, copy_value, duplicate_value, repeat_bytes, repeat_row, write_initial,
};
pub(crate) use reserve::{Reserved, Run};
pub(crate) use rows::{Left, unshare};
pub(crate) use settings::StorageSettings;
pub(crate) use shared_groups::{FEW_SHARED, Wanted};
pub(crate) use shared_values::{SharedValues, Sought};
pub(crate) use sought_values::SoughtValues;
pub(crate) use staged::Staged;
pub(crate) use staging_arena::Cellar;
pub(crate) use staying::Staying;
pub(crate) use tracking::TrackedColumn;
pub(crate) use transfer::{Change, Edge, SharedSource, Transfer, Transfers, given_sources};

pub(crate) use archetypes::Archetypes;
pub(crate) use chunks::Chunks;

use crate::component::ComponentType;
use crate::entity::Entity;
use crate::version::Version;

/// Everything a world stores of its entities: which there are, what they have, and where.
///
/// It knows component types only as [`ComponentType`]s. What is typed stands in `manager`.
pub(crate) struct Storage {
    pub(crate) settings: StorageSettings,
    pub(crate) table: EntityTable,
    pub(crate) archetypes: Archetypes,
    pub(crate) chunks: Chunks,
    pub(crate) shared: SharedValues,
    /// The moment that is noted with everything that is changed.
    pub(crate) version: Version,
    /// How often a list of chunks with room has changed: who remembers what is in one can tell whether it still is.
    pub(crate) room_changes: u64,
    /// Groups that may have been made for nothing: between two changes memory to keep.
    noted_groups: Vec<(u32, u32)>,
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
            noted_groups: Vec::new(),
        }
    }

    /// Where an entity's value of a type is.
    #[inline]
    pub(crate) fn find(&self, entity: Entity, ty: ComponentType) -> Option<*mut u8> {
        let Location { chunk, row } = self.table.locate(entity)?;
        // SAFETY: the table names chunks that are there.
        let chunk = unsafe { self.chunks.address(chunk) };
        let found = self.archetypes[chunk.archetype].shape.index.find(ty)?;
        Some(chunk.column(found.offset).wrapping_add(row as usize * ty.0.size))
    }

    /// The number of the archetype of an entity that is there, as the table says.
    #[inline]
    pub(crate) fn archetype_at(&self, location: Location) -> u32 {
        // SAFETY: the table names chunks that are there.
        unsafe { self.chunks.at(location.chunk) }.archetype
    }

    /// The archetype of an entity.
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
