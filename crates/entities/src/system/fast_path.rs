//! Fast path: consecutive function systems that cannot access the system table.
//!
//! Most systems are functions without access to the system table. Such a function cannot change flags that were tested before it
//! runs, so the flags are not tested again after it, and the function does not have to be moved out of its slot. Instead the whole
//! slot list is moved out of the world while a sequence of such functions runs, and panics are caught once for the sequence.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::condition;
use super::update::has_run;
use crate::schedule::{RateManager, RateTurn, SystemFault, SystemId};
use crate::world::{Flags, Outcome, SystemSlot, World};

impl World {
    /// Updates consecutive systems that are idle or can run on the fast path. Returns the number of these systems. The next system,
    /// if there is one, needs the slow path.
    pub(super) fn run_fast_path(&mut self, sorted: &[SystemId]) -> usize {
        let systems = &self.systems;
        if systems.profiles || !systems.patches.is_empty() || systems.watcher.is_some() {
            return 0;
        }
        if self.systems.executing.is_some() {
            self.collect_jobs(self.systems.executing);
        }
        let depth = self.time.depth();
        let mut slots = std::mem::take(&mut self.systems.slots);
        self.systems.is_on_fast_path = true;
        let mut count = 0;
        let stretch = || self.run_consecutive(&mut slots, sorted, &mut count);
        let outcome = catch_unwind(AssertUnwindSafe(stretch));
        debug_assert!(self.systems.slots.is_empty(), "no system has reached them");
        self.systems.slots = slots;
        self.systems.is_on_fast_path = false;
        if !matches!(outcome, Ok(Ok(()))) {
            self.fail_on_fast_path(sorted[count - 1], depth, outcome);
        }
        count
    }

    /// Ends the update of a failed system, which is the last one of the sequence.
    #[cold]
    fn fail_on_fast_path(
        &mut self,
        id: SystemId,
        depth: usize,
        outcome: std::thread::Result<Outcome>,
    ) {
        self.time.unwind_to(depth);
        if matches!(&outcome, Ok(Err(fault)) if matches!(**fault, SystemFault::Unfinished)) {
            return self.finish_system(id);
        }
        if self.systems.tested.is_some() {
            let fault = self.fault_of_condition(outcome);
            self.systems.fail(id, *fault);
            return self.stop(id);
        }
        let version = self.entities.storage.version;
        if has_run(&outcome)
            && let Some(slot) = self.systems.slot_mut(id)
        {
            slot.last_run = version;
        }
        self.report_outcome(id, outcome);
        self.start_jobs(id);
    }

    /// Updates systems until one needs the slow path. `count` includes each system before it runs, so a failed system is the last
    /// one counted.
    #[inline]
    fn run_consecutive(
        &mut self,
        slots: &mut [SystemSlot],
        sorted: &[SystemId],
        count: &mut usize,
    ) -> Outcome {
        for (at, &id) in sorted.iter().enumerate() {
            // A system with `&mut EntityManager` may have replaced the entities. If events are pending, the marker differs too,
            // and the events are delivered first.
            if self.systems.entities != self.entities.storage.lifecycle.marker() {
                if self.entities.storage.lifecycle.is_pending() {
                    break;
                }
                self.systems.reset_last_runs(slots, &mut self.entities);
                self.resources.limit_versions(self.entities.storage.version);
            }
            let Some(slot) = slots.get_mut(id.index() as usize) else { break };
            if slot.generation != id.generation() {
                break;
            }
            if !slot.flags.is_ready_for_fast_path() {
                if slot.flags.is_conditional_for_fast_path() {
                    *count = at + 1;
                    let Some(record) = &mut slot.record else { break };
                    self.systems.guarded = Some(id);
                    let holds = condition::hold(&mut record.conditions, self, slot.last_run)?;
                    slot.flags.set(Flags::STARTED, holds);
                    if !holds {
                        continue;
                    }
                } else if slot.flags.has(Flags::DONE) {
                    *count = at + 1;
                    continue;
                } else if self.is_idle(slots, id) {
                    *count = at + 1;
                    self.run_idle(slots, id)?;
                    continue;
                } else {
                    break;
                }
            }
            let Some(system) = &mut slot.system else { break };
            *count = at + 1;
            self.entities.storage.version = self.entities.storage.version.next();
            system.update(self, slot.last_run)?;
            slot.last_run = self.entities.storage.version;
            self.start_jobs(id);
        }
        Ok(())
    }

    /// Tests whether a group is idle and has a rate manager that does not count idle turns.
    pub(super) fn skips_idle_turn(&mut self, id: SystemId) -> bool {
        if !self.is_idle(&self.systems.slots, id) {
            return false;
        }
        let version = self.entities.storage.version;
        let Some(slot) = self.systems.slot_mut(id) else { return false };
        let rate = slot.record.as_ref().and_then(|record| record.children.rate.as_ref());
        let Some(rate) = rate else { return false };
        match catch_unwind(AssertUnwindSafe(|| rate.counts_idle_turns())) {
            Ok(counts) => {
                if !counts {
                    slot.last_run = version;
                }
                !counts
            }
            Err(payload) => {
                self.report_outcome(id, Err(payload));
                true
            }
        }
    }

    /// Tests whether a system is an idle point, or a group of idle points. A point is idle if no commands wait for it.
    #[inline]
    fn is_idle(&self, slots: &[SystemSlot], id: SystemId) -> bool {
        let Some(slot) = slots.get(id.index() as usize) else { return false };
        let Some(record) = &slot.record else { return false };
        if slot.flags.is_ready_group() {
            let children = &record.children;
            return children.only_points
                && !children.is_stale
                && children.sorted.as_ref().is_some_and(|sorted| {
                    sorted.iter().all(|&child| self.is_idle_point(slots, child))
                });
        }
        self.is_idle_point(slots, id)
    }

    #[inline]
    fn is_idle_point(&self, slots: &[SystemSlot], id: SystemId) -> bool {
        let Some(slot) = slots.get(id.index() as usize) else { return false };
        if slot.generation != id.generation() || !slot.flags.is_ready_point() {
            return false;
        }
        let point = slot.record.as_ref().and_then(|record| record.point);
        point.is_some_and(|point| self.systems.points.is_idle(point))
            && self.observers.masks.is_empty()
    }

    /// Updates an idle system. If it is a group, its rate manager counts the turns.
    #[inline]
    fn run_idle(&mut self, slots: &mut [SystemSlot], id: SystemId) -> Outcome {
        let Some(slot) = slots.get_mut(id.index() as usize) else { return Ok(()) };
        if !slot.flags.has(Flags::GROUP) {
            return Ok(());
        }
        let rate = slot.record.as_mut().and_then(|record| record.children.rate.as_mut());
        let stands_still = self.time.stands_still();
        let counts = |rate: &&mut Box<dyn RateManager>| {
            rate.counts_idle_turns() && (!stands_still || rate.runs_while_paused())
        };
        if let Some(rate) = rate.filter(counts) {
            let (time, maximum_delta) = (self.time.current(), self.time.maximum_delta());
            let (mut updates, depth) = (0, self.time.depth());
            while let Some(next) = rate.next_update(RateTurn { time, maximum_delta, updates }) {
                self.time.push(next).map_err(|error| Box::new(SystemFault::RateTime(error)))?;
                self.time.unwind_to(depth);
                updates += 1;
            }
        }
        slot.last_run = self.entities.storage.version;
        Ok(())
    }
}
