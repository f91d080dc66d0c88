//! One participant's share of a parallel job.
#![expect(unsafe_code, reason = "opens each batch that was claimed, once")]

use std::fmt;
use std::ops::Range;

use crate::claims::Claims;
use crate::data::ParallelJobData;

/// One thread's share of a parallel job. It returns batches until none is left.
///
/// User-defined job kinds are built on this (Unity's `GetWorkStealingRange`). The function passed to
/// [`JobBuilder::schedule_work`](crate::JobBuilder::schedule_work) is called once by every participating thread,
/// and loops over [`next_batch`](Self::next_batch). If a function returns before its last batch, batches that no
/// thread takes do not run.
///
/// # Examples
///
/// A job kind that keeps a scratch buffer for all the batches of a thread:
///
/// ```
/// use ancho_jobs::{JobPool, JobScheduler, JobSlice};
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let mut values = JobSlice::from(vec![1_u32; 1000]);
/// let job = jobs.named("Work").schedule_work(&[], values.write(), 1000, 64, |work| {
///     let mut scratch = Vec::new();
///     while let Some((values, _range)) = work.next_batch() {
///         scratch.clear();
///         scratch.extend(values.iter().map(|value| value + 1));
///         values.copy_from_slice(&scratch);
///     }
/// });
/// jobs.complete(job.unwrap());
/// assert!(values.as_slice().unwrap().iter().all(|&value| value == 2));
/// ```
pub struct Work<'v, D: ParallelJobData> {
    pub(crate) held: &'v D::Held,
    /// The values from which the batches are opened.
    pub(crate) open: D::Open<'v>,
    pub(crate) claims: &'v mut Claims,
}

impl<'v, D: ParallelJobData> Work<'v, D> {
    /// Returns the views of the next batch and its indices, or `None` when no batch is left.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobPool, JobScheduler, JobSlice};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut starts = JobSlice::new(100, 0);
    /// let job = jobs.named("Work").schedule_work(&[], starts.write(), 100, 8, |work| {
    ///     while let Some((starts, range)) = work.next_batch() {
    ///         starts.fill(range.start);
    ///     }
    /// });
    /// jobs.complete(job.unwrap());
    /// assert_eq!(starts.as_slice().unwrap()[15..17], [8, 16]);
    /// ```
    #[inline(always)]
    pub fn next_batch(&mut self) -> Option<(D::Batch<'v>, Range<usize>)> {
        let info = self.claims.next()?;
        // SAFETY: the claims assigned this batch only to this participant, once, and `open` was returned for `held`. `Work` is
        // created only for running jobs, whose accesses passed the check.
        let batch = unsafe { D::batch(self.held, &self.open, &info) };
        Some((batch, info.range))
    }

    /// Calls `job` with the views and the indices of every remaining batch.
    ///
    /// Equivalent to a loop over [`next_batch`](Self::next_batch), and faster for small batches.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobPool, JobScheduler, JobSlice};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut starts = JobSlice::new(100, 0);
    /// let job = jobs.named("Work").schedule_work(&[], starts.write(), 100, 8, |work| {
    ///     work.for_each_batch(|starts, range| starts.fill(range.start));
    /// });
    /// jobs.complete(job.unwrap());
    /// assert_eq!(starts.as_slice().unwrap()[15..17], [8, 16]);
    /// ```
    #[inline(always)]
    pub fn for_each_batch(&mut self, mut job: impl FnMut(D::Batch<'v>, Range<usize>)) {
        let Self { held, open, claims } = self;
        let held = *held;
        claims.for_each(
            #[inline(always)]
            |info| {
                // SAFETY: the claims assigned this batch only to this participant, once, and `open` was returned for `held`. `Work`
                // is created only for running jobs, whose accesses passed the check.
                let batch = unsafe { D::batch(held, open, &info) };
                job(batch, info.range);
            },
        );
    }
}

impl<D: ParallelJobData> fmt::Debug for Work<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Work").field("thread", &self.claims.thread()).finish_non_exhaustive()
    }
}
