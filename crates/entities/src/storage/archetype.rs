//! One archetype: which components its entities have, how their chunks are divided, and which chunks there are.

use std::cmp::Reverse;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use super::archetypes::ChunkList;
use super::chunk_layout::{ChunkLayout, ColumnSize, DoesNotFit, chunk_layout};
use super::chunk_values::ValueLayout;
use super::column_index::ColumnIndex;
use super::settings::StorageSettings;
use super::values::SMALL;
use crate::builtin::CleanupEntity;
use crate::component::{ComponentType, Copying};

/// What never changes in an archetype. Forks of a world share it.
pub(crate) struct ArchetypeShape {
    /// Tells the archetype from those of other worlds. Says nothing else.
    pub(crate) serial: u32,
    /// In the order of memory: by falling alignment, then by the hash of the stable name, hence the same in every run.
    pub(crate) types: Box<[ComponentType]>,
    /// One for each type.
    pub(crate) columns: Box<[Column]>,
    /// Those columns that take memory, with their numbers.
    pub(crate) sized: Box<[(u32, Column)]>,
    /// Which columns have values that have to be dropped.
    pub(crate) dropped: Box<[u32]>,
    /// Which columns can be switched off and on: each has the mask of its place in this list.
    pub(crate) enableable: Box<[u32]>,
    /// Which columns are tracked row by row: each is known to [`Tracking`](super::tracking::Tracking) by its place in this list.
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
pub(crate) struct Column {
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
        let columns: Box<[Column]> = offsets
            .iter()
            .zip(&sizes)
            .map(|(&offset, size)| Column { offset, size: size.size })
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
    pub(crate) fn is_cleanup_only(&self) -> bool {
        self.has(ComponentType::of::<CleanupEntity>())
    }

    /// Whether entities have nothing but the mark of having been despawned.
    pub(crate) fn is_bare_cleanup(&self) -> bool {
        matches!(*self.types, [ty] if ty == ComponentType::of::<CleanupEntity>())
    }

    /// Whether a chunk of this shape, which may be one of another world, has everything where one of the other has it.
    pub(crate) fn is_as_good_as(&self, other: &Self) -> bool {
        let same = |ours: &Column, theirs: &Column| {
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
