//! Adding systems to a world, and finding them.

use std::sync::Arc;

use super::builder::{BuildSystem, BuilderKind, IntoSystem, IntoSystemTarget, SystemBuilder};
use super::group::not_a_group;
use super::system::System;
use crate::schedule::{LatencyAccess, SystemError, SystemId, SystemTarget};
use crate::world::{Children, ErasedSystem, Flags, Profile, Record, SystemKind, World, no_such};

impl World {
    /// Adds a system: a function, a struct, a group or a command point. Options are set by the methods of [`IntoSystem`].
    ///
    /// A system that is added during an update runs in the next one.
    ///
    /// # Panics
    ///
    /// Panics with the error of [`try_add_system`](Self::try_add_system).
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
    #[doc(alias = "add_systems")]
    #[doc(alias = "CreateSystem")]
    pub fn add_system<M, S: IntoSystem<M> + BuildSystem<M>>(&mut self, system: S) -> SystemId {
        match self.try_add_system(system) {
            Ok(id) => id,
            Err(error) => panic!("{error}"),
        }
    }

    /// Adds a system, or returns an error.
    ///
    /// # Errors
    ///
    /// In the following cases the system is not added:
    ///
    /// - A0097: a patch has an option about its place
    /// - A0070, A0086: a query of the system, or one that it requires, is invalid
    /// - A0098, A0111: the system has an option that is only for functions or only for groups
    /// - A0100, A0101, A0102: two parameters conflict
    /// - A0110: the world does not have the group
    /// - A0112: `on_create` failed, or a parameter panicked when it was created
    /// - A0116: the world already has a struct, group or point of this type
    /// - A0117: the world is being dropped
    /// - A0132 to A0134: a constraint on the order of creation cannot hold
    ///
    /// A0108 means that `on_create` replaced the world by another one.
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
    pub fn try_add_system<M, S: IntoSystem<M> + BuildSystem<M>>(
        &mut self,
        system: S,
    ) -> Result<SystemId, SystemError> {
        self.add_default_groups();
        let builder = system.into_builder();
        if !builder.create_before.is_empty() || !builder.create_after.is_empty() {
            self.systems.creation_order(std::slice::from_ref(&builder))?;
        }
        self.add_built(builder)
    }

    /// Tests whether the world has a system.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// let mut world = World::new("Simulation");
    /// let tutorial = world.add_system(|| ());
    /// assert!(world.has_system(tutorial));
    /// world.remove_system(tutorial)?;
    /// assert!(!world.has_system(tutorial));
    /// # Ok::<(), ancho_entities::SystemError>(())
    /// ```
    pub fn has_system(&self, id: SystemId) -> bool {
        self.systems.slot(id).is_some()
    }

    /// Finds a system by its function, type or name. If several systems match, returns the one that was added first.
    ///
    /// The built-in groups and points exist from the first call that adds a system or changes one of them.
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
    pub fn find_system<M>(&self, target: impl IntoSystemTarget<M>) -> Option<SystemId> {
        self.systems.find(&target.into_target())
    }

    /// Returns a struct system, or `None` if the world does not have it or if it is being updated.
    ///
    /// # Examples
    ///
    /// See [`System`].
    pub fn system<S: System>(&self) -> Option<&S> {
        self.systems.data_of(self.systems.find_type::<S>()?)
    }

    /// Returns a struct system mutably, or `None` if the world does not have it or if it is being updated.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{System, SystemResult, World};
    ///
    /// struct Spawner(usize);
    ///
    /// impl System for Spawner {
    ///     fn on_update(&mut self, world: &mut World) -> SystemResult {
    ///         world.spawn_many((), self.0);
    ///         Ok(())
    ///     }
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// world.add_system(Spawner(1));
    /// world.system_mut::<Spawner>().unwrap().0 = 30;
    /// assert_eq!(world.system::<Spawner>().unwrap().0, 30);
    /// ```
    pub fn system_mut<S: System>(&mut self) -> Option<&mut S> {
        let id = self.systems.find_type::<S>()?;
        self.systems.data_of_mut(id)
    }

    /// Returns a number that changes when a system is added, removed or put in another group.
    pub fn systems_version(&self) -> u64 {
        self.systems.version
    }

    /// Adds a system with its options.
    pub(super) fn add_built(
        &mut self,
        mut builder: SystemBuilder,
    ) -> Result<SystemId, SystemError> {
        self.check_options(&builder)?;
        let invalid = |conflict| SystemError::Parameters { system: builder.name.clone(), conflict };
        builder.requirements.resolve(&self.entities).map_err(invalid)?;
        if let Some(transition) = builder.transition.take() {
            builder.group = Some(SystemTarget::System(transition(self)?));
        }
        self.add_startup_if_named(builder.group.as_ref());
        let group = self.group_of_new(&mut builder)?;
        let group_name = group.map(|group| self.systems.name_of(group)).unwrap_or_default();
        let (in_jobs, is_patch) = (builder.in_jobs, builder.is_patch);
        let (is_observer, for_existing) = (builder.is_observer, builder.for_existing);
        let name: Arc<str> = builder.name.as_str().into();
        let own = std::mem::take(&mut builder.conditions);
        let (conditions, of_sets) = self.conditions_of_new(&name, &builder.sets, own)?;
        builder.enabled &= self.systems.are_sets_enabled(&builder.sets);
        self.systems.sets.is_unchecked |= !builder.sets.is_empty();
        let (id, system) = self.insert_built(builder, group, &name);
        if let Some(record) = self.systems.record_mut(id) {
            (record.conditions, record.set_conditions) = (conditions, of_sets);
        }
        if let Some(system) = system {
            self.create_system(id, system, &name, in_jobs)?;
            if let Err(error) = self.settle_events(id, &name, is_observer, for_existing) {
                self.remove_or_defer(id);
                return Err(error);
            }
        }
        self.systems.set_condition_flags(id);
        // `on_create` may have moved the system to another group, or removed its group.
        if is_patch {
            self.join_patches(id);
        } else if let Some(group) = self.systems.record(id).and_then(|record| record.group) {
            if !self.systems.accepts_systems(group) {
                self.remove_or_defer(id);
                return Err(not_a_group(&name, &group_name));
            }
            if !self.systems.is_member(id, group) {
                self.join_group(id, group);
            }
        }
        if self.systems.slot(id).is_some_and(|slot| slot.flags.has(Flags::REMOVED)) {
            self.remove_or_defer(id);
        }
        Ok(id)
    }

    /// Adds a one-shot system, which is in no group.
    pub(super) fn add_one_shot(&mut self, builder: SystemBuilder) -> Result<SystemId, SystemError> {
        self.check_options(&builder)?;
        let name: Arc<str> = builder.name.as_str().into();
        let (id, system) = self.insert_built(builder, None, &name);
        if let Some(system) = system {
            self.create_system(id, system, &name, false)?;
            if let Err(error) = self.settle_events(id, &name, false, false) {
                self.remove_or_defer(id);
                return Err(error);
            }
        }
        if let Some(slot) = self.systems.slot_mut(id) {
            slot.flags.set(Flags::SYSTEMS_UNREACHABLE, false);
        }
        Ok(id)
    }

    /// Refuses options that the kind of system does not have.
    fn check_options(&self, builder: &SystemBuilder) -> Result<(), SystemError> {
        let SystemBuilder { kind, type_id, name, requirements, rate, in_jobs, .. } = builder;
        let refused =
            |refuse: fn(String, &'static str) -> SystemError, what| Err(refuse(name.clone(), what));
        if self.systems.is_dropping {
            return Err(SystemError::WorldEnds { system: name.clone() });
        }
        let is_function = matches!(kind, BuilderKind::Function(_));
        if !is_function && self.systems.by_type.contains_key(type_id) {
            return Err(SystemError::AlreadyThere { system: name.clone() });
        }
        if !matches!(kind, BuilderKind::Group(_)) && (rate.is_some() || builder.unsorted) {
            let what = if builder.unsorted { "unsorted" } else { "rate" };
            return refused(|system, what| SystemError::OnlyForGroups { system, what }, what);
        }
        if !is_function && (requirements.matching || *in_jobs) {
            let what = if *in_jobs { "in_jobs" } else { "require_matching" };
            return refused(|system, what| SystemError::OnlyForFunctions { system, what }, what);
        }
        if builder.is_observer {
            let others = [("in_group", builder.group.is_some()), ("patch", builder.is_patch)];
            if let Some((what, _)) = others.into_iter().find(|&(_, is_set)| is_set) {
                return refused(|system, what| SystemError::OfObserver { system, what }, what);
            }
        } else if builder.for_existing {
            let refuse = |system, what| SystemError::OnlyForObservers { system, what };
            return refused(refuse, "for_existing");
        }
        let places = [
            ("in_group", builder.group.is_some()),
            ("before", !builder.before.is_empty()),
            ("after", !builder.after.is_empty()),
            ("first", builder.first),
            ("last", builder.last),
        ];
        match places.into_iter().find(|&(_, is_set)| is_set && builder.is_patch) {
            Some((what, _)) => refused(|system, what| SystemError::OfPatch { system, what }, what),
            None => Ok(()),
        }
    }

    /// Returns the group that a new system joins, or `None` for a patch and for the root group.
    fn group_of_new(&self, builder: &mut SystemBuilder) -> Result<Option<SystemId>, SystemError> {
        if builder.is_patch || builder.is_detached {
            return Ok(None);
        }
        if builder.is_observer {
            return Ok(self.observers.group);
        }
        let is_group = matches!(builder.kind, BuilderKind::Group(_));
        let group = match builder.group.take() {
            Some(SystemTarget::Type(ty, _)) if is_group && ty == builder.type_id => {
                return Err(SystemError::GroupInItself { group: builder.name.clone() });
            }
            Some(target) => Some(self.find_group(&builder.name, &target)?),
            None => self.systems.default_group(),
        };
        if group.is_none() && self.systems.root.is_some() {
            return Err(not_a_group(&builder.name, "Root"));
        }
        Ok(group)
    }

    /// Inserts a system into the table. Returns the function or struct, which is not in its slot yet.
    pub(super) fn insert_built(
        &mut self,
        builder: SystemBuilder,
        group: Option<SystemId>,
        name: &Arc<str>,
    ) -> (SystemId, Option<Box<dyn ErasedSystem>>) {
        let SystemBuilder { kind, type_id, requirements, before, after, .. } = builder;
        let SystemBuilder { first, last, enabled, stops_on_error, .. } = builder;
        let SystemBuilder { is_patch, unsorted, rate, sets, .. } = builder;
        let (kind, point, system) = match kind {
            BuilderKind::Function(system) => (SystemKind::Function, None, Some(system)),
            BuilderKind::Struct(system) => (SystemKind::Struct, None, Some(system)),
            BuilderKind::Group(callbacks) => (SystemKind::Group, None, callbacks),
            BuilderKind::Point(name) => {
                (SystemKind::Point, Some(self.systems.points.place(type_id, name)), None)
            }
        };
        let mut flags = Flags::NONE;
        flags.set(Flags::ENABLED, enabled);
        flags.set(Flags::REQUIRES, !requirements.is_empty());
        flags.set(Flags::GROUP, kind == SystemKind::Group);
        flags.set(Flags::POINT, point.is_some());
        flags.set(Flags::PATCH, is_patch);
        flags.set(Flags::STOPS_ON_ERROR, stops_on_error);
        let created = self.systems.created;
        self.systems.created += 1;
        let record = Record {
            name: Arc::clone(name),
            kind,
            type_id,
            created,
            group,
            first,
            last,
            before,
            after,
            requirements,
            conditions: Vec::new(),
            set_conditions: 0,
            sets: sets.into(),
            chained_after: None,
            point,
            children: Children { sorts: !unsorted, rate, ..Children::default() },
            profile: Profile::default(),
            errors: None,
            access: LatencyAccess::unknown(),
        };
        let id = self.systems.insert(flags, record);
        if kind == SystemKind::Group && !self.systems.captured_rates.is_empty() {
            self.systems.restore_captured_rate(id);
        }
        if kind != SystemKind::Function {
            self.systems.by_type.insert(type_id, id);
        }
        if let Some(point) = point {
            self.systems.points.get_mut(point).system = Some(id);
        }
        (id, system)
    }

    /// Creates a function or struct, and puts it in its slot.
    fn create_system(
        &mut self,
        id: SystemId,
        mut system: Box<dyn ErasedSystem>,
        name: &Arc<str>,
        in_jobs: bool,
    ) -> Result<(), SystemError> {
        // A system that could not be created may have left events.
        self.observers.declared.clear();
        let created = self.while_executing(id, |world| system.create(world, name));
        let access = match created {
            Ok(Ok(access)) => access,
            Ok(Err(error)) => {
                self.forget(id);
                return Err(error);
            }
            Err(message) => {
                let kind = self.systems.record(id).map(|record| record.kind);
                self.forget(id);
                let reason = match kind {
                    Some(SystemKind::Function) => format!("a parameter panicked: {message}"),
                    _ => format!("`on_create` failed: {message}"),
                };
                return Err(SystemError::NotCreated { system: name.to_string(), reason });
            }
        };
        // If the slot is missing, `on_create` has replaced the world by another one.
        let slot = self.systems.slot_mut(id).ok_or_else(|| no_such(&format!("`{name}`")))?;
        slot.flags.set(Flags::SYSTEMS_UNREACHABLE, !system.reaches_systems());
        slot.system = Some(system);
        if let (Some(record), Some(access)) = (&mut slot.record, access) {
            record.access = LatencyAccess::of_params(&access, in_jobs);
        }
        Ok(())
    }

    /// Frees the slot of a system that could not be created.
    fn forget(&mut self, id: SystemId) {
        let name = self.systems.name_of(id);
        let record = self.systems.free(id);
        if let Some(record) = &record
            && self.systems.by_type.get(&record.type_id) == Some(&id)
        {
            self.systems.by_type.remove(&record.type_id);
        }
        self.drop_catching(&name, record);
    }
}
