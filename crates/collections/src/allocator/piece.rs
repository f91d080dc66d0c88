//! Pieces of the system's memory, of which blocks are made.
#![expect(unsafe_code, reason = "owns memory of the global allocator")]

use std::alloc::{Layout, alloc, dealloc};
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use super::LINE;

/// A piece of the system's memory that begins at a line, and is freed on drop.
pub(super) struct Piece {
    start: NonNull<u8>,
    size: usize,
}

// SAFETY: the piece owns the memory, and the global allocator frees it on any thread.
unsafe impl Send for Piece {}

impl Piece {
    /// Allocates `size` bytes, rounded up to whole lines. Returns `None` if that fails, or if
    /// `size` is zero.
    pub(super) fn new(size: usize) -> Option<Self> {
        let layout = Layout::from_size_align(size.checked_next_multiple_of(LINE)?, LINE).ok()?;
        if layout.size() == 0 {
            return None;
        }
        // SAFETY: the size is not zero.
        let start = NonNull::new(unsafe { alloc(layout) })?;
        Some(Self { start, size: layout.size() })
    }

    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }

    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Releases the memory to the caller, to be restored with [`from_raw`](Self::from_raw).
    pub(super) fn into_raw(self) -> (NonNull<u8>, usize) {
        let piece = ManuallyDrop::new(self);
        (piece.start, piece.size)
    }

    /// Takes over memory from [`into_raw`](Self::into_raw).
    ///
    /// # Safety
    ///
    /// The caller ensures that
    ///
    /// - `start` and `size` are from one call of `into_raw`, and this is called once for it.
    pub(super) unsafe fn from_raw(start: NonNull<u8>, size: usize) -> Self {
        Self { start, size }
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        // SAFETY: the size was rounded up to whole lines when this layout was made, in `new`.
        let layout = unsafe { Layout::from_size_align_unchecked(self.size, LINE) };
        // SAFETY: allocated in `new` with the same layout, and freed only here.
        unsafe { dealloc(self.start.as_ptr(), layout) };
    }
}
