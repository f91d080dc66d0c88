//! An allocator whose memory begins at cache lines.
#![expect(unsafe_code, reason = "implements the unsafe trait of allocators")]

use std::alloc::Layout;
use std::ptr::NonNull;

use allocator_api2::alloc::{AllocError, Allocator as RawAllocator};

use super::Allocator;

/// The size of a cache line, and the alignment of memory that is laid out for vector instructions.
pub(crate) const LINE: usize = 64;

/// An [`Allocator`] whose memory begins at a 64-byte line, or at more if the type asks for more.
///
/// For arrays that kernels stream through: no vector load straddles two lines, and two arrays never
/// share one. The price is that the system cannot extend such memory in place, so a list that grows is
/// better off with the [`Allocator`] itself.
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

/// Raises the layout of memory that exists.
///
/// # Safety
///
/// [`raise`] succeeded for this layout, or for one of the same alignment and a larger size.
#[inline]
unsafe fn raise_allocated(layout: Layout) -> Layout {
    // SAFETY: the alignment is the larger of two powers of two, and the size fits, as the caller says.
    unsafe { Layout::from_size_align_unchecked(layout.size(), layout.align().max(LINE)) }
}

// SAFETY: the inner allocator keeps the promises, for memory that is asked for and given back with the
// same raised layouts, and clones of this are clones of it.
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
        // SAFETY: the memory was allocated with the raised layout; the rest is the caller's promise.
        unsafe { self.0.deallocate(memory, raise_allocated(layout)) }
    }

    #[inline]
    unsafe fn grow(
        &self,
        memory: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        // SAFETY: the memory was allocated with the raised layout; the rest is the caller's promise.
        unsafe { self.0.grow(memory, raise_allocated(old), raise(new)?) }
    }

    #[inline]
    unsafe fn grow_zeroed(
        &self,
        memory: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        // SAFETY: the memory was allocated with the raised layout; the rest is the caller's promise.
        unsafe { self.0.grow_zeroed(memory, raise_allocated(old), raise(new)?) }
    }

    #[inline]
    unsafe fn shrink(
        &self,
        memory: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        // SAFETY: the memory was allocated with the raised layout; the rest is the caller's promise.
        unsafe { self.0.shrink(memory, raise_allocated(old), raise(new)?) }
    }
}
