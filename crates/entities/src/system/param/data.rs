//! Systems that are structs, as parameters of others.

#![expect(unsafe_code, reason = "one world that several parameters borrow")]

use std::any::type_name;
use std::fmt;
use std::ops::Deref;

use super::{ParamConflict, ParamSetup, SystemParam, Uses, WorldOfParams};
use crate::system::SystemId;
use crate::system::error::SystemFault;
use crate::system::system::System;
use crate::world::World;

/// A system that is a struct, to be read by another: what it makes known in its fields.
///
/// A system is not run if there is no such system, or if it is just being updated, which is an error (A0118).
///
/// # Where the data of systems is
///
/// There is no entity of a system. Unity gives one to each, hidden from queries, to hold components that others look up by the handle of
/// the system. Here data is where its users ask for it by type:
///
/// | whose data it is | where it is | who else has it |
/// |---|---|---|
/// | that of a function alone | [`Local<T>`](crate::Local) | nobody |
/// | that of a struct | its fields | who asks for `SystemData`, to read it; [`World::system`](crate::World::system) and [`World::system_mut`](crate::World::system_mut) |
/// | that of several systems | a resource: [`Res<T>`](crate::Res), [`ResMut<T>`](crate::ResMut) | who asks for it |
/// | what is saved, forked and inspected with the entities | a component of one entity: [`Single<D>`](crate::Single) | every query |
/// | what a group of systems needs for a frame or two | containers in the [`UpdateAllocator`](crate::UpdateAllocator) | whom they are given to |
///
/// A fork of a world has the entities, and so the singletons; it has neither systems nor resources.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, ResMut, System, SystemData, SystemResult, World};
///
/// #[derive(Component)]
/// struct Orc;
///
/// #[derive(Default)]
/// struct Census {
///     orcs: usize,
/// }
///
/// impl System for Census {
///     fn on_update(&mut self, world: &mut World) -> SystemResult {
///         self.orcs = world.query::<&Orc>().count();
///         Ok(())
///     }
/// }
///
/// struct Report(String);
///
/// fn report(census: SystemData<Census>, mut report: ResMut<Report>) {
///     report.0 = format!("{} orcs", census.orcs);
/// }
///
/// let mut world = World::new("Simulation");
/// world.insert_resource(Report(String::new()));
/// world.spawn(Orc);
/// world.add_system(Census::default());
/// world.add_system(report);
/// world.update(0.1);
/// assert_eq!(world.resource::<Report>().0, "1 orcs");
/// ```
///
/// The same as a resource, for more than one system to write, and as a singleton, for forks to have:
///
/// ```
/// use ancho_entities::{Component, Local, ResMut, Single, World};
///
/// #[derive(Default)]
/// struct Weather {
///     rain: f32,
/// }
///
/// #[derive(Component, Clone, Copy, Debug, PartialEq)]
/// struct Score(u32);
///
/// fn rain(mut weather: ResMut<Weather>, mut clouds: Local<f32>) {
///     *clouds += 0.5;
///     weather.rain += *clouds;
/// }
///
/// fn count(mut score: Single<&mut Score>) {
///     score.0 += 1;
/// }
///
/// let mut world = World::new("Simulation");
/// world.insert_resource(Weather::default());
/// world.create_singleton(Score(0)).unwrap();
/// world.add_system(rain);
/// world.add_system(count);
/// world.update(0.1);
/// world.update(0.1);
/// assert_eq!(world.resource::<Weather>().rain, 1.5);
/// assert_eq!(world.fork().unwrap().singleton(), Ok(&Score(2)));
/// ```
pub struct SystemData<'w, S> {
    system: &'w S,
}

impl<S> Deref for SystemData<'_, S> {
    type Target = S;

    fn deref(&self) -> &S {
        self.system
    }
}

impl<S> fmt::Debug for SystemData<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SystemData<{}>", type_name::<S>())
    }
}

// SAFETY: that systems are read is declared, and nothing else is used.
unsafe impl<S: System> SystemParam for SystemData<'_, S> {
    type State = Option<SystemId>;
    type Item<'w, 's> = SystemData<'w, S>;

    const REACHES_SYSTEMS: bool = true;

    fn declare(setup: &mut ParamSetup<'_>) -> Result<Option<SystemId>, ParamConflict> {
        setup.declare::<Self>(Uses::Systems)?;
        Ok(None)
    }

    fn prepare(state: &mut Option<SystemId>, world: &mut World) -> Result<(), SystemFault> {
        let systems = &world.systems;
        let known = state.filter(|&id| systems.data_of::<S>(id).is_some());
        *state = known.or_else(|| systems.find_type::<S>());
        let is_there = state.is_some_and(|id| systems.data_of::<S>(id).is_some());
        if !is_there {
            return Err(SystemFault::NoData { system: type_name::<S>() });
        }
        Ok(())
    }

    unsafe fn fetch<'w>(
        state: &mut Option<SystemId>,
        world: WorldOfParams<'w>,
    ) -> SystemData<'w, S> {
        // SAFETY: the world is borrowed, and nobody changes systems while there are parameters, but for who has the whole world.
        let systems = unsafe { &(*world.world().as_ptr()).systems };
        let system = state.and_then(|id| systems.data_of::<S>(id)).expect("it was just there");
        SystemData { system }
    }
}
