//! Tuples as data and filters of queries.

#![expect(unsafe_code, reason = "implements the traits of data")]

use std::num::NonZero;

use super::batch::{ChunkMarks, ChunkView};
use super::data::{ChunkData, QueryData, ReadOnlyData};
use super::filter::QueryFilter;
use super::matched::Place;
use super::parallel::ParallelData;
use super::plan::{Part, Term};
use super::settings::Options;
use crate::all_tuples::all_tuples;

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
