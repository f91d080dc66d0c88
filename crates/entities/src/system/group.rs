//! Groups of systems: the built-in ones, membership, settings and order.

use std::any::{TypeId, type_name};
use std::iter;
use std::sync::Arc;

use super::builder::{IntoSystem, IntoSystemTarget, SystemBuilder};
use super::point::{
    BeginFixedStep, BeginInitialization, BeginPresentation, BeginSimulation, BeginVariableStep,
    EndFixedStep, EndInitialization, EndSimulation, EndVariableStep,
};
use super::system::outcome;
use crate::schedule::{
    Constraints, Elsewhere, FixedRateCatchUp, OrderError, OrderItem, RateManager, SystemAccess,
    SystemError, SystemFault, SystemId, SystemResult, SystemTarget, UpdateError, UpdateErrors,
    VariableRate, delay_waits,
};
use crate::time::TimeError;
use crate::version::Version;
use crate::world::{Children, ErasedSystem, Flags, Outcome, Record, Systems, World, no_such};

/// A group of systems, identified by its type.
///
/// A group is added like a system, and has the same options: an enclosing [group](crate::IntoSystem::in_group), an order, and an
/// enabled state. Updating a group updates its systems. When the group stops, its systems stop. This is Unity's
/// `ComponentSystemGroup`.
///
/// Every world has these groups and [points](crate::CommandPoint):
///
/// ```text
/// Root
///     Startup                once, before the first step of the others
///     Initialization         BeginInitialization … EndInitialization
///     Simulation             BeginSimulation
///         FixedStep          BeginFixedStep … EndFixedStep        60 times a second
///         VariableStep       BeginVariableStep … EndVariableStep  15 times a second, by the clock
///                            …
///         LateSimulation     …
///                            EndSimulation
///     Presentation           BeginPresentation …
/// ```
///
/// Systems without a group option are in [`Simulation`].
///
/// # Examples
///
/// ```
/// use ancho_entities::{IntoSystem, ResMut, Resource, Simulation, SystemGroup, World};
///
/// struct Physics;
///
/// impl SystemGroup for Physics {}
///
/// #[derive(Resource, Clone)]
/// struct Log(Vec<&'static str>);
///
/// fn collide(mut log: ResMut<Log>) {
///     log.0.push("collide");
/// }
///
/// fn move_on(mut log: ResMut<Log>) {
///     log.0.push("move");
/// }
///
/// fn think(mut log: ResMut<Log>) {
///     log.0.push("think");
/// }
///
/// let mut world = World::new("Simulation");
/// world.insert_resource(Log(Vec::new()));
/// world.add_system(Physics.in_group(Simulation));
/// world.add_system(collide.in_group(Physics));
/// world.add_system(move_on.in_group(Physics).before(collide));
/// world.add_system(think.before(Physics));
/// world.update(0.1);
/// assert_eq!(world.resource::<Log>().0, ["think", "move", "collide"]);
/// ```
///
/// A group can have its own code, which runs when the group starts, in each step, and when it stops:
///
/// ```
/// use ancho_entities::{IntoSystem, ResMut, Resource, SystemGroup, SystemResult, World};
///
/// /// Runs its systems until the solution is exact.
/// struct Solver {
///     iterations: u32,
/// }
///
/// impl SystemGroup for Solver {
///     fn on_update(&mut self, world: &mut World) -> SystemResult {
///         for _ in 0..self.iterations {
///             world.update_members();
///         }
///         Ok(())
///     }
/// }
///
/// #[derive(Resource, Clone)]
/// struct Error(f32);
///
/// let mut world = World::new("Simulation");
/// world.insert_resource(Error(1.0));
/// world.add_system(Solver { iterations: 3 });
/// world.add_system((|mut error: ResMut<Error>| error.0 /= 2.0).in_group(Solver { iterations: 0 }));
/// world.update(0.1);
/// assert_eq!(world.resource::<Error>().0, 0.125);
/// ```
#[doc(alias = "ComponentSystemGroup")]
pub trait SystemGroup: Sized + Send + 'static {
    /// Set for groups without callbacks, whose systems are updated directly.
    #[doc(hidden)]
    const IS_PLAIN: bool = false;

    /// Returns the name that errors and tools show.
    fn name() -> &'static str {
        type_name::<Self>()
    }

    /// Called when the group is added. If it fails, the group is not added.
    ///
    /// # Errors
    ///
    /// The group is not added, and [`World::add_system`](crate::World::add_system) reports the error.
    fn on_create(&mut self, world: &mut World) -> SystemResult {
        let _ = world;
        Ok(())
    }

    /// Called before the first step, and before the first step after a stop. Its systems start afterwards.
    ///
    /// # Errors
    ///
    /// The update reports the error with the name of the group. The systems of the group do not run in this step.
    fn on_start_running(&mut self, world: &mut World) -> SystemResult {
        let _ = world;
        Ok(())
    }

    /// Called in each step of the group, to update its systems. The default updates them once.
    ///
    /// # Errors
    ///
    /// The update reports the error with the name of the group.
    fn on_update(&mut self, world: &mut World) -> SystemResult {
        world.update_members();
        Ok(())
    }

    /// Called when the group stops, after its systems have stopped: because it is disabled or removed, its requirements are not met,
    /// or its condition is false.
    ///
    /// # Errors
    ///
    /// The update reports the error with the name of the group.
    fn on_stop_running(&mut self, world: &mut World) -> SystemResult {
        let _ = world;
        Ok(())
    }

    /// Called when the group is removed, after its systems.
    ///
    /// # Errors
    ///
    /// The error is reported with the name of the group, which is removed.
    fn on_destroy(&mut self, world: &mut World) -> SystemResult {
        let _ = world;
        Ok(())
    }
}

/// The callbacks of a group, with an erased type.
pub(super) struct GroupSystem<G> {
    group: G,
    name: Box<str>,
}

impl<G> GroupSystem<G> {
    pub(super) fn new(group: G) -> Self {
        Self { group, name: Box::default() }
    }
}

impl<G: SystemGroup> ErasedSystem for GroupSystem<G> {
    fn create(
        &mut self,
        world: &mut World,
        name: &str,
    ) -> Result<Option<SystemAccess>, SystemError> {
        self.name = name.into();
        match self.group.on_create(world) {
            Ok(()) => Ok(None),
            Err(error) => Err(SystemError::NotCreated {
                system: name.to_owned(),
                reason: format!("`on_create` failed: {error}"),
            }),
        }
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn start(&mut self, world: &mut World) -> Outcome {
        outcome(self.group.on_start_running(world))
    }

    fn update(&mut self, world: &mut World, _: Version) -> Outcome {
        outcome(self.group.on_update(world))
    }

    fn stop(&mut self, world: &mut World) -> Outcome {
        outcome(self.group.on_stop_running(world))
    }

    fn destroy(&mut self, world: &mut World) -> Outcome {
        outcome(self.group.on_destroy(world))
    }
}

named_units! {
    SystemGroup:
    /// The root group, which contains all other groups. [`World::update`](crate::World::update) runs it.
    Root,
    /// The group that runs first in each frame. This is Unity's `InitializationSystemGroup`.
    #[doc(alias = "InitializationSystemGroup")]
    #[doc(alias = "PreUpdate")]
    Initialization,
    /// The default group of systems. This is Unity's `SimulationSystemGroup`.
    #[doc(alias = "SimulationSystemGroup")]
    #[doc(alias = "Update")]
    Simulation,
    /// The group with a fixed time step, inside [`Simulation`]. It has 60 steps per second, unless another
    /// [rate](crate::World::set_rate) is set. This is Unity's `FixedStepSimulationSystemGroup`.
    #[doc(alias = "FixedStepSimulationSystemGroup")]
    #[doc(alias = "FixedUpdate")]
    FixedStep,
    /// The group that runs about 15 times per second of real time, inside [`Simulation`]. Another [rate](crate::World::set_rate)
    /// can be set. This is Unity's `VariableRateSimulationSystemGroup`.
    #[doc(alias = "VariableRateSimulationSystemGroup")]
    VariableStep,
    /// The group that runs after all other systems of [`Simulation`], including transforms, and before the commands of
    /// [`EndSimulation`](crate::EndSimulation) play. This is Unity's `LateSimulationSystemGroup`.
    ///
    /// Put a camera that follows an entity here: it reads the matrices of the same frame, and the commands that it records for
    /// [`EndSimulation`](crate::EndSimulation) play in the same frame. A system that is [`last`](crate::IntoSystem::last) in
    /// [`Simulation`] instead runs after [`EndSimulation`](crate::EndSimulation).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{CommandsAt, Component, EndSimulation, IntoSystem, LateSimulation, World};
    ///
    /// #[derive(Component)]
    /// struct Picture;
    ///
    /// fn take_picture(mut commands: CommandsAt<EndSimulation>) {
    ///     commands.commands().spawn(Picture);
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// world.add_system(take_picture.in_group(LateSimulation));
    /// world.update(0.1);
    /// assert_eq!(world.query::<&Picture>().count(), 1);
    /// ```
    #[doc(alias = "LateSimulationSystemGroup")]
    #[doc(alias = "PostUpdate")]
    LateSimulation,
    /// The group that runs last in each frame. This is Unity's `PresentationSystemGroup`.
    #[doc(alias = "PresentationSystemGroup")]
    Presentation,
}

impl World {
    /// Moves a system to another group. It runs after the systems that are already in the group, unless constraints say otherwise.
    ///
    /// # Errors
    ///
    /// Returns A0108 if the world does not have the system. Returns A0110 if the target is not a group, or is the system itself
    /// or inside of it. Returns A0097 if the system is a [patch](crate::IntoSystem::patch).
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
        group: impl IntoSystemTarget<M>,
    ) -> Result<(), SystemError> {
        let target = group.into_target();
        let Some(record) = self.systems.record(id) else {
            return Err(no_such(&format!("{id:?}")));
        };
        let (name, from) = (Arc::clone(&record.name), record.group);
        if self.systems.is_patch(id) {
            return Err(SystemError::OfPatch { system: name.to_string(), what: "set_group" });
        }
        self.add_startup_if_named(Some(&target));
        let to = self.find_group(&name, &target)?;
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
            self.start_enclosing_groups(to);
        }
        Ok(())
    }

    /// Sets the rate manager of a group. If the group is being updated, its current turn ends after the current step, and the
    /// manager is used from the next turn.
    ///
    /// # Errors
    ///
    /// Returns A0108 if the world does not have the group, and A0111 if it is not a group.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{FixedRateCatchUp, FixedStep, IntoSystem, ResMut, Resource, World};
    ///
    /// #[derive(Resource, Clone)]
    /// struct Steps(u32);
    ///
    /// fn step(mut steps: ResMut<Steps>) {
    ///     steps.0 += 1;
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// world.insert_resource(Steps(0));
    /// world.add_system(step.in_group(FixedStep));
    /// world.set_rate(FixedStep, FixedRateCatchUp::new(0.125))?;
    /// world.update(0.25);
    /// assert_eq!(world.resource::<Steps>().0, 3, "at 0, 0.125 and 0.25 seconds");
    /// # Ok::<(), ancho_entities::SystemError>(())
    /// ```
    pub fn set_rate<M>(
        &mut self,
        group: impl IntoSystemTarget<M>,
        rate: impl RateManager + 'static,
    ) -> Result<(), SystemError> {
        let (id, children) = self.children_mut(group, "rate")?;
        children.rate = Some(Box::new(rate));
        children.rate_is_new = true;
        if !self.systems.captured_rates.is_empty() {
            self.systems.restore_captured_rate(id);
        }
        Ok(())
    }

    /// Removes the rate manager of a group. The group then updates once in each update of its parent.
    ///
    /// # Errors
    ///
    /// Returns A0108 if the world does not have the group, and A0111 if it is not a group.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{FixedStep, IntoSystem, ResMut, Resource, World};
    ///
    /// #[derive(Resource, Clone)]
    /// struct Steps(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.insert_resource(Steps(0));
    /// world.add_system((|mut steps: ResMut<Steps>| steps.0 += 1).in_group(FixedStep));
    /// world.clear_rate(FixedStep)?;
    /// world.update(0.25);
    /// assert_eq!(world.resource::<Steps>().0, 1);
    /// assert_eq!(world.timestep(FixedStep)?, None);
    /// # Ok::<(), ancho_entities::SystemError>(())
    /// ```
    pub fn clear_rate<M>(&mut self, group: impl IntoSystemTarget<M>) -> Result<(), SystemError> {
        self.children_mut(group, "rate")?.1.rate = None;
        Ok(())
    }

    /// Returns the seconds between two updates of a group, if its rate manager has a fixed step.
    ///
    /// # Errors
    ///
    /// Returns A0108 if the world does not have the group, and A0111 if it is not a group.
    pub fn timestep<M>(&self, group: impl IntoSystemTarget<M>) -> Result<Option<f64>, SystemError> {
        let id = self.group_id(group, "timestep")?;
        let rate = self.systems.record(id).and_then(|record| record.children.rate.as_ref());
        Ok(rate.and_then(|rate| rate.timestep()))
    }

    /// Sets the seconds between two updates of a group, counted from its last update.
    ///
    /// # Errors
    ///
    /// Returns A0108 if the world does not have the group, and A0111 if it is not a group. Returns A0121 if the number is not
    /// positive and finite, or the group has no rate manager with a fixed step.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{FixedStep, Simulation, World};
    ///
    /// let mut world = World::new("Simulation");
    /// world.set_timestep(FixedStep, 0.02)?;
    /// assert_eq!(world.timestep(FixedStep)?, Some(0.02));
    /// assert!(world.set_timestep(FixedStep, -1.0).is_err());
    /// assert!(world.set_timestep(Simulation, 0.02).is_err(), "it has no fixed step");
    /// # Ok::<(), ancho_entities::SystemError>(())
    /// ```
    pub fn set_timestep<M>(
        &mut self,
        group: impl IntoSystemTarget<M>,
        seconds: f64,
    ) -> Result<(), SystemError> {
        let (id, children) = self.children_mut(group, "set_timestep")?;
        let set = match &mut children.rate {
            Some(rate) => rate.set_timestep(seconds),
            None => Err(TimeError::NoTimestep { seconds }),
        };
        set.map_err(|error| SystemError::Rate {
            group: self.systems.name_of(id).to_string(),
            error,
        })
    }

    /// Sets whether the systems of a group are sorted by their constraints, or run in the order in which they were added.
    ///
    /// # Errors
    ///
    /// Returns A0108 if the world does not have the group, and A0111 if it is not a group.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{IntoSystem, ResMut, Resource, Simulation, World};
    ///
    /// #[derive(Resource, Clone)]
    /// struct Log(Vec<&'static str>);
    ///
    /// let mut world = World::new("Simulation");
    /// world.insert_resource(Log(Vec::new()));
    /// world.add_system((|mut log: ResMut<Log>| log.0.push("one")).named("one").after("two"));
    /// world.add_system((|mut log: ResMut<Log>| log.0.push("two")).named("two"));
    /// world.update(0.1);
    /// world.set_sorting(Simulation, false)?;
    /// world.update(0.1);
    /// assert_eq!(world.resource::<Log>().0, ["two", "one", "one", "two"]);
    /// # Ok::<(), ancho_entities::SystemError>(())
    /// ```
    pub fn set_sorting<M>(
        &mut self,
        group: impl IntoSystemTarget<M>,
        sorts: bool,
    ) -> Result<(), SystemError> {
        let (_, children) = self.children_mut(group, "set_sorting")?;
        (children.sorts, children.is_stale) = (sorts, true);
        Ok(())
    }

    /// Sets whether systems are ordered to leave more time between scheduling a job and waiting for it. The default is
    /// `false`.
    ///
    /// In each group, functions that [schedule jobs](crate::IntoSystem::in_jobs) run as early as possible, then systems that wait
    /// for no job, then systems that wait for jobs. All constraints hold, and two systems with conflicting access keep their order,
    /// so the results are bit-identical. The access of a function is that of its parameters. Structs, groups and points count as
    /// accessing everything, and so do functions with [`Commands`](crate::Commands), `&EntityManager`, `&mut EntityManager`,
    /// `&JobScheduler` or `&mut World`. No system is moved past a system that accesses everything.
    ///
    /// Two kinds of shared data are not tracked: data outside of the world, and data that is written through a shared reference,
    /// such as an atomic in a resource. Order systems that share such data with [`after`](crate::IntoSystem::after).
    /// [Patches](crate::IntoSystem::patch) run after each system, in the resulting order.
    ///
    /// # Determinism
    ///
    /// The order depends on the systems and their access, not on their run times.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, IntoSystem, Query, SystemKind, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Heat(f32);
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Wind(f32);
    ///
    /// fn spread(mut heat: Query<&mut Heat>) {
    ///     heat.schedule(|heat| heat.0 *= 0.5);
    /// }
    ///
    /// fn blow(mut wind: Query<&mut Wind>) {
    ///     wind.schedule(|wind| wind.0 *= 0.5);
    /// }
    ///
    /// fn warn(_: Query<&Heat>) {}
    ///
    /// let mut world = World::new("Simulation");
    /// world.add_system(spread.named("spread").in_jobs());
    /// world.add_system(warn.named("warn"));
    /// world.add_system(blow.named("blow").in_jobs());
    /// world.order_systems_for_latency(true);
    /// let order = world.system_order();
    /// let functions = order.iter().filter(|system| system.kind == SystemKind::Function);
    /// assert!(functions.map(|system| &*system.name).eq(["spread", "blow", "warn"]));
    /// ```
    pub fn order_systems_for_latency(&mut self, on: bool) {
        self.systems.for_latency = on;
        self.systems.mark_all_stale();
    }

    /// Sets whether one group is ordered for latency. `None` selects the setting [of the world](Self::order_systems_for_latency).
    ///
    /// # Errors
    ///
    /// Returns A0108 if the world does not have the group, and A0111 if it is not a group.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Presentation, World};
    ///
    /// let mut world = World::new("Simulation");
    /// world.add_system(|| {});
    /// world.order_systems_for_latency(true);
    /// world.order_group_for_latency(Presentation, Some(false))?;
    /// let order = world.system_order().to_string();
    /// assert!(order.contains("Simulation (for latency)\n") && order.contains("Presentation\n"));
    /// # Ok::<(), ancho_entities::SystemError>(())
    /// ```
    pub fn order_group_for_latency<M>(
        &mut self,
        group: impl IntoSystemTarget<M>,
        on: Option<bool>,
    ) -> Result<(), SystemError> {
        let (_, children) = self.children_mut(group, "order_group_for_latency")?;
        (children.for_latency, children.is_stale) = (on, true);
        Ok(())
    }

    /// Sorts all groups. Groups that were not sorted are sorted when they are updated.
    ///
    /// # Errors
    ///
    /// Returns A0097 or one of A0123 to A0128 if constraints of a group cannot hold. Such a group is not updated.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{IntoSystem, World};
    ///
    /// fn hen() {}
    ///
    /// fn egg() {}
    ///
    /// let mut world = World::new("Simulation");
    /// world.add_system(hen.before(egg));
    /// world.add_system(egg.before(hen));
    /// assert!(world.sort_systems().unwrap_err().to_string().starts_with("A0123"));
    /// ```
    pub fn sort_systems(&mut self) -> Result<(), UpdateErrors> {
        self.add_default_groups();
        let all: Vec<_> = self.systems.ids().collect();
        let is_group = |id| self.systems.slot(id).is_some_and(|slot| slot.flags.has(Flags::GROUP));
        let groups: Vec<_> = all.into_iter().filter(|&id| is_group(id)).collect();
        let errors = groups.into_iter().filter_map(|id| {
            let fault = self.sort(id).err()?;
            Some(UpdateError::new(self.systems.name_of(id), *fault))
        });
        let errors: Vec<_> = errors.collect();
        if errors.is_empty() { Ok(()) } else { Err(UpdateErrors(errors)) }
    }

    /// Adds the built-in groups and points, before the first system.
    pub(super) fn add_default_groups(&mut self) {
        if self.systems.root.is_some() {
            return;
        }
        // Adding the built-in systems does not change the version.
        let version = self.systems.version;
        let mut root = Root.into_builder();
        root.group = None;
        // A world that is being dropped has no root.
        let Ok(root) = self.add_built(root) else { return };
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
            LateSimulation.in_group(Simulation).last().before(EndSimulation),
            EndSimulation.in_group(Simulation).last(),
            Presentation.in_group(Root),
            BeginPresentation.in_group(Presentation).first(),
        ];
        for builder in builders {
            let added = self.add_built(builder);
            debug_assert!(added.is_ok(), "{added:?}");
        }
        self.systems.version = version;
    }

    /// Adds a group that is in no other group, so that updates do not run it.
    pub(super) fn add_detached_group(
        &mut self,
        builder: SystemBuilder,
    ) -> Result<SystemId, SystemError> {
        let version = self.systems.version;
        let added = self.add_built(SystemBuilder { group: None, is_detached: true, ..builder });
        self.systems.version = version;
        if let Some(record) = added.as_ref().ok().and_then(|&id| self.systems.record_mut(id)) {
            record.children.for_latency = Some(false);
        }
        added
    }

    /// Finds the group that a target names.
    pub(super) fn find_group(
        &self,
        system: &str,
        target: &SystemTarget,
    ) -> Result<SystemId, SystemError> {
        let found = self.systems.find(target);
        let is_group = |&id: &SystemId| self.systems.accepts_systems(id);
        found.filter(is_group).ok_or_else(|| not_a_group(system, &target.name()))
    }

    /// Finds a group. Returns its members and settings.
    fn children_mut<M>(
        &mut self,
        group: impl IntoSystemTarget<M>,
        what: &'static str,
    ) -> Result<(SystemId, &mut Children), SystemError> {
        self.add_default_groups();
        let id = self.group_id(group, what)?;
        let record = self.systems.record_mut(id).expect("a group has a record");
        Ok((id, &mut record.children))
    }

    pub(super) fn group_id<M>(
        &self,
        group: impl IntoSystemTarget<M>,
        what: &'static str,
    ) -> Result<SystemId, SystemError> {
        let id = self.id_of(group)?;
        if !self.systems.slot(id).is_some_and(|slot| slot.flags.has(Flags::GROUP)) {
            let system = self.systems.name_of(id).to_string();
            return Err(SystemError::OnlyForGroups { system, what });
        }
        Ok(id)
    }

    /// Marks a group and its enclosing groups as started, after a running system has joined the group. The system then stops when
    /// one of these groups stops.
    fn start_enclosing_groups(&mut self, group: SystemId) {
        let mut around = Some(group);
        while let Some(slot) = around.and_then(|group| self.systems.slot_mut(group)) {
            slot.flags.set(Flags::STARTED, true);
            around = slot.record.as_ref().and_then(|record| record.group);
        }
    }

    pub(super) fn join_group(&mut self, id: SystemId, group: SystemId) {
        if let Some(slot) = self.systems.slot_mut(group) {
            slot.flags.set(Flags::DONE, false);
        }
        if let Some(record) = self.systems.record_mut(group) {
            record.children.added.push(id);
            record.children.is_stale = true;
        }
        self.systems.version += 1;
    }

    /// Adds a patch after the existing ones.
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
        self.systems.leave_chain(id);
        let group = self.systems.record(id).and_then(|record| record.group);
        if let Some(record) = group.and_then(|group| self.systems.record_mut(group)) {
            record.children.added.retain(is_other);
            record.children.is_stale = true;
        }
        self.systems.version += 1;
    }

    /// Sorts the systems of a group if its order is stale.
    pub(super) fn sort(&mut self, id: SystemId) -> Outcome {
        let Some(record) = self.systems.record(id) else { return Ok(()) };
        if record.children.is_stale || record.children.sorted.is_none() {
            return self.sort_again(id);
        }
        Ok(())
    }

    #[cold]
    fn sort_again(&mut self, id: SystemId) -> Outcome {
        let sorted = self.systems.sorted(id);
        let fault = |error: OrderError| SystemFault::Order { message: error.to_string() };
        let sorted = sorted.map_err(|error| Box::new(fault(error)))?;
        let is_point = |&child: &SystemId| {
            self.systems.slot(child).is_some_and(|slot| slot.flags.has(Flags::POINT))
        };
        let only_points = sorted.iter().all(is_point);
        if let Some(Record { children, .. }) = self.systems.record_mut(id) {
            children.sorted = Some(sorted);
            children.is_stale = false;
            children.only_points = only_points;
        }
        Ok(())
    }
}

impl Systems {
    /// Tests whether a system is a group that is not being removed.
    pub(super) fn accepts_systems(&self, id: SystemId) -> bool {
        let flags = self.slot(id).map(|slot| slot.flags);
        flags.is_some_and(|flags| flags.has(Flags::GROUP) && !flags.has(Flags::REMOVED))
    }

    /// Tests whether a system is a patch.
    pub(super) fn is_patch(&self, id: SystemId) -> bool {
        self.slot(id).is_some_and(|slot| slot.flags.has(Flags::PATCH))
    }

    /// Finds the group of a type.
    pub(super) fn group_of<G: SystemGroup>(&self) -> Option<SystemId> {
        self.find(&G::target_of_type())
    }

    /// Tests whether a system is a member of a group.
    pub(super) fn is_member(&self, id: SystemId, group: SystemId) -> bool {
        let children = self.record(group).map(|record| &record.children.added);
        children.is_some_and(|children| children.contains(&id))
    }

    /// Returns the group of systems without a group option.
    pub(super) fn default_group(&self) -> Option<SystemId> {
        let groups = [self.group_of::<Simulation>(), self.root];
        groups.into_iter().flatten().find(|&group| self.accepts_systems(group))
    }

    /// Tests whether a group is ordered for latency.
    pub(super) fn is_for_latency(&self, group: &Record) -> bool {
        let children = &group.children;
        children.sorts && children.for_latency.unwrap_or(self.for_latency)
    }

    pub(super) fn mark_all_stale(&mut self) {
        for slot in &mut self.slots {
            if let Some(record) = &mut slot.record {
                record.children.is_stale = true;
            }
        }
    }

    /// Returns whether a system runs before all systems of a group, or `None` if the order of the enclosing groups does not decide
    /// it.
    fn runs_before(&self, system: SystemId, group: SystemId) -> Option<bool> {
        let groups_of =
            |id| iter::successors(Some(id), |&id| self.record(id).and_then(|record| record.group));
        // The children of the innermost group that contains both.
        let (own, other) = groups_of(system).find_map(|own| {
            groups_of(group).find(|&id| self.is_sibling(own, id)).map(|id| (own, id))
        })?;
        let order = self.sorted(self.record(own)?.group?).ok()?;
        let place = |id| order.iter().position(|&child| child == id);
        Some(place(own)? < place(other)?)
    }

    /// Tests whether two different systems are members of one group.
    fn is_sibling(&self, left: SystemId, right: SystemId) -> bool {
        let group_of = |id| self.record(id).and_then(|record| record.group);
        left != right && group_of(left).is_some() && group_of(left) == group_of(right)
    }

    /// Computes the order in which the systems of a group run.
    pub(super) fn sorted(&self, group_id: SystemId) -> Result<Box<[SystemId]>, OrderError> {
        let Some(group) = self.record(group_id) else { return Ok(Box::default()) };
        let added = &group.children.added;
        if !group.children.sorts {
            return Ok(added.as_slice().into());
        }
        let item = |&id: &SystemId| {
            let record = self.record(id)?;
            let set_constraints = self.set_constraints(record);
            Some(OrderItem {
                name: &record.name,
                type_id: record.type_id,
                id,
                first: record.first,
                last: record.last,
                is_late: record.type_id == TypeId::of::<LateSimulation>(),
                before: &record.before,
                after: &record.after,
                sets: &record.sets,
                set_constraints,
            })
        };
        let items: Vec<_> = added.iter().filter_map(item).collect();
        if items.iter().any(|item| !item.set_constraints.is_empty()) {
            self.check_set_order(added)?;
        }
        let elsewhere = |target: &SystemTarget| {
            if self.is_allowed_empty_set(target) {
                return Some(Elsewhere::EmptySet);
            }
            let id = self.find(target)?;
            if self.is_patch(id) {
                return Some(Elsewhere::AmongPatches);
            }
            let name = self.record(id)?.group.map(|group| self.name_of(group).to_string());
            let name = name.unwrap_or_else(|| "no group".to_owned());
            Some(Elsewhere::InGroup { name, runs_before: self.runs_before(id, group_id) })
        };
        let constraints = Constraints::resolve(&group.name, &items, &elsewhere)?;
        let mut order = constraints.sort(&group.name, &items)?;
        if self.is_for_latency(group) {
            let access = |item: &OrderItem<'_>| self.record(item.id).map(|record| &record.access);
            let access: Vec<_> = items.iter().filter_map(access).collect();
            order = delay_waits(&constraints, order, &access);
        }
        Ok(order.into_iter().map(|at| items[at].id).collect())
    }
}

/// Returns the error for a system that was to join a target that is not a group.
pub(super) fn not_a_group(system: &str, target: &str) -> SystemError {
    SystemError::NotAGroup { what: format!("system `{system}`"), target: target.to_owned() }
}
