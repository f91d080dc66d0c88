//! Tuples as data and filters, and the read-only forms of data.

#![expect(unsafe_code, reason = "the parts of a tuple are fetched together")]

use std::any::TypeId;
use std::marker::PhantomData;
use std::num::NonZero;

use super::batch::{ChunkMarks, ChunkView};
use super::data::{ChunkData, QueryData, ReadOnlyData};
use super::filter::QueryFilter;
use super::parallel::ParallelData;
use super::special_data::{EnabledMut, EnabledRef, Ref, TrackedMut};
use super::state::{Place, QueryState};
use super::terms::{Options, Part, Term};
use super::view::Query;
use crate::all_tuples::all_tuples;
use crate::buffer::{Buffer, BufferElement};
use crate::component::{Component, Mutable};
use crate::entity::Entity;
use crate::managed::{Managed, ManagedComponent};
use crate::per_chunk::PerChunk;
use crate::set::ComponentSet;
use crate::shared::{Shared, SharedComponent};

/// Removes the first `count` places from a list and returns them.
#[inline(always)]
fn take<'p>(places: &mut &'p [Place], count: usize) -> &'p [Place] {
    places.split_off(..count).expect("places of all elements")
}

/// Removes the first `count` places from a list and returns them, without a bounds check.
///
/// # Safety
///
/// - the list has at least `count` places
#[inline(always)]
unsafe fn take_unchecked<'p>(places: &mut &'p [Place], count: usize) -> &'p [Place] {
    // SAFETY: the list has at least `count` places.
    let (first, rest) = unsafe { places.split_at_unchecked(count) };
    *places = rest;
    first
}

/// Implements the data and filter traits for a tuple.
///
/// The places of an element follow the places of the elements before it.
macro_rules! implement {
    ($($name:ident $index:tt,)+) => {
        // SAFETY: `parts` lists the parts in the order of the elements, and the other methods take the places in the same order. So
        // each element receives the places of its own parts.
        unsafe impl<$($name: QueryData),+> QueryData for ($($name,)+) {
            type Item<'w> = ($($name::Item<'w>,)+);
            type Static = ($($name::Static,)+);
            type Fetch = ($($name::Fetch,)+);
            const PARTS: usize = 0 $(+ $name::PARTS)+;
            const ROW_BYTES: usize = 0 $(+ $name::ROW_BYTES)+;
            const WRITES: bool = false $(|| $name::WRITES)+;
            const MARKS: bool = false $(|| $name::MARKS)+;
            const TRACKS: bool = false $(|| $name::TRACKS)+;

            fn parts(each: &mut dyn FnMut(Part)) {
                $($name::parts(each);)+
            }

            #[inline(always)]
            fn expect(memory: NonZero<usize>, places: &[Place], first: usize, count: usize) {
                let mut places = places;
                $($name::expect(memory, take(&mut places, $name::PARTS), first, count);)+
            }

            #[inline(always)]
            fn expect_row(fetch: Self::Fetch, row: usize) {
                $($name::expect_row(fetch.$index, row);)+
            }

            #[inline(always)]
            unsafe fn mark(marks: &mut ChunkMarks<'_>, places: &[Place]) {
                let mut places = places;
                // SAFETY: the list has the places of all elements. Each element receives its own places in the chunk's archetype.
                // No other code uses the versions of written columns, nor the versions of other columns unless they were written
                // out.
                unsafe { $($name::mark(marks, take_unchecked(&mut places, $name::PARTS));)+ }
            }

            fn is_there(places: &[Place]) -> bool {
                let mut places = places;
                true $(&& $name::is_there(take(&mut places, $name::PARTS)))+
            }

            #[inline(always)]
            unsafe fn fetch(view: ChunkView<'_>, places: &[Place]) -> Self::Fetch {
                let mut places = places;
                // SAFETY: the list has the places of all elements. Each element receives its own places in the chunk's archetype,
                // which has the required components.
                unsafe { ($($name::fetch(view, take_unchecked(&mut places, $name::PARTS)),)+) }
            }

            #[inline(always)]
            unsafe fn is_on(fetch: Self::Fetch, row: usize) -> bool {
                // SAFETY: the chunk has this row.
                unsafe { true $(&& $name::is_on(fetch.$index, row))+ }
            }

            #[inline(always)]
            unsafe fn get<'w>(fetch: Self::Fetch, row: usize) -> Self::Item<'w> {
                // SAFETY: the requirements of `get` hold for the data of each element.
                unsafe { ($($name::get(fetch.$index, row),)+) }
            }

            #[inline(always)]
            unsafe fn track(fetch: Self::Fetch, first: usize, count: usize, as_slices: bool) {
                // SAFETY: the chunk has these rows, and no other code uses the data that can be written.
                unsafe { $($name::track(fetch.$index, first, count, as_slices);)+ }
            }
        }

        // SAFETY: every element is read-only.
        unsafe impl<$($name: ReadOnlyData),+> ReadOnlyData for ($($name,)+) {}

        // SAFETY: every element can be fetched on any thread.
        unsafe impl<$($name: ParallelData),+> ParallelData for ($($name,)+) {}

        // SAFETY: the slices of all elements are of the same rows.
        unsafe impl<$($name: ChunkData),+> ChunkData for ($($name,)+) {
            type Slices<'w> = ($($name::Slices<'w>,)+);

            #[inline(always)]
            unsafe fn slices<'w>(
                fetch: Self::Fetch,
                first: usize,
                count: usize,
            ) -> Self::Slices<'w> {
                // SAFETY: the chunk has these rows, and their data is not used in a conflicting way for the lifetime.
                unsafe { ($($name::slices(fetch.$index, first, count),)+) }
            }
        }

        impl<$($name: QueryFilter),+> QueryFilter for ($($name,)+) {
            const OPTIONS: Options = Options::NONE$(.with($name::OPTIONS))+;

            fn terms(each: &mut dyn FnMut(Term)) {
                $($name::terms(each);)+
            }
        }
    };
}

all_tuples!(implement);

// SAFETY: the data has no parts.
unsafe impl QueryData for () {
    type Item<'w> = ();
    type Static = ();
    type Fetch = ();

    #[inline(always)]
    unsafe fn fetch(_: ChunkView<'_>, _: &[Place]) {}

    #[inline(always)]
    unsafe fn get<'w>((): (), _: usize) -> Self::Item<'w> {}
}

// SAFETY: the data has no parts.
unsafe impl ReadOnlyData for () {}

// SAFETY: the data has no parts.
unsafe impl ParallelData for () {}

impl QueryFilter for () {
    fn terms(_: &mut dyn FnMut(Term)) {}
}

/// Query data that has a read-only form: `&T` for `&mut T`.
///
/// [`Query::as_read_only`](crate::Query::as_read_only) converts a query to the read-only form. A tuple has a read-only form if all
/// of its elements have one. Aspects have none: [generate](crate::Aspect) a read-only struct, and use it in a separate query.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, Query, ReadableData, World};
///
/// #[derive(Component)]
/// struct Health(u32);
///
/// fn last<'q, D: ReadableData>(
///     query: &'q Query<D>,
/// ) -> Option<<D::ReadOnly as ancho_entities::QueryData>::Item<'q>> {
///     query.as_read_only().iter().last()
/// }
///
/// let mut world = World::new("Simulation");
/// world.spawn_batch([Health(20), Health(30)]);
/// let (health,) = world.split::<(Query<&mut Health>,)>();
/// assert_eq!(last(&health).unwrap().0, 30);
/// ```
///
/// # Safety
///
/// Not to be implemented outside of this crate: the read-only form must match the same entities, and fetch the same parts.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no read-only form",
    label = "has no read-only form",
    note = "read it with a separate query; `#[aspect(read_only = …)]` names the read-only form of an aspect"
)]
pub unsafe trait ReadableData: QueryData {
    /// The read-only form.
    type ReadOnly: ReadOnlyData;
}

impl<D: ReadableData, F: QueryFilter> Query<'_, D, F> {
    /// Borrows the query as a read-only query of the same entities.
    ///
    /// Reading through it does not count as a change, and waits only for jobs that write.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Query, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// /// Sets the health of all entities to the mean.
    /// fn share(mut all: Query<&mut Health>) {
    ///     let sum: u32 = all.as_read_only().iter().map(|health| health.0).sum();
    ///     let mean = sum / all.count() as u32;
    ///     all.for_each(|health| health.0 = mean);
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_batch([Health(10), Health(20), Health(60)]);
    /// world.add_system(share);
    /// world.update(0.1);
    /// assert!(world.query::<&Health>().iter().all(|health| health.0 == 30));
    /// ```
    #[track_caller]
    pub fn as_read_only(&self) -> Query<'_, D::ReadOnly, F> {
        let matched = if D::MARKS { self.looking() } else { self.matched };
        // SAFETY:
        // - the manager is borrowed for the lifetime, by this query among others
        // - the new query only reads data of this query, which is borrowed and so does not write it meanwhile
        // - the state belongs to the manager, matches the same entities, and has the same parts in the same order, without writes
        // - the new query cannot write, so that no chunk has to be unshared
        // - a job of the new query, which reads, conflicts with no view that a job of this query does not conflict with
        unsafe { Query::new(self.entities, matched, self.settings.clone(), self.others) }
    }

    /// Returns the state of a query that matches the same entities, and reads the components that this query writes.
    ///
    /// This is not the state of a query of the read-only data. A query that filters by write groups matches more entities if it
    /// only reads, including entities whose data other views write.
    #[track_caller]
    fn looking(&self) -> &QueryState {
        /// Type for the cache key of the read-only state of a query of `D`.
        struct Looked<D>(PhantomData<D>);

        let (entities, plan) = (self.entities.as_ptr(), &self.matched.plan);
        let id = TypeId::of::<(Looked<D::Static>, F)>();
        // SAFETY: the manager is borrowed. Views change neither its archetypes nor query states that are in use.
        let (queries, archetypes) =
            unsafe { (&(*entities).queries, &(*entities).storage.archetypes) };
        queries.of_type(id, plan.options, archetypes, || Ok(plan.clone().reading()))
    }
}

/// Maps data to its read-only form.
macro_rules! readable {
    ($([$($T:ident: $($bound:path),+)?] $data:ty => $read:ty;)+) => {$(
        // SAFETY: the read-only form fetches the same component of the same entities.
        unsafe impl$(<$T: $($bound +)+>)? ReadableData for $data {
            type ReadOnly = $read;
        }
    )+};
}

readable! {
    [T: Component] &T => &'static T;
    [T: Component, Mutable] &mut T => &'static T;
    [T: BufferElement] &Buffer<T> => &'static Buffer<T>;
    [T: BufferElement, Mutable] &mut Buffer<T> => &'static Buffer<T>;
    [T: SharedComponent] &Shared<T> => &'static Shared<T>;
    [T: Component, Default] &PerChunk<T> => &'static PerChunk<T>;
    [T: ManagedComponent] &Managed<T> => &'static Managed<T>;
    [T: ManagedComponent] &mut Managed<T> => &'static Managed<T>;
    [T: ComponentSet] EnabledRef<'_, T> => EnabledRef<'static, T>;
    [T: ComponentSet] EnabledMut<'_, T> => EnabledRef<'static, T>;
    [T: Component, Mutable] TrackedMut<'_, T> => &'static T;
    [T: Component] Ref<'_, T> => Ref<'static, T>;
    [D: ReadableData] Option<D> => Option<D::ReadOnly>;
    [] Entity => Entity;
    [] () => ();
}

macro_rules! implement {
    ($($name:ident $index:tt,)+) => {
        // SAFETY: every element has a read-only form.
        unsafe impl<$($name: ReadableData),+> ReadableData for ($($name,)+) {
            type ReadOnly = ($($name::ReadOnly,)+);
        }
    };
}

all_tuples!(implement);
