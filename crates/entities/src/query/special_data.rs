//! Query data other than `&T` and `&mut T`: buffers, shared, chunk and managed components, enabled bits, and tracked values.

#![expect(unsafe_code, reason = "values and bits of chunks that a query has fetched")]

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use super::batch::{ChunkMarks, ChunkView};
use super::data::{
    ChunkData, ColumnFetch, QueryData, ReadOnlyData, mark_one, mask_words, one_column, one_part,
    track_column, track_rows,
};
use super::parallel::ParallelData;
use super::state::Place;
use super::terms::{Need, Part};
use crate::buffer::{
    Buffer, BufferAccessor, BufferAccessorMut, BufferElement, BufferLayout, DynamicBuffer, Header,
    elements_of,
};
use crate::component::{Component, ComponentType, Mutable};
use crate::managed::{Managed, ManagedComponent};
use crate::per_chunk::PerChunk;
use crate::set::ComponentSet;
use crate::shared::{Shared, SharedComponent};
use crate::storage::TrackedColumn;
use crate::version::Version;

/// Returns the address of a row's buffer header, in a column of buffers.
#[inline(always)]
pub(super) fn buffer_at<T: BufferElement>(fetch: ColumnFetch<u8>, row: usize) -> *mut Header {
    fetch.first.as_ptr().wrapping_add(row * BufferLayout::of::<T>().size).cast()
}

// SAFETY: the data has one part, and `fetch` and `get` only read its column.
unsafe impl<T: BufferElement> QueryData for &Buffer<T> {
    type Item<'w> = &'w [T];
    type Static = &'static Buffer<T>;
    type Fetch = ColumnFetch<u8>;
    one_column!(read ComponentType::of_buffer::<T>(), T);

    #[inline(always)]
    unsafe fn get<'w>(fetch: ColumnFetch<u8>, row: usize) -> &'w [T] {
        // SAFETY: each row has a buffer, and no other code writes it for the lifetime.
        unsafe { elements_of(buffer_at::<T>(fetch, row)) }
    }
}

// SAFETY: the data is only read.
unsafe impl<T: BufferElement> ReadOnlyData for &Buffer<T> {}

// SAFETY: buffer elements are `Send` and `Sync`.
unsafe impl<T: BufferElement> ParallelData for &Buffer<T> {}

// SAFETY: buffer elements are `Send` and `Sync`.
unsafe impl<T: BufferElement + Mutable> ParallelData for &mut Buffer<T> {}

// SAFETY: the buffer headers of a column are contiguous.
unsafe impl<T: BufferElement> ChunkData for &Buffer<T> {
    type Slices<'w> = BufferAccessor<'w, T>;

    unsafe fn slices<'w>(
        fetch: ColumnFetch<u8>,
        first: usize,
        count: usize,
    ) -> BufferAccessor<'w, T> {
        // SAFETY: each row has a buffer, and no other code writes it for the lifetime.
        unsafe { BufferAccessor::new(buffer_at::<T>(fetch, first).cast(), count) }
    }
}

// SAFETY: the data has one part, which is declared as written, and `get` accesses only its column.
unsafe impl<T: BufferElement + Mutable> QueryData for &mut Buffer<T> {
    type Item<'w> = DynamicBuffer<'w, T>;
    type Static = &'static mut Buffer<T>;
    type Fetch = ColumnFetch<u8>;
    one_column!(write ComponentType::of_buffer::<T>(), T);
    track_column!(T);

    #[inline(always)]
    unsafe fn get<'w>(fetch: ColumnFetch<u8>, row: usize) -> DynamicBuffer<'w, T> {
        // SAFETY: each row has a buffer, which no other code uses for the lifetime.
        unsafe { DynamicBuffer::new(buffer_at::<T>(fetch, row)) }
    }
}

// SAFETY: the buffer headers of a column are contiguous.
unsafe impl<T: BufferElement + Mutable> ChunkData for &mut Buffer<T> {
    type Slices<'w> = BufferAccessorMut<'w, T>;

    unsafe fn slices<'w>(
        fetch: ColumnFetch<u8>,
        first: usize,
        count: usize,
    ) -> BufferAccessorMut<'w, T> {
        // SAFETY: each row has a buffer, which no other code uses for the lifetime.
        unsafe { BufferAccessorMut::new(buffer_at::<T>(fetch, first).cast(), count) }
    }
}

/// Implements the read-only, parallel and slice traits for data that has one value for all rows of a chunk.
macro_rules! one_of_chunk {
    ([$($bound:path),+] $of:ident) => {
        // SAFETY: the data is only read.
        unsafe impl<T: $($bound +)+> ReadOnlyData for &$of<T> {}

        // SAFETY: shared components and chunk components are `Sync`.
        unsafe impl<T: $($bound +)+> ParallelData for &$of<T> {}

        // SAFETY: all rows of a chunk have the same value, so that one reference stands for all of them.
        unsafe impl<T: $($bound +)+> ChunkData for &$of<T> {
            type Slices<'w> = &'w T;

            #[inline(always)]
            unsafe fn slices<'w>(fetch: *const T, first: usize, _: usize) -> &'w T {
                // SAFETY: the chunk has these rows, and no other code writes the value for the lifetime.
                unsafe { Self::get(fetch, first) }
            }
        }
    };
}

one_of_chunk!([SharedComponent] Shared);
one_of_chunk!([Component, Default] PerChunk);

// SAFETY: the data has one part, the shared value of a chunk, which is only read.
unsafe impl<T: SharedComponent> QueryData for &Shared<T> {
    type Item<'w> = &'w T;
    type Static = &'static Shared<T>;
    type Fetch = *const T;
    one_part!(ComponentType::of_shared::<T>(), Need::On, false, false);

    #[inline]
    unsafe fn fetch(view: ChunkView<'_>, places: &[Place]) -> *const T {
        let value = view.shared_value(places[0].offset as usize);
        // SAFETY: a shared value exists as long as a chunk has it.
        unsafe { &*value }.downcast_ref::<T>().expect("a value of the type")
    }

    #[inline(always)]
    unsafe fn get<'w>(fetch: *const T, _: usize) -> &'w T {
        // SAFETY: a shared value exists as long as a chunk has it, and never changes.
        unsafe { &*fetch }
    }
}

// SAFETY: the data has one part, the chunk's value of a chunk component, which is only read.
unsafe impl<T: Component + Default> QueryData for &PerChunk<T> {
    type Item<'w> = &'w T;
    type Static = &'static PerChunk<T>;
    type Fetch = *const T;
    one_part!(ComponentType::of_chunk::<T>(), Need::On, false, false);

    #[inline]
    unsafe fn fetch(view: ChunkView<'_>, places: &[Place]) -> *const T {
        let value = view.chunk.values.find(places[0].column).expect("chunks have their values");
        value.as_ptr().cast_const().cast()
    }

    #[inline(always)]
    unsafe fn get<'w>(fetch: *const T, _: usize) -> &'w T {
        // SAFETY: the chunk has a value of this type, and the query has declared that it reads the component. Only a job that has
        // declared to write the component could write the value, and such a job conflicts with the query.
        unsafe { &*fetch }
    }
}

// SAFETY: the data has one part, the chunk's value of a chunk component, which is declared as written. Items are `()`. Only a job
// that has the whole chunk accesses the value, through `ChunkInJob`.
unsafe impl<T: Component + Default> QueryData for &mut PerChunk<T> {
    type Item<'w> = ();
    type Static = &'static mut PerChunk<T>;
    type Fetch = ();
    one_part!(ComponentType::of_chunk::<T>(), Need::On, true, false);
    mark_one!(false);

    #[inline(always)]
    unsafe fn fetch(_: ChunkView<'_>, _: &[Place]) {}

    #[inline(always)]
    unsafe fn get<'w>((): (), _: usize) -> Self::Item<'w> {}
}

// SAFETY: the items and slices are `()`.
unsafe impl<T: Component + Default> ParallelData for &mut PerChunk<T> {}

// SAFETY: the items and slices are `()`.
unsafe impl<T: Component + Default> ChunkData for &mut PerChunk<T> {
    type Slices<'w> = ();

    #[inline(always)]
    unsafe fn slices<'w>((): (), _: usize, _: usize) -> Self::Slices<'w> {}
}

// SAFETY: the data has one part, and `fetch` and `get` only read its column. Queries and their iterators are not sent to other
// threads.
unsafe impl<T: ManagedComponent> QueryData for &Managed<T> {
    type Item<'w> = &'w T;
    type Static = &'static Managed<T>;
    type Fetch = ColumnFetch<Box<T>>;
    one_column!(read ComponentType::of_managed::<T>(), T);

    #[inline(always)]
    unsafe fn get<'w>(fetch: ColumnFetch<Box<T>>, row: usize) -> &'w T {
        // SAFETY: each row has a value, which no other code writes for the lifetime. No other thread reads it: the memory is not
        // shared with a fork, and the item stays on its thread unless `T` is `Sync`.
        unsafe { &*fetch.first.as_ptr().add(row) }
    }
}

// SAFETY: the data is only read.
unsafe impl<T: ManagedComponent> ReadOnlyData for &Managed<T> {}

// SAFETY: the data has one part, which is declared as written, and `get` accesses only its column.
unsafe impl<T: ManagedComponent> QueryData for &mut Managed<T> {
    type Item<'w> = &'w mut T;
    type Static = &'static mut Managed<T>;
    type Fetch = ColumnFetch<Box<T>>;
    one_column!(write ComponentType::of_managed::<T>(), T);
    track_column!(T);

    #[inline(always)]
    unsafe fn get<'w>(fetch: ColumnFetch<Box<T>>, row: usize) -> &'w mut T {
        // SAFETY: each row has a value, which no other code uses for the lifetime.
        unsafe { &mut *fetch.first.as_ptr().add(row) }
    }
}

/// Query data that reads the enabled state of a component.
///
/// The component is a plain one, a `Buffer<T>` or a `Managed<T>`.
///
/// It matches all entities that have the component, enabled or disabled. This is Unity's `EnabledRefRO`, which by default matches
/// only entities whose component is enabled. For that, add the filter [`With<T>`](crate::With).
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, EnabledRef, World};
///
/// #[derive(Component)]
/// #[component(enableable)]
/// struct Engine;
///
/// let mut world = World::new("Simulation");
/// let car = world.spawn(Engine);
/// world.spawn(Engine);
/// world.set_component_enabled::<Engine>(car, false).unwrap();
/// let on: Vec<bool> = world.query::<EnabledRef<Engine>>().iter().map(|engine| engine.get()).collect();
/// assert_eq!(on, [false, true]);
/// ```
///
/// A component that is not enableable does not compile:
///
/// ```compile_fail,E0080
/// use ancho_entities::{Component, EnabledRef, World};
///
/// #[derive(Component)]
/// struct Health(u32);
///
/// World::new("Simulation").query::<EnabledRef<Health>>().count();
/// ```
pub struct EnabledRef<'w, T> {
    /// Address of the mask word. Other items may use other bits of the word. The raw pointer makes the item `!Send`, so that it
    /// stays on one thread.
    word: *mut u64,
    shift: u32,
    of: PhantomData<&'w T>,
}

/// Query data that reads and writes the enabled state of a component.
///
/// The component is a plain one, a `Buffer<T>` or a `Managed<T>`.
///
/// It matches all entities that have the component, enabled or disabled. The component counts as changed, whether or not the
/// state changes. Changing the state does not affect which entities the loop visits, because the rows are determined before an
/// item is yielded. This is Unity's `EnabledRefRW`, which by default matches only entities whose component is enabled.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, EnabledMut, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Fuel(u32);
///
/// #[derive(Component)]
/// #[component(enableable)]
/// struct Engine;
///
/// let mut world = World::new("Simulation");
/// world.spawn((Fuel(3), Engine));
/// world.spawn((Fuel(0), Engine));
/// for (fuel, mut engine) in world.query_mut::<(&Fuel, EnabledMut<Engine>)>() {
///     engine.set(fuel.0 > 0);
/// }
/// assert_eq!(world.query::<&Engine>().count(), 1);
/// ```
pub struct EnabledMut<'w, T>(EnabledRef<'w, T>);

impl<T> EnabledRef<'_, T> {
    /// Creates the item of a row, given the address of the mask words.
    #[inline(always)]
    fn of(words: *mut u64, row: usize) -> Self {
        let (word, shift) = (words.wrapping_add(row / 64), (row % 64) as u32);
        Self { word, shift, of: PhantomData }
    }

    /// Returns `true` if the component is enabled.
    #[inline]
    pub fn get(&self) -> bool {
        // SAFETY: the word exists while the world is borrowed. No other thread writes it meanwhile, because parallel loops and jobs
        // divide rows at whole mask words.
        unsafe { *self.word >> self.shift & 1 != 0 }
    }
}

impl<T> EnabledMut<'_, T> {
    /// Returns `true` if the component is enabled.
    #[inline]
    pub fn get(&self) -> bool {
        self.0.get()
    }

    /// Enables or disables the component.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, EnabledMut, World};
    ///
    /// #[derive(Component, Clone)]
    /// #[component(enableable)]
    /// struct Light;
    ///
    /// let mut world = World::new("Simulation");
    /// let lamps: Vec<_> = world.spawn_many(Light, 4).collect();
    /// world.set_component_enabled::<Light>(lamps[0], false)?;
    /// for mut light in world.query_mut::<EnabledMut<Light>>() {
    ///     let is_on = light.get();
    ///     light.set(!is_on);
    /// }
    /// assert_eq!(world.query::<&Light>().iter().count(), 1);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[inline]
    pub fn set(&mut self, enabled: bool) {
        let EnabledRef { word, shift, .. } = self.0;
        // SAFETY: the word exists while the world is borrowed. No other thread uses it, because parallel loops and jobs divide rows
        // at whole mask words. No reference to the word is alive while user code runs.
        unsafe { *word = *word & !(1 << shift) | u64::from(enabled) << shift };
    }
}

impl<T> Clone for EnabledRef<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for EnabledRef<'_, T> {}

impl<T> fmt::Debug for EnabledRef<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EnabledRef").field(&self.get()).finish()
    }
}

impl<T> fmt::Debug for EnabledMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EnabledMut").field(&self.get()).finish()
    }
}

/// Returns the component type, which must be enableable.
fn enableable<T: ComponentSet>() -> ComponentType {
    const {
        assert!(
            T::HAS_BITS && T::COUNT == 1,
            "the component cannot be enabled or disabled; write `#[component(enableable)]` on the type"
        );
    }
    let mut found = None;
    T::types(&mut |ty| found = Some(ty));
    found.expect("the set has one component")
}

// SAFETY: the data has one part, and only the mask of the component is read.
unsafe impl<T: ComponentSet> QueryData for EnabledRef<'_, T> {
    type Item<'w> = EnabledRef<'w, T>;
    type Static = EnabledRef<'static, T>;
    type Fetch = *mut u64;
    one_part!(enableable::<T>(), Need::Present, false, true);

    #[inline(always)]
    unsafe fn fetch(view: ChunkView<'_>, places: &[Place]) -> *mut u64 {
        mask_words(view, places[0])
    }

    #[inline(always)]
    unsafe fn get<'w>(fetch: *mut u64, row: usize) -> EnabledRef<'w, T> {
        EnabledRef::of(fetch, row)
    }
}

// SAFETY: the data is only read.
unsafe impl<T: ComponentSet> ReadOnlyData for EnabledRef<'_, T> {}

// SAFETY: batches of parallel loops and jobs consist of whole mask words, so that no two threads access the same word.
unsafe impl<T: ComponentSet> ParallelData for EnabledRef<'_, T> {}

// SAFETY: the data has one part, which is declared as written. An item accesses only the bit of its row in the mask.
unsafe impl<T: ComponentSet> QueryData for EnabledMut<'_, T> {
    type Item<'w> = EnabledMut<'w, T>;
    type Static = EnabledMut<'static, T>;
    type Fetch = ColumnFetch<T>;
    one_part!(enableable::<T>(), Need::Present, true, true);
    mark_one!(T::TRACKED);
    const TRACKS: bool = T::TRACKED;

    #[inline(always)]
    unsafe fn track(fetch: Self::Fetch, first: usize, count: usize, _: bool) {
        // SAFETY: `written` is null, or belongs to the chunk of the fetch, which has these rows.
        unsafe { track_rows(fetch.written, first, count) }
    }

    #[inline(always)]
    unsafe fn fetch(view: ChunkView<'_>, places: &[Place]) -> ColumnFetch<T> {
        ColumnFetch::new_mut(view, places[0], true, T::TRACKED)
    }

    #[inline(always)]
    unsafe fn get<'w>(fetch: ColumnFetch<T>, row: usize) -> EnabledMut<'w, T> {
        EnabledMut(EnabledRef::of(fetch.words.cast_mut(), row))
    }
}

// SAFETY: batches of parallel loops and jobs consist of whole mask words, so that no two threads access the same word.
unsafe impl<T: ComponentSet> ParallelData for EnabledMut<'_, T> {}

/// Query data that gives mutable access to a component, which counts as changed only if it is written.
///
/// Use it for loops that write few of many values. With `&mut T`, the component counts as changed on each entity that is yielded.
/// The component must [track changes](Component::TRACK_CHANGES). A mutable borrow of the value counts as a write. The [change
/// version](crate::ArchetypeChunk::change_version) of each visited chunk still increases.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Changed, Component, TrackedMut, World};
///
/// #[derive(Component, Clone, Copy)]
/// #[component(track_changes)]
/// struct Health(u32);
///
/// let mut world = World::new("Simulation");
/// world.spawn_batch((0..100).map(Health));
/// let seen = world.version();
/// world.advance_version();
/// for mut health in world.query_mut::<TrackedMut<Health>>() {
///     if health.0 < 10 {
///         health.0 += 1;
///     }
/// }
/// assert_eq!(world.query_filtered::<&Health, Changed<Health>>().since(seen).count(), 10);
/// ```
///
/// A component that does not track changes does not compile:
///
/// ```compile_fail,E0080
/// use ancho_entities::{Component, TrackedMut, World};
///
/// #[derive(Component)]
/// struct Health(u32);
///
/// World::new("Simulation").query::<TrackedMut<Health>>().count();
/// ```
///
/// A `TrackedMut` is not `Send`, and stays on the thread of its world:
///
/// ```compile_fail,E0277
/// use ancho_entities::{Component, TrackedMut};
///
/// fn is_send<T: Send>() {}
///
/// #[derive(Component)]
/// #[component(track_changes)]
/// struct Health(u32);
///
/// is_send::<TrackedMut<'_, Health>>();
/// ```
#[doc(alias = "Mut")]
pub struct TrackedMut<'w, T> {
    value: &'w mut T,
    /// Address of the row versions, which other rows share. The raw pointer makes the item `!Send`, so that it stays on one thread.
    written: *mut TrackedColumn,
    row: usize,
}

impl<T> Deref for TrackedMut<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        self.value
    }
}

impl<T> DerefMut for TrackedMut<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the column exists while the world is borrowed, has this row, and other code uses it only on this thread.
        unsafe { track_rows(self.written, self.row, 1) };
        self.value
    }
}

impl<T> TrackedMut<'_, T> {
    /// Returns the value mutably, without marking it as changed.
    #[doc(alias = "bypass_change_detection")]
    pub fn bypass(&mut self) -> &mut T {
        self.value
    }

    /// Replaces the value if it differs, and marks it as changed only then. Returns whether it differs.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Changed, Component, TrackedMut, World};
    ///
    /// #[derive(Component, PartialEq)]
    /// #[component(track_changes)]
    /// struct Visible(bool);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_batch([Visible(true), Visible(false)]);
    /// let seen = world.version();
    /// world.advance_version();
    /// for mut visible in world.query_mut::<TrackedMut<Visible>>() {
    ///     visible.set_if_neq(Visible(true));
    /// }
    /// assert_eq!(world.query_filtered::<(), Changed<Visible>>().since(seen).count(), 1);
    /// ```
    pub fn set_if_neq(&mut self, value: T) -> bool
    where
        T: PartialEq,
    {
        let differs = *self.value != value;
        if differs {
            **self = value;
        }
        differs
    }
}

impl<T: fmt::Debug> fmt::Debug for TrackedMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TrackedMut").field(&self.value).finish()
    }
}

/// Returns the component type, which must track changes.
fn tracked<T: Component>() -> ComponentType {
    const {
        assert!(
            T::TRACK_CHANGES,
            "the component does not track changes; write `#[component(track_changes)]` on the type"
        );
    }
    ComponentType::of::<T>()
}

// SAFETY: the data has one part, which is declared as written, and `get` accesses only its column.
unsafe impl<T: Component + Mutable> QueryData for TrackedMut<'_, T> {
    type Item<'w> = TrackedMut<'w, T>;
    type Static = TrackedMut<'static, T>;
    type Fetch = ColumnFetch<T>;
    // `TRACKS` stays false, because the item records the change when it is written.
    one_column!(write tracked::<T>(), T);

    #[inline(always)]
    unsafe fn get<'w>(fetch: ColumnFetch<T>, row: usize) -> TrackedMut<'w, T> {
        // SAFETY: each row has a value, which no other code uses for the lifetime.
        let value = unsafe { &mut *fetch.first.as_ptr().add(row) };
        TrackedMut { value, written: fetch.written, row }
    }
}

/// Query data that reads a component, and tests whether it was changed or added since the system last ran.
///
/// In the first run of a system, everything counts as changed and added. Outside of systems, [`since`](crate::Query::since) sets the
/// version after which changes count. In a [`Lookup`](crate::Lookup), everything counts as changed and added. The component must
/// [track changes](Component::TRACK_CHANGES).
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, Ref, World};
///
/// #[derive(Component)]
/// #[component(track_changes)]
/// struct Health(u32);
///
/// let mut world = World::new("Simulation");
/// let orc = world.spawn(Health(20));
/// let seen = world.version();
/// world.advance_version();
/// world.get_mut::<Health>(orc)?.0 -= 5;
/// let health = world.query::<Ref<Health>>().since(seen).iter().next().unwrap();
/// assert_eq!((health.0, health.is_changed(), health.is_added()), (15, true, false));
/// # Ok::<(), ancho_entities::EntityError>(())
/// ```
///
/// A component that does not track changes does not compile:
///
/// ```compile_fail,E0080
/// use ancho_entities::{Component, Ref, World};
///
/// #[derive(Component)]
/// struct Health(u32);
///
/// World::new("Simulation").query::<Ref<Health>>().count();
/// ```
pub struct Ref<'w, T> {
    value: &'w T,
    /// Addresses of the row versions. The raw pointers make the item `!Send`, so that it stays on one thread.
    written: *const TrackedColumn,
    added: *const TrackedColumn,
    row: u32,
    since: Version,
}

impl<T> Ref<'_, T> {
    /// Returns `true` if the component was written or added after the version of the query.
    pub fn is_changed(&self) -> bool {
        // SAFETY: the column exists while the world is borrowed, or while the job runs, and has this row. Nothing writes it, because
        // the component is only read.
        unsafe { (*self.written).version(self.row) }.is_newer_than(self.since)
    }

    /// Returns `true` if the component was added after the version of the query.
    pub fn is_added(&self) -> bool {
        // SAFETY: the column exists while the world is borrowed, or while the job runs, and has this row. Only structural changes write
        // it.
        unsafe { (*self.added).version(self.row) }.is_newer_than(self.since)
    }
}

impl<T> Clone for Ref<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Ref<'_, T> {}

impl<T> Deref for Ref<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        self.value
    }
}

impl<T: fmt::Debug> fmt::Debug for Ref<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ref").field(&self.value).finish()
    }
}

/// The addresses of a column, of its row versions, and the version that they are compared with.
#[derive(Debug)]
#[expect(unnameable_types, reason = "only the trait's own methods speak of it")]
pub struct RefFetch<T> {
    column: ColumnFetch<T>,
    added: *const TrackedColumn,
    since: Version,
}

impl<T> Clone for RefFetch<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for RefFetch<T> {}

// SAFETY: the data has one part, and `fetch` and `get` only read its column and its versions.
unsafe impl<T: Component> QueryData for Ref<'_, T> {
    type Item<'w> = Ref<'w, T>;
    type Static = Ref<'static, T>;
    type Fetch = RefFetch<T>;
    one_part!(tracked::<T>(), Need::On, false, false);

    #[inline(always)]
    unsafe fn fetch(view: ChunkView<'_>, places: &[Place]) -> RefFetch<T> {
        let column = ColumnFetch::new_mut(view, places[0], T::ENABLEABLE, true);
        RefFetch { column, added: view.chunk.added_column(places[0].column), since: view.since }
    }

    #[inline(always)]
    unsafe fn is_on(fetch: RefFetch<T>, row: usize) -> bool {
        // SAFETY: the chunk has this row.
        unsafe { fetch.column.is_on(row) }
    }

    #[inline(always)]
    unsafe fn get<'w>(fetch: RefFetch<T>, row: usize) -> Ref<'w, T> {
        let RefFetch { column, added, since } = fetch;
        // SAFETY: each row has a value, which no other code writes for the lifetime.
        let value = unsafe { &*column.first.as_ptr().add(row) };
        Ref { value, written: column.written, added, row: row as u32, since }
    }
}

// SAFETY: the data is only read.
unsafe impl<T: Component> ReadOnlyData for Ref<'_, T> {}

// SAFETY: components are `Sync`, and the row versions are only read: a job that writes the component conflicts with this one.
unsafe impl<T: Component> ParallelData for Ref<'_, T> {}
