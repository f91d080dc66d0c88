//! Iteration step by step: the cursor over matching chunks, and the iterator over items.

#![expect(
    unsafe_code,
    reason = "values of chunks of a borrowed world, and pooled memory of cursors"
)]

use std::any::type_name;
use std::cell::Cell;
use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::{Deref, DerefMut};
use std::{fmt, slice};

use super::batch::{ChunkMarks, ChunkView};
use super::chunk_filter::Runs;
use super::data::{QueryData, track_rows};
use super::state::{Masks, Match, Place};
use super::walk::{SelectedChunks, Walk, refuse};
use crate::component::{Component, ComponentType};
use crate::storage::{Chunk, OutOfMemory};

/// Iterator over the items of a query.
///
/// [`for_each`](crate::Query::for_each) is compiled for several CPU levels, the iterator only for the target of the build. Loops
/// with much arithmetic are therefore faster with `for_each`. Neither allocates, except for filters by shared values or tracked
/// changes: the thread keeps a few hundred bytes from one loop to the next.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Health(u32);
///
/// let mut world = World::new("Simulation");
/// world.spawn_many(Health(20), 10);
/// let mut sum = 0;
/// for health in world.query::<&Health>() {
///     sum += health.0;
/// }
/// assert_eq!(sum, 200);
/// ```
///
/// It stays on the thread of its world:
///
/// ```compile_fail,E0277
/// use ancho_entities::{Entity, World};
///
/// let world = World::new("Simulation");
/// let iter = world.query::<Entity>().iter();
/// std::thread::scope(|scope| {
///     scope.spawn(move || iter.count());
/// });
/// ```
#[must_use = "iterators are lazy and do nothing unless consumed"]
pub struct QueryIter<'w, D: QueryData> {
    /// Behind a pointer, so that state that changes with each row is not next to memory whose address escapes. It then stays in
    /// registers, and a loop takes half the time.
    cursor: PooledCursor<'w>,
    /// The fetch of the current chunk. It is initialised if the row is before the end.
    fetch: MaybeUninit<D::Fetch>,
    row: usize,
    end: usize,
    items: PhantomData<D::Item<'w>>,
}

impl<'w, D: QueryData> QueryIter<'w, D> {
    /// Creates an iterator over the rows of a cursor.
    ///
    /// # Safety
    ///
    /// - the cursor is that of a query of this data, and writes it, unless the data is read-only
    #[inline]
    pub(super) unsafe fn new(cursor: Cursor<'w>) -> Self {
        let fetch = MaybeUninit::uninit();
        Self { cursor: PooledCursor::new(cursor), fetch, row: 0, end: 0, items: PhantomData }
    }

    /// Moves to the next run. Returns `false` at the end.
    #[inline]
    fn find_run(&mut self) -> bool {
        loop {
            if let Some((first, end)) = self.cursor.next_run() {
                (self.row, self.end) = (first as usize, end as usize);
                return true;
            }
            if !self.cursor.next_chunk() {
                return match self.cursor.end() {
                    Ok(()) => false,
                    Err(error) => refuse(error.into()),
                };
            }
            let (view, places) = (self.cursor.view(), self.cursor.places());
            // SAFETY: these are the places of the data in the archetype of the chunk, which has the required components.
            self.fetch.write(unsafe { D::fetch(view, places) });
        }
    }

    /// Returns the item of the current row, which is before the end.
    #[inline(always)]
    fn give(&mut self) -> D::Item<'w> {
        let row = self.row;
        self.row += 1;
        // SAFETY: the row is in the current run, of the fetched chunk. Each row is yielded once, so no other code uses its data
        // that can be written, and the cursor has unshared it.
        unsafe { D::get(self.fetch.assume_init(), row) }
    }

    /// Records that `rows` rows of the run, beginning with the current one, are fetched.
    #[inline(always)]
    fn track(&self, rows: usize) {
        if D::TRACKS && rows > 0 {
            // SAFETY: the rows are in the current run, of the fetched chunk, and each is yielded once, so no other code uses them.
            unsafe { D::track(self.fetch.assume_init(), self.row, rows, false) };
        }
    }
}

impl<'w, D: QueryData> Iterator for QueryIter<'w, D> {
    type Item = D::Item<'w>;

    #[inline]
    fn next(&mut self) -> Option<D::Item<'w>> {
        if self.row == self.end && !self.find_run() {
            return None;
        }
        // One by one: a loop that stops early has not received the others.
        self.track(1);
        Some(self.give())
    }

    #[inline]
    fn fold<B, G: FnMut(B, D::Item<'w>) -> B>(mut self, init: B, mut function: G) -> B {
        let mut folded = init;
        loop {
            self.track(self.end - self.row);
            while self.row < self.end {
                folded = function(folded, self.give());
            }
            if !self.find_run() {
                return folded;
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.end - self.row, None)
    }
}

impl<D: QueryData> FusedIterator for QueryIter<'_, D> {}

impl<D: QueryData> fmt::Debug for QueryIter<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QueryIter<{}>", type_name::<D>())
    }
}

/// Position of a step-by-step walk over the matching chunks.
pub(crate) struct Cursor<'w> {
    chunks: SelectedChunks<'w>,
    /// Data that is unshared and marked.
    writes: Writes,
    marks: bool,
    /// The error that ended the walk early.
    failure: Option<OutOfMemory>,
    /// The chunk that was found last.
    chunk: *const Chunk,
    places: &'w [Place],
    /// The matching rows of that chunk and no other, or none.
    runs: Runs<'w>,
}

/// Data that a walk is going to write.
#[derive(Clone, Copy)]
pub(crate) enum Writes {
    Nothing,
    /// Data that the query fetches for writing.
    Data {
        /// Values in chunks, not only enabled bits.
        values: bool,
        /// Marks it in a chunk, as [`QueryData::mark`].
        mark: unsafe fn(&mut ChunkMarks<'_>, &[Place]),
    },
    /// This component, which all entities have.
    Only(ComponentType),
}

impl Writes {
    /// Returns the data that a query of this type fetches for writing.
    pub(crate) fn of<D: QueryData>() -> Self {
        if D::MARKS { Self::Data { values: D::WRITES, mark: D::mark } } else { Self::Nothing }
    }
}

impl<'w> Cursor<'w> {
    /// Creates a cursor at the start of a walk. The walk must be one that writes, unless `writes` is `Nothing`.
    #[inline]
    pub(crate) fn new(walk: Walk<'w>, writes: Writes) -> Self {
        Self {
            chunks: SelectedChunks::new(walk),
            writes,
            marks: true,
            failure: None,
            chunk: std::ptr::null(),
            places: &[],
            runs: Runs::NONE,
        }
    }

    /// Moves to the next chunk with matching rows. Returns `false` at the end or on an error, which [`end`](Self::end) returns.
    #[inline(never)]
    pub(crate) fn next_chunk(&mut self) -> bool {
        // The rows of a chunk are yielded only once it is entered. That may panic or find no memory, and the caller may catch it and
        // go on: all rows of the chunk before were yielded.
        self.runs = Runs::NONE;
        let Some((found, number)) = self.chunks.next() else { return false };
        // SAFETY: archetypes list existing chunks. Only the header of the chunk is borrowed here.
        let runs =
            Runs::new(&found.bits, unsafe { (*self.chunks.walk.chunks).get_unchecked(number) });
        if !self.enter(found, number) {
            return false;
        }
        self.runs = runs;
        true
    }

    /// Enters a chunk of a match, from which nothing is fetched yet: unshares it if it is written, and marks the written columns.
    /// Returns `false` if memory ran out.
    #[inline]
    pub(crate) fn enter(&mut self, found: &'w Match, number: u32) -> bool {
        if let Err(failure) = self.prepare(number, found) {
            self.failure = Some(failure);
            self.chunks.stop();
            return false;
        }
        // Not made from a reference: with several walks in turns, others mark the chunk in between.
        // SAFETY: archetypes list existing chunks. The address is stable: no chunk is added or freed meanwhile.
        self.chunk = unsafe { (*self.chunks.walk.chunks).as_ptr().add(number as usize) };
        self.places = &found.places;
        true
    }

    /// Returns the next run of contiguous matching rows in the chunk: the first row and the end.
    #[inline(always)]
    pub(crate) fn next_run(&mut self) -> Option<(u32, u32)> {
        let run;
        if self.runs.is_whole() {
            (run, self.runs) = self.runs.whole();
        } else {
            // SAFETY: the chunk exists, since it has runs. Other code may have set bits since, on this thread, and keeps no
            // reference to them.
            let enabled = unsafe { &(*self.chunk).enabled };
            let masks = Masks { enabled, changed: &self.chunks.changed };
            (run, self.runs) = self.runs.next(&masks);
        }
        (run.start < run.end).then_some((run.start, run.end))
    }

    /// Returns the number of matching rows of the chunk that were in no run yet.
    pub(crate) fn count(&mut self) -> usize {
        if self.runs.is_whole() {
            return self.runs.whole().0.len();
        }
        // SAFETY: the chunk exists, since it has runs. Other code may have set bits since, on this thread, and keeps no reference
        // to them.
        let enabled = unsafe { &(*self.chunk).enabled };
        self.runs.count(&Masks { enabled, changed: &self.chunks.changed })
    }

    /// Returns the current chunk, to fetch data from.
    #[inline(always)]
    pub(crate) fn view(&self) -> ChunkView<'_> {
        debug_assert!(!self.chunk.is_null());
        // SAFETY: the chunk exists, and its header does not change while this is borrowed.
        let chunk = unsafe { &*self.chunk };
        ChunkView { chunk, shared: self.chunks.walk.shared_of() }
    }

    /// Returns the places of the parts in the current chunk.
    #[inline(always)]
    pub(crate) fn places(&self) -> &'w [Place] {
        self.places
    }

    /// Returns the error that ended the walk early.
    #[inline]
    pub(crate) fn end(&mut self) -> Result<(), OutOfMemory> {
        match self.failure.take() {
            None => Ok(()),
            Some(failure) => Err(failure),
        }
    }

    /// Unshares a chunk, and marks the written columns.
    #[inline(always)]
    fn prepare(&mut self, number: u32, found: &Match) -> Result<(), OutOfMemory> {
        let (chunks, version) = (self.chunks.walk.chunks, self.chunks.walk.version);
        let is_written = match self.writes {
            Writes::Nothing => return Ok(()),
            Writes::Data { values, .. } => values,
            Writes::Only(_) => true,
        };
        // SAFETY: archetypes list existing chunks. Nothing was fetched from the memory of this one yet, if it may be shared.
        if is_written && unsafe { (*chunks).get_unchecked(number) }.may_be_shared() {
            self.chunks.walk.unshare(number)?;
        }
        if !self.marks {
            return Ok(());
        }
        // SAFETY: archetypes list existing chunks.
        let chunk = unsafe { (*chunks).get_unchecked(number) };
        match self.writes {
            Writes::Nothing => {}
            // SAFETY: these are the places of the data in the archetype of the chunk. Jobs that use the versions of its columns
            // have completed, and for jobs that use other columns the versions were written out.
            Writes::Data { mark, .. } => unsafe {
                mark(&mut ChunkMarks { chunk, version }, &found.places);
            },
            Writes::Only(ty) => {
                let column = chunk.find(ty).expect("all entities have it").column;
                // SAFETY: the archetype has the column. Jobs that use its versions have completed, and for jobs that use other
                // columns the versions were written out.
                unsafe { chunk.begin_writing(column, version) };
            }
        }
        Ok(())
    }

    /// Unshares all chunks that are written, and marks nothing.
    pub(crate) fn make_unique(mut self) -> Result<(), OutOfMemory> {
        self.marks = false;
        while self.next_chunk() {}
        self.end()
    }
}

/// A cursor at its own address.
///
/// It works as a box, but reuses the memory of one that was dropped on this thread: only the first loops allocate.
pub(super) struct PooledCursor<'w> {
    /// Holds a cursor of this lifetime.
    full: FullSlot,
    cursor: PhantomData<Cursor<'w>>,
}

/// A slot with a cursor in it, which is removed only when this is dropped.
///
/// It has no lifetime: dropping it does not use what the cursor borrows, and the world may be borrowed by other code by then, as
/// with a box.
struct FullSlot(ManuallyDrop<Box<CursorSlot>>);

/// Memory for a cursor.
struct CursorSlot {
    /// The layout does not depend on the lifetime.
    cursor: MaybeUninit<Cursor<'static>>,
    /// The next free slot, and the number of free slots from there on.
    next: Option<Box<CursorSlot>>,
    others: u32,
}

/// Maximum number of spare slots of a thread: loops are rarely nested deeper.
const MAX_SPARE: u32 = 16;

thread_local! {
    /// The free slots, as a linked list.
    static SPARE: Cell<Option<Box<CursorSlot>>> = const { Cell::new(None) };
}

impl<'w> PooledCursor<'w> {
    #[inline]
    pub(super) fn new(cursor: Cursor<'w>) -> Self {
        let mut place = take();
        // SAFETY: the slot has room for a cursor of any lifetime. It is accessed only with this lifetime.
        unsafe { place.cursor.as_mut_ptr().cast::<Cursor<'w>>().write(cursor) };
        Self { full: FullSlot(ManuallyDrop::new(place)), cursor: PhantomData }
    }
}

/// Returns an empty slot.
fn take() -> Box<CursorSlot> {
    // A thread that is ending has none.
    let spare = SPARE.try_with(|spare| {
        let mut place = spare.take()?;
        spare.set(place.next.take());
        Some(place)
    });
    let new = || Box::new(CursorSlot { cursor: MaybeUninit::uninit(), next: None, others: 0 });
    spare.ok().flatten().unwrap_or_else(new)
}

/// Keeps an empty slot, unless there are enough.
fn give_back(mut place: Box<CursorSlot>) {
    _ = SPARE.try_with(|spare| {
        let next = spare.take();
        place.others = next.as_ref().map_or(0, |next| next.others + 1);
        if place.others < MAX_SPARE {
            place.next = next;
            spare.set(Some(place));
        } else {
            spare.set(next);
        }
    });
}

impl<'w> Deref for PooledCursor<'w> {
    type Target = Cursor<'w>;

    #[inline(always)]
    fn deref(&self) -> &Cursor<'w> {
        // SAFETY: the slot holds a cursor of this lifetime until this is dropped.
        unsafe { &*self.full.0.cursor.as_ptr().cast() }
    }
}

impl<'w> DerefMut for PooledCursor<'w> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Cursor<'w> {
        // SAFETY: the slot holds a cursor of this lifetime until this is dropped.
        unsafe { &mut *self.full.0.cursor.as_mut_ptr().cast() }
    }
}

impl Drop for FullSlot {
    fn drop(&mut self) {
        // SAFETY: the slot holds a cursor, which is not used afterwards. Its borrows are not accessed: only lists of numbers are
        // dropped.
        unsafe { self.0.cursor.assume_init_drop() };
        // SAFETY: the slot is not used afterwards.
        give_back(unsafe { ManuallyDrop::take(&mut self.0) });
    }
}

impl Cursor<'_> {
    /// Clones the values, in the order of the entities.
    ///
    /// # Safety
    ///
    /// - all matching entities have the component, and no other code writes its values meanwhile
    pub(super) unsafe fn clone_values<T: Component + Clone>(mut self) -> Vec<T> {
        let mut all = Vec::new();
        while self.next_chunk() {
            let chunk = self.view().chunk;
            let found = chunk.find(ComponentType::of::<T>()).expect("the query fetches it");
            let first = chunk.column(found.offset).cast_const().cast::<T>();
            // SAFETY: each row has a value, and no other code writes it meanwhile.
            let values = unsafe { slice::from_raw_parts(first, chunk.len as usize) };
            while let Some((first, end)) = self.next_run() {
                all.extend_from_slice(&values[first as usize..end as usize]);
            }
        }
        all
    }

    /// Writes the values in the order of the entities. Their counts are equal.
    ///
    /// # Safety
    ///
    /// - all matching entities have the component, and the walk unshares it
    /// - no other code uses its values meanwhile
    pub(super) unsafe fn write_values<T: Component + Copy>(
        mut self,
        values: &[T],
    ) -> Result<(), OutOfMemory> {
        let mut rest = values;
        while self.next_chunk() {
            let chunk = self.view().chunk;
            let place = chunk.find(ComponentType::of::<T>()).expect("the query fetches it");
            let column = chunk.column(place.offset).cast::<T>();
            let written = chunk.tracked_column(place.column);
            while let Some((first, end)) = self.next_run() {
                let (now, later) = rest.split_at((end - first) as usize);
                // SAFETY: the chunk has the rows, and no other code uses them. `Copy` values need no drop.
                unsafe {
                    track_rows(written, first as usize, now.len());
                    column.add(first as usize).copy_from_nonoverlapping(now.as_ptr(), now.len());
                }
                rest = later;
            }
        }
        self.end()
    }
}
