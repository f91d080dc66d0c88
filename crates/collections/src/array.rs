//! An array of fixed length that jobs share.
#![expect(unsafe_code, reason = "hands the memory of an allocator to an array of jobs")]

use std::alloc::Layout;
use std::fmt;
use std::ptr::NonNull;

use allocator_api2::alloc::Allocator as RawAllocator;
use allocator_api2::boxed::Box as RawBox;
use allocator_api2::vec::Vec as RawVec;
use ancho_jobs::{
    AccessError, ContainerLabel, JobHandle, JobScheduler, JobSlice, Kept, ScheduleError,
    SliceMemory, SliceRead, SliceUnrestricted, SliceWrite, SliceWriteOnly,
};
use zerocopy::FromZeros;

use crate::allocator::{Allocator, LineAligned, Registration};
use crate::error::{AllocationError, expect_memory};

/// An array of fixed length that jobs share with its owner.
///
/// In a parallel job that writes the array, each batch sees its own part. A job that reads the array sees all elements. The
/// elements begin at a cache line.
///
/// It is the [`JobSlice`] of `ancho_jobs` with an [`Allocator`], and has the same tokens.
///
/// # Examples
///
/// ```
/// use ancho_collections::NativeArray;
/// use ancho_jobs::{JobPool, JobScheduler};
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let mut positions = NativeArray::<f32>::new(1000);
/// let velocities = NativeArray::filled(1000, 2.0_f32);
/// let tokens = (positions.write(), velocities.read());
/// let job = jobs.schedule_parallel(&[], tokens, 1000, 64, |(positions, velocities), range| {
///     for (position, velocity) in positions.iter_mut().zip(&velocities[range]) {
///         *position += velocity * 0.5;
///     }
/// })?;
/// jobs.complete(job);
/// assert_eq!(positions.get()?[999], 1.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct NativeArray<T> {
    slice: JobSlice<T>,
    /// The entry in the registry of the allocator, if it has one.
    registration: Option<Registration>,
}

impl<T: Send + 'static> NativeArray<T> {
    /// Creates an array of `length` default values.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::NativeArray::<u32>::new(3).get().unwrap(), [0, 0, 0]);
    /// ```
    #[track_caller]
    pub fn new(length: usize) -> Self
    where
        T: Default,
    {
        Self::new_in(length, &Allocator::PERSISTENT)
    }

    /// Creates an array of `length` default values in the allocator's memory.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{Allocator, NativeArray};
    /// assert_eq!(NativeArray::<u32>::new_in(3, &Allocator::PERSISTENT).get().unwrap(), [0, 0, 0]);
    /// ```
    #[track_caller]
    pub fn new_in(length: usize, allocator: &Allocator) -> Self
    where
        T: Default,
    {
        Self::from_fn_in(length, |_| T::default(), allocator)
    }

    /// Creates an array of `length` copies of a value.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::NativeArray::filled(3, 'x').get().unwrap(), ['x', 'x', 'x']);
    /// ```
    #[track_caller]
    pub fn filled(length: usize, value: T) -> Self
    where
        T: Clone,
    {
        Self::from_fn_in(length, move |_| value.clone(), &Allocator::PERSISTENT)
    }

    /// Creates an array of `length` elements that are all zero bytes. For large arrays the system often has zeroed memory ready,
    /// and nothing is written.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{Allocator, NativeArray};
    /// let zeros = NativeArray::<f64>::zeroed_in(1000, &Allocator::PERSISTENT);
    /// assert_eq!(zeros.get().unwrap()[999], 0.0);
    /// ```
    #[track_caller]
    pub fn zeroed_in(length: usize, allocator: &Allocator) -> Self
    where
        T: FromZeros,
    {
        let in_lines = LineAligned(allocator.clone());
        let layout = expect_elements::<T, _>(Layout::array::<T>(length).ok(), length, allocator);
        let memory =
            expect_elements::<T, _>(in_lines.allocate_zeroed(layout).ok(), length, allocator);
        // SAFETY: zero bytes are a value of the type, and `length` elements fit; the memory was
        // just allocated with this layout by this allocator.
        let elements = unsafe {
            let start = memory.cast::<T>().as_ptr();
            RawBox::from_raw_in(std::ptr::slice_from_raw_parts_mut(start, length), in_lines)
        };
        Self::with(elements, allocator)
    }

    /// Creates an array from a function that is called with each index.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::NativeArray::from_fn(4, |i| i * i).get().unwrap(), [0, 1, 4, 9]);
    /// ```
    #[track_caller]
    pub fn from_fn(length: usize, element: impl FnMut(usize) -> T) -> Self {
        Self::from_fn_in(length, element, &Allocator::PERSISTENT)
    }

    /// Creates an array from a function that is called with each index, in the allocator's memory.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{Allocator, NativeArray};
    /// let squares = NativeArray::from_fn_in(4, |i| i * i, &Allocator::PERSISTENT);
    /// assert_eq!(squares.get().unwrap(), [0, 1, 4, 9]);
    /// ```
    #[track_caller]
    pub fn from_fn_in(
        length: usize,
        element: impl FnMut(usize) -> T,
        allocator: &Allocator,
    ) -> Self {
        let mut elements = RawVec::new_in(LineAligned(allocator.clone()));
        expect_elements::<T, _>(elements.try_reserve_exact(length).ok(), length, allocator);
        elements.extend((0..length).map(element));
        Self::with(elements.into_boxed_slice(), allocator)
    }

    /// Creates an array of the elements of a slice, in the allocator's memory.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{Allocator, NativeArray};
    /// let names = NativeArray::from_slice_in(&["Ada", "Grace"], &Allocator::PERSISTENT);
    /// assert_eq!(names.get().unwrap(), ["Ada", "Grace"]);
    /// ```
    #[track_caller]
    pub fn from_slice_in(elements: &[T], allocator: &Allocator) -> Self
    where
        T: Clone,
    {
        Self::from_fn_in(elements.len(), |index| elements[index].clone(), allocator)
    }

    #[track_caller]
    fn with(elements: RawBox<[T], LineAligned>, allocator: &Allocator) -> Self {
        let label = ContainerLabel::of::<Self>();
        let layout = Layout::for_value(&*elements);
        let (elements, in_lines) = RawBox::into_raw_with_allocator(elements);
        let context = in_lines.0.into_raw();
        let memory = SliceMemory { layout, free, context };
        let elements = NonNull::new(elements).expect("a box's memory is somewhere");
        // SAFETY: the elements are those of the box, which was taken apart; their memory is freed
        // by the allocator it had, on any thread, since that is `Send`.
        let mut slice = unsafe { JobSlice::from_raw(elements, memory) }.relabelled(label);
        if let Some(stamp) = allocator.stamp() {
            slice = slice.stamped(stamp);
        }
        Self { slice, registration: allocator.register(label) }
    }

    /// Names the array in error messages and reports.
    ///
    /// # Examples
    ///
    /// ```
    /// let array = ancho_collections::NativeArray::<u32>::new(3).named("scores");
    /// assert!(array.label().to_string().starts_with("`scores` (NativeArray<u32> made at "));
    /// ```
    #[must_use]
    pub fn named(self, name: &'static str) -> Self {
        let Self { slice, registration } = self;
        let slice = slice.named(name);
        if let Some(registration) = &registration {
            // While a job holds the array, its name stays.
            registration.relabel(slice.label());
        }
        Self { slice, registration }
    }

    /// Returns a token for jobs that read the array. See [`JobSlice::read`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::NativeArray;
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let array = NativeArray::from([1, 2, 3]);
    /// jobs.complete(jobs.schedule(&[], array.read(), |all| assert_eq!(all, [1, 2, 3])).unwrap());
    /// ```
    pub fn read(&self) -> SliceRead<'_, T> {
        self.slice.read()
    }

    /// Returns a token for jobs that write the array: all of it in a single job, the batch's part
    /// in a parallel one. See [`JobSlice::write`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::NativeArray;
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut array = NativeArray::new(100);
    /// let job = jobs.schedule_for_each(&[], array.write(), 100, 16, |element, i| *element = i);
    /// jobs.complete(job.unwrap());
    /// assert_eq!(array.get().unwrap()[99], 99);
    /// ```
    pub fn write(&mut self) -> SliceWrite<'_, T> {
        self.slice.write()
    }

    /// Returns a token for jobs that write the array, and cannot read it. See [`JobSlice::write_only`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::NativeArray;
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut array = NativeArray::<u32>::new(100);
    /// let job = jobs.schedule_parallel(&[], array.write_only(), 100, 16, |mut part, _| part.fill(7));
    /// jobs.complete(job.unwrap());
    /// assert_eq!(array.get().unwrap()[99], 7);
    /// ```
    pub fn write_only(&mut self) -> SliceWriteOnly<'_, T> {
        self.slice.write_only()
    }

    /// Returns a token for jobs that write the array anywhere from any batch, unchecked. See
    /// [`JobSlice::write_unrestricted`].
    ///
    /// # Safety
    ///
    /// No element is written by one batch of the job while another reads or writes it.
    pub unsafe fn write_unrestricted(&mut self) -> SliceUnrestricted<'_, T> {
        // SAFETY: the contract is the same: no element is written by one batch of the job while
        // another reads or writes it.
        unsafe { self.slice.write_unrestricted() }
    }

    /// Frees the array after the given jobs. See [`Native::dispose_after`](crate::Native::dispose_after).
    ///
    /// # Errors
    ///
    /// Returns the array and the error if another uncompleted job uses it (A0001), or if its memory
    /// was rewound (A0013). In the second case, drop it.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::NativeArray;
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut array = NativeArray::from([3, 1, 2]);
    /// let sort = jobs.schedule(&[], array.write(), |array| array.sort()).unwrap();
    /// jobs.complete(array.dispose_after(&jobs, &[sort]).unwrap());
    /// ```
    pub fn dispose_after(
        self,
        jobs: &JobScheduler,
        dependencies: &[JobHandle],
    ) -> Result<JobHandle, Kept<Self, ScheduleError>> {
        let Self { slice, registration } = self;
        let disposed = slice.dispose_after(jobs, dependencies);
        disposed.map_err(|kept| kept.map(|slice| Self { slice, registration }))
    }
}

impl<T> NativeArray<T> {
    /// Returns the label used in error messages.
    ///
    /// # Examples
    ///
    /// ```
    /// let array = ancho_collections::NativeArray::<u32>::new(3);
    /// assert!(array.label().to_string().starts_with("the NativeArray<u32> made at "));
    /// ```
    pub fn label(&self) -> ContainerLabel {
        self.slice.label()
    }

    /// Returns the number of elements. It never changes, and is available while jobs run.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::NativeArray::<u32>::new(3).len(), 3);
    /// ```
    pub fn len(&self) -> usize {
        self.slice.len()
    }

    /// Returns whether there are no elements.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(ancho_collections::NativeArray::<u32>::new(0).is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.slice.is_empty()
    }

    /// Borrows the elements.
    ///
    /// # Errors
    ///
    /// Returns an error if an uncompleted job writes the array (A0003), or if its memory was
    /// rewound (A0013).
    ///
    /// # Examples
    ///
    /// ```
    /// let array = ancho_collections::NativeArray::from([1, 2, 3]);
    /// assert_eq!(array.get().unwrap(), [1, 2, 3]);
    /// ```
    #[inline]
    pub fn get(&self) -> Result<&[T], AccessError> {
        self.slice.as_slice()
    }

    /// Borrows the elements mutably.
    ///
    /// # Errors
    ///
    /// Returns an error if an uncompleted job uses the array (A0003), or if its memory was rewound
    /// (A0013).
    ///
    /// # Examples
    ///
    /// ```
    /// let mut array = ancho_collections::NativeArray::from([3, 1, 2]);
    /// array.get_mut().unwrap().sort();
    /// assert_eq!(array.get().unwrap(), [1, 2, 3]);
    /// ```
    #[inline]
    pub fn get_mut(&mut self) -> Result<&mut [T], AccessError> {
        self.slice.as_mut_slice()
    }

    /// Waits for the job that writes the array, and borrows the elements. `jobs` is the scheduler of
    /// the job. See [`Native::wait`](crate::Native::wait).
    ///
    /// # Errors
    ///
    /// With A0169 if the job failed, with A0003 if a job of another scheduler writes the array, and with
    /// A0013 if its memory was rewound.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::NativeArray;
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut squares = NativeArray::filled(4, 0);
    /// let _ = jobs.schedule_for_each(&[], squares.write(), 4, 1, |square, i| *square = i * i)?;
    /// assert_eq!(squares.wait(&jobs)?, [0, 1, 4, 9]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn wait(&self, jobs: &JobScheduler) -> Result<&[T], AccessError> {
        self.slice.wait(jobs)
    }

    /// Waits for all jobs that use the array, and borrows the elements mutably. See
    /// [`Native::wait_mut`](crate::Native::wait_mut).
    ///
    /// # Errors
    ///
    /// The errors of [`wait`](Self::wait).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::NativeArray;
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut array = NativeArray::from([3, 1, 2]);
    /// let _ = jobs.schedule(&[], array.read(), |array| assert_eq!(array.len(), 3))?;
    /// array.wait_mut(&jobs)?.sort();
    /// assert_eq!(array.get()?, [1, 2, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn wait_mut(&mut self, jobs: &JobScheduler) -> Result<&mut [T], AccessError> {
        self.slice.wait_mut(jobs)
    }

    /// Moves the elements into a vector.
    ///
    /// # Errors
    ///
    /// Returns the array and the error if an uncompleted job uses it.
    ///
    /// # Examples
    ///
    /// ```
    /// let array = ancho_collections::NativeArray::from([1, 2, 3]);
    /// assert_eq!(array.into_vec().unwrap(), [1, 2, 3]);
    /// ```
    pub fn into_vec(self) -> Result<Vec<T>, Kept<Self, AccessError>> {
        let Self { slice, registration } = self;
        slice.into_vec().map_err(|kept| kept.map(|slice| Self { slice, registration }))
    }

    /// Frees the array immediately, or when the last job that uses it is done. The same as dropping
    /// it.
    ///
    /// # Examples
    ///
    /// ```
    /// ancho_collections::NativeArray::from([1, 2, 3]).dispose();
    /// ```
    pub fn dispose(self) {}
}

/// Returns the result of an allocation of `length` elements, or panics if it failed.
#[track_caller]
fn expect_elements<T, R>(result: Option<R>, length: usize, allocator: &Allocator) -> R {
    expect_memory(result.ok_or_else(|| AllocationError::of::<T>(allocator.name(), length)))
}

/// Frees the memory of an array.
///
/// # Safety
///
/// The memory was allocated with this layout by a `LineAligned` of the allocator in the context.
unsafe fn free(memory: NonNull<u8>, layout: Layout, context: *mut ()) {
    // SAFETY: by the contract, the memory is from this allocator with this layout, and the context
    // is used once.
    unsafe { LineAligned(Allocator::from_raw(context)).deallocate(memory, layout) };
}

impl<T: Send + 'static> From<Vec<T>> for NativeArray<T> {
    /// Moves the elements of a vector to memory that begins at a cache line.
    #[track_caller]
    fn from(elements: Vec<T>) -> Self {
        let mut elements = elements.into_iter();
        Self::from_fn(elements.len(), |_| elements.next().expect("as many as were counted"))
    }
}

impl<T: Send + 'static, const N: usize> From<[T; N]> for NativeArray<T> {
    #[track_caller]
    fn from(elements: [T; N]) -> Self {
        Self::from(Vec::from(elements))
    }
}

impl<T: fmt::Debug> fmt::Debug for NativeArray<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.get() {
            Ok(elements) => f.debug_list().entries(elements).finish(),
            Err(error) => write!(f, "NativeArray({})", error.summary()),
        }
    }
}
