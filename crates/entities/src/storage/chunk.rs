//! One chunk, as its world knows it.

#![expect(unsafe_code, reason = "addresses in chunks")]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::mem::MaybeUninit;
use std::num::NonZero;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;
use std::{mem, slice};

use super::archetype::{ArchetypeShape, ColumnEntry};
use super::arena::ChunkMemory;
use super::enabled::EnabledMasks;
use super::fork::ChunkCopy;
use super::raw_values::duplicate_value;
use super::transfer::Transfer;
use super::versions::{ChunkVersions, MetadataPool};
use crate::component::{ChunkValue, ComponentType};
use crate::entity::Entity;
use crate::field::StateHasher;
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
    pub(crate) versions: ChunkVersions,
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
        pool: &mut MetadataPool,
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
            versions: ChunkVersions::new(shape, pool),
            flags: flags_of(shape),
            place: NOWHERE,
            enabled: EnabledMasks::new_in(shape.enableable.len(), shape.capacity, pool),
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
            versions: self.versions.clone(),
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
    ///   [keeps chunks whole](Transfer::whole), or the columns were moved as it [says](Transfer::repacks)
    pub(super) unsafe fn change_archetype(
        &mut self,
        archetype: u32,
        shape: &ArchetypeShape,
        transfer: &Transfer,
        version: Version,
        pool: &mut MetadataPool,
    ) {
        debug_assert!(transfer.to == archetype && self.len <= shape.capacity);
        debug_assert!(transfer.repacks || (transfer.whole && self.capacity == shape.capacity));
        let is_tracked = self.is_tracked() || !shape.tracked.is_empty();
        let tracking = is_tracked.then(|| self.take_tracking_for(shape, transfer, version, pool));
        self.versions.rearrange(shape.types.len(), &transfer.kept, version, pool);
        if let Some(Some(tracking)) = tracking {
            self.versions.set_tracking(tracking);
        }
        let has_masks = !(self.enabled.is_empty() && shape.enableable.is_empty());
        if has_masks || self.capacity != shape.capacity {
            let size = (shape.enableable.len(), shape.capacity);
            let (kept, new) = (&transfer.masks_kept, &transfer.masks_new);
            self.enabled.rearrange(size, self.len, kept, new, pool);
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
    /// - the shape is that of the archetype, which outlives the chunk, and [as good](ArchetypeShape::has_same_layout) as that which
    ///   the chunk has
    pub(super) unsafe fn rehome(
        &mut self,
        archetype: u32,
        group: u32,
        shape: &ArchetypeShape,
        sequence: u64,
    ) {
        debug_assert!(self.shape().has_same_layout(shape));
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
            && self.versions.types() == shape.types.len()
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
        mem::replace(&mut self.memory, memory)
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
    pub(crate) fn find(&self, ty: ComponentType) -> Option<ColumnEntry> {
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

    /// Feeds the values of a column to a hasher, for a range of rows.
    ///
    /// # Panics
    ///
    /// If the chunk has no such column or rows.
    pub(super) fn hash_rows(&self, column: usize, rows: Range<u32>, state: &mut StateHasher) {
        assert!(rows.start <= rows.end && rows.end <= self.len, "rows of the chunk");
        let (ty, slot) = (self.shape().types[column], self.shape().columns[column]);
        let first = self.column(slot.offset).wrapping_add(rows.start as usize * ty.size());
        // SAFETY: the chunk has values of this type in all these rows.
        unsafe { (ty.0.hash)(ty.0.shape, first, rows.len(), state) };
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

/// Where the values lie that each chunk of an archetype has.
pub(crate) struct ValueLayout {
    layout: Layout,
    places: Box<[ValuePlace]>,
}

/// Where one of them lies.
struct ValuePlace {
    /// The column of the type among those of the archetype, which has no bytes in the chunk.
    column: u32,
    offset: usize,
    value: ChunkValue,
}

impl ValueLayout {
    /// The layout for the types of an archetype. `None` if none of them is one of chunks.
    pub(crate) fn new(types: &[ComponentType]) -> Option<Arc<Self>> {
        let mut layout = Layout::new::<()>();
        let mut places = Vec::new();
        let mut extend = |value: Layout| {
            let (together, offset) = layout.extend(value).expect("values that fit in memory");
            layout = together;
            offset
        };
        for (column, ty) in (0..).zip(types) {
            let Some(value) = ty.0.per_chunk else { continue };
            let one = Layout::from_size_align(value.of.size(), value.of.align());
            let offset = extend(one.expect("the layout of a type"));
            places.push(ValuePlace { column, offset, value });
        }
        // So that there is something to be allocated also if no value has bytes.
        extend(Layout::new::<u8>());
        (!places.is_empty()).then(|| Arc::new(Self { layout, places: places.into() }))
    }
}

/// The values of one chunk: one of each type that the archetype has for its chunks.
///
/// They are in memory of their own, and not in the chunk, which is for entities. That memory is never shared and never
/// moves, so that its address can be given to others as long as the chunk is there.
pub(crate) struct ChunkValues {
    memory: NonNull<u8>,
    /// `None` if there are no values, and no memory.
    layout: Option<Arc<ValueLayout>>,
}

// SAFETY: it owns its memory, as a box does, and components are `Send`.
unsafe impl Send for ChunkValues {}

impl ChunkValues {
    /// No values.
    pub(crate) const NONE: Self = Self { memory: NonNull::dangling(), layout: None };

    /// The values that a chunk begins with. Code of the user runs; if it panics, nothing is left.
    pub(crate) fn initial(layout: Option<&Arc<ValueLayout>>) -> Self {
        let Some(layout) = layout else { return Self::NONE };
        // SAFETY: one value of the type is written, unless it panics.
        unsafe { Self::fill(layout, |place, to| (place.value.write_default)(to.as_ptr(), 1)) }
    }

    /// Copies of the values. Code of the user runs; if it panics, nothing is left.
    ///
    /// # Safety
    ///
    /// - the types can all be duplicated
    pub(crate) unsafe fn duplicate(&self) -> Self {
        let Some(layout) = &self.layout else { return Self::NONE };
        // SAFETY: one value of the type is written, unless it panics. It can be duplicated, as the caller promises.
        unsafe {
            Self::fill(layout, |place, to| {
                let value = self.memory.add(place.offset);
                duplicate_value(place.value.of, value.as_ptr(), to.as_ptr(), 1);
            })
        }
    }

    /// Values that a function writes one after the other.
    ///
    /// # Safety
    ///
    /// - the function writes a value of the type of the place, unless it panics
    unsafe fn fill(layout: &Arc<ValueLayout>, write: impl Fn(&ValuePlace, NonNull<u8>)) -> Self {
        /// Those that were written: dropped if something panics before the last.
        struct Written<'a> {
            memory: NonNull<u8>,
            layout: &'a ValueLayout,
            count: usize,
        }

        impl Drop for Written<'_> {
            fn drop(&mut self) {
                let places = self.layout.places[..self.count].iter();
                Rest { memory: self.memory, layout: self.layout.layout, places }.go_on();
            }
        }

        // SAFETY: the layout has a size.
        let memory = unsafe { alloc(layout.layout) };
        let memory = NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(layout.layout));
        let mut written = Written { memory, layout, count: 0 };
        for place in &layout.places {
            // SAFETY: the place is in the memory.
            write(place, unsafe { memory.add(place.offset) });
            written.count += 1;
        }
        mem::forget(written);
        Self { memory, layout: Some(Arc::clone(layout)) }
    }

    /// Lets them be of this layout, which is one for the same types.
    pub(super) fn relabel(&mut self, layout: Option<&Arc<ValueLayout>>) {
        debug_assert_eq!(self.layout.is_some(), layout.is_some());
        self.layout = layout.cloned();
    }

    /// The value of a column, if that is one of chunks.
    pub(crate) fn find(&self, column: u32) -> Option<NonNull<u8>> {
        self.iter().find(|&(found, ..)| found == column).map(|(.., value)| value)
    }

    /// All values: their columns, their types, and where they are.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, ComponentType, NonNull<u8>)> {
        let places = self.layout.as_ref().map_or(&[][..], |layout| &layout.places);
        places.iter().map(|place| {
            // SAFETY: the place is in the memory.
            (place.column, place.value.of, unsafe { self.memory.add(place.offset) })
        })
    }

    /// Calls `each` for all values, with the column, the type, and a function that feeds the value to a hasher.
    pub(super) fn hash_each(
        &self,
        mut each: impl FnMut(u32, ComponentType, &mut dyn FnMut(&mut StateHasher)),
    ) {
        for (column, ty, value) in self.iter() {
            // SAFETY: there is one value of the type at the address.
            each(column, ty, &mut |state| unsafe {
                (ty.0.hash)(ty.0.shape, value.as_ptr(), 1, state);
            });
        }
    }

    /// Whether they are of this layout.
    pub(crate) fn is_of(&self, layout: Option<&Arc<ValueLayout>>) -> bool {
        self.layout.as_ref().map(Arc::as_ptr) == layout.map(Arc::as_ptr)
    }
}

impl Drop for ChunkValues {
    fn drop(&mut self) {
        if let Some(layout) = &self.layout {
            Rest { memory: self.memory, layout: layout.layout, places: layout.places.iter() }
                .go_on();
        }
    }
}

/// Values that are to be dropped, all of them also when one panics, and the memory after them.
struct Rest<'a> {
    memory: NonNull<u8>,
    layout: Layout,
    places: slice::Iter<'a, ValuePlace>,
}

impl Rest<'_> {
    fn go_on(&mut self) {
        for place in self.places.by_ref() {
            if let Some(drop) = place.value.of.0.drop {
                // SAFETY: there is a value of this type, which is not used afterwards.
                unsafe { drop(self.memory.add(place.offset).as_ptr(), 1) };
            }
        }
    }
}

impl Drop for Rest<'_> {
    fn drop(&mut self) {
        self.go_on();
        // SAFETY: it was allocated with this layout, and is not used afterwards.
        unsafe { dealloc(self.memory.as_ptr(), self.layout) };
    }
}

/// A row of a chunk, with the offsets of the columns of a set of components, in the order of the set.
///
/// Only an address: what may be done there is the promise of who hands it on.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct RowPlace {
    chunk: *mut u8,
    offsets: *const u32,
    row: usize,
}

impl RowPlace {
    #[inline]
    pub(crate) fn new(chunk: *mut u8, offsets: &[u32], row: usize) -> Self {
        Self { chunk, offsets: offsets.as_ptr(), row }
    }

    /// Where the value of the first type is.
    ///
    /// # Safety
    ///
    /// - there is a first offset, of a column of `T` with this row
    #[inline(always)]
    pub(crate) unsafe fn value<T>(self) -> *mut T {
        // SAFETY: the offset is there, and leads to a column with this row.
        unsafe { self.chunk.add(*self.offsets as usize).cast::<T>().add(self.row) }
    }

    /// Where the value of the first type is, of which it is known how many bytes it takes.
    ///
    /// # Safety
    ///
    /// - there is a first offset, of a column of values of so many bytes with this row
    #[inline(always)]
    pub(crate) unsafe fn bytes(self, size: usize) -> *mut u8 {
        // SAFETY: the offset is there, and leads to a column with this row.
        unsafe { self.chunk.add(*self.offsets as usize + self.row * size) }
    }

    /// The same columns, so many rows further.
    #[inline(always)]
    pub(crate) fn rows_after(self, rows: usize) -> Self {
        Self { row: self.row + rows, ..self }
    }

    /// The same row, with the offsets after the first so many.
    #[inline(always)]
    pub(crate) fn after(self, count: usize) -> Self {
        Self { offsets: self.offsets.wrapping_add(count), ..self }
    }
}
