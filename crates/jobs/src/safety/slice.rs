//! A container for an array that jobs share, and the array's memory.
#![expect(
    unsafe_code,
    reason = "allocates an array, and knows where its elements are while jobs use them"
)]

use std::alloc::{self, Layout};
use std::fmt;
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};

use super::contiguous::{HeldSlice, Place, SliceSource};
use super::{
    Access, AccessList, ContainerLabel, EpochStamp, Guarded, SliceRead, SliceUnrestricted,
    SliceWrite,
};
use crate::error::{AccessError, Kept};

/// An array of fixed length that jobs share with its owner.
///
/// In a parallel job that writes the array, each batch gets only its own part. In a job that reads the array, each batch gets all
/// of it.
///
/// # Examples
///
/// ```
/// use ancho_jobs::{JobPool, JobScheduler, JobSlice};
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let mut positions = JobSlice::from(vec![0.0_f32; 1000]);
/// let velocities = JobSlice::from(vec![2.0_f32; 1000]);
/// let job = jobs.schedule_parallel(
///     &[],
///     (positions.write(), velocities.read()),
///     1000,
///     64,
///     |(positions, velocities), range| {
///         for (position, velocity) in positions.iter_mut().zip(&velocities[range]) {
///             *position += velocity * 0.5;
///         }
///     },
/// );
/// jobs.complete(job.unwrap());
/// assert_eq!(positions.as_slice().unwrap()[999], 1.0);
/// ```
pub struct JobSlice<T> {
    pub(crate) elements: Guarded<Elements<T>>,
}

impl<T: Send + 'static> JobSlice<T> {
    /// Creates an array of `length` clones of a value, aligned to a cache line.
    ///
    /// This is the fastest memory for loops over numbers. An array [from a vector](Self::from) keeps the vector's
    /// allocation.
    ///
    /// # Examples
    ///
    /// ```
    /// let ones = ancho_jobs::JobSlice::new(100, 1.0_f32);
    /// assert_eq!(ones.as_slice().unwrap(), [1.0; 100]);
    /// assert_eq!(ones.as_slice().unwrap().as_ptr() as usize % 64, 0);
    /// ```
    #[track_caller]
    pub fn new(length: usize, value: T) -> Self
    where
        T: Clone,
    {
        Self::with(Elements::aligned(length, value))
    }

    #[track_caller]
    fn with(elements: Elements<T>) -> Self {
        Self { elements: Guarded::new(elements, ContainerLabel::of::<Self>()) }
    }

    /// Creates an array from existing elements, for containers that have their own memory.
    ///
    /// # Safety
    ///
    /// - The elements are valid, and no other code uses them from now on.
    /// - Any thread may free the memory of the elements with `memory.free`, once they are dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobSlice, SliceMemory};
    /// use std::alloc::Layout;
    /// use std::ptr::NonNull;
    ///
    /// let elements = NonNull::from(Box::leak(Box::new([1, 2, 3])));
    /// let memory = SliceMemory {
    ///     layout: Layout::new::<[i32; 3]>(),
    ///     context: std::ptr::null_mut(),
    ///     // SAFETY: the memory is that of a box. It is freed once, with the layout of the box.
    ///     free: |memory, layout, _| unsafe { std::alloc::dealloc(memory.as_ptr(), layout) },
    /// };
    /// // SAFETY: the elements are valid and used by no other code, and `free` frees the memory of the box on any thread.
    /// let slice = unsafe { JobSlice::from_raw(elements, memory) };
    /// assert_eq!(slice.as_slice().unwrap(), [1, 2, 3]);
    /// ```
    #[track_caller]
    pub unsafe fn from_raw(elements: NonNull<[T]>, memory: SliceMemory) -> Self {
        // SAFETY: the caller says that the elements are valid, that no other code uses them, and that any thread may free them with
        // `memory.free`.
        Self::with(unsafe { Elements::from_raw(elements, memory) })
    }

    /// Changes the array's label in error messages. See [`Guarded::relabelled`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{ContainerLabel, JobSlice};
    ///
    /// let label = ContainerLabel::of::<[u8]>().named("pixels");
    /// assert_eq!(JobSlice::new(3, 0_u8).relabelled(label).label(), label);
    /// ```
    #[must_use]
    pub fn relabelled(self, label: ContainerLabel) -> Self {
        Self { elements: self.elements.relabelled(label) }
    }

    /// Makes the array unusable once the stamp's epoch advances. See [`Guarded::stamped`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{Epoch, JobSlice};
    ///
    /// let frame = Epoch::new("the frame's memory");
    /// let values = JobSlice::new(3, 0).stamped(frame.stamp());
    /// frame.advance();
    /// assert!(values.as_slice().is_err());
    /// ```
    #[must_use]
    pub fn stamped(self, stamp: EpochStamp) -> Self {
        Self { elements: self.elements.stamped(stamp) }
    }

    /// Sets the name of the array in error messages.
    ///
    /// # Examples
    ///
    /// ```
    /// let values = ancho_jobs::JobSlice::new(100, 0).named("values");
    /// assert!(values.label().to_string().starts_with("`values` "));
    /// ```
    #[must_use]
    pub fn named(self, name: &'static str) -> Self {
        let label = self.label().named(name);
        Self { elements: self.elements.relabelled(label) }
    }

    /// Returns a token for jobs that read the array.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobPool, JobScheduler, JobSlice};
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let values = JobSlice::from(vec![1, 2, 3]);
    /// let job = jobs.schedule(&[], values.read(), |values| assert_eq!(values, [1, 2, 3])).unwrap();
    /// assert_eq!(values.as_slice().unwrap()[0], 1, "the owner may read beside the job");
    /// jobs.complete(job);
    /// ```
    pub fn read(&self) -> SliceRead<'_, T> {
        SliceRead::new(self)
    }

    /// Returns a token for jobs that write the array. A single job gets all of it, and each batch of a parallel job gets its own
    /// part.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobPool, JobScheduler, JobSlice};
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut values = JobSlice::new(100, 0);
    /// let whole = jobs.schedule(&[], values.write(), |values| values.fill(7)).unwrap();
    /// let first = |part: &mut [usize], range: std::ops::Range<usize>| part[0] = range.start;
    /// let parts = jobs.schedule_parallel(&[whole], values.write(), 100, 16, first).unwrap();
    /// jobs.complete(parts);
    /// assert_eq!(values.as_slice().unwrap()[15..17], [7, 16]);
    /// ```
    pub fn write(&mut self) -> SliceWrite<'_, T> {
        SliceWrite::new(self)
    }

    /// Returns a token for jobs that write any element from any batch, unchecked (Unity's `NativeDisableParallelForRestriction`).
    ///
    /// # Safety
    ///
    /// No element is written by one batch of the job while another reads or writes it.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobPool, JobScheduler, JobSlice};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut reversed = JobSlice::new(100, 0);
    /// // SAFETY: each index writes one element of its own.
    /// let token = unsafe { reversed.write_unrestricted() };
    /// let job = jobs.schedule_for_each(&[], token, 100, 8, |reversed, i| {
    ///     // SAFETY: only this index writes the element, so no other reference to it exists.
    ///     unsafe { *reversed.get_mut(99 - i) = i }
    /// });
    /// jobs.complete(job.unwrap());
    /// assert_eq!(reversed.as_slice().unwrap()[0], 99);
    /// ```
    pub unsafe fn write_unrestricted(&mut self) -> SliceUnrestricted<'_, T> {
        SliceUnrestricted::new(self)
    }
}

impl<T> JobSlice<T> {
    /// Returns the address and the number of the elements, without a check.
    #[inline]
    fn place(&self) -> NonNull<[T]> {
        // SAFETY: the address and the length never change, so reading them needs no check.
        unsafe { &*self.elements.as_ptr() }.as_ptr()
    }

    /// Returns the array's label in error messages.
    ///
    /// # Examples
    ///
    /// ```
    /// let values = ancho_jobs::JobSlice::new(100, 0);
    /// assert!(values.label().to_string().starts_with("the JobSlice<i32> made at "));
    /// ```
    pub fn label(&self) -> ContainerLabel {
        self.elements.label()
    }

    /// Returns the number of elements. It never changes, and can be read while jobs run.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_jobs::JobSlice::new(100, 0).len(), 100);
    /// ```
    #[inline]
    pub fn len(&self) -> usize {
        self.place().len()
    }

    /// Returns whether there are no elements.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(ancho_jobs::JobSlice::<u32>::from(vec![]).is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Borrows the elements for reading.
    ///
    /// # Errors
    ///
    /// Returns an error if an uncompleted job writes the array.
    ///
    /// # Examples
    ///
    /// ```
    /// let values = ancho_jobs::JobSlice::from(vec![1, 2, 3]);
    /// assert_eq!(values.as_slice(), Ok(&[1, 2, 3][..]));
    /// ```
    #[inline]
    pub fn as_slice(&self) -> Result<&[T], AccessError> {
        let elements = self.elements.get()?;
        // SAFETY: the pointer covers valid elements, which `get` lends for reading.
        Ok(unsafe { elements.as_ptr().as_ref() })
    }

    /// Borrows the elements for writing.
    ///
    /// # Errors
    ///
    /// Returns an error if an uncompleted job uses the array.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut values = ancho_jobs::JobSlice::from(vec![3, 1, 2]);
    /// values.as_mut_slice().unwrap().sort();
    /// assert_eq!(values.as_slice().unwrap(), [1, 2, 3]);
    /// ```
    #[inline]
    pub fn as_mut_slice(&mut self) -> Result<&mut [T], AccessError> {
        let elements = self.elements.get_mut()?;
        // SAFETY: the pointer covers valid elements, which `get_mut` lends for writing.
        Ok(unsafe { elements.as_ptr().as_mut() })
    }

    /// Consumes the array, and returns the elements. They are not copied if they came from a vector.
    ///
    /// # Errors
    ///
    /// Returns the array and the error if an uncompleted job uses the array.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_jobs::JobSlice::new(3, 5).into_vec().unwrap(), [5, 5, 5]);
    /// ```
    pub fn into_vec(self) -> Result<Vec<T>, Kept<Self, AccessError>> {
        let elements = self.elements.into_inner();
        elements.map(Elements::into_vec).map_err(|kept| kept.map(|elements| Self { elements }))
    }
}

impl<T: Send + 'static> From<Vec<T>> for JobSlice<T> {
    #[track_caller]
    fn from(elements: Vec<T>) -> Self {
        Self::with(Elements::from(elements))
    }
}

impl<T: fmt::Debug> fmt::Debug for JobSlice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_slice() {
            Ok(elements) => f.debug_list().entries(elements).finish(),
            Err(error) => write!(f, "JobSlice({})", error.summary()),
        }
    }
}

// SAFETY: `declare` adds the container of the elements, and `hold` holds its block. Their address does not change while it exists.
unsafe impl<T: Send + 'static> SliceSource<T> for JobSlice<T> {
    fn label(&self) -> ContainerLabel {
        Self::label(self)
    }

    fn known_length(&self) -> Option<usize> {
        Some(self.len())
    }

    fn declare(&self, accesses: &mut AccessList, access: Access) {
        accesses.add(&self.elements, access);
    }

    fn hold(&self) -> HeldSlice<T> {
        HeldSlice { place: Place::Fixed(self.place()), block: self.elements.hold().into() }
    }
}

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
    /// The layout of the allocation, or a layout of size zero if there is no allocation.
    pub layout: Layout,
    /// Frees the memory. Called exactly once, even if the size is zero.
    pub free: unsafe fn(memory: NonNull<u8>, layout: Layout, context: *mut ()),
    /// A pointer that is passed to `free`.
    pub context: *mut (),
}

/// The origin of the memory.
enum Memory {
    /// The allocation of a vector, or an allocation with this layout. There is no allocation if its size is zero.
    Vector(Layout),
    Foreign(SliceMemory),
}

// SAFETY: the type owns its elements, like a vector. The contract of `from_raw` says that any thread may free their memory.
unsafe impl<T: Send> Send for Elements<T> {}

impl<T> Elements<T> {
    /// Creates `length` clones of a value, aligned to a cache line, so that SIMD loads do not cross cache lines.
    fn aligned(length: usize, value: T) -> Self
    where
        T: Clone,
    {
        if size_of::<T>() == 0 {
            // There is nothing to align, and the standard library supports any number of zero-sized values.
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
            // SAFETY: the address is inside the memory that was just allocated. The length is updated afterwards, so that the
            // clones are dropped if a later clone panics.
            unsafe { elements.start.add(index).write(value.clone()) };
            elements.length = index + 1;
        }
        elements
    }

    /// Takes ownership of existing elements.
    ///
    /// # Safety
    ///
    /// - The elements are valid, and no other code uses them from now on.
    /// - Any thread may free their memory with `memory.free`, once they are dropped.
    unsafe fn from_raw(elements: NonNull<[T]>, memory: SliceMemory) -> Self {
        Self { start: elements.cast(), length: elements.len(), memory: Memory::Foreign(memory) }
    }

    /// Returns the address and the number of the elements.
    #[inline]
    fn as_ptr(&self) -> NonNull<[T]> {
        NonNull::slice_from_raw_parts(self.start, self.length)
    }

    fn into_vec(self) -> Vec<T> {
        let this = ManuallyDrop::new(self);
        if let Memory::Vector(layout) = this.memory
            && layout.align() == align_of::<T>()
        {
            let capacity = match size_of::<T>() {
                0 => this.length,
                size => layout.size() / size,
            };
            // SAFETY: these are the parts of a vector that `From<Vec<T>>` has taken apart, or of an equal allocation. They are
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
    /// The elements are dropped or moved, and neither the elements nor the memory is used again.
    unsafe fn free(&self) {
        match self.memory {
            Memory::Vector(layout) if layout.size() == 0 => {}
            // SAFETY: the memory was allocated with this layout, by `aligned` or by the vector from which it came.
            Memory::Vector(layout) => unsafe { alloc::dealloc(self.start.as_ptr().cast(), layout) },
            // SAFETY: the memory is freed once, with the function, layout and context that were passed to `from_raw`. The caller
            // says that the elements are not used again.
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
                // SAFETY: the elements were dropped, or dropping them panicked. They are not used again.
                unsafe { self.0.free() };
            }
        }

        let _free = Free(self);
        let elements = ptr::slice_from_raw_parts_mut(self.start.as_ptr(), self.length);
        // SAFETY: the elements are valid, and not used again.
        unsafe { ptr::drop_in_place(elements) };
    }
}
