//! Stretches of systems for which nothing has to be done but to call them.
//!
//! Most systems are functions that cannot reach the systems of their world. What was found out of those stays true while such a
//! function runs, so they need not be asked again after it, and no function has to leave its slot: the slots as a whole are out of
//! the world while a stretch runs, and panics are caught once for all of it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::SystemId;
use super::error::SystemFault;
use super::rate::RateTurn;
use super::system::Outcome;
use super::table::{Flags, Slot};
use super::update::has_run;
use crate::world::World;

impl World {
    /// Updates systems, as long as they are functions that cannot reach the systems of their world, or have nothing to do.
    /// Returns how many. The next one, if there is one, has to be looked at more closely.
    pub(super) fn run_apart(&mut self, sorted: &[SystemId]) -> usize {
        let systems = &self.systems;
        if systems.profiles || !systems.patches.is_empty() || systems.watcher.is_some() {
            return 0;
        }
        if self.systems.executing.is_some() {
            self.collect_jobs(self.systems.executing);
        }
        let depth = self.time.depth();
        let mut slots = std::mem::take(&mut self.systems.slots);
        let mut count = 0;
        let stretch = || self.run_stretch(&mut slots, sorted, &mut count);
        let outcome = catch_unwind(AssertUnwindSafe(stretch));
        debug_assert!(self.systems.slots.is_empty(), "nobody has reached them");
        self.systems.slots = slots;
        if !matches!(outcome, Ok(Ok(()))) {
            self.fail_apart(sorted[count - 1], depth, outcome);
        }
        count
    }

    /// Ends the update of the system that a stretch ends with, because something went wrong.
    #[cold]
    fn fail_apart(&mut self, id: SystemId, depth: usize, outcome: std::thread::Result<Outcome>) {
        self.time.unwind_to(depth);
        let version = self.entities.storage.version;
        if has_run(&outcome)
            && let Some(slot) = self.systems.slot_mut(id)
        {
            slot.last_run = version;
        }
        self.note(id, outcome);
        self.start_jobs(id);
    }

    /// Updates the systems. Counts each before it runs: if it fails, the last that was counted did.
    #[inline]
    fn run_stretch(
        &mut self,
        slots: &mut [Slot],
        sorted: &[SystemId],
        count: &mut usize,
    ) -> Outcome {
        for (at, &id) in sorted.iter().enumerate() {
            // One that has all entities may have exchanged them.
            if self.systems.entities != self.entities.id() {
                self.systems.start_over(slots, &mut self.entities);
            }
            let Some(slot) = slots.get_mut(id.index() as usize) else { break };
            if slot.generation != id.generation() {
                break;
            }
            if !slot.flags.is_ready_apart() {
                if !self.is_idle(slots, id) {
                    break;
                }
                *count = at + 1;
                self.run_idle(slots, id)?;
                continue;
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

    /// Whether a group that could be updated has nothing to do, and a rate that does not count such turns.
    pub(super) fn is_passed_over(&mut self, id: SystemId) -> bool {
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
                self.note(id, Err(payload));
                true
            }
        }
    }

    /// Whether it is known that a system has nothing to do: it is a point, and nothing is to be carried out there, or a group of
    /// such points.
    #[inline]
    fn is_idle(&self, slots: &[Slot], id: SystemId) -> bool {
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
    fn is_idle_point(&self, slots: &[Slot], id: SystemId) -> bool {
        let Some(slot) = slots.get(id.index() as usize) else { return false };
        if slot.generation != id.generation() || !slot.flags.is_ready_point() {
            return false;
        }
        let point = slot.record.as_ref().and_then(|record| record.point);
        point.is_some_and(|point| self.systems.points.is_idle(point))
    }

    /// Does what is left to do for a system that has nothing to do: the rate of a group counts its turns.
    #[inline]
    fn run_idle(&mut self, slots: &mut [Slot], id: SystemId) -> Outcome {
        let Some(slot) = slots.get_mut(id.index() as usize) else { return Ok(()) };
        if !slot.flags.has(Flags::GROUP) {
            return Ok(());
        }
        let rate = slot.record.as_mut().and_then(|record| record.children.rate.as_mut());
        if let Some(rate) = rate.filter(|rate| rate.counts_idle_turns()) {
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
