//! The time, the jobs of a world, and worlds as a whole, as parameters.

#![expect(unsafe_code, reason = "one world that several parameters borrow")]

use ancho_jobs::JobScheduler;

use super::{ParamConflict, ParamSetup, SystemParam, Uses, WorldOfParams};
use crate::manager::EntityManager;
use crate::time::Time;
use crate::world::World;

// SAFETY: it is copied, and nobody changes it while there are parameters, but for who has the whole world.
unsafe impl SystemParam for Time {
    type State = ();
    type Item<'w, 's> = Self;

    fn declare(_: &mut ParamSetup<'_>) -> Result<(), ParamConflict> {
        Ok(())
    }

    #[inline]
    unsafe fn fetch(_: &mut (), world: WorldOfParams<'_>) -> Self {
        // SAFETY: the world is borrowed. This is one field of it, which is copied at once.
        unsafe { (*world.world().as_ptr()).time.current() }
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
