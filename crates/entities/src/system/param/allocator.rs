//! The memory for what lives for two updates, as a parameter.

#![expect(unsafe_code, reason = "one world that several parameters borrow")]

use std::ops::Deref;

use ancho_collections::Allocator;

use super::{ParamConflict, ParamSetup, SystemParam, WorldOfParams};

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

// SAFETY: it is a handle of its own, and nobody changes which one it is while there are parameters, but for who has the whole world.
unsafe impl SystemParam for UpdateAllocator {
    type State = ();
    type Item<'w, 's> = Self;

    fn declare(_: &mut ParamSetup<'_>) -> Result<(), ParamConflict> {
        Ok(())
    }

    #[inline]
    unsafe fn fetch(_: &mut (), world: WorldOfParams<'_>) -> Self {
        // SAFETY: the world is borrowed. This is one field of it, which is left alone again at once.
        Self(unsafe { (*world.world().as_ptr()).memory.allocator() })
    }
}
