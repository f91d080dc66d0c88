//! How the owner waits for jobs, and works on them meanwhile.
#![expect(unsafe_code, reason = "reads and writes the owner's notes in nodes")]

use super::{JobScheduler, State};
use crate::failure::JobFailed;
use crate::handle::{JobHandle, JobId};
use crate::mode::ExecutionMode;
use crate::node::{NO_NODE, Node, TaskKind};
use crate::primitive::{Ordering, relax};

impl JobScheduler {
    /// Completes a job: waits until it and all it depends on have finished, and returns their
    /// containers to the owner.
    ///
    /// Meanwhile the calling thread works on those jobs, and on no others. A job that was completed
    /// before is complete; so is [`JobHandle::COMPLETED`].
    ///
    /// # Panics
    ///
    /// - Panics with code A0011 if the job, or one it depends on, panicked.
    ///   [`try_complete`](Self::try_complete) returns an error instead.
    /// - Panics with code A0006 when called from inside a job, and with code A0004 for a handle of
    ///   another scheduler.
    #[track_caller]
    pub fn complete(&self, handle: JobHandle) {
        if let Err(failed) = self.try_complete(handle) {
            panic!("{failed}");
        }
    }

    /// Completes a job, as [`complete`](Self::complete) does, and says whether it failed.
    ///
    /// # Errors
    ///
    /// Returns an error if the job panicked, or did not run because one it depends on panicked; or if
    /// a job that it was only [ordered after](crate::JobBuilder::after) panicked and was completed by
    /// this call, so that no panic goes unnoticed. The job is completed in any case.
    ///
    /// # Panics
    ///
    /// As [`complete`](Self::complete), but for code A0011.
    #[track_caller]
    pub fn try_complete(&self, handle: JobHandle) -> Result<(), JobFailed> {
        self.try_complete_all(&[handle])
    }

    /// Completes several jobs, which may run at the same time meanwhile.
    ///
    /// # Panics
    ///
    /// As [`complete`](Self::complete), for the first of the jobs that failed. All are completed by then.
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

    /// Completes several jobs, as [`complete_all`](Self::complete_all) does, and says whether one failed.
    ///
    /// # Errors
    ///
    /// As [`try_complete`](Self::try_complete), for the first of the jobs that failed.
    ///
    /// # Panics
    ///
    /// As [`try_complete`](Self::try_complete).
    #[track_caller]
    pub fn try_complete_all(&self, handles: &[JobHandle]) -> Result<(), JobFailed> {
        self.refuse_inside_job("complete a job");
        for handle in handles {
            assert!(
                handle.scheduler == self.id || handle.scheduler == 0,
                "A0004: a job of another scheduler cannot be completed here; complete it on the \
                 scheduler that gave the handle"
            );
        }
        if let [handle] = handles
            && let Some(done) = self.complete_on_the_spot(handle.job)
        {
            return done;
        }
        let uncompleted = |handle: &&JobHandle| self.is_uncompleted(handle.job);
        let targets = |_: &State| {
            handles
                .iter()
                .filter(uncompleted)
                .map(|handle| handle.job.node)
        };
        self.finish_and_retire(targets)
    }

    /// Completes all jobs of this scheduler.
    ///
    /// # Panics
    ///
    /// As [`complete`](Self::complete), for the earliest job that failed. All are completed by then.
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
    pub fn complete_everything(&self) {
        self.refuse_inside_job("complete a job");
        if let Err(failed) = self.complete_live() {
            panic!("{failed}");
        }
    }

    /// Completes the jobs that have finished, and waits for none.
    ///
    /// For programs that schedule without ever completing: called now and then, it keeps what is
    /// remembered from growing.
    ///
    /// # Errors
    ///
    /// Returns an error for the earliest of those jobs that failed. All of them are completed.
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
        let state = &mut *self.state.borrow_mut();
        let mut order = std::mem::take(&mut state.order);
        order.clear();
        let mut index = state.live.first;
        while index != NO_NODE {
            let node = self.node(index);
            if node.dependents.is_closed() {
                order.push(index);
            }
            // SAFETY: this is the owner, and no mutable reference to the notes is in use.
            index = unsafe { node.notes() }.live.next;
        }
        let done = self.retire(state, &order, |_| std::iter::empty());
        state.order = order;
        done
    }

    /// Says whether a job has finished.
    ///
    /// This only looks. It starts nothing, and the job's containers are still not the owner's: for
    /// that the job must be [completed](Self::complete).
    pub fn is_completed(&self, handle: JobHandle) -> bool {
        if handle.scheduler != self.id || !self.is_uncompleted(handle.job) {
            return true;
        }
        let node = self.node(handle.job.node);
        if node.dependents.is_closed() {
            return true;
        }
        // SAFETY: this is the owner, and no mutable reference to the notes is in use.
        let notes = unsafe { node.notes() };
        // SAFETY: this is the owner of a node that is held, if the first holds.
        let is_held_join =
            notes.is_held && matches!(unsafe { node.task() }.functions.kind, TaskKind::Join);
        is_held_join
            && notes.dependencies.iter().all(|other| {
                self.is_completed(JobHandle {
                    job: other.job,
                    scheduler: self.id,
                })
            })
    }

    pub(super) fn complete_live(&self) -> Result<(), JobFailed> {
        self.finish_and_retire(|state| self.nodes_from(state.live.first, live_next))
    }

    /// Runs all held jobs on this thread.
    pub(super) fn run_held(&self) {
        self.finish(|state| self.nodes_from(state.held.first, held_next));
    }

    /// Completes a job that nobody else knows of and that waits for nothing: the shortest way.
    #[inline]
    fn complete_on_the_spot(&self, job: JobId) -> Option<Result<(), JobFailed>> {
        if !self.is_uncompleted(job) {
            return Some(Ok(()));
        }
        let node = self.node(job.node);
        // SAFETY: this is the owner, and no mutable reference to the notes is in use.
        let notes = unsafe { node.notes() };
        if !notes.is_held || !notes.dependencies.is_empty() {
            return None;
        }
        // SAFETY: this is the owner of a held node.
        if !matches!(
            unsafe { node.task() }.functions.kind,
            TaskKind::Single | TaskKind::Join
        ) {
            return None;
        }
        let walk = {
            let state = &mut *self.state.borrow_mut();
            self.take_from_held(state, job.node);
            state.mark
        };
        self.participant(walk).run_private(job.node);
        let state = &mut *self.state.borrow_mut();
        Some(self.retire(state, &[job.node], |_| [job.node].into_iter()))
    }

    fn finish_and_retire<I: Iterator<Item = u32>>(
        &self,
        targets: impl Fn(&State) -> I,
    ) -> Result<(), JobFailed> {
        self.finish(&targets);
        let state = &mut *self.state.borrow_mut();
        let order = std::mem::take(&mut state.order);
        let done = self.retire(state, &order, targets);
        state.order = order;
        done
    }

    /// Works until the targets have finished. Leaves them and all they depend on in `state.order`.
    fn finish<I: Iterator<Item = u32>>(&self, targets: impl Fn(&State) -> I) {
        let alone = self.works_alone();
        let (mut todo, walk, shuffle) = {
            let state = &mut *self.state.borrow_mut();
            let targets = targets(state);
            let wide = self.collect(state, targets);
            let mut todo = std::mem::take(&mut state.todo);
            todo.clear();
            todo.extend(
                state
                    .order
                    .iter()
                    .filter(|&&index| !self.node(index).dependents.is_closed()),
            );
            if wide && !alone {
                self.publish_awaited(state, &mut todo);
            }
            let shuffle = matches!(state.mode, ExecutionMode::Shuffle { .. });
            (todo, state.mark, shuffle)
        };
        while !todo.is_empty() {
            if shuffle {
                self.state.borrow_mut().random.shuffle(&mut todo);
            }
            let before = todo.len();
            let mut worked = false;
            for &index in &todo {
                worked |= self.work_on(index, walk);
            }
            todo.retain(|&index| !self.node(index).dependents.is_closed());
            if !worked && todo.len() == before {
                self.wait_for_any(&todo);
            }
        }
        self.state.borrow_mut().todo = todo;
    }

    /// Hands the held ones of the awaited jobs to the workers, who are told of those that are ready.
    /// Puts the ready ones first in the list, latest first: the workers begin at the other end.
    fn publish_awaited(&self, state: &mut State, todo: &mut Vec<u32>) {
        state.ready.clear();
        for &index in &*todo {
            // SAFETY: this is the owner, and no mutable reference to the notes is in use.
            if unsafe { self.node(index).notes() }.is_held {
                self.publish(state, index);
            }
        }
        // SAFETY: as above.
        let is_root = |index: &u32| unsafe { self.node(*index).notes() }.unfinished == 0;
        let roots = todo.iter().filter(|index| is_root(index)).count();
        todo.sort_by_key(|index| !is_root(index));
        todo[..roots].reverse();
        self.announce(state, true);
    }

    /// Works on an awaited job, if it is there to be worked on.
    fn work_on(&self, index: u32, walk: u64) -> bool {
        let node = self.node(index);
        if node.dependents.is_closed() {
            return false;
        }
        // SAFETY: this is the owner, and no mutable reference to the notes is in use.
        if !unsafe { node.notes() }.is_held {
            return self.participant(walk).try_run(index);
        }
        if !self.dependencies_finished(index) {
            return false;
        }
        self.take_from_held(&mut self.state.borrow_mut(), index);
        self.inherit_failure(index);
        self.participant(walk).run_private(index);
        true
    }

    /// Waits until one of the jobs has finished: spins for a while, then sleeps.
    fn wait_for_any(&self, todo: &[u32]) {
        // Only those that wait for nothing themselves are under way.
        let under_way = || {
            todo.iter().map(|&index| self.node(index)).filter(|node| {
                // SAFETY: this is the owner, and no mutable reference to the notes is in use.
                let held = unsafe { node.notes() }.is_held;
                !held && node.pending.load(Ordering::Relaxed) == 0
            })
        };
        for _ in 0..self.shared().spin.max(1) {
            if under_way().any(|node| node.dependents.is_closed() || node.gate.is_open()) {
                return;
            }
            relax();
        }
        let mut marked = 0;
        for node in under_way() {
            if !node.dependents.wait_for() {
                return;
            }
            marked += 1;
        }
        // Each of them wakes this thread when it finishes. None may be left when the last one
        // finished just now, and its dependants became ready: then there is something to do.
        if marked > 0 {
            self.parker.park();
        }
    }

    /// Ends the stay of jobs that have finished: their handles are complete from now on. Returns the
    /// failure to tell, if there is one: of the first target that failed, else the earliest.
    fn retire<I: Iterator<Item = u32>>(
        &self,
        state: &mut State,
        order: &[u32],
        targets: impl Fn(&State) -> I,
    ) -> Result<(), JobFailed> {
        let failed = |index: u32| {
            let node = self.node(index);
            let panic = node.failure()?;
            let ran = panic.sequence == node.sequence.load(Ordering::Relaxed);
            // SAFETY: this is the owner of a node that has finished.
            Some(JobFailed {
                job: unsafe { node.task() }.name,
                ran,
                panic,
            })
        };
        let any_failed = order.iter().any(|&index| self.node(index).has_failed());
        let told = if any_failed {
            let earliest = |kept: JobFailed, other: JobFailed| {
                if other.panic.precedes(&kept.panic) {
                    other
                } else {
                    kept
                }
            };
            targets(state)
                .find_map(failed)
                .or_else(|| order.iter().copied().filter_map(failed).reduce(earliest))
        } else {
            None
        };
        for &index in order {
            let node = self.node(index);
            if node.has_failed() {
                self.fail_held_dependants(state, index);
                node.forget_failure();
            }
            // SAFETY: this is the owner of a node that has finished, and no other reference to the
            // task or the notes is in use.
            unsafe {
                state.ranges.extend(node.task_mut().ranges.take());
                state.live.remove(index, self.shared(), Node::live_links);
            }
            node.clear_sequence();
            state.free.push(index);
        }
        told.map_or(Ok(()), Err)
    }

    /// Keeps held jobs that depend on a failed one from running: it will be gone when they would look.
    #[cold]
    fn fail_held_dependants(&self, state: &State, failed: u32) {
        let Some(panic) = self.node(failed).failure() else {
            return;
        };
        let sequence = self.node(failed).sequence.load(Ordering::Relaxed);
        let job = JobId {
            sequence,
            node: failed,
        };
        let mut index = state.held.first;
        while index != NO_NODE {
            let node = self.node(index);
            // SAFETY: this is the owner, and no mutable reference to the notes is in use.
            let notes = unsafe { node.notes() };
            if notes
                .dependencies
                .iter()
                .any(|other| other.job == job && other.passes_failure)
            {
                node.fail(panic.clone());
            }
            index = notes.held.next;
        }
    }

    fn nodes_from(&self, first: u32, next: fn(&Node) -> u32) -> impl Iterator<Item = u32> {
        let some = |index| (index != NO_NODE).then_some(index);
        std::iter::successors(some(first), move |&index| some(next(self.node(index))))
    }
}

fn live_next(node: &Node) -> u32 {
    // SAFETY: called by the owner alone, who has no mutable reference to the notes meanwhile.
    unsafe { node.notes() }.live.next
}

fn held_next(node: &Node) -> u32 {
    // SAFETY: as above.
    unsafe { node.notes() }.held.next
}
