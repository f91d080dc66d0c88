//! Walks over the graph of uncompleted jobs, and how they are handed to the workers.
#![expect(unsafe_code, reason = "reads and writes the owner's notes in nodes")]

use super::{JobScheduler, State};
use crate::dependents::Edge;
use crate::handle::{JobHandle, JobId};
use crate::mode::ExecutionMode;
use crate::node::{NO_NODE, Node};
use crate::primitive::Ordering;

impl JobScheduler {
    /// Says whether the job is among the handles, or one that they depend on, directly or not.
    ///
    /// A job's number is above those of its dependencies, so the walk stays above the target's. The
    /// usual case is a handle that is the target itself.
    pub(super) fn orders<'h>(
        &self,
        state: &mut State,
        handles: impl Iterator<Item = &'h JobHandle> + Clone,
        target: JobId,
    ) -> bool {
        if handles.clone().any(|handle| handle.job == target) {
            return true;
        }
        state.mark += 1;
        let mark = state.mark;
        let walk = &mut state.walk;
        walk.clear();
        let visit = |walk: &mut Vec<(u32, u32)>, job: JobId| {
            if job.sequence > target.sequence && self.is_uncompleted(job) {
                // SAFETY: this is the owner, and no other reference to the notes is in use.
                let notes = unsafe { self.node(job.node).notes_mut() };
                if notes.mark != mark {
                    notes.mark = mark;
                    walk.push((job.node, 0));
                }
            }
        };
        for handle in handles {
            visit(walk, handle.job);
        }
        while let Some((index, _)) = walk.pop() {
            let mut at = 0;
            // SAFETY: this is the owner. The borrow ends before `visit` makes another.
            while let Some(job) = unsafe { self.node(index).notes() }.dependencies.get(at) {
                let job = job.job;
                if job == target {
                    return true;
                }
                visit(walk, job);
                at += 1;
            }
        }
        false
    }

    /// Finds all uncompleted jobs that the given ones depend on, and themselves, and puts them in
    /// `state.order`, each after what it depends on. Returns whether several of them could run at the
    /// same time.
    pub(super) fn collect(&self, state: &mut State, targets: impl Iterator<Item = u32>) -> bool {
        state.mark += 1;
        let mark = state.mark;
        state.order.clear();
        let mut unfinished_targets = 0;
        let mut wide = false;
        for target in targets {
            if !self.node(target).dependents.is_closed() {
                unfinished_targets += 1;
            }
            self.enter(state, target, mark);
            while let Some((index, at)) = state.walk.last_mut() {
                let (index, dependency) = (*index, *at as usize);
                // SAFETY: this is the owner, and no mutable reference to the notes is in use.
                let notes = unsafe { self.node(index).notes() };
                if let Some(dependency) = notes.dependencies.get(dependency) {
                    *at += 1;
                    let job = dependency.job;
                    if self.is_uncompleted(job) {
                        if !self.node(job.node).dependents.is_closed() {
                            // SAFETY: this is the owner; `notes` is not used any more.
                            let notes = unsafe { self.node(index).notes_mut() };
                            notes.unfinished += 1;
                            wide |= notes.unfinished > 1;
                        }
                        self.enter(state, job.node, mark);
                    }
                } else {
                    state.walk.pop();
                    state.order.push(index);
                }
            }
        }
        wide || unfinished_targets > 1
    }

    /// Begins the walk at a node, unless it was there.
    fn enter(&self, state: &mut State, index: u32, mark: u64) {
        // SAFETY: this is the owner, and no other reference to the notes is in use.
        let notes = unsafe { self.node(index).notes_mut() };
        if notes.mark != mark {
            notes.mark = mark;
            notes.unfinished = 0;
            state.walk.push((index, 0));
        }
    }

    /// Hands all held jobs to the workers.
    pub(super) fn publish_held(&self) {
        let state = &mut *self.state.borrow_mut();
        state.ready.clear();
        while state.held.first != NO_NODE {
            self.publish(state, state.held.first);
        }
        self.announce(state, false);
    }

    /// Hands one held job to the workers: links it to what it depends on. If that has finished, the
    /// job is ready, and added to `state.ready`.
    pub(super) fn publish(&self, state: &mut State, index: u32) {
        self.take_from_held(state, index);
        let node = self.node(index);
        // SAFETY: this is the owner, and no other reference to the notes is in use. The edges that
        // others come to see are on the heap, not in the notes.
        let notes = unsafe { node.notes_mut() };
        notes.edges.clear();
        if !notes.dependencies.is_empty() {
            notes.edges.reserve(notes.dependencies.len());
            // One more than there are dependencies, so that none of them finds the job ready while
            // the others are still being linked. Relaxed: the pushes below publish it.
            node.pending
                .store(notes.dependencies.len() as u32 + 1, Ordering::Relaxed);
            let mut settled = 1;
            for dependency in &notes.dependencies {
                let other = self.node(dependency.job.node);
                if !self.is_uncompleted(dependency.job) {
                    settled += 1;
                    continue;
                }
                notes
                    .edges
                    .push(Edge::new(index, dependency.passes_failure));
                let last = notes.edges.len() - 1;
                // SAFETY: the edge is in memory that was reserved, so it does not move, and it stays
                // until this node is recycled, which is after the edge was released. It is in no
                // list yet, and no reference to it is made again.
                let linked = unsafe { other.dependents.push(notes.edges.as_mut_ptr().add(last)) };
                if !linked {
                    settled += 1;
                    if dependency.passes_failure
                        && let Some(panic) = other.failure()
                    {
                        node.fail(panic);
                    }
                }
            }
            // Acquire pairs with the finishers' release, and so passes on what they did, through the
            // gate, to whoever starts the job.
            if node.pending.fetch_sub(settled, Ordering::AcqRel) != settled {
                return;
            }
        }
        node.gate.open();
        state.ready.push(index);
    }

    /// Takes a job from the list of held ones.
    pub(super) fn take_from_held(&self, state: &mut State, index: u32) {
        // SAFETY: this is the owner, and no other reference to the notes is in use; the job is held.
        unsafe {
            state.held.remove(index, self.shared(), Node::held_links);
            self.node(index).notes_mut().is_held = false;
        }
    }

    /// Tells the workers of the jobs in `state.ready`.
    pub(super) fn announce(&self, state: &mut State, urgent: bool) {
        if state.ready.is_empty() {
            return;
        }
        if let ExecutionMode::Shuffle { .. } = state.mode {
            state.random.shuffle(&mut state.ready);
        }
        self.shared()
            .injector
            .push(state.ready.iter().copied(), urgent);
        self.shared().sleep.notify();
    }

    /// Says whether all that a job depends on has finished.
    pub(super) fn dependencies_finished(&self, index: u32) -> bool {
        // SAFETY: this is the owner, and no mutable reference to the notes is in use.
        let notes = unsafe { self.node(index).notes() };
        notes.dependencies.iter().all(|dependency| {
            !self.is_uncompleted(dependency.job)
                || self.node(dependency.job.node).dependents.is_closed()
        })
    }

    /// Keeps a held job, whose dependencies have finished, from running if one of them failed.
    pub(super) fn inherit_failure(&self, index: u32) {
        let node = self.node(index);
        // SAFETY: this is the owner, and no mutable reference to the notes is in use.
        let notes = unsafe { node.notes() };
        for dependency in &notes.dependencies {
            if dependency.passes_failure
                && self.is_uncompleted(dependency.job)
                && let Some(panic) = self.node(dependency.job.node).failure()
            {
                node.fail(panic);
            }
        }
    }
}
