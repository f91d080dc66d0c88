//! Settings of a system before it is added, and types that name a system.

use std::any::{TypeId, type_name};
use std::fmt;

use super::condition::{BuildCondition, Condition};
use super::function::{FunctionShape, FunctionSystem, SystemFunction};
use super::group::{GroupSystem, SystemGroup};
use super::one_shot::BuildOneShot;
use super::pipe::Pipe;
use super::point::CommandPoint;
use super::set::SystemSet;
use super::state::{States, TransitionGroup, group_of_transition, group_of_value};
use super::system::{StructSystem, System};
use crate::query::QueryDescriptor;
use crate::schedule::{RateManager, RequiredQuery, Requirements, SystemId, SystemTarget};
use crate::world::{ErasedCondition, ErasedSystem, Phase};

/// A value that can be added to a world as a system: a function, a [struct](crate::System), a [group](crate::SystemGroup) or a
/// [command point](crate::CommandPoint). The methods set options, and return a [`SystemBuilder`].
///
/// A function returns nothing, a `Result<(), E>`, or the `Result<JobHandle, E>` of a job that it scheduled. The update reports an
/// error with the name of the system. If the job fails, the next update reports that. The world tracks jobs over entities
/// automatically. It tracks a job that was scheduled with a [`&JobScheduler`](ancho_jobs::JobScheduler) only if the system returns
/// its handle.
///
/// Options that name another system take a function, group or point, a value of a struct system,
/// [`system_type::<S>()`](crate::system_type), a name (`&str`), or a [`SystemId`]. A function names all systems of this function. A
/// `&str` names all systems with this name.
///
/// The type parameter `Marker` is inferred.
///
/// # Examples
///
/// ```
/// use ancho_entities::{IntoSystem, Presentation, ResMut, Resource, World};
///
/// #[derive(Resource, Clone)]
/// struct Log(Vec<&'static str>);
///
/// fn draw(mut log: ResMut<Log>) {
///     log.0.push("draw");
/// }
///
/// fn think(mut log: ResMut<Log>) {
///     log.0.push("think");
/// }
///
/// fn act(mut log: ResMut<Log>) {
///     log.0.push("act");
/// }
///
/// let mut world = World::new("Simulation");
/// world.insert_resource(Log(Vec::new()));
/// world.add_system(draw.in_group(Presentation));
/// world.add_system(act.after(think));
/// world.add_system(think);
/// world.update(0.1);
/// assert_eq!(world.resource::<Log>().0, ["think", "act", "draw"]);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a system",
    label = "neither a function with up to 16 parameters, nor a struct system, a group or a command point",
    note = "a function has up to 16 parameters; put some of them in a tuple: `(time, all): (Time, Query<&T>)`",
    note = "a struct implements `System`, a group `SystemGroup`, a point `CommandPoint`"
)]
pub trait IntoSystem<Marker>: Sized {
    /// Names the system of this type.
    #[doc(hidden)]
    fn target_of_type() -> SystemTarget;

    /// Converts the system into a builder without options.
    fn into_builder(self) -> SystemBuilder
    where
        Self: BuildSystem<Marker>,
    {
        self.build()
    }

    /// Sets the name that errors and tools show. The default is the name of the type.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{IntoSystem, World};
    ///
    /// let mut world = World::new("Simulation");
    /// let id = world.add_system((|| Err::<(), _>("no fuel")).named("engine"));
    /// assert_eq!(world.find_system("engine"), Some(id));
    /// let errors = world.try_update(0.1).unwrap_err();
    /// assert_eq!(errors.to_string(), "A0106: system `engine` failed: no fuel");
    /// ```
    fn named(self, name: impl Into<String>) -> SystemBuilder
    where
        Self: BuildSystem<Marker>,
    {
        self.built(|builder| builder.name = name.into())
    }

    /// Puts the system in a group. The default is [`Simulation`](crate::Simulation), for groups too.
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
    /// world.set_timestep(FixedStep, 0.125)?;
    /// world.update(0.25);
    /// assert_eq!(world.resource::<Steps>().0, 3, "at 0, 0.125 and 0.25 seconds");
    /// # Ok::<(), ancho_entities::SystemError>(())
    /// ```
    #[doc(alias = "UpdateInGroup")]
    fn in_group<M>(self, group: impl IntoSystemTarget<M>) -> SystemBuilder
    where
        Self: BuildSystem<Marker>,
    {
        self.built(|builder| builder.group = Some(group.into_target()))
    }

    /// Puts the system in a [set](SystemSet). Can be called several times.
    ///
    /// # Examples
    ///
    /// See [`SystemSet`].
    fn in_set<S: SystemSet>(self, set: S) -> SystemBuilder
    where
        Self: BuildSystem<Marker>,
    {
        drop(set);
        self.built(|builder| builder.join_set::<S>())
    }

    /// Runs the system only if a [condition](Condition) is true: a function of read-only parameters that returns `bool`.
    ///
    /// The condition is tested immediately before the system would run. It waits for jobs that write the data it reads. If this
    /// method is called several times, the conditions are tested from left to right, up to the first one that is false. Then the
    /// system stops, as a disabled one does.
    ///
    /// In a condition, `changed` means since the system last ran. So a change is not lost while another condition is false.
    ///
    /// The condition of a group is tested before each step of the group, after its rate manager granted the step. If it is false,
    /// the systems of the group do not run in this step. The time of the group passes.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{IntoSystem, Res, ResMut, Resource, World};
    ///
    /// #[derive(Resource, Clone)]
    /// struct Fuel(u32);
    ///
    /// fn has_fuel(fuel: Res<Fuel>) -> bool {
    ///     fuel.0 > 0
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// world.insert_resource(Fuel(2));
    /// world.add_system((|mut fuel: ResMut<Fuel>| fuel.0 -= 1).run_if(has_fuel));
    /// for _ in 0..5 {
    ///     world.update(0.1);
    /// }
    /// assert_eq!(world.resource::<Fuel>().0, 0);
    /// ```
    fn run_if<M, C>(self, condition: C) -> SystemBuilder
    where
        Self: BuildSystem<Marker>,
        C: Condition<M> + BuildCondition<M>,
    {
        self.built(|builder| builder.conditions.push(Box::new(condition.into_test())))
    }

    /// Runs the system when a [state](States) enters a value, instead of in each update.
    ///
    /// The enter systems of parents run before those of sub-states. Within one value they run in order of adding, unless
    /// [`before`](Self::before) and [`after`](Self::after) say otherwise. Commands of each system are played after it. The enter
    /// systems of the initial value run at the first step.
    ///
    /// # Examples
    ///
    /// See [`States`].
    #[doc(alias = "OnEnter")]
    fn on_enter<S: States>(self, value: S) -> SystemBuilder
    where
        Self: BuildSystem<Marker>,
    {
        self.built(|builder| builder.transition = Some(group_of_value(Phase::Enter, value)))
    }

    /// Runs the system when a [state](States) leaves a value, instead of in each update. It still reads the old value.
    ///
    /// The exit systems of sub-states run before those of their parents.
    #[doc(alias = "OnExit")]
    fn on_exit<S: States>(self, value: S) -> SystemBuilder
    where
        Self: BuildSystem<Marker>,
    {
        self.built(|builder| builder.transition = Some(group_of_value(Phase::Exit, value)))
    }

    /// Runs the system when a [state](States) changes from one value to another, instead of in each update: after the exit systems,
    /// and before the enter systems.
    #[doc(alias = "OnTransition")]
    fn on_transition<S: States>(self, from: S, to: S) -> SystemBuilder
    where
        Self: BuildSystem<Marker>,
    {
        self.built(|builder| builder.transition = Some(group_of_transition(from, to)))
    }

    /// Combines two functions to one system: the output of this one is the [input](crate::In) of the other one.
    ///
    /// The name of the system is `first | second`. Both functions run in turn, so their parameters may conflict. Commands of both are
    /// played after the second one. If a parameter of either one is missing, none of them runs. A `Result` is passed to the second
    /// function as it is.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, In, IntoSystem, Query, ResMut, Resource, World};
    ///
    /// #[derive(Component)]
    /// struct Enemy;
    ///
    /// #[derive(Resource, Clone)]
    /// struct Alarm(bool);
    ///
    /// fn count(enemies: Query<&Enemy>) -> usize {
    ///     enemies.count()
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// world.insert_resource(Alarm(false));
    /// world.spawn(Enemy);
    /// world.add_system(count.pipe(|In(n): In<usize>, mut alarm: ResMut<Alarm>| alarm.0 = n > 0));
    /// world.update(0.1);
    /// assert!(world.resource::<Alarm>().0);
    /// ```
    fn pipe<M, B>(self, second: B) -> Pipe<Self, B, Marker, M>
    where
        Self: BuildOneShot<Marker>,
        B: BuildOneShot<M, In = Self::Out>,
    {
        Pipe::new(self, second)
    }

    /// Runs the system before another one of its group. Can be called several times.
    ///
    /// The other system can be added later. If it is missing in the next update, that is an error (A0124).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{IntoSystem, ResMut, Resource, World};
    ///
    /// #[derive(Resource, Clone)]
    /// struct Log(Vec<&'static str>);
    ///
    /// fn act(mut log: ResMut<Log>) {
    ///     log.0.push("act");
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// world.insert_resource(Log(Vec::new()));
    /// world.add_system(act);
    /// world.add_system((|mut log: ResMut<Log>| log.0.push("think")).before(act));
    /// world.update(0.1);
    /// assert_eq!(world.resource::<Log>().0, ["think", "act"]);
    /// ```
    #[doc(alias = "UpdateBefore")]
    fn before<M>(self, other: impl IntoSystemTarget<M>) -> SystemBuilder
    where
        Self: BuildSystem<Marker>,
    {
        self.built(|builder| builder.before.push(other.into_target()))
    }

    /// Runs the system after another one of its group. Can be called several times.
    ///
    /// The other system can be added later. If it is missing in the next update, that is an error (A0124).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{IntoSystem, ResMut, Resource, World};
    ///
    /// #[derive(Resource, Clone)]
    /// struct Log(Vec<&'static str>);
    ///
    /// fn act(mut log: ResMut<Log>) {
    ///     log.0.push("act");
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// world.insert_resource(Log(Vec::new()));
    /// world.add_system((|mut log: ResMut<Log>| log.0.push("rest")).after(act));
    /// world.add_system(act);
    /// world.update(0.1);
    /// assert_eq!(world.resource::<Log>().0, ["act", "rest"]);
    /// ```
    #[doc(alias = "UpdateAfter")]
    fn after<M>(self, other: impl IntoSystemTarget<M>) -> SystemBuilder
    where
        Self: BuildSystem<Marker>,
    {
        self.built(|builder| builder.after.push(other.into_target()))
    }

    /// Creates the system before another system that is added later, or by the [same call](crate::World::add_systems).
    ///
    /// It is an error if the world already has the other system (A0133). This option does not change the order of updates: see
    /// [`before`](Self::before). This is Unity's `CreateBefore`.
    fn create_before<M>(self, other: impl IntoSystemTarget<M>) -> SystemBuilder
    where
        Self: BuildSystem<Marker>,
    {
        self.built(|builder| builder.create_before.push(other.into_target()))
    }

    /// Creates the system after another system that the world has, or that the [same call](crate::World::add_systems) adds.
    ///
    /// It is an error if there is no such system (A0132). This option does not change the order of updates: see
    /// [`after`](Self::after). This is Unity's `CreateAfter`.
    fn create_after<M>(self, other: impl IntoSystemTarget<M>) -> SystemBuilder
    where
        Self: BuildSystem<Marker>,
    {
        self.built(|builder| builder.create_after.push(other.into_target()))
    }

    /// Runs the system before all systems of its group that are not `first`.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{IntoSystem, ResMut, Resource, World};
    ///
    /// #[derive(Resource, Clone)]
    /// struct Log(Vec<&'static str>);
    ///
    /// let mut world = World::new("Simulation");
    /// world.insert_resource(Log(Vec::new()));
    /// world.add_system(|mut log: ResMut<Log>| log.0.push("move"));
    /// world.add_system((|mut log: ResMut<Log>| log.0.push("input")).first());
    /// world.update(0.1);
    /// assert_eq!(world.resource::<Log>().0, ["input", "move"]);
    /// ```
    #[doc(alias = "OrderFirst")]
    fn first(self) -> SystemBuilder
    where
        Self: BuildSystem<Marker>,
    {
        self.built(|builder| builder.first = true)
    }

    /// Runs the system after all systems of its group that are not `last`.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{IntoSystem, ResMut, Resource, World};
    ///
    /// #[derive(Resource, Clone)]
    /// struct Log(Vec<&'static str>);
    ///
    /// let mut world = World::new("Simulation");
    /// world.insert_resource(Log(Vec::new()));
    /// world.add_system((|mut log: ResMut<Log>| log.0.push("report")).last());
    /// world.add_system(|mut log: ResMut<Log>| log.0.push("move"));
    /// world.update(0.1);
    /// assert_eq!(world.resource::<Log>().0, ["move", "report"]);
    /// ```
    #[doc(alias = "OrderLast")]
    fn last(self) -> SystemBuilder
    where
        Self: BuildSystem<Marker>,
    {
        self.built(|builder| builder.last = true)
    }

    /// Enables or disables the system. To change it later, use [`World::set_system_enabled`](crate::World::set_system_enabled).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{IntoSystem, ResMut, Resource, World};
    ///
    /// #[derive(Resource, Clone)]
    /// struct Shown(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.insert_resource(Shown(0));
    /// let overlay = (|mut shown: ResMut<Shown>| shown.0 += 1).named("overlay");
    /// world.add_system(overlay.enabled(false));
    /// world.update(0.1);
    /// world.set_system_enabled("overlay", true)?;
    /// world.update(0.1);
    /// assert_eq!(world.resource::<Shown>().0, 1);
    /// # Ok::<(), ancho_entities::SystemError>(())
    /// ```
    fn enabled(self, enabled: bool) -> SystemBuilder
    where
        Self: BuildSystem<Marker>,
    {
        self.built(|builder| builder.enabled = enabled)
    }

    /// Disables the system after its first error. [`World::set_system_enabled`](crate::World::set_system_enabled) enables it again.
    ///
    /// A group with this option is disabled after the first error of one of its systems. The other systems of the group still
    /// run in this step of the group. Warnings do not count.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{IntoSystem, World};
    ///
    /// let mut world = World::new("Simulation");
    /// world.add_system((|| Err::<(), _>("no network")).named("download").stop_on_error());
    /// assert!(world.try_update(0.1).is_err());
    /// assert!(world.try_update(0.1).is_ok(), "the system is disabled");
    /// world.set_system_enabled("download", true)?;
    /// assert!(world.try_update(0.1).is_err());
    /// # Ok::<(), ancho_entities::SystemError>(())
    /// ```
    fn stop_on_error(self) -> SystemBuilder
    where
        Self: BuildSystem<Marker>,
    {
        self.built(|builder| builder.stops_on_error = true)
    }

    /// Runs the system only while the query matches an entity. If this method is called several times, all queries have to match.
    ///
    /// Only components count: enabled bits, changes and shared values are ignored. This is Unity's `RequireForUpdate`.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, IntoSystem, QueryDescriptor, Single, World};
    ///
    /// #[derive(Component)]
    /// struct Player(u32);
    ///
    /// fn follow(mut player: Single<&mut Player>) {
    ///     player.0 += 1;
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// world.add_system(follow.require(QueryDescriptor::of::<&Player, ()>()));
    /// world.update(0.1);
    /// let player = world.spawn(Player(0));
    /// world.update(0.1);
    /// assert_eq!(world.get::<Player>(player).unwrap().0, 1);
    /// ```
    #[doc(alias = "RequireForUpdate")]
    #[doc(alias = "run_if")]
    fn require(self, query: QueryDescriptor) -> SystemBuilder
    where
        Self: BuildSystem<Marker>,
    {
        self.built(|builder| builder.requirements.all.push(RequiredQuery::Pending(query)))
    }

    /// Runs the system only while at least one of the queries given to this method matches an entity. This is Unity's
    /// `RequireAnyForUpdate`.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, IntoSystem, QueryDescriptor, World};
    ///
    /// #[derive(Component)]
    /// struct Fire;
    ///
    /// #[derive(Component)]
    /// struct Flood;
    ///
    /// let (fire, flood) = (QueryDescriptor::of::<&Fire, ()>(), QueryDescriptor::of::<&Flood, ()>());
    /// let mut world = World::new("Simulation");
    /// let alarm = world.add_system((|| ()).require_any(fire).require_any(flood));
    /// world.update(0.1);
    /// assert!(!world.system_info(alarm)?.running);
    /// world.spawn(Flood);
    /// world.update(0.1);
    /// assert!(world.system_info(alarm)?.running);
    /// # Ok::<(), ancho_entities::SystemError>(())
    /// ```
    #[doc(alias = "RequireAnyForUpdate")]
    #[doc(alias = "run_if")]
    fn require_any(self, query: QueryDescriptor) -> SystemBuilder
    where
        Self: BuildSystem<Marker>,
    {
        self.built(|builder| builder.requirements.any.push(RequiredQuery::Pending(query)))
    }

    /// Runs a function system only while one of its own queries matches. Has no effect if another query is
    /// [required](Self::require).
    ///
    /// It is an error for other systems (A0098). This is Unity's `RequireMatchingQueriesForUpdate`.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, IntoSystem, Query, World};
    ///
    /// #[derive(Component)]
    /// struct Enemy;
    ///
    /// fn fight(enemies: Query<&Enemy>) {
    ///     assert!(!enemies.is_empty());
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// let fight = world.add_system(fight.require_matching());
    /// world.try_update(0.1).expect("it does not run");
    /// world.spawn(Enemy);
    /// world.update(0.1);
    /// assert!(world.system_info(fight)?.running);
    /// # Ok::<(), ancho_entities::SystemError>(())
    /// ```
    #[doc(alias = "RequireMatchingQueriesForUpdate")]
    #[doc(alias = "run_if")]
    fn require_matching(self) -> SystemBuilder
    where
        Self: BuildSystem<Marker>,
    {
        self.built(|builder| builder.requirements.matching = true)
    }

    /// Runs the system after each other system and each point, instead of once per update. Patches run in the order in which they
    /// were added. They do not run after groups or after other patches.
    ///
    /// A patch is in no group. It is an error to use `in_group`, `before`, `after`, `first` or `last` for a patch, or to order
    /// another system relative to a patch (A0097). `create_before` and `create_after` are allowed.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{IntoSystem, ResMut, Resource, World};
    ///
    /// #[derive(Resource, Clone)]
    /// struct Log(Vec<&'static str>);
    ///
    /// fn work(mut log: ResMut<Log>) {
    ///     log.0.push("work");
    /// }
    ///
    /// fn play(mut log: ResMut<Log>) {
    ///     log.0.push("play");
    /// }
    ///
    /// fn tidy(mut log: ResMut<Log>) {
    ///     if !log.0.is_empty() {
    ///         log.0.push("tidy");
    ///     }
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// world.insert_resource(Log(Vec::new()));
    /// world.add_system(work);
    /// world.add_system(play);
    /// world.add_system(tidy.patch());
    /// world.update(0.1);
    /// assert_eq!(world.resource::<Log>().0[..4], ["work", "tidy", "play", "tidy"]);
    /// ```
    fn patch(self) -> SystemBuilder
    where
        Self: BuildSystem<Marker>,
    {
        self.built(|builder| builder.is_patch = true)
    }

    /// Makes an observer receive `Add` events for entities that exist when it is added. Prefabs raise no events.
    ///
    /// It is an error for systems that are not observers (A0202). The events are delivered like those of other structural changes:
    /// by the call that adds the observer, or after the system that adds it.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Add, Component, IntoSystem, On, World};
    ///
    /// #[derive(Component)]
    /// struct Orc;
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_batch([Orc, Orc]);
    /// let greet = |events: On<Add<Orc>>| assert_eq!(events.len(), 2);
    /// world.add_observer(greet.for_existing());
    /// ```
    #[doc(alias = "yield_existing")]
    fn for_existing(self) -> SystemBuilder
    where
        Self: BuildSystem<Marker>,
    {
        self.built(|builder| builder.for_existing = true)
    }

    /// Sets the rate manager of a group. To change it later, use [`World::set_rate`](crate::World::set_rate).
    fn rate(self, rate: impl RateManager + 'static) -> SystemBuilder
    where
        Self: BuildSystem<Marker>,
    {
        self.built(|builder| builder.rate = Some(Box::new(rate)))
    }

    /// Runs the systems of a group in the order in which they were added, without sorting by constraints.
    fn unsorted(self) -> SystemBuilder
    where
        Self: BuildSystem<Marker>,
    {
        self.built(|builder| builder.unsorted = true)
    }

    /// Declares that the jobs of a function system use its queries, and that the function does not wait for these jobs.
    ///
    /// The declaration only affects the [order for latency](crate::World::order_systems_for_latency). A wrong declaration makes
    /// that order worse, and has no other effect. It is an error for systems that are not functions (A0098).
    fn in_jobs(self) -> SystemBuilder
    where
        Self: BuildSystem<Marker>,
    {
        self.built(|builder| builder.in_jobs = true)
    }

    /// Converts the system into a builder, and sets an option.
    #[doc(hidden)]
    fn built(self, set: impl FnOnce(&mut SystemBuilder)) -> SystemBuilder
    where
        Self: BuildSystem<Marker>,
    {
        let mut builder = self.into_builder();
        set(&mut builder);
        builder
    }
}

/// A system that has not been added yet, with its options. Created by the methods of [`IntoSystem`].
#[must_use = "nothing is added until `World::add_system`"]
pub struct SystemBuilder {
    pub(super) kind: BuilderKind,
    pub(super) type_id: TypeId,
    pub(super) name: String,
    pub(super) group: Option<SystemTarget>,
    pub(super) before: Vec<SystemTarget>,
    pub(super) after: Vec<SystemTarget>,
    pub(super) create_before: Vec<SystemTarget>,
    pub(super) create_after: Vec<SystemTarget>,
    pub(super) first: bool,
    pub(super) last: bool,
    pub(super) enabled: bool,
    pub(super) stops_on_error: bool,
    pub(super) is_patch: bool,
    pub(super) unsorted: bool,
    pub(super) in_jobs: bool,
    pub(super) is_observer: bool,
    /// Set for a group that is in no other group.
    pub(super) is_detached: bool,
    pub(super) for_existing: bool,
    pub(super) requirements: Requirements,
    pub(super) conditions: Vec<Box<dyn ErasedCondition>>,
    pub(super) sets: Vec<TypeId>,
    /// Returns the group of a transition of a state.
    pub(super) transition: Option<TransitionGroup>,
    /// Set if the system runs after the previous one of the list with which it is added.
    pub(super) is_chained: bool,
    pub(super) rate: Option<Box<dyn RateManager>>,
}

/// The kind of a system, with the system itself.
pub(super) enum BuilderKind {
    Function(Box<dyn ErasedSystem>),
    Struct(Box<dyn ErasedSystem>),
    /// A group, with its callbacks if it has some.
    Group(Option<Box<dyn ErasedSystem>>),
    /// A command point, with its name.
    Point(&'static str),
}

impl SystemBuilder {
    /// Tests whether a target names this system, which has no id yet.
    pub(super) fn is_named_by(&self, target: &SystemTarget) -> bool {
        match target {
            SystemTarget::Type(id, _) => *id == self.type_id,
            SystemTarget::Name(name) => *name == self.name,
            SystemTarget::Set(set, _) => self.sets.contains(set),
            SystemTarget::System(_) => false,
        }
    }

    pub(super) fn join_set<S: SystemSet>(&mut self) {
        let set = TypeId::of::<S>();
        if !self.sets.contains(&set) {
            self.sets.push(set);
        }
    }

    pub(super) fn new(kind: BuilderKind, type_id: TypeId, name: &str) -> Self {
        Self {
            kind,
            type_id,
            name: name.to_owned(),
            group: None,
            before: Vec::new(),
            after: Vec::new(),
            create_before: Vec::new(),
            create_after: Vec::new(),
            first: false,
            last: false,
            enabled: true,
            stops_on_error: false,
            is_patch: false,
            unsorted: false,
            in_jobs: false,
            is_observer: false,
            is_detached: false,
            for_existing: false,
            requirements: Requirements::default(),
            conditions: Vec::new(),
            sets: Vec::new(),
            transition: None,
            is_chained: false,
            rate: None,
        }
    }
}

impl fmt::Debug for SystemBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SystemBuilder").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Marker of functions in [`IntoSystem`].
#[derive(Debug)]
pub struct IsFunction;

/// Marker of structs in [`IntoSystem`].
#[derive(Debug)]
pub struct IsStruct;

/// Marker of groups in [`IntoSystem`].
#[derive(Debug)]
pub struct IsGroup;

/// Marker of command points in [`IntoSystem`].
#[derive(Debug)]
pub struct IsPoint;

// The implementation for functions accepts parameters and outputs of any type. The compiler thus finds the methods, and infers the
// marker, even if the function is not a system. One implementation of `BuildSystem` is left for this marker, and the compiler names
// the parameter or the output that this implementation does not accept, instead of the function.
impl<M, F: FunctionShape<M> + 'static> IntoSystem<(IsFunction, M)> for F {
    fn target_of_type() -> SystemTarget {
        SystemTarget::Type(TypeId::of::<F>(), type_name::<F>())
    }
}

impl<S: System> IntoSystem<IsStruct> for S {
    fn target_of_type() -> SystemTarget {
        SystemTarget::Type(TypeId::of::<S>(), type_name::<S>())
    }
}

impl<G: SystemGroup> IntoSystem<IsGroup> for G {
    fn target_of_type() -> SystemTarget {
        SystemTarget::Type(TypeId::of::<G>(), G::name())
    }
}

impl<P: CommandPoint> IntoSystem<IsPoint> for P {
    fn target_of_type() -> SystemTarget {
        SystemTarget::Type(TypeId::of::<P>(), P::name())
    }
}

#[diagnostic::do_not_recommend]
impl IntoSystem<Self> for SystemBuilder {
    fn target_of_type() -> SystemTarget {
        SystemTarget::Type(TypeId::of::<Self>(), "a system that is about to be added")
    }
}

/// An [`IntoSystem`] whose parameters and output are those of a system. Generic functions that add systems have this bound.
///
/// The type parameter `Marker` is inferred.
///
/// # Examples
///
/// ```
/// use ancho_entities::{BuildSystem, IntoSystem, Presentation, SystemId, World};
///
/// fn add_overlay<M>(world: &mut World, system: impl BuildSystem<M>) -> SystemId {
///     world.add_system(system.in_group(Presentation))
/// }
///
/// let mut world = World::new("Simulation");
/// let overlay = add_overlay(&mut world, || ());
/// assert!(world.has_system(overlay));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a system",
    label = "neither a function with up to 16 parameters, nor a struct system, a group or a command point",
    note = "a function has up to 16 parameters; put some of them in a tuple: `(time, all): (Time, Query<&T>)`",
    note = "a struct implements `System`, a group `SystemGroup`, a point `CommandPoint`"
)]
pub trait BuildSystem<Marker>: IntoSystem<Marker> {
    /// Converts the system into a builder without options.
    #[doc(hidden)]
    fn build(self) -> SystemBuilder;
}

impl<M: 'static, F: SystemFunction<M>> BuildSystem<(IsFunction, M)> for F {
    fn build(self) -> SystemBuilder {
        let kind = BuilderKind::Function(Box::new(FunctionSystem::new(self)));
        SystemBuilder::new(kind, TypeId::of::<F>(), type_name::<F>())
    }
}

impl<S: System> BuildSystem<IsStruct> for S {
    fn build(self) -> SystemBuilder {
        let kind = BuilderKind::Struct(Box::new(StructSystem::new(self)));
        SystemBuilder::new(kind, TypeId::of::<S>(), type_name::<S>())
    }
}

impl<G: SystemGroup> BuildSystem<IsGroup> for G {
    fn build(self) -> SystemBuilder {
        let callbacks: Option<Box<dyn ErasedSystem>> =
            if G::IS_PLAIN { None } else { Some(Box::new(GroupSystem::new(self))) };
        SystemBuilder::new(BuilderKind::Group(callbacks), TypeId::of::<G>(), G::name())
    }
}

impl<P: CommandPoint> BuildSystem<IsPoint> for P {
    fn build(self) -> SystemBuilder {
        SystemBuilder::new(BuilderKind::Point(P::name()), TypeId::of::<P>(), P::name())
    }
}

#[diagnostic::do_not_recommend]
impl BuildSystem<Self> for SystemBuilder {
    fn build(self) -> SystemBuilder {
        self
    }
}

/// A value that names systems: a function, a group, a point, a struct system, `system_type`, a name or an id.
///
/// The type parameter `Marker` is inferred.
pub trait IntoSystemTarget<Marker> {
    /// Converts the value into a target.
    #[doc(hidden)]
    fn into_target(self) -> SystemTarget;
}

/// Names the system of a type, for [`before`](IntoSystem::before), [`World::find_system`](crate::World::find_system) and other
/// methods. Use it if there is no value of the type.
///
/// # Examples
///
/// ```
/// use ancho_entities::{IntoSystem, System, SystemResult, World, system_type};
///
/// struct Physics {
///     steps: u32,
/// }
///
/// impl System for Physics {
///     fn on_update(&mut self, _: &mut World) -> SystemResult {
///         self.steps += 1;
///         Ok(())
///     }
/// }
///
/// fn steer() {}
///
/// let mut world = World::new("Simulation");
/// world.add_system(Physics { steps: 0 });
/// world.add_system(steer.before(system_type::<Physics>()));
/// world.update(0.1);
/// ```
pub fn system_type<S: 'static>() -> SystemTarget {
    SystemTarget::Type(TypeId::of::<S>(), type_name::<S>())
}

/// Marker of functions and types in [`IntoSystemTarget`].
#[derive(Debug)]
pub struct ByType;

impl<S: IntoSystem<M>, M> IntoSystemTarget<(ByType, M)> for S {
    fn into_target(self) -> SystemTarget {
        S::target_of_type()
    }
}

impl IntoSystemTarget<String> for &str {
    fn into_target(self) -> SystemTarget {
        SystemTarget::Name(self.to_owned())
    }
}

impl IntoSystemTarget<Self> for SystemId {
    fn into_target(self) -> SystemTarget {
        SystemTarget::System(self)
    }
}

impl IntoSystemTarget<Self> for SystemTarget {
    fn into_target(self) -> SystemTarget {
        self
    }
}
