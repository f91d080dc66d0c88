//! The parameter that lists entities which lost a component.

#![expect(unsafe_code, reason = "implements the trait of parameters")]

use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;
use std::num::NonZero;
use std::sync::Arc;

use crate::entity::Entity;
use crate::schedule::{ParamConflict, SystemFault};
use crate::set::ComponentSet;
use crate::system::param::{ParamSetup, ParamState, SystemParam, UnsafeWorldCell};
use crate::world::{RemovedQueue, World};

/// The entities that lost a component since the system last ran: it was removed, or the entity was despawned or moved to another
/// world.
///
/// `T` is a component, or a tuple, which means any of them. The entities are in the order of the removals. An entity may not exist
/// any more, or may have the component again. The old values are not kept: use an [observer](crate::World::add_observer) with
/// [`Value`](crate::Value).
///
/// By default, removals are kept until the system runs. If it does not run for long, because it is disabled or its conditions are
/// false, the list grows. `KEEP` bounds it: `Removed<T, 2>` keeps a removal for two chances of the system to run, like a
/// [message](crate::Message). A chance is a step of the nearest enclosing group with a rate, or an update of the world.
/// [`missed`](Self::missed) counts the removals that have expired.
///
/// Restoring a snapshot clears the list.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, Removed, ResMut, Resource, World};
///
/// #[derive(Component)]
/// struct Sound;
///
/// #[derive(Resource, Clone)]
/// struct Stopped(usize);
///
/// fn stop(removed: Removed<Sound>, mut stopped: ResMut<Stopped>) {
///     stopped.0 += removed.iter().count();
/// }
///
/// let mut world = World::new("Simulation");
/// world.insert_resource(Stopped(0));
/// world.add_system(stop);
/// let orc = world.spawn(Sound);
/// world.despawn(orc)?;
/// world.update(0.1);
/// assert_eq!(world.resource::<Stopped>().0, 1);
/// # Ok::<(), ancho_entities::EntityError>(())
/// ```
///
/// A reader that may be disabled for long, and then begins again:
///
/// ```
/// use ancho_entities::{Component, Removed};
///
/// #[derive(Component)]
/// struct Sound;
///
/// fn stop(removed: Removed<Sound, 2>) {
///     if removed.missed() > 0 {
///         // Compare all sounds.
///     }
/// }
/// ```
#[doc(alias = "RemovedComponents")]
pub struct Removed<'s, T: ComponentSet, const KEEP: u32 = { u32::MAX }> {
    entities: &'s [Entity],
    missed: u64,
    component: PhantomData<fn() -> T>,
}

impl<'s, T: ComponentSet, const KEEP: u32> Removed<'s, T, KEEP> {
    /// The number of chances, if there is a bound.
    const CHANCES: Option<NonZero<u32>> = {
        assert!(KEEP > 0, "`Removed<T, KEEP>` keeps removals for at least one chance");
        if KEEP == u32::MAX { None } else { NonZero::new(KEEP) }
    };

    /// Returns the number of removals that expired since the system last ran. Always zero without `KEEP`.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// Iterates over the entities.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Entity> + use<'s, T, KEEP> {
        self.entities.iter().copied()
    }

    /// Returns the entities.
    pub fn as_slice(&self) -> &'s [Entity] {
        self.entities
    }

    /// Returns the number of entities.
    pub fn len(&self) -> usize {
        self.entities.len()
    }

    /// Returns whether there are no entities.
    pub fn is_empty(&self) -> bool {
        self.entities.is_empty()
    }
}

impl<T: ComponentSet, const KEEP: u32> fmt::Debug for Removed<'_, T, KEEP> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Removed<{}>", type_name::<T>())?;
        f.debug_list().entries(self.entities).finish()
    }
}

/// The state of [`Removed`]: its positions in the lists of the world, and the entities of the current run.
#[derive(Debug)]
pub struct RemovedState {
    /// For each type the index of the list, the number of the reader, and the position after the last run.
    readers: Vec<(usize, usize, u64)>,
    entities: Vec<Entity>,
    /// The number of entities that expired before the current run.
    missed: u64,
    /// Set if the system was called with the entities.
    was_fetched: bool,
    /// The world removes readers whose state was dropped.
    _alive: Arc<()>,
}

impl ParamState for RemovedState {}

// SAFETY: `prepare` copies the entities before parameters exist. `fetch` accesses nothing of the world.
unsafe impl<T: ComponentSet, const KEEP: u32> SystemParam for Removed<'_, T, KEEP> {
    type State = RemovedState;
    type Item<'w, 's> = Removed<'s, T, KEEP>;

    fn declare(setup: &mut ParamSetup<'_>) -> Result<RemovedState, ParamConflict> {
        let alive = Arc::new(());
        let mut readers = Vec::new();
        let world = setup.world();
        world.own_entities();
        let clock = world.clock_of(world.systems.executing);
        T::types(&mut |ty| {
            let number = world.entities.storage.watch(ty, false);
            let queues = &mut world.observers.removed;
            let found = queues.iter().position(|queue| queue.number == number);
            let queue = match found {
                Some(found) => {
                    // The list already observes the type.
                    world.entities.storage.unwatch(number, false);
                    found
                }
                None => {
                    queues.push(RemovedQueue::new(number, ty));
                    queues.len() - 1
                }
            };
            readers.push((queue, queues[queue].add_reader(&alive, Self::CHANCES, clock), 0));
        });
        let (entities, missed, was_fetched) = (Vec::new(), 0, false);
        Ok(RemovedState { readers, entities, missed, was_fetched, _alive: alive })
    }

    fn prepare(state: &mut RemovedState, world: &mut World) -> Result<(), SystemFault> {
        let was_fetched = std::mem::take(&mut state.was_fetched);
        state.entities.clear();
        state.missed = 0;
        for (queue, reader, end) in &mut state.readers {
            let queue = &mut world.observers.removed[*queue];
            // If the system did not run, because it lacked another parameter, it gets the same entities again.
            if was_fetched {
                queue.advance(*reader, *end);
            }
            let run = queue.read(*reader, &mut state.entities, &world.messages.clocks);
            *end = run.end;
            state.missed += run.missed;
        }
        Ok(())
    }

    unsafe fn fetch<'s>(
        state: &'s mut RemovedState,
        _: UnsafeWorldCell<'_>,
    ) -> Removed<'s, T, KEEP> {
        state.was_fetched = true;
        Removed { entities: &state.entities, missed: state.missed, component: PhantomData }
    }
}
