//! Completing jobs: waiting for them, retiring them, and reporting those that failed.
#![expect(
    unsafe_code,
    reason = "reads the tasks of held jobs, and takes what finished jobs leave in their nodes"
)]

use std::sync::Arc;

use super::{JobScheduler, State, is_held, notes_of};
use crate::failure::JobFailed;
use crate::handle::{JobHandle, JobId};
use crate::node::{Node, TaskKind};
use crate::primitive::Ordering;
use crate::ranges::Ranges;
use crate::table::BLOCK;

impl JobScheduler {
    /// Completes a job: waits until the job and all its dependencies have finished, and returns their containers to the owner.
    ///
    /// While it waits, the calling thread works only on these jobs. The call does nothing for a job that is already completed, and
    /// for [`JobHandle::COMPLETED`].
    ///
    /// # Panics
    ///
    /// - Panics with code A0011 if the job, or a job on which it depends, panicked. [`try_complete`](Self::try_complete) returns an
    ///   error instead.
    /// - Panics with code A0006 when called from inside a job, and with code A0004 for a handle of
    ///   another scheduler.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobCell, JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut total = JobCell::new(0);
    /// let first = jobs.schedule(&[], total.write(), |total| *total += 1).unwrap();
    /// let second = jobs.schedule(&[first], total.write(), |total| *total *= 10).unwrap();
    /// jobs.complete(second);
    /// assert_eq!(*total.get().unwrap(), 10);
    /// ```
    #[track_caller]
    pub fn complete(&self, handle: JobHandle) {
        if let Err(failed) = self.try_complete(handle) {
            panic!("{failed}");
        }
    }

    /// Completes a job, like [`complete`](Self::complete), and returns an error if it failed.
    ///
    /// # Errors
    ///
    /// Returns an error if the job panicked, or did not run because a dependency panicked. Also returns an error if this call
    /// completed a job that panicked and after which this job was only [ordered](crate::JobBuilder::after), so that every panic is
    /// reported. The job is completed in any case.
    ///
    /// A failure is reported once: later calls with the same handle return `Ok`.
    ///
    /// # Panics
    ///
    /// Panics like [`complete`](Self::complete), except for code A0011.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let good = jobs.schedule(&[], (), |()| {}).unwrap();
    /// let bad = jobs.schedule(&[], (), |()| panic!("by zero")).unwrap();
    /// assert!(jobs.try_complete(good).is_ok());
    /// assert_eq!(jobs.try_complete(bad).unwrap_err().message(), "by zero");
    /// assert!(jobs.is_completed(bad));
    /// assert!(jobs.try_complete(bad).is_ok(), "the panic was reported");
    /// ```
    #[track_caller]
    pub fn try_complete(&self, handle: JobHandle) -> Result<(), JobFailed> {
        self.refuse_inside_job("complete a job");
        self.refuse_foreign(handle);
        if self.find(handle.job()).is_none() {
            return self.state.borrow_mut().unreported.report(handle.job());
        }
        if self.state.borrow().ends_chain(handle.job()) {
            return self.complete_chain();
        }
        self.finish_and_retire(std::iter::once(handle.job().node))
    }

    /// Completes several jobs, which may run at the same time.
    ///
    /// # Panics
    ///
    /// Panics like [`complete`](Self::complete), for the first of the jobs that failed. All jobs are completed before the panic.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let handles: Vec<_> = (0..10).map(|_| jobs.schedule(&[], (), |()| {}).unwrap()).collect();
    /// jobs.complete_all(&handles);
    /// ```
    #[track_caller]
    pub fn complete_all(&self, handles: &[JobHandle]) {
        if let Err(failed) = self.try_complete_all(handles) {
            panic!("{failed}");
        }
    }

    /// Completes several jobs, like [`complete_all`](Self::complete_all), and returns an error if one failed.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`try_complete`](Self::try_complete), for the first of the jobs that failed.
    ///
    /// # Panics
    ///
    /// Panics like [`try_complete`](Self::try_complete).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let good = jobs.schedule(&[], (), |()| {}).unwrap();
    /// let bad = jobs.schedule(&[], (), |()| panic!("by zero")).unwrap();
    /// assert_eq!(jobs.try_complete_all(&[good, bad]).unwrap_err().message(), "by zero");
    /// assert!(jobs.is_completed(good) && jobs.is_completed(bad));
    /// ```
    #[track_caller]
    pub fn try_complete_all(&self, handles: &[JobHandle]) -> Result<(), JobFailed> {
        self.refuse_inside_job("complete a job");
        for &handle in handles {
            self.refuse_foreign(handle);
        }
        let uncompleted = |handle: &&JobHandle| self.find(handle.job()).is_some();
        let targets = handles.iter().filter(uncompleted).map(|handle| handle.job().node);
        let unreported = {
            let unreported = &mut self.state.borrow_mut().unreported;
            let gone = handles.iter().filter(|handle| self.find(handle.job()).is_none());
            gone.map(|handle| unreported.report(handle.job())).fold(Ok(()), Result::and)
        };
        let done = self.finish_and_retire(targets);
        unreported.and(done)
    }

    /// Works on jobs until all of them have finished, without completing them. Completing one of them afterwards does not wait, and
    /// reports whether the job failed.
    ///
    /// Completing jobs one by one would wait for the first job while others could run. To get the result of each job without
    /// waiting longer than [`complete_all`](Self::complete_all), call this method first.
    ///
    /// # Panics
    ///
    /// Panics with code A0006 when called from inside a job, and with code A0004 for a handle of another
    /// scheduler.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let good = jobs.schedule(&[], (), |()| {}).unwrap();
    /// let bad = jobs.schedule(&[], (), |()| panic!("by zero")).unwrap();
    /// jobs.finish_all(&[good, bad]);
    /// assert!(jobs.try_complete(good).is_ok());
    /// assert_eq!(jobs.try_complete(bad).unwrap_err().message(), "by zero");
    /// ```
    #[track_caller]
    pub fn finish_all(&self, handles: &[JobHandle]) {
        self.refuse_inside_job("complete a job");
        handles.iter().for_each(|&handle| self.refuse_foreign(handle));
        let uncompleted = |handle: &&JobHandle| self.find(handle.job()).is_some();
        self.finish(handles.iter().filter(uncompleted).map(|handle| handle.job().node));
    }

    /// Completes all jobs of this scheduler.
    ///
    /// # Panics
    ///
    /// Panics like [`complete`](Self::complete), for the earliest job that failed. All jobs are completed before the panic.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let job = jobs.schedule(&[], (), |()| {}).unwrap();
    /// jobs.complete_everything();
    /// assert!(jobs.is_completed(job));
    /// ```
    #[track_caller]
    #[doc(alias = "CompleteAllTrackedJobs")]
    pub fn complete_everything(&self) {
        self.refuse_inside_job("complete a job");
        if let Err(failed) = self.complete_live() {
            panic!("{failed}");
        }
    }

    /// Completes the jobs that have finished, without waiting.
    ///
    /// Use it in programs that schedule jobs without ever completing them. Regular calls keep the memory of job records from
    /// growing. Jobs without containers, and jobs whose containers were passed on to later jobs, need no calls: the scheduler reuses
    /// their records.
    ///
    /// # Determinism
    ///
    /// The set of finished jobs depends on timing. So it depends on timing whether a later job that conflicts with one of them, and
    /// is not ordered after it, is refused. Jobs that are ordered, and jobs that wait for their [turn](super::JobBuilder::in_turn),
    /// are never refused. But whether a job that waits for its turn runs after a failed job also depends on timing.
    ///
    /// # Errors
    ///
    /// Returns an error for the earliest of the finished jobs that failed. All finished jobs are completed.
    ///
    /// # Panics
    ///
    /// Panics with code A0006 when called from inside a job.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobCell, JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::builder().workers(0).build().unwrap());
    /// let mut total = JobCell::new(0);
    /// let _ = jobs.schedule(&[], total.write(), |total| *total += 1).unwrap();
    /// jobs.flush();
    /// jobs.complete_finished().unwrap();
    /// assert_eq!(*total.get().unwrap(), 1);
    /// ```
    #[track_caller]
    pub fn complete_finished(&self) -> Result<(), JobFailed> {
        self.refuse_inside_job("complete jobs");
        let mut finished = self.uncompleted_nodes(&mut self.state.borrow_mut());
        // The latest job comes first: its dependencies have finished too, and are completed with it.
        finished.reverse();
        finished.retain(|&index| self.node(index).dependents.is_closed());
        finished.reverse();
        let state = &mut *self.state.borrow_mut();
        let done = self.retire(state, &finished, std::iter::empty());
        state.targets = finished;
        done
    }

    /// Returns whether a job has finished.
    ///
    /// This method only reads the state. It does not start the job, and does not return the job's containers to the owner. To get
    /// them back, [complete](Self::complete) the job.
    ///
    /// # Panics
    ///
    /// Panics with code A0004 for a handle of another scheduler.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobHandle, JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let job = jobs.schedule(&[], (), |()| {}).unwrap();
    /// assert!(!jobs.is_completed(job), "nothing has started it");
    /// jobs.complete(job);
    /// assert!(jobs.is_completed(job) && jobs.is_completed(JobHandle::COMPLETED));
    /// ```
    #[track_caller]
    pub fn is_completed(&self, handle: JobHandle) -> bool {
        self.refuse_foreign(handle);
        let Some(node) = self.find(handle.job()) else { return true };
        node.dependents.is_closed() || self.joins_finished(handle.job().node)
    }

    /// Returns whether a job is held and only waits for other jobs, all of which have finished. Such a job counts as finished,
    /// although it was not processed yet.
    fn joins_finished(&self, index: u32) -> bool {
        let state = &mut *self.state.borrow_mut();
        state.mark += 1;
        state.walk.clear();
        state.walk.push((index, 0));
        while let Some((index, _)) = state.walk.pop() {
            let node = self.node(index);
            let notes = notes_of(node);
            // SAFETY: this thread is the owner of the node, and the node is held, because `is_held` is tested first.
            if !notes.is_held() || !matches!(unsafe { node.task() }.functions.kind, TaskKind::Join)
            {
                return false;
            }
            for dependency in notes.dependencies() {
                let unfinished = self.find(dependency.job());
                if let Some(other) = unfinished.filter(|other| !other.dependents.is_closed()) {
                    let notes = notes_of(other);
                    if notes.mark() != state.mark {
                        notes.set_mark(state.mark);
                        state.walk.push((dependency.job().node, 0));
                    }
                }
            }
        }
        true
    }

    /// Returns whether a handle is valid for this scheduler: a handle of one of its jobs, or of no job.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let pool = JobPool::new();
    /// let (jobs, others) = (JobScheduler::new(&pool), JobScheduler::new(&pool));
    /// let job = jobs.schedule(&[], (), |()| {}).unwrap();
    /// assert!(jobs.knows(job) && !others.knows(job));
    /// jobs.complete(job);
    /// assert!(jobs.knows(job), "it is still a handle of this scheduler");
    /// ```
    pub fn knows(&self, handle: JobHandle) -> bool {
        handle.scheduler == self.id || handle.scheduler == 0
    }

    #[track_caller]
    pub(super) fn refuse_foreign(&self, handle: JobHandle) {
        assert!(
            self.knows(handle),
            "A0004: the handle is of a job of another scheduler; pass it to the scheduler that returned it"
        );
    }

    pub(super) fn complete_live(&self) -> Result<(), JobFailed> {
        let targets = self.uncompleted_nodes(&mut self.state.borrow_mut());
        let done = self.finish_and_retire(targets.iter().copied());
        self.state.borrow_mut().targets = targets;
        done
    }

    /// Runs all held jobs on this thread.
    pub(super) fn run_held(&self) {
        let mut held = std::mem::take(&mut self.state.borrow_mut().targets);
        held.clear();
        let is_held = |job: &&JobId| is_held(&self.nodes, **job).is_some();
        held.extend(self.state.borrow().held.iter().filter(is_held).map(|job| job.node));
        self.finish(held.iter().copied());
        self.state.borrow_mut().targets = held;
    }

    /// Returns the nodes of all uncompleted jobs, in the order in which they were scheduled. The list is the buffer
    /// `state.targets`, which the caller must put back.
    pub(super) fn uncompleted_nodes(&self, state: &mut State) -> Vec<u32> {
        let mut found = std::mem::take(&mut state.targets);
        found.clear();
        let nodes = state.blocks.iter().flat_map(|block| (block * BLOCK as u32..).take(BLOCK));
        let sequence = |index: &u32| self.node(*index).sequence.get();
        found.extend(nodes.filter(|index| sequence(index) != 0));
        found.sort_unstable_by_key(sequence);
        found
    }

    fn finish_and_retire(
        &self,
        targets: impl Iterator<Item = u32> + Clone,
    ) -> Result<(), JobFailed> {
        self.finish(targets.clone());
        let state = &mut *self.state.borrow_mut();
        let order = std::mem::take(&mut state.order);
        let done = self.retire(state, &order, targets);
        state.order = order;
        done
    }
}

/// Retiring of finished jobs.
impl JobScheduler {
    /// Retires jobs that have finished: from now on, their handles are complete. Returns the failure to report, if there is one:
    /// the failure of the first target that failed, or else the earliest failure.
    pub(super) fn retire(
        &self,
        state: &mut State,
        order: &[u32],
        targets: impl Iterator<Item = u32>,
    ) -> Result<(), JobFailed> {
        let any_panicked = self.shared.panics.load(Ordering::Relaxed) != 0;
        let failure = if any_panicked && order.iter().any(|&index| self.node(index).has_failed()) {
            self.fail_held_dependants(state);
            self.failure_to_report(order, targets)
        } else {
            None
        };
        for &index in order {
            self.recycle(state, index, self.node(index));
        }
        failure.map_or(Ok(()), Err)
    }

    /// Retires the jobs that have finished and did not fail, if it is not visible whether they are completed.
    pub(super) fn recycle_finished(&self, state: &mut State) {
        let mut finished = self.uncompleted_nodes(state);
        self.retain_forgettable(state, &mut finished);
        finished.retain(|&index| !self.node(index).has_failed());
        for &index in &finished {
            self.recycle(state, index, self.node(index));
        }
        state.targets = finished;
    }

    /// Removes jobs from a list of all uncompleted jobs, unless it is not visible whether they are completed. Such a job has
    /// finished, is in no slot, and depends on such jobs only: a job that depends on it is also ordered after those before it.
    pub(super) fn retain_forgettable(&self, state: &mut State, uncompleted: &mut Vec<u32>) {
        state.mark += 1;
        // Dependencies come before the jobs that depend on them.
        uncompleted.retain(|&index| {
            let (node, mark) = (self.node(index), state.mark);
            let notes = notes_of(node);
            let is_kept =
                |job: JobId| self.find(job).is_some_and(|other| notes_of(other).mark() == mark);
            let is_visible = !node.dependents.is_closed()
                || notes.is_in_slots()
                || notes.dependencies().any(|dependency| is_kept(dependency.job()));
            if is_visible {
                notes.set_mark(mark);
            }
            !is_visible
        });
    }

    /// Frees a node.
    #[inline(always)]
    fn recycle(&self, state: &mut State, index: u32, node: &Node) {
        state.ranges.extend(self.vacate(node));
        state.free.push(index);
    }

    /// Retires a job that has finished. Returns the lanes of a parallel job.
    #[inline(always)]
    pub(super) fn vacate(&self, node: &Node) -> Option<Arc<Ranges>> {
        if node.has_failed() {
            node.forget_failure();
        }
        // SAFETY: this thread is the owner of a node that has finished, and no other reference to the task or the
        // parallel state is in use.
        let lanes = unsafe {
            match node.task().functions.kind {
                TaskKind::Join | TaskKind::Single(_) => None,
                TaskKind::Parallel(_) | TaskKind::Deferred(..) => node.parallel_mut().ranges.take(),
            }
        };
        node.sequence.set(0);
        lanes
    }

    /// Returns the failure of a finished job, if it failed.
    pub(super) fn failure_of(&self, index: u32) -> Option<JobFailed> {
        let node = self.node(index);
        let panic = node.failure()?;
        let ran = panic.sequence == node.sequence.get();
        // SAFETY: this thread is the owner of a node that has finished.
        Some(JobFailed { job: unsafe { node.task() }.name, ran, panic })
    }

    #[cold]
    pub(super) fn failure_to_report(
        &self,
        order: &[u32],
        mut targets: impl Iterator<Item = u32>,
    ) -> Option<JobFailed> {
        let failed = |index: u32| self.failure_of(index);
        let earlier = |kept: JobFailed, other: JobFailed| {
            if other.panic.precedes(&kept.panic) { other } else { kept }
        };
        let first_target = targets.find_map(failed);
        first_target.or_else(|| order.iter().copied().filter_map(failed).reduce(earlier))
    }

    /// Marks held jobs as failed if they depend on failed jobs, because the failed jobs are retired before the held jobs would run.
    #[cold]
    fn fail_held_dependants(&self, state: &State) {
        for node in state.held.iter().filter_map(|&held| is_held(&self.nodes, held)) {
            self.inherit_failure(node);
        }
    }
}
