//! Walks over the graph of uncompleted jobs, and publishing of jobs to the workers.
#![expect(unsafe_code, reason = "links the edges of published jobs")]

use super::{JobScheduler, State, is_held, notes_of};
use crate::dependents::Edge;
use crate::handle::JobId;
use crate::mode::ExecutionMode;
use crate::node::Node;
use crate::notes::Notes;
use crate::primitive::Ordering;

impl JobScheduler {
    /// Returns whether the target is a direct or indirect dependency of the job with these notes.
    #[inline]
    pub(super) fn orders(&self, state: &mut State, notes: Notes<'_>, target: JobId) -> bool {
        // Usually the target is a direct dependency.
        notes.dependencies().any(|dependency| dependency.job() == target)
            || self.orders_indirectly(state, notes, target)
    }

    /// Walks over indirect dependencies. The number of a job is higher than the numbers of its dependencies, so jobs with lower
    /// numbers than the target are skipped.
    #[inline(never)]
    fn orders_indirectly(&self, state: &mut State, notes: Notes<'_>, target: JobId) -> bool {
        state.mark += 1;
        let mut next = Some(notes);
        state.walk.clear();
        while let Some(notes) = next {
            for dependency in notes.dependencies() {
                let job = dependency.job();
                if job == target {
                    return true;
                }
                if job.sequence > target.sequence
                    && let Some(node) = self.find(job)
                {
                    let notes = notes_of(node);
                    if notes.mark() != state.mark {
                        notes.set_mark(state.mark);
                        state.walk.push((job.node, 0));
                    }
                }
            }
            next = state.walk.pop().map(|(index, _)| notes_of(self.node(index)));
        }
        false
    }

    /// Collects the targets and all their uncompleted dependencies in `state.order`, each job after its dependencies. If `publish`
    /// is set, publishes the held jobs among them to the workers. Returns whether several of these jobs could run at the same time.
    pub(super) fn collect(
        &self,
        state: &mut State,
        targets: impl Iterator<Item = u32>,
        publish: bool,
    ) -> bool {
        state.mark += 1;
        let mark = state.mark;
        state.order.clear();
        state.walk.clear();
        let mut wide = false;
        for target in targets {
            let notes = notes_of(self.node(target));
            if notes.dependency_count() == 0 && notes.mark() != mark {
                // The job has no dependencies to walk to.
                notes.set_mark(mark);
                state.order.push(target);
                if publish && notes.is_held() {
                    self.publish(state, target);
                }
                continue;
            }
            self.enter(state, target, mark);
            while let Some((index, at)) = state.walk.last_mut() {
                let (index, place) = (*index, *at as usize);
                *at += 1;
                let notes = notes_of(self.node(index));
                if let Some(dependency) = notes.dependency(place) {
                    wide |= place > 0;
                    if self.find(dependency.job()).is_some() {
                        self.enter(state, dependency.job().node, mark);
                    }
                } else {
                    state.walk.pop();
                    state.order.push(index);
                    if publish && notes.is_held() {
                        self.publish(state, index);
                    }
                }
            }
        }
        wide
    }

    /// Begins the walk at a node, unless it was visited.
    #[inline]
    fn enter(&self, state: &mut State, index: u32, mark: u64) {
        let notes = notes_of(self.node(index));
        if notes.mark() != mark {
            notes.set_mark(mark);
            state.walk.push((index, 0));
        }
    }

    /// Publishes all held jobs to the workers.
    pub(super) fn publish_held(&self) {
        let state = &mut *self.state.borrow_mut();
        let mut held = std::mem::take(&mut state.held);
        for &job in &held {
            if is_held(&self.nodes, job).is_some() {
                self.publish(state, job.node);
            }
        }
        held.clear();
        state.held = held;
        self.announce(state, false);
    }

    /// Publishes one held job to the workers, by linking it to its dependencies. If these have finished, the job is ready, and is
    /// added to `state.ready`.
    pub(super) fn publish(&self, state: &mut State, index: u32) {
        let node = self.node(index);
        state.unhold(node);
        let notes = notes_of(node);
        let count = notes.dependency_count();
        if count > 0 {
            notes.reserve_edges(count);
            // The count is one more than the number of dependencies, so that none of them makes the job ready while the others are
            // still being linked. `Relaxed` is enough, because the pushes below publish it.
            node.pending.store(count as u32 + 1, Ordering::Relaxed);
            let mut settled = 1;
            for dependency in notes.dependencies() {
                let Some(other) = self.find(dependency.job()) else {
                    settled += 1;
                    continue;
                };
                let edge = notes.add_edge(Edge::new(index, dependency.passes_failure));
                // SAFETY: the edge is in reserved memory, so it does not move. It stays valid until this node is recycled, which is
                // after the edge was released. It is in no list yet, and no reference to it is created afterwards.
                let linked = unsafe { other.dependents.push(edge) };
                if !linked {
                    settled += 1;
                    if dependency.passes_failure
                        && let Some(panic) = other.failure()
                    {
                        node.fail(panic);
                    }
                }
            }
            // Acquire pairs with the release of the finishing threads. The gate makes their writes visible to the thread that
            // starts the job.
            if node.pending.fetch_sub(settled, Ordering::AcqRel) != settled {
                return;
            }
        }
        node.gate.open();
        state.ready.push(index);
    }

    /// Announces the jobs in `state.ready` to the workers, and clears the list.
    pub(super) fn announce(&self, state: &mut State, urgent: bool) {
        if state.ready.is_empty() {
            return;
        }
        if let ExecutionMode::Shuffle { .. } = state.mode {
            state.random.shuffle(&mut state.ready);
        }
        self.shared.inject(state.ready.drain(..), urgent);
    }

    /// Returns whether all dependencies of a job have finished.
    pub(super) fn dependencies_finished(&self, node: &Node) -> bool {
        let finished = |job| self.find(job).is_none_or(|other| other.dependents.is_closed());
        let notes = notes_of(node);
        notes.dependencies().all(|dependency| finished(dependency.job()))
    }

    /// Marks a held job, whose dependencies have finished, as failed if one of them failed.
    pub(super) fn inherit_failure(&self, node: &Node) {
        for dependency in notes_of(node).dependencies() {
            if dependency.passes_failure
                && let Some(panic) = self.find(dependency.job()).and_then(Node::failure)
            {
                node.fail(panic);
            }
        }
    }
}
