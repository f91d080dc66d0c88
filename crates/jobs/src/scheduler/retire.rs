//! Retiring finished jobs, and reporting those that failed.
#![expect(unsafe_code, reason = "takes what finished jobs leave in their nodes")]

use std::sync::Arc;

use super::{JobScheduler, State, is_held};
use crate::failure::JobFailed;
use crate::node::{Node, TaskKind};
use crate::primitive::Ordering;
use crate::ranges::Ranges;

impl JobScheduler {
    /// Retires jobs that have finished: their handles are complete from now on. Returns the failure to report, if
    /// there is one: that of the first target that failed, else the earliest.
    pub(super) fn retire(
        &self,
        state: &mut State,
        order: &[u32],
        targets: impl Iterator<Item = u32>,
    ) -> Result<(), JobFailed> {
        let any_panicked = self.shared.panics.load(Ordering::Relaxed) != 0;
        let told = if any_panicked && order.iter().any(|&index| self.node(index).has_failed()) {
            self.fail_held_dependants(state);
            self.failure_to_tell(order, targets)
        } else {
            None
        };
        for &index in order {
            self.recycle(state, index, self.node(index));
        }
        told.map_or(Ok(()), Err)
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
    pub(super) fn failure_to_tell(
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

    /// Marks held jobs that depend on failed ones as failed: the failed jobs are retired before these would run.
    #[cold]
    fn fail_held_dependants(&self, state: &State) {
        for node in state.held.iter().filter_map(|&held| is_held(&self.nodes, held)) {
            self.inherit_failure(node);
        }
    }
}
