//! Stopping and removing systems, and the callbacks of their lifecycle.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::panics::discard;
use crate::schedule::{SystemError, SystemFault, SystemId, UpdateError, panic_message};
use crate::world::{ErasedSystem, Flags, Outcome, SystemSlot, World, no_such};

impl Drop for World {
    fn drop(&mut self) {
        self.end_systems();
    }
}

impl World {
    /// Removes a system. A running system stops first, and a struct is destroyed. A group is removed with all its members, and a
    /// point with the commands that wait for it. The members of a group stop in the order in which they are updated, then they are
    /// destroyed in the reverse order of adding.
    ///
    /// A system that is being updated is removed when it returns. A system that is due later in the same update does not run again.
    ///
    /// # Errors
    ///
    /// Returns A0108 if the world does not have the system. Returns A0150 if the system or one of its members fails in
    /// `on_stop_running` or `on_destroy`, or panics when it is dropped. The systems are removed in this case too.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{System, SystemResult, World};
    ///
    /// struct Save;
    ///
    /// impl System for Save {
    ///     fn on_update(&mut self, _: &mut World) -> SystemResult {
    ///         Ok(())
    ///     }
    ///
    ///     fn on_destroy(&mut self, _: &mut World) -> SystemResult {
    ///         Err("no disk".into())
    ///     }
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// let save = world.add_system(Save);
    /// assert!(world.remove_system(save).unwrap_err().to_string().ends_with("failed: no disk"));
    /// assert!(!world.has_system(save));
    /// ```
    pub fn remove_system(&mut self, id: SystemId) -> Result<(), SystemError> {
        if !self.has_system(id) {
            return Err(no_such(&format!("{id:?}")));
        }
        let (name, before) = (self.systems.name_of(id), self.systems.errors.len());
        self.remove_or_defer(id);
        self.errors_since(before).map_err(|errors| {
            let errors: Vec<_> = errors.iter().map(UpdateError::to_string).collect();
            SystemError::FailedToEnd { system: name.to_string(), errors: errors.join("; ") }
        })
    }

    /// Calls a callback of a function or struct, which is moved out of its slot during the call. Returns whether the callback
    /// succeeded.
    pub(super) fn call_system(
        &mut self,
        id: SystemId,
        what: impl FnOnce(&mut dyn ErasedSystem, &mut Self) -> Outcome,
    ) -> bool {
        let Some(mut system) = self.systems.slot_mut(id).and_then(|slot| slot.system.take()) else {
            return true;
        };
        let world = self.systems.id;
        // Data that the callback writes counts as changed for the system that ran before it.
        self.raise_version();
        let outcome = self.while_executing(id, |world| what(&mut *system, world));
        if self.systems.id != world {
            self.report_replaced_world(system);
            return false;
        }
        match self.systems.slot_mut(id) {
            Some(slot) => slot.system = Some(system),
            None => self.end_removed_group(system),
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

    /// Ends the callbacks of a group that was removed during one of them.
    #[cold]
    fn end_removed_group(&mut self, mut system: Box<dyn ErasedSystem>) {
        let name: Arc<str> = system.name().into();
        for callback in [ErasedSystem::stop, ErasedSystem::destroy] {
            let outcome = catch_unwind(AssertUnwindSafe(|| callback(&mut *system, self)));
            match outcome {
                Ok(Ok(())) => {}
                Ok(Err(fault)) => self.systems.fail_as(Arc::clone(&name), *fault),
                Err(payload) => {
                    let message = panic_message(&*payload);
                    discard(payload);
                    self.systems.fail_as(Arc::clone(&name), SystemFault::Panicked { message });
                }
            }
        }
        self.drop_catching(&name, system);
    }

    /// Stops a running system. If it is a group, stops its members too.
    pub(super) fn stop(&mut self, id: SystemId) {
        let Some(slot) = self.systems.slot_mut(id) else { return };
        if !slot.flags.has(Flags::STARTED) {
            return;
        }
        let is_group = slot.flags.has(Flags::GROUP);
        // A system that is out of its slot stops when it returns, and is removed with its group.
        if slot.flags.has(Flags::EXECUTING) && !is_group {
            return;
        }
        slot.flags.set(Flags::STARTED, false);
        if is_group {
            // Members stop in the order in which they run, if their constraints can hold.
            let added = slot.record.as_ref().map(|record| record.children.added.clone());
            let sorted = self.systems.sorted(id);
            let children = sorted.unwrap_or_else(|_| added.unwrap_or_default().into());
            children.iter().for_each(|&child| self.stop(child));
        }
        self.call_system(id, |system, world| system.stop(world));
        if !is_group {
            self.finish_removal(id);
        }
    }

    /// Removes a system that was marked as removed during a callback. Returns whether the system was marked.
    pub(super) fn finish_removal(&mut self, id: SystemId) -> bool {
        let is_removed =
            |slot: &SystemSlot| slot.flags.has(Flags::REMOVED) && !slot.flags.has(Flags::EXECUTING);
        let is_removed = self.systems.slot(id).is_some_and(is_removed);
        if is_removed {
            self.remove_or_defer(id);
        }
        is_removed
    }

    /// Removes a system now, or marks it if it is executing.
    pub(super) fn remove_or_defer(&mut self, id: SystemId) {
        let Some(slot) = self.systems.slot_mut(id) else { return };
        if slot.flags.has(Flags::EXECUTING) && !slot.flags.has(Flags::GROUP) {
            slot.flags.set(Flags::REMOVED, true);
            return;
        }
        if slot.flags.has(Flags::GROUP) {
            slot.flags.set(Flags::REMOVED, true);
            // All members stop before one is destroyed.
            self.stop(id);
            // Later systems may use earlier ones, so the last one is destroyed first.
            let children = self.systems.record(id).map(|record| record.children.added.clone());
            let mut children = children.unwrap_or_default();
            children.sort_by_key(|&child| self.systems.record(child).map(|record| record.created));
            for &child in children.iter().rev() {
                // A callback may have moved the member to another group.
                if self.systems.record(child).is_some_and(|record| record.group == Some(id)) {
                    self.remove_or_defer(child);
                }
            }
        }
        self.stop(id);
        self.call_system(id, |system, world| system.destroy(world));
        self.leave_group(id);
        self.systems.leave_sets(id);
        self.forget_observer(id);
        let Some(record) = self.systems.record(id) else { return };
        let (name, type_id, point) = (Arc::clone(&record.name), record.type_id, record.point);
        if self.systems.by_type.get(&type_id) == Some(&id) {
            self.systems.by_type.remove(&type_id);
        }
        if let Some(point) = point {
            let point = self.systems.points.get_mut(point);
            point.system = None;
            let waiting = std::mem::take(&mut point.waiting);
            self.drop_catching(&name, waiting);
        }
        let system = self.systems.slot_mut(id).and_then(|slot| slot.system.take());
        let record = self.systems.free(id);
        if self.systems.root == Some(id) {
            // The next added system creates another root.
            self.systems.root = None;
        }
        self.drop_catching(&name, system);
        self.drop_catching(&name, record);
    }

    /// Drops data of a system. Reports a panic with the name of the system.
    pub(super) fn drop_catching<T>(&mut self, name: &Arc<str>, what: T) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(what))) {
            let message = panic_message(&*payload);
            discard(payload);
            self.systems.fail_as(Arc::clone(name), SystemFault::Panicked { message });
        }
    }

    /// Reports that a system replaced its world, and drops the system.
    #[cold]
    pub(super) fn report_replaced_world(&mut self, system: Box<dyn ErasedSystem>) {
        self.systems.fail_as(system.name().into(), SystemFault::WorldExchanged);
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(system))) {
            discard(payload);
        }
    }

    /// Ends all systems: running ones stop in the order of adding, then all are destroyed in reverse order.
    pub(crate) fn end_systems(&mut self) {
        self.systems.is_dropping = true;
        let mut all: Vec<SystemId> = self.systems.ids().collect();
        // The entities complete their own jobs when they are dropped.
        if all.is_empty() {
            return;
        }
        if self.entities.jobs.begin_drop() {
            self.complete_jobs();
        } else {
            // The jobs of the world wait for the job that drops the world, so they cannot be completed here.
            self.report_failed_jobs();
        }
        all.sort_by_key(|&id| self.systems.record(id).map(|record| record.created));
        let is_group = |slot: &SystemSlot| slot.flags.has(Flags::GROUP);
        let (groups, others): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|&id| self.systems.slot(id).is_some_and(is_group));
        others.iter().for_each(|&id| self.stop(id));
        // The reversed list ends with the groups. Removing a group removes its members, which may be older than other systems.
        groups.iter().chain(&others).rev().for_each(|&id| self.remove_or_defer(id));
        self.report_errors();
    }
}
