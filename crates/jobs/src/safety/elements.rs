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
    start: NonNull<T>,
    length: usize,
    memory: Memory,
}

/// How the memory of an array is freed. See [`JobSlice::from_raw`](crate::JobSlice::from_raw).
#[derive(Clone, Copy, Debug)]
pub struct SliceMemory {
    /// What the memory was allocated with; of size zero if it was not.
    pub layout: Layout,
    /// Frees it. Called exactly once, also where the size is zero.
    pub free: unsafe fn(memory: NonNull<u8>, layout: Layout, context: *mut ()),
    /// Passed on to that function.
    pub context: *mut (),
}

/// Where the memory came from.
enum Memory {
    /// A vector, or just like one's: allocated with this layout, if its size is not zero.
    Vector(Layout),
    Foreign(SliceMemory),
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
        let memory = Memory::Vector(layout);
        let mut elements = Self { start: NonNull::dangling(), length: 0, memory };
        if layout.size() > 0 {
            // SAFETY: the size is not zero.
            let start = NonNull::new(unsafe { alloc::alloc(layout) });
            elements.start = start.unwrap_or_else(|| alloc::handle_alloc_error(layout)).cast();
        }
        for index in 0..length {
            // SAFETY: inside the memory just allocated. The length follows, so that
            // what was made is dropped if a clone panics.
            unsafe { elements.start.add(index).write(value.clone()) };
            elements.length = index + 1;
        }
        elements
    }

    /// # Safety
    ///
    /// As for [`JobSlice::from_raw`](crate::JobSlice::from_raw).
    pub(super) unsafe fn from_raw(elements: NonNull<[T]>, memory: SliceMemory) -> Self {
        Self { start: elements.cast(), length: elements.len(), memory: Memory::Foreign(memory) }
    }

    /// Returns where the elements are.
    #[inline]
    pub(super) fn as_ptr(&self) -> NonNull<[T]> {
        NonNull::slice_from_raw_parts(self.start, self.length)
    }

    pub(super) fn into_vec(self) -> Vec<T> {
        let this = ManuallyDrop::new(self);
        if let Memory::Vector(layout) = this.memory
            && layout.align() == align_of::<T>()
        {
            let capacity = match size_of::<T>() {
                0 => this.length,
                size => layout.size() / size,
            };
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
        match self.memory {
            Memory::Vector(layout) if layout.size() == 0 => {}
            // SAFETY: allocated with this layout, by `aligned` or by the vector it came from.
            Memory::Vector(layout) => unsafe { alloc::dealloc(self.start.as_ptr().cast(), layout) },
            // SAFETY: freed as its owner asked for, once, by the contract.
            Memory::Foreign(SliceMemory { layout, free, context }) => unsafe {
                free(self.start.cast(), layout, context);
            },
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
            memory: Memory::Vector(if size_of::<T>() == 0 {
                Layout::new::<T>()
            } else {
                layout.expect("a vector's")
            }),
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
