//! One archetype: its component types, the layout of its chunks, and its chunks.

use std::cmp::Reverse;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use super::StorageSettings;
use super::archetypes::ChunkList;
use super::chunk::ValueLayout;
use super::chunk_layout::{ChunkLayout, ColumnSize, DoesNotFit, chunk_layout};
use super::raw_values::SMALL;
use crate::builtin::CleanupEntity;
use crate::component::{Beginning, ComponentType, Copying};
use crate::error::EntityError;

/// The immutable part of an archetype, shared by all forks of a world.
pub(crate) struct ArchetypeShape {
    /// A number that identifies the shape among the shapes of all worlds. It has no other meaning.
    pub(crate) serial: u32,
    /// The component types, sorted by descending alignment, then by the hash of the stable name. The order is the same in every
    /// run.
    pub(crate) types: Box<[ComponentType]>,
    /// The slot of each type, in the order of `types`.
    pub(crate) columns: Box<[ColumnSlot]>,
    /// The columns whose values have bytes, with their numbers.
    pub(crate) sized: Box<[(u32, ColumnSlot)]>,
    /// The columns whose values need to be dropped.
    pub(crate) dropped: Box<[u32]>,
    /// The enableable columns. The position of a column in this list is the number of its mask.
    pub(crate) enableable: Box<[u32]>,
    /// The columns with a version per row. [`RowVersions`](super::versions::RowVersions) identifies a column by its position in
    /// this list.
    pub(crate) tracked: Box<[u32]>,
    /// The shared columns, with one value for all entities of a chunk.
    pub(crate) shared: Box<[u32]>,
    /// True if all types are duplicated by copying the bytes of their values.
    pub(crate) is_bytes: bool,
    /// True if there is a cleanup component, which remains when an entity is despawned.
    stays: bool,
    /// The columns that are sources or buffers of relationships.
    pub(crate) links: Box<[u32]>,
    /// True if all types are `Sync`, so that forks may share the memory of chunks. Several threads may then read the values.
    pub(crate) is_shared: bool,
    /// The layout of the chunk components, if there are any.
    pub(crate) values: Option<Arc<ValueLayout>>,
    pub(crate) index: ColumnIndex,
    /// The maximum number of entities in a chunk.
    pub(crate) capacity: u32,
    /// The alignment that the memory of a chunk needs.
    pub(crate) align: u32,
    /// The size of a chunk in bytes.
    pub(crate) chunk_size: u32,
}

/// The offset of a column in each chunk of an archetype, and the size of one value.
#[derive(Clone, Copy)]
pub(crate) struct ColumnSlot {
    pub(crate) offset: u32,
    pub(crate) size: u32,
}

/// The chunks of one archetype of one world.
#[derive(Clone)]
pub(crate) struct Archetype {
    pub(crate) shape: Arc<ArchetypeShape>,
    pub(crate) chunks: ChunkList,
    /// The chunks with room. New entities go to the last one. Empty if the archetype has shared types, because each group then
    /// has its own list.
    pub(crate) with_room: Vec<u32>,
    /// The index of the archetype's [`SharedGroups`](super::shared_groups::SharedGroups), or [`NOWHERE`](super::NOWHERE) if it
    /// has no shared types.
    pub(crate) groups: u32,
    /// The number of times that rows were added or removed in chunks that the archetype no longer has. Each present chunk has its
    /// own count.
    pub(crate) order_events: u32,
}

// The size is a power of two, because archetypes are indexed often.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Archetype>() == 64);

impl ArchetypeShape {
    /// Creates the shape for these types, which are sorted and distinct.
    pub(crate) fn new(
        types: &[ComponentType],
        settings: &StorageSettings,
    ) -> Result<Self, DoesNotFit> {
        static SERIAL: AtomicU32 = AtomicU32::new(1);
        let mut sizes = Vec::with_capacity(types.len());
        for ty in types {
            let (Ok(size), Ok(align)) = (u32::try_from(ty.size()), u32::try_from(ty.align()))
            else {
                let room = settings.chunk_size as usize;
                return Err(DoesNotFit { entity_bytes: ty.size().max(ty.align()), room });
            };
            sizes.push(ColumnSize { size, align });
        }
        let limits = types.iter().filter_map(|ty| ty.0.maximum_capacity);
        let limit = limits.chain(settings.capacity_limit).min();
        let layout = chunk_layout(settings.chunk_size, limit, &sizes)?;
        let ChunkLayout { capacity, offsets } = layout;
        let columns: Box<[ColumnSlot]> = offsets
            .iter()
            .zip(&sizes)
            .map(|(&offset, size)| ColumnSlot { offset, size: size.size })
            .collect();
        let columns_with = |has: fn(ComponentType) -> bool| -> Box<[u32]> {
            (0..).zip(types).filter(|&(_, &ty)| has(ty)).map(|(at, _)| at).collect()
        };
        let enableable = columns_with(ComponentType::is_enableable);
        Ok(Self {
            align: sizes.iter().map(|size| size.align).max().unwrap_or(1),
            is_bytes: types.iter().all(|ty| matches!(ty.0.copying, Copying::Bytes)),
            stays: types.iter().any(|ty| ty.0.cleanup),
            is_shared: types.iter().all(|ty| ty.0.sync),
            links: columns_with(ComponentType::is_in_relationship),
            serial: SERIAL.fetch_add(1, Relaxed),
            sized: (0..)
                .zip(columns.iter().copied())
                .filter(|(_, column)| column.size > 0)
                .collect(),
            dropped: columns_with(|ty| ty.0.drop.is_some()),
            values: ValueLayout::new(types),
            tracked: columns_with(ComponentType::tracks_changes),
            shared: columns_with(ComponentType::is_shared),
            index: ColumnIndex::new(types, &columns, &enableable),
            enableable,
            types: types.into(),
            columns,
            capacity,
            chunk_size: settings.chunk_size,
        })
    }

    /// Returns whether a despawned entity continues to exist with its cleanup components.
    #[inline]
    pub(crate) fn stays(&self) -> bool {
        self.stays
    }

    /// Returns whether one of the types belongs to a relationship.
    #[inline]
    pub(crate) fn has_links(&self) -> bool {
        !self.links.is_empty()
    }

    /// Returns whether all values are small enough to be copied without calling `memcpy`.
    pub(crate) fn is_small(&self) -> bool {
        self.sized.iter().all(|(_, column)| column.size <= SMALL)
    }

    /// Returns whether the shape has [`CleanupEntity`], the tag of despawned entities.
    pub(crate) fn is_cleanup_only(&self) -> bool {
        self.has(ComponentType::of::<CleanupEntity>())
    }

    /// Returns whether [`CleanupEntity`], the tag of despawned entities, is the only component.
    pub(crate) fn is_bare_cleanup(&self) -> bool {
        matches!(*self.types, [ty] if ty == ComponentType::of::<CleanupEntity>())
    }

    /// Returns whether the two shapes, possibly of different worlds, have the same types and column offsets, so that chunks of
    /// one can become chunks of the other.
    pub(crate) fn has_same_layout(&self, other: &Self) -> bool {
        let same = |ours: &ColumnSlot, theirs: &ColumnSlot| {
            (ours.offset, ours.size) == (theirs.offset, theirs.size)
        };
        self.types == other.types
            && self.capacity == other.capacity
            && self.columns.iter().zip(&other.columns).all(|(ours, theirs)| same(ours, theirs))
    }

    /// Returns whether chunks of this shape may hold references to entities.
    pub(crate) fn has_references(&self) -> bool {
        self.types.iter().any(|ty| ty.0.per_chunk.map_or(*ty, |value| value.of).0.remap.is_some())
    }

    /// Returns an error if the type of one of these columns has no initial value.
    pub(crate) fn check_initial(
        &self,
        columns: impl Iterator<Item = u32>,
    ) -> Result<(), EntityError> {
        let mut types = columns.map(|column| self.types[column as usize]);
        match types.find(|ty| matches!(ty.0.beginning, Beginning::None)) {
            Some(component) => Err(EntityError::NoInitialValue { component }),
            None => Ok(()),
        }
    }

    #[inline]
    pub(crate) fn has(&self, ty: ComponentType) -> bool {
        self.index.find(ty).is_some()
    }
}

/// Sorts types into the order of archetypes.
///
/// # Errors
///
/// Returns a type that occurs twice.
pub(crate) fn sort_types(types: &mut [ComponentType]) -> Result<(), ComponentType> {
    // The name decides only between types with the same stable name.
    types.sort_unstable_by_key(|ty| (Reverse(ty.align()), ty.stable_hash(), ty.name()));
    match types.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(pair[0]),
        None => Ok(()),
    }
}

/// A small hash table from component types to columns, built once per archetype.
///
/// At most half of its entries are used, so that a lookup takes one or two probes.
pub(crate) struct ColumnIndex {
    places: Box<[ColumnEntry]>,
    mask: u32,
}

/// The column of a type.
#[derive(Clone, Copy)]
pub(crate) struct ColumnEntry {
    /// The index of the type, or [`UNUSED`].
    ty: u32,
    /// The number of the column.
    pub(crate) column: u32,
    /// The offset of the column in a chunk.
    pub(crate) offset: u32,
    /// The number of the column's mask, or [`UNUSED`].
    mask: u32,
}

impl ColumnEntry {
    /// Returns the number of the column's mask, if its type is enableable.
    #[inline]
    pub(crate) fn mask(self) -> Option<u32> {
        (self.mask != UNUSED).then_some(self.mask)
    }
}

/// A number that is not the index of any type or mask.
const UNUSED: u32 = u32::MAX;

impl ColumnIndex {
    /// Builds the index of an archetype's columns. `enableable` lists the columns with masks.
    pub(crate) fn new(types: &[ComponentType], columns: &[ColumnSlot], enableable: &[u32]) -> Self {
        let length = (types.len() * 2 + 1).next_power_of_two();
        let mut places =
            vec![ColumnEntry { ty: UNUSED, column: 0, offset: 0, mask: UNUSED }; length]
                .into_boxed_slice();
        let mask = u32::try_from(length - 1).expect("a chunk has room for fewer columns");
        for ((column, ty), place) in (0..).zip(types).zip(columns) {
            let mut at = start(ty.0.index) & mask;
            while places[at as usize].ty != UNUSED {
                at = (at + 1) & mask;
            }
            let mask = enableable.iter().position(|&enableable| enableable == column);
            places[at as usize] = ColumnEntry {
                ty: ty.0.index,
                column,
                offset: place.offset,
                mask: mask.map_or(UNUSED, |mask| mask as u32),
            };
        }
        Self { places, mask }
    }

    #[inline]
    pub(crate) fn find(&self, ty: ComponentType) -> Option<ColumnEntry> {
        let mut at = start(ty.0.index) & self.mask;
        loop {
            // `at` is below the number of entries: it was masked, and the number of entries is a power of two.
            let place = self.places.get(at as usize)?;
            if place.ty == ty.0.index {
                return Some(*place);
            }
            if place.ty == UNUSED {
                return None;
            }
            at = (at + 1) & self.mask;
        }
    }
}

/// Returns the entry at which the search for a type begins. The golden ratio spreads neighbouring indices, which often occur
/// together.
#[inline]
fn start(index: u32) -> u32 {
    index.wrapping_mul(0x9e37_79b1) >> 16
}
