//! The memory for what lives for two updates, as a parameter.

#![expect(unsafe_code, reason = "implements the trait of parameters")]

use std::ops::Deref;

use ancho_collections::Allocator;

use super::{ParamConflict, ParamSetup, SystemParam, WorldOfParams};
use crate::system::error::SystemFault;
use crate::world::World;

/// The memory for what a system makes in this update, and is of use in the next at the latest: see
/// [`World::update_allocator`](crate::World::update_allocator).
///
/// # Examples
///
/// ```
/// use ancho_collections::NativeList;
/// use ancho_entities::{Component, Entity, Query, ResMut, UpdateAllocator, World};
///
/// #[derive(Component)]
/// struct Health(u32);
///
/// #[derive(Default)]
/// struct Dead(Option<NativeList<Entity>>);
///
/// fn find(all: Query<(Entity, &Health)>, memory: UpdateAllocator, mut dead: ResMut<Dead>) {
///     let mut list = NativeList::new_in(&memory);
///     for (entity, health) in &all {
///         if health.0 == 0 {
///             list.get_mut().unwrap().push(entity);
///         }
///     }
///     dead.0 = Some(list);
/// }
///
/// let mut world = World::new("Simulation");
/// world.insert_resource(Dead::default());
/// world.spawn(Health(0));
/// world.add_system(find);
/// world.update(0.1);
/// assert_eq!(world.resource::<Dead>().0.as_ref().unwrap().get().unwrap().len(), 1);
/// ```
#[derive(Debug)]
pub struct UpdateAllocator(Allocator);

impl Deref for UpdateAllocator {
    type Target = Allocator;

    fn deref(&self) -> &Allocator {
        &self.0
    }
}

// SAFETY: it is a handle of its own, which is had before there are parameters: one of them may be the whole world.
unsafe impl SystemParam for UpdateAllocator {
    type State = Option<Allocator>;
    type Item<'w, 's> = Self;

    fn declare(_: &mut ParamSetup<'_>) -> Result<Option<Allocator>, ParamConflict> {
        Ok(None)
    }

    #[inline]
    fn prepare(state: &mut Option<Allocator>, world: &mut World) -> Result<(), SystemFault> {
        *state = Some(world.memory.allocator());
        Ok(())
    }

    #[inline]
    unsafe fn fetch(state: &mut Option<Allocator>, _: WorldOfParams<'_>) -> Self {
        Self(state.clone().expect("it was prepared"))
    }
}
