//! The system's memory, as a source.
#![expect(unsafe_code, reason = "calls the global allocator")]

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, realloc};
use std::ptr::NonNull;

use super::MemorySource;

/// The system's memory, through the program's global allocator.
pub(super) struct System;

// SAFETY: the global allocator promises the same, point for point: memory that fits the layout, that
// is nobody else's until given back, whose contents `realloc` keeps, and that no call unwinds.
unsafe impl MemorySource for System {
    fn allocate(&self, layout: Layout) -> Option<NonNull<u8>> {
        // SAFETY: a source is never asked for zero bytes.
        NonNull::new(unsafe { alloc(layout) })
    }

    fn allocate_zeroed(&self, layout: Layout) -> Option<NonNull<u8>> {
        // SAFETY: as above.
        NonNull::new(unsafe { alloc_zeroed(layout) })
    }

    unsafe fn deallocate(&self, memory: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller's promises: it came from here, with this layout, and is not used again.
        unsafe { dealloc(memory.as_ptr(), layout) }
    }

    unsafe fn grow(
        &self,
        memory: NonNull<u8>,
        layout: Layout,
        new_size: usize,
    ) -> Option<NonNull<u8>> {
        // SAFETY: the caller's promises: it came from here, with this layout, the new size fits, and
        // is not zero, since it is no smaller than the old one.
        NonNull::new(unsafe { realloc(memory.as_ptr(), layout, new_size) })
    }

    unsafe fn shrink(
        &self,
        memory: NonNull<u8>,
        layout: Layout,
        new_size: usize,
    ) -> Option<NonNull<u8>> {
        // SAFETY: the caller's promises: it came from here, with this layout, and the new size is not
        // zero, and fits as the larger one did.
        NonNull::new(unsafe { realloc(memory.as_ptr(), layout, new_size) })
    }
}
