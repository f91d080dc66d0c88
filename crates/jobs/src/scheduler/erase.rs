//! Type erasure of jobs: the payloads stored in nodes, and the functions that access them.
#![expect(
    unsafe_code,
    reason = "erases the types of jobs, and runs them under the contract of the scheduler"
)]

use std::ops::Range;
use std::ptr;

use ancho_burst::CpuLevel;

use super::builder::JobBuilder;
use super::submit::Request;
use crate::claims::Claims;
use crate::data::{JobData, Panics, ParallelJobData};
use crate::error::ScheduleError;
use crate::handle::JobHandle;
use crate::node::{TaskFunctions, TaskKind};
use crate::work::Work;

impl JobBuilder<'_> {
    fn request<'r>(
        &'r self,
        name: &'static str,
        functions: &'static TaskFunctions,
        dependencies: &'r [JobHandle],
        count: usize,
        batch: usize,
    ) -> Request<'r> {
        let &Self { after, in_turn, .. } = self;
        Request { name, functions, dependencies, after, in_turn, count, batch }
    }

    /// Schedules a single job with a closure.
    ///
    /// # Safety
    ///
    /// The closure may be run and dropped on any thread, and its borrows outlive the job.
    pub(super) unsafe fn submit_single<D, F>(
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
                // A single job settles its writes when it runs, which consumes its payload.
                settle: None,
            }
        };
        let request = self.request(name, functions, dependencies, 1, 1);
        // SAFETY: the payload has the type that the functions are for. The caller says that the closure may move to any thread, and
        // that its borrows outlive the job. The data is `Send` and borrows nothing, by the contract of `JobData`.
        unsafe { self.jobs.submit(&request, data, |held| Single::<D, F> { held, job }) }
    }

    /// Schedules a parallel job with a closure for participants.
    ///
    /// # Safety
    ///
    /// The closure may be run by several threads at once and dropped by any thread, and its borrows outlive the job.
    pub(super) unsafe fn submit_work<D, F>(
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
                kind: TaskKind::Parallel(run_parallel::<D, (), F>),
                drop: drop_payload::<Parallel<D, (), F>>,
                settle: if D::SETTLES { Some(settle_parallel::<D, (), F>) } else { None },
            }
        };
        data.check_count(name, count)?;
        let request = self.request(name, functions, dependencies, count, batch);
        // SAFETY: the payload has the type that the functions are for. The caller says that threads may share the closure, and that
        // its borrows outlive the job. The data is `Send` and `Sync` and borrows nothing, by the contract of `JobData`.
        unsafe {
            self.jobs.submit(&request, data, |held| Parallel::<D, _, F> { held, job, count: () })
        }
    }

    /// Schedules a deferred job, with a closure for the count and one for participants.
    ///
    /// # Safety
    ///
    /// Both closures may be run by several threads at once and dropped by any thread, and their borrows outlive the job.
    pub(super) unsafe fn submit_deferred<D, C, F>(
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
                kind: TaskKind::Deferred(ask_count::<D, C, F>, run_parallel::<D, C, F>),
                drop: drop_payload::<Parallel<D, C, F>>,
                settle: if D::SETTLES { Some(settle_parallel::<D, C, F>) } else { None },
            }
        };
        let request = self.request(name, functions, dependencies, 0, batch);
        // SAFETY: the payload has the type that the functions are for. The caller says that threads may share the closures, and
        // that their borrows outlive the job. The data is `Send` and `Sync` and borrows nothing, by the contract of `JobData`.
        unsafe { self.jobs.submit(&request, data, |held| Parallel::<D, C, F> { held, job, count }) }
    }
}

struct Single<D: JobData, F> {
    held: D::Held,
    job: F,
}

/// The payload of a parallel job. `count` returns the number of indices of a deferred job, and is `()` for other jobs.
struct Parallel<D: ParallelJobData, C, F> {
    held: D::Held,
    job: F,
    count: C,
}

/// Creates the work of a participant from a closure for batches, compiled for each CPU level up to `level`.
///
/// The inspector of `ancho_burst` names the kernel after the type `N`.
pub(super) fn each_batch<N, D, F>(level: CpuLevel, job: F) -> impl for<'v> Fn(&mut Work<'v, D>)
where
    D: ParallelJobData,
    F: for<'v> Fn(D::Batch<'v>, Range<usize>),
{
    #[expect(clippy::redundant_closure, reason = "a closure of our own can be marked")]
    move |work: &mut Work<'_, D>| {
        ancho_burst::dispatch_as::<N, _, _>(
            level,
            #[inline(always)]
            || {
                // A closure is passed instead of `&job`: calls through references use a function of the standard library that is
                // not always inlined, and that is not compiled for the CPU level.
                work.for_each_batch(
                    #[inline(always)]
                    |views, range| job(views, range),
                );
            },
        );
    }
}

/// Creates the work of a participant from a closure for indices, compiled for each CPU level up to `level`.
///
/// The inspector of `ancho_burst` names the kernel after the type `N`.
pub(super) fn each_index<N, D, F>(level: CpuLevel, job: F) -> impl for<'v> Fn(&mut Work<'v, D>)
where
    D: ParallelJobData,
    F: for<'b> Fn(D::Item<'b>, usize),
{
    each_batch::<N, D, _>(
        level,
        #[inline(always)]
        move |mut views, range: Range<usize>| {
            for offset in 0..range.end - range.start {
                job(D::item(&mut views, offset), range.start + offset);
            }
        },
    )
}

/// Runs a single job, and settles its writes.
///
/// # Safety
///
/// The contract of `TaskKind` is met, for a payload of type `Single<D, F>`.
unsafe fn run_single<D, F>(payload: *mut u8)
where
    D: JobData,
    F: for<'v> FnOnce(D::Whole<'v>),
{
    // SAFETY: the payload is a `Single<D, F>`. It is consumed here, because a single job runs once.
    let Single { mut held, job } = unsafe { ptr::read(payload.cast::<Single<D, F>>()) };
    // SAFETY: the declared accesses passed the check, and no conflicting job runs, since the dependencies have
    // finished. Nothing else is opened from `held`.
    unsafe { call_and_settle::<D, ()>(&mut held, job) };
}

/// Calls a single job, and settles its writes.
///
/// # Safety
///
/// The declared accesses passed the safety check, no job that conflicts is running, and nothing else is
/// opened from `held`.
#[inline(always)]
pub(super) unsafe fn call_and_settle<D: JobData, R>(
    held: &mut D::Held,
    job: impl for<'v> FnOnce(D::Whole<'v>) -> R,
) -> R {
    if !D::SETTLES {
        // SAFETY: the caller says that the accesses passed the check, that no conflicting job is running, and that nothing else is
        // opened from `held`.
        return job(unsafe { D::whole(held) });
    }
    let mut panics = Panics::default();
    let mut result = None;
    // SAFETY: the caller says that the accesses passed the check, that no conflicting job is running, and that nothing else is
    // opened from `held`.
    panics.catch(|| result = Some(job(unsafe { D::whole(held) })));
    // SAFETY: the caller says that the accesses passed the check, and that no conflicting job is running. The job's views no longer
    // exist.
    unsafe { settle::<D>(held, &mut panics, false) };
    panics.resume();
    result.expect("a job that did not panic has a result")
}

/// Settles the writes of a job, and keeps or discards them. The job failed if `failed` is set or a step panicked.
///
/// # Safety
///
/// The contract of [`JobData::settle`] is met.
unsafe fn settle<D: JobData>(held: &mut D::Held, panics: &mut Panics, failed: bool) {
    // SAFETY: the caller says that the accesses passed the check, that no conflicting job is running, and that nothing opened from
    // `held` is in use.
    panics.catch(|| unsafe { D::settle(held) });
    let failed = failed || panics.any();
    // SAFETY: the caller says that the accesses passed the check, that no conflicting job is running, and that nothing opened from
    // `held` is in use.
    panics.catch(|| unsafe { D::conclude(held, failed) });
}

/// Runs a participant's share of a parallel job.
///
/// # Safety
///
/// The contract of `TaskKind` is met, for a payload of type `Parallel<D, C, F>`.
unsafe fn run_parallel<D, C, F>(payload: *mut u8, claims: &mut Claims)
where
    D: ParallelJobData,
    F: for<'v> Fn(&mut Work<'v, D>),
{
    // SAFETY: the payload is a `Parallel<D, C, F>`. The participants only have shared references to it.
    let Parallel { held, job, .. } = unsafe { &*payload.cast::<Parallel<D, C, F>>() };
    // SAFETY: the declared accesses passed the check, and no conflicting job runs until this one has finished, since
    // its dependencies have finished.
    let open = unsafe { D::open(held) };
    job(&mut Work { held, open, claims });
}

/// Computes the number of indices of a deferred job.
///
/// # Safety
///
/// The contract of `TaskKind` is met, for a payload of type `Parallel<D, C, F>` that no thread uses.
unsafe fn ask_count<D, C, F>(payload: *mut u8) -> usize
where
    D: ParallelJobData,
    C: for<'v> Fn(D::Whole<'v>) -> usize,
{
    // SAFETY: the payload is a `Parallel<D, C, F>`, which no other thread uses yet.
    let Parallel { held, count, .. } = unsafe { &mut *payload.cast::<Parallel<D, C, F>>() };
    // SAFETY: the declared accesses passed the check, and no conflicting job runs, since the dependencies have
    // finished. Nothing else is opened from `held` before the batches.
    count(unsafe { D::whole(held) })
}

/// Settles the writes of a parallel job, and drops its payload.
///
/// # Safety
///
/// The contract of `TaskFunctions::settle` is met, for a payload of type `Parallel<D, C, F>` that has run.
unsafe fn settle_parallel<D: ParallelJobData, C, F>(payload: *mut u8, failed: bool) {
    // SAFETY: the payload is a `Parallel<D, C, F>`, which no thread uses. It is consumed here.
    let Parallel { mut held, job, count } =
        unsafe { ptr::read(payload.cast::<Parallel<D, C, F>>()) };
    let mut panics = Panics::default();
    // The closures are dropped first, so that a panic in a destructor makes the job fail.
    panics.catch(|| drop((job, count)));
    // SAFETY: the accesses of the job passed the check, no conflicting job runs before this one has finished, and the job's views
    // no longer exist.
    unsafe { settle::<D>(&mut held, &mut panics, failed) };
    panics.catch(|| drop(held));
    panics.resume();
}

/// Drops a payload.
///
/// # Safety
///
/// The contract of `TaskFunctions::drop` is met, for a payload of type `P`.
unsafe fn drop_payload<P>(payload: *mut u8) {
    // SAFETY: the payload is a `P`, which is not used again.
    unsafe { ptr::drop_in_place(payload.cast::<P>()) };
}
