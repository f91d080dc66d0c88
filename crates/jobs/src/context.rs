//! What a thread knows while it works on a job.

use std::cell::Cell;

thread_local! {
    static CURRENT: Cell<Option<Context>> = const { Cell::new(None) };
}

#[derive(Clone, Copy)]
struct Context {
    thread: usize,
    job: &'static str,
}

/// Returns the index of the thread that the calling job runs on, or `None` outside of a job.
///
/// Zero is the owner of the scheduler, `1..=workers` are the workers of the pool. No two threads
/// that work for one scheduler at the same time have the same index, so a container can keep a slot
/// per thread; [`JobScheduler::thread_count`](crate::JobScheduler::thread_count) says how many.
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
    CURRENT.get().map(|context| context.thread)
}

/// Returns the name of the job that the calling thread is inside of.
pub(crate) fn current_job() -> Option<&'static str> {
    CURRENT.get().map(|context| context.job)
}

/// Marks the calling thread as working on a job until it is dropped.
pub(crate) struct InJob {
    outer: Option<Context>,
}

impl InJob {
    #[inline]
    pub(crate) fn enter(thread: usize, job: &'static str) -> Self {
        Self { outer: CURRENT.replace(Some(Context { thread, job })) }
    }
}

impl Drop for InJob {
    #[inline]
    fn drop(&mut self) {
        CURRENT.set(self.outer);
    }
}
