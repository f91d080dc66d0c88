//! The owner's work on the jobs for which it waits.

use std::cmp::Reverse;

use super::{JobScheduler, notes_of};
use crate::context::InJob;
use crate::failure::JobFailed;
use crate::handle::JobId;
use crate::mode::ExecutionMode;
use crate::primitive::{Ordering, relax};

/// A mark that no walk has, because walks count from one.
const NO_WALK: u64 = u64::MAX;

impl JobScheduler {
    /// Completes the chain of the latest held jobs. No two jobs of a chain can run in parallel, so the jobs run here, one after
    /// another. Other threads see only the parallel jobs of the chain, and help with them.
    pub(super) fn complete_chain(&self) -> Result<(), JobFailed> {
        // No other jobs are awaited, so no walk marks jobs.
        let participant = self.participant(NO_WALK);
        let mut result = Ok(());
        // The jobs are removed from the held jobs before any of them runs.
        let (places, held) = {
            let state = &mut *self.state.borrow_mut();
            let places = state.held.len() - state.chain..state.held.len();
            state.held_count -= places.len();
            state.chain = 0;
            (places, std::mem::take(&mut state.held))
        };
        let in_job = InJob::enter(0, self.id, "");
        let mut chain = held[places.clone()].iter();
        while let Some(&JobId { node: index, .. }) = chain.next() {
            let node = self.node(index);
            notes_of(node).set_held(false);
            let has_finished = participant.run_private(index, node, &in_job);
            if has_finished && !node.has_failed() {
                // The job is not parallel, so there is nothing else to release.
                node.sequence.set(0);
                continue;
            }
            while !node.dependents.is_closed() {
                self.wait_for_any(&[index]);
            }
            if node.has_failed() {
                // Only the next job of the chain depends on this one. It would no longer find this job, so a failure is passed on
                // here.
                let next = chain.as_slice().first();
                if let Some(next) = next {
                    self.inherit_failure(self.node(next.node));
                }
                if result.is_ok() || next.is_none() {
                    result =
                        self.failure_to_report(&[index], std::iter::empty()).map_or(Ok(()), Err);
                }
            }
            if let Some(lanes) = self.vacate(node) {
                self.state.borrow_mut().ranges.push(lanes);
            }
        }
        let state = &mut *self.state.borrow_mut();
        state.free.extend(held[places.clone()].iter().map(|job| job.node));
        state.held = held;
        state.held.truncate(places.start);
        result
    }

    /// Works until the targets have finished. Stores them and all their dependencies in `state.order`.
    pub(super) fn finish(&self, targets: impl Iterator<Item = u32> + Clone) {
        let alone = self.works_alone();
        let (order, mut todo, walk, shared, announced, shuffle) = {
            let state = &mut *self.state.borrow_mut();
            let unfinished = |index: &u32| !self.node(*index).dependents.is_closed();
            let publish = !alone && targets.clone().filter(unfinished).nth(1).is_some();
            let wide = self.collect(state, targets, publish);
            let order = std::mem::take(&mut state.order);
            if wide && !alone && !publish {
                for &index in &order {
                    if notes_of(self.node(index)).is_held() {
                        self.publish(state, index);
                    }
                }
            }
            if !alone && !self.shared.injector.is_empty() {
                // Jobs that were flushed before may be far back in the queue, so they are moved to the front. Jobs that were just
                // published are among the open ones.
                state.ready.clear();
                state.ready.extend(order.iter().filter(|&&index| self.node(index).gate.is_open()));
            }
            let announced = !state.ready.is_empty();
            self.announce(state, true);
            let shuffle = matches!(state.mode, ExecutionMode::Shuffle { .. });
            let shared = !alone && (wide || publish);
            (order, std::mem::take(&mut state.todo), state.mark, shared, announced, shuffle)
        };
        // The list is processed from its end. If workers share the jobs, they begin at the other end. Otherwise each job must come
        // after its dependencies, and on a single thread in the order of scheduling.
        todo.clear();
        todo.extend(&order);
        if alone {
            let sequence = |&index: &u32| self.node(index).sequence.get();
            todo.sort_unstable_by_key(|index| Reverse(sequence(index)));
        } else if !shared {
            todo.reverse();
        }
        while !todo.is_empty() {
            if shuffle {
                self.state.borrow_mut().random.shuffle(&mut todo);
            }
            let before = todo.len();
            let mut left = before;
            let mut worked = false;
            for at in (0..before).rev() {
                let index = todo[at];
                worked |= self.work_on(index, walk);
                if !self.node(index).dependents.is_closed() {
                    left -= 1;
                    todo[left] = index;
                }
            }
            todo.drain(..left);
            if !worked && left == 0 {
                self.wait_for_any(&todo);
            }
        }
        if announced {
            self.shared.take_back_tickets();
        }
        let state = &mut *self.state.borrow_mut();
        state.order = order;
        state.todo = todo;
    }

    /// Works on an awaited job, if it has work left.
    fn work_on(&self, index: u32, walk: u64) -> bool {
        let node = self.node(index);
        if node.dependents.is_closed() {
            return false;
        }
        if !notes_of(node).is_held() {
            return self.participant(walk).try_run(index);
        }
        if !self.dependencies_finished(node) {
            return false;
        }
        self.state.borrow_mut().unhold(node);
        self.inherit_failure(node);
        let in_job = InJob::enter(0, self.id, "");
        self.participant(walk).run_private(index, node, &in_job);
        true
    }

    /// Waits until one of the jobs has finished: spins for a while, then sleeps.
    fn wait_for_any(&self, todo: &[u32]) {
        // Only jobs without unfinished dependencies are running.
        let under_way = || {
            todo.iter().map(|&index| self.node(index)).filter(|node| {
                let held = notes_of(node).is_held();
                !held && node.pending.load(Ordering::Relaxed) == 0
            })
        };
        for _ in 0..self.shared.spin.max(1) {
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
        // Each of these jobs wakes this thread when it finishes. There are none if the last one has just finished, and is about to
        // make its dependents ready.
        if marked > 0 {
            self.parker.park();
        } else {
            std::thread::yield_now();
        }
    }
}
