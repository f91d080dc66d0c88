//! How systems come.

use std::any::TypeId;
use std::sync::Arc;

use super::SystemId;
use super::builder::{IntoSystem, Kind, SystemBuilder, SystemTarget};
use super::error::SystemError;
use super::group::not_a_group;
use super::info::SystemKind;
use super::order::Target;
use super::order::latency::LatencyAccess;
use super::system::System;
use super::table::{Children, Flags, Profile, Record, no_such};
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
    /// If it is a patch and is to have a place (A0097), something is said of it that is for functions (A0098), two of its parameters exclude each other (A0100, A0101, A0102), its group is
    /// not there (A0110), something is said of it that is for groups (A0111), `on_create` fails (A0112), the world has such a struct,
    /// group or point (A0116), the world is being dropped (A0117), or it cannot be created when it is asked for (A0132 to A0134). Then
    /// nothing was added. With A0108 if `on_create` has put another world in the place of its own.
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
        let builder = system.into_builder();
        if !builder.create_before.is_empty() || !builder.create_after.is_empty() {
            self.systems.creation_order(std::slice::from_ref(&builder))?;
        }
        self.admit(builder)
    }

    /// Whether a system is there.
    pub fn has_system(&self, id: SystemId) -> bool {
        self.systems.slot(id).is_some()
    }

    /// The id of a system, if there is one that is so called, or of such a type. Of several, the one that was added first.
    ///
    /// The groups and points that every world has are there once a system was added, or something was said of one of them.
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

    /// Adds a system.
    pub(super) fn admit(&mut self, builder: SystemBuilder) -> Result<SystemId, SystemError> {
        let SystemBuilder { kind, type_id, name, group, before, after, .. } = builder;
        let SystemBuilder { first, last, enabled, is_patch, unsorted, .. } = builder;
        let SystemBuilder { mut requirements, rate, in_jobs, .. } = builder;
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
        if !is_function && (requirements.matching || in_jobs) {
            let what = if in_jobs { "in_jobs" } else { "require_matching" };
            return Err(SystemError::OnlyForFunctions { system: name, what });
        }
        if is_patch {
            let said = [
                ("in_group", group.is_some()),
                ("before", !before.is_empty()),
                ("after", !after.is_empty()),
                ("first", first),
                ("last", last),
            ];
            if let Some((what, _)) = said.into_iter().find(|&(_, is_said)| is_said) {
                return Err(SystemError::OfPatch { system: name, what });
            }
        }
        let group = match group {
            _ if is_patch => None,
            Some(Target::Type(ty, _)) if is_group && ty == type_id => {
                return Err(SystemError::GroupInItself { group: name });
            }
            Some(target) => Some(self.group_meant(&name, &target)?),
            None => self.systems.default_group(),
        };
        if group.is_none() && !is_patch && self.systems.root.is_some() {
            return Err(not_a_group(&name, "Root"));
        }
        for asked in requirements.all.iter_mut().chain(&mut requirements.any) {
            asked.look_for(&self.entities);
        }
        let (what, point) = match &kind {
            Kind::Function(_) => (SystemKind::Function, None),
            Kind::Struct(_) => (SystemKind::Struct, None),
            Kind::Group => (SystemKind::Group, None),
            Kind::Point(name) => {
                (SystemKind::Point, Some(self.systems.points.place(type_id, name)))
            }
        };
        let mut flags = Flags::NONE;
        flags.set(Flags::ENABLED, enabled);
        flags.set(Flags::REQUIRES, !requirements.is_empty());
        flags.set(Flags::GROUP, is_group);
        flags.set(Flags::POINT, point.is_some());
        flags.set(Flags::PATCH, is_patch);
        let group_name = group.map(|group| self.systems.name_of(group)).unwrap_or_default();
        let created = self.systems.created;
        self.systems.created += 1;
        let children = Children { sorts: !unsorted, rate, ..Children::default() };
        let (name, profile): (Arc<str>, _) = (name.into(), Profile::default());
        let id = self.systems.insert(
            flags,
            Record {
                name: Arc::clone(&name),
                kind: what,
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
                uses: LatencyAccess::unknown(),
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
            let accesses = match created {
                Ok(Ok(accesses)) => accesses,
                Ok(Err(error)) => {
                    self.forget(id, type_id);
                    return Err(error);
                }
                Err(reason) => {
                    self.forget(id, type_id);
                    return Err(SystemError::NotCreated { system: name.to_string(), reason });
                }
            };
            match self.systems.slot_mut(id) {
                Some(slot) => {
                    slot.flags.set(Flags::APART, !system.reaches_systems());
                    slot.system = Some(system);
                    if let (Some(record), Some(accesses)) = (&mut slot.record, accesses) {
                        record.uses = LatencyAccess::of_params(&accesses, in_jobs);
                    }
                }
                // It has put another world in the place of its own.
                None => return Err(no_such(&format!("`{name}`"))),
            }
        }
        // It may have come to another group while it was created, or removed its own.
        if is_patch {
            self.join_patches(id);
        } else if let Some(group) = self.systems.record(id).and_then(|record| record.group) {
            if !self.systems.takes_systems(group) {
                self.expel(id);
                return Err(not_a_group(&name, &group_name));
            }
            if !self.systems.is_member(id, group) {
                self.join_group(id, group);
            }
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
        let (name, record) = (self.systems.name_of(id), self.systems.free(id));
        self.drop_of(&name, record);
    }
}
