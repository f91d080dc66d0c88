//! How systems are told something, and what becomes of it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::erased::{ErasedSystem, Outcome};
use super::error::{SystemFault, panic_message};
use super::id::SystemId;
use super::table::Flags;
use super::update_guard::Turn;
pub(super) use crate::panics::discard;
use crate::version::Version;
use crate::world::World;

impl World {
    /// Does something as a system, which is marked meanwhile. If it panics, says what the panic said.
    pub(super) fn while_executing<R>(
        &mut self,
        id: SystemId,
        function: impl FnOnce(&mut Self) -> R,
    ) -> Result<R, String> {
        self.begin_turn();
        self.follow_entities();
        let (world, outer) = (self.systems.id, self.systems.executing.replace(id));
        let _turn = Turn::begin(world);
        self.collect_jobs(outer);
        let listed = self.entities.jobs.list_scheduled(true);
        let mut since = Version::NEVER;
        if let Some(slot) = self.systems.slot_mut(id) {
            slot.flags.set(Flags::EXECUTING, true);
            since = slot.last_run;
        }
        let outer_since = std::mem::replace(&mut self.systems.since, since);
        let entities = self.systems.entities;
        let floors = self.time.raise_floor();
        let result = catch_unwind(AssertUnwindSafe(|| function(self)));
        if self.systems.id == world {
            self.go_back_to(outer, outer_since, entities);
            self.time.unwind_to_floor(floors);
            self.collect_jobs(Some(id));
            self.entities.jobs.list_scheduled(listed);
            if let Some(slot) = self.systems.slot_mut(id) {
                slot.flags.set(Flags::EXECUTING, false);
            }
        }
        result.map_err(|payload| {
            let message = panic_message(&*payload);
            discard(payload);
            message
        })
    }

    /// Tells a function or a struct something, which is out of its place meanwhile.
    pub(super) fn tell(
        &mut self,
        id: SystemId,
        what: impl FnOnce(&mut dyn ErasedSystem, &mut Self) -> Outcome,
    ) -> bool {
        let Some(mut system) = self.systems.slot_mut(id).and_then(|slot| slot.system.take()) else {
            return true;
        };
        let world = self.systems.id;
        // What it changes is new for the system that ran before it.
        self.raise_version();
        let outcome = self.while_executing(id, |world| what(&mut *system, world));
        if self.systems.id != world {
            self.exchanged(system);
            return false;
        }
        if let Some(slot) = self.systems.slot_mut(id) {
            slot.system = Some(system);
        }
        match outcome {
            Ok(Ok(())) => true,
            Ok(Err(fault)) => {
                self.systems.fail(id, *fault);
                false
            }
            Err(message) => {
                self.systems.fail(id, SystemFault::Panicked { message });
                false
            }
        }
    }
}
