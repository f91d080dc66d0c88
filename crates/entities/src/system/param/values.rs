//! Resources as parameters.

#![expect(unsafe_code, reason = "one world that several parameters borrow")]

use std::any::{TypeId, type_name};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use super::{ParamConflict, ParamSetup, SystemParam, Uses, WorldOfParams};
use crate::system::error::SystemFault;
use crate::world::World;

/// A resource of the world, to be read: something there is one of.
///
/// A system is not run if the world does not have it, which is an error (A0103). One that can do without takes an
/// `Option<Res<T>>`.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, Query, Res, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Velocity(f32);
///
/// struct Gravity(f32);
///
/// fn fall(gravity: Res<Gravity>, mut all: Query<&mut Velocity>) {
///     all.for_each(|velocity| velocity.0 -= gravity.0);
/// }
///
/// let mut world = World::new("Simulation");
/// let stone = world.spawn(Velocity(0.0));
/// world.insert_resource(Gravity(9.8));
/// world.add_system(fall);
/// world.update(0.1);
/// assert_eq!(world.get::<Velocity>(stone).unwrap().0, -9.8);
/// ```
pub struct Res<'w, T> {
    value: &'w T,
}

/// A resource of the world, to be changed. See [`Res`].
///
/// # Examples
///
/// ```
/// use ancho_entities::{ResMut, World};
///
/// struct Frames(u32);
///
/// fn count(mut frames: ResMut<Frames>) {
///     frames.0 += 1;
/// }
///
/// let mut world = World::new("Simulation");
/// world.insert_resource(Frames(0));
/// world.add_system(count);
/// world.update(0.1);
/// world.update(0.1);
/// assert_eq!(world.resource::<Frames>().0, 2);
/// ```
pub struct ResMut<'w, T> {
    value: &'w mut T,
}

impl<'w, T> Res<'w, T> {
    /// The resource, for as long as the system runs.
    pub fn into_inner(self) -> &'w T {
        self.value
    }
}

impl<'w, T> ResMut<'w, T> {
    /// The resource, for as long as the system runs.
    pub fn into_inner(self) -> &'w mut T {
        self.value
    }
}

impl<T> Clone for Res<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Res<'_, T> {}

impl<T> Deref for Res<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.value
    }
}

impl<T> Deref for ResMut<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.value
    }
}

impl<T> DerefMut for ResMut<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.value
    }
}

impl<T: fmt::Debug> fmt::Debug for Res<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Res").field(&self.value).finish()
    }
}

impl<T: fmt::Debug> fmt::Debug for ResMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ResMut").field(&self.value).finish()
    }
}

/// Declares a resource. Returns its place in the world.
fn declare<T: Send + 'static, P>(
    setup: &mut ParamSetup<'_>,
    write: bool,
) -> Result<u32, ParamConflict> {
    let (ty, name) = (TypeId::of::<T>(), type_name::<T>());
    setup.declare::<P>(Uses::Resource { ty, name, write })?;
    Ok(setup.world.resources.place_of::<T>())
}

fn prepare<T: Send + 'static>(place: u32, world: &World) -> Result<(), SystemFault> {
    match world.resources.get_at::<T>(place) {
        Some(_) => Ok(()),
        None => Err(SystemFault::NoResource { resource: type_name::<T>() }),
    }
}

/// Where a resource is.
///
/// # Safety
///
/// - as for `SystemParam::fetch`
#[inline]
unsafe fn find<T: Send + 'static>(place: u32, world: WorldOfParams<'_>) -> Option<NonNull<T>> {
    // SAFETY: the world is borrowed, and nobody changes which resources there are meanwhile. Where they are is not in a
    // resource.
    unsafe { (*world.world().as_ptr()).resources.get_at::<T>(place) }
}

// SAFETY: the resource is declared, and nothing else is used.
unsafe impl<T: Send + 'static> SystemParam for Res<'_, T> {
    type State = u32;
    type Item<'w, 's> = Res<'w, T>;

    fn declare(setup: &mut ParamSetup<'_>) -> Result<u32, ParamConflict> {
        declare::<T, Self>(setup, false)
    }

    fn prepare(state: &mut u32, world: &mut World) -> Result<(), SystemFault> {
        prepare::<T>(*state, world)
    }

    unsafe fn fetch<'w>(state: &mut u32, world: WorldOfParams<'w>) -> Res<'w, T> {
        // SAFETY: the caller promises it.
        let found = unsafe { find::<T>(*state, world) }.expect("it was just there");
        // SAFETY: the world is borrowed, and no other parameter changes the resource.
        Res { value: unsafe { found.as_ref() } }
    }
}

// SAFETY: as above.
unsafe impl<T: Send + 'static> SystemParam for ResMut<'_, T> {
    type State = u32;
    type Item<'w, 's> = ResMut<'w, T>;

    fn declare(setup: &mut ParamSetup<'_>) -> Result<u32, ParamConflict> {
        declare::<T, Self>(setup, true)
    }

    fn prepare(state: &mut u32, world: &mut World) -> Result<(), SystemFault> {
        prepare::<T>(*state, world)
    }

    unsafe fn fetch<'w>(state: &mut u32, world: WorldOfParams<'w>) -> ResMut<'w, T> {
        // SAFETY: the caller promises it.
        let mut found = unsafe { find::<T>(*state, world) }.expect("it was just there");
        // SAFETY: the world is borrowed mutably, and no other parameter uses the resource.
        ResMut { value: unsafe { found.as_mut() } }
    }
}

// SAFETY: as above.
unsafe impl<T: Send + 'static> SystemParam for Option<Res<'_, T>> {
    type State = u32;
    type Item<'w, 's> = Option<Res<'w, T>>;

    fn declare(setup: &mut ParamSetup<'_>) -> Result<u32, ParamConflict> {
        declare::<T, Self>(setup, false)
    }

    unsafe fn fetch<'w>(state: &mut u32, world: WorldOfParams<'w>) -> Option<Res<'w, T>> {
        // SAFETY: the caller promises it.
        let found = unsafe { find::<T>(*state, world) }?;
        // SAFETY: the world is borrowed, and no other parameter changes the resource.
        Some(Res { value: unsafe { found.as_ref() } })
    }
}

// SAFETY: as above.
unsafe impl<T: Send + 'static> SystemParam for Option<ResMut<'_, T>> {
    type State = u32;
    type Item<'w, 's> = Option<ResMut<'w, T>>;

    fn declare(setup: &mut ParamSetup<'_>) -> Result<u32, ParamConflict> {
        declare::<T, Self>(setup, true)
    }

    unsafe fn fetch<'w>(state: &mut u32, world: WorldOfParams<'w>) -> Option<ResMut<'w, T>> {
        // SAFETY: the caller promises it.
        let mut found = unsafe { find::<T>(*state, world) }?;
        // SAFETY: the world is borrowed mutably, and no other parameter uses the resource.
        Some(ResMut { value: unsafe { found.as_mut() } })
    }
}
