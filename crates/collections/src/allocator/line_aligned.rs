//! Memory that begins at cache lines.
#![expect(unsafe_code, reason = "implements the unsafe trait of allocators, and owns memory")]

use std::alloc::{Layout, alloc, dealloc};
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use allocator_api2::alloc::{AllocError, Allocator as RawAllocator};

use super::Allocator;

/// The size of a cache line, and the alignment of memory that is laid out for vector instructions.
pub(crate) const LINE: usize = 64;

/// An [`Allocator`] whose memory begins at a 64-byte line, or at a larger alignment if the type
/// requires one.
///
/// Use it for arrays that kernels stream through: no vector load crosses a line boundary, and two
/// arrays never share a line. In return the system cannot extend such memory in place, so a growing
/// list is faster with the [`Allocator`] itself.
///
/// # Examples
///
/// ```
/// use allocator_api2::vec::Vec;
/// use ancho_collections::{Allocator, LineAligned};
///
/// let mut heights = Vec::new_in(LineAligned(Allocator::PERSISTENT));
/// heights.push(1.5_f32);
/// assert!(heights.as_ptr().addr().is_multiple_of(64));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineAligned(pub Allocator);

/// Raises the alignment of a layout to a line.
#[inline]
fn raise(layout: Layout) -> Result<Layout, AllocError> {
    layout.align_to(LINE).map_err(|_| AllocError)
}

/// Raises the layout of allocated memory.
///
/// # Safety
///
/// [`raise`] succeeded for this layout, or for one of the same alignment and a larger size.
#[inline]
unsafe fn raise_allocated(layout: Layout) -> Layout {
    // SAFETY: the alignment is the larger of two powers of two, and by the contract the size
    // fits.
    unsafe { Layout::from_size_align_unchecked(layout.size(), layout.align().max(LINE)) }
}

// SAFETY: the inner allocator meets the contract for memory allocated and freed with the same
// raised layouts, and a clone of this type holds a clone of it.
unsafe impl RawAllocator for LineAligned {
    #[inline]
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        self.0.allocate(raise(layout)?)
    }

    #[inline]
    fn allocate_zeroed(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        self.0.allocate_zeroed(raise(layout)?)
    }

    #[inline]
    unsafe fn deallocate(&self, memory: NonNull<u8>, layout: Layout) {
        // SAFETY: the memory was allocated with the raised layout; the contract of this method
        // covers the other points.
        unsafe { self.0.deallocate(memory, raise_allocated(layout)) }
    }

    #[inline]
    unsafe fn grow(
        &self,
        memory: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        // SAFETY: the memory was allocated with the raised layout; the contract of this method
        // covers the other points.
        unsafe { self.0.grow(memory, raise_allocated(old), raise(new)?) }
    }

    #[inline]
    unsafe fn shrink(
        &self,
        memory: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        // SAFETY: the memory was allocated with the raised layout; the contract of this method
        // covers the other points.
        unsafe { self.0.shrink(memory, raise_allocated(old), raise(new)?) }
    }
}

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
        // SAFETY: the memory was allocated in `new` with the same layout, and is freed only here.
        unsafe { dealloc(self.start.as_ptr(), layout) };
    }
}
