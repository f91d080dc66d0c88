//! Freezes entities that will not move any more, once they are placed.

use std::sync::Arc;

use ancho_entities::{Entity, EntityError, QueryDescriptor, With, Without, World};

use crate::freeze::{Frozen, FrozenPending, Static};
use crate::links::Links;
use crate::outputs::{CustomLocalToWorld, LocalToWorld};
use crate::state::Placement;

/// Freezes what was found to be static the last time, and looks for what is.
///
/// Who is below one that rests is not placed, and so is not frozen either.
pub(crate) fn freeze(
    world: &mut World,
    links: &mut Links,
    placement: &mut Arc<Placement>,
) -> Result<(), EntityError> {
    type Pending = (With<(FrozenPending, LocalToWorld)>, Without<CustomLocalToWorld>);
    type Found =
        (With<(Static, LocalToWorld)>, Without<(FrozenPending, Frozen, CustomLocalToWorld)>);
    let are_all = links.list_awake::<Pending>(world);
    if are_all && !links.awake.is_empty() {
        // Whole chunks at once.
        world
            .batch(QueryDescriptor::of::<(), Pending>())
            .add(Frozen)
            .map_err(|rejected| rejected.error)?;
        world.batch(QueryDescriptor::of::<(), Pending>()).remove::<FrozenPending>()?;
    } else {
        for &entity in &*links.awake {
            if !world.has::<Frozen>(entity) {
                world.add(entity, Frozen).map_err(|rejected| rejected.error)?;
            }
            world.remove::<FrozenPending>(entity)?;
        }
    }
    let are_all = links.list_awake::<Found>(world);
    // They are placed a last time, also if they have not moved: who has no place has to be found now.
    links.awake.iter().for_each(|&entity| Placement::forget(placement, entity));
    if are_all {
        let found = world.batch(QueryDescriptor::of::<(), Found>());
        found.add(FrozenPending).map_err(|rejected| rejected.error)?;
    } else {
        for &entity in &*links.awake {
            world.add(entity, FrozenPending).map_err(|rejected| rejected.error)?;
        }
    }
    Ok(())
}

/// Has those not be frozen that could not be placed. They are found again by the next update.
pub(crate) fn leave_unfrozen(world: &mut World, bad: &[Entity]) -> Result<(), EntityError> {
    for &entity in bad {
        if world.has::<FrozenPending>(entity) {
            world.remove::<FrozenPending>(entity)?;
        }
    }
    Ok(())
}
