//! Arrays that a job writes and cannot read.
#![expect(unsafe_code, reason = "passes on what the token of a slice promises")]

use std::fmt;
use std::ptr::NonNull;

use super::{AccessList, HeldSlice, JobSlice, SliceWrite};
use crate::claims::BatchInfo;
use crate::data::{JobData, ParallelJobData};
use crate::error::ScheduleError;

impl<T: Send + 'static> JobSlice<T> {
    /// Returns a token for jobs that write the array and cannot read it (Unity's `WriteOnly`).
    ///
    /// For other jobs this equals [`write`](Self::write). Use it for jobs whose result must not depend on the
    /// previous contents of the array: reading does not compile.
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

/// A loan of a container's elements, for a job that writes them and cannot read them.
///
/// # Examples
///
/// See [`JobSlice::write_only`].
#[derive(Debug)]
#[must_use = "a token does nothing until a job is scheduled with it"]
pub struct SliceWriteOnly<'a, T> {
    token: SliceWrite<'a, T>,
}

/// Elements that can be written and not read: all of them in a single job, the batch's own part in a batch, one for
/// an index.
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

// SAFETY: declares, holds and views the same as the token inside, and exposes less of it.
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
        // SAFETY: the accesses passed the check, no conflicting job runs, and nothing else is opened from `held`, by
        // the contract of `whole`.
        WriteOnlySlice { elements: unsafe { SliceWrite::<T>::whole(held) } }
    }
}

// SAFETY: declares, holds and views the same as the token inside, whose batches have no element in common.
unsafe impl<T: Send + 'static> ParallelJobData for SliceWriteOnly<'_, T> {
    type Batch<'v> = WriteOnlySlice<'v, T>;
    type Item<'b> = WriteOnlySlice<'b, T>;

    fn check_count(&self, job: &'static str, count: usize) -> Result<(), ScheduleError> {
        self.token.check_count(job, count)
    }

    type Open<'v> = NonNull<[T]>;

    #[inline(always)]
    unsafe fn open(held: &HeldSlice<T>) -> NonNull<[T]> {
        // SAFETY: the accesses passed the check, and no conflicting job runs, by the contract of `open`.
        unsafe { SliceWrite::<T>::open(held) }
    }

    #[inline(always)]
    unsafe fn batch<'v>(
        held: &'v HeldSlice<T>,
        open: &NonNull<[T]>,
        batch: &BatchInfo,
    ) -> WriteOnlySlice<'v, T> {
        // SAFETY: `open` was returned for `held`, and no other open batch has these indices, by the contract of
        // `batch`.
        WriteOnlySlice { elements: unsafe { SliceWrite::<T>::batch(held, open, batch) } }
    }

    #[inline(always)]
    fn item<'b>(batch: &'b mut WriteOnlySlice<'_, T>, offset: usize) -> WriteOnlySlice<'b, T> {
        WriteOnlySlice { elements: &mut batch.elements[offset..=offset] }
    }
}
