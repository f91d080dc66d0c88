//! Completing jobs on behalf of other code, and reporting their failures later.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{JobScheduler, State};
use crate::failure::JobFailed;
use crate::handle::{JobHandle, JobId};
use crate::table::BLOCK;

/// Failures of jobs that were completed by code that does not own their handles.
#[derive(Default)]
pub(super) struct Unreported(VecDeque<(JobId, JobFailed)>);

/// The maximum number of failures that are kept, so that memory is bounded if they are never taken.
const MAX_KEPT: usize = 256;

impl Unreported {
    fn keep(&mut self, job: JobId, failed: JobFailed) {
        if self.0.len() == MAX_KEPT {
            self.0.pop_front();
        }
        self.0.push_back((job, failed));
    }

    /// Returns the failure of a job as an error, if the job failed and this was not reported yet.
    #[inline]
    pub(super) fn report(&mut self, job: JobId) -> Result<(), JobFailed> {
        if self.0.is_empty() { Ok(()) } else { self.take(job).map_or(Ok(()), Err) }
    }

    fn has(&self, job: JobId) -> bool {
        self.0.iter().any(|(other, _)| *other == job)
    }

    #[cold]
    fn take(&mut self, job: JobId) -> Option<JobFailed> {
        let at = self.0.iter().position(|(other, _)| *other == job)?;
        self.0.remove(at).map(|(_, failed)| failed)
    }
}

impl JobScheduler {
    /// Completes jobs that conflict with an access, on behalf of the code that scheduled them.
    ///
    /// A failure is still reported when [`complete`](Self::complete) or [`try_complete`](Self::try_complete) is
    /// called with the handle of the failed job. Failures that are not reported that way can be
    /// [taken](Self::take_failures); the last 256 are kept.
    ///
    /// # Panics
    ///
    /// Panics with code A0006 when called from inside a job, unless all of the jobs are complete, and with code A0004
    /// for a handle of another scheduler.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let bad = jobs.schedule(&[], (), |()| panic!("by zero")).unwrap();
    /// jobs.complete_quietly(&[bad]);
    /// assert!(jobs.is_completed(bad));
    /// assert_eq!(jobs.try_complete(bad).unwrap_err().message(), "by zero");
    /// assert!(jobs.try_complete(bad).is_ok(), "it was reported already");
    /// ```
    #[track_caller]
    pub fn complete_quietly(&self, handles: &[JobHandle]) {
        let uncompleted = |handle: &&JobHandle| self.find(handle.job()).is_some();
        handles.iter().for_each(|&handle| self.refuse_foreign(handle));
        let targets = handles.iter().filter(uncompleted).map(|handle| handle.job().node);
        if targets.clone().next().is_none() {
            return;
        }
        self.refuse_inside_job("complete a job");
        self.finish(targets);
        let state = &mut *self.state.borrow_mut();
        let order = std::mem::take(&mut state.order);
        self.retire_quietly(state, &order);
        state.order = order;
    }

    /// Completes the jobs that have finished, without waiting, if it is not visible whether they are completed.
    ///
    /// These are jobs that use no container, or whose containers were passed on to later jobs. Use it in programs that schedule
    /// jobs ordered only by [fences](crate::Fence), without ever completing them. Regular calls keep the memory of job records
    /// from growing. Unlike [`complete_finished`](Self::complete_finished), this method has no effect that depends on timing.
    /// Failures are kept, as in [`complete_quietly`](Self::complete_quietly). Returns the number of jobs that are still
    /// uncompleted.
    ///
    /// # Panics
    ///
    /// Panics with code A0006 when called from inside a job.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::builder().workers(0).build().unwrap());
    /// for _ in 0..3 {
    ///     let _ = jobs.schedule(&[], (), |()| {}).unwrap();
    /// }
    /// assert_eq!(jobs.forget_finished(), 3);
    /// jobs.flush();
    /// assert_eq!(jobs.forget_finished(), 0);
    /// ```
    #[track_caller]
    pub fn forget_finished(&self) -> usize {
        self.refuse_inside_job("complete jobs");
        let state = &mut *self.state.borrow_mut();
        let mut finished = self.uncompleted_nodes(state);
        let all = finished.len();
        self.retain_forgettable(state, &mut finished);
        let left = all - finished.len();
        self.retire_quietly(state, &finished);
        state.targets = finished;
        left
    }

    /// Returns the number of uncompleted jobs of this scheduler.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let job = jobs.schedule(&[], (), |()| {}).unwrap();
    /// assert_eq!(jobs.uncompleted(), 1);
    /// jobs.complete(job);
    /// assert_eq!(jobs.uncompleted(), 0);
    /// ```
    pub fn uncompleted(&self) -> usize {
        let state = self.state.borrow();
        state.blocks.len() * BLOCK - state.free.len()
    }

    /// Takes the unreported failures of jobs that were completed on behalf of other code, the earliest first.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let bad = jobs.schedule(&[], (), |()| panic!("by zero")).unwrap();
    /// jobs.complete_quietly(&[bad]);
    /// let failures = jobs.take_failures();
    /// assert_eq!(failures.len(), 1);
    /// assert_eq!(failures[0].message(), "by zero");
    /// ```
    pub fn take_failures(&self) -> Vec<JobFailed> {
        let unreported = std::mem::take(&mut self.state.borrow_mut().unreported.0);
        let mut all: Vec<_> = unreported.into();
        all.sort_by_key(|(job, _)| job.sequence);
        all.into_iter().map(|(_, failed)| failed).collect()
    }

    /// Returns whether there are unreported failures of jobs that were completed on behalf of other code.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let bad = jobs.schedule(&[], (), |()| panic!("by zero")).unwrap();
    /// jobs.complete_quietly(&[bad]);
    /// assert!(jobs.has_failures());
    /// assert!(jobs.try_complete(bad).is_err() && !jobs.has_failures());
    /// ```
    pub fn has_failures(&self) -> bool {
        !self.state.borrow().unreported.0.is_empty()
    }

    /// Takes the unreported failure of a job that was completed on behalf of other code, if it failed.
    ///
    /// # Panics
    ///
    /// Panics with code A0004 for a handle of another scheduler.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let bad = jobs.schedule(&[], (), |()| panic!("by zero")).unwrap();
    /// assert!(jobs.take_failure(bad).is_none(), "it has not run");
    /// jobs.complete_quietly(&[bad]);
    /// assert_eq!(jobs.take_failure(bad).unwrap().message(), "by zero");
    /// assert!(jobs.take_failure(bad).is_none(), "it was reported already");
    /// ```
    #[track_caller]
    pub fn take_failure(&self, handle: JobHandle) -> Option<JobFailed> {
        self.refuse_foreign(handle);
        self.state.borrow_mut().unreported.take(handle.job())
    }

    /// Takes the failure of a job, like [`take_failure`](Self::take_failure), and removes the failures of all jobs that failed
    /// because of the same panic, so that the panic is reported only once.
    ///
    /// # Panics
    ///
    /// Panics with code A0004 for a handle of another scheduler.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let bad = jobs.named("Divide").schedule(&[], (), |()| panic!("by zero")).unwrap();
    /// let next = jobs.named("Report").schedule(&[bad], (), |()| {}).unwrap();
    /// jobs.complete_quietly(&[next]);
    /// assert_eq!(jobs.take_panic(next).unwrap().panicked_job(), "Divide");
    /// assert!(jobs.take_failures().is_empty());
    /// ```
    #[track_caller]
    pub fn take_panic(&self, handle: JobHandle) -> Option<JobFailed> {
        let failed = self.take_failure(handle)?;
        let others = &mut self.state.borrow_mut().unreported.0;
        others.retain(|(_, other)| !Arc::ptr_eq(&other.panic, &failed.panic));
        Some(failed)
    }

    /// Returns whether there is no record of a job left: the job was completed, and its failure, if any, was reported. The handle
    /// of such a job can be dropped.
    ///
    /// Unlike [`is_completed`](Self::is_completed), the result does not depend on timing: the record of a finished job remains
    /// until the job is completed.
    ///
    /// # Panics
    ///
    /// Panics with code A0004 for a handle of another scheduler.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let [good, bad] = [false, true].map(|fails| jobs.schedule(&[], (), move |()| assert!(!fails)).unwrap());
    /// assert!(!jobs.is_forgotten(good));
    /// jobs.complete_quietly(&[good, bad]);
    /// assert!(jobs.is_forgotten(good) && !jobs.is_forgotten(bad));
    /// assert!(jobs.try_complete(bad).is_err() && jobs.is_forgotten(bad));
    /// ```
    #[track_caller]
    pub fn is_forgotten(&self, handle: JobHandle) -> bool {
        self.refuse_foreign(handle);
        self.find(handle.job()).is_none() && !self.state.borrow().unreported.has(handle.job())
    }

    /// Retires jobs that have finished, and keeps their failures.
    fn retire_quietly(&self, state: &mut State, order: &[u32]) {
        for &index in order {
            if let Some(failed) = self.failure_of(index) {
                let job = JobId { sequence: self.node(index).sequence.get(), node: index };
                state.unreported.keep(job, failed);
            }
        }
        let _reported = self.retire(state, order, std::iter::empty());
    }
}
