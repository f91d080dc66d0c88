//! The time, the jobs of a world, and worlds as a whole, as parameters.

#![expect(unsafe_code, reason = "one world that several parameters borrow")]

use ancho_jobs::JobScheduler;

use super::{ParamConflict, ParamSetup, SystemParam, Uses, WorldOfParams};
use crate::manager::EntityManager;
use crate::system::error::SystemFault;
use crate::time::Time;
use crate::world::World;

// SAFETY: it is copied before there are parameters: one of them may be the whole world.
unsafe impl SystemParam for Time {
    type State = Self;
    type Item<'w, 's> = Self;

    fn declare(setup: &mut ParamSetup<'_>) -> Result<Self, ParamConflict> {
        Ok(setup.world.time.current())
    }

    #[inline(always)]
    fn prepare(state: &mut Self, world: &mut World) -> Result<(), SystemFault> {
        *state = world.time.current();
        Ok(())
    }

    #[inline(always)]
    unsafe fn fetch(state: &mut Self, _: WorldOfParams<'_>) -> Self {
        *state
    }
}

// SAFETY: it is declared.
unsafe impl SystemParam for &JobScheduler {
    type State = ();
    type Item<'w, 's> = &'w JobScheduler;

    fn declare(setup: &mut ParamSetup<'_>) -> Result<(), ParamConflict> {
        setup.declare::<Self>(Uses::Jobs).map(|_| ())
    }

    #[inline]
    unsafe fn fetch<'w>(_: &mut (), world: WorldOfParams<'w>) -> &'w JobScheduler {
        // SAFETY: the world is borrowed, and no other parameter changes all entities. This is one field of them, which
        // queries have no mutable reference to either.
        unsafe { (*world.entities().as_ptr()).jobs.scheduler() }
    }
}

// SAFETY: it is declared.
unsafe impl SystemParam for &EntityManager {
    type State = ();
    type Item<'w, 's> = &'w EntityManager;

    fn declare(setup: &mut ParamSetup<'_>) -> Result<(), ParamConflict> {
        setup.declare::<Self>(Uses::Entities).map(|_| ())
    }

    #[inline]
    unsafe fn fetch<'w>(_: &mut (), world: WorldOfParams<'w>) -> &'w EntityManager {
        // SAFETY: the world is borrowed, and no other parameter changes entities.
        unsafe { world.entities().as_ref() }
    }
}

// SAFETY: it is declared.
unsafe impl SystemParam for &mut EntityManager {
    type State = ();
    type Item<'w, 's> = &'w mut EntityManager;

    fn declare(setup: &mut ParamSetup<'_>) -> Result<(), ParamConflict> {
        setup.declare::<Self>(Uses::EntitiesMut).map(|_| ())
    }

    #[inline]
    unsafe fn fetch<'w>(_: &mut (), world: WorldOfParams<'w>) -> &'w mut EntityManager {
        // SAFETY: the world is borrowed mutably, and no other parameter uses entities.
        unsafe { world.entities().as_mut() }
    }
}

// SAFETY: it is declared.
unsafe impl SystemParam for &mut World {
    type State = ();
    type Item<'w, 's> = &'w mut World;

    const REACHES_SYSTEMS: bool = true;

    fn declare(setup: &mut ParamSetup<'_>) -> Result<(), ParamConflict> {
        setup.declare::<Self>(Uses::World).map(|_| ())
    }

    #[inline]
    unsafe fn fetch<'w>(_: &mut (), world: WorldOfParams<'w>) -> &'w mut World {
        // SAFETY: the world is borrowed mutably, and no other parameter uses it.
        unsafe { world.world().as_mut() }
    }
}
