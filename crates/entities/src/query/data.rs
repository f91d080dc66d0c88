//! Data that a query fetches for each entity.

#![expect(unsafe_code, reason = "references to values in chunks")]

use std::num::NonZero;
use std::ops::Range;
use std::ptr::NonNull;
use std::{ptr, slice};

use super::batch::{ChunkMarks, ChunkView};
use super::parallel::ParallelData;
use super::state::Place;
use super::terms::{Need, Part};
use crate::component::{Component, ComponentType, Mutable};
use crate::entity::Entity;
use crate::storage::{Chunk, TrackedColumn, prefetch as fetch_now, prefetch_soon};

/// Data that a query fetches for each entity.
///
/// | data | item | entities |
/// |---|---|---|
/// | `&T`, `&mut T` | the value of a component | those that have it, enabled |
/// | [`Entity`] | the entity | all |
/// | `&Buffer<T>` | the elements, `&[T]` | those that have it, enabled |
/// | `&mut Buffer<T>` | a [`DynamicBuffer<T>`](crate::DynamicBuffer) | those that have it, enabled |
/// | `&Shared<T>` | the value of a [shared component](crate::SharedComponent), `&T` | those that have it |
/// | `&PerChunk<T>` | the value of the entity's chunk, `&T` | those that have it |
/// | `&mut PerChunk<T>` | `()`: jobs write the value with [`ChunkInJob`](crate::ChunkInJob) | those that have it |
/// | `&Managed<T>`, `&mut Managed<T>` | the value of a [managed component](crate::ManagedComponent) | those that have it, enabled |
/// | [`EnabledRef<T>`](crate::EnabledRef), [`EnabledMut<T>`](crate::EnabledMut) | the enabled state of a component | those that have it, enabled or disabled |
/// | [`TrackedMut<T>`](crate::TrackedMut) | the value, which counts as changed only if written | those that have it, enabled |
/// | [`Ref<T>`](crate::Ref) | the value, and whether it was changed or added | those that have it, enabled |
/// | `Option<D>` | the item of `D`, or `None` | all |
/// | `()` | `()` | all |
/// | tuples of up to 16 | a tuple of the items | those that match all elements |
/// | an [`Aspect`](crate::Aspect) | the struct with the items of its fields | those that match all fields |
///
/// The type behind the reference is the type that is passed to `spawn` and `has`. The lifetimes of the references have no meaning.
/// Where a lifetime must be written, as in the fields of a struct, use `'static`.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Buffer, BufferElement, Component, Entity, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Health(u32);
///
/// #[derive(Component, Clone, Copy)]
/// struct Armour(u32);
///
/// #[derive(BufferElement, Clone, Copy)]
/// struct Wound(u32);
///
/// let mut world = World::new("Simulation");
/// let orc = world.spawn((Health(20), Buffer::from([Wound(3), Wound(4)])));
/// let knight = world.spawn((Health(20), Armour(5), Buffer::from([Wound(9)])));
/// let mut query = world.query_mut::<(&mut Health, Option<&Armour>, &Buffer<Wound>)>();
/// for (health, armour, wounds) in query {
///     let armour = armour.map_or(0, |armour| armour.0);
///     health.0 -= wounds.iter().map(|wound| wound.0.saturating_sub(armour)).sum::<u32>();
/// }
/// let all: Vec<_> = world.query::<(Entity, &Health)>().iter().map(|(entity, health)| (entity, health.0)).collect();
/// assert_eq!(all, [(orc, 13), (knight, 16)]);
/// ```
///
/// # Safety
///
/// Not to be implemented outside of this crate: the contract between the methods may change.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not query data",
    label = "not query data",
    note = "a query fetches components by reference: write `&T` or `&mut T` for a type `T` with `#[derive(Component)]`",
    note = "filters are the second parameter: `Query<&T, With<U>>`",
    note = "other query data: `Option<&T>`, `Entity`, tuples, `&Buffer<T>`, `&Shared<T>`, `&Managed<T>`; `set_shared` changes a \
            shared component"
)]
pub unsafe trait QueryData: Sized {
    /// The item of an entity.
    type Item<'w>;

    /// The same type with `'static` references.
    #[doc(hidden)]
    type Static: QueryData + 'static;

    /// The addresses of the parts in a chunk.
    #[doc(hidden)]
    type Fetch: Copy;

    /// Number of parts: components that the data fetches.
    #[doc(hidden)]
    const PARTS: usize = 0;

    /// Bytes per entity in the fetched columns.
    #[doc(hidden)]
    const ROW_BYTES: usize = 0;

    /// True if values in chunks can be written.
    #[doc(hidden)]
    const WRITES: bool = false;

    /// True if `mark` has to be called: values or enabled bits can be written.
    #[doc(hidden)]
    const MARKS: bool = false;

    /// True if `track` has to be called: fetched data counts as changed row by row.
    #[doc(hidden)]
    const TRACKS: bool = false;

    /// Calls the function for each part.
    #[doc(hidden)]
    fn parts(_each: &mut dyn FnMut(Part)) {}

    /// Prefetches up to `count` rows of a chunk, starting with row `first`. The memory of the chunk starts at `memory`. `places`
    /// are the places of the parts in the chunk's archetype.
    #[doc(hidden)]
    #[inline(always)]
    fn expect(_memory: NonZero<usize>, _places: &[Place], _first: usize, _count: usize) {}

    /// Prefetches a row of the fetched chunk.
    #[doc(hidden)]
    #[inline(always)]
    fn expect_row(_fetch: Self::Fetch, _row: usize) {}

    /// Marks the columns of a chunk that can be written as changed.
    ///
    /// # Safety
    ///
    /// - these are the places of the parts in the chunk's archetype, which has the required components
    /// - no other code uses the versions of columns that can be written, nor the versions of other columns unless they were written
    ///   out
    #[doc(hidden)]
    #[inline(always)]
    unsafe fn mark(_marks: &mut ChunkMarks<'_>, _places: &[Place]) {}

    /// Returns `true` if an archetype with these places has the required components.
    #[doc(hidden)]
    #[inline(always)]
    fn is_there(_places: &[Place]) -> bool {
        true
    }

    /// Fetches the addresses of the parts in a chunk.
    ///
    /// # Safety
    ///
    /// - these are the places of the parts, in the order of `parts`, in the chunk's archetype, which has the required components
    #[doc(hidden)]
    unsafe fn fetch(view: ChunkView<'_>, places: &[Place]) -> Self::Fetch;

    /// Returns `true` if the components of the data are enabled in a row.
    ///
    /// # Safety
    ///
    /// - the chunk of the fetch has the row
    /// - no other thread writes the enabled bits of the row during the call
    #[doc(hidden)]
    #[inline(always)]
    unsafe fn is_on(_fetch: Self::Fetch, _row: usize) -> bool {
        true
    }

    /// Returns the item of a row.
    ///
    /// # Safety
    ///
    /// - the chunk of the fetch has the row
    /// - for the lifetime, no other code writes data of the row that the item can read
    /// - for the lifetime, no other code uses data of the row that the item can write, and the memory of that data is unshared
    /// - the item stays on this thread, unless the world is borrowed mutably
    #[doc(hidden)]
    unsafe fn get<'w>(fetch: Self::Fetch, row: usize) -> Self::Item<'w>;

    /// Records that `count` rows, starting with row `first`, are fetched for writing: as slices, or by `get`. If
    /// [`TRACKS`](Self::TRACKS) is true, it must be called before the rows are fetched.
    ///
    /// # Safety
    ///
    /// - the requirements of [`get`](Self::get) hold for all of these rows
    #[doc(hidden)]
    #[inline(always)]
    unsafe fn track(_fetch: Self::Fetch, _first: usize, _count: usize, _as_slices: bool) {}
}

/// Query data whose items can only read. Queries of read-only data need only a shared borrow of the world.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, ReadOnlyData, World};
///
/// #[derive(Component)]
/// struct Health(u32);
///
/// fn first<D: ReadOnlyData>(world: &World) -> Option<D::Item<'_>> {
///     world.query::<D>().iter().next()
/// }
///
/// let mut world = World::new("Simulation");
/// world.spawn(Health(20));
/// assert_eq!(first::<&Health>(&world).unwrap().0, 20);
/// ```
///
/// # Safety
///
/// Not to be implemented outside of this crate: items must not allow writes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not read-only query data",
    label = "only read-only data can be fetched here",
    note = "for a component `T`, write `&T` or `&mut T`; `&mut T` needs `query_mut`, and a world that is borrowed mutably",
    note = "other read-only query data: `Option<&T>`, `Entity`, tuples, `&Buffer<T>`, `&Shared<T>`, `&Managed<T>`",
    note = "to read data that a `Query` can write, use `as_read_only`; to write it, a method that ends in `_mut`"
)]
pub unsafe trait ReadOnlyData: QueryData {}

/// Query data that is available as slices of contiguous entities.
///
/// `&T` yields `&[T]`, `&mut T` yields `&mut [T]`, and a buffer yields an accessor. Shared components and chunk components, which
/// have one value for all entities of a chunk, yield that value. Managed components and enabled states are not available as slices.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, Shared, SharedComponent, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Health(u32);
///
/// #[derive(SharedComponent, PartialEq, Eq, Hash)]
/// struct Team(u32);
///
/// let mut world = World::new("Simulation");
/// world.spawn_many((Health(20), Shared::new(Team(3))), 10);
/// world.query_mut::<(&mut Health, &Shared<Team>)>().for_each_chunk(|(health, team)| {
///     assert_eq!((health.len(), team.0), (10, 3));
///     health.fill(Health(5));
/// });
/// ```
///
/// # Safety
///
/// Not to be implemented outside of this crate.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not available as slices",
    label = "not contiguous",
    note = "use `for_each`, which yields the values one by one"
)]
pub unsafe trait ChunkData: QueryData {
    /// The slices of contiguous entities.
    type Slices<'w>;

    /// Returns the slices of `count` rows, starting with row `first`.
    ///
    /// # Safety
    ///
    /// - the requirements of [`get`](QueryData::get) hold for all of these rows
    #[doc(hidden)]
    unsafe fn slices<'w>(fetch: Self::Fetch, first: usize, count: usize) -> Self::Slices<'w>;
}

/// The size of a cache line in bytes.
const LINE: usize = 64;

/// The addresses of a column, of its enabled bits and of its row versions.
#[derive(Debug)]
pub struct ColumnFetch<T> {
    /// Address of the first value. It is not null, so that an `Option<ColumnFetch<T>>` has the same size.
    pub(super) first: NonNull<T>,
    /// Address of the words of the mask, or null if enabled bits are ignored.
    pub(super) words: *const u64,
    /// Address of the row versions, or null if rows are not tracked.
    pub(super) written: *mut TrackedColumn,
}

impl<T> Clone for ColumnFetch<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for ColumnFetch<T> {}

impl<T> ColumnFetch<T> {
    /// Returns the addresses of a column that exists. `enableable` is the constant of the component type.
    #[inline(always)]
    pub(super) fn new(view: ChunkView<'_>, place: Place, enableable: bool) -> Self {
        let words = if enableable { mask_words(view, place) } else { ptr::null_mut() };
        // SAFETY: the address of a column is not null.
        let first = unsafe { NonNull::new_unchecked(column(view, place.offset)) };
        Self { first, words, written: ptr::null_mut() }
    }

    /// Returns the addresses of a column that exists, for writing. `enableable` and `tracked` are constants of the component type.
    #[inline(always)]
    pub(super) fn new_mut(
        view: ChunkView<'_>,
        place: Place,
        enableable: bool,
        tracked: bool,
    ) -> Self {
        let written =
            if tracked { view.chunk.tracked_column(place.column) } else { ptr::null_mut() };
        Self { written, ..Self::new(view, place, enableable) }
    }

    /// Returns `true` if the component is enabled in a row, or enabled bits are ignored.
    ///
    /// # Safety
    ///
    /// - the chunk has the row
    #[inline(always)]
    pub(super) unsafe fn is_on(self, row: usize) -> bool {
        // SAFETY: the mask has a bit for each row, and the chunk has this row.
        self.words.is_null() || unsafe { *self.words.add(row / 64) } >> (row % 64) & 1 != 0
    }
}

/// The values of a component in a chunk, and their row versions.
pub(super) struct Column<T> {
    pub(super) number: u32,
    first: *mut T,
    written: *mut TrackedColumn,
}

impl<T: Component> Column<T> {
    /// Finds the column in a chunk whose archetype has the component.
    pub(super) fn of(chunk: &Chunk) -> Self {
        let place = chunk.find(ComponentType::of::<T>()).expect("the query requires it");
        let written = chunk.tracked_column(place.column);
        Self { number: place.column, first: chunk.column(place.offset).cast(), written }
    }

    /// Returns the values of rows.
    ///
    /// # Safety
    ///
    /// - the chunk has these rows, and no other code writes their values for the lifetime
    pub(super) unsafe fn values<'v>(&self, rows: Range<u32>) -> &'v [T] {
        // SAFETY: each row has a value, which no other code writes for the lifetime.
        unsafe { slice::from_raw_parts(self.first.add(rows.start as usize), rows.len()) }
    }

    /// Writes the values of contiguous rows, starting with row `first`, and records the writes in the row versions.
    ///
    /// # Safety
    ///
    /// - the chunk has these rows, its memory is unshared, and no other code uses the values and versions of these rows
    pub(super) unsafe fn write(&self, first: u32, values: &[T])
    where
        T: Copy,
    {
        // SAFETY: `written` is null, or belongs to the chunk, which has these rows. Each row has a value, which no other code
        // uses and which needs no drop, because it is `Copy`. The slice is not in the chunk, because no other code uses these
        // values.
        unsafe {
            track_rows(self.written, first as usize, values.len());
            let rows = self.first.add(first as usize);
            rows.copy_from_nonoverlapping(values.as_ptr(), values.len());
        }
    }
}

/// Records a write to contiguous rows of a tracked column. Does nothing if `column` is null.
///
/// # Safety
///
/// - `column` is null, or belongs to a chunk with these rows
#[inline(always)]
pub(super) unsafe fn track_rows(column: *mut TrackedColumn, first: usize, count: usize) {
    // SAFETY: the column exists while the world is borrowed. Other code does not use it at the same time, because it is used only
    // on the world's thread or on the thread that prepares a job. Other code keeps no reference to it.
    let Some(column) = (unsafe { column.as_mut() }) else { return };
    match count {
        1 => column.mark_row(first as u32),
        _ => column.mark(first as u32, count as u32),
    }
}

/// Returns the address of a column.
///
/// The address is made from an integer, which hides from the compiler that several columns belong to one allocation. With pointers
/// into one allocation, the compiler cannot prove that the columns are disjoint, and does not vectorise a loop over them. With
/// pointers of unknown origin, it tests once at run time that they are disjoint, and vectorises the loop.
#[inline(always)]
fn column<T>(view: ChunkView<'_>, offset: u32) -> *mut T {
    ptr::with_exposed_provenance_mut(view.chunk.data().expose_provenance() + offset as usize)
}

/// Prefetches `count` rows of a column, starting with row `first`.
///
/// After inlining, `count` is a compile-time constant, so that the loop has no branch that the CPU could mispredict.
#[inline(always)]
fn expect_column<T>(memory: NonZero<usize>, offset: u32, first: usize, count: usize) {
    let start = memory.get() + offset as usize + first * size_of::<T>();
    for line in 0..(count * size_of::<T>()).div_ceil(LINE) {
        prefetch_soon(start + line * LINE);
    }
}

/// Returns the address of a place's mask words, or null if the place has no mask.
pub(super) fn mask_words(view: ChunkView<'_>, place: Place) -> *mut u64 {
    view.chunk.enabled.address(place.mask)
}

/// Implements the members of [`QueryData`] that describe data with one part. The arguments are the fields of the [`Part`]: the
/// component type, its requirement, whether it is written, and whether the part is the enabled bit.
macro_rules! one_part {
    ($ty:expr, $need:expr, $write:expr, $bits:expr) => {
        const PARTS: usize = 1;
        const WRITES: bool = $write && !$bits;
        const MARKS: bool = $write;

        fn parts(each: &mut dyn FnMut(Part)) {
            each(Part { ty: $ty, need: $need, write: $write, bits: $bits });
        }

        #[inline(always)]
        fn is_there(places: &[Place]) -> bool {
            places[0].is_there()
        }
    };
}

/// Implements `mark` for data with one part that is written. If the argument is true, it also prepares the row versions for
/// `track`.
macro_rules! mark_one {
    ($has_rows:expr) => {
        /// Marks the column of the part as changed.
        ///
        /// # Safety
        ///
        /// - these are the places of the parts in the chunk's archetype, which has the required components
        /// - no other code uses the versions of the column, nor the versions of other columns unless they were written out
        #[inline(always)]
        unsafe fn mark(marks: &mut ChunkMarks<'_>, places: &[Place]) {
            // SAFETY: the data has one part, so that there is one place, whose column the chunk has. No other code uses the
            // versions of the column, nor the versions of other columns unless they were written out.
            unsafe {
                let column = places.get_unchecked(0).column;
                if $has_rows { marks.begin(column) } else { marks.mark(column) }
            }
        }
    };
}

/// Implements the members of [`QueryData`] for data in one column, to `read` or to `write`. The arguments are an expression of the
/// component type, and the Rust type with its constants.
macro_rules! one_column {
    (read $ty:expr, $of:ty) => {
        one_part!($ty, Need::On, false, false);

        #[inline(always)]
        unsafe fn fetch(view: ChunkView<'_>, places: &[Place]) -> Self::Fetch {
            // SAFETY: the data has one part, so that there is one place.
            ColumnFetch::new(view, unsafe { *places.get_unchecked(0) }, <$of>::ENABLEABLE)
        }

        one_column!(@rows);
    };
    (write $ty:expr, $of:ty) => {
        one_part!($ty, Need::On, true, false);
        mark_one!(<$of>::TRACK_CHANGES);

        #[inline(always)]
        unsafe fn fetch(view: ChunkView<'_>, places: &[Place]) -> Self::Fetch {
            // SAFETY: the data has one part, so that there is one place.
            let place = unsafe { *places.get_unchecked(0) };
            ColumnFetch::new_mut(view, place, <$of>::ENABLEABLE, <$of>::TRACK_CHANGES)
        }

        one_column!(@rows);
    };
    (@rows) => {
        #[inline(always)]
        unsafe fn is_on(fetch: Self::Fetch, row: usize) -> bool {
            // SAFETY: the chunk has this row.
            unsafe { fetch.is_on(row) }
        }
    };
}

/// Implements `track` for data in one column: rows count as changed when they are fetched.
macro_rules! track_column {
    ($of:ty) => {
        const TRACKS: bool = <$of>::TRACK_CHANGES;

        #[inline(always)]
        unsafe fn track(fetch: Self::Fetch, first: usize, count: usize, _: bool) {
            // SAFETY: `written` is null, or belongs to the chunk of the fetch, which has these rows.
            unsafe { track_rows(fetch.written, first, count) }
        }
    };
}

pub(super) use {mark_one, one_column, one_part, track_column};

/// Implements prefetching for data in one column.
macro_rules! prefetch_column {
    ($of:ty) => {
        const ROW_BYTES: usize = size_of::<$of>();

        #[inline(always)]
        fn expect(memory: NonZero<usize>, places: &[Place], first: usize, count: usize) {
            expect_column::<$of>(memory, places[0].offset, first, count);
        }

        #[inline(always)]
        fn expect_row(fetch: Self::Fetch, row: usize) {
            fetch_now(fetch.first.as_ptr().wrapping_add(row).cast());
        }
    };
}

// SAFETY: the data has one part, and `fetch` and `get` only read its column.
unsafe impl<T: Component> QueryData for &T {
    type Item<'w> = &'w T;
    type Static = &'static T;
    type Fetch = ColumnFetch<T>;
    one_column!(read ComponentType::of::<T>(), T);
    prefetch_column!(T);

    #[inline(always)]
    unsafe fn get<'w>(fetch: ColumnFetch<T>, row: usize) -> &'w T {
        // SAFETY: each row has a value, and no other code writes it for the lifetime.
        unsafe { &*fetch.first.as_ptr().add(row) }
    }
}

// SAFETY: the data is only read.
unsafe impl<T: Component> ReadOnlyData for &T {}

// SAFETY: components are `Send` and `Sync`.
unsafe impl<T: Component> ParallelData for &T {}

// SAFETY: the values of a column are contiguous.
unsafe impl<T: Component> ChunkData for &T {
    type Slices<'w> = &'w [T];

    #[inline(always)]
    unsafe fn slices<'w>(fetch: ColumnFetch<T>, first: usize, count: usize) -> &'w [T] {
        // SAFETY: each row has a value, and no other code writes it for the lifetime.
        unsafe { slice::from_raw_parts(fetch.first.as_ptr().add(first), count) }
    }
}

// SAFETY: the data has one part, which is declared as written, and `get` accesses only its column.
unsafe impl<T: Component + Mutable> QueryData for &mut T {
    type Item<'w> = &'w mut T;
    type Static = &'static mut T;
    type Fetch = ColumnFetch<T>;
    one_column!(write ComponentType::of::<T>(), T);
    track_column!(T);
    prefetch_column!(T);

    #[inline(always)]
    unsafe fn get<'w>(fetch: ColumnFetch<T>, row: usize) -> &'w mut T {
        // SAFETY: each row has a value, which no other code uses for the lifetime.
        unsafe { &mut *fetch.first.as_ptr().add(row) }
    }
}

// SAFETY: components are `Send` and `Sync`.
unsafe impl<T: Component + Mutable> ParallelData for &mut T {}

// SAFETY: the values of a column are contiguous.
unsafe impl<T: Component + Mutable> ChunkData for &mut T {
    type Slices<'w> = &'w mut [T];

    #[inline(always)]
    unsafe fn slices<'w>(fetch: ColumnFetch<T>, first: usize, count: usize) -> &'w mut [T] {
        // SAFETY: each row has a value, which no other code uses for the lifetime.
        unsafe { slice::from_raw_parts_mut(fetch.first.as_ptr().add(first), count) }
    }
}

// SAFETY: the data has no parts. `fetch` and `get` read the ids of the entities, which every chunk has.
unsafe impl QueryData for Entity {
    type Item<'w> = Entity;
    type Static = Entity;
    type Fetch = *const Entity;
    const ROW_BYTES: usize = size_of::<Entity>();

    #[inline(always)]
    fn expect(memory: NonZero<usize>, _: &[Place], first: usize, count: usize) {
        expect_column::<Entity>(memory, 0, first, count);
    }

    #[inline(always)]
    unsafe fn fetch(view: ChunkView<'_>, _: &[Place]) -> *const Entity {
        column(view, 0)
    }

    #[inline(always)]
    unsafe fn get<'w>(fetch: *const Entity, row: usize) -> Self::Item<'w> {
        // SAFETY: the memory of a chunk starts with the ids of its entities, one for each row, and the chunk has these rows.
        unsafe { *fetch.add(row) }
    }
}

// SAFETY: the data is only read.
unsafe impl ReadOnlyData for Entity {}

// SAFETY: an item is a copy of an id, which is a plain number.
unsafe impl ParallelData for Entity {}

// SAFETY: ids are contiguous, and are never changed while the world is borrowed.
unsafe impl ChunkData for Entity {
    type Slices<'w> = &'w [Entity];

    #[inline(always)]
    unsafe fn slices<'w>(fetch: *const Entity, first: usize, count: usize) -> &'w [Entity] {
        // SAFETY: the memory of a chunk starts with the ids of its entities, one for each row, and the chunk has these rows.
        unsafe { slice::from_raw_parts(fetch.add(first), count) }
    }
}

// SAFETY: the data has the parts of `D`, all of them optional. If the archetype does not have all of them, nothing is fetched.
unsafe impl<D: QueryData> QueryData for Option<D> {
    type Item<'w> = Option<D::Item<'w>>;
    type Static = Option<D::Static>;
    type Fetch = Option<D::Fetch>;
    const PARTS: usize = D::PARTS;
    const ROW_BYTES: usize = D::ROW_BYTES;
    const WRITES: bool = D::WRITES;
    const MARKS: bool = D::MARKS;
    const TRACKS: bool = D::TRACKS;

    fn parts(each: &mut dyn FnMut(Part)) {
        D::parts(&mut |part| each(Part { need: Need::Optional, ..part }));
    }

    #[inline(always)]
    fn expect(memory: NonZero<usize>, places: &[Place], first: usize, count: usize) {
        if D::is_there(places) {
            D::expect(memory, places, first, count);
        }
    }

    #[inline(always)]
    unsafe fn mark(marks: &mut ChunkMarks<'_>, places: &[Place]) {
        if D::is_there(places) {
            // SAFETY: the places are those of the parts of `D`, and `is_there` says that the archetype has them. No other code uses
            // the versions of their columns, nor the versions of other columns unless they were written out.
            unsafe { D::mark(marks, places) };
        }
    }

    #[inline(always)]
    unsafe fn fetch(view: ChunkView<'_>, places: &[Place]) -> Option<D::Fetch> {
        // SAFETY: the places are those of the parts of `D`, and `is_there` says that the archetype has them.
        D::is_there(places).then(|| unsafe { D::fetch(view, places) })
    }

    #[inline(always)]
    unsafe fn get<'w>(fetch: Option<D::Fetch>, row: usize) -> Option<D::Item<'w>> {
        let fetch = fetch?;
        // SAFETY: the requirements of `get` are those of `D::get` and include those of `D::is_on`.
        unsafe { D::is_on(fetch, row).then(|| D::get(fetch, row)) }
    }

    #[inline(always)]
    unsafe fn track(fetch: Option<D::Fetch>, first: usize, count: usize, as_slices: bool) {
        let Some(fetch) = fetch else { return };
        if as_slices {
            // SAFETY: the chunk has these rows, and no other code uses the data that can be written.
            return unsafe { D::track(fetch, first, count, true) };
        }
        for row in first..first + count {
            // SAFETY: the chunk has these rows, and no other code uses the data that can be written.
            unsafe {
                if D::is_on(fetch, row) {
                    D::track(fetch, row, 1, false);
                }
            }
        }
    }
}

// SAFETY: the item is that of `D`, which is read-only, or `None`.
unsafe impl<D: ReadOnlyData> ReadOnlyData for Option<D> {}

// SAFETY: the item is that of `D`, which can be fetched on any thread, or `None`.
unsafe impl<D: ParallelData> ParallelData for Option<D> {}

// SAFETY: the slices are those of `D`, or `None`.
unsafe impl<D: ChunkData> ChunkData for Option<D> {
    type Slices<'w> = Option<D::Slices<'w>>;

    #[inline(always)]
    unsafe fn slices<'w>(
        fetch: Option<D::Fetch>,
        first: usize,
        count: usize,
    ) -> Option<D::Slices<'w>> {
        // SAFETY: the chunk has these rows, and their data is not used in a conflicting way for the lifetime.
        fetch.map(|fetch| unsafe { D::slices(fetch, first, count) })
    }
}
