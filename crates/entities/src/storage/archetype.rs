//! One archetype: which components its entities have, how their chunks are divided, and which chunks there are.

#![expect(unsafe_code, reason = "a mask in place of a check")]

use std::cmp::Reverse;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use super::StorageSettings;
use super::archetypes::ChunkList;
use super::chunk::ValueLayout;
use super::chunk_layout::{ChunkLayout, ColumnSize, DoesNotFit, chunk_layout};
use super::raw_values::SMALL;
use crate::component::{ComponentType, Copying};
use crate::stock::CleanupEntity;

/// What never changes in an archetype. Forks of a world share it.
pub(crate) struct ArchetypeShape {
    /// Tells the archetype from those of other worlds. Says nothing else.
    pub(crate) serial: u32,
    /// In the order of memory: by falling alignment, then by the hash of the stable name, hence the same in every run.
    pub(crate) types: Box<[ComponentType]>,
    /// One for each type.
    pub(crate) columns: Box<[ColumnSlot]>,
    /// Those columns that take memory, with their numbers.
    pub(crate) sized: Box<[(u32, ColumnSlot)]>,
    /// Which columns have values that have to be dropped.
    pub(crate) dropped: Box<[u32]>,
    /// Which columns can be switched off and on: each has the mask of its place in this list.
    pub(crate) enableable: Box<[u32]>,
    /// Which columns are tracked row by row: each is known to [`RowVersions`](super::tracking::RowVersions) by its place in this list.
    pub(crate) tracked: Box<[u32]>,
    /// Which columns have one value for all entities of a chunk.
    pub(crate) shared: Box<[u32]>,
    /// Whether all values are duplicated by copying their bytes.
    pub(crate) is_bytes: bool,
    /// Whether there are components that stay when an entity is despawned.
    stays: bool,
    /// Whether forks may have the memory of chunks too: several threads may read it then.
    pub(crate) is_shared: bool,
    /// Where the values lie that chunks have for themselves, if they have any.
    pub(crate) values: Option<Arc<ValueLayout>>,
    pub(crate) index: ColumnIndex,
    /// How many entities a chunk has room for.
    pub(crate) capacity: u32,
    /// What chunks have to be aligned to.
    pub(crate) align: u32,
}

/// Where the values of a type are in each chunk.
#[derive(Clone, Copy)]
pub(crate) struct ColumnSlot {
    pub(crate) offset: u32,
    pub(crate) size: u32,
}

/// The chunks of one archetype of one world, and what is counted there.
#[derive(Clone)]
pub(crate) struct Archetype {
    pub(crate) shape: Arc<ArchetypeShape>,
    pub(crate) chunks: ChunkList,
    /// Those of the chunks that have room. New entities go to the last. Empty if there are shared types: then each of the
    /// groups has such a list.
    pub(crate) with_room: Vec<u32>,
    /// Where its groups are, by the values of shared types, or [`NOWHERE`](super::NOWHERE) if there are no such types.
    pub(crate) groups: u32,
    /// How often rows came or went in chunks that are gone. What happened in the others they count themselves.
    pub(crate) order_events: u32,
}

// They are found by their numbers all the time, which is quicker so.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Archetype>() == 64);

impl ArchetypeShape {
    /// The shape for these types, which are sorted and all different.
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
        let dropped = (0_u32..).zip(types).filter(|(_, ty)| ty.0.drop.is_some()).map(|(at, _)| at);
        let enableable = (0_u32..).zip(types).filter(|(_, ty)| ty.0.enableable).map(|(at, _)| at);
        let enableable: Box<[u32]> = enableable.collect();
        let tracked = (0_u32..).zip(types).filter(|(_, ty)| ty.0.tracked).map(|(at, _)| at);
        let shared = (0_u32..).zip(types).filter(|(_, ty)| ty.is_shared()).map(|(at, _)| at);
        Ok(Self {
            align: sizes.iter().map(|size| size.align).max().unwrap_or(1),
            is_bytes: types.iter().all(|ty| matches!(ty.0.copying, Copying::Bytes)),
            stays: types.iter().any(|ty| ty.0.cleanup),
            is_shared: types.iter().all(|ty| ty.0.sync),
            serial: SERIAL.fetch_add(1, Relaxed),
            sized: (0..)
                .zip(columns.iter().copied())
                .filter(|(_, column)| column.size > 0)
                .collect(),
            dropped: dropped.collect(),
            values: ValueLayout::new(types),
            tracked: tracked.collect(),
            shared: shared.collect(),
            index: ColumnIndex::new(types, &columns, &enableable),
            enableable,
            types: types.into(),
            columns,
            capacity,
        })
    }

    /// Whether despawning leaves something, since there are components that stay.
    #[inline]
    pub(crate) fn stays(&self) -> bool {
        self.stays
    }

    /// Whether no value is too large to be moved without a call.
    pub(crate) fn is_small(&self) -> bool {
        self.sized.iter().all(|(_, column)| column.size <= SMALL)
    }

    /// Whether entities have the mark of having been despawned.
    pub(crate) fn is_residue(&self) -> bool {
        self.has(ComponentType::of::<CleanupEntity>())
    }

    /// Whether entities have nothing but the mark of having been despawned.
    pub(crate) fn is_bare_residue(&self) -> bool {
        matches!(*self.types, [ty] if ty == ComponentType::of::<CleanupEntity>())
    }

    /// Whether a chunk of this shape, which may be one of another world, has everything where one of the other has it.
    pub(crate) fn has_same_layout(&self, other: &Self) -> bool {
        let same = |ours: &ColumnSlot, theirs: &ColumnSlot| {
            (ours.offset, ours.size) == (theirs.offset, theirs.size)
        };
        self.types == other.types
            && self.capacity == other.capacity
            && self.columns.iter().zip(&other.columns).all(|(ours, theirs)| same(ours, theirs))
    }

    /// Whether something in chunks of this shape may refer to entities.
    pub(crate) fn has_references(&self) -> bool {
        self.types.iter().any(|ty| ty.0.per_chunk.map_or(*ty, |value| value.of).0.remap.is_some())
    }

    #[inline]
    pub(crate) fn has(&self, ty: ComponentType) -> bool {
        self.index.find(ty).is_some()
    }
}

/// Sorts types as archetypes have them.
///
/// # Errors
///
/// If a type is there twice: that one.
pub(crate) fn sort_types(types: &mut [ComponentType]) -> Result<(), ComponentType> {
    // Names decide only between types that share a stable name.
    types.sort_unstable_by_key(|ty| (Reverse(ty.align()), ty.stable_hash(), ty.name()));
    match types.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(pair[0]),
        None => Ok(()),
    }
}

/// A small hash table from types to columns, made once for each archetype.
///
/// At most half of its places are taken, so that finding a type, or that it is not there, takes one or two looks.
pub(crate) struct ColumnIndex {
    places: Box<[ColumnEntry]>,
    mask: u32,
}

/// The column of a type.
#[derive(Clone, Copy)]
pub(crate) struct ColumnEntry {
    /// The type's index, or [`NOBODY`].
    ty: u32,
    /// Which of the columns.
    pub(crate) column: u32,
    /// Where it begins in the chunk.
    pub(crate) offset: u32,
    /// Which mask it has, or [`NOBODY`].
    mask: u32,
}

impl ColumnEntry {
    /// Which mask the column has, if it can be switched off and on.
    #[inline]
    pub(crate) fn mask(self) -> Option<u32> {
        (self.mask != NOBODY).then_some(self.mask)
    }
}

/// No type has this index, and no mask.
const NOBODY: u32 = u32::MAX;

impl ColumnIndex {
    /// The index of columns, some of which, by number, have the masks of their places in a list.
    pub(crate) fn new(types: &[ComponentType], columns: &[ColumnSlot], enableable: &[u32]) -> Self {
        let length = (types.len() * 2 + 1).next_power_of_two();
        let mut places =
            vec![ColumnEntry { ty: NOBODY, column: 0, offset: 0, mask: NOBODY }; length]
                .into_boxed_slice();
        let mask = u32::try_from(length - 1).expect("a chunk has room for fewer columns");
        for ((column, ty), place) in (0..).zip(types).zip(columns) {
            let mut at = start(ty.0.index) & mask;
            while places[at as usize].ty != NOBODY {
                at = (at + 1) & mask;
            }
            let mask = enableable.iter().position(|&enableable| enableable == column);
            places[at as usize] = ColumnEntry {
                ty: ty.0.index,
                column,
                offset: place.offset,
                mask: mask.map_or(NOBODY, |mask| mask as u32),
            };
        }
        Self { places, mask }
    }

    #[inline]
    pub(crate) fn find(&self, ty: ComponentType) -> Option<ColumnEntry> {
        let mut at = start(ty.0.index) & self.mask;
        loop {
            // SAFETY: the mask is one less than the number of places, a power of two.
            let place = unsafe { self.places.get_unchecked(at as usize) };
            if place.ty == ty.0.index {
                return Some(*place);
            }
            if place.ty == NOBODY {
                return None;
            }
            at = (at + 1) & self.mask;
        }
    }
}

/// Where the search for a type begins: spread by the golden ratio, since neighbouring indices often go together.
#[inline]
fn start(index: u32) -> u32 {
    index.wrapping_mul(0x9e37_79b1) >> 16
}
