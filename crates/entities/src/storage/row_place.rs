//! Where the components of a set are in a row.

#![expect(unsafe_code, reason = "addresses in chunks")]

use std::ptr;

use ancho_burst::dispatch;

use super::values::repeat_bytes;
use crate::component::Written;

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

    /// The same row, with the offsets after the first so many.
    #[inline(always)]
    pub(crate) fn after(self, count: usize) -> Self {
        Self { offsets: self.offsets.wrapping_add(count), ..self }
    }
}

/// Writes clones of a value, so many, from an address on: all of them, or, when it panics, none.
///
/// # Safety
///
/// - the address has room for as many
/// - if it is said that bytes can be copied, the type is `Copy`
#[inline]
pub(crate) unsafe fn fill_column<T: Clone>(
    first: *mut T,
    count: usize,
    value: &T,
    copies_bytes: bool,
) {
    if copies_bytes && size_of::<T>().is_multiple_of(16) && size_of::<T>() <= 256 {
        // A few wide registers hold the value, and are written again and again.
        return dispatch(|| {
            for index in 0..count {
                // SAFETY: there is room for so many. A copy of a `Copy` value is a value.
                unsafe { first.add(index).copy_from_nonoverlapping(value, 1) };
            }
        });
    }
    if !copies_bytes || size_of::<T>() == 0 {
        // SAFETY: as the caller promises.
        return unsafe { Written::fill(first, count, |_| value.clone()) };
    }
    // SAFETY: there is room for so many. A copy of a `Copy` value is a value.
    unsafe { repeat_bytes(ptr::from_ref(value).cast(), first.cast(), size_of::<T>(), count) };
}
