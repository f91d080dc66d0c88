//! Which systems are meant.

use std::any::{TypeId, type_name};

use super::builder::IntoSystem;
use super::id::SystemId;
use super::order::Target;

/// What says which systems are meant: by [`before`](IntoSystem::before), [`after`](IntoSystem::after),
/// [`in_group`](IntoSystem::in_group) and many methods of worlds.
///
/// | | |
/// |---|---|
/// | a function | all systems that are this function |
/// | a group, a point, or a struct that is a system | the one of this type, whatever the value |
/// | [`system_type::<S>()`](crate::system_type) | the same, where there is no value |
/// | `&str` | all systems of this name |
/// | a [`SystemId`] | the one that was added |
///
/// The marker tells these apart, and is never written.
pub trait SystemTarget<Marker> {
    /// Which systems.
    #[doc(hidden)]
    fn into_target(self) -> SystemIs;
}

/// Which systems are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemIs(pub(super) Target);

impl SystemIs {
    /// In words.
    pub(super) fn name(&self) -> String {
        self.0.name().into_owned()
    }
}

/// The system of a type, where there is no value of it at hand: for [`before`](IntoSystem::before),
/// [`after`](IntoSystem::after) and others.
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
pub fn system_type<S: 'static>() -> SystemIs {
    SystemIs(Target::Type(TypeId::of::<S>(), type_name::<S>()))
}

/// The marker of functions and types.
#[derive(Debug)]
pub struct ByType;

/// The marker of names.
#[derive(Debug)]
pub struct ByName;

/// The marker of ids.
#[derive(Debug)]
pub struct ById;

/// The marker of what says it already.
#[derive(Debug)]
pub struct Said;

impl<S: IntoSystem<M>, M> SystemTarget<(ByType, M)> for S {
    fn into_target(self) -> SystemIs {
        S::target_of_type()
    }
}

impl SystemTarget<ByName> for &str {
    fn into_target(self) -> SystemIs {
        SystemIs(Target::Name(self.to_owned()))
    }
}

impl SystemTarget<ById> for SystemId {
    fn into_target(self) -> SystemIs {
        SystemIs(Target::System(self))
    }
}

impl SystemTarget<Said> for SystemIs {
    fn into_target(self) -> SystemIs {
        self
    }
}
