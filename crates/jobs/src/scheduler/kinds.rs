//! The kinds of jobs: how each is scheduled, and what it runs.
#![expect(unsafe_code, reason = "erases the types of jobs and runs them as the scheduler promises")]

use std::ops::Range;
use std::ptr;

use super::JobScheduler;
use super::builder::JobBuilder;
use super::submit::Request;
use crate::context::InJob;
use crate::data::{JobData, ParallelJobData};
use crate::error::ScheduleError;
use crate::handle::JobHandle;
use crate::job::{Job, ParallelFor, ParallelForBatch};
use crate::node::{TaskFunctions, TaskKind};
use crate::work::{Claims, Work};

impl JobBuilder<'_> {
    /// Schedules a single job. See [`JobScheduler::schedule`].
    ///
    /// # Errors
    ///
    /// As [`JobScheduler::schedule`].
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
    /// As [`JobScheduler::schedule_parallel`].
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
        let name = self.name_or::<F>();
        // SAFETY: the closure is `Send` and `Sync`, and borrows nothing.
        unsafe { self.submit_work(name, dependencies, data, count, batch, each_batch::<D, F>(job)) }
    }

    /// Schedules a parallel job, called for each index. See [`JobScheduler::schedule_for_each`].
    ///
    /// # Errors
    ///
    /// As [`JobScheduler::schedule_for_each`].
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
        let name = self.name_or::<F>();
        // SAFETY: the closure is `Send` and `Sync`, and borrows nothing.
        unsafe { self.submit_work(name, dependencies, data, count, batch, each_index::<D, F>(job)) }
    }

    /// Schedules a parallel job whose count is asked for when all before it has finished. See
    /// [`JobScheduler::schedule_deferred`].
    ///
    /// # Errors
    ///
    /// As [`JobScheduler::schedule_deferred`].
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
        let name = self.name_or::<F>();
        // SAFETY: the closures are `Send` and `Sync`, and borrow nothing.
        unsafe {
            self.submit_deferred(name, dependencies, data, count, batch, each_batch::<D, F>(job))
        }
    }

    /// Schedules a parallel job of a kind of the caller's own. See [`JobScheduler::schedule_work`].
    ///
    /// # Errors
    ///
    /// As [`JobScheduler::schedule_work`].
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

    /// Schedules a job that appends the accepted indices to a list. See
    /// [`JobScheduler::schedule_append`].
    ///
    /// # Errors
    ///
    /// As [`JobScheduler::schedule`].
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
        // SAFETY: the closure is `Send` and borrows nothing, like the one it was given.
        unsafe { self.submit_single(self.name_or::<F>(), dependencies, (list, data), append) }
    }

    /// Schedules a job that keeps only the accepted indices in a list. See
    /// [`JobScheduler::schedule_filter`].
    ///
    /// # Errors
    ///
    /// As [`JobScheduler::schedule`].
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
        // SAFETY: the closure is `Send` and borrows nothing, like the one it was given.
        unsafe { self.submit_single(self.name_or::<F>(), dependencies, (list, data), filter) }
    }

    /// Schedules a job struct. See [`JobScheduler::schedule_job`].
    ///
    /// # Errors
    ///
    /// As [`JobScheduler::schedule`].
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
    /// As [`JobScheduler::schedule_parallel`].
    pub fn schedule_parallel_for<J: ParallelFor>(
        self,
        dependencies: &[JobHandle],
        job: J,
        count: usize,
        batch: usize,
    ) -> Result<JobHandle, ScheduleError> {
        let (name, data) = (self.name_or::<J>(), job.into_data());
        let execute = each_index::<J::Data, _>(
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
    /// As [`JobScheduler::schedule_parallel`].
    pub fn schedule_parallel_for_batch<J: ParallelForBatch>(
        self,
        dependencies: &[JobHandle],
        job: J,
        count: usize,
        batch: usize,
    ) -> Result<JobHandle, ScheduleError> {
        let (name, data) = (self.name_or::<J>(), job.into_data());
        let execute = each_batch::<J::Data, _>(
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
    /// As [`JobScheduler::run`].
    pub fn run<D, R, F>(self, data: D, job: F) -> Result<R, ScheduleError>
    where
        D: JobData,
        F: for<'v> FnOnce(D::Whole<'v>) -> R,
    {
        let name = self.name_or::<F>();
        self.jobs.check_now(name, &data)?;
        let mut held = data.hold();
        let _in_job = InJob::enter(0, name);
        // SAFETY: the declared accesses passed the check just now. No job that conflicts can be
        // scheduled before the call returns, since nothing can be scheduled from inside a job.
        Ok(job(unsafe { D::whole(&mut held) }))
    }

    /// Runs a parallel job now, on all threads, and waits for it. See [`JobScheduler::run_parallel`].
    ///
    /// # Errors
    ///
    /// As [`JobScheduler::run_parallel`].
    ///
    /// # Panics
    ///
    /// As [`JobScheduler::run_parallel`].
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
        let each = each_batch::<D, _>(
            #[inline(always)]
            move |views, range| job(views, range),
        );
        // SAFETY: the reference to the closure is `Send` and `Sync`, since the closure is `Sync`. What
        // it borrows outlives the job, which is completed before this function returns or unwinds.
        let handle = unsafe { self.submit_work(name, &[], data, count, batch, each) }?;
        let guard = AbortOnUnwind;
        let completed = self.jobs.try_complete(handle);
        std::mem::forget(guard);
        if let Err(failed) = completed {
            panic!("{failed}");
        }
        Ok(())
    }

    /// # Safety
    ///
    /// The closure may be run and dropped on any thread, and what it borrows outlives the job.
    unsafe fn submit_single<D, F>(
        self,
        name: &'static str,
        dependencies: &[JobHandle],
        data: D,
        job: F,
    ) -> Result<JobHandle, ScheduleError>
    where
        D: JobData,
        F: for<'v> FnOnce(D::Whole<'v>),
    {
        let functions = const {
            &TaskFunctions {
                kind: TaskKind::Single(run_single::<D, F>),
                drop: drop_payload::<Single<D, F>>,
            }
        };
        let request =
            Request { name, functions, dependencies, after: self.after, count: 1, batch: 1 };
        // SAFETY: the payload is what the functions are for; its closure is as promised to this
        // function, and what it holds is `Send` and borrows nothing, as `JobData` demands.
        unsafe { self.jobs.submit(&request, data, |held| Single::<D, F> { held, job }) }
    }

    /// # Safety
    ///
    /// The closure may be run by several threads at once and dropped by any, and what it borrows
    /// outlives the job.
    unsafe fn submit_work<D, F>(
        self,
        name: &'static str,
        dependencies: &[JobHandle],
        data: D,
        count: usize,
        batch: usize,
        job: F,
    ) -> Result<JobHandle, ScheduleError>
    where
        D: ParallelJobData,
        F: for<'v> Fn(&mut Work<'v, D>),
    {
        let functions = const {
            &TaskFunctions {
                kind: TaskKind::Parallel(run_work::<D, F>),
                drop: drop_payload::<Parallel<D, F>>,
            }
        };
        data.check_count(name, count)?;
        let request = Request { name, functions, dependencies, after: self.after, count, batch };
        // SAFETY: as in `submit_single`; what the payload holds is `Sync` too.
        unsafe { self.jobs.submit(&request, data, |held| Parallel::<D, F> { held, job }) }
    }

    /// # Safety
    ///
    /// As for `submit_work`, for both closures.
    unsafe fn submit_deferred<D, C, F>(
        self,
        name: &'static str,
        dependencies: &[JobHandle],
        data: D,
        count: C,
        batch: usize,
        job: F,
    ) -> Result<JobHandle, ScheduleError>
    where
        D: ParallelJobData,
        C: for<'v> Fn(D::Whole<'v>) -> usize,
        F: for<'v> Fn(&mut Work<'v, D>),
    {
        let functions = const {
            &TaskFunctions {
                kind: TaskKind::Deferred(ask_count::<D, C, F>, run_deferred::<D, C, F>),
                drop: drop_payload::<Deferred<D, C, F>>,
            }
        };
        let request = Request { name, functions, dependencies, after: self.after, count: 0, batch };
        let payload = |held| Deferred { parallel: Parallel::<D, F> { held, job }, count };
        // SAFETY: as in `submit_work`.
        unsafe { self.jobs.submit(&request, data, payload) }
    }
}

impl JobScheduler {
    /// Schedules a single job: one call, on some thread.
    ///
    /// The job starts when what it depends on has finished, and not before the next
    /// [`flush`](Self::flush), or a [`complete`](Self::complete) that needs it.
    ///
    /// # Errors
    ///
    /// Returns an error, and schedules nothing, if the job conflicts with one that was scheduled
    /// before and not completed, and that it does not depend on (A0001); if it takes one container
    /// twice (A0002); if a handle or a container in use belongs to another scheduler (A0004, A0005);
    /// if the call comes from inside a job (A0006); or if too many jobs are uncompleted (A0008).
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

    /// Schedules a parallel job: one call for each batch of `batch` indices of `0..count`, the last
    /// one shorter, on all threads.
    ///
    /// Containers that are written are seen as the batch's own part, those that are read as a whole.
    /// A batch size of some thousand additions is a good one; several batches are taken at once where
    /// there are many. A job of one batch wakes no other thread.
    ///
    /// # Errors
    ///
    /// As [`schedule`](Self::schedule); also for a batch size of zero (A0007), for more than
    /// 4,294,967,295 batches (A0009), and for a container that is written and shorter than `count`
    /// (A0010).
    ///
    /// # Determinism
    ///
    /// The batches are the same whatever the threads do; which runs first is not.
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

    /// Schedules a parallel job: one call for each index of `0..count`, on all threads, `batch` of them
    /// at a time.
    ///
    /// Containers that are written are seen as the index's own element, those that are read as a whole.
    ///
    /// # Errors
    ///
    /// As [`schedule_parallel`](Self::schedule_parallel).
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

    /// Schedules a parallel job whose count is asked for when all that it depends on has finished: for
    /// work on a list that an earlier job fills.
    ///
    /// # Errors
    ///
    /// As [`schedule_parallel`](Self::schedule_parallel), but for the checks of the count. Where those
    /// would fail, the job panics.
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
    /// let double = jobs.schedule_deferred(
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
    pub fn schedule_deferred<D, C, F>(
        &self,
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
        JobBuilder::new(self, None).schedule_deferred(dependencies, data, count, batch, job)
    }

    /// Schedules a parallel job of a kind of the caller's own: one call for each thread that takes
    /// part, which gets its batches from [`Work::next_batch`].
    ///
    /// All other parallel kinds are made of this one. A job without batches is not called.
    ///
    /// # Errors
    ///
    /// As [`schedule_parallel`](Self::schedule_parallel).
    ///
    /// # Examples
    ///
    /// See [`Work`].
    pub fn schedule_work<D, F>(
        &self,
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
        JobBuilder::new(self, None).schedule_work(dependencies, data, count, batch, job)
    }

    /// Schedules a job that asks for each index of `0..count`, in order, whether it is accepted, and
    /// appends those that are to a list (Unity's `ScheduleAppend`).
    ///
    /// # Errors
    ///
    /// As [`schedule`](Self::schedule).
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
    ///     .schedule_append(&[], large.write(), values.read(), 4, |values, i| values[i] > 3)
    ///     .unwrap();
    /// let keep = jobs
    ///     .schedule_filter(&[find], large.write(), values.read(), |values, i| values[i] < 5)
    ///     .unwrap();
    /// jobs.complete(keep);
    /// assert_eq!(large.get().unwrap(), &[0]);
    /// ```
    pub fn schedule_append<L, D, F>(
        &self,
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
        JobBuilder::new(self, None).schedule_append(dependencies, list, data, count, accept)
    }

    /// Schedules a job that asks for each index in a list, in order, whether it is accepted, and
    /// removes those that are not (Unity's `ScheduleFilter`).
    ///
    /// # Errors
    ///
    /// As [`schedule`](Self::schedule).
    ///
    /// # Examples
    ///
    /// See [`schedule_append`](Self::schedule_append).
    pub fn schedule_filter<L, D, F>(
        &self,
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
        JobBuilder::new(self, None).schedule_filter(dependencies, list, data, accept)
    }

    /// Schedules a single job that is a struct. See [`Job`] for an example.
    ///
    /// # Errors
    ///
    /// As [`schedule`](Self::schedule).
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
    /// As [`schedule_parallel`](Self::schedule_parallel).
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
    /// As [`schedule_parallel`](Self::schedule_parallel).
    pub fn schedule_parallel_for_batch<J: ParallelForBatch>(
        &self,
        dependencies: &[JobHandle],
        job: J,
        count: usize,
        batch: usize,
    ) -> Result<JobHandle, ScheduleError> {
        JobBuilder::new(self, None).schedule_parallel_for_batch(dependencies, job, count, batch)
    }

    /// Runs a job now, on this thread, and returns what it returns. The closure may borrow.
    ///
    /// # Errors
    ///
    /// As [`schedule`](Self::schedule) without dependencies: conflicting jobs must have been completed.
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

    /// Runs a parallel job now, on all threads, one call for each batch, and waits for it. The closure
    /// may borrow.
    ///
    /// # Errors
    ///
    /// As [`schedule_parallel`](Self::schedule_parallel) without dependencies: conflicting jobs must
    /// have been completed.
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

    /// Makes one handle of several: it is complete when all of them are.
    ///
    /// # Errors
    ///
    /// Returns an error if one belongs to another scheduler (A0004), if the call comes from inside a
    /// job (A0006), or if too many jobs are uncompleted (A0008).
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

/// A list that [`JobScheduler::schedule_append`] and [`JobScheduler::schedule_filter`] work on.
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

struct Single<D: JobData, F> {
    held: D::Held,
    job: F,
}

struct Parallel<D: ParallelJobData, F> {
    held: D::Held,
    job: F,
}

struct Deferred<D: ParallelJobData, C, F> {
    parallel: Parallel<D, F>,
    count: C,
}

/// Makes a participant's work of a call for each batch, compiled for each CPU level.
fn each_batch<D, F>(job: F) -> impl for<'v> Fn(&mut Work<'v, D>)
where
    D: ParallelJobData,
    F: for<'v> Fn(D::Batch<'v>, Range<usize>),
{
    move |work: &mut Work<'_, D>| {
        ancho_burst::dispatch(
            #[inline(always)]
            || {
                work.for_each_batch(
                    #[inline(always)]
                    |views, range| job(views, range),
                );
            },
        );
    }
}

/// Makes a participant's work of a call for each index, compiled for each CPU level.
fn each_index<D, F>(job: F) -> impl for<'v> Fn(&mut Work<'v, D>)
where
    D: ParallelJobData,
    F: for<'b> Fn(D::Item<'b>, usize),
{
    each_batch::<D, _>(
        #[inline(always)]
        move |mut views, range: Range<usize>| {
            for offset in 0..range.end - range.start {
                job(D::item(&mut views, offset), range.start + offset);
            }
        },
    )
}

/// # Safety
///
/// As for `TaskKind`, with a payload of `Single<D, F>`.
unsafe fn run_single<D, F>(payload: *mut u8)
where
    D: JobData,
    F: for<'v> FnOnce(D::Whole<'v>),
{
    // SAFETY: the payload is of this type, and consumed here: a single job runs once.
    let Single { mut held, job } = unsafe { ptr::read(payload.cast::<Single<D, F>>()) };
    // SAFETY: the check has passed, what the job depends on has finished, and nothing else is opened.
    job(unsafe { D::whole(&mut held) });
}

/// # Safety
///
/// As for `TaskKind`, with a payload of `Parallel<D, F>`.
unsafe fn run_work<D, F>(payload: *mut u8, claims: &mut Claims)
where
    D: ParallelJobData,
    F: for<'v> Fn(&mut Work<'v, D>),
{
    // SAFETY: the payload is of this type, and the participants share it.
    let Parallel { held, job } = unsafe { &*payload.cast::<Parallel<D, F>>() };
    job(&mut Work { held, claims });
}

/// # Safety
///
/// As for `TaskKind`, with a payload of `Deferred<D, C, F>`.
unsafe fn run_deferred<D, C, F>(payload: *mut u8, claims: &mut Claims)
where
    D: ParallelJobData,
    F: for<'v> Fn(&mut Work<'v, D>),
{
    // SAFETY: the payload is of this type, and the participants share it.
    let Deferred { parallel, .. } = unsafe { &*payload.cast::<Deferred<D, C, F>>() };
    (parallel.job)(&mut Work { held: &parallel.held, claims });
}

/// # Safety
///
/// As for `TaskKind`, with a payload of `Deferred<D, C, F>` that nobody uses.
unsafe fn ask_count<D, C, F>(payload: *mut u8) -> usize
where
    D: ParallelJobData,
    C: for<'v> Fn(D::Whole<'v>) -> usize,
{
    // SAFETY: the payload is of this type, and not shared yet.
    let Deferred { parallel, count } = unsafe { &mut *payload.cast::<Deferred<D, C, F>>() };
    // SAFETY: the check has passed, what the job depends on has finished, and nothing else is opened.
    count(unsafe { D::whole(&mut parallel.held) })
}

/// # Safety
///
/// As for `TaskFunctions::drop`, with a payload of `P`.
unsafe fn drop_payload<P>(payload: *mut u8) {
    // SAFETY: the payload is of this type, and not used again.
    unsafe { ptr::drop_in_place(payload.cast::<P>()) };
}

/// Ends the process rather than let a frame unwind that other threads have pointers into.
struct AbortOnUnwind;

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        std::process::abort();
    }
}
