//! How the types of a job are erased: what is stored in a node, and the functions that know it.
#![expect(unsafe_code, reason = "erases the types of jobs and runs them as the scheduler promises")]

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

    /// # Safety
    ///
    /// The closure may be run and dropped on any thread, and what it borrows outlives the job.
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
                // It settles by itself: its payload is consumed when it runs.
                settle: None,
            }
        };
        let request = self.request(name, functions, dependencies, 1, 1);
        // SAFETY: the payload is what the functions are for; its closure is as promised to this
        // function, and what it holds is `Send` and borrows nothing, as `JobData` demands.
        unsafe { self.jobs.submit(&request, data, |held| Single::<D, F> { held, job }) }
    }

    /// # Safety
    ///
    /// The closure may be run by several threads at once and dropped by any, and what it borrows
    /// outlives the job.
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
                kind: TaskKind::Parallel(run_work::<D, F>),
                drop: drop_payload::<Parallel<D, F>>,
                settle: if D::SETTLES { Some(settle_parallel::<D, F>) } else { None },
            }
        };
        data.check_count(name, count)?;
        let request = self.request(name, functions, dependencies, count, batch);
        // SAFETY: as in `submit_single`; what the payload holds is `Sync` too.
        unsafe { self.jobs.submit(&request, data, |held| Parallel::<D, F> { held, job }) }
    }

    /// # Safety
    ///
    /// As for `submit_work`, for both closures.
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
                kind: TaskKind::Deferred(ask_count::<D, C, F>, run_deferred::<D, C, F>),
                drop: drop_payload::<Deferred<D, C, F>>,
                settle: if D::SETTLES { Some(settle_deferred::<D, C, F>) } else { None },
            }
        };
        let request = self.request(name, functions, dependencies, 0, batch);
        let payload = |held| Deferred { parallel: Parallel::<D, F> { held, job }, count };
        // SAFETY: as in `submit_work`.
        unsafe { self.jobs.submit(&request, data, payload) }
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

/// Makes a participant's work of a call for each batch, compiled for each CPU level up to `level`.
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
                // Not `&job`: calls through references go through a function of the standard library
                // that is not always inlined, and would end the level there.
                work.for_each_batch(
                    #[inline(always)]
                    |views, range| job(views, range),
                );
            },
        );
    }
}

/// Makes a participant's work of a call for each index, compiled for each CPU level up to `level`.
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
    unsafe { call_and_settle::<D, ()>(&mut held, job) };
}

/// Calls a single job, and settles what it wrote.
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
        // SAFETY: by this function's contract.
        return job(unsafe { D::whole(held) });
    }
    let mut panics = Panics::default();
    let mut result = None;
    // SAFETY: by this function's contract.
    panics.catch(|| result = Some(job(unsafe { D::whole(held) })));
    // SAFETY: by this function's contract; what the job opened went with it.
    unsafe { settle::<D>(held, &mut panics, false) };
    panics.resume();
    result.expect("a job that did not panic has a result")
}

/// Settles what a job wrote, and keeps or discards it. The job failed if it has panicked until here.
///
/// # Safety
///
/// As for [`JobData::settle`].
unsafe fn settle<D: JobData>(held: &mut D::Held, panics: &mut Panics, failed: bool) {
    // SAFETY: by this function's contract.
    panics.catch(|| unsafe { D::settle(held) });
    let failed = failed || panics.any();
    // SAFETY: as above.
    panics.catch(|| unsafe { D::conclude(held, failed) });
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
    // SAFETY: the check has passed, and what the job depends on has finished.
    let open = unsafe { D::open(held) };
    job(&mut Work { held, open, claims });
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
    // SAFETY: the check has passed, and what the job depends on has finished.
    let open = unsafe { D::open(&parallel.held) };
    (parallel.job)(&mut Work { held: &parallel.held, open, claims });
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
/// As for `TaskFunctions::settle`, with a payload of `Parallel<D, F>` that has run.
unsafe fn settle_parallel<D: ParallelJobData, F>(payload: *mut u8, failed: bool) {
    // SAFETY: the payload is of this type, nobody uses it, and it is consumed here.
    let Parallel { held, job } = unsafe { ptr::read(payload.cast::<Parallel<D, F>>()) };
    // SAFETY: the check has passed for the job that just ran, and its views are gone.
    unsafe { end_parallel::<D>(held, || drop(job), failed) };
}

/// # Safety
///
/// As for `TaskFunctions::settle`, with a payload of `Deferred<D, C, F>` that has run.
unsafe fn settle_deferred<D: ParallelJobData, C, F>(payload: *mut u8, failed: bool) {
    // SAFETY: the payload is of this type, nobody uses it, and it is consumed here.
    let Deferred { parallel, count } = unsafe { ptr::read(payload.cast::<Deferred<D, C, F>>()) };
    let Parallel { held, job } = parallel;
    // SAFETY: the check has passed for the job that just ran, and its views are gone.
    unsafe { end_parallel::<D>(held, || drop((job, count)), failed) };
}

/// Drops the closures of a parallel job, settles what it wrote, and lets go of its data: in this order, so
/// that a closure which panics when it is dropped is a failure of the job like any other.
///
/// # Safety
///
/// As for [`JobData::settle`].
unsafe fn end_parallel<D: JobData>(mut held: D::Held, drop_closures: impl FnOnce(), failed: bool) {
    let mut panics = Panics::default();
    panics.catch(drop_closures);
    // SAFETY: by this function's contract.
    unsafe { settle::<D>(&mut held, &mut panics, failed) };
    panics.catch(|| drop(held));
    panics.resume();
}

/// # Safety
///
/// As for `TaskFunctions::drop`, with a payload of `P`.
unsafe fn drop_payload<P>(payload: *mut u8) {
    // SAFETY: the payload is of this type, and not used again.
    unsafe { ptr::drop_in_place(payload.cast::<P>()) };
}
