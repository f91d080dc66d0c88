//! Struct systems, and systems with erased types.

use std::any::Any;

use crate::schedule::{SystemAccess, SystemError, SystemFault, SystemResult};
use crate::world::{ErasedSystem, Outcome, World};

use crate::version::Version;

/// A system that is a struct: it has fields, and callbacks for its lifecycle.
///
/// | callback | time |
/// |---|---|
/// | [`on_create`](Self::on_create) | once, when it is added |
/// | [`on_start_running`](Self::on_start_running) | before the first update, and before the first update after it stopped |
/// | [`on_update`](Self::on_update) | in each update of its group, if it is enabled and its [requirements](crate::IntoSystem::require) are met |
/// | [`on_stop_running`](Self::on_stop_running) | in the first update in which it is disabled or lacks a requirement; when its group stops; before it is destroyed |
/// | [`on_destroy`](Self::on_destroy) | once, when it is removed, or its world is dropped |
///
/// Starting and stopping alternate. All callbacks have access to the whole world: they can access, add, remove and update other
/// systems. [`World::last_run`] returns the version after which data counts as changed. A world has at most one system of each
/// type.
///
/// If a callback returns an error or panics, the update [reports](World::update) it after the other systems have run. The system
/// stays in the world, unless it [stops on errors](crate::IntoSystem::stop_on_error).
///
/// This is Unity's `SystemBase`.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, System, SystemResult, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Position(f32);
///
/// #[derive(Component, Clone, Copy)]
/// struct Velocity(f32);
///
/// #[derive(Default)]
/// struct Movement {
///     updates: u32,
/// }
///
/// impl System for Movement {
///     fn on_update(&mut self, world: &mut World) -> SystemResult {
///         let dt = world.time().delta();
///         let mut movers = world.query_mut::<(&mut Position, &Velocity)>();
///         movers.schedule_parallel(move |(position, velocity)| position.0 += velocity.0 * dt);
///         self.updates += 1;
///         Ok(())
///     }
/// }
///
/// let mut world = World::new("Simulation");
/// let stone = world.spawn((Position(0.0), Velocity(4.0)));
/// world.add_system(Movement::default());
/// world.update(0.25);
/// assert_eq!(world.get::<Position>(stone).unwrap().0, 1.0);
/// assert_eq!(world.system::<Movement>().unwrap().updates, 1);
/// ```
#[doc(alias = "ISystem")]
#[doc(alias = "SystemBase")]
#[doc(alias = "ComponentSystemBase")]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a struct system",
    label = "does not implement `System`",
    note = "write `impl System for {Self}`; other data of systems is in resources: `Res<T>`"
)]
pub trait System: Send + 'static {
    /// Called when the system is added.
    ///
    /// # Errors
    ///
    /// If this method fails, the system is not added, and [`World::try_add_system`] returns the error.
    fn on_create(&mut self, world: &mut World) -> SystemResult {
        let _ = world;
        Ok(())
    }

    /// Called before the first update after the system was added or had stopped.
    ///
    /// # Errors
    ///
    /// If this method fails, the system is not updated this time.
    fn on_start_running(&mut self, world: &mut World) -> SystemResult {
        let _ = world;
        Ok(())
    }

    /// Called in each update.
    ///
    /// # Errors
    ///
    /// Errors are reported by the update.
    fn on_update(&mut self, world: &mut World) -> SystemResult;

    /// Called when the system stops.
    ///
    /// # Errors
    ///
    /// Errors are reported by the update.
    fn on_stop_running(&mut self, world: &mut World) -> SystemResult {
        let _ = world;
        Ok(())
    }

    /// Called when the system is removed, or when its world is dropped. All systems of a removed group, or of a dropped world, stop
    /// before the first one is destroyed.
    ///
    /// If the world is dropped inside a job of another scheduler, this method can complete jobs, but not schedule them
    /// (A0006).
    ///
    /// # Errors
    ///
    /// Errors are returned by [`World::remove_system`]. If the world is dropped, they are passed to its
    /// [error handler](World::set_error_handler), or printed if no handler is set.
    fn on_destroy(&mut self, world: &mut World) -> SystemResult {
        let _ = world;
        Ok(())
    }
}

/// A struct system and its name.
pub(super) struct StructSystem<S> {
    system: S,
    name: Box<str>,
}

impl<S> StructSystem<S> {
    pub(super) fn new(system: S) -> Self {
        Self { system, name: Box::default() }
    }
}

impl<S: System> ErasedSystem for StructSystem<S> {
    fn create(
        &mut self,
        world: &mut World,
        name: &str,
    ) -> Result<Option<SystemAccess>, SystemError> {
        self.name = name.into();
        match self.system.on_create(world) {
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
        outcome(self.system.on_start_running(world))
    }

    fn update(&mut self, world: &mut World, _: Version) -> Outcome {
        outcome(self.system.on_update(world))
    }

    fn stop(&mut self, world: &mut World) -> Outcome {
        outcome(self.system.on_stop_running(world))
    }

    fn destroy(&mut self, world: &mut World) -> Outcome {
        outcome(self.system.on_destroy(world))
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(&self.system)
    }

    fn as_any_mut(&mut self) -> Option<&mut dyn Any> {
        Some(&mut self.system)
    }
}

#[inline]
pub(super) fn outcome(result: SystemResult) -> Outcome {
    result.map_err(|error| Box::new(SystemFault::Failed { message: error.to_string() }))
}
