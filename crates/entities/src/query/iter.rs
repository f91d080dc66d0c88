//! The iterator over the items of a query, the cursor over its chunks, and lists of entities and values.

#![expect(
    unsafe_code,
    reason = "values of chunks of a borrowed world, and pooled memory of cursors"
)]

use std::any::type_name;
use std::cell::Cell;
use std::fmt;
use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::{Deref, DerefMut, Range};

use super::batch::{ChunkMarks, ChunkView};
use super::chunk_filter::Runs;
use super::data::{Column, QueryData};
use super::filter::QueryFilter;
use super::state::{Masks, Match, Place};
use super::view::{Others, Query};
use super::walk::{SelectedChunks, Walk, succeed};
use crate::component::{Component, ComponentType, Mutable};
use crate::entity::Entity;
use crate::error::EntityError;
use crate::storage::{Chunk, OutOfMemory};

/// Iterator over the items of a query.
///
/// [`for_each`](crate::Query::for_each) is compiled for several CPU levels, the iterator only for the target of the build. Loops
/// with much arithmetic are therefore faster with `for_each`. The iterator reuses a few hundred bytes that the thread keeps from
/// earlier loops. Beyond that, neither form allocates, except for filters by shared values or tracked changes.
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
/// A `QueryIter` is not `Send`, and stays on the thread of its world:
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
    /// The cursor is behind a pointer, so that its address, which escapes, is not the address of the fields below. These change
    /// with each row, and can stay in registers, so that a loop takes half the time.
    cursor: PooledCursor<'w>,
    /// The fetch of the current chunk. It is initialised if `row` is less than `end`.
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
    /// - the cursor belongs to a query of this data, and is one that writes the data unless the data is read-only
    #[inline]
    pub(super) unsafe fn new(cursor: Cursor<'w>) -> Self {
        let fetch = MaybeUninit::uninit();
        Self { cursor: PooledCursor::new(cursor), fetch, row: 0, end: 0, items: PhantomData }
    }

    /// Moves to the next run of matching rows. Returns `false` at the end.
    #[inline]
    fn find_run(&mut self) -> bool {
        loop {
            if let Some(run) = self.cursor.next_run() {
                (self.row, self.end) = (run.start as usize, run.end as usize);
                return true;
            }
            if !self.cursor.next_chunk() {
                succeed(self.cursor.end());
                return false;
            }
            let (view, places) = (self.cursor.view(), self.cursor.places);
            // SAFETY: these are the places of the data in the archetype of the chunk, which has the required components.
            self.fetch.write(unsafe { D::fetch(view, places) });
        }
    }

    /// Returns the item of the current row, and moves to the next row. `row` must be less than `end`.
    #[inline(always)]
    fn give(&mut self) -> D::Item<'w> {
        let row = self.row;
        self.row += 1;
        // SAFETY: the row is in the current run, in the fetched chunk. Each row is yielded once, so that no other code uses data of
        // it that can be written. The cursor has unshared the chunk if it can be written.
        unsafe { D::get(self.fetch.assume_init(), row) }
    }

    /// Records that `rows` rows of the run, starting with the current row, are fetched for writing.
    #[inline(always)]
    fn track(&self, rows: usize) {
        if D::TRACKS && rows > 0 {
            // SAFETY: the rows are in the current run, in the fetched chunk. Each row is yielded once, so that no other code uses
            // it.
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
        // Rows are recorded one by one, because a loop that stops early has not received the rest of the run.
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

/// A cursor over the matching chunks of a walk, and over the runs of matching rows in the current chunk.
pub(super) struct Cursor<'w> {
    chunks: SelectedChunks<'w>,
    /// The data that is written. `None` if the cursor only reads.
    writes: Option<Writes>,
    /// The error that ended the walk early.
    failure: Option<OutOfMemory>,
    /// The current chunk, or null before the first one.
    chunk: *const Chunk,
    places: &'w [Place],
    /// The remaining runs of matching rows in the current chunk. Empty if no chunk has been entered.
    runs: Runs<'w>,
}

/// The data that a [`Cursor`] unshares and marks because it is going to be written.
#[derive(Clone, Copy)]
pub(super) struct Writes {
    /// True if values in chunks are written. False if only enabled bits are.
    values: bool,
    /// Marks the data as changed in a chunk. The contract is that of [`QueryData::mark`].
    mark: unsafe fn(&mut ChunkMarks<'_>, &[Place]),
}

impl Writes {
    /// Returns the data that a query of `D` can write, or `None` if `D` is read-only.
    pub(super) fn of<D: QueryData>() -> Option<Self> {
        D::MARKS.then_some(Self { values: D::WRITES, mark: D::mark })
    }

    /// Returns one component, which all matching entities must have.
    fn only<T: Component>() -> Self {
        /// Marks the column of `T` as changed.
        ///
        /// # Safety
        ///
        /// - no other code uses the versions of the column, nor the versions of other columns unless they were written out
        unsafe fn mark<T: Component>(marks: &mut ChunkMarks<'_>, _: &[Place]) {
            let place = marks.chunk.find(ComponentType::of::<T>()).expect("all entities have it");
            // SAFETY: the chunk has the column. No other code uses its versions, nor the versions of other columns unless they
            // were written out.
            unsafe { marks.begin(place.column) };
        }
        Self { values: true, mark: mark::<T> }
    }

    /// Returns the same data, with which chunks are unshared but not marked.
    fn unmarked(self) -> Self {
        Self { mark: |_, _| {}, ..self }
    }
}

impl<'w> Cursor<'w> {
    /// Creates a cursor at the start of a walk.
    ///
    /// # Safety
    ///
    /// - the walk was made by [`Walk::writing`] if `writes` is `Some`
    #[inline]
    pub(super) unsafe fn new(walk: Walk<'w>, writes: Option<Writes>) -> Self {
        Self {
            chunks: SelectedChunks::new(walk),
            writes,
            failure: None,
            chunk: std::ptr::null(),
            places: &[],
            runs: Runs::NONE,
        }
    }

    /// Moves to the next chunk with matching rows. Returns `false` at the end or on an error, which [`end`](Self::end) returns.
    #[inline(never)]
    pub(super) fn next_chunk(&mut self) -> bool {
        // `runs` is set only after the chunk was prepared. Preparing may panic or run out of memory, and the caller may catch the
        // panic and continue. No rows of the previous chunk may be yielded again then.
        self.runs = Runs::NONE;
        let Some((found, number)) = self.chunks.next() else { return false };
        // SAFETY: archetypes list existing chunks. Only the header of the chunk is borrowed here.
        let runs =
            Runs::new(&found.bits, unsafe { (*self.chunks.walk.chunks).get_unchecked(number) });
        if let Err(failure) = self.prepare(number, found) {
            self.failure = Some(failure);
            self.chunks.stop();
            return false;
        }
        // The pointer is not made from a reference, because other walks that take turns with this one mark the chunk.
        self.chunk = self.chunks.walk.all_chunks().at(number);
        self.places = &found.places;
        self.runs = runs;
        true
    }

    /// Returns the next run of contiguous matching rows in the current chunk.
    #[inline(always)]
    pub(super) fn next_run(&mut self) -> Option<Range<u32>> {
        let run;
        if self.runs.is_whole() {
            (run, self.runs) = self.runs.whole();
        } else {
            // SAFETY: the chunk exists, because it has runs. Other code on this thread may have set enabled bits, but keeps no
            // reference to them.
            let enabled = unsafe { &(*self.chunk).enabled };
            let masks = Masks { enabled, changed: &self.chunks.changed };
            (run, self.runs) = self.runs.next(&masks);
        }
        (run.start < run.end).then_some(run)
    }

    /// Returns the number of matching rows of the current chunk that no run has returned yet.
    fn count(&mut self) -> usize {
        if self.runs.is_whole() {
            return self.runs.whole().0.len();
        }
        // SAFETY: the chunk exists, because it has runs. Other code on this thread may have set enabled bits, but keeps no
        // reference to them.
        let enabled = unsafe { &(*self.chunk).enabled };
        self.runs.count(&Masks { enabled, changed: &self.chunks.changed })
    }

    /// Returns the number of matching rows of the remaining chunks.
    pub(super) fn count_all(mut self) -> usize {
        let mut count = 0;
        while self.next_chunk() {
            count += self.count();
        }
        count
    }

    /// Returns a view of the current chunk, for fetching data.
    #[inline(always)]
    pub(super) fn view(&self) -> ChunkView<'_> {
        assert!(!self.chunk.is_null());
        // SAFETY: the chunk exists, and its header does not change while the cursor is borrowed.
        let chunk = unsafe { &*self.chunk };
        let walk = &self.chunks.walk;
        ChunkView { chunk, shared: walk.shared_of(), since: walk.since }
    }

    /// Returns the error that ended the walk early, or `Ok` if there was none.
    #[inline]
    fn end(&mut self) -> Result<(), OutOfMemory> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Unshares a chunk and marks its written columns, if the cursor writes.
    #[inline(always)]
    fn prepare(&mut self, number: u32, found: &Match) -> Result<(), OutOfMemory> {
        let Some(Writes { values, mark }) = self.writes else { return Ok(()) };
        let (chunks, version) = (self.chunks.walk.chunks, self.chunks.walk.version);
        // SAFETY: archetypes list existing chunks. The walk was made by `writing`, and no reference to a chunk is alive. If the
        // chunk may be shared, no data was fetched from its memory.
        unsafe {
            if values && (*chunks).get_unchecked(number).may_be_shared() {
                self.chunks.walk.unshare(number)?;
            }
        }
        // SAFETY: archetypes list existing chunks, and these are the places of the data in the chunk's archetype. Jobs that use the
        // versions of the written columns have completed. Before a job uses the versions of other columns, they are written out.
        unsafe {
            let chunk = (*chunks).get_unchecked(number);
            mark(&mut ChunkMarks { chunk, version }, &found.places);
        }
        Ok(())
    }
}

/// A cursor on the heap.
///
/// It works like a `Box`, but reuses the memory of a cursor that was dropped on this thread, so that only the first loops allocate.
pub(super) struct PooledCursor<'w> {
    /// The slot, which holds a cursor of lifetime `'w`.
    full: FullSlot,
    cursor: PhantomData<Cursor<'w>>,
}

/// A slot that holds a cursor. Dropping it drops the cursor and frees the slot for reuse.
///
/// The type has no lifetime, because dropping a cursor does not access the world that it borrows. So a [`QueryIter`] may be dropped
/// after other code has borrowed the world, as with a `Box` of a cursor.
struct FullSlot(ManuallyDrop<CursorSlot>);

/// Memory for a cursor. The layout of a cursor does not depend on its lifetime.
type CursorSlot = Box<MaybeUninit<Cursor<'static>>>;

/// Maximum number of free slots that a thread keeps. Loops are rarely nested deeper.
const MAX_SPARE: usize = 16;

thread_local! {
    /// The free slots of this thread.
    static SPARE: Cell<Vec<CursorSlot>> = const { Cell::new(Vec::new()) };
}

/// Calls a function with the free slots of this thread. Returns `None`, without a call, if the thread is ending.
fn with_spare<R>(function: impl FnOnce(&mut Vec<CursorSlot>) -> R) -> Option<R> {
    let with = |spare: &Cell<Vec<CursorSlot>>| {
        let mut slots = spare.take();
        let result = function(&mut slots);
        spare.set(slots);
        result
    };
    SPARE.try_with(with).ok()
}

impl<'w> PooledCursor<'w> {
    #[inline]
    pub(super) fn new(cursor: Cursor<'w>) -> Self {
        let mut slot = with_spare(Vec::pop).flatten().unwrap_or_else(Box::new_uninit);
        // SAFETY: the slot has room for a cursor of any lifetime. The cursor is accessed only with lifetime `'w`.
        unsafe { slot.as_mut_ptr().cast::<Cursor<'w>>().write(cursor) };
        Self { full: FullSlot(ManuallyDrop::new(slot)), cursor: PhantomData }
    }
}

impl<'w> Deref for PooledCursor<'w> {
    type Target = Cursor<'w>;

    #[inline(always)]
    fn deref(&self) -> &Cursor<'w> {
        // SAFETY: the slot holds a cursor of lifetime `'w` until the `PooledCursor` is dropped.
        unsafe { &*self.full.0.as_ptr().cast() }
    }
}

impl<'w> DerefMut for PooledCursor<'w> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Cursor<'w> {
        // SAFETY: the slot holds a cursor of lifetime `'w` until the `PooledCursor` is dropped.
        unsafe { &mut *self.full.0.as_mut_ptr().cast() }
    }
}

impl Drop for FullSlot {
    fn drop(&mut self) {
        // SAFETY: the slot holds a cursor, which is not used afterwards. Dropping it does not access the world that it borrows: it
        // only frees lists of numbers.
        unsafe { self.0.assume_init_drop() };
        // SAFETY: the slot is not used afterwards.
        let slot = unsafe { ManuallyDrop::take(&mut self.0) };
        with_spare(|spare| {
            if spare.len() < MAX_SPARE {
                spare.push(slot);
            }
        });
    }
}

impl<D: QueryData, F: QueryFilter> Query<'_, D, F> {
    /// Returns the entities that match, in the order of iteration.
    ///
    /// # Determinism
    ///
    /// Archetypes are visited in the order of their creation, the chunks of an archetype in the order of its list, and the entities
    /// of a chunk in the order of their rows. The order depends only on the operations on the world.
    ///
    /// Structural changes alter the order. An entity that gains or loses a component, or gets another shared value, moves to
    /// another chunk, and the last entity of the old chunk takes its place. After such a change, a list of values from before is
    /// not in the order of the query. To add a different value to each entity, use [`Batch::add_each`](crate::Batch::add_each)
    /// instead of `add` and [`copy_from`](Self::copy_from).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Dead;
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Dead);
    /// for entity in world.query::<&Dead>().to_entities() {
    ///     world.despawn(entity).unwrap();
    /// }
    /// assert!(!world.exists(orc));
    /// ```
    pub fn to_entities(&self) -> Vec<Entity> {
        let (mut cursor, mut all) = (self.finding(), Vec::new());
        while cursor.next_chunk() {
            while let Some(run) = cursor.next_run() {
                let entities = cursor.view().chunk.entities();
                all.extend_from_slice(&entities[run.start as usize..run.end as usize]);
            }
        }
        all
    }

    /// Returns the values of a component, in the order of [`to_entities`](Self::to_entities).
    ///
    /// # Errors
    ///
    /// - A0087 if the query does not require the component, so that entities without it may match
    /// - A0135 if other views exist and the query does not fetch the component, because another view may be writing it
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy, Debug, PartialEq)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_batch([Health(1), Health(2)]);
    /// assert_eq!(world.query::<&Health>().to_components(), Ok(vec![Health(1), Health(2)]));
    /// assert!(world.query::<()>().to_components::<Health>().is_err());
    /// ```
    pub fn to_components<T: Component + Clone>(&self) -> Result<Vec<T>, EntityError> {
        let component = ComponentType::of::<T>();
        if self.others != Others::None {
            self.require_fetched(component, false)?;
        } else if !self.matched.plan.requires(component) {
            return Err(EntityError::NotInQuery { component });
        }
        self.jobs().sync_for_read(component);
        let (mut cursor, mut all) = (self.finding(), Vec::new());
        while cursor.next_chunk() {
            let column = Column::<T>::of(cursor.view().chunk);
            while let Some(run) = cursor.next_run() {
                // SAFETY: these are rows of the chunk. No other view can write the values: either no other view can write, or
                // this query fetches the values. This query is borrowed, so that it does not write them meanwhile.
                all.extend_from_slice(unsafe { column.values(run) });
            }
        }
        Ok(all)
    }

    /// Writes the values of a component, in the order of [`to_entities`](Self::to_entities).
    ///
    /// # Errors
    ///
    /// - A0060 if the number of values differs from the number of entities
    /// - A0135 if the query does not fetch the component for writing
    ///
    /// In both cases, no value is written.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy, Debug, PartialEq)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many(Health(20), 2);
    /// let mut query = world.query_mut::<&mut Health>();
    /// query.copy_from(&[Health(1), Health(2)])?;
    /// assert_eq!(query.to_components::<Health>()?, [Health(1), Health(2)]);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn copy_from<T: Component + Mutable + Copy>(
        &mut self,
        values: &[T],
    ) -> Result<(), EntityError> {
        let component = ComponentType::of::<T>();
        // The plan of a `QueryDescriptor` can name components for writing, but its data, `Entity`, writes none.
        if !D::WRITES {
            return Err(EntityError::NotGiven { component, to_change: true });
        }
        self.require_fetched(component, true)?;
        let (expected, found) = (self.count(), values.len());
        if expected != found {
            return Err(EntityError::WrongCount { component, expected, found });
        }
        let writes = Writes::only::<T>();
        self.unshare_for(Some(writes))?;
        let (mut cursor, mut rest) = (self.cursor(Some(writes)), values);
        while cursor.next_chunk() {
            let column = Column::<T>::of(cursor.view().chunk);
            while let Some(run) = cursor.next_run() {
                let (now, later) = rest.split_at(run.len());
                // SAFETY: these are rows of the chunk, which is unshared. The query fetches the values for writing, so that no
                // other view uses them, and the query is borrowed mutably.
                unsafe { column.write(run.start, now) };
                rest = later;
            }
        }
        Ok(cursor.end()?)
    }

    /// Copies the chunks that are shared with a fork and in which `writes` are written. Marks no chunk.
    pub(super) fn unshare_for(&mut self, writes: Option<Writes>) -> Result<(), EntityError> {
        if self.storage().chunks.may_be_shared() {
            let mut cursor = self.cursor(writes.map(Writes::unmarked));
            while cursor.next_chunk() {}
            cursor.end()?;
        }
        Ok(())
    }

    fn require_fetched(
        &self,
        component: ComponentType,
        to_change: bool,
    ) -> Result<(), EntityError> {
        let gives = self.matched.plan.gives(component, to_change);
        gives.then_some(()).ok_or(EntityError::NotGiven { component, to_change })
    }
}
