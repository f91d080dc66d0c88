//! The job context of a thread: the current job's name, thread index and schedulers.

use std::cell::{Cell, RefCell};
use std::mem::{self, ManuallyDrop};

thread_local! {
    static CURRENT: Cell<Option<Context>> = const { Cell::new(None) };
    /// The name of the current job. It is stored separately, because it is the only part of the context that changes in a chain of
    /// jobs.
    static NAME: Cell<&'static str> = const { Cell::new("") };
    /// The schedulers of outer jobs for which `Context::around` has no room. The value is not dropped with the thread, because the
    /// owner may be a thread that is ending. It holds memory only inside such jobs.
    static FURTHER_OUT: RefCell<ManuallyDrop<Vec<u32>>> =
        const { RefCell::new(ManuallyDrop::new(Vec::new())) };
}

#[derive(Clone, Copy)]
struct Context {
    thread: u32,
    /// The scheduler of the current job. `around` has those of the enclosing jobs, nearest first.
    scheduler: u32,
    around: [u32; 4],
}

impl Context {
    /// Returns the last element of `around`: the scheduler for which the context of a nested job has no room. Zero if the element
    /// is unused, or if it stands for a panic payload that is being dropped, which counts as a job without a scheduler.
    #[inline]
    fn outermost(&self) -> u32 {
        self.around[3]
    }
}

/// Returns the index of the thread that the calling job runs on, or `None` outside a job.
///
/// Zero is the owner of the scheduler, and `1..=workers` are the workers of the pool. Two threads of the pool that work for one
/// scheduler at the same time have different indices, so a container can have one slot per thread.
/// [`JobScheduler::thread_count`](crate::JobScheduler::thread_count) returns the number of slots. The slots still have to be
/// `Sync`: a thread may have several writers at a time, and may lend them to threads outside of the pool.
///
/// # Determinism
///
/// The thread that runs a batch depends on timing. This index must not influence a result, except through an
/// operation whose order does not matter, such as a sum of integers.
///
/// # Examples
///
/// ```
/// use ancho_jobs::{JobPool, JobScheduler, thread_index};
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// assert_eq!(thread_index(), None);
/// let job = jobs.schedule(&[], (), |()| assert!(thread_index().is_some())).unwrap();
/// jobs.complete(job);
/// ```
pub fn thread_index() -> Option<usize> {
    CURRENT.get().map(|context| context.thread as usize)
}

/// Returns the name of the job that the calling thread is running, or `None` outside a job.
///
/// # Examples
///
/// ```
/// use ancho_jobs::{JobPool, JobScheduler, current_job};
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// assert_eq!(current_job(), None);
/// let job = jobs.named("Tell").schedule(&[], (), |()| assert_eq!(current_job(), Some("Tell"))).unwrap();
/// jobs.complete(job);
/// ```
pub fn current_job() -> Option<&'static str> {
    CURRENT.get().map(|_| NAME.get())
}

/// Returns whether the calling thread is inside a job of the scheduler, directly or through nested jobs. Jobs nest
/// when a job drops a scheduler, which runs that scheduler's remaining jobs.
pub(crate) fn is_inside_job_of(scheduler: u32) -> bool {
    CURRENT.get().is_some_and(|context| {
        context.scheduler == scheduler
            || context.around.contains(&scheduler)
            || FURTHER_OUT.with_borrow(|further_out| further_out.contains(&scheduler))
    })
}

/// Returns the schedulers whose jobs are running on the calling thread, including outer jobs.
pub(crate) fn schedulers_inside() -> Vec<u32> {
    let Some(Context { scheduler, around, .. }) = CURRENT.get() else { return Vec::new() };
    let mut all = vec![scheduler];
    all.extend(around);
    FURTHER_OUT.with_borrow(|further_out| all.extend(further_out.iter()));
    all.retain(|&scheduler| scheduler != 0);
    all
}

/// Guard that marks the calling thread as working on a job until it is dropped.
pub(crate) struct InJob {
    outer: Option<Context>,
    outer_name: &'static str,
}

impl InJob {
    #[inline]
    pub(crate) fn enter(thread: usize, scheduler: u32, job: &'static str) -> Self {
        let outer = CURRENT.get();
        let around = outer.map_or([0; 4], |outer| {
            if outer.outermost() != 0 {
                push_further_out(outer.outermost());
            }
            let [a, b, c, _] = outer.around;
            [outer.scheduler, a, b, c]
        });
        CURRENT.set(Some(Context { thread: thread as u32, scheduler, around }));
        Self { outer, outer_name: NAME.replace(job) }
    }
}

impl InJob {
    /// Continues with another job of the same scheduler.
    #[inline]
    pub(crate) fn rename(&self, job: &'static str) {
        NAME.set(job);
    }
}

impl Drop for InJob {
    #[inline]
    fn drop(&mut self) {
        CURRENT.set(self.outer);
        NAME.set(self.outer_name);
        if self.outer.is_some_and(|outer| outer.outermost() != 0) {
            pop_further_out();
        }
    }
}

#[cold]
fn push_further_out(scheduler: u32) {
    FURTHER_OUT.with_borrow_mut(|further_out| further_out.push(scheduler));
}

#[cold]
fn pop_further_out() {
    FURTHER_OUT.with_borrow_mut(|further_out| {
        further_out.pop();
        if further_out.is_empty() {
            drop(mem::take(&mut **further_out));
        }
    });
}
