//! In which groups systems are.

use std::sync::Arc;

use super::error::SystemError;
use super::group::Simulation;
use super::id::SystemId;
use super::order::Target;
use super::table::{Flags, Systems, no_such};
use super::target::SystemTarget;
use crate::world::World;

impl World {
    /// Puts a system in another group, behind those that are there.
    ///
    /// # Errors
    ///
    /// With A0108 if it is not there, with A0110 if that is no group, or the system is a group and would be in itself, with A0097 if
    /// it is a [patch](crate::IntoSystem::patch), which is in no group.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Presentation, Simulation, World};
    ///
    /// fn nothing() {}
    ///
    /// let mut world = World::new("Simulation");
    /// let id = world.add_system(nothing);
    /// world.set_group(id, Presentation)?;
    /// let simulation = world.find_system(Simulation).unwrap();
    /// assert!(world.set_group(simulation, Simulation).unwrap_err().to_string().starts_with("A0110"));
    /// # Ok::<(), ancho_entities::SystemError>(())
    /// ```
    pub fn set_group<M>(
        &mut self,
        id: SystemId,
        group: impl SystemTarget<M>,
    ) -> Result<(), SystemError> {
        let target = group.into_target().0;
        let Some(record) = self.systems.record(id) else {
            return Err(no_such(&format!("{id:?}")));
        };
        let (name, from) = (Arc::clone(&record.name), record.group);
        if self.systems.is_patch(id) {
            return Err(SystemError::OfPatch { system: name.to_string(), what: "set_group" });
        }
        let to = self.group_meant(&name, &target)?;
        let mut outer = Some(to);
        while let Some(group) = outer {
            if group == id {
                return Err(SystemError::GroupInItself { group: name.to_string() });
            }
            outer = self.systems.record(group).and_then(|record| record.group);
        }
        if from == Some(to) {
            return Ok(());
        }
        self.leave_group(id);
        if let Some(record) = self.systems.record_mut(id) {
            record.group = Some(to);
        }
        self.join_group(id, to);
        if self.systems.slot(id).is_some_and(|slot| slot.flags.has(Flags::STARTED)) {
            self.start_around(to);
        }
        Ok(())
    }

    /// The group that a target means.
    pub(super) fn group_meant(
        &self,
        system: &str,
        target: &Target,
    ) -> Result<SystemId, SystemError> {
        let found = self.systems.meant_by(target);
        let is_group = |&id: &SystemId| self.systems.takes_systems(id);
        found.filter(is_group).ok_or_else(|| not_a_group(system, &target.name()))
    }

    /// A system that runs came to a group. That runs too, and those around it, so that the system is told if one of them stops:
    /// also one that did before.
    fn start_around(&mut self, group: SystemId) {
        let mut around = Some(group);
        while let Some(slot) = around.and_then(|group| self.systems.slot_mut(group)) {
            slot.flags.set(Flags::STARTED, true);
            around = slot.record.as_ref().and_then(|record| record.group);
        }
    }

    pub(super) fn join_group(&mut self, id: SystemId, group: SystemId) {
        if let Some(record) = self.systems.record_mut(group) {
            record.children.added.push(id);
            record.children.is_stale = true;
        }
        self.systems.version += 1;
    }

    /// Has a system updated after every other, and after the patches that there are.
    pub(super) fn join_patches(&mut self, id: SystemId) {
        let patches = self.systems.patches.iter().copied();
        self.systems.patches = patches.chain([id]).collect();
        self.systems.version += 1;
    }

    pub(super) fn leave_group(&mut self, id: SystemId) {
        let is_other = |other: &SystemId| *other != id;
        if self.systems.patches.contains(&id) {
            self.systems.patches = self.systems.patches.iter().copied().filter(is_other).collect();
        }
        let group = self.systems.record(id).and_then(|record| record.group);
        if let Some(record) = group.and_then(|group| self.systems.record_mut(group)) {
            record.children.added.retain(is_other);
            record.children.is_stale = true;
        }
        self.systems.version += 1;
    }
}

impl Systems {
    /// Whether systems can come to it: it is a group, and not just going.
    pub(super) fn takes_systems(&self, id: SystemId) -> bool {
        let flags = self.slot(id).map(|slot| slot.flags);
        flags.is_some_and(|flags| flags.has(Flags::GROUP) && !flags.has(Flags::REMOVED))
    }

    /// Whether a system is updated after every other, and is in no group.
    pub(super) fn is_patch(&self, id: SystemId) -> bool {
        self.slot(id).is_some_and(|slot| slot.flags.has(Flags::PATCH))
    }

    /// Whether a system has come to a group.
    pub(super) fn is_member(&self, id: SystemId, group: SystemId) -> bool {
        let children = self.record(group).map(|record| &record.children.added);
        children.is_some_and(|children| children.contains(&id))
    }

    /// Where systems are of which nothing else is said.
    pub(super) fn default_group(&self) -> Option<SystemId> {
        let groups = [self.group_of::<Simulation>(), self.root];
        groups.into_iter().flatten().find(|&group| self.takes_systems(group))
    }
}

/// What a system is told that was to be in something else than a group.
pub(super) fn not_a_group(system: &str, target: &str) -> SystemError {
    SystemError::NotAGroup { what: format!("system `{system}`"), target: target.to_owned() }
}
