//! How systems come and go.

use std::any::TypeId;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::builder::{IntoSystem, Kind, SystemBuilder};
use super::erased::{ErasedSystem, Outcome};
use super::error::{SystemError, SystemFault, panic_message};
use super::group::{FixedStep, Initialization, Presentation, Root, Simulation, VariableStep};
use super::id::SystemId;
use super::order::Target;
use super::point::{
    BeginFixedStep, BeginInitialization, BeginPresentation, BeginSimulation, BeginVariableStep,
    EndFixedStep, EndInitialization, EndSimulation, EndVariableStep,
};
use super::rate::{FixedRateCatchUp, VariableRate};
use super::structs::System;
use super::table::{Children, Flags, Profile, Record};
use super::target::SystemTarget;
use crate::world::World;

impl World {
    /// Adds a system: a function, a struct, a group or a point. More can be said of it before: see [`IntoSystem`].
    ///
    /// If it is added while systems are being updated, it runs in the next update.
    ///
    /// # Panics
    ///
    /// With what [`try_add_system`](Self::try_add_system) returns as an error.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Query, Time, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Position(f32);
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Velocity(f32);
    ///
    /// fn drift(time: Time, mut movers: Query<(&mut Position, &Velocity)>) {
    ///     let dt = time.delta();
    ///     movers.schedule_parallel(move |(position, velocity)| position.0 += velocity.0 * dt);
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// let stone = world.spawn((Position(0.0), Velocity(2.0)));
    /// world.add_system(drift);
    /// world.update(0.25);
    /// assert_eq!(world.get::<Position>(stone).unwrap().0, 0.5);
    /// ```
    #[track_caller]
    pub fn add_system<M>(&mut self, system: impl IntoSystem<M>) -> SystemId {
        match self.try_add_system(system) {
            Ok(id) => id,
            Err(error) => panic!("{error}"),
        }
    }

    /// Adds a system, as [`add_system`](Self::add_system), unless that cannot be.
    ///
    /// # Errors
    ///
    /// If two of its parameters exclude each other (A0100, A0101, A0102), its group is not there (A0110), something is said of it
    /// that is for groups (A0111), `on_create` fails (A0112), or the world has such a struct, group or point (A0116). Then
    /// nothing was added.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Query, World};
    ///
    /// #[derive(Component)]
    /// struct Health(u32);
    ///
    /// fn both(_: Query<&mut Health>, _: Query<&Health>) {}
    ///
    /// let mut world = World::new("Simulation");
    /// assert!(world.try_add_system(both).unwrap_err().to_string().starts_with("A0100: system "));
    /// ```
    pub fn try_add_system<M>(
        &mut self,
        system: impl IntoSystem<M>,
    ) -> Result<SystemId, SystemError> {
        self.add_default_groups();
        self.admit(system.into_builder())
    }

    /// Removes a system. One that runs is told that it stops; a struct is told that it is destroyed. A group goes with all that
    /// is in it, and a point with what is to be carried out there.
    ///
    /// A system that is just being updated is removed when it has returned. One that would be updated later does not run any
    /// more.
    ///
    /// # Errors
    ///
    /// With A0108 if it is not there.
    pub fn remove_system(&mut self, id: SystemId) -> Result<(), SystemError> {
        if !self.has_system(id) {
            return Err(no_such(&format!("{id:?}")));
        }
        self.expel(id);
        if !self.systems.is_updating && self.systems.executing.is_none() {
            self.report_errors();
        }
        Ok(())
    }

    /// Whether a system is there.
    pub fn has_system(&self, id: SystemId) -> bool {
        self.systems.slot(id).is_some()
    }

    /// The id of a system, if there is one that is so called, or of such a type. Of several, the one that was added first.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Simulation, World};
    ///
    /// fn nothing() {}
    ///
    /// let mut world = World::new("Simulation");
    /// let id = world.add_system(nothing);
    /// assert_eq!(world.find_system(nothing), Some(id));
    /// assert_eq!(world.find_system("Simulation"), world.find_system(Simulation));
    /// ```
    pub fn find_system<M>(&self, target: impl SystemTarget<M>) -> Option<SystemId> {
        self.systems.meant_by(&target.into_target().0)
    }

    /// A system that is a struct, if it is there, and not just being updated.
    ///
    /// # Examples
    ///
    /// See [`System`].
    pub fn system<S: System>(&self) -> Option<&S> {
        self.systems.data_of(self.systems.find_type::<S>()?)
    }

    /// A system that is a struct, to be changed, if it is there, and not just being updated.
    pub fn system_mut<S: System>(&mut self) -> Option<&mut S> {
        let id = self.systems.find_type::<S>()?;
        self.systems.data_of_mut(id)
    }

    /// How often systems were added and removed.
    pub fn systems_version(&self) -> u64 {
        self.systems.version
    }

    /// Puts a system in another group, behind those that are there.
    ///
    /// # Errors
    ///
    /// With A0108 if it is not there, with A0110 if that is no group, or the system is a group and would be in itself.
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
        Ok(())
    }

    /// The group that a target means.
    fn group_meant(&self, system: &str, target: &Target) -> Result<SystemId, SystemError> {
        let found = self.systems.meant_by(target);
        let is_group =
            |id: &SystemId| self.systems.slot(*id).is_some_and(|slot| slot.flags.has(Flags::GROUP));
        found.filter(is_group).ok_or_else(|| SystemError::NotAGroup {
            what: format!("system `{system}`"),
            target: target.name().to_owned(),
        })
    }

    fn join_group(&mut self, id: SystemId, group: SystemId) {
        if self.systems.slot(id).is_some_and(|slot| slot.flags.has(Flags::PATCH)) {
            let patches = self.systems.patches.iter().copied();
            self.systems.patches = patches.chain([id]).collect();
        } else if let Some(record) = self.systems.record_mut(group) {
            record.children.added.push(id);
            record.children.is_stale = true;
        }
        self.systems.version += 1;
    }

    fn leave_group(&mut self, id: SystemId) {
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

    /// Adds a system.
    fn admit(&mut self, builder: SystemBuilder) -> Result<SystemId, SystemError> {
        let SystemBuilder { kind, type_id, name, group, before, after, .. } = builder;
        let SystemBuilder { first, last, enabled, is_patch, unsorted, .. } = builder;
        let SystemBuilder { mut requirements, rate, .. } = builder;
        if self.systems.is_ending {
            return Err(SystemError::WorldEnds { system: name });
        }
        let is_function = matches!(kind, Kind::Function(_));
        if !is_function && self.systems.by_type.contains_key(&type_id) {
            return Err(SystemError::AlreadyThere { system: name });
        }
        let is_group = matches!(kind, Kind::Group);
        if !is_group && (rate.is_some() || unsorted) {
            let what = if unsorted { "unsorted" } else { "rate" };
            return Err(SystemError::OnlyForGroups { system: name, what });
        }
        let group = match group {
            Some(Target::Type(ty, _)) if is_group && ty == type_id => {
                return Err(SystemError::GroupInItself { group: name });
            }
            Some(target) => Some(self.group_meant(&name, &target)?),
            None => self.systems.group_of::<Simulation>().or(self.systems.root),
        };
        for asked in requirements.all.iter_mut().chain(&mut requirements.any) {
            asked.look_for(&self.entities);
        }
        let point = match kind {
            Kind::Point(name) => Some(self.systems.points.place(type_id, name)),
            _ => None,
        };
        let mut flags = Flags::NONE;
        flags.set(Flags::ENABLED, enabled);
        flags.set(Flags::REQUIRES, !requirements.is_empty());
        flags.set(Flags::GROUP, is_group);
        flags.set(Flags::POINT, point.is_some());
        flags.set(Flags::PATCH, is_patch);
        let created = self.systems.created;
        self.systems.created += 1;
        let children = Children { sorts: !unsorted, rate, ..Children::default() };
        let (name, profile): (Arc<str>, _) = (name.into(), Profile::default());
        let id = self.systems.insert(
            flags,
            Record {
                name: Arc::clone(&name),
                type_id,
                created,
                group,
                first,
                last,
                before,
                after,
                requirements,
                point,
                children,
                profile,
            },
        );
        if !is_function {
            self.systems.by_type.insert(type_id, id);
        }
        if let Some(point) = point {
            self.systems.points.get_mut(point).system = Some(id);
        }
        if let Kind::Function(mut system) | Kind::Struct(mut system) = kind {
            let created = self.while_executing(id, |world| system.create(world, &name));
            match created {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    self.forget(id, type_id);
                    return Err(error);
                }
                Err(reason) => {
                    self.forget(id, type_id);
                    return Err(SystemError::NotCreated { system: name.to_string(), reason });
                }
            }
            match self.systems.slot_mut(id) {
                Some(slot) => slot.system = Some(system),
                // It has put another world in the place of its own.
                None => return Err(no_such(&format!("`{name}`"))),
            }
        }
        if let Some(group) = group {
            self.join_group(id, group);
        }
        if self.systems.slot(id).is_some_and(|slot| slot.flags.has(Flags::REMOVED)) {
            self.expel(id);
        }
        Ok(id)
    }

    /// Forgets a system that could not be created.
    fn forget(&mut self, id: SystemId, type_id: TypeId) {
        if self.systems.by_type.get(&type_id) == Some(&id) {
            self.systems.by_type.remove(&type_id);
        }
        self.systems.free(id);
    }

    /// Does something as a system, which is marked meanwhile. If it panics, says what the panic said.
    pub(super) fn while_executing<R>(
        &mut self,
        id: SystemId,
        function: impl FnOnce(&mut Self) -> R,
    ) -> Result<R, String> {
        let (world, outer) = (self.systems.id, self.systems.executing.replace(id));
        self.collect_jobs(outer);
        self.entities.jobs.list_scheduled(true);
        if let Some(slot) = self.systems.slot_mut(id) {
            slot.flags.set(Flags::EXECUTING, true);
        }
        let result = catch_unwind(AssertUnwindSafe(|| function(self)));
        if self.systems.id == world {
            self.systems.executing = outer;
            self.collect_jobs(Some(id));
            self.entities.jobs.list_scheduled(outer.is_some());
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
        let outcome = self.while_executing(id, |world| what(&mut *system, world));
        if self.systems.id != world {
            self.exchanged(id, system);
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
        slot.flags.set(Flags::STARTED, false);
        if slot.flags.has(Flags::GROUP) {
            let children = slot.record.as_ref().map(|record| record.children.added.clone());
            children.into_iter().flatten().for_each(|child| self.stop(child));
        } else {
            self.tell(id, |system, world| system.stop(world));
        }
    }

    /// Removes a system, now or when it has returned.
    pub(super) fn expel(&mut self, id: SystemId) {
        let Some(slot) = self.systems.slot_mut(id) else { return };
        if slot.flags.has(Flags::EXECUTING) && !slot.flags.has(Flags::GROUP) {
            slot.flags.set(Flags::REMOVED, true);
            return;
        }
        if slot.flags.has(Flags::GROUP) {
            // The last that was added first: the others may be what it was made for.
            let children = slot.record.as_ref().map(|record| record.children.added.clone());
            children.into_iter().flatten().rev().for_each(|child| self.expel(child));
        }
        self.stop(id);
        self.tell(id, |system, world| system.destroy(world));
        self.leave_group(id);
        let Some(record) = self.systems.record(id) else { return };
        let (type_id, point) = (record.type_id, record.point);
        if self.systems.by_type.get(&type_id) == Some(&id) {
            self.systems.by_type.remove(&type_id);
        }
        if let Some(point) = point {
            let point = self.systems.points.get_mut(point);
            point.system = None;
            drop(std::mem::take(&mut point.waiting));
        }
        let system = self.systems.slot_mut(id).and_then(|slot| slot.system.take());
        self.systems.free(id);
        // What a system has may do anything when it is dropped.
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(system))) {
            let message = panic_message(&*payload);
            discard(payload);
            self.systems.fail(id, SystemFault::Panicked { message });
        }
    }

    /// A system has put another world in the place of its own: it is gone with that.
    #[cold]
    pub(super) fn exchanged(&mut self, id: SystemId, system: Box<dyn ErasedSystem>) {
        self.systems.fail(id, SystemFault::WorldExchanged);
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(system))) {
            discard(payload);
        }
    }

    /// Adds what every world has, before the first system.
    pub(super) fn add_default_groups(&mut self) {
        if self.systems.root.is_some() {
            return;
        }
        let mut root = Root.into_builder();
        root.group = None;
        let root = match self.admit(root) {
            Ok(root) => root,
            // A world that is being dropped needs none.
            Err(_) => return,
        };
        self.systems.root = Some(root);
        let builders = [
            Initialization.in_group(Root),
            BeginInitialization.in_group(Initialization).first(),
            EndInitialization.in_group(Initialization).last(),
            Simulation.in_group(Root),
            BeginSimulation.in_group(Simulation).first(),
            FixedStep.in_group(Simulation).first().rate(FixedRateCatchUp::new(1.0 / 60.0)),
            BeginFixedStep.in_group(FixedStep).first(),
            EndFixedStep.in_group(FixedStep).last(),
            VariableStep.in_group(Simulation).first().rate(VariableRate::default()),
            BeginVariableStep.in_group(VariableStep).first(),
            EndVariableStep.in_group(VariableStep).last(),
            EndSimulation.in_group(Simulation).last(),
            Presentation.in_group(Root),
            BeginPresentation.in_group(Presentation).first(),
        ];
        for builder in builders {
            let added = self.admit(builder);
            debug_assert!(added.is_ok(), "{added:?}");
        }
        self.systems.version = 0;
    }

    /// Ends all systems: what runs stops, and all are destroyed, the last that was added first.
    pub(crate) fn end_systems(&mut self) {
        self.systems.is_ending = true;
        self.complete_jobs();
        let mut all: Vec<SystemId> = self.systems.ids().collect();
        all.sort_by_key(|&id| self.systems.record(id).map(|record| record.created));
        for &id in &all {
            let is_group = |slot: &super::table::Slot| slot.flags.has(Flags::GROUP);
            if !self.systems.slot(id).is_some_and(is_group) {
                self.stop(id);
            }
        }
        for &id in all.iter().rev() {
            self.expel(id);
        }
        self.report_errors();
    }
}

/// Drops the payload of a panic. If that panics, and so on, that is the end of it.
pub(super) fn discard(payload: Box<dyn std::any::Any + Send>) {
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(second);
    }
}

pub(super) fn no_such(system: &str) -> SystemError {
    SystemError::NoSuchSystem { system: system.to_owned() }
}
