//! How a scheduler ends: whether it can wait for its jobs.
//!
//! A scheduler that is dropped by a job waits for its own jobs inside of that job. If one of them is waiting for the job, nobody
//! would ever end. So who waits inside of a job says for which scheduler, and who would close a circle does not wait.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::JobScheduler;
use crate::context::schedulers_inside;

/// A job of one scheduler that waits for all jobs of another, by their numbers.
struct Wait {
    inside: u32,
    awaited: u32,
}

static WAITS: Mutex<Vec<Wait>> = Mutex::new(Vec::new());

fn waits() -> MutexGuard<'static, Vec<Wait>> {
    // Nothing under the lock panics half way.
    WAITS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says whether the calling thread can wait for all jobs of a scheduler. If so, notes that it is going to, instead of what was noted
/// for the scheduler before.
fn begin_wait(awaited: u32) -> bool {
    let inside: Vec<u32> = schedulers_inside();
    let mut waits = waits();
    // All whose jobs the awaited ones wait for.
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
        // What was noted before stays: it may be a wait that this call is inside of.
        return false;
    }
    // Under one lock: the same caller gets the same answer the next time.
    waits.retain(|wait| wait.awaited != awaited);
    waits.extend(inside.into_iter().map(|inside| Wait { inside, awaited }));
    true
}

fn end_wait(awaited: u32) {
    waits().retain(|wait| wait.awaited != awaited);
}

impl JobScheduler {
    /// Begins to end the scheduler, which is about to be dropped. Returns whether its jobs can be completed: if so, they can be
    /// completed also inside of a job of another scheduler.
    ///
    /// They cannot be completed if the scheduler is dropped by one of its own jobs, or by a job that its own jobs wait for: two
    /// schedulers, each of them dropped by a job of the other.
    ///
    /// It is for owners of memory that jobs use. If this returns `false`, jobs may go on when the scheduler was dropped, and the
    /// memory has to stay. The answer is for the job that calls it: who sends the scheduler elsewhere has to ask again.
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

    /// Says whether jobs can be completed inside of the job that calls this: the scheduler is being dropped, and can wait there.
    #[cold]
    pub(super) fn can_wait_inside_job(&self) -> bool {
        let is_ending = self.state.borrow().is_ending;
        is_ending && self.begin_drop()
    }

    /// Says that the jobs of the scheduler are not waited for any more.
    pub(super) fn end_drop(&self) {
        end_wait(self.id);
    }
}
