//! Requests to attach children to parents.

use ancho_entities::{
    ComponentSet, Entity, EntityError, Parent, QueryDescriptor, QueryFilter, With, Without, World,
};

use super::is_missing;
use crate::components::{Attach, Attached, LocalToParent, WasAttached};
use crate::error::{TransformError, TransformErrors};

/// Applies and despawns all requests.
pub(super) fn apply(world: &mut World, errors: &mut TransformErrors) -> Result<(), EntityError> {
    let orders = world.query::<&Attach>();
    if orders.is_empty() {
        return Ok(());
    }
    let orders: Vec<Attach> = orders.iter().copied().collect();
    world.batch(QueryDescriptor::of::<(), With<Attach>>()).despawn()?;
    for Attach { parent, child } in orders {
        let missing = [parent, child].into_iter().find(|&entity| is_missing(world, entity));
        if let Some(missing) = missing {
            errors.extend([TransformError::NothingToAttach { parent, child, missing }]);
            continue;
        }
        match link(world, parent, child) {
            Ok(()) => {}
            Err(error @ (EntityError::LinkCycle { .. } | EntityError::LinkToSelf { .. })) => {
                errors.extend([TransformError::Entities(error)]);
                continue;
            }
            Err(error) => return Err(error),
        }
        add_if_missing(world, child, Attached)?;
        add_if_missing(world, child, WasAttached)?;
        add_if_missing(world, child, LocalToParent::default())?;
    }
    Ok(())
}

/// Sets the parent of a child. A child without the components of attached children gets all of them in one move.
fn link(world: &mut World, parent: Entity, child: Entity) -> Result<(), EntityError> {
    let is_new = !world.has::<Parent>(child)
        && !world.has::<Attached>(child)
        && !world.has::<WasAttached>(child)
        && !world.has::<LocalToParent>(child);
    if is_new {
        let all = (Parent(parent), Attached, WasAttached, LocalToParent::default());
        world.add(child, all).map(drop).map_err(|rejected| rejected.error)
    } else if !world.has::<Parent>(child) {
        world.add(child, Parent(parent)).map(drop).map_err(|rejected| rejected.error)
    } else if world.target::<Parent>(child) != Some(parent) {
        world.set(child, Parent(parent)).map_err(|rejected| rejected.error)
    } else {
        Ok(())
    }
}

/// Adds a component, unless the entity has it. Strict worlds report an error if a component is added twice.
fn add_if_missing<T: ComponentSet>(
    world: &mut World,
    entity: Entity,
    value: T,
) -> Result<(), EntityError> {
    if !world.has::<T>(entity) {
        world.add(entity, value).map_err(|rejected| rejected.error)?;
    }
    Ok(())
}

/// Removes the attachment components of children that were detached or lost their parent.
pub(super) fn detach(world: &mut World) -> Result<(), EntityError> {
    type Detached = (With<WasAttached>, Without<Attached>);
    type Orphan = (With<WasAttached>, Without<Parent>);
    if !world.query_filtered::<(), Detached>().is_empty() {
        remove_all::<Parent, Detached>(world)?;
    }
    if !world.query_filtered::<(), Orphan>().is_empty() {
        remove_all::<LocalToParent, Orphan>(world)?;
        remove_all::<Attached, Orphan>(world)?;
        remove_all::<WasAttached, Orphan>(world)?;
    }
    Ok(())
}

/// Removes a component from all entities that match a filter.
fn remove_all<T: ComponentSet + 'static, F: QueryFilter>(
    world: &mut World,
) -> Result<(), EntityError> {
    world.batch(QueryDescriptor::of::<(), (F, With<T>)>()).remove::<T>()?;
    Ok(())
}
