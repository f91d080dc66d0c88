//! What a thread knows while it works on a job.

use std::cell::{Cell, RefCell};
use std::mem::{self, ManuallyDrop};

thread_local! {
    static CURRENT: Cell<Option<Context>> = const { Cell::new(None) };
    /// The name of the job, while there is one: apart, since it is all that changes along a chain.
    static NAME: Cell<&'static str> = const { Cell::new("") };
    /// The schedulers of jobs further out than `Context::around` has room for. The thread drops nothing of it when it
    /// ends, since the owner may be a thread that is ending; it has no memory outside of such jobs.
    static FURTHER_OUT: RefCell<ManuallyDrop<Vec<u32>>> =
        const { RefCell::new(ManuallyDrop::new(Vec::new())) };
}

#[derive(Clone, Copy)]
struct Context {
    thread: u32,
    /// The scheduler whose job it is, and those of the nearest jobs around that one, if any, the nearest first.
    scheduler: u32,
    around: [u32; 4],
}

impl Context {
    /// The scheduler that is further out than a job inside of this one has room for. Zero if there is none, or if it is
    /// no job but the drop of a panic's payload.
    #[inline]
    fn outermost(&self) -> u32 {
        self.around[3]
    }
}

/// Returns the index of the thread that the calling job runs on, or `None` outside of a job.
///
/// Zero is the owner of the scheduler, `1..=workers` are the workers of the pool. No two threads of the pool
/// that work for one scheduler at the same time have the same index, so a container can spread its writers
/// over a slot per thread; [`JobScheduler::thread_count`](crate::JobScheduler::thread_count) says how many.
/// The slots still have to be `Sync`: a thread may have several writers at a time, and may lend them to
/// threads that are not the pool's.
///
/// # Determinism
///
/// Which thread runs a batch is a matter of timing. What depends on this index must not reach a
/// result, except through an operation whose order does not matter, such as a sum of integers.
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

/// Returns the name of the job that the calling thread is inside of, or `None` outside of a job.
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

/// Says whether the calling thread is inside of a job of the scheduler, perhaps with jobs of others in
/// between: a job that drops a scheduler runs what is left of that one's jobs.
pub(crate) fn is_inside_job_of(scheduler: u32) -> bool {
    CURRENT.get().is_some_and(|context| {
        context.scheduler == scheduler
            || context.around.contains(&scheduler)
            || FURTHER_OUT.with_borrow(|further_out| further_out.contains(&scheduler))
    })
}

/// Returns the schedulers whose jobs the calling thread is inside of.
pub(crate) fn schedulers_inside() -> Vec<u32> {
    let Some(Context { scheduler, around, .. }) = CURRENT.get() else { return Vec::new() };
    let mut all = vec![scheduler];
    all.extend(around);
    FURTHER_OUT.with_borrow(|further_out| all.extend(further_out.iter()));
    all.retain(|&scheduler| scheduler != 0);
    all
}

/// Marks the calling thread as working on a job until it is dropped.
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
    /// Goes on to another job of the same scheduler.
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
