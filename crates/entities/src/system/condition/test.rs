//! Testing the conditions of systems.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use crate::panics::discard;
use crate::schedule::{SystemError, SystemFault, SystemId, panic_message};
use crate::system::builder::IntoSystemTarget;
use crate::system::condition::{BuildCondition, Condition};
use crate::version::Version;
use crate::world::{ErasedCondition, Flags, World, no_such};

/// Tests conditions from left to right, up to the first one that is false. `since` is the version of the last run of the system.
#[inline]
pub(in crate::system) fn hold(
    conditions: &mut [Box<dyn ErasedCondition>],
    world: &mut World,
    since: Version,
) -> Result<bool, Box<SystemFault>> {
    for condition in conditions {
        if !condition.test(world, since)? {
            world.systems.tested = None;
            return Ok(false);
        }
    }
    world.systems.tested = None;
    Ok(true)
}

impl World {
    /// Adds a run condition to systems that the world has: to all that the target names. See
    /// [`run_if`](crate::IntoSystem::run_if).
    ///
    /// The condition is tested after the conditions that the systems already have. Use it for groups such as
    /// [`FixedStep`](crate::FixedStep), which every world has.
    ///
    /// # Errors
    ///
    /// Returns A0108 if the world does not have such a system, A0070 or A0086 if a query of the condition is invalid, and A0109 if
    /// the world is being updated.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{FixedStep, IntoSystem, Resource, World, not, resource_exists};
    ///
    /// #[derive(Resource, Clone)]
    /// struct Paused;
    ///
    /// let mut world = World::new("Simulation");
    /// let tick = world.add_system((|| ()).in_group(FixedStep));
    /// world.add_run_condition(FixedStep, not(resource_exists::<Paused>))?;
    /// world.insert_resource(Paused);
    /// world.update(0.1);
    /// assert!(!world.system_info(tick)?.running);
    /// # Ok::<(), ancho_entities::SystemError>(())
    /// ```
    pub fn add_run_condition<M, N, C>(
        &mut self,
        target: impl IntoSystemTarget<M>,
        condition: C,
    ) -> Result<(), SystemError>
    where
        C: Condition<N> + BuildCondition<N>,
    {
        let target = target.into_target();
        self.refuse_in_update("add_run_condition")?;
        self.add_default_groups();
        let ids = self.systems.all_named(&target);
        if ids.is_empty() {
            return Err(no_such(&format!("`{}`", target.name())));
        }
        let condition = condition.into_test();
        for id in ids {
            let mut copy = ErasedCondition::copy(&condition);
            copy.declare(self, &self.systems.name_of(id))?;
            self.systems.add_condition(id, copy, false);
        }
        Ok(())
    }

    /// Returns an error if the world is being updated.
    pub(in crate::system) fn refuse_in_update(
        &mut self,
        what: &'static str,
    ) -> Result<(), SystemError> {
        self.reset_abandoned_update();
        if self.systems.is_in_update() {
            return Err(SystemError::InUpdate { what });
        }
        Ok(())
    }

    /// Tests the conditions of a system. A condition that panics or lacks a parameter is reported, and counts as false.
    #[inline(never)]
    pub(in crate::system) fn conditions_hold(&mut self, id: SystemId) -> bool {
        let Some(slot) = self.systems.slot_mut(id) else { return false };
        let since = slot.last_run;
        self.systems.guarded = Some(id);
        let Some(slot) = self.systems.slot_mut(id) else { return false };
        let Some(record) = &mut slot.record else { return false };
        // A condition cannot reach the system table mutably, so the list can be put back.
        let mut conditions = mem::take(&mut record.conditions);
        let outcome = catch_unwind(AssertUnwindSafe(|| hold(&mut conditions, self, since)));
        if let Some(record) = self.systems.record_mut(id) {
            record.conditions = conditions;
        }
        match outcome {
            Ok(Ok(holds)) => holds,
            failed => {
                let fault = self.fault_of_condition(failed);
                self.systems.fail(id, *fault);
                false
            }
        }
    }

    /// Returns the fault of a condition that failed or panicked.
    #[cold]
    pub(in crate::system) fn fault_of_condition<T>(
        &mut self,
        outcome: thread::Result<Result<T, Box<SystemFault>>>,
    ) -> Box<SystemFault> {
        let condition = self.systems.tested.take().unwrap_or_default();
        match outcome {
            Ok(Err(fault)) => fault,
            Ok(Ok(_)) => unreachable!("the condition did not fail"),
            Err(payload) => {
                let message = panic_message(&*payload);
                discard(payload);
                let fault = Box::new(SystemFault::Panicked { message });
                Box::new(SystemFault::InCondition { condition, fault })
            }
        }
    }
}

impl crate::world::Systems {
    /// Adds a condition that was declared to a system: after its other conditions, or, if it is a condition of a set, after those of
    /// its sets.
    pub(in crate::system) fn add_condition(
        &mut self,
        id: SystemId,
        condition: Box<dyn ErasedCondition>,
        is_of_set: bool,
    ) {
        let Some(slot) = self.slot_mut(id) else { return };
        slot.flags.set(Flags::CONDITIONS, true);
        if condition.reaches_systems() {
            slot.flags.set(Flags::SYSTEMS_UNREACHABLE, false);
        }
        let Some(record) = &mut slot.record else { return };
        if is_of_set {
            record.conditions.insert(record.set_conditions, condition);
            record.set_conditions += 1;
        } else {
            record.conditions.push(condition);
        }
    }
}
