//! The memory of an array.
#![expect(unsafe_code, reason = "allocates, fills and frees an array")]

use std::alloc::{self, Layout};
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};

/// The size of a cache line, in bytes.
const CACHE_LINE: usize = 64;

/// The elements of an array, and their memory. No reference covers all elements, so that several batches can be open
/// at once.
pub(crate) struct Elements<T> {
    start: NonNull<T>,
    length: usize,
    memory: Memory,
}

/// The allocation of an array, and the function that frees it. See [`JobSlice::from_raw`](crate::JobSlice::from_raw).
#[derive(Clone, Copy, Debug)]
pub struct SliceMemory {
    /// The layout of the allocation; of size zero without an allocation.
    pub layout: Layout,
    /// Frees the memory. Called exactly once, also if the size is zero.
    pub free: unsafe fn(memory: NonNull<u8>, layout: Layout, context: *mut ()),
    /// Passed to `free`.
    pub context: *mut (),
}

/// The origin of the memory.
enum Memory {
    /// A vector's allocation, or one like it: allocated with this layout, unless its size is zero.
    Vector(Layout),
    Foreign(SliceMemory),
}

// SAFETY: owns its elements, like a vector.
unsafe impl<T: Send> Send for Elements<T> {}

impl<T> Elements<T> {
    /// Makes `length` clones of a value, aligned to a cache line, so that SIMD loads do not cross lines.
    pub(super) fn aligned(length: usize, value: T) -> Self
    where
        T: Clone,
    {
        if size_of::<T>() == 0 {
            // Nothing to align, and the standard library handles any number of zero-sized values.
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
            // SAFETY: inside the memory just allocated. The length is updated afterwards, so that the clones are
            // dropped if a later clone panics.
            unsafe { elements.start.add(index).write(value.clone()) };
            elements.length = index + 1;
        }
        elements
    }

    /// # Safety
    ///
    /// The elements are valid, and no other code uses them from now on. Any thread may free their memory with
    /// `memory.free`, once they are dropped.
    pub(super) unsafe fn from_raw(elements: NonNull<[T]>, memory: SliceMemory) -> Self {
        Self { start: elements.cast(), length: elements.len(), memory: Memory::Foreign(memory) }
    }

    /// Returns the address and the number of the elements.
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
            // SAFETY: the parts of a vector that was taken apart by `From<Vec<T>>`, or of an equal allocation,
            // reassembled once.
            return unsafe { Vec::from_raw_parts(this.start.as_ptr(), this.length, capacity) };
        }
        let mut elements = Vec::with_capacity(this.length);
        // SAFETY: the vector has capacity for all elements. They are moved once, and their memory is freed once.
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
    /// The elements are dropped or moved, and neither they nor the memory is used again.
    unsafe fn free(&self) {
        match self.memory {
            Memory::Vector(layout) if layout.size() == 0 => {}
            // SAFETY: allocated with this layout, by `aligned` or by the vector it came from.
            Memory::Vector(layout) => unsafe { alloc::dealloc(self.start.as_ptr().cast(), layout) },
            // SAFETY: freed once, with the function, layout and context that the memory came with, by the contract.
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
            // A vector of zero-sized values has unlimited capacity, and its size in memory is zero.
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
                // SAFETY: the elements were dropped, as far as possible, and are not used again.
                unsafe { self.0.free() };
            }
        }

        let _free = Free(self);
        let elements = ptr::slice_from_raw_parts_mut(self.start.as_ptr(), self.length);
        // SAFETY: the elements are valid, and not used again.
        unsafe { ptr::drop_in_place(elements) };
    }
}
