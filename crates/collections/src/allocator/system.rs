//! The system's memory, as a source.
#![expect(unsafe_code, reason = "calls the global allocator")]

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, realloc};
use std::ptr::NonNull;

use super::MemorySource;

/// The system's memory, through the program's global allocator.
pub(super) struct System;

// SAFETY: the global allocator guarantees the same: memory that fits the layout and overlaps no
// other until freed, contents that `realloc` keeps, and no unwinding.
unsafe impl MemorySource for System {
    fn allocate(&self, layout: Layout) -> Option<NonNull<u8>> {
        // SAFETY: the layout is not of zero bytes, by the contract of `MemorySource`.
        NonNull::new(unsafe { alloc(layout) })
    }

    fn allocate_zeroed(&self, layout: Layout) -> Option<NonNull<u8>> {
        // SAFETY: the layout is not of zero bytes, by the contract of `MemorySource`.
        NonNull::new(unsafe { alloc_zeroed(layout) })
    }

    unsafe fn deallocate(&self, memory: NonNull<u8>, layout: Layout) {
        // SAFETY: by the contract of `deallocate`, the memory is from this allocator with this
        // layout, and is not used again.
        unsafe { dealloc(memory.as_ptr(), layout) }
    }

    unsafe fn grow(
        &self,
        memory: NonNull<u8>,
        layout: Layout,
        new_size: usize,
    ) -> Option<NonNull<u8>> {
        // SAFETY: by the contract of `grow`, the memory is from this allocator with this layout,
        // and the new size fits. It is not zero, since it is no smaller than the old one.
        NonNull::new(unsafe { realloc(memory.as_ptr(), layout, new_size) })
    }

    unsafe fn shrink(
        &self,
        memory: NonNull<u8>,
        layout: Layout,
        new_size: usize,
    ) -> Option<NonNull<u8>> {
        // SAFETY: by the contract of `shrink`, the memory is from this allocator with this layout.
        // The new size is not zero, and fits since the larger one did.
        NonNull::new(unsafe { realloc(memory.as_ptr(), layout, new_size) })
    }
}
