//! What is said of a system before it is added.

use std::any::{TypeId, type_name};
use std::fmt;

use super::erased::{ErasedSystem, StructSystem};
use super::function::{FunctionSystem, SystemFunction};
use super::group::SystemGroup;
use super::order::Target;
use super::point::CommandPoint;
use super::rate::RateManager;
use super::requirement::{Asked, Requirements};
use super::structs::System;
use super::target::{SystemIs, SystemTarget};
use crate::query::{QueryDescriptor, SystemQuery};

/// What can be added to a world as a system: functions, structs, groups and points; and more can be said of each before.
///
/// The marker tells these apart, and is never written.
///
/// # Examples
///
/// ```
/// use ancho_entities::{IntoSystem, Presentation, ResMut, World};
///
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
    message = "`{Self}` is no system",
    label = "neither a function of parameters of systems, nor a system, a group or a point",
    note = "parameters of a function are `Query`, `Lookup`, `Single`, `Res`, `ResMut`, `Time`, `Commands`, `CommandsAt`, `Local`, \
            `UpdateAllocator`, `SystemData`, `ParamSet`, `&EntityManager`, `&mut EntityManager`, `&mut World` and tuples of them, up to \
            16; what is in a `Local` has a default, and can be sent to other threads",
    note = "a function returns nothing, or a `Result<(), E>` whose error can be displayed",
    note = "a struct implements `System`, a group `SystemGroup`, a point `CommandPoint`"
)]
pub trait IntoSystem<Marker>: Sized {
    /// The system, of which more can be said.
    fn into_builder(self) -> SystemBuilder;

    /// The system of this type.
    #[doc(hidden)]
    fn target_of_type() -> SystemIs;

    /// Gives it a name, by which errors and tools call it. Without one, it is called by its type.
    fn named(self, name: impl Into<String>) -> SystemBuilder {
        self.built(|builder| builder.name = name.into())
    }

    /// Puts it in a group. Without one, it is in [`Simulation`](crate::Simulation); groups are too.
    fn in_group<M>(self, group: impl SystemTarget<M>) -> SystemBuilder {
        self.built(|builder| builder.group = Some(group.into_target().0))
    }

    /// Has it run before others of its group. It can be said of any number of them.
    ///
    /// Whom it means may be added later. If it is nobody by the next update, that is an error (A0124).
    fn before<M>(self, other: impl SystemTarget<M>) -> SystemBuilder {
        self.built(|builder| builder.before.push(other.into_target().0))
    }

    /// Has it run after others of its group. It can be said of any number of them.
    ///
    /// Whom it means may be added later. If it is nobody by the next update, that is an error (A0124).
    fn after<M>(self, other: impl SystemTarget<M>) -> SystemBuilder {
        self.built(|builder| builder.after.push(other.into_target().0))
    }

    /// Has it created before others that are [added with it](crate::World::add_systems), or later. In which order they run is
    /// another matter: see [`before`](Self::before).
    ///
    /// Whom it means cannot be there already (A0133). Unity's `CreateBefore`.
    fn create_before<M>(self, other: impl SystemTarget<M>) -> SystemBuilder {
        self.built(|builder| builder.create_before.push(other.into_target().0))
    }

    /// Has it created after others that are [added with it](crate::World::add_systems), or there already. In which order they run
    /// is another matter: see [`after`](Self::after).
    ///
    /// Whom it means has to be there or added with it (A0132). Unity's `CreateAfter`.
    fn create_after<M>(self, other: impl SystemTarget<M>) -> SystemBuilder {
        self.built(|builder| builder.create_after.push(other.into_target().0))
    }

    /// Has it run before all of its group that are not first too.
    fn first(self) -> SystemBuilder {
        self.built(|builder| builder.first = true)
    }

    /// Has it run after all of its group that are not last too.
    fn last(self) -> SystemBuilder {
        self.built(|builder| builder.last = true)
    }

    /// Says whether it runs. It can be changed with [`World::set_system_enabled`](crate::World::set_system_enabled).
    fn enabled(self, enabled: bool) -> SystemBuilder {
        self.built(|builder| builder.enabled = enabled)
    }

    /// Has it run only while there are such entities. All that is required has to be there.
    ///
    /// What is switched off, has changed, or is shared does not matter: only whether there is an entity with the components.
    /// Unity's `RequireForUpdate`.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, QueryDescriptor, IntoSystem, Single, World};
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
    fn require(self, query: QueryDescriptor) -> SystemBuilder {
        self.built(|builder| builder.requirements.all.push(asked(query)))
    }

    /// Has it run only while there are entities of one of the queries of which this is said. Unity's `RequireAnyForUpdate`.
    fn require_any(self, query: QueryDescriptor) -> SystemBuilder {
        self.built(|builder| builder.requirements.any.push(asked(query)))
    }

    /// Has a function run only while there are entities for one of its own queries, unless something is
    /// [required](Self::require). Said of anything else, it is an error (A0098). Unity's `RequireMatchingQueriesForUpdate`.
    fn require_matching(self) -> SystemBuilder {
        self.built(|builder| builder.requirements.matching = true)
    }

    /// Has it updated after every other system, too, and not at a place of its own: points are followed by it, groups are not, nor
    /// are others of which this is said. Those run in the order in which they were added.
    ///
    /// It is in no group, and nobody is before or after it: if `in_group`, `before`, `after`, `first` or `last` is said of it, or
    /// another is to run before or after it, that is an error (A0097). When it is created can be said.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{IntoSystem, ResMut, World};
    ///
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
    fn patch(self) -> SystemBuilder {
        self.built(|builder| builder.is_patch = true)
    }

    /// Has a group update as often as a manager says. It can be changed with [`World::set_rate`](crate::World::set_rate).
    fn rate(self, rate: impl RateManager + 'static) -> SystemBuilder {
        self.built(|builder| builder.rate = Some(Box::new(rate)))
    }

    /// Has the systems of a group run in the order in which they were added, whatever else is said of them.
    fn unsorted(self) -> SystemBuilder {
        self.built(|builder| builder.unsorted = true)
    }

    /// Says that a function uses its queries in jobs that it schedules, and does not wait for them itself.
    ///
    /// Only an [order for latency](crate::World::order_systems_for_latency) goes by it. If it is not true, the order is not the
    /// best, and nothing else is wrong. Said of anything but a function, it is an error (A0098).
    fn in_jobs(self) -> SystemBuilder {
        self.built(|builder| builder.in_jobs = true)
    }

    /// The system, of which something more is said.
    #[doc(hidden)]
    fn built(self, say: impl FnOnce(&mut SystemBuilder)) -> SystemBuilder {
        let mut builder = self.into_builder();
        say(&mut builder);
        builder
    }
}

/// A system that is about to be added, and what is said of it: from the methods of [`IntoSystem`].
#[must_use = "nothing is added until `World::add_system`"]
pub struct SystemBuilder {
    pub(super) kind: Kind,
    pub(super) type_id: TypeId,
    pub(super) name: String,
    pub(super) group: Option<Target>,
    pub(super) before: Vec<Target>,
    pub(super) after: Vec<Target>,
    pub(super) create_before: Vec<Target>,
    pub(super) create_after: Vec<Target>,
    pub(super) first: bool,
    pub(super) last: bool,
    pub(super) enabled: bool,
    pub(super) is_patch: bool,
    pub(super) unsorted: bool,
    pub(super) in_jobs: bool,
    pub(super) requirements: Requirements,
    pub(super) rate: Option<Box<dyn RateManager>>,
}

/// What kind of system.
pub(super) enum Kind {
    Function(Box<dyn ErasedSystem>),
    Struct(Box<dyn ErasedSystem>),
    Group,
    /// Where commands are carried out, and what it is called.
    Point(&'static str),
}

impl SystemBuilder {
    /// Whether a target is this system, which no world has yet.
    pub(super) fn is_meant_by(&self, target: &Target) -> bool {
        match target {
            Target::Type(id, _) => *id == self.type_id,
            Target::Name(name) => *name == self.name,
            Target::System(_) => false,
        }
    }

    pub(super) fn new(kind: Kind, type_id: TypeId, name: &str) -> Self {
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
            is_patch: false,
            unsorted: false,
            in_jobs: false,
            requirements: Requirements::default(),
            rate: None,
        }
    }
}

impl fmt::Debug for SystemBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SystemBuilder").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A query that is looked for in the world that the system is added to.
fn asked(query: QueryDescriptor) -> Asked {
    Asked::Later(Box::new(move |entities| SystemQuery::of_description(entities, &query)))
}

/// The marker of functions.
#[derive(Debug)]
pub struct IsFunction;

/// The marker of structs.
#[derive(Debug)]
pub struct IsStruct;

/// The marker of groups.
#[derive(Debug)]
pub struct IsGroup;

/// The marker of points.
#[derive(Debug)]
pub struct IsPoint;

/// The marker of what was begun.
#[derive(Debug)]
pub struct IsBuilder;

impl<M: 'static, F: SystemFunction<M>> IntoSystem<(IsFunction, M)> for F {
    fn into_builder(self) -> SystemBuilder {
        let kind = Kind::Function(Box::new(FunctionSystem::new(self)));
        SystemBuilder::new(kind, TypeId::of::<F>(), type_name::<F>())
    }

    fn target_of_type() -> SystemIs {
        SystemIs(Target::Type(TypeId::of::<F>(), type_name::<F>()))
    }
}

impl<S: System> IntoSystem<IsStruct> for S {
    fn into_builder(self) -> SystemBuilder {
        let kind = Kind::Struct(Box::new(StructSystem::new(self)));
        SystemBuilder::new(kind, TypeId::of::<S>(), type_name::<S>())
    }

    fn target_of_type() -> SystemIs {
        SystemIs(Target::Type(TypeId::of::<S>(), type_name::<S>()))
    }
}

impl<G: SystemGroup> IntoSystem<IsGroup> for G {
    fn into_builder(self) -> SystemBuilder {
        SystemBuilder::new(Kind::Group, TypeId::of::<G>(), G::name())
    }

    fn target_of_type() -> SystemIs {
        SystemIs(Target::Type(TypeId::of::<G>(), G::name()))
    }
}

impl<P: CommandPoint> IntoSystem<IsPoint> for P {
    fn into_builder(self) -> SystemBuilder {
        SystemBuilder::new(Kind::Point(P::name()), TypeId::of::<P>(), P::name())
    }

    fn target_of_type() -> SystemIs {
        SystemIs(Target::Type(TypeId::of::<P>(), P::name()))
    }
}

impl IntoSystem<IsBuilder> for SystemBuilder {
    fn into_builder(self) -> SystemBuilder {
        self
    }

    fn target_of_type() -> SystemIs {
        SystemIs(Target::Type(TypeId::of::<Self>(), "a system that is about to be added"))
    }
}
