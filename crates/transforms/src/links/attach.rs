//! Requests to attach children to parents.

use ancho_entities::{
    ComponentSet, Entity, EntityError, QueryDescriptor, QueryFilter, With, Without, World,
};

use super::is_missing;
use crate::components::{Attach, Attached, LocalToParent, Parent, WasAttached};
use crate::error::{TransformError, TransformErrors};
use crate::scratch::EntityMarks;

/// Components that a request added to a child.
#[derive(Debug)]
pub(super) struct AttachAdditions {
    child: Entity,
    attached: bool,
    was_attached: bool,
    to_parent: bool,
}

/// Applies and despawns all requests. Lists the components that were added in addition to [`Parent`]. Returns whether there were
/// requests.
pub(super) fn apply(
    world: &mut World,
    additions: &mut Vec<AttachAdditions>,
    errors: &mut TransformErrors,
) -> Result<bool, EntityError> {
    additions.clear();
    let orders = world.query::<&Attach>();
    if orders.is_empty() {
        return Ok(false);
    }
    let orders: Vec<Attach> = orders.iter().copied().collect();
    world.batch(QueryDescriptor::of::<(), With<Attach>>()).despawn()?;
    for Attach { parent, child } in orders {
        let missing = [parent, child].into_iter().find(|&entity| is_missing(world, entity));
        if let Some(missing) = missing {
            errors.extend([TransformError::NothingToAttach { parent, child, missing }]);
            continue;
        }
        set_or_add(world, child, Parent(parent))?;
        additions.push(AttachAdditions {
            child,
            attached: add_if_missing(world, child, Attached)?,
            was_attached: add_if_missing(world, child, WasAttached)?,
            to_parent: add_if_missing(world, child, LocalToParent::default())?,
        });
    }
    Ok(true)
}

/// Removes the components that requests added to children whose new parent was undone.
pub(super) fn revert(
    world: &mut World,
    additions: &[AttachAdditions],
    children: &[Entity],
    marks: &mut EntityMarks,
) -> Result<(), EntityError> {
    let mark = marks.new_mark();
    for &child in children {
        marks.mark(child, mark);
    }
    for added in additions.iter().filter(|added| marks.has_mark(added.child, mark)) {
        if added.attached {
            world.remove::<Attached>(added.child)?;
        }
        if added.was_attached {
            world.remove::<WasAttached>(added.child)?;
        }
        if added.to_parent {
            world.remove::<LocalToParent>(added.child)?;
        }
    }
    Ok(())
}

/// Adds a component, unless the entity has it. Returns whether it was added.
fn add_if_missing<T: ComponentSet>(
    world: &mut World,
    entity: Entity,
    value: T,
) -> Result<bool, EntityError> {
    let is_new = !world.has::<T>(entity);
    if is_new {
        world.add(entity, value).map_err(|rejected| rejected.error)?;
    }
    Ok(is_new)
}

/// Sets or adds a component. Strict worlds report an error if a component is added twice.
fn set_or_add<T: ComponentSet>(
    world: &mut World,
    entity: Entity,
    value: T,
) -> Result<(), EntityError> {
    if world.has::<T>(entity) {
        world.set(entity, value).map_err(|rejected| rejected.error)?;
    } else {
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
