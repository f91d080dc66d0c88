//! One chunk: its memory, its metadata, and its chunk components.

#![expect(unsafe_code, reason = "addresses in chunks")]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::mem::MaybeUninit;
use std::num::NonZero;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;
use std::{mem, slice};

use super::StorageSettings;
use super::archetype::{ArchetypeShape, ColumnEntry};
use super::arena::{ChunkMemory, OutOfMemory};
use super::enabled::EnabledMasks;
use super::fork::ChunkCopy;
use super::raw_values::{duplicate_value, for_each_to_end};
use super::reserve::{NewRows, RowRange};
use super::transfer::Transfer;
use super::versions::{ChunkVersions, MetadataPool};
use crate::component::{ChunkValue, ComponentType};
use crate::entity::Entity;
use crate::field::StateHasher;
use crate::version::Version;

/// The position of a chunk that is not in a list, and the group of a chunk whose archetype has no groups.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// A chunk: its memory, and the metadata that a world keeps about it.
///
/// Forks of the world may share the memory, but not the metadata. The first `len` rows of the memory have an id and a value in
/// each column. The memory of all other rows is uninitialised.
///
/// **Invariant:** the archetype of a chunk outlives the chunk, and keeps the shape alive.
#[repr(C, align(64))]
pub(crate) struct Chunk {
    // The fields that every operation needs come first, in one cache line.
    /// The address of `memory`, for access without indirection.
    pub(super) data: NonNull<u8>,
    shape: NonNull<ArchetypeShape>,
    pub(crate) len: u32,
    capacity: u32,
    pub(crate) archetype: u32,
    /// The position in the list of chunks with room of the chunk's group or archetype, or [`NOWHERE`].
    pub(crate) room_place: u32,
    /// The version at which a row was last added or removed.
    pub(crate) order_version: Version,
    /// The number of times that rows were added or removed.
    pub(crate) order_events: u32,
    pub(crate) versions: ChunkVersions,
    /// The features of the chunk: the result of [`flags_of`], [`SHARED`] and [`OBSERVED`].
    flags: u16,
    /// The position in the archetype's list of chunks.
    pub(crate) place: u32,
    pub(crate) enabled: EnabledMasks,
    pub(crate) sequence: u64,
    /// The chunk components. Forks do not share them.
    pub(crate) values: ChunkValues,
    /// The group of the chunk, or [`NOWHERE`] if the archetype has no shared types.
    pub(crate) group: u32,
    memory: ChunkMemory,
}

// A chunk fills two cache lines, so that indexing takes a shift. `None` needs no tag, so that a pointer to the option is a
// pointer to the chunk.
const _: () = assert!(size_of::<Option<Chunk>>() == 128 && size_of::<Chunk>() == 128);

/// Flag: the memory may be shared with forks.
const SHARED: u16 = 1;
/// Flag: there are enableable components.
const MASKED: u16 = 2;
/// Flag: there are values that need to be dropped.
const DROPS: u16 = 4;
/// Flag: there are cleanup components, which remain when an entity is despawned.
const STAYS: u16 = 8;
/// Flag: there are values that are not [small](ArchetypeShape::is_small).
const LARGE: u16 = 16;
/// Flag: there are chunk components, which are dropped with the chunk.
const VALUES: u16 = 32;
/// Flag: there are shared components, so that the chunk belongs to a group.
const GROUPED: u16 = 64;
/// Flag: there are components with a version per row.
const TRACKED: u16 = 128;
/// Flag: there are sources or lists of relationships, so that removed rows end links.
const LINKED: u16 = 512;
/// Flag: changes of rows are logged, because the world observes the archetype. Forks do not have it.
pub(crate) const OBSERVED: u16 = 256;

// SAFETY: the world that owns the chunk accesses the memory, and its forks may read it. Components are `Send`. Components that
// are not `Sync` are only in memory that no fork shares. The shape is `Sync`.
unsafe impl Send for Chunk {}

impl Chunk {
    /// Creates a chunk without rows. The archetype outlives the chunk.
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

    /// Creates the chunk of a fork. It has the copied memory, or shares the memory of this chunk, and has the same shape.
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
            flags: self.flags & !OBSERVED,
            ..*self
        }
    }

    /// Moves the chunk and all its rows to another archetype.
    ///
    /// # Safety
    ///
    /// - `shape` is the shape of the archetype that `transfer` leads to, which outlives the chunk
    /// - `transfer` [keeps chunks whole](Transfer::whole), or the columns were moved as it [lists](Transfer::repacks)
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

    /// Moves the chunk, which is in no list, to an archetype of another storage. The caller replaces the ids.
    ///
    /// # Safety
    ///
    /// - `shape` is the shape of the archetype, which outlives the chunk
    /// - the chunk's current shape has the [same layout](ArchetypeShape::has_same_layout)
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
        self.set_observed(false);
        // The events so far count in the storage that the chunk comes from.
        self.order_events = 0;
        self.values.relabel(shape.values.as_ref());
    }

    /// Returns the ids of all rows mutably. The caller replaces them.
    pub(super) fn ids_mut(&mut self) -> &mut [MaybeUninit<Entity>] {
        assert!(!self.may_be_shared());
        // SAFETY: the first `len` ids are initialised. The memory is unshared, and the chunk is borrowed mutably.
        unsafe { slice::from_raw_parts_mut(self.id(0).cast(), self.len as usize) }
    }

    /// Splits the chunk into its memory, its chunk components, its shape and its number of rows.
    ///
    /// Dropping the chunk components runs user code, so drop them when the change is complete.
    pub(crate) fn into_parts<'a>(self) -> (ChunkMemory, ChunkValues, &'a ArchetypeShape, u32) {
        // SAFETY: an archetype outlives its chunks, and all callers use the shape only during one change to the storage.
        let shape = unsafe { self.unbound_shape() };
        (self.memory, self.values, shape, self.len)
    }

    #[inline]
    pub(crate) fn shape(&self) -> &ArchetypeShape {
        // SAFETY: the archetype outlives the chunk, and the result borrows the chunk.
        unsafe { self.unbound_shape() }
    }

    /// Returns the shape with a lifetime that is independent of the chunk, so that the caller can use the shape and change the
    /// chunk.
    ///
    /// # Safety
    ///
    /// - the archetype outlives the result
    #[inline]
    pub(crate) unsafe fn unbound_shape<'a>(&self) -> &'a ArchetypeShape {
        // SAFETY: the archetype, which keeps the shape alive, outlives the result.
        unsafe { self.shape.as_ref() }
    }

    #[inline]
    pub(crate) fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Returns whether the memory may be shared, so that it may have to be copied before a write.
    #[inline]
    pub(crate) fn may_be_shared(&self) -> bool {
        self.flags & SHARED != 0
    }

    /// Returns whether the metadata has the sizes that the shape requires.
    pub(crate) fn is_of_its_shape(&self) -> bool {
        let shape = self.shape();
        self.flags & !(SHARED | OBSERVED) == flags_of(shape)
            && self.capacity == shape.capacity
            && self.versions.types() == shape.types.len()
            && self.enabled.is_for(shape.enableable.len(), shape.capacity)
    }

    /// Returns whether moving a row to or from this chunk only needs to copy small values.
    #[inline]
    pub(crate) fn moves_simply(&self) -> bool {
        // No user code may run, because the caller continues after the last row is removed.
        self.flags & (SHARED | MASKED | LARGE | VALUES | GROUPED | TRACKED | OBSERVED) == 0
    }

    /// Returns whether removing a row only needs to copy small values.
    #[inline]
    pub(crate) fn removes_simply(&self) -> bool {
        self.flags == 0
    }

    /// Returns whether rows have sources or lists of relationships.
    #[inline]
    pub(crate) fn has_links(&self) -> bool {
        self.flags & LINKED != 0
    }

    /// Returns whether changes of rows are logged.
    #[inline]
    pub(crate) fn is_observed(&self) -> bool {
        self.flags & OBSERVED != 0
    }

    /// Sets whether changes of rows are logged.
    pub(crate) fn set_observed(&mut self, is_observed: bool) {
        self.flags = self.flags & !OBSERVED | if is_observed { OBSERVED } else { 0 };
    }

    /// Returns whether a new row needs more than its values, its id and its versions: enabled bits, or an entry in the log.
    #[inline]
    pub(crate) fn has_extras(&self) -> bool {
        self.flags & (MASKED | OBSERVED) != 0
    }

    /// Returns whether the memory is still shared. If it is not, clears the flag.
    pub(super) fn is_shared(&mut self) -> bool {
        if self.may_be_shared() && self.memory.is_unique() {
            self.flags &= !SHARED;
        }
        self.may_be_shared()
    }

    /// Copies the memory with all rows to a new chunk with these settings. Runs user code, and does not change this chunk.
    ///
    /// # Panics
    ///
    /// Panics if a type cannot be duplicated, or chunks with these settings are too small for the shape.
    pub(super) fn duplicate(&self, settings: &StorageSettings) -> Result<ChunkMemory, OutOfMemory> {
        let shape = self.shape();
        assert!(shape.chunk_size <= settings.chunk_size);
        let memory = settings.arena.allocate(settings.chunk_size, shape.align)?;
        let run = RowRange { chunk: NOWHERE, first: 0, rows: self.len };
        // SAFETY:
        // - the ids are at the beginning of both chunks, and the first `len` of them are initialised
        // - the new memory is as large as chunks of the shape, and outlives the rows
        let mut rows = unsafe {
            let data = memory.as_ptr().as_ptr();
            data.copy_from_nonoverlapping(self.data(), self.len as usize * size_of::<Entity>());
            NewRows::in_memory(shape, data, run)
        };
        rows.duplicate_rows(self, 0);
        rows.keep();
        Ok(memory)
    }

    /// Replaces the memory with a copy of it, and returns the old memory.
    pub(super) fn replace_memory(&mut self, memory: ChunkMemory) -> ChunkMemory {
        self.data = memory.as_ptr();
        self.flags &= !SHARED;
        mem::replace(&mut self.memory, memory)
    }

    #[inline]
    pub(crate) fn data(&self) -> *mut u8 {
        self.data.as_ptr()
    }

    /// Returns the address of the chunk's memory as a number.
    #[inline]
    pub(crate) fn memory_address(&self) -> NonZero<usize> {
        self.data.addr()
    }

    /// Returns the place of a set of components in a row, given their column offsets.
    #[inline]
    pub(crate) fn row(&self, row: u32, offsets: &[u32]) -> RowPlace {
        RowPlace::new(self.data(), offsets, row as usize)
    }

    /// Returns the ids of the chunk's entities.
    #[inline]
    pub(crate) fn entities(&self) -> &[Entity] {
        // SAFETY: ids are at the beginning of the chunk, and the first `len` of them are initialised.
        unsafe { slice::from_raw_parts(self.data().cast_const().cast(), self.len as usize) }
    }

    /// Returns the address of the id of a row.
    #[inline]
    pub(crate) fn id(&self, row: u32) -> *mut Entity {
        debug_assert!(row < self.capacity);
        self.data().cast::<Entity>().wrapping_add(row as usize)
    }

    /// Returns the uninitialised ids of rows that follow the last row.
    pub(crate) fn new_ids(&mut self, first: u32, rows: u32) -> &mut [MaybeUninit<Entity>] {
        assert!(first >= self.len && rows <= self.capacity - first && !self.may_be_shared());
        // SAFETY: the rows are within the capacity. The memory is unshared, and the chunk is borrowed mutably.
        unsafe { slice::from_raw_parts_mut(self.id(first).cast(), rows as usize) }
    }

    #[inline]
    pub(crate) fn find(&self, ty: ComponentType) -> Option<ColumnEntry> {
        self.shape().index.find(ty)
    }

    /// Returns the column and the address of a chunk component.
    pub(crate) fn find_value(&self, ty: ComponentType) -> Option<(u32, NonNull<u8>)> {
        let column = self.find(ty)?.column;
        Some((column, self.values.find(column)?))
    }

    /// Returns the address of the first value of a column.
    #[inline]
    pub(crate) fn column(&self, offset: u32) -> *mut u8 {
        self.data().wrapping_add(offset as usize)
    }

    /// Feeds the values of a range of rows in one column to a hasher.
    ///
    /// # Panics
    ///
    /// Panics if the chunk does not have the column or the rows.
    pub(super) fn hash_rows(&self, column: usize, rows: Range<u32>, state: &mut StateHasher) {
        assert!(rows.start <= rows.end && rows.end <= self.len, "rows of the chunk");
        let (ty, slot) = (self.shape().types[column], self.shape().columns[column]);
        let first = self.column(slot.offset).wrapping_add(rows.start as usize * ty.size());
        // SAFETY: the chunk has values of this type in all these rows.
        unsafe { (ty.0.hash)(ty.0.shape, first, rows.len(), state) };
    }

    /// Returns whether one of the components has a version per row.
    #[inline]
    pub(crate) fn is_tracked(&self) -> bool {
        self.flags & TRACKED != 0
    }

    /// Adds rows to the length. They follow the last row, and already have values and ids. Returns whether the caller has to
    /// [record](super::Storage::note_full) the chunk as full.
    #[inline]
    #[must_use = "`Storage` lists the chunks with room"]
    pub(crate) fn add_rows(&mut self, rows: u32, version: Version) -> bool {
        self.note_order(version);
        self.len += rows;
        debug_assert!(self.len <= self.capacity);
        self.len == self.capacity
    }

    /// Records that rows were added or removed.
    #[inline]
    pub(crate) fn note_order(&mut self, version: Version) {
        self.order_version = version;
        self.order_events = self.order_events.wrapping_add(1);
    }
}

/// Returns the flags of chunks of a shape, without [`SHARED`] and [`OBSERVED`].
pub(crate) fn flags_of(shape: &ArchetypeShape) -> u16 {
    let flag = |is_set: bool, flag: u16| if is_set { flag } else { 0 };
    flag(!shape.enableable.is_empty(), MASKED)
        | flag(!shape.dropped.is_empty(), DROPS)
        | flag(shape.has_links(), LINKED)
        | flag(shape.stays(), STAYS)
        | flag(!shape.is_small(), LARGE)
        | flag(shape.values.is_some(), VALUES)
        | flag(!shape.shared.is_empty(), GROUPED)
        | flag(!shape.tracked.is_empty(), TRACKED)
}

/// The memory layout of an archetype's chunk components.
pub(crate) struct ValueLayout {
    layout: Layout,
    places: Box<[ValuePlace]>,
}

/// The type and the offset of one chunk component.
struct ValuePlace {
    /// The column of the type. The column has no bytes in the memory of the chunk.
    column: u32,
    offset: usize,
    value: ChunkValue,
}

impl ValueLayout {
    /// Creates the layout of the chunk components among these types. Returns `None` if no type is a chunk component.
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
        // One more byte keeps the allocation from being empty if no value has bytes.
        extend(Layout::new::<u8>());
        (!places.is_empty()).then(|| Arc::new(Self { layout, places: places.into() }))
    }
}

/// The chunk components of one chunk.
///
/// Chunk components have separate memory, because the memory of the chunk is for entities. This memory is never shared and never
/// moves, so that its address remains valid while the chunk exists.
pub(crate) struct ChunkValues {
    memory: NonNull<u8>,
    /// The layout of the values. `None` if there are no chunk components; `memory` is then dangling.
    layout: Option<Arc<ValueLayout>>,
}

// SAFETY: `ChunkValues` owns its memory, as a box does, and components are `Send`.
unsafe impl Send for ChunkValues {}

impl ChunkValues {
    /// No chunk components.
    pub(crate) const NONE: Self = Self { memory: NonNull::dangling(), layout: None };

    /// Creates chunk components with their default values, which runs user code. If user code panics, nothing leaks.
    pub(crate) fn initial(layout: Option<&Arc<ValueLayout>>) -> Self {
        let Some(layout) = layout else { return Self::NONE };
        // SAFETY: `write_default` writes one value of the place's type, unless it panics.
        unsafe { Self::fill(layout, |place, to| (place.value.write_default)(to.as_ptr(), 1)) }
    }

    /// Duplicates the chunk components, which runs user code. If user code panics, nothing leaks.
    ///
    /// # Panics
    ///
    /// Panics if a type cannot be duplicated.
    pub(crate) fn duplicate(&self) -> Self {
        let Some(layout) = &self.layout else { return Self::NONE };
        // SAFETY: the memory has a value of the type at the offset. `duplicate_value` writes one value of that type, unless it
        // panics.
        unsafe {
            Self::fill(layout, |place, to| {
                let value = self.memory.add(place.offset);
                duplicate_value(place.value.of, value.as_ptr(), to.as_ptr(), 1);
            })
        }
    }

    /// Allocates values, and calls a function that writes each of them.
    ///
    /// # Safety
    ///
    /// - `write` writes a value of the place's type to the address, unless it panics
    unsafe fn fill(layout: &Arc<ValueLayout>, write: impl Fn(&ValuePlace, NonNull<u8>)) -> Self {
        // SAFETY: the layout is not empty, because it has at least one byte.
        let memory = unsafe { alloc(layout.layout) };
        let memory = NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(layout.layout));
        let mut written = Written { memory, layout, count: 0 };
        for place in &layout.places {
            // SAFETY: the memory was allocated with the layout, and the offset of the place is inside of the layout.
            write(place, unsafe { memory.add(place.offset) });
            written.count += 1;
        }
        mem::forget(written);
        Self { memory, layout: Some(Arc::clone(layout)) }
    }

    /// Replaces the layout with an equal layout of another storage.
    pub(super) fn relabel(&mut self, layout: Option<&Arc<ValueLayout>>) {
        debug_assert_eq!(self.layout.is_some(), layout.is_some());
        self.layout = layout.cloned();
    }

    /// Returns the address of the value of a column, or `None` if the column is not a chunk component.
    pub(crate) fn find(&self, column: u32) -> Option<NonNull<u8>> {
        self.iter().find(|&(found, ..)| found == column).map(|(.., value)| value)
    }

    /// Iterates over all values. Yields the column, the type and the address of each.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, ComponentType, NonNull<u8>)> {
        let places = self.layout.as_ref().map_or(&[][..], |layout| &layout.places);
        places.iter().map(|place| {
            // SAFETY: the memory was allocated with the layout, and the offset of the place is inside of the layout.
            (place.column, place.value.of, unsafe { self.memory.add(place.offset) })
        })
    }

    /// Calls `each` for each value, with the column, the type, and a function that feeds the value to a hasher.
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

    /// Returns whether the values have the same layout object, not only an equal one.
    pub(crate) fn is_of(&self, layout: Option<&Arc<ValueLayout>>) -> bool {
        self.layout.as_ref().map(Arc::as_ptr) == layout.map(Arc::as_ptr)
    }
}

impl Drop for ChunkValues {
    fn drop(&mut self) {
        if let Some(layout) = &self.layout {
            drop(Written { memory: self.memory, layout, count: layout.places.len() });
        }
    }
}

/// Memory of a layout, in which the first `count` values were written. Drops the values and frees the memory on drop, even if the
/// drop of a value panics.
struct Written<'a> {
    memory: NonNull<u8>,
    layout: &'a ValueLayout,
    count: usize,
}

impl Drop for Written<'_> {
    fn drop(&mut self) {
        struct Memory(NonNull<u8>, Layout);

        impl Drop for Memory {
            fn drop(&mut self) {
                // SAFETY: the memory was allocated with this layout, and is not used afterwards.
                unsafe { dealloc(self.0.as_ptr(), self.1) };
            }
        }

        let memory = Memory(self.memory, self.layout.layout);
        for_each_to_end(&self.layout.places[..self.count], |place| {
            if let Some(drop) = place.value.of.0.drop {
                // SAFETY: there is a value of this type at the offset. It is not used afterwards.
                unsafe { drop(memory.0.add(place.offset).as_ptr(), 1) };
            }
        });
    }
}

/// The place of a set of components in a row of a chunk: the row, and the column offsets in the order of the set.
///
/// A `RowPlace` is only an address. The code that creates it determines which accesses are allowed.
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

    /// Returns the address of the set's first component in the row.
    ///
    /// # Safety
    ///
    /// - there is a first offset, and it is that of a column of `T` that has this row
    #[inline(always)]
    pub(crate) unsafe fn value<T>(self) -> *mut T {
        // SAFETY: the first offset exists, and is that of a column with this row.
        unsafe { self.chunk.add(*self.offsets as usize).cast::<T>().add(self.row) }
    }

    /// Returns the address of the set's first component in the row, whose values have `size` bytes.
    ///
    /// # Safety
    ///
    /// - there is a first offset, and it is that of a column that has this row and values of `size` bytes
    #[inline(always)]
    pub(crate) unsafe fn bytes(self, size: usize) -> *mut u8 {
        // SAFETY: the first offset exists, and is that of a column with this row.
        unsafe { self.chunk.add(*self.offsets as usize + self.row * size) }
    }

    /// Returns the place of the same components `rows` rows further on.
    #[inline(always)]
    pub(crate) fn rows_after(self, rows: usize) -> Self {
        Self { row: self.row + rows, ..self }
    }

    /// Returns the place without the first `count` components.
    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    pub fn after(self, count: usize) -> Self {
        Self { offsets: self.offsets.wrapping_add(count), ..self }
    }
}
