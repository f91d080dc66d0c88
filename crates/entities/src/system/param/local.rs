//! Values that systems keep.

#![expect(unsafe_code, reason = "implements the trait of parameters")]

use std::fmt;
use std::ops::{Deref, DerefMut};

use super::{ParamConflict, ParamSetup, SystemParam, WorldOfParams};

/// A value that a system keeps from one run to the next: nobody else has it.
///
/// It begins with its default.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Commands, Component, Local, World};
///
/// #[derive(Component)]
/// struct Orc;
///
/// /// Every third frame.
/// fn spawn(mut frame: Local<u32>, mut commands: Commands) {
///     *frame += 1;
///     if *frame % 3 == 0 {
///         commands.spawn(Orc);
///     }
/// }
///
/// let mut world = World::new("Simulation");
/// world.add_system(spawn);
/// for _ in 0..10 {
///     world.update(0.1);
/// }
/// assert_eq!(world.entity_count(), 3);
/// ```
pub struct Local<'s, T> {
    value: &'s mut T,
}

impl<T> Deref for Local<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.value
    }
}

impl<T> DerefMut for Local<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.value
    }
}

impl<T: fmt::Debug> fmt::Debug for Local<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Local").field(&self.value).finish()
    }
}

// SAFETY: nothing of the world is used.
unsafe impl<T: Default + Send + 'static> SystemParam for Local<'_, T> {
    type State = T;
    type Item<'w, 's> = Local<'s, T>;

    fn declare(_: &mut ParamSetup<'_>) -> Result<T, ParamConflict> {
        Ok(T::default())
    }

    #[inline]
    unsafe fn fetch<'s>(state: &'s mut T, _: WorldOfParams<'_>) -> Local<'s, T> {
        Local { value: state }
    }
}
