//! A job with a name or ordering, and the calls that schedule it.
#![expect(unsafe_code, reason = "submits closures whose bounds say that threads may run them")]

use std::any::type_name;
use std::fmt;
use std::ops::Range;

use ancho_burst::CpuLevel;

use super::JobScheduler;
use super::erase::{call_and_settle, each_batch, each_index};
use crate::context::InJob;
use crate::data::{JobData, ParallelJobData};
use crate::error::ScheduleError;
use crate::failure::PanicPasses;
use crate::handle::JobHandle;
use crate::job::{Job, ParallelFor, ParallelForBatch};
use crate::work::Work;

/// A job with a name or ordering, to be scheduled by one of the methods below.
///
/// A builder is created by [`JobScheduler::named`]. The scheduler itself has the most common of these methods, for jobs without a
/// name or ordering.
///
/// # Examples
///
/// ```
/// use ancho_jobs::{JobPool, JobScheduler};
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let spawn = jobs.named("Spawn").schedule(&[], (), |()| {}).unwrap();
/// let steer = jobs.named("Steer").after(&[spawn]).schedule(&[], (), |()| {}).unwrap();
/// jobs.complete(steer);
/// ```
#[derive(Clone, Copy)]
#[must_use = "nothing is scheduled until one of the `schedule` calls"]
pub struct JobBuilder<'s> {
    pub(super) jobs: &'s JobScheduler,
    pub(super) name: Option<&'static str>,
    pub(super) after: &'s [JobHandle],
    /// Set if the job waits for the jobs that use its containers.
    pub(super) in_turn: bool,
    /// The maximum CPU level of the job's loop.
    level: CpuLevel,
}

impl<'s> JobBuilder<'s> {
    pub(super) fn new(jobs: &'s JobScheduler, name: Option<&'static str>) -> Self {
        Self { jobs, name, after: &[], in_turn: false, level: CpuLevel::V4 }
    }

    /// Orders the job after other jobs, without depending on their success: the job runs even if one of them panics.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobCell, JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut log = JobCell::new("");
    /// let fails = jobs.named("Fails").schedule(&[], (), |()| panic!("oh")).unwrap();
    /// let logs = jobs.named("Logs").after(&[fails]).schedule(&[], log.write(), |log| *log = "done");
    /// assert!(jobs.try_complete(logs.unwrap()).is_err(), "the panic is reported nevertheless");
    /// assert_eq!(*log.get().unwrap(), "done");
    /// ```
    pub fn after(self, jobs: &'s [JobHandle]) -> Self {
        Self { after: jobs, ..self }
    }

    /// Makes the job wait for uncompleted jobs that conflict with it over a container. No handles have to be passed, and the job is
    /// not refused with A0001.
    ///
    /// The job depends on the jobs that write its containers: if one of them fails, the data is missing, and the job does not run.
    /// To run the job anyway, [order](Self::after) it after the other job. Jobs that only read are not dependencies: the job is
    /// only ordered after them. If the job is [run](Self::run) immediately, the conflicting jobs are completed first.
    ///
    /// This is not the default, because a job that conflicts by mistake would wait silently. The last of these jobs still has to be
    /// completed, because the containers are in use until then.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobCell, JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut score = JobCell::new(1);
    /// let add = jobs.named("Add").in_turn().schedule(&[], score.write(), |score| *score += 2)?;
    /// let double = jobs.named("Double").in_turn().schedule(&[], score.write(), |score| *score *= 2)?;
    /// jobs.complete(double);
    /// assert_eq!(*score.get().unwrap(), 6);
    /// assert!(jobs.is_completed(add), "the second job has waited for it");
    /// # Ok::<(), ancho_jobs::ScheduleError>(())
    /// ```
    pub fn in_turn(self) -> Self {
        Self { in_turn: true, ..self }
    }

    /// Keeps the job's loop at the CPU level of the build, on any machine.
    ///
    /// Parallel jobs are compiled for several CPU levels, and run the best available one (see `ancho_burst`). Use this method for a
    /// job that is slower with dispatch in a measurement. The results are the same.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobPool, JobScheduler, JobSlice};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut values = JobSlice::from(vec![1.0_f32; 100]);
    /// let job = jobs.named("Double").without_dispatch();
    /// let job = job.schedule_for_each(&[], values.write(), 100, 32, |value, _| *value *= 2.0);
    /// jobs.complete(job.unwrap());
    /// assert_eq!(values.as_slice().unwrap(), [2.0; 100]);
    /// ```
    pub fn without_dispatch(self) -> Self {
        Self { level: CpuLevel::Baseline, ..self }
    }

    /// Returns the job's name: the given one, or the type name of its closure or struct.
    pub(super) fn name_or<F>(&self) -> &'static str {
        self.name.unwrap_or_else(type_name::<F>)
    }
}

impl JobBuilder<'_> {
    /// Schedules a single job. See [`JobScheduler::schedule`].
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`JobScheduler::schedule`].
    #[doc(alias = "IJob")]
    pub fn schedule<D, F>(
        self,
        dependencies: &[JobHandle],
        data: D,
        job: F,
    ) -> Result<JobHandle, ScheduleError>
    where
        D: JobData,
        F: for<'v> FnOnce(D::Whole<'v>) + Send + 'static,
    {
        // SAFETY: the closure is `Send` and borrows nothing.
        unsafe { self.submit_single(self.name_or::<F>(), dependencies, data, job) }
    }

    /// Schedules a parallel job, called for each batch. See [`JobScheduler::schedule_parallel`].
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`JobScheduler::schedule_parallel`].
    #[doc(alias = "IJobParallelForBatch")]
    pub fn schedule_parallel<D, F>(
        self,
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
        let (name, job) = (self.name_or::<F>(), each_batch::<F, D, F>(self.level, job));
        // SAFETY: the closure is `Send` and `Sync`, and borrows nothing.
        unsafe { self.submit_work(name, dependencies, data, count, batch, job) }
    }

    /// Schedules a parallel job, called for each index. See [`JobScheduler::schedule_for_each`].
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`JobScheduler::schedule_for_each`].
    #[doc(alias = "IJobFor")]
    #[doc(alias = "IJobParallelFor")]
    pub fn schedule_for_each<D, F>(
        self,
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
        let (name, job) = (self.name_or::<F>(), each_index::<F, D, F>(self.level, job));
        // SAFETY: the closure is `Send` and `Sync`, and borrows nothing.
        unsafe { self.submit_work(name, dependencies, data, count, batch, job) }
    }

    /// Schedules a parallel job whose count is computed when its dependencies have finished. Use it for work on a
    /// list that an earlier job fills.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`schedule_parallel`](Self::schedule_parallel), except for errors about the count. If the count
    /// is invalid, the job panics.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobCell, JobPool, JobScheduler, JobSlice};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut found = JobCell::new(Vec::new());
    /// let mut doubled = JobSlice::new(100, 0);
    /// let find = jobs.schedule(&[], found.write(), |found| found.extend([3, 5, 7])).unwrap();
    /// let double = jobs.named("Deferred").schedule_deferred(
    ///     &[find],
    ///     (found.read(), doubled.write()),
    ///     |(found, _)| found.len(),
    ///     16,
    ///     |(found, doubled), range| {
    ///         for (out, found) in doubled.iter_mut().zip(&found[range]) {
    ///             *out = found * 2;
    ///         }
    ///     },
    /// );
    /// jobs.complete(double.unwrap());
    /// assert_eq!(doubled.as_slice().unwrap()[..4], [6, 10, 14, 0]);
    /// ```
    #[doc(alias = "IJobParallelForDefer")]
    pub fn schedule_deferred<D, C, F>(
        self,
        dependencies: &[JobHandle],
        data: D,
        count: C,
        batch: usize,
        job: F,
    ) -> Result<JobHandle, ScheduleError>
    where
        D: ParallelJobData,
        C: for<'v> Fn(D::Whole<'v>) -> usize + Send + Sync + 'static,
        F: for<'v> Fn(D::Batch<'v>, Range<usize>) + Send + Sync + 'static,
    {
        let (name, job) = (self.name_or::<F>(), each_batch::<F, D, F>(self.level, job));
        // SAFETY: the closures are `Send` and `Sync`, and borrow nothing.
        unsafe { self.submit_deferred(name, dependencies, data, count, batch, job) }
    }

    /// Schedules a parallel job of a user-defined kind: one call for each participating thread, which takes its
    /// batches from [`Work::next_batch`].
    ///
    /// All other parallel job kinds are built on this one. If a job has no batches, the function is not called.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`schedule_parallel`](Self::schedule_parallel).
    ///
    /// # Examples
    ///
    /// See [`Work`].
    pub fn schedule_work<D, F>(
        self,
        dependencies: &[JobHandle],
        data: D,
        count: usize,
        batch: usize,
        job: F,
    ) -> Result<JobHandle, ScheduleError>
    where
        D: ParallelJobData,
        F: for<'v> Fn(&mut Work<'v, D>) + Send + Sync + 'static,
    {
        // SAFETY: the closure is `Send` and `Sync`, and borrows nothing.
        unsafe { self.submit_work(self.name_or::<F>(), dependencies, data, count, batch, job) }
    }

    /// Schedules a job that appends to a list each index of `0..count` for which the closure returns true, in order
    /// (Unity's `ScheduleAppend`).
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`schedule`](Self::schedule).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobCell, JobPool, JobScheduler, JobSlice};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let values = JobSlice::from(vec![4, 1, 6, 2]);
    /// let mut large = JobCell::new(Vec::<usize>::new());
    /// let find = jobs
    ///     .named("Find")
    ///     .schedule_append(&[], large.write(), values.read(), 4, |values, i| values[i] > 3)
    ///     .unwrap();
    /// let keep = jobs
    ///     .named("Keep")
    ///     .schedule_filter(&[find], large.write(), values.read(), |values, i| values[i] < 5)
    ///     .unwrap();
    /// jobs.complete(keep);
    /// assert_eq!(large.get().unwrap(), &[0]);
    /// ```
    pub fn schedule_append<L, D, F>(
        self,
        dependencies: &[JobHandle],
        list: L,
        data: D,
        count: usize,
        accept: F,
    ) -> Result<JobHandle, ScheduleError>
    where
        L: JobData,
        for<'v> L::Whole<'v>: IndexList,
        D: JobData,
        F: for<'v> Fn(&mut D::Whole<'v>, usize) -> bool + Send + 'static,
    {
        let append = move |(mut list, mut data): (L::Whole<'_>, D::Whole<'_>)| {
            (0..count)
                .filter(|&index| accept(&mut data, index))
                .for_each(|index| list.append(index));
        };
        // SAFETY: the closure is `Send` and borrows nothing, because its captures are `Send` and borrow nothing.
        unsafe { self.submit_single(self.name_or::<F>(), dependencies, (list, data), append) }
    }

    /// Schedules a job that removes from a list each index for which the closure returns false (Unity's
    /// `ScheduleFilter`). The closure is called in order.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`schedule`](Self::schedule).
    ///
    /// # Examples
    ///
    /// See [`schedule_append`](Self::schedule_append).
    pub fn schedule_filter<L, D, F>(
        self,
        dependencies: &[JobHandle],
        list: L,
        data: D,
        accept: F,
    ) -> Result<JobHandle, ScheduleError>
    where
        L: JobData,
        for<'v> L::Whole<'v>: IndexList,
        D: JobData,
        F: for<'v> Fn(&mut D::Whole<'v>, usize) -> bool + Send + 'static,
    {
        let filter = move |(mut list, mut data): (L::Whole<'_>, D::Whole<'_>)| {
            list.keep(|index| accept(&mut data, index));
        };
        // SAFETY: the closure is `Send` and borrows nothing, because its captures are `Send` and borrow nothing.
        unsafe { self.submit_single(self.name_or::<F>(), dependencies, (list, data), filter) }
    }

    /// Schedules a job struct. See [`JobScheduler::schedule_job`].
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`JobScheduler::schedule`].
    pub fn schedule_job<J: Job>(
        self,
        dependencies: &[JobHandle],
        job: J,
    ) -> Result<JobHandle, ScheduleError> {
        let execute = |fields: <J::Data as JobData>::Whole<'_>| J::execute(J::view(fields));
        // SAFETY: the function is `Send` and borrows nothing.
        unsafe { self.submit_single(self.name_or::<J>(), dependencies, job.into_data(), execute) }
    }

    /// Schedules a job struct, called for each index. See [`JobScheduler::schedule_parallel_for`].
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`JobScheduler::schedule_parallel`].
    pub fn schedule_parallel_for<J: ParallelFor>(
        self,
        dependencies: &[JobHandle],
        job: J,
        count: usize,
        batch: usize,
    ) -> Result<JobHandle, ScheduleError> {
        let (name, data) = (self.name_or::<J>(), job.into_data());
        let execute = each_index::<J, J::Data, _>(
            self.level,
            #[inline(always)]
            |fields, index| J::execute(J::item(fields), index),
        );
        // SAFETY: the function is `Send` and `Sync`, and borrows nothing.
        unsafe { self.submit_work(name, dependencies, data, count, batch, execute) }
    }

    /// Schedules a job struct, called for each batch. See
    /// [`JobScheduler::schedule_parallel_for_batch`].
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`JobScheduler::schedule_parallel`].
    pub fn schedule_parallel_for_batch<J: ParallelForBatch>(
        self,
        dependencies: &[JobHandle],
        job: J,
        count: usize,
        batch: usize,
    ) -> Result<JobHandle, ScheduleError> {
        let (name, data) = (self.name_or::<J>(), job.into_data());
        let execute = each_batch::<J, J::Data, _>(
            self.level,
            #[inline(always)]
            |fields, range| J::execute(J::batch(fields), range),
        );
        // SAFETY: the function is `Send` and `Sync`, and borrows nothing.
        unsafe { self.submit_work(name, dependencies, data, count, batch, execute) }
    }

    /// Runs a job now, on this thread. See [`JobScheduler::run`].
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`JobScheduler::run`].
    ///
    /// # Panics
    ///
    /// Panics with code A0011 if the job waits for its [turn](Self::in_turn), and a job fails that writes one of its containers.
    #[track_caller]
    pub fn run<D, R, F>(self, data: D, job: F) -> Result<R, ScheduleError>
    where
        D: JobData,
        F: for<'v> FnOnce(D::Whole<'v>) -> R,
    {
        let name = self.name_or::<F>();
        self.jobs.check_now(name, &data, self.in_turn)?;
        let _passes = PanicPasses;
        let mut held = data.hold();
        let _in_job = InJob::enter(0, self.jobs.id, name);
        let start = self.jobs.shared.profiler.start();
        // SAFETY: the declared accesses have just passed the check. No conflicting job can be scheduled before the call returns,
        // because the containers are borrowed until then. Nothing else is opened from `held`.
        let result = unsafe { call_and_settle::<D, R>(&mut held, job) };
        if let Some(start) = start {
            self.jobs.shared.profiler.record(0, name, 0, start);
        }
        Ok(result)
    }

    /// Runs a parallel job now, on all threads, and waits for it. See [`JobScheduler::run_parallel`].
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`JobScheduler::run_parallel`].
    ///
    /// # Panics
    ///
    /// Panics like [`JobScheduler::run_parallel`].
    #[track_caller]
    pub fn run_parallel<D, F>(
        self,
        data: D,
        count: usize,
        batch: usize,
        job: F,
    ) -> Result<(), ScheduleError>
    where
        D: ParallelJobData,
        F: for<'v> Fn(D::Batch<'v>, Range<usize>) + Sync,
    {
        let name = self.name_or::<F>();
        let job = &job;
        let each = each_batch::<F, D, _>(
            self.level,
            #[inline(always)]
            move |views, range| job(views, range),
        );
        // SAFETY: the reference to the closure is `Send` and `Sync`, since the closure is `Sync`. Its borrows outlive
        // the job, which is completed before this function returns or unwinds.
        let handle = unsafe { self.submit_work(name, &[], data, count, batch, each) }?;
        let guard = AbortOnUnwind;
        let completed = self.jobs.try_complete(handle);
        std::mem::forget(guard);
        if let Err(failed) = completed {
            panic!("{failed}");
        }
        Ok(())
    }
}

impl fmt::Debug for JobBuilder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobBuilder")
            .field("name", &self.name)
            .field("after", &self.after)
            .field("in_turn", &self.in_turn)
            .finish_non_exhaustive()
    }
}

/// Guard that aborts the process instead of unwinding a frame to which other threads have pointers.
struct AbortOnUnwind;

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        std::process::abort();
    }
}

/// A list of indices, for [`JobBuilder::schedule_append`](crate::JobBuilder::schedule_append) and
/// [`JobBuilder::schedule_filter`](crate::JobBuilder::schedule_filter).
///
/// # Examples
///
/// ```
/// use ancho_jobs::IndexList;
///
/// fn even_squares(mut list: impl IndexList) {
///     (0..5).for_each(|number| list.append(number * number));
///     list.keep(|square| square % 2 == 0);
/// }
///
/// let mut list = Vec::<u32>::new();
/// even_squares(&mut list);
/// assert_eq!(list, [0, 4, 16]);
/// ```
pub trait IndexList {
    /// Adds an index at the end.
    fn append(&mut self, index: usize);

    /// Removes the indices for which `accept` returns false, and keeps the order of the others.
    fn keep(&mut self, accept: impl FnMut(usize) -> bool);
}

impl IndexList for &mut Vec<usize> {
    fn append(&mut self, index: usize) {
        self.push(index);
    }

    fn keep(&mut self, mut accept: impl FnMut(usize) -> bool) {
        self.retain(|&index| accept(index));
    }
}

impl IndexList for &mut Vec<u32> {
    fn append(&mut self, index: usize) {
        self.push(u32::try_from(index).expect("a list of `u32` holds indices up to 4294967295"));
    }

    fn keep(&mut self, mut accept: impl FnMut(usize) -> bool) {
        self.retain(|&index| accept(index as usize));
    }
}
