//! Deadlock detection when a scheduler is dropped inside a job.
//!
//! If a job drops a scheduler, it waits for the jobs of that scheduler. If one of these jobs waits for the dropping job, neither
//! would ever end. So each wait inside a job is registered with the awaited scheduler, and a wait that would close a cycle is
//! skipped.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::JobScheduler;
use crate::context::schedulers_inside;

/// A job of one scheduler that waits for all jobs of another scheduler. Both are given by their numbers.
struct Wait {
    inside: u32,
    awaited: u32,
}

static WAITS: Mutex<Vec<Wait>> = Mutex::new(Vec::new());

fn waits() -> MutexGuard<'static, Vec<Wait>> {
    // No code under the lock panics between two changes.
    WAITS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns whether the calling thread can wait for all jobs of a scheduler. If so, registers the wait, which replaces
/// earlier waits for the scheduler.
fn begin_wait(awaited: u32) -> bool {
    let inside: Vec<u32> = schedulers_inside();
    let mut waits = waits();
    // Collects all schedulers whose jobs the awaited jobs wait for.
    let mut reached = vec![awaited];
    let mut at = 0;
    while let Some(&scheduler) = reached.get(at) {
        for wait in waits.iter().filter(|wait| wait.inside == scheduler) {
            if !reached.contains(&wait.awaited) {
                reached.push(wait.awaited);
            }
        }
        at += 1;
    }
    if inside.iter().any(|scheduler| reached.contains(scheduler)) {
        // Earlier waits stay registered, because this call may be nested in one of them.
        return false;
    }
    // The test and the registration use one lock, so the same caller gets the same result the next time.
    waits.retain(|wait| wait.awaited != awaited);
    waits.extend(inside.into_iter().map(|inside| Wait { inside, awaited }));
    true
}

fn end_wait(awaited: u32) {
    waits().retain(|wait| wait.awaited != awaited);
}

impl JobScheduler {
    /// Begins to drop the scheduler. Returns whether its jobs can be completed. If so, they can be completed even inside a job of
    /// another scheduler.
    ///
    /// The jobs cannot be completed if the scheduler is dropped by one of its own jobs, or by a job for which its own jobs wait.
    /// For example, two schedulers may each be dropped by a job of the other.
    ///
    /// This method is for owners of memory that jobs use. If it returns `false`, jobs may continue after the scheduler was dropped,
    /// and the memory must not be freed. The result is valid for the calling job. After moving the scheduler to another job, call
    /// this method again.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let pool = JobPool::new();
    /// let (jobs, inner) = (JobScheduler::new(&pool), JobScheduler::new(&pool));
    /// let last = inner.schedule(&[], (), |()| {}).unwrap();
    /// let drops = jobs.schedule(&[], (), move |()| {
    ///     assert!(inner.begin_drop());
    ///     inner.complete(last);
    /// });
    /// jobs.complete(drops.unwrap());
    /// ```
    #[doc(hidden)]
    pub fn begin_drop(&self) -> bool {
        let can_wait = begin_wait(self.id);
        self.state.borrow_mut().is_ending |= can_wait;
        can_wait
    }

    /// Returns whether jobs can be completed inside the calling job: the scheduler is being dropped, and
    /// [`begin_drop`](Self::begin_drop) returns true.
    #[cold]
    pub(super) fn can_wait_inside_job(&self) -> bool {
        let is_ending = self.state.borrow().is_ending;
        is_ending && self.begin_drop()
    }

    /// Unregisters the wait for the jobs of the scheduler.
    pub(super) fn end_drop(&self) {
        end_wait(self.id);
    }
}
