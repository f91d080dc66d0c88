//! How systems stop and go.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::SystemId;
use super::error::{SystemError, SystemFault, UpdateError, panic_message};
use super::system::{ErasedSystem, Outcome};
use super::table::{Flags, Slot, no_such};
use crate::panics::discard;
use crate::world::World;

impl World {
    /// Removes a system. One that runs is told that it stops; a struct is told that it is destroyed. A group goes with all that
    /// is in it, and a point with what is to be carried out there. The systems of a group stop in the order in which they are
    /// updated; then they are destroyed, the last that was added first.
    ///
    /// A system that is just being updated is removed when it has returned. One that would be updated later does not run any
    /// more.
    ///
    /// # Errors
    ///
    /// With A0108 if it is not there. With A0150 if it, or a system that goes with it, failed when it was told that it stops or is
    /// destroyed, or panicked when it was dropped: it is removed then, too.
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

    /// Tells a function or a struct something, which is out of its place meanwhile.
    pub(super) fn call_system(
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
            self.report_replaced_world(system);
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

    /// Has a system stop that runs, and all that is in it.
    pub(super) fn stop(&mut self, id: SystemId) {
        let Some(slot) = self.systems.slot_mut(id) else { return };
        if !slot.flags.has(Flags::STARTED) {
            return;
        }
        let is_group = slot.flags.has(Flags::GROUP);
        // It is out of its slot, and cannot be told: it stops when it has returned, and goes with its group.
        if slot.flags.has(Flags::EXECUTING) && !is_group {
            return;
        }
        slot.flags.set(Flags::STARTED, false);
        if is_group {
            // In the order in which they run, if there is one.
            let added = slot.record.as_ref().map(|record| record.children.added.clone());
            let sorted = self.systems.sorted(id);
            let children = sorted.unwrap_or_else(|_| added.unwrap_or_default().into());
            children.iter().for_each(|&child| self.stop(child));
        } else {
            self.call_system(id, |system, world| system.stop(world));
            self.finish_removal(id);
        }
    }

    /// Has a system go that was removed while it was told something. Returns whether it was.
    pub(super) fn finish_removal(&mut self, id: SystemId) -> bool {
        let is_removed =
            |slot: &Slot| slot.flags.has(Flags::REMOVED) && !slot.flags.has(Flags::EXECUTING);
        let is_removed = self.systems.slot(id).is_some_and(is_removed);
        if is_removed {
            self.remove_or_defer(id);
        }
        is_removed
    }

    /// Removes a system, now or when it has returned.
    pub(super) fn remove_or_defer(&mut self, id: SystemId) {
        let Some(slot) = self.systems.slot_mut(id) else { return };
        if slot.flags.has(Flags::EXECUTING) && !slot.flags.has(Flags::GROUP) {
            slot.flags.set(Flags::REMOVED, true);
            return;
        }
        if slot.flags.has(Flags::GROUP) {
            slot.flags.set(Flags::REMOVED, true);
            // All of them stop before one is destroyed.
            self.stop(id);
            // The last that was created first: the others may be what it was made for.
            let children = self.systems.record(id).map(|record| record.children.added.clone());
            let mut children = children.unwrap_or_default();
            children.sort_by_key(|&child| self.systems.record(child).map(|record| record.created));
            for &child in children.iter().rev() {
                // Others may have moved it when they were told that they go.
                if self.systems.record(child).is_some_and(|record| record.group == Some(id)) {
                    self.remove_or_defer(child);
                }
            }
        }
        self.stop(id);
        self.call_system(id, |system, world| system.destroy(world));
        self.leave_group(id);
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
            // The next system that is added comes with another one.
            self.systems.root = None;
        }
        self.drop_catching(&name, system);
        self.drop_catching(&name, record);
    }

    /// Drops what was a system's, which may do anything. It is told by its name if it is gone already.
    pub(super) fn drop_catching<T>(&mut self, name: &Arc<str>, what: T) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(what))) {
            let message = panic_message(&*payload);
            discard(payload);
            let (system, fault) = (Arc::clone(name), SystemFault::Panicked { message });
            self.systems.errors.push(UpdateError { system, fault });
        }
    }

    /// A system has put another world in the place of its own: it is gone with that.
    #[cold]
    pub(super) fn report_replaced_world(&mut self, system: Box<dyn ErasedSystem>) {
        let fault = SystemFault::WorldExchanged;
        self.systems.errors.push(UpdateError { system: system.name().into(), fault });
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(system))) {
            discard(payload);
        }
    }

    /// Ends all systems: those that run stop, in the order in which they were added; then all are destroyed, the last that was
    /// added first.
    pub(crate) fn end_systems(&mut self) {
        self.systems.is_dropping = true;
        let mut all: Vec<SystemId> = self.systems.ids().collect();
        // The entities see to their own jobs when they go.
        if all.is_empty() {
            return;
        }
        if self.entities.jobs.begin_drop() {
            self.complete_jobs();
        } else {
            // The jobs of the world wait for who drops it.
            self.report_failed_jobs();
        }
        all.sort_by_key(|&id| self.systems.record(id).map(|record| record.created));
        let is_group = |slot: &Slot| slot.flags.has(Flags::GROUP);
        let (groups, others): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|&id| self.systems.slot(id).is_some_and(is_group));
        others.iter().for_each(|&id| self.stop(id));
        // Groups would take with them who came to them later, and is older than others.
        groups.iter().chain(&others).rev().for_each(|&id| self.remove_or_defer(id));
        self.report_errors();
    }
}
