//! The memory of an array.
#![expect(unsafe_code, reason = "allocates, fills and frees an array")]

use std::alloc::{self, Layout};
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};

/// How many bytes are loaded at a time.
const CACHE_LINE: usize = 64;

/// The elements, and the memory they are in. No reference covers them all, so that batches can be
/// opened side by side.
pub(crate) struct Elements<T> {
    pub(super) start: NonNull<T>,
    pub(super) length: usize,
    /// What the memory was allocated with; of size zero if it was not.
    layout: Layout,
}

// SAFETY: owns its elements, as a vector does.
unsafe impl<T: Send> Send for Elements<T> {}

impl<T> Elements<T> {
    /// Makes `length` clones of a value, at the start of a cache line: vectors are loaded whole then.
    pub(super) fn aligned(length: usize, value: T) -> Self
    where
        T: Clone,
    {
        if size_of::<T>() == 0 {
            // There is nothing to align, and the standard library knows how to make very many of nothing.
            return Self::from(vec![value; length]);
        }
        let layout = Layout::array::<T>(length).and_then(|layout| layout.align_to(CACHE_LINE));
        let layout = layout.expect("the elements fit in memory");
        let mut elements = Self { start: NonNull::dangling(), length: 0, layout };
        if layout.size() > 0 {
            // SAFETY: the size is not zero.
            let memory = NonNull::new(unsafe { alloc::alloc(layout) });
            elements.start = memory.unwrap_or_else(|| alloc::handle_alloc_error(layout)).cast();
        }
        for index in 0..length {
            // SAFETY: inside the memory just allocated. The length follows, so that
            // what was made is dropped if a clone panics.
            unsafe { elements.start.add(index).write(value.clone()) };
            elements.length = index + 1;
        }
        elements
    }

    pub(super) fn into_vec(self) -> Vec<T> {
        let this = ManuallyDrop::new(self);
        let capacity = match size_of::<T>() {
            0 => this.length,
            size => this.layout.size() / size,
        };
        if this.layout.align() == align_of::<T>() {
            // SAFETY: the parts of a vector that was taken apart by `From<Vec<T>>`, or just like those,
            // put together once.
            return unsafe { Vec::from_raw_parts(this.start.as_ptr(), this.length, capacity) };
        }
        let mut elements = Vec::with_capacity(this.length);
        // SAFETY: there is room for so many elements, which are moved, and their memory freed, once.
        unsafe {
            ptr::copy_nonoverlapping(this.start.as_ptr(), elements.as_mut_ptr(), this.length);
            elements.set_len(this.length);
            this.free();
        }
        elements
    }

    /// Frees the memory.
    ///
    /// # Safety
    ///
    /// The elements are gone, and neither they nor the memory is used again.
    unsafe fn free(&self) {
        if self.layout.size() > 0 {
            // SAFETY: allocated with this layout, by `aligned` or by the vector it came from.
            unsafe { alloc::dealloc(self.start.as_ptr().cast(), self.layout) };
        }
    }
}

impl<T> From<Vec<T>> for Elements<T> {
    fn from(elements: Vec<T>) -> Self {
        let mut elements = ManuallyDrop::new(elements);
        let layout = Layout::array::<T>(elements.capacity());
        Self {
            start: NonNull::new(elements.as_mut_ptr()).expect("a vector's memory is somewhere"),
            length: elements.len(),
            // The capacity of a vector of nothing is without bounds, and so is its size in memory: zero.
            layout: if size_of::<T>() == 0 {
                Layout::new::<T>()
            } else {
                layout.expect("a vector's")
            },
        }
    }
}

impl<T> Drop for Elements<T> {
    fn drop(&mut self) {
        struct Free<'e, T>(&'e Elements<T>);

        impl<T> Drop for Free<'_, T> {
            fn drop(&mut self) {
                // SAFETY: the elements were dropped, as far as that went, and are not used again.
                unsafe { self.0.free() };
            }
        }

        let _free = Free(self);
        let elements = ptr::slice_from_raw_parts_mut(self.start.as_ptr(), self.length);
        // SAFETY: the elements are valid, and not used again.
        unsafe { ptr::drop_in_place(elements) };
    }
}
