//! An allocator whose memory begins at cache lines.
#![expect(unsafe_code, reason = "implements the unsafe trait of allocators")]

use std::alloc::Layout;
use std::ptr::NonNull;

use allocator_api2::alloc::{AllocError, Allocator as RawAllocator};

use super::Allocator;

/// The size of a cache line, and the alignment of memory that is laid out for vector instructions.
pub(crate) const LINE: usize = 64;

/// An [`Allocator`] whose memory begins at a 64-byte line, or at a larger alignment if the type
/// requires one.
///
/// For arrays that kernels stream through: no vector load crosses two lines, and two arrays never
/// share one. In return the system cannot extend such memory in place, so a growing list is faster
/// with the [`Allocator`] itself.
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
    unsafe fn grow_zeroed(
        &self,
        memory: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        // SAFETY: the memory was allocated with the raised layout; the contract of this method
        // covers the other points.
        unsafe { self.0.grow_zeroed(memory, raise_allocated(old), raise(new)?) }
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
