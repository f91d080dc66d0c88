//! Orders to attach children to parents.

use ancho_entities::{ComponentSet, Entity, EntityError, QueryFilter, With, Without, World};

use super::is_gone;
use crate::error::{TransformError, TransformErrors};
use crate::outputs::LocalToParent;
use crate::parent::{Attach, Attached, Parent, WasAttached};

/// Carries out all orders, and despawns them.
pub(super) fn carry_out(
    world: &mut World,
    errors: &mut TransformErrors,
) -> Result<(), EntityError> {
    let orders = world.query::<&Attach>();
    if orders.is_empty() {
        return Ok(());
    }
    let orders: Vec<Attach> = orders.iter().copied().collect();
    world.query_mut::<()>().filter::<With<Attach>>().despawn()?;
    for Attach { parent, child } in orders {
        let missing = [parent, child].into_iter().find(|&entity| is_gone(world, entity));
        if let Some(missing) = missing {
            errors.extend([TransformError::NothingToAttach { parent, child, missing }]);
            continue;
        }
        give(world, child, Parent(parent))?;
        give(world, child, Attached)?;
        give(world, child, WasAttached)?;
        if !world.has::<LocalToParent>(child) {
            give(world, child, LocalToParent::default())?;
        }
    }
    Ok(())
}

/// Gives an entity a component, also if it has one, and the world is strict.
fn give<T: ComponentSet>(world: &mut World, entity: Entity, value: T) -> Result<(), EntityError> {
    if world.has::<T>(entity) {
        world.set(entity, value).map_err(|rejected| rejected.error)?;
    } else {
        world.add(entity, value).map_err(|rejected| rejected.error)?;
    }
    Ok(())
}

/// What is not attached any more, or has lost its parent, loses what it was given.
pub(super) fn detach(world: &mut World) -> Result<(), EntityError> {
    type Detached = (With<WasAttached>, Without<Attached>);
    type Orphan = (With<WasAttached>, Without<Parent>);
    if !world.query::<()>().filter::<Detached>().is_empty() {
        take::<Parent, Detached>(world)?;
    }
    if !world.query::<()>().filter::<Orphan>().is_empty() {
        take::<LocalToParent, Orphan>(world)?;
        take::<Attached, Orphan>(world)?;
        take::<WasAttached, Orphan>(world)?;
    }
    Ok(())
}

/// Takes a component from all that have it and pass a filter.
fn take<T: ComponentSet + 'static, F: QueryFilter>(world: &mut World) -> Result<(), EntityError> {
    world.query_mut::<()>().filter::<(F, With<T>)>().remove::<T>()?;
    Ok(())
}
