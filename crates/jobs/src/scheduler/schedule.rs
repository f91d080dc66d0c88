//! Short forms of the builder's methods, for jobs without a name or ordering.

use std::ops::Range;

use super::JobScheduler;
use super::builder::JobBuilder;
use crate::data::{JobData, ParallelJobData};
use crate::error::ScheduleError;
use crate::handle::JobHandle;
use crate::job::{Job, ParallelFor, ParallelForBatch};

impl JobScheduler {
    /// Schedules a single job: one call, on any thread.
    ///
    /// The job starts when its dependencies have finished, but not before the next [`flush`](Self::flush), or before a
    /// [`complete`](Self::complete) that needs it.
    ///
    /// # Errors
    ///
    /// Returns an error, and schedules nothing, if:
    ///
    /// - the job conflicts with an uncompleted job that it does not depend on (A0001);
    /// - it uses one container twice (A0002);
    /// - a handle or a container in use belongs to another scheduler (A0004, A0005);
    /// - the call comes from inside a job (A0006);
    /// - too many jobs are uncompleted (A0008).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobCell, JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut answer = JobCell::new(0);
    /// let job = jobs.schedule(&[], answer.write(), |answer| *answer = 42).unwrap();
    /// jobs.complete(job);
    /// assert_eq!(answer.into_inner().unwrap(), 42);
    /// ```
    #[doc(alias = "IJob")]
    pub fn schedule<D, F>(
        &self,
        dependencies: &[JobHandle],
        data: D,
        job: F,
    ) -> Result<JobHandle, ScheduleError>
    where
        D: JobData,
        F: for<'v> FnOnce(D::Whole<'v>) + Send + 'static,
    {
        JobBuilder::new(self, None).schedule(dependencies, data, job)
    }

    /// Schedules a parallel job: one call for each batch of `batch` indices of `0..count`, on all threads. The last
    /// batch may be shorter.
    ///
    /// Each batch gets its own part of written containers, and all of read containers. Choose a batch size whose work takes about
    /// as long as a few thousand additions. If there are many batches, a thread takes several at once. A job with one batch wakes
    /// no other thread.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`schedule`](Self::schedule). Also returns an error for a batch size of zero
    /// (A0007), for more than 4,294,967,295 batches (A0009), and for a written container that is shorter than `count`
    /// (A0010).
    ///
    /// # Determinism
    ///
    /// The batches do not depend on threads. The order in which they run does.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobPool, JobScheduler, JobSlice};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut squares = JobSlice::new(1000, 0);
    /// let job = jobs.schedule_parallel(&[], squares.write(), 1000, 64, |squares, range| {
    ///     for (square, i) in squares.iter_mut().zip(range) {
    ///         *square = i * i;
    ///     }
    /// });
    /// jobs.complete(job.unwrap());
    /// assert_eq!(squares.as_slice().unwrap()[999], 998_001);
    /// ```
    #[doc(alias = "IJobParallelForBatch")]
    pub fn schedule_parallel<D, F>(
        &self,
        dependencies: &[JobHandle],
        data: D,
        count: usize,
        batch: usize,
        job: F,
    ) -> Result<JobHandle, ScheduleError>
    where
        D: ParallelJobData,
        F: for<'v> Fn(D::Batch<'v>, Range<usize>) + Send + Sync + 'static,
    {
        JobBuilder::new(self, None).schedule_parallel(dependencies, data, count, batch, job)
    }

    /// Schedules a parallel job: one call for each index of `0..count`, on all threads, in batches of `batch`
    /// indices.
    ///
    /// Each index gets its own element of written containers, and all of read containers.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`schedule_parallel`](Self::schedule_parallel).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobPool, JobScheduler, JobSlice};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut positions = JobSlice::new(1000, 0.0);
    /// let velocities = JobSlice::new(1000, 3.0);
    /// let data = (positions.write(), velocities.read());
    /// let job = jobs.schedule_for_each(&[], data, 1000, 64, |(position, velocities), i| {
    ///     *position += velocities[i] * 0.5;
    /// });
    /// jobs.complete(job.unwrap());
    /// assert_eq!(positions.as_slice().unwrap()[999], 1.5);
    /// ```
    #[doc(alias = "IJobFor")]
    #[doc(alias = "IJobParallelFor")]
    pub fn schedule_for_each<D, F>(
        &self,
        dependencies: &[JobHandle],
        data: D,
        count: usize,
        batch: usize,
        job: F,
    ) -> Result<JobHandle, ScheduleError>
    where
        D: ParallelJobData,
        F: for<'b> Fn(D::Item<'b>, usize) + Send + Sync + 'static,
    {
        JobBuilder::new(self, None).schedule_for_each(dependencies, data, count, batch, job)
    }

    /// Schedules a single job that is a struct. See [`Job`] for an example.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`schedule`](Self::schedule).
    pub fn schedule_job<J: Job>(
        &self,
        dependencies: &[JobHandle],
        job: J,
    ) -> Result<JobHandle, ScheduleError> {
        JobBuilder::new(self, None).schedule_job(dependencies, job)
    }

    /// Schedules a parallel job that is a struct, called for each index. See [`ParallelFor`] for an
    /// example.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`schedule_parallel`](Self::schedule_parallel).
    pub fn schedule_parallel_for<J: ParallelFor>(
        &self,
        dependencies: &[JobHandle],
        job: J,
        count: usize,
        batch: usize,
    ) -> Result<JobHandle, ScheduleError> {
        JobBuilder::new(self, None).schedule_parallel_for(dependencies, job, count, batch)
    }

    /// Schedules a parallel job that is a struct, called for each batch. See [`ParallelForBatch`] for
    /// an example.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`schedule_parallel`](Self::schedule_parallel).
    pub fn schedule_parallel_for_batch<J: ParallelForBatch>(
        &self,
        dependencies: &[JobHandle],
        job: J,
        count: usize,
        batch: usize,
    ) -> Result<JobHandle, ScheduleError> {
        JobBuilder::new(self, None).schedule_parallel_for_batch(dependencies, job, count, batch)
    }

    /// Runs a job immediately on this thread, and returns its result. The closure may borrow.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`schedule`](Self::schedule) without dependencies: conflicting jobs must have been
    /// completed.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobPool, JobScheduler, JobSlice};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let values = JobSlice::from(vec![1, 2, 3]);
    /// let factor = 2;
    /// let sum = jobs.run(values.read(), |values| values.iter().sum::<i32>() * factor);
    /// assert_eq!(sum.unwrap(), 12);
    /// ```
    pub fn run<D, R, F>(&self, data: D, job: F) -> Result<R, ScheduleError>
    where
        D: JobData,
        F: for<'v> FnOnce(D::Whole<'v>) -> R,
    {
        JobBuilder::new(self, None).run(data, job)
    }

    /// Runs a parallel job immediately on all threads, with one call for each batch, and waits for it. The closure
    /// may borrow.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`schedule_parallel`](Self::schedule_parallel) without dependencies: conflicting
    /// jobs must have been completed.
    ///
    /// # Panics
    ///
    /// Panics with code A0011 if the closure panics.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobPool, JobScheduler, JobSlice};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut values = JobSlice::new(1000, 1);
    /// let factor = 7;
    /// jobs.run_parallel(values.write(), 1000, 64, |values, _| {
    ///     values.iter_mut().for_each(|value| *value *= factor);
    /// })
    /// .unwrap();
    /// assert_eq!(values.as_slice().unwrap()[999], 7);
    /// ```
    #[track_caller]
    pub fn run_parallel<D, F>(
        &self,
        data: D,
        count: usize,
        batch: usize,
        job: F,
    ) -> Result<(), ScheduleError>
    where
        D: ParallelJobData,
        F: for<'v> Fn(D::Batch<'v>, Range<usize>) + Sync,
    {
        JobBuilder::new(self, None).run_parallel(data, count, batch, job)
    }

    /// Combines several handles into one handle, which is complete when all of them are.
    ///
    /// # Errors
    ///
    /// Returns an error if a handle belongs to another scheduler (A0004), if the call comes from inside a job
    /// (A0006), or if too many jobs are uncompleted (A0008).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let a = jobs.schedule(&[], (), |()| {}).unwrap();
    /// let b = jobs.schedule(&[], (), |()| {}).unwrap();
    /// let both = jobs.combine(&[a, b]).unwrap();
    /// jobs.complete(both);
    /// assert!(jobs.is_completed(a) && jobs.is_completed(b));
    /// ```
    pub fn combine(&self, handles: &[JobHandle]) -> Result<JobHandle, ScheduleError> {
        self.submit_join(handles)
    }
}
