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
                // A single job settles when it runs, which consumes its payload.
                settle: None,
            }
        };
        let request = self.request(name, functions, dependencies, 1, 1);
        // SAFETY: the payload has the type that the functions are for. Its closure may move to any thread, by this
        // function's contract, and its data is `Send` and borrows nothing, by the contract of `JobData`.
        unsafe { self.jobs.submit(&request, data, |held| Single::<D, F> { held, job }) }
    }

    /// # Safety
    ///
    /// The closure may be run by several threads at once and dropped by any, and its borrows outlive the job.
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
        // SAFETY: the payload has the type that the functions are for. Its closure may be shared by threads, by this
        // function's contract, and its data is `Send` and `Sync` and borrows nothing, by the contract of `JobData`.
        unsafe {
            self.jobs.submit(&request, data, |held| Parallel::<D, _, F> { held, job, count: () })
        }
    }

    /// # Safety
    ///
    /// Both closures may be run by several threads at once and dropped by any, and their borrows outlive the job.
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
        // SAFETY: the payload has the type that the functions are for. Its closures may be shared by threads, by this
        // function's contract, and its data is `Send` and `Sync` and borrows nothing, by the contract of `JobData`.
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

/// Makes a participant's work from a closure for batches, compiled for each CPU level up to `level`.
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
                // Not `&job`: calls through references use a function of the standard library that is not always
                // inlined, and that would leave the CPU level.
                work.for_each_batch(
                    #[inline(always)]
                    |views, range| job(views, range),
                );
            },
        );
    }
}

/// Makes a participant's work from a closure for indices, compiled for each CPU level up to `level`.
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
/// The contract of `TaskKind`, with a payload of `Single<D, F>`.
unsafe fn run_single<D, F>(payload: *mut u8)
where
    D: JobData,
    F: for<'v> FnOnce(D::Whole<'v>),
{
    // SAFETY: the payload has this type, and is consumed here: a single job runs once.
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
        // SAFETY: the accesses passed the check, no conflicting job runs, and nothing else is opened, by this
        // function's contract.
        return job(unsafe { D::whole(held) });
    }
    let mut panics = Panics::default();
    let mut result = None;
    // SAFETY: the accesses passed the check, no conflicting job runs, and nothing else is opened, by this function's
    // contract.
    panics.catch(|| result = Some(job(unsafe { D::whole(held) })));
    // SAFETY: the accesses passed the check, and no conflicting job runs, by this function's contract; the job's
    // views are gone.
    unsafe { settle::<D>(held, &mut panics, false) };
    panics.resume();
    result.expect("a job that did not panic has a result")
}

/// Settles the writes of a job, and keeps or discards them. The job failed if `failed` is set or a step panicked.
///
/// # Safety
///
/// The contract of [`JobData::settle`].
unsafe fn settle<D: JobData>(held: &mut D::Held, panics: &mut Panics, failed: bool) {
    // SAFETY: the accesses passed the check, no conflicting job runs, and nothing opened from `held` is in use, by
    // this function's contract.
    panics.catch(|| unsafe { D::settle(held) });
    let failed = failed || panics.any();
    // SAFETY: the accesses passed the check, no conflicting job runs, and nothing opened from `held` is in use, by
    // this function's contract.
    panics.catch(|| unsafe { D::conclude(held, failed) });
}

/// # Safety
///
/// The contract of `TaskKind`, with a payload of `Parallel<D, C, F>`.
unsafe fn run_parallel<D, C, F>(payload: *mut u8, claims: &mut Claims)
where
    D: ParallelJobData,
    F: for<'v> Fn(&mut Work<'v, D>),
{
    // SAFETY: the payload has this type, and the participants only share it.
    let Parallel { held, job, .. } = unsafe { &*payload.cast::<Parallel<D, C, F>>() };
    // SAFETY: the declared accesses passed the check, and no conflicting job runs until this one has finished, since
    // its dependencies have finished.
    let open = unsafe { D::open(held) };
    job(&mut Work { held, open, claims });
}

/// # Safety
///
/// The contract of `TaskKind`, with a payload of `Parallel<D, C, F>` that no thread uses.
unsafe fn ask_count<D, C, F>(payload: *mut u8) -> usize
where
    D: ParallelJobData,
    C: for<'v> Fn(D::Whole<'v>) -> usize,
{
    // SAFETY: the payload has this type, and is not shared yet.
    let Parallel { held, count, .. } = unsafe { &mut *payload.cast::<Parallel<D, C, F>>() };
    // SAFETY: the declared accesses passed the check, and no conflicting job runs, since the dependencies have
    // finished. Nothing else is opened from `held` before the batches.
    count(unsafe { D::whole(held) })
}

/// # Safety
///
/// The contract of `TaskFunctions::settle`, with a payload of `Parallel<D, C, F>` that has run.
unsafe fn settle_parallel<D: ParallelJobData, C, F>(payload: *mut u8, failed: bool) {
    // SAFETY: the payload has this type, no thread uses it, and it is consumed here.
    let Parallel { mut held, job, count } =
        unsafe { ptr::read(payload.cast::<Parallel<D, C, F>>()) };
    let mut panics = Panics::default();
    // In this order, a closure that panics when it is dropped makes the job fail.
    panics.catch(|| drop((job, count)));
    // SAFETY: the accesses of the job that just ran passed the check, no conflicting job runs before it has finished,
    // and its views are gone.
    unsafe { settle::<D>(&mut held, &mut panics, failed) };
    panics.catch(|| drop(held));
    panics.resume();
}

/// # Safety
///
/// The contract of `TaskFunctions::drop`, with a payload of `P`.
unsafe fn drop_payload<P>(payload: *mut u8) {
    // SAFETY: the payload has this type, and is not used again.
    unsafe { ptr::drop_in_place(payload.cast::<P>()) };
}
