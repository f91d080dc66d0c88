//! An array that jobs share.
#![expect(unsafe_code, reason = "opens parts of an array to batches, each part to one")]

use std::fmt;
use std::marker::PhantomData;
use std::slice;

use super::elements::Elements;
use super::{Access, AccessList, ContainerLabel, Guarded, Held};
use crate::claims::BatchInfo;
use crate::data::{JobData, ParallelJobData};
use crate::error::{AccessError, Kept, ScheduleError};

/// An array of fixed length that jobs share with its owner.
///
/// A parallel job that writes it sees, in each batch, the part that is the batch's own; one that reads
/// it sees all of it.
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
    /// Makes an array of `length` copies of a value, at the start of a cache line.
    ///
    /// This is the fastest memory for loops over numbers. An array [from a vector](Self::from) stays
    /// where the vector was.
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

    /// Gives the array a name for error messages.
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
        SliceRead { slice: self }
    }

    /// Returns a token for jobs that write the array: all of it in a single job, its own part in each
    /// batch of a parallel one.
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
        SliceWrite { slice: self }
    }

    /// Returns a token for jobs that write the array anywhere from any batch, unchecked (Unity's
    /// `NativeDisableParallelForRestriction`).
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
    ///     // SAFETY: as above.
    ///     unsafe { *reversed.get_mut(99 - i) = i }
    /// });
    /// jobs.complete(job.unwrap());
    /// assert_eq!(reversed.as_slice().unwrap()[0], 99);
    /// ```
    pub unsafe fn write_unrestricted(&mut self) -> SliceUnrestricted<'_, T> {
        SliceUnrestricted { slice: self }
    }

    fn hold(&self) -> HeldSlice<T> {
        // SAFETY: where the elements are never changes while there are jobs, so no check is needed.
        let start = unsafe { (*self.elements.as_ptr()).start.as_ptr() };
        HeldSlice { start, length: self.len(), block: self.elements.hold() }
    }
}

impl<T> JobSlice<T> {
    /// Returns what the array is called in error messages.
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

    /// Returns how many elements there are. This never changes, and is known while jobs run.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_jobs::JobSlice::new(100, 0).len(), 100);
    /// ```
    #[inline]
    pub fn len(&self) -> usize {
        // SAFETY: the length never changes, so reading it needs no check.
        unsafe { (*self.elements.as_ptr()).length }
    }

    /// Says whether there are no elements.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(ancho_jobs::JobSlice::<u32>::from(vec![]).is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Lends the elements to read.
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
        // SAFETY: so many elements are there, which `get` lends to read.
        Ok(unsafe { slice::from_raw_parts(elements.start.as_ptr(), elements.length) })
    }

    /// Lends the elements to write.
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
        // SAFETY: so many elements are there, which `get_mut` lends to write.
        Ok(unsafe { slice::from_raw_parts_mut(elements.start.as_ptr(), elements.length) })
    }

    /// Takes the elements out: where they are if they came from a vector, else copied.
    ///
    /// # Errors
    ///
    /// Returns the array and the error if an uncompleted job uses it.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_jobs::JobSlice::new(3, 5).into_vec().unwrap(), [5, 5, 5]);
    /// ```
    pub fn into_vec(self) -> Result<Vec<T>, Kept<Self, AccessError>> {
        match self.elements.into_inner() {
            Ok(elements) => Ok(elements.into_vec()),
            Err(Kept { container: elements, error }) => {
                Err(Kept { container: Self { elements }, error })
            }
        }
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
            Err(error) => write!(f, "JobSlice(in use by job `{}`)", error.job),
        }
    }
}

/// A loan of a [`JobSlice`], for a job that reads it.
///
/// # Examples
///
/// See [`JobSlice::read`].
#[derive(Debug)]
#[must_use = "a token does nothing until a job is scheduled with it"]
pub struct SliceRead<'a, T> {
    slice: &'a JobSlice<T>,
}

/// A loan of a [`JobSlice`], for a job that writes it.
///
/// # Examples
///
/// See [`JobSlice::write`].
#[derive(Debug)]
#[must_use = "a token does nothing until a job is scheduled with it"]
pub struct SliceWrite<'a, T> {
    slice: &'a mut JobSlice<T>,
}

/// A loan of a [`JobSlice`], for a job that writes it anywhere from any batch.
///
/// # Examples
///
/// See [`JobSlice::write_unrestricted`].
#[derive(Debug)]
#[must_use = "a token does nothing until a job is scheduled with it"]
pub struct SliceUnrestricted<'a, T> {
    slice: &'a mut JobSlice<T>,
}

/// What a job holds of an array: its block, and where the elements are.
#[derive(Debug)]
#[doc(hidden)]
pub struct HeldSlice<T> {
    start: *mut T,
    length: usize,
    block: Held<Elements<T>>,
}

// SAFETY: the block may be let go of on any thread, since `T: Send`. The pointer is used by the views
// alone, which ask for `T: Sync` where several threads see the same elements.
unsafe impl<T: Send> Send for HeldSlice<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for HeldSlice<T> {}

impl<T> HeldSlice<T> {
    /// # Safety
    ///
    /// Nobody writes the elements while the view is in use.
    #[inline(always)]
    unsafe fn view<'v>(&self) -> &'v [T] {
        // SAFETY: so many elements are there, which the block keeps; not written, by the contract.
        unsafe { slice::from_raw_parts(self.start, self.length) }
    }

    /// # Safety
    ///
    /// - The range does not end before it starts.
    /// - Nobody else uses the elements in the range while the view is in use.
    #[inline(always)]
    unsafe fn view_mut<'v>(&self, start: usize, end: usize) -> &'v mut [T] {
        if end > self.length {
            outside(start, end, self.length, self.block.label());
        }
        // SAFETY: inside the elements that the block keeps; not shared, by the contract.
        unsafe { slice::from_raw_parts_mut(self.start.add(start), end - start) }
    }
}

/// By value and apart, so that the range stays in registers where all is well.
#[cold]
#[inline(never)]
fn outside(start: usize, end: usize, length: usize, container: ContainerLabel) -> ! {
    panic!(
        "A0010: a batch has the indices {start}..{end}, but {container} has {length} elements; return a \
         smaller count"
    );
}

// SAFETY: declares that it reads the array, holds its block, and views it shared; `T: Sync` lets
// several threads do so.
unsafe impl<T: Send + Sync + 'static> JobData for SliceRead<'_, T> {
    type Held = HeldSlice<T>;
    type Whole<'v> = &'v [T];

    fn declare(&self, accesses: &mut AccessList) {
        accesses.add(&self.slice.elements, Access::Read);
    }

    fn hold(self) -> HeldSlice<T> {
        self.slice.hold()
    }

    #[inline(always)]
    unsafe fn whole(held: &mut HeldSlice<T>) -> &[T] {
        // SAFETY: nobody writes the array, since the declared access passed the check.
        unsafe { held.view() }
    }
}

// SAFETY: as above; every batch sees the same shared elements.
unsafe impl<T: Send + Sync + 'static> ParallelJobData for SliceRead<'_, T> {
    type Batch<'v> = &'v [T];
    type Item<'b> = &'b [T];

    fn check_count(&self, _: &'static str, _: usize) -> Result<(), ScheduleError> {
        Ok(())
    }

    #[inline(always)]
    unsafe fn batch<'v>(held: &'v HeldSlice<T>, _: &BatchInfo) -> &'v [T] {
        // SAFETY: nobody writes the array, since the declared access passed the check.
        unsafe { held.view() }
    }

    #[inline(always)]
    fn item<'b>(batch: &'b mut &[T], _: usize) -> &'b [T] {
        batch
    }
}

// SAFETY: declares that it writes the array, which it borrows mutably, holds its block, and views all
// of it in one single job.
unsafe impl<T: Send + 'static> JobData for SliceWrite<'_, T> {
    type Held = HeldSlice<T>;
    type Whole<'v> = &'v mut [T];

    fn declare(&self, accesses: &mut AccessList) {
        accesses.add(&self.slice.elements, Access::Write);
    }

    fn hold(self) -> HeldSlice<T> {
        self.slice.hold()
    }

    #[inline(always)]
    unsafe fn whole(held: &mut HeldSlice<T>) -> &mut [T] {
        // SAFETY: nobody else uses the array, since the declared access passed the check.
        unsafe { held.view_mut(0, held.length) }
    }
}

// SAFETY: as above; the views of two batches have no element in common, since batches have no index
// in common.
unsafe impl<T: Send + 'static> ParallelJobData for SliceWrite<'_, T> {
    type Batch<'v> = &'v mut [T];
    type Item<'b> = &'b mut T;

    fn check_count(&self, job: &'static str, count: usize) -> Result<(), ScheduleError> {
        let length = self.slice.len();
        if count <= length {
            return Ok(());
        }
        Err(ScheduleError::TooShort { container: self.slice.label(), job, length, count })
    }

    #[inline(always)]
    unsafe fn batch<'v>(held: &'v HeldSlice<T>, batch: &BatchInfo) -> &'v mut [T] {
        // SAFETY: nobody outside of the job uses the array, since the declared access passed the
        // check, and no other batch has one of these indices.
        unsafe { held.view_mut(batch.range.start, batch.range.end) }
    }

    #[inline(always)]
    fn item<'b>(batch: &'b mut &mut [T], offset: usize) -> &'b mut T {
        &mut batch[offset]
    }
}

/// All the elements of an array, open to every batch of a job, unchecked.
///
/// See [`JobSlice::write_unrestricted`].
///
/// # Examples
///
/// ```
/// use ancho_jobs::{JobPool, JobScheduler, JobSlice};
/// let jobs = JobScheduler::new(&JobPool::new());
/// let mut values = JobSlice::from(vec![1, 2, 0, 0]);
/// // SAFETY: a single job has no batches that could meet.
/// let token = unsafe { values.write_unrestricted() };
/// let job = jobs.schedule(&[], token, |values| {
///     assert!(!values.is_empty() && values.len() == 4);
///     // SAFETY: nobody else uses the elements, and there is a first one.
///     unsafe { (*values.get_mut(3), *values.as_mut_ptr()) = (values.get(1) * 10, 7) };
/// });
/// jobs.complete(job.unwrap());
/// assert_eq!(values.as_slice().unwrap(), [7, 2, 0, 20]);
/// ```
#[derive(Debug)]
pub struct UnrestrictedSlice<'v, T> {
    start: *mut T,
    length: usize,
    _elements: PhantomData<&'v mut [T]>,
}

impl<T> Clone for UnrestrictedSlice<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for UnrestrictedSlice<'_, T> {}

impl<'v, T> UnrestrictedSlice<'v, T> {
    /// Returns how many elements there are.
    pub fn len(self) -> usize {
        self.length
    }

    /// Says whether there are no elements.
    pub fn is_empty(self) -> bool {
        self.length == 0
    }

    /// Returns where the elements are.
    pub fn as_mut_ptr(self) -> *mut T {
        self.start
    }

    /// Returns an element.
    ///
    /// # Panics
    ///
    /// Panics if there is no such element.
    ///
    /// # Safety
    ///
    /// No batch writes the element while the reference is in use.
    pub unsafe fn get(self, index: usize) -> &'v T {
        assert!(index < self.length, "element {index} of an array of {}", self.length);
        // SAFETY: inside the array, and not written, by the contract.
        unsafe { &*self.start.add(index) }
    }

    /// Returns an element, to change it.
    ///
    /// # Panics
    ///
    /// Panics if there is no such element.
    ///
    /// # Safety
    ///
    /// Nobody else uses the element while the reference is in use.
    pub unsafe fn get_mut(self, index: usize) -> &'v mut T {
        assert!(index < self.length, "element {index} of an array of {}", self.length);
        // SAFETY: inside the array, and not shared, by the contract.
        unsafe { &mut *self.start.add(index) }
    }
}

// SAFETY: declares that it writes the array, which it borrows mutably, and holds its block. What the
// job does through the view is promised by the caller of `write_unrestricted`.
unsafe impl<T: Send + Sync + 'static> JobData for SliceUnrestricted<'_, T> {
    type Held = HeldSlice<T>;
    type Whole<'v> = UnrestrictedSlice<'v, T>;

    fn declare(&self, accesses: &mut AccessList) {
        accesses.add(&self.slice.elements, Access::Write);
    }

    fn hold(self) -> HeldSlice<T> {
        self.slice.hold()
    }

    #[inline(always)]
    unsafe fn whole(held: &mut HeldSlice<T>) -> UnrestrictedSlice<'_, T> {
        UnrestrictedSlice { start: held.start, length: held.length, _elements: PhantomData }
    }
}

// SAFETY: as above.
unsafe impl<T: Send + Sync + 'static> ParallelJobData for SliceUnrestricted<'_, T> {
    type Batch<'v> = UnrestrictedSlice<'v, T>;
    type Item<'b> = UnrestrictedSlice<'b, T>;

    fn check_count(&self, _: &'static str, _: usize) -> Result<(), ScheduleError> {
        Ok(())
    }

    #[inline(always)]
    unsafe fn batch<'v>(held: &'v HeldSlice<T>, _: &BatchInfo) -> UnrestrictedSlice<'v, T> {
        UnrestrictedSlice { start: held.start, length: held.length, _elements: PhantomData }
    }

    #[inline(always)]
    fn item<'b>(batch: &'b mut UnrestrictedSlice<'_, T>, _: usize) -> UnrestrictedSlice<'b, T> {
        UnrestrictedSlice { start: batch.start, length: batch.length, _elements: PhantomData }
    }
}
