//! One buffer in memory: a header, with the elements behind it or on the heap.
//!
//! ```text
//! byte  0  address of the elements on the heap, or null: they are inline
//!       8  how many there are
//!      12  how many have room
//!      16  the inline elements, from the first multiple of their alignment on
//! ```
//!
//! There is no pointer to what is inline. So the bytes of a buffer are moved like those of any value, by chunks that know
//! nothing of it, and who holds the header finds the elements.
//!
//! Blocks on the heap are what a `Vec` would allocate, so that a `Vec` is taken over and handed out without copying.

#![expect(unsafe_code, reason = "elements in chunks and on the heap")]

use std::alloc::{self, Layout, handle_alloc_error};
use std::ptr::{self, NonNull};

use super::BufferElement;
use super::refuse::too_many;

/// The beginning of a buffer.
///
/// **Invariant:** `len` elements are there, and there is room for `capacity`, which is not less: on the heap, in a block of
/// just as many, unless the address is null.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub(crate) struct Header {
    pub(super) heap: *mut u8,
    pub(super) len: u32,
    pub(super) capacity: u32,
}

/// The least that is allocated when a buffer grows.
const LEAST: u32 = 8;

/// How the buffers of an element type lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BufferLayout {
    /// Of one element.
    pub(super) element: Layout,
    /// How many elements have room behind the header.
    pub(super) inline: u32,
    /// Where the inline elements begin.
    first: usize,
    /// What a buffer takes in its chunk: a multiple of the alignment.
    pub(crate) size: usize,
    pub(crate) align: usize,
}

impl BufferLayout {
    /// The layout of buffers of `T`.
    pub(crate) const fn of<T: BufferElement>() -> Self {
        Self::new(Layout::new::<T>(), T::INLINE)
    }

    const fn new(element: Layout, inline: usize) -> Self {
        let inline = if inline > u32::MAX as usize { u32::MAX } else { inline as u32 };
        let bytes = element.size().checked_mul(inline as usize);
        // Elements that are never inline do not have to be aligned here.
        let (first, align) = match bytes {
            Some(0) => (size_of::<Header>(), align_of::<Header>()),
            _ if element.align() > align_of::<Header>() => {
                (size_of::<Header>().next_multiple_of(element.align()), element.align())
            }
            _ => (size_of::<Header>(), align_of::<Header>()),
        };
        let size = match bytes {
            Some(bytes) if bytes < isize::MAX as usize - first - align => {
                (first + bytes).next_multiple_of(align)
            }
            _ => panic!("the inline elements of a buffer are larger than all memory"),
        };
        Self { element, inline, first, size, align }
    }

    /// Whether so many elements have room without a block on the heap.
    pub(super) const fn is_inline(&self, capacity: u32) -> bool {
        capacity <= self.inline || self.element.size() == 0
    }

    /// The block on the heap for so many elements.
    #[track_caller]
    fn block(&self, capacity: u32) -> Layout {
        let bytes = self.element.size().checked_mul(capacity as usize);
        bytes
            .and_then(|bytes| Layout::from_size_align(bytes, self.element.align()).ok())
            .unwrap_or_else(|| too_many(capacity as usize))
    }
}

impl Header {
    /// A buffer without elements, and without a block on the heap.
    pub(super) const fn empty(layout: &BufferLayout) -> Self {
        Self { heap: ptr::null_mut(), len: 0, capacity: layout.inline }
    }

    /// Where the elements of a buffer are. Aligned also if there are none.
    ///
    /// # Safety
    ///
    /// - the address is that of a buffer of this layout, with `T` as large as its elements and no more aligned
    #[inline(always)]
    pub(super) unsafe fn elements<T>(this: *mut Self, layout: &BufferLayout) -> *mut T {
        if size_of::<T>() == 0 {
            return NonNull::dangling().as_ptr();
        }
        // SAFETY: there is a header.
        let heap = unsafe { (*this).heap };
        // The first address is within the buffer, or just behind it if none are inline. Then nobody looks, but it has to
        // be aligned.
        let inline = if layout.inline == 0 {
            NonNull::<T>::dangling().as_ptr()
        } else {
            this.wrapping_byte_add(layout.first).cast::<T>()
        };
        if heap.is_null() { inline } else { heap.cast::<T>() }
    }

    /// Makes room for so many elements, and not more.
    ///
    /// # Panics
    ///
    /// With A0068 if no block is that large. Nothing has changed then.
    ///
    /// # Safety
    ///
    /// - the address is that of a buffer of this layout, which nobody else uses
    /// - there are not more elements
    #[track_caller]
    pub(super) unsafe fn set_capacity(this: *mut Self, layout: &BufferLayout, capacity: u32) {
        // SAFETY: there is a header.
        let Self { heap, len, capacity: old } = unsafe { *this };
        debug_assert!(len <= capacity);
        let inline = this.cast::<u8>().wrapping_add(layout.first);
        let bytes = len as usize * layout.element.size();
        let new_heap = match (heap.is_null(), layout.is_inline(capacity)) {
            (true, true) => heap,
            (true, false) => {
                let block = allocate(layout.block(capacity));
                // SAFETY: so many bytes are inline, and the block has room for more.
                unsafe { block.copy_from_nonoverlapping(inline, bytes) };
                block
            }
            (false, true) => {
                // SAFETY: so many bytes are on the heap, and there is room for more of them inline.
                unsafe { inline.copy_from_nonoverlapping(heap, bytes) };
                // SAFETY: the block is of the old capacity, and nobody looks at it any more.
                unsafe { alloc::dealloc(heap, layout.block(old)) };
                ptr::null_mut()
            }
            (false, false) => {
                let block = layout.block(capacity);
                // SAFETY:
                // - the block is of the old capacity
                // - the size is not zero: what is not inline has a size, and there are some; it is that of a layout
                let moved = unsafe { alloc::realloc(heap, layout.block(old), block.size()) };
                if moved.is_null() {
                    handle_alloc_error(block);
                }
                moved
            }
        };
        // SAFETY: there is a header, which nobody else uses.
        unsafe { *this = Self { heap: new_heap, len, capacity } };
    }

    /// Makes room for so many elements, and for some that may follow.
    ///
    /// # Panics
    ///
    /// With A0068 if that is more than there can be. Nothing has changed then.
    ///
    /// # Safety
    ///
    /// - the address is that of a buffer of this layout, which nobody else uses
    #[cold]
    #[inline(never)]
    #[track_caller]
    pub(super) unsafe fn grow(this: *mut Self, layout: &BufferLayout, needed: usize) {
        let needed = u32::try_from(needed).unwrap_or_else(|_| too_many(needed));
        // SAFETY: there is a header.
        let capacity = unsafe { (*this).capacity };
        if needed > capacity {
            let doubled = capacity.saturating_mul(2);
            // SAFETY: as the caller promises; there are at most as many elements as had room.
            unsafe { Self::set_capacity(this, layout, needed.max(doubled).max(LEAST)) };
        }
    }

    /// Frees the block on the heap, if there is one, and not what is in it.
    ///
    /// # Safety
    ///
    /// - the header is that of a buffer of this layout
    /// - its elements are not used afterwards
    pub(super) unsafe fn free(self, layout: &BufferLayout) {
        if !self.heap.is_null() {
            // SAFETY: the block is of this capacity, and nobody looks at it any more.
            unsafe { alloc::dealloc(self.heap, layout.block(self.capacity)) };
        }
    }
}

/// A new block. It is not of zero bytes.
fn allocate(block: Layout) -> *mut u8 {
    debug_assert!(block.size() > 0);
    // SAFETY: it is not of zero bytes.
    let address = unsafe { alloc::alloc(block) };
    if address.is_null() {
        handle_alloc_error(block);
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(size: usize, align: usize, inline: usize) -> (usize, usize, usize) {
        let element = Layout::from_size_align(size, align).unwrap();
        let BufferLayout { first, size, align, .. } = BufferLayout::new(element, inline);
        (first, size, align)
    }

    #[test]
    fn elements_are_behind_the_header_as_their_alignment_asks() {
        assert_eq!(size_of::<Header>(), 16);
        assert_eq!(layout(4, 4, 32), (16, 16 + 128, 8));
        assert_eq!(layout(1, 1, 3), (16, 24, 8));
        assert_eq!(layout(16, 16, 8), (16, 16 + 128, 16));
        assert_eq!(layout(64, 64, 2), (64, 64 + 128, 64));
        // What is only ever on the heap is aligned there.
        assert_eq!(layout(128, 128, 0), (16, 16, 8));
        assert_eq!(layout(0, 128, usize::MAX), (16, 16, 8));
    }

    #[test]
    #[should_panic(expected = "larger than all memory")]
    fn there_are_not_more_inline_than_memory_has() {
        layout(1 << 40, 8, usize::MAX);
    }
}
