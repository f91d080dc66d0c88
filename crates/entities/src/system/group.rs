//! Groups, and those that every world has.

use std::any::type_name;

/// A group of systems: a type that says which.
///
/// A group is added as a system is, and is one: it is [in a group](crate::IntoSystem::in_group), before and after others, enabled
/// or not. When it is updated, it updates its systems; when it stops running, they do.
///
/// Every world has these, and what [points](crate::CommandPoint) are in them:
///
/// ```text
/// Root
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
/// Systems of which nothing else is said are in [`Simulation`].
///
/// # Examples
///
/// ```
/// use ancho_entities::{IntoSystem, ResMut, Simulation, SystemGroup, World};
///
/// struct Physics;
///
/// impl SystemGroup for Physics {}
///
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
pub trait SystemGroup: Sized + 'static {
    /// What it is called.
    fn name() -> &'static str {
        type_name::<Self>()
    }
}

/// Writes groups that every world has.
macro_rules! groups {
    ($($(#[$doc:meta])* $group:ident,)+) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, Default)]
            pub struct $group;

            impl SystemGroup for $group {
                fn name() -> &'static str {
                    stringify!($group)
                }
            }
        )+
    };
}

groups! {
    /// The group that has all others: what an update updates.
    Root,
    /// The group that is updated first in each frame. Unity's `InitializationSystemGroup`.
    Initialization,
    /// The group that systems are in unless they say otherwise. Unity's `SimulationSystemGroup`.
    Simulation,
    /// The group that is updated in steps of the same length, in [`Simulation`]: 60 for each second, unless another
    /// [rate](crate::World::set_rate) is set. Unity's `FixedStepSimulationSystemGroup`.
    FixedStep,
    /// The group that is updated now and then, by the clock on the wall, in [`Simulation`]: about 15 times a second, unless
    /// another [rate](crate::World::set_rate) is set. Unity's `VariableRateSimulationSystemGroup`.
    VariableStep,
    /// The group for systems that run after all others of [`Simulation`], also after transforms, and before the commands of
    /// [`EndSimulation`](crate::EndSimulation) are played. Unity's `LateSimulationSystemGroup`.
    ///
    /// A camera that follows an entity belongs here: it sees the matrices of its own frame, and what it records for
    /// [`EndSimulation`](crate::EndSimulation) is played in the same frame. A system of [`Simulation`] that is only
    /// [`last`](crate::IntoSystem::last) runs after [`EndSimulation`](crate::EndSimulation).
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
    LateSimulation,
    /// The group that is updated last in each frame. Unity's `PresentationSystemGroup`.
    Presentation,
}
