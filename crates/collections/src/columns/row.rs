//! Rows of columns.
#![expect(unsafe_code, reason = "opens parts of columns to batches")]

use std::mem;
use std::ops::Range;

use allocator_api2::vec::Vec as RawVec;

use crate::allocator::{Allocator, LineAligned, move_to_capacity};

/// A row of [`Columns`](crate::Columns): a tuple of up to eight values.
///
/// # Safety
///
/// Implemented for tuples only. After every call, even one that panics, all columns have the same
/// length, and [`part_mut`](Self::part_mut) returns the same part of each.
pub unsafe trait Row: Sized + Send + 'static {
    /// A vector for each column.
    #[doc(hidden)]
    type Storage: Send;

    /// The columns, as shared slices.
    type Slices<'v>: Copy;

    /// The columns, as mutable slices.
    type SlicesMut<'v>;

    /// References to the values of a row.
    type Refs<'v>;

    /// Mutable references to the values of a row.
    type RefsMut<'v>;

    #[doc(hidden)]
    fn storage_in(allocator: &Allocator) -> Self::Storage;

    /// Reserves room for `additional` more elements in every column, or in none. Returns whether it
    /// succeeded. The columns may then differ in their capacity, but never in their length.
    #[doc(hidden)]
    fn try_reserve_exact(storage: &mut Self::Storage, additional: usize) -> bool;

    /// Moves each column to memory for its elements alone, if that can be allocated.
    #[doc(hidden)]
    fn shrink_to_fit(storage: &mut Self::Storage);

    #[doc(hidden)]
    fn capacity(storage: &Self::Storage) -> usize;

    #[doc(hidden)]
    fn len(storage: &Self::Storage) -> usize;

    #[doc(hidden)]
    fn push(storage: &mut Self::Storage, row: Self);

    #[doc(hidden)]
    fn pop(storage: &mut Self::Storage) -> Option<Self>;

    #[doc(hidden)]
    fn swap_remove(storage: &mut Self::Storage, index: usize) -> Self;

    #[doc(hidden)]
    fn replace(storage: &mut Self::Storage, index: usize, row: Self) -> Self;

    #[doc(hidden)]
    fn truncate(storage: &mut Self::Storage, length: usize);

    #[doc(hidden)]
    fn slices(storage: &Self::Storage) -> Self::Slices<'_>;

    #[doc(hidden)]
    fn slices_mut(storage: &mut Self::Storage) -> Self::SlicesMut<'_>;

    /// # Safety
    ///
    /// - The range is inside the columns.
    /// - The elements in the range are not used otherwise while the parts are in use.
    #[doc(hidden)]
    unsafe fn part_mut<'v>(storage: &Self::Storage, range: Range<usize>) -> Self::SlicesMut<'v>;

    #[doc(hidden)]
    fn shorten<'b>(slices: &'b Self::Slices<'_>) -> Self::Slices<'b>;

    #[doc(hidden)]
    fn refs<'v>(slices: Self::Slices<'v>, index: usize) -> Self::Refs<'v>;

    #[doc(hidden)]
    fn refs_mut<'b>(slices: &'b mut Self::SlicesMut<'_>, index: usize) -> Self::RefsMut<'b>;
}

/// Implements [`Row`] for tuples.
macro_rules! rows {
    ($(($first:ident 0 $(, $part:ident $place:tt)*)),+ $(,)?) => {$(
        // SAFETY: every method changes all columns alike, even if it panics, and `part_mut` returns
        // the same range of each column.
        unsafe impl<$first: Send + 'static $(, $part: Send + 'static)*> Row for ($first, $($part,)*) {
            type Storage = (RawVec<$first, LineAligned>, $(RawVec<$part, LineAligned>,)*);
            type Slices<'v> = (&'v [$first], $(&'v [$part],)*);
            type SlicesMut<'v> = (&'v mut [$first], $(&'v mut [$part],)*);
            type Refs<'v> = (&'v $first, $(&'v $part,)*);
            type RefsMut<'v> = (&'v mut $first, $(&'v mut $part,)*);

            fn storage_in(allocator: &Allocator) -> Self::Storage {
                let column = LineAligned(allocator.clone());
                (RawVec::new_in(column.clone()), $(RawVec::<$part, _>::new_in(column.clone()),)*)
            }

            fn try_reserve_exact(storage: &mut Self::Storage, additional: usize) -> bool {
                storage.0.try_reserve_exact(additional).is_ok()
                    $(&& storage.$place.try_reserve_exact(additional).is_ok())*
            }

            fn shrink_to_fit(storage: &mut Self::Storage) {
                shrink_column(&mut storage.0);
                $(shrink_column(&mut storage.$place);)*
            }

            fn capacity(storage: &Self::Storage) -> usize {
                storage.0.capacity()$(.min(storage.$place.capacity()))*
            }

            #[inline(always)]
            fn len(storage: &Self::Storage) -> usize {
                storage.0.len()
            }

            #[inline(always)]
            fn push(storage: &mut Self::Storage, row: Self) {
                storage.0.push(row.0);
                $(storage.$place.push(row.$place);)*
            }

            fn pop(storage: &mut Self::Storage) -> Option<Self> {
                Some((storage.0.pop()?, $(storage.$place.pop()?,)*))
            }

            fn swap_remove(storage: &mut Self::Storage, index: usize) -> Self {
                (storage.0.swap_remove(index), $(storage.$place.swap_remove(index),)*)
            }

            fn replace(storage: &mut Self::Storage, index: usize, row: Self) -> Self {
                (
                    mem::replace(&mut storage.0[index], row.0),
                    $(mem::replace(&mut storage.$place[index], row.$place),)*
                )
            }

            fn truncate(storage: &mut Self::Storage, length: usize) {
                // All columns are shortened, even if a destructor in one of them panics.
                let _each = (
                    Shortened(&mut storage.0, length),
                    $(Shortened(&mut storage.$place, length),)*
                );
            }

            #[inline(always)]
            fn slices(storage: &Self::Storage) -> Self::Slices<'_> {
                (&storage.0, $(&storage.$place,)*)
            }

            #[inline(always)]
            fn slices_mut(storage: &mut Self::Storage) -> Self::SlicesMut<'_> {
                (&mut storage.0, $(&mut storage.$place,)*)
            }

            #[inline(always)]
            unsafe fn part_mut<'v>(
                storage: &Self::Storage,
                range: Range<usize>,
            ) -> Self::SlicesMut<'v> {
                // SAFETY: the range is within every column, and its rows are not used otherwise, by
                // the contract of this function.
                unsafe { (part(&storage.0, &range), $(part(&storage.$place, &range),)*) }
            }

            #[inline(always)]
            fn shorten<'b>(slices: &'b Self::Slices<'_>) -> Self::Slices<'b> {
                *slices
            }

            #[inline(always)]
            fn refs<'v>(slices: Self::Slices<'v>, index: usize) -> Self::Refs<'v> {
                (&slices.0[index], $(&slices.$place[index],)*)
            }

            #[inline(always)]
            fn refs_mut<'b>(slices: &'b mut Self::SlicesMut<'_>, index: usize) -> Self::RefsMut<'b> {
                (&mut slices.0[index], $(&mut slices.$place[index],)*)
            }
        }
    )+};
}

rows! {
    (A 0),
    (A 0, B 1),
    (A 0, B 1, C 2),
    (A 0, B 1, C 2, D 3),
    (A 0, B 1, C 2, D 3, E 4),
    (A 0, B 1, C 2, D 3, E 4, F 5),
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6),
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7),
}

fn shrink_column<T>(column: &mut RawVec<T, LineAligned>) {
    if column.len() < column.capacity() {
        // If there is no memory for that, the column stays as it is.
        let _ = move_to_capacity(column, column.len());
    }
}

/// A guard that shortens a column when the guard is dropped.
struct Shortened<'s, T>(&'s mut RawVec<T, LineAligned>, usize);

impl<T> Drop for Shortened<'_, T> {
    fn drop(&mut self) {
        // The length is reduced before an element is dropped.
        self.0.truncate(self.1);
    }
}

/// # Safety
///
/// - The range is inside the column.
/// - The elements in the range are not used otherwise while the part is in use.
#[inline(always)]
unsafe fn part<'v, T>(column: &RawVec<T, LineAligned>, range: &Range<usize>) -> &'v mut [T] {
    let start = column.as_ptr().cast_mut();
    // SAFETY: inside the column, by the contract, and not shared. The pointer is the column's own,
    // which permits writes, and does not come from a reference to its elements.
    unsafe { std::slice::from_raw_parts_mut(start.add(range.start), range.len()) }
}
