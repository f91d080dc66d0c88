//! Where the components of a set are in a row.

#![expect(unsafe_code, reason = "addresses in chunks")]

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

    /// Where the value of the first type is, of which it is known how many bytes it takes.
    ///
    /// # Safety
    ///
    /// - there is a first offset, of a column of values of so many bytes with this row
    #[inline(always)]
    pub(crate) unsafe fn bytes(self, size: usize) -> *mut u8 {
        // SAFETY: the offset is there, and leads to a column with this row.
        unsafe { self.chunk.add(*self.offsets as usize + self.row * size) }
    }

    /// The same columns, so many rows further.
    #[inline(always)]
    pub(crate) fn rows_after(self, rows: usize) -> Self {
        Self { row: self.row + rows, ..self }
    }

    /// The same row, with the offsets after the first so many.
    #[inline(always)]
    pub(crate) fn after(self, count: usize) -> Self {
        Self { offsets: self.offsets.wrapping_add(count), ..self }
    }
}
