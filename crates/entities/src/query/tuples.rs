//! Tuples as data and filters, and the read-only forms of data.

#![expect(unsafe_code, reason = "the parts of a tuple are fetched together")]

use std::any::TypeId;
use std::marker::PhantomData;
use std::num::NonZero;

use super::batch::{ChunkMarks, ChunkView};
use super::data::{ChunkData, QueryData, ReadOnlyData};
use super::descriptor::{Options, Part, Term};
use super::filter::QueryFilter;
use super::parallel::ParallelData;
use super::special_data::{EnabledMut, EnabledRef, TrackedMut};
use super::state::{Place, QueryState};
use super::view::Query;
use crate::all_tuples::all_tuples;
use crate::buffer::{Buffer, BufferElement};
use crate::component::Component;
use crate::entity::Entity;
use crate::managed::{Managed, ManagedComponent};
use crate::per_chunk::PerChunk;
use crate::shared::{Shared, SharedComponent};

/// Implements the traits for a tuple, of parts with their indices.
///
/// A part's places follow those of the parts before it.
macro_rules! implement {
    ($($name:ident $index:tt,)+) => {
        // SAFETY: each part has its own places, since both are in the order of the parts.
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
                $(
                    let (own, rest) = places.split_at($name::PARTS);
                    $name::expect(memory, own, first, count);
                    places = rest;
                )+
                let _ = places;
            }

            #[inline(always)]
            fn expect_row(fetch: Self::Fetch, row: usize) {
                $($name::expect_row(fetch.$index, row);)+
            }

            #[inline(always)]
            unsafe fn mark(marks: &mut ChunkMarks<'_>, places: &[Place]) {
                let mut places = places;
                $(
                    // SAFETY: the caller promises that there are the places of all parts.
                    let (own, rest) = unsafe { places.split_at_unchecked($name::PARTS) };
                    // SAFETY: these are the part's places, and the caller promises the rest.
                    unsafe { $name::mark(marks, own) };
                    places = rest;
                )+
                let _ = places;
            }

            fn is_there(places: &[Place]) -> bool {
                let mut places = places;
                $(
                    let (own, rest) = places.split_at($name::PARTS);
                    if !$name::is_there(own) {
                        return false;
                    }
                    places = rest;
                )+
                places.is_empty()
            }

            #[inline(always)]
            unsafe fn fetch(view: ChunkView<'_>, places: &[Place]) -> Self::Fetch {
                let mut places = places;
                ($(
                    {
                        // SAFETY: the caller promises that there are the places of all parts.
                        let (own, rest) = unsafe { places.split_at_unchecked($name::PARTS) };
                        places = rest;
                        let _ = places;
                        // SAFETY: these are the part's places, and the caller promises the rest.
                        unsafe { $name::fetch(view, own) }
                    },
                )+)
            }

            #[inline(always)]
            unsafe fn is_on(fetch: Self::Fetch, row: usize) -> bool {
                // SAFETY: the caller promises it for all parts.
                unsafe { true $(&& $name::is_on(fetch.$index, row))+ }
            }

            #[inline(always)]
            unsafe fn get<'w>(fetch: Self::Fetch, row: usize) -> Self::Item<'w> {
                // SAFETY: the caller promises it for all parts.
                unsafe { ($($name::get(fetch.$index, row),)+) }
            }

            #[inline(always)]
            unsafe fn track(fetch: Self::Fetch, first: usize, count: usize, as_slices: bool) {
                // SAFETY: the caller promises it for all parts.
                unsafe { $($name::track(fetch.$index, first, count, as_slices);)+ }
            }
        }

        // SAFETY: nothing can be changed of any part.
        unsafe impl<$($name: ReadOnlyData),+> ReadOnlyData for ($($name,)+) {}

        // SAFETY: so it is for each part.
        unsafe impl<$($name: ParallelData),+> ParallelData for ($($name,)+) {}

        // SAFETY: all parts are given for the same rows.
        unsafe impl<$($name: ChunkData),+> ChunkData for ($($name,)+) {
            type Slices<'w> = ($($name::Slices<'w>,)+);

            #[inline(always)]
            unsafe fn slices<'w>(
                fetch: Self::Fetch,
                first: usize,
                count: usize,
            ) -> Self::Slices<'w> {
                // SAFETY: the caller promises it for all parts.
                unsafe { ($($name::slices(fetch.$index, first, count),)+) }
            }
        }

        // SAFETY: the conditions of all parts.
        unsafe impl<$($name: QueryFilter),+> QueryFilter for ($($name,)+) {
            const OPTIONS: Options = Options::NONE$(.with($name::OPTIONS))+;

            fn terms(each: &mut dyn FnMut(Term)) {
                $($name::terms(each);)+
            }
        }
    };
}

all_tuples!(implement);

// SAFETY: there are no parts.
unsafe impl QueryData for () {
    type Item<'w> = ();
    type Static = ();
    type Fetch = ();
    const PARTS: usize = 0;
    const WRITES: bool = false;
    const MARKS: bool = false;
    const TRACKS: bool = false;

    fn parts(_: &mut dyn FnMut(Part)) {}

    #[inline(always)]
    unsafe fn mark(_: &mut ChunkMarks<'_>, _: &[Place]) {}

    fn is_there(_: &[Place]) -> bool {
        true
    }

    #[inline(always)]
    unsafe fn fetch(_: ChunkView<'_>, _: &[Place]) {}

    #[inline(always)]
    unsafe fn is_on((): (), _: usize) -> bool {
        true
    }

    #[inline(always)]
    unsafe fn get<'w>((): (), _: usize) -> Self::Item<'w> {}

    #[inline(always)]
    unsafe fn track((): (), _: usize, _: usize, _: bool) {}
}

// SAFETY: there is nothing to be changed.
unsafe impl ReadOnlyData for () {}

// SAFETY: there is nothing to be shared.
unsafe impl ParallelData for () {}

// SAFETY: there are no conditions.
unsafe impl QueryFilter for () {
    fn terms(_: &mut dyn FnMut(Term)) {}
}

/// Query data that has a read-only form: `&T` for `&mut T`.
///
/// It is what [`Query::as_read_only`](crate::Query::as_read_only) asks for. Tuples have it if all of their parts do; aspects do not,
/// since a struct of mutable references has no other form: [name](crate::Aspect) the one to be read, and ask for it.
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
/// Not to be implemented outside of this crate: the other data finds the same entities, and reads nothing else of them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no form that is only read",
    label = "cannot be given to be read",
    note = "ask for what is read in a query of its own; an aspect that is read is named by `#[aspect(read_only = …)]`"
)]
pub unsafe trait ReadableData: QueryData {
    /// The read-only form.
    type ReadOnly: ReadOnlyData;
}

impl<D: ReadableData, F: QueryFilter> Query<'_, D, F> {
    /// The same view, of which nothing can be changed: to look at what it gives, as often as one likes, while it is borrowed.
    ///
    /// Nothing counts as changed by that, and only jobs that write are waited for.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Query, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// /// Those who have less than others get a share of what the others have.
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
        // - the manager is borrowed mutably by the views, of which this is one
        // - the state is the manager's, and finds what this one does, by the same parts in the same order, none of which it writes
        // - nothing can be changed, and what is read this view has, which is borrowed and so changes nothing
        // - a job that reads meets no view that one of this would not
        unsafe { Query::new(self.entities, matched, self.settings.clone(), self.others()) }
    }

    /// The state of the query that finds the same, and reads what this one writes.
    ///
    /// It is not that of the other data: a query that filters by write groups finds more if it only reads, also what other views
    /// write.
    #[track_caller]
    fn looking(&self) -> &QueryState {
        /// This data, of which what can be changed is read.
        struct Looked<D>(PhantomData<D>);

        let (entities, plan) = (self.entities.as_ptr(), &self.matched.plan);
        let id = TypeId::of::<(Looked<D::Static>, F)>();
        // SAFETY: the manager is borrowed. Views change neither its archetypes nor states that are in use.
        let (queries, archetypes) =
            unsafe { (&(*entities).queries, &(*entities).storage.archetypes) };
        queries.of_type(id, plan.options, archetypes, || plan.clone().reading())
    }
}

/// Writes what gives data to be read.
macro_rules! readable {
    ($([$T:ident: $($bound:path),+] $data:ty => $read:ty;)+) => {$(
        // SAFETY: the same component is read of the same entities.
        unsafe impl<$T: $($bound +)+> ReadableData for $data {
            type ReadOnly = $read;
        }
    )+};
}

readable! {
    [T: Component] &T => &'static T;
    [T: Component] &mut T => &'static T;
    [T: BufferElement] &Buffer<T> => &'static Buffer<T>;
    [T: BufferElement] &mut Buffer<T> => &'static Buffer<T>;
    [T: SharedComponent] &Shared<T> => &'static Shared<T>;
    [T: Component, Default] &PerChunk<T> => &'static PerChunk<T>;
    [T: ManagedComponent] &Managed<T> => &'static Managed<T>;
    [T: ManagedComponent] &mut Managed<T> => &'static Managed<T>;
    [T: Component] EnabledRef<'_, T> => EnabledRef<'static, T>;
    [T: Component] EnabledMut<'_, T> => EnabledRef<'static, T>;
    [T: Component] TrackedMut<'_, T> => &'static T;
    [D: ReadableData] Option<D> => Option<D::ReadOnly>;
}

// SAFETY: it cannot be changed.
unsafe impl ReadableData for Entity {
    type ReadOnly = Entity;
}

// SAFETY: there is nothing to be changed.
unsafe impl ReadableData for () {
    type ReadOnly = ();
}

macro_rules! implement {
    ($($name:ident $index:tt,)+) => {
        // SAFETY: so it is for each part.
        unsafe impl<$($name: ReadableData),+> ReadableData for ($($name,)+) {
            type ReadOnly = ($($name::ReadOnly,)+);
        }
    };
}

all_tuples!(implement);
