//! Where memory comes from: what a user's allocator implements.
#![expect(unsafe_code, reason = "states the contract between allocators and containers")]

use std::alloc::Layout;
use std::ptr::{self, NonNull};

/// Where memory comes from: the trait of a user's own allocator.
///
/// Implement it to count, limit or place the memory of containers, and pass the value to
/// [`Allocator::custom`](crate::Allocator::custom). Memory that needs no more than the system's
/// comes from [`Allocator::PERSISTENT`](crate::Allocator::PERSISTENT).
///
/// A source is asked for memory from any thread, and gets memory back on any thread. It is never asked
/// for zero bytes. To refuse is no fault: the container passes the error on and stays as it was.
///
/// # Safety
///
/// An implementation promises that
///
/// - memory from [`allocate`](Self::allocate) and the other methods is valid for reads and writes of
///   `layout.size()` bytes, or of as many as it was resized to, its address is a multiple of
///   `layout.align()`, and what [`allocate_zeroed`](Self::allocate_zeroed) gives is all zero;
/// - nothing else uses that memory until it is deallocated, resized by [`grow`](Self::grow) or
///   [`shrink`](Self::shrink), or the source is dropped, whichever comes first. Moving the source
///   changes nothing;
/// - `grow` and `shrink` keep the contents, as far as the smaller size reaches, and leave the memory as
///   it was when they return `None`;
/// - no method unwinds.
///
/// # Examples
///
/// A source that refuses to give out more than its limit:
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
/// // SAFETY: the memory is the system's, which keeps the same promises; the number only refuses.
/// unsafe impl MemorySource for Limited {
///     fn allocate(&self, layout: Layout) -> Option<NonNull<u8>> {
///         let size = layout.size();
///         self.left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(size)).ok()?;
///         // SAFETY: the size is not zero.
///         NonNull::new(unsafe { alloc(layout) })
///     }
///
///     unsafe fn deallocate(&self, memory: NonNull<u8>, layout: Layout) {
///         // SAFETY: it was allocated above, with this layout.
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
    /// Gives out memory that fits the layout, or `None` if there is none.
    ///
    /// The layout's size is never zero.
    fn allocate(&self, layout: Layout) -> Option<NonNull<u8>>;

    /// Gives out memory that is all zero, or `None` if there is none.
    ///
    /// By default it is allocated and cleared. A source whose fresh memory is zero can do better.
    fn allocate_zeroed(&self, layout: Layout) -> Option<NonNull<u8>> {
        let memory = self.allocate(layout)?;
        // SAFETY: the memory is valid for writes of so many bytes, by the contract of the trait.
        unsafe { memory.as_ptr().write_bytes(0, layout.size()) };
        Some(memory)
    }

    /// Takes memory back.
    ///
    /// # Safety
    ///
    /// The caller promises that
    ///
    /// - `memory` came from this source and was not given back since;
    /// - `layout` is the one it was allocated with, or its size the one it was last resized to;
    /// - nobody uses the memory afterwards.
    unsafe fn deallocate(&self, memory: NonNull<u8>, layout: Layout);

    /// Makes memory larger, moving it if need be. If that fails, it stays as it was.
    ///
    /// By default it is allocated anew and copied. A source that can do better, as
    /// [`realloc`](std::alloc::realloc) does, makes growing lists faster.
    ///
    /// # Safety
    ///
    /// The caller promises that
    ///
    /// - `memory` came from this source and was not given back since;
    /// - `layout` is the one it was allocated with, or its size the one it was last resized to;
    /// - `new_size` is not smaller than the layout's size, and, rounded up to the layout's alignment,
    ///   no more than [`isize::MAX`];
    /// - unless `None` is returned, nobody uses the old pointer afterwards.
    unsafe fn grow(
        &self,
        memory: NonNull<u8>,
        layout: Layout,
        new_size: usize,
    ) -> Option<NonNull<u8>> {
        // SAFETY: the caller's promises, point for point; the old size is the smaller one.
        unsafe { move_memory(self, memory, layout, new_size, layout.size()) }
    }

    /// Makes memory smaller, moving it if need be. If that fails, it stays as it was.
    ///
    /// By default it is allocated anew and copied.
    ///
    /// # Safety
    ///
    /// The caller promises that
    ///
    /// - `memory` came from this source and was not given back since;
    /// - `layout` is the one it was allocated with, or its size the one it was last resized to;
    /// - `new_size` is not zero, and not larger than the layout's size;
    /// - unless `None` is returned, nobody uses the old pointer afterwards.
    unsafe fn shrink(
        &self,
        memory: NonNull<u8>,
        layout: Layout,
        new_size: usize,
    ) -> Option<NonNull<u8>> {
        // SAFETY: the caller's promises, point for point; the new size is the smaller one, and fits
        // as the larger one did.
        unsafe { move_memory(self, memory, layout, new_size, new_size) }
    }
}

/// Allocates anew, copies `kept` bytes, and gives the old memory back.
///
/// # Safety
///
/// The caller promises that
///
/// - `memory` came from this source and was not given back since;
/// - `layout` is the one it was allocated with, or its size the one it was last resized to;
/// - `new_size` is not zero, and, rounded up to the layout's alignment, no more than [`isize::MAX`];
/// - `kept` is no more than either size;
/// - unless `None` is returned, nobody uses the old pointer afterwards.
pub(super) unsafe fn move_memory<S: MemorySource + ?Sized>(
    source: &S,
    memory: NonNull<u8>,
    layout: Layout,
    new_size: usize,
    kept: usize,
) -> Option<NonNull<u8>> {
    debug_assert!(new_size != 0 && kept <= layout.size() && kept <= new_size);
    // SAFETY: the alignment is that of a layout, and the caller vouches for the size.
    let new_layout = unsafe { Layout::from_size_align_unchecked(new_size, layout.align()) };
    let moved = source.allocate(new_layout)?;
    // SAFETY: both are valid for so many bytes, and nothing else uses the new memory. The old one is
    // given back with its layout, and nobody uses it afterwards.
    unsafe {
        ptr::copy_nonoverlapping(memory.as_ptr(), moved.as_ptr(), kept);
        source.deallocate(memory, layout);
    }
    Some(moved)
}
