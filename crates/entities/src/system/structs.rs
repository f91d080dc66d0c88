//! Systems that are structs.

use super::error::SystemResult;
use crate::world::World;

/// A system that is a struct: it has data, and is told what happens to it.
///
/// | | |
/// |---|---|
/// | [`on_create`](Self::on_create) | once, when it is added |
/// | [`on_start_running`](Self::on_start_running) | before the first update, and before the first one after it had stopped |
/// | [`on_update`](Self::on_update) | in each update of its group, if it is enabled and has what it [requires](crate::IntoSystem::require) |
/// | [`on_stop_running`](Self::on_stop_running) | when an update comes and it is not enabled any more, or lacks what it requires; when its group stops; and before it is destroyed, if it runs |
/// | [`on_destroy`](Self::on_destroy) | once, when it is removed, or its world is dropped |
///
/// Starting and stopping alternate. All have the whole world: other systems can be asked, added, removed and updated.
/// [`World::last_run`] says since when something counts as changed. There is one system of a type in a world.
///
/// An error, or a panic, is told by the update; the system stays, and the others run.
///
/// Unity's `SystemBase`.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, QueryDescriptor, System, SystemResult, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Position(f32);
///
/// #[derive(Component, Clone, Copy)]
/// struct Velocity(f32);
///
/// #[derive(Default)]
/// struct Movement {
///     movers: EntityQuery<(&'static mut Position, &'static Velocity)>,
///     updates: u32,
/// }
///
/// impl System for Movement {
///     fn on_update(&mut self, world: &mut World) -> SystemResult {
///         let dt = world.time().delta();
///         self.movers.write(world).schedule_parallel(move |(position, velocity)| position.0 += velocity.0 * dt);
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
pub trait System: Send + 'static {
    /// When it is added.
    ///
    /// # Errors
    ///
    /// If it fails, the system is not added, and [`World::try_add_system`] says why.
    fn on_create(&mut self, world: &mut World) -> SystemResult {
        let _ = world;
        Ok(())
    }

    /// When it starts to run.
    ///
    /// # Errors
    ///
    /// If it fails, there is no update this time.
    fn on_start_running(&mut self, world: &mut World) -> SystemResult {
        let _ = world;
        Ok(())
    }

    /// When it is updated.
    ///
    /// # Errors
    ///
    /// Whatever is to be told.
    fn on_update(&mut self, world: &mut World) -> SystemResult;

    /// When it stops running.
    ///
    /// # Errors
    ///
    /// Whatever is to be told.
    fn on_stop_running(&mut self, world: &mut World) -> SystemResult {
        let _ = world;
        Ok(())
    }

    /// When it is removed, or its world is dropped. The systems of a group that is removed stop before one of them is destroyed;
    /// so do all systems of a world that is dropped.
    ///
    /// If the world is dropped inside a job of another scheduler, jobs can be completed here, but none can be scheduled (A0006).
    ///
    /// # Errors
    ///
    /// Whatever is to be told.
    fn on_destroy(&mut self, world: &mut World) -> SystemResult {
        let _ = world;
        Ok(())
    }
}
