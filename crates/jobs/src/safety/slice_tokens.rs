//! Tokens of arrays, for any container with contiguous elements.
#![expect(unsafe_code, reason = "opens parts of an array to batches, each part to one")]

use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

use super::contiguous::{HeldSlice, SliceSource};
use super::{Access, AccessList, JobSlice};
use crate::claims::BatchInfo;
use crate::data::{JobData, ParallelJobData};
use crate::error::ScheduleError;

/// A container as the source of elements. The `'static` bound says that the container borrows nothing. Without it, the lifetime of
/// a token that writes would be invariant.
type Source<T> = dyn SliceSource<T> + 'static;

/// A token that lends a container's elements to a job that reads them.
///
/// # Examples
///
/// See [`JobSlice::read`](crate::JobSlice::read).
#[must_use = "a token does nothing until a job is scheduled with it"]
pub struct SliceRead<'a, T> {
    source: &'a Source<T>,
}

/// A token that lends a container's elements to a job that writes them.
///
/// # Examples
///
/// See [`JobSlice::write`](crate::JobSlice::write).
#[must_use = "a token does nothing until a job is scheduled with it"]
pub struct SliceWrite<'a, T> {
    source: &'a mut Source<T>,
}

/// A token that lends a container's elements to a job that writes any element from any batch.
///
/// # Examples
///
/// See [`JobSlice::write_unrestricted`](crate::JobSlice::write_unrestricted).
#[must_use = "a token does nothing until a job is scheduled with it"]
#[doc(alias = "NativeDisableParallelForRestriction")]
pub struct SliceUnrestricted<'a, T> {
    source: &'a mut Source<T>,
}

impl<'a, T> SliceRead<'a, T> {
    pub(super) fn new(source: &'a Source<T>) -> Self {
        Self { source }
    }
}

impl<'a, T> SliceWrite<'a, T> {
    pub(super) fn new(source: &'a mut Source<T>) -> Self {
        Self { source }
    }
}

impl<'a, T> SliceUnrestricted<'a, T> {
    pub(super) fn new(source: &'a mut Source<T>) -> Self {
        Self { source }
    }
}

macro_rules! debug_with_label {
    ($($token:ident),+) => {$(
        impl<T> fmt::Debug for $token<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($token)).field(&self.source.label()).finish()
            }
        }
    )+};
}

debug_with_label!(SliceRead, SliceWrite, SliceUnrestricted);

// SAFETY: the token declares that it reads the array, which it borrows, and holds its block. The view is a shared slice, which `T:
// Sync` lets several threads have.
unsafe impl<T: Send + Sync + 'static> JobData for SliceRead<'_, T> {
    type Held = HeldSlice<T>;
    type Whole<'v> = &'v [T];

    fn declare(&self, accesses: &mut AccessList) {
        self.source.declare(accesses, Access::Read);
    }

    fn hold(self) -> HeldSlice<T> {
        self.source.hold()
    }

    #[inline(always)]
    unsafe fn whole(held: &mut HeldSlice<T>) -> &[T] {
        // SAFETY: the job is running, and no job writes the array, because the declared access passed the check.
        unsafe { held.view() }
    }
}

// SAFETY: the token declares that it reads the array, and holds its block. Every batch has the same shared slice, which `T: Sync`
// allows.
unsafe impl<T: Send + Sync + 'static> ParallelJobData for SliceRead<'_, T> {
    type Batch<'v> = &'v [T];
    type Item<'b> = &'b [T];

    type Open<'v> = &'v [T];

    #[inline(always)]
    unsafe fn open(held: &HeldSlice<T>) -> &[T] {
        // SAFETY: the job is running, and no job writes the array, because the declared access passed the check.
        unsafe { held.view() }
    }

    #[inline(always)]
    unsafe fn batch<'v>(_: &'v HeldSlice<T>, open: &&'v [T], _: &BatchInfo) -> &'v [T] {
        open
    }

    #[inline(always)]
    fn item<'b>(batch: &'b mut &[T], _: usize) -> &'b [T] {
        batch
    }
}

// SAFETY: the token declares that it writes the array, which it borrows mutably, and holds its block. The only view is that of a
// single job.
unsafe impl<T: Send + 'static> JobData for SliceWrite<'_, T> {
    type Held = HeldSlice<T>;
    type Whole<'v> = &'v mut [T];

    fn declare(&self, accesses: &mut AccessList) {
        self.source.declare(accesses, Access::Write);
    }

    fn hold(self) -> HeldSlice<T> {
        self.source.hold()
    }

    #[inline(always)]
    unsafe fn whole(held: &mut HeldSlice<T>) -> &mut [T] {
        // SAFETY: the job is running, and no other code uses the array, because the declared access passed the check.
        unsafe { held.view_all_mut() }
    }
}

// SAFETY: the token declares that it writes the array, which it borrows mutably, and holds its block. The views of two batches have
// no element in common, because batches have no index in common.
unsafe impl<T: Send + 'static> ParallelJobData for SliceWrite<'_, T> {
    type Batch<'v> = &'v mut [T];
    type Item<'b> = &'b mut T;

    fn check_count(&self, job: &'static str, count: usize) -> Result<(), ScheduleError> {
        match self.source.known_length() {
            Some(length) if count > length => {
                let container = self.source.label();
                Err(ScheduleError::TooShort { container, job, length, count })
            }
            // If the length is unknown, each batch checks it.
            _ => Ok(()),
        }
    }

    type Open<'v> = NonNull<[T]>;

    #[inline(always)]
    unsafe fn open(held: &HeldSlice<T>) -> NonNull<[T]> {
        held.elements()
    }

    #[inline(always)]
    unsafe fn batch<'v>(
        held: &'v HeldSlice<T>,
        open: &NonNull<[T]>,
        batch: &BatchInfo,
    ) -> &'v mut [T] {
        // SAFETY: `open` was returned by `elements`, and the job is running. The range is that of a batch, so it does not end
        // before it starts. No other job uses the array, because the declared access passed the check, and no other batch has one
        // of these indices.
        unsafe { held.part(*open, batch.range.start, batch.range.end) }
    }

    #[inline(always)]
    fn item<'b>(batch: &'b mut &mut [T], offset: usize) -> &'b mut T {
        &mut batch[offset]
    }
}

/// All elements of an array, which every batch of a job can access without checks.
///
/// See [`JobSlice::write_unrestricted`](crate::JobSlice::write_unrestricted).
///
/// # Examples
///
/// ```
/// use ancho_jobs::{JobPool, JobScheduler, JobSlice};
/// let jobs = JobScheduler::new(&JobPool::new());
/// let mut values = JobSlice::from(vec![1, 2, 0, 0]);
/// // SAFETY: a single job has one batch, so no other batch uses the elements.
/// let token = unsafe { values.write_unrestricted() };
/// let job = jobs.schedule(&[], token, |values| {
///     assert!(!values.is_empty() && values.len() == 4);
///     // SAFETY: no other code uses the elements, and there is a first one.
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

impl<T> UnrestrictedSlice<'_, T> {
    #[inline(always)]
    fn of(held: &HeldSlice<T>) -> Self {
        let elements = held.elements();
        Self { start: elements.cast().as_ptr(), length: elements.len(), _elements: PhantomData }
    }
}

impl<T> Clone for UnrestrictedSlice<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for UnrestrictedSlice<'_, T> {}

impl<'v, T> UnrestrictedSlice<'v, T> {
    /// Returns the number of elements.
    pub fn len(self) -> usize {
        self.length
    }

    /// Returns whether there are no elements.
    pub fn is_empty(self) -> bool {
        self.length == 0
    }

    /// Returns the address of the first element.
    pub fn as_mut_ptr(self) -> *mut T {
        self.start
    }

    /// Returns an element.
    ///
    /// # Panics
    ///
    /// Panics if `index` is out of bounds.
    ///
    /// # Safety
    ///
    /// No batch writes the element while the reference is in use.
    #[track_caller]
    pub unsafe fn get(self, index: usize) -> &'v T {
        assert!(index < self.length, "element {index} of an array of {}", self.length);
        // SAFETY: `index` is inside the array. The caller says that no batch writes the element.
        unsafe { &*self.start.add(index) }
    }

    /// Returns an element for writing.
    ///
    /// # Panics
    ///
    /// Panics if `index` is out of bounds.
    ///
    /// # Safety
    ///
    /// No other reference to the element is in use while this one is.
    #[track_caller]
    pub unsafe fn get_mut(self, index: usize) -> &'v mut T {
        assert!(index < self.length, "element {index} of an array of {}", self.length);
        // SAFETY: `index` is inside the array. The caller says that no other reference to the element is in use.
        unsafe { &mut *self.start.add(index) }
    }
}

// SAFETY: the token declares that it writes the array, which it borrows mutably, and holds its block. The caller of
// `write_unrestricted` says that the accesses through the view do not conflict.
unsafe impl<T: Send + Sync + 'static> JobData for SliceUnrestricted<'_, T> {
    type Held = HeldSlice<T>;
    type Whole<'v> = UnrestrictedSlice<'v, T>;

    fn declare(&self, accesses: &mut AccessList) {
        self.source.declare(accesses, Access::Write);
    }

    fn hold(self) -> HeldSlice<T> {
        self.source.hold()
    }

    #[inline(always)]
    unsafe fn whole(held: &mut HeldSlice<T>) -> UnrestrictedSlice<'_, T> {
        UnrestrictedSlice::of(held)
    }
}

// SAFETY: the token declares that it writes the array, which it borrows mutably, and holds its block. The caller of
// `write_unrestricted` says that the accesses of two batches do not conflict.
unsafe impl<T: Send + Sync + 'static> ParallelJobData for SliceUnrestricted<'_, T> {
    type Batch<'v> = UnrestrictedSlice<'v, T>;
    type Item<'b> = UnrestrictedSlice<'b, T>;

    type Open<'v> = UnrestrictedSlice<'v, T>;

    #[inline(always)]
    unsafe fn open(held: &HeldSlice<T>) -> UnrestrictedSlice<'_, T> {
        UnrestrictedSlice::of(held)
    }

    #[inline(always)]
    unsafe fn batch<'v>(
        _: &'v HeldSlice<T>,
        open: &UnrestrictedSlice<'v, T>,
        _: &BatchInfo,
    ) -> UnrestrictedSlice<'v, T> {
        *open
    }

    #[inline(always)]
    fn item<'b>(batch: &'b mut UnrestrictedSlice<'_, T>, _: usize) -> UnrestrictedSlice<'b, T> {
        *batch
    }
}

impl<T: Send + 'static> JobSlice<T> {
    /// Returns a token for jobs that write the array and cannot read it (Unity's `WriteOnly`).
    ///
    /// For other jobs, this is the same as [`write`](Self::write). Use it for jobs whose result must not depend on the previous
    /// contents of the array: reading them does not compile.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobPool, JobScheduler, JobSlice};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut squares = JobSlice::new(100, 0);
    /// let job = jobs.schedule_for_each(&[], squares.write_only(), 100, 16, |mut square, i| {
    ///     square.set(0, i * i);
    /// });
    /// jobs.complete(job.unwrap());
    /// assert_eq!(squares.as_slice().unwrap()[9], 81);
    /// ```
    ///
    /// ```compile_fail,E0608
    /// # use ancho_jobs::{JobPool, JobScheduler, JobSlice};
    /// # let jobs = JobScheduler::new(&JobPool::new());
    /// # let mut squares = JobSlice::new(100, 0);
    /// let job = jobs.schedule(&[], squares.write_only(), |squares| assert_eq!(squares[0], 0));
    /// ```
    pub fn write_only(&mut self) -> SliceWriteOnly<'_, T> {
        self.write().write_only()
    }
}

impl<'a, T> SliceWrite<'a, T> {
    /// Converts to a token that cannot read. See [`JobSlice::write_only`] for an example.
    pub fn write_only(self) -> SliceWriteOnly<'a, T> {
        SliceWriteOnly { token: self }
    }
}

/// A token that lends a container's elements to a job that writes them and cannot read them.
///
/// # Examples
///
/// See [`JobSlice::write_only`].
#[derive(Debug)]
#[must_use = "a token does nothing until a job is scheduled with it"]
pub struct SliceWriteOnly<'a, T> {
    token: SliceWrite<'a, T>,
}

/// Elements that can be written and not read. A single job gets all elements, a batch gets its own part, and an index gets one
/// element.
///
/// # Examples
///
/// ```
/// use ancho_jobs::{JobPool, JobScheduler, JobSlice};
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let mut values = JobSlice::new(4, 0);
/// let job = jobs.schedule(&[], values.write_only(), |mut values| {
///     assert!(values.len() == 4 && !values.is_empty());
///     values.fill(7);
///     values.set(1, 8);
/// });
/// jobs.complete(job.unwrap());
/// assert_eq!(values.as_slice().unwrap(), [7, 8, 7, 7]);
/// ```
pub struct WriteOnlySlice<'v, T> {
    elements: &'v mut [T],
}

impl<T> WriteOnlySlice<'_, T> {
    /// Returns the number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// Returns whether there are no elements.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// Writes the element at `offset` from the start of this part.
    ///
    /// # Panics
    ///
    /// Panics if `offset` is out of bounds.
    #[inline]
    #[track_caller]
    pub fn set(&mut self, offset: usize, value: T) {
        self.elements[offset] = value;
    }

    /// Writes all elements.
    #[inline]
    pub fn fill(&mut self, value: T)
    where
        T: Clone,
    {
        self.elements.fill(value);
    }

    /// Writes all elements, by calling the function with the offset of each.
    #[inline]
    pub fn fill_with(&mut self, mut value: impl FnMut(usize) -> T) {
        self.elements.iter_mut().enumerate().for_each(|(offset, place)| *place = value(offset));
    }
}

impl<T> fmt::Debug for WriteOnlySlice<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteOnlySlice").field("length", &self.len()).finish()
    }
}

// SAFETY: this token declares, holds and views the same data as the inner token, and exposes less of it.
unsafe impl<T: Send + 'static> JobData for SliceWriteOnly<'_, T> {
    type Held = HeldSlice<T>;
    type Whole<'v> = WriteOnlySlice<'v, T>;

    fn declare(&self, accesses: &mut AccessList) {
        self.token.declare(accesses);
    }

    fn hold(self) -> HeldSlice<T> {
        self.token.hold()
    }

    #[inline(always)]
    unsafe fn whole(held: &mut HeldSlice<T>) -> WriteOnlySlice<'_, T> {
        // SAFETY: the caller says that the accesses passed the check, that no conflicting job is running, and that nothing else is
        // opened from `held`.
        WriteOnlySlice { elements: unsafe { SliceWrite::<T>::whole(held) } }
    }
}

// SAFETY: this token declares, holds and views the same data as the inner token, whose batches have no element in common.
unsafe impl<T: Send + 'static> ParallelJobData for SliceWriteOnly<'_, T> {
    type Batch<'v> = WriteOnlySlice<'v, T>;
    type Item<'b> = WriteOnlySlice<'b, T>;

    fn check_count(&self, job: &'static str, count: usize) -> Result<(), ScheduleError> {
        self.token.check_count(job, count)
    }

    type Open<'v> = NonNull<[T]>;

    #[inline(always)]
    unsafe fn open(held: &HeldSlice<T>) -> NonNull<[T]> {
        // SAFETY: the caller says that the accesses passed the check, and that no conflicting job is running.
        unsafe { SliceWrite::<T>::open(held) }
    }

    #[inline(always)]
    unsafe fn batch<'v>(
        held: &'v HeldSlice<T>,
        open: &NonNull<[T]>,
        batch: &BatchInfo,
    ) -> WriteOnlySlice<'v, T> {
        // SAFETY: `open` was returned by `open` for `held`. The caller says that no other open batch has these indices.
        WriteOnlySlice { elements: unsafe { SliceWrite::<T>::batch(held, open, batch) } }
    }

    #[inline(always)]
    fn item<'b>(batch: &'b mut WriteOnlySlice<'_, T>, offset: usize) -> WriteOnlySlice<'b, T> {
        WriteOnlySlice { elements: &mut batch.elements[offset..=offset] }
    }
}
