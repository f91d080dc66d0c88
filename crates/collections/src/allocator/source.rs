//! Memory sources: the trait that user allocators implement, and the system's memory.
#![expect(unsafe_code, reason = "states the contract of sources, and calls the global allocator")]

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, realloc};
use std::ptr::{self, NonNull};

/// A source of memory: the trait of user allocators.
///
/// Implement it to count, limit or place the memory of containers, and pass the value to
/// [`Allocator::custom`](crate::Allocator::custom). If the system's memory is enough, use
/// [`Allocator::PERSISTENT`](crate::Allocator::PERSISTENT).
///
/// A source is called from any thread, and memory may be freed on another thread than it was
/// allocated on. It never gets a request for zero bytes. Refusing is allowed: the container returns
/// the error and stays as it was.
///
/// # Safety
///
/// An implementation ensures that
///
/// - memory from [`allocate`](Self::allocate) and the other methods is valid for reads and writes
///   of `layout.size()` bytes, or of the size it was resized to;
/// - its address is a multiple of `layout.align()`;
/// - memory from [`allocate_zeroed`](Self::allocate_zeroed) is all zero;
/// - nothing else uses that memory until it is deallocated, resized by [`grow`](Self::grow) or
///   [`shrink`](Self::shrink), or the source is dropped, whichever comes first. Moving the source
///   does not affect its memory;
/// - `grow` and `shrink` keep the contents up to the smaller size, and leave the memory unchanged
///   when they return `None`;
/// - no method unwinds.
///
/// # Examples
///
/// A source that refuses allocations beyond a limit:
///
/// ```
/// use std::alloc::{Layout, alloc, dealloc};
/// use std::ptr::NonNull;
/// use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
///
/// use allocator_api2::vec::Vec;
/// use ancho_collections::{Allocator, MemorySource};
///
/// struct Limited { left: AtomicUsize }
///
/// // SAFETY: the memory is from the system allocator, which has the same contract. The limit only refuses.
/// unsafe impl MemorySource for Limited {
///     fn allocate(&self, layout: Layout) -> Option<NonNull<u8>> {
///         let size = layout.size();
///         self.left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(size)).ok()?;
///         // SAFETY: the size is not zero.
///         NonNull::new(unsafe { alloc(layout) })
///     }
///
///     unsafe fn deallocate(&self, memory: NonNull<u8>, layout: Layout) {
///         // SAFETY: by the contract, it is from `allocate` with this layout, and is not used again.
///         unsafe { dealloc(memory.as_ptr(), layout) };
///         self.left.fetch_add(layout.size(), Relaxed);
///     }
/// }
///
/// let small = Allocator::custom("Small", Limited { left: AtomicUsize::new(1000) });
/// let mut bytes = Vec::new_in(small);
/// assert!(bytes.try_reserve_exact(2000).is_err());
/// assert!(bytes.try_reserve_exact(1000).is_ok());
/// bytes.push(1_u8);
/// ```
pub unsafe trait MemorySource: Send + Sync + 'static {
    /// Allocates memory that fits the layout, or returns `None`.
    ///
    /// The layout's size is never zero.
    fn allocate(&self, layout: Layout) -> Option<NonNull<u8>>;

    /// Allocates memory that is all zero, or returns `None`.
    ///
    /// The default allocates and clears. A source whose fresh memory is zero can skip the clearing.
    fn allocate_zeroed(&self, layout: Layout) -> Option<NonNull<u8>> {
        let memory = self.allocate(layout)?;
        // SAFETY: by the contract of the trait, the memory is valid for writes of `layout.size()`
        // bytes.
        unsafe { memory.as_ptr().write_bytes(0, layout.size()) };
        Some(memory)
    }

    /// Frees memory.
    ///
    /// # Safety
    ///
    /// The caller ensures that
    ///
    /// - `memory` came from this source and was not freed since;
    /// - `layout` is the one it was allocated with, or its size the one it was last resized to;
    /// - the memory is not used afterwards.
    unsafe fn deallocate(&self, memory: NonNull<u8>, layout: Layout);

    /// Grows memory, and moves it if needed. If that fails, it stays unchanged.
    ///
    /// The default allocates new memory and copies. A source with a cheaper way, such as
    /// [`realloc`](std::alloc::realloc), makes growing lists faster.
    ///
    /// # Safety
    ///
    /// The caller ensures that
    ///
    /// - `memory` came from this source and was not freed since;
    /// - `layout` is the one it was allocated with, or its size the one it was last resized to;
    /// - `new_size` is not smaller than the layout's size, and, rounded up to the layout's alignment,
    ///   no more than [`isize::MAX`];
    /// - unless `None` is returned, the old pointer is not used afterwards.
    unsafe fn grow(
        &self,
        memory: NonNull<u8>,
        layout: Layout,
        new_size: usize,
    ) -> Option<NonNull<u8>> {
        // SAFETY: the contract of `grow` has the same points: memory of this source with its
        // layout, a new size that fits and is at least the old one, and an old pointer that is not
        // used afterwards. `kept` is the old size, which is the smaller one.
        unsafe { move_memory(self, memory, layout, new_size, layout.size()) }
    }

    /// Shrinks memory, and moves it if needed. If that fails, it stays unchanged.
    ///
    /// The default allocates new memory and copies.
    ///
    /// # Safety
    ///
    /// The caller ensures that
    ///
    /// - `memory` came from this source and was not freed since;
    /// - `layout` is the one it was allocated with, or its size the one it was last resized to;
    /// - `new_size` is not zero, and not larger than the layout's size;
    /// - unless `None` is returned, the old pointer is not used afterwards.
    unsafe fn shrink(
        &self,
        memory: NonNull<u8>,
        layout: Layout,
        new_size: usize,
    ) -> Option<NonNull<u8>> {
        // SAFETY: the contract of `shrink` has the same points: memory of this source with its
        // layout, a new size that is not zero, and an old pointer that is not used afterwards.
        // `kept` is the new size, which is the smaller one and fits since the larger one did.
        unsafe { move_memory(self, memory, layout, new_size, new_size) }
    }
}

/// Allocates new memory, copies `kept` bytes, and frees the old memory.
///
/// # Safety
///
/// The caller ensures that
///
/// - `memory` came from this source and was not freed since;
/// - `layout` is the one it was allocated with, or its size the one it was last resized to;
/// - `new_size` is not zero, and, rounded up to the layout's alignment, no more than [`isize::MAX`];
/// - `kept` is no more than either size;
/// - unless `None` is returned, the old pointer is not used afterwards.
pub(super) unsafe fn move_memory<S: MemorySource + ?Sized>(
    source: &S,
    memory: NonNull<u8>,
    layout: Layout,
    new_size: usize,
    kept: usize,
) -> Option<NonNull<u8>> {
    debug_assert!(new_size != 0 && kept <= layout.size() && kept <= new_size);
    // SAFETY: the alignment is that of a layout, and by the contract the size fits.
    let new_layout = unsafe { Layout::from_size_align_unchecked(new_size, layout.align()) };
    let moved = source.allocate(new_layout)?;
    // SAFETY: the old and the new memory are valid for `kept` bytes, and nothing else uses the new memory. The old memory is
    // freed with its layout, and is not used afterwards.
    unsafe {
        ptr::copy_nonoverlapping(memory.as_ptr(), moved.as_ptr(), kept);
        source.deallocate(memory, layout);
    }
    Some(moved)
}

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
