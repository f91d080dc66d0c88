//! One chunk, as its world knows it.

#![expect(unsafe_code, reason = "addresses in chunks")]

use std::mem::MaybeUninit;
use std::num::NonZero;
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;

use super::archetype::ArchetypeShape;
use super::arena::ChunkMemory;
use super::chunk_copy::ChunkCopy;
use super::chunk_state::ChunkState;
use super::chunk_values::ChunkValues;
use super::column_index::Found;
use super::enabled::EnabledMasks;
use super::row_place::RowPlace;
use super::state_memory::StateMemory;
use super::transfer::Transfer;
use crate::component::ComponentType;
use crate::entity::Entity;
use crate::version::Version;

/// Not in a list.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// A chunk: its memory, and what a world keeps about it.
///
/// The memory may be shared with forks of the world; everything else is the world's own. The first `len` rows of
/// the memory have an id and a value in each column, the others nothing.
///
/// **Invariant:** the archetype of a chunk, and with it the shape, lives as long as the chunk.
#[repr(C, align(64))]
pub(crate) struct Chunk {
    // What every operation needs comes first, in one line of the cache.
    /// Where the memory is, beside `memory` itself so that it is found at once.
    pub(super) data: NonNull<u8>,
    shape: NonNull<ArchetypeShape>,
    pub(crate) len: u32,
    capacity: u32,
    pub(crate) archetype: u32,
    /// Where it is in the list of chunks with room, of its group or its archetype, or [`NOWHERE`] if it has none.
    pub(crate) room_place: u32,
    /// When a row last came or went.
    pub(crate) order_version: Version,
    /// How often rows came or went.
    pub(crate) order_events: u32,
    pub(crate) state: ChunkState,
    /// What is not as simple as it mostly is.
    flags: u8,
    /// Where it is in its archetype's list of chunks.
    pub(crate) place: u32,
    pub(crate) enabled: EnabledMasks,
    pub(crate) sequence: u64,
    /// What the chunk has for itself. Never shared.
    pub(crate) values: ChunkValues,
    /// Its group, if the archetype has shared types, or [`NOWHERE`].
    pub(crate) group: u32,
    memory: ChunkMemory,
}

// Two lines of the cache, so that finding one by its number takes a shift. What says whether there is one takes no room, so that
// the chunk is where the option is.
const _: () = assert!(size_of::<Option<Chunk>>() == 128 && size_of::<Chunk>() == 128);

/// Forks may have the memory too. If not, it is the world's alone.
const SHARED: u8 = 1;
/// There are components that can be switched off and on.
const MASKED: u8 = 2;
/// There are values that have to be dropped.
const DROPS: u8 = 4;
/// There are components that stay when an entity is despawned.
const STAYS: u8 = 8;
/// There are values that are not [small](ArchetypeShape::is_small).
const LARGE: u8 = 16;
/// There are values of the chunk itself, which are dropped with it.
const VALUES: u8 = 32;
/// There are shared components: not every chunk of the archetype will do.
const GROUPED: u8 = 64;
/// There are components of which it is noted row by row when they were written.
const TRACKED: u8 = 128;

// SAFETY: the memory is reached through the world that has the chunk, or read by forks of it, and what is in it may
// be sent and shared, since components are `Send` and `Sync`. Those that are not `Sync` are in memory that no fork has.
// So is the shape.
unsafe impl Send for Chunk {}

impl Chunk {
    /// A chunk without rows, of an archetype that outlives it.
    pub(crate) fn new(
        memory: ChunkMemory,
        archetype: u32,
        shape: &Arc<ArchetypeShape>,
        sequence: u64,
        values: ChunkValues,
        states: &mut StateMemory,
    ) -> Self {
        Self {
            data: memory.as_ptr(),
            shape: NonNull::from(&**shape),
            len: 0,
            capacity: shape.capacity,
            archetype,
            room_place: NOWHERE,
            order_version: Version::NEVER,
            order_events: 0,
            state: ChunkState::new(shape, states),
            flags: flags_of(shape),
            place: NOWHERE,
            enabled: EnabledMasks::new_in(shape.enableable.len(), shape.capacity, states),
            sequence,
            values,
            group: NOWHERE,
            memory,
        }
    }

    /// The chunk of a fork, which has the same memory, or what was copied, and the same shape in an archetype of its own.
    pub(super) fn fork(&mut self, copy: Option<ChunkCopy>) -> Self {
        let (memory, values) = copy.map_or((None, ChunkValues::NONE), ChunkCopy::into_parts);
        debug_assert_eq!(memory.is_none(), self.shape().is_shared);
        debug_assert!(values.is_of(self.shape().values.as_ref()));
        let memory = memory.unwrap_or_else(|| {
            self.flags |= SHARED;
            self.memory.share()
        });
        Self {
            data: memory.as_ptr(),
            state: self.state.clone(),
            enabled: self.enabled.clone(),
            values,
            memory,
            ..*self
        }
    }

    /// Lets the chunk be of another archetype, as a transfer says, with all that is in it.
    ///
    /// # Safety
    ///
    /// - the shape is that of the archetype, which outlives the chunk, and the transfer is one to it that
    ///   [keeps chunks whole](Transfer::whole), or the columns were moved as it [says](Transfer::refits)
    pub(super) unsafe fn change_archetype(
        &mut self,
        archetype: u32,
        shape: &ArchetypeShape,
        transfer: &Transfer,
        version: Version,
        states: &mut StateMemory,
    ) {
        debug_assert!(transfer.to == archetype && self.len <= shape.capacity);
        debug_assert!(transfer.refits || (transfer.whole && self.capacity == shape.capacity));
        let is_tracked = self.is_tracked() || !shape.tracked.is_empty();
        let tracking = is_tracked.then(|| self.take_tracking_for(shape, transfer, version, states));
        self.state.rearrange(shape.types.len(), &transfer.kept, version, states);
        if let Some(Some(tracking)) = tracking {
            self.state.set_tracking(tracking);
        }
        let has_masks = !(self.enabled.is_empty() && shape.enableable.is_empty());
        if has_masks || self.capacity != shape.capacity {
            let size = (shape.enableable.len(), shape.capacity);
            let (kept, new) = (&transfer.masks_kept, &transfer.masks_new);
            self.enabled.rearrange(size, self.len, kept, new, states);
        }
        self.capacity = shape.capacity;
        self.shape = NonNull::from(shape);
        self.archetype = archetype;
        self.flags = transfer.flags | (self.flags & SHARED);
    }

    /// Lets the chunk, which is in no list, be one of an archetype of another storage, with all that is in it but the ids.
    ///
    /// # Safety
    ///
    /// - the shape is that of the archetype, which outlives the chunk, and [as good](ArchetypeShape::is_as_good_as) as that which
    ///   the chunk has
    pub(super) unsafe fn settle(
        &mut self,
        archetype: u32,
        group: u32,
        shape: &ArchetypeShape,
        sequence: u64,
    ) {
        debug_assert!(self.shape().is_as_good_as(shape));
        self.shape = NonNull::from(shape);
        self.archetype = archetype;
        self.group = group;
        self.sequence = sequence;
        (self.place, self.room_place) = (NOWHERE, NOWHERE);
        // What came and went in it so far counts where it was.
        self.order_events = 0;
        self.values.relabel(shape.values.as_ref());
    }

    /// The ids of all rows, to be replaced.
    pub(super) fn ids_mut(&mut self) -> &mut [MaybeUninit<Entity>] {
        assert!(!self.may_be_shared());
        // SAFETY: the first `len` ids are there. The memory is the world's alone, and this chunk borrowed mutably.
        unsafe { slice::from_raw_parts_mut(self.id(0).cast(), self.len as usize) }
    }

    /// The memory, the values of the chunk itself, the shape and how many rows there are.
    ///
    /// The values are dropped with what is returned. That runs code of the user, so it is done when everything else is.
    pub(crate) fn into_parts<'a>(self) -> (ChunkMemory, ChunkValues, &'a ArchetypeShape, u32) {
        // SAFETY: who takes a chunk apart is in the midst of a change to the archetype, which lives.
        let shape = unsafe { self.unbound_shape() };
        (self.memory, self.values, shape, self.len)
    }

    #[inline]
    pub(crate) fn shape(&self) -> &ArchetypeShape {
        // SAFETY: the archetype outlives the chunk.
        unsafe { self.shape.as_ref() }
    }

    /// The shape, not bound to the borrow of the chunk, so that both can be worked with.
    ///
    /// # Safety
    ///
    /// - it is not used once the archetype is gone, which keeps the shape alive
    #[inline]
    pub(crate) unsafe fn unbound_shape<'a>(&self) -> &'a ArchetypeShape {
        // SAFETY: the archetype lives.
        unsafe { self.shape.as_ref() }
    }

    #[inline]
    pub(crate) fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Whether the memory may have to be copied before it is written.
    #[inline]
    pub(crate) fn may_be_shared(&self) -> bool {
        self.flags & SHARED != 0
    }

    /// Whether the chunk knows of its rows what its shape says.
    pub(crate) fn is_of_its_shape(&self) -> bool {
        let shape = self.shape();
        self.flags & !SHARED == flags_of(shape)
            && self.capacity == shape.capacity
            && self.state.types() == shape.types.len()
            && self.enabled.is_for(shape.enableable.len(), shape.capacity)
    }

    /// Whether rows can come from other chunks and go to them by moving small values alone.
    #[inline]
    pub(crate) fn moves_simply(&self) -> bool {
        // Who takes the last row away by this goes on after it, and so must not run code of the user.
        self.flags & (SHARED | MASKED | LARGE | VALUES | GROUPED | TRACKED) == 0
    }

    /// Whether rows can go by letting another of small values take their place.
    #[inline]
    pub(crate) fn removes_simply(&self) -> bool {
        self.flags == 0
    }

    /// Finds out whether the memory is still shared, and remembers it if not.
    pub(super) fn is_shared(&mut self) -> bool {
        if self.may_be_shared() && self.memory.is_unique() {
            self.flags &= !SHARED;
        }
        self.may_be_shared()
    }

    /// Takes other memory, with the same in it, and returns that which it had.
    pub(super) fn replace_memory(&mut self, memory: ChunkMemory) -> ChunkMemory {
        self.data = memory.as_ptr();
        self.flags &= !SHARED;
        std::mem::replace(&mut self.memory, memory)
    }

    #[inline]
    pub(crate) fn data(&self) -> *mut u8 {
        self.data.as_ptr()
    }

    /// Where the memory begins, as a number.
    #[inline]
    pub(crate) fn memory_address(&self) -> NonZero<usize> {
        self.data.addr()
    }

    /// A row, for a set of components with these offsets.
    #[inline]
    pub(crate) fn row(&self, row: u32, offsets: &[u32]) -> RowPlace {
        RowPlace::new(self.data(), offsets, row as usize)
    }

    /// The ids of the chunk's entities.
    #[inline]
    pub(crate) fn entities(&self) -> &[Entity] {
        // SAFETY: ids are at the beginning of the chunk, and the first `len` are there.
        unsafe { slice::from_raw_parts(self.data().cast_const().cast(), self.len as usize) }
    }

    /// Where the id of a row is.
    #[inline]
    pub(crate) fn id(&self, row: u32) -> *mut Entity {
        debug_assert!(row < self.capacity);
        self.data().cast::<Entity>().wrapping_add(row as usize)
    }

    /// The places for ids of rows that are not there yet.
    pub(crate) fn new_ids(&mut self, first: u32, rows: u32) -> &mut [MaybeUninit<Entity>] {
        assert!(first >= self.len && rows <= self.capacity - first && !self.may_be_shared());
        // SAFETY: there is room for so many ids. The memory is the world's alone, and this chunk borrowed mutably.
        unsafe { slice::from_raw_parts_mut(self.id(first).cast(), rows as usize) }
    }

    #[inline]
    pub(crate) fn find(&self, ty: ComponentType) -> Option<Found> {
        self.shape().index.find(ty)
    }

    /// The column of a type of which the chunk itself has a value, and where that is.
    pub(crate) fn find_value(&self, ty: ComponentType) -> Option<(u32, NonNull<u8>)> {
        let column = self.find(ty)?.column;
        Some((column, self.values.find(column)?))
    }

    /// Where the values of a column begin.
    #[inline]
    pub(crate) fn column(&self, offset: u32) -> *mut u8 {
        self.data().wrapping_add(offset as usize)
    }

    /// Whether it is noted of some component row by row when it was written.
    #[inline]
    pub(crate) fn is_tracked(&self) -> bool {
        self.flags & TRACKED != 0
    }

    /// Notes that rows came or went.
    #[inline]
    pub(crate) fn note_order(&mut self, version: Version) {
        self.order_version = version;
        self.order_events = self.order_events.wrapping_add(1);
    }
}

/// What is not as simple as it mostly is in chunks of a shape.
pub(crate) fn flags_of(shape: &ArchetypeShape) -> u8 {
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    flag(!shape.enableable.is_empty(), MASKED)
        | flag(!shape.dropped.is_empty(), DROPS)
        | flag(shape.stays(), STAYS)
        | flag(!shape.is_small(), LARGE)
        | flag(shape.values.is_some(), VALUES)
        | flag(!shape.shared.is_empty(), GROUPED)
        | flag(!shape.tracked.is_empty(), TRACKED)
}
