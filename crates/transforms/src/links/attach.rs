//! Orders to attach children to parents.

use ancho_entities::{ComponentSet, Entity, EntityError, QueryFilter, With, Without, World};

use super::is_missing;
use crate::components::{Attach, Attached, LocalToParent, Parent, WasAttached};
use crate::error::{TransformError, TransformErrors};
use crate::scratch::EntityMarks;

/// What an order gave to a child that did not have it before.
#[derive(Debug)]
pub(super) struct AttachAdditions {
    child: Entity,
    attached: bool,
    was_attached: bool,
    to_parent: bool,
}

/// Carries out all orders, and despawns them. Lists what they gave, beside parents.
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
    world.query_mut::<()>().filter::<With<Attach>>().despawn()?;
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

/// Takes back what orders gave to these children: they have kept the parents that they had.
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

/// Gives an entity a component, unless it has one. Returns whether it had none.
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

/// Gives an entity a component, also if it has one, and the world is strict.
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

/// What is not attached any more, or has lost its parent, loses what it was given.
pub(super) fn detach(world: &mut World) -> Result<(), EntityError> {
    type Detached = (With<WasAttached>, Without<Attached>);
    type Orphan = (With<WasAttached>, Without<Parent>);
    if !world.query::<()>().filter::<Detached>().is_empty() {
        remove_all::<Parent, Detached>(world)?;
    }
    if !world.query::<()>().filter::<Orphan>().is_empty() {
        remove_all::<LocalToParent, Orphan>(world)?;
        remove_all::<Attached, Orphan>(world)?;
        remove_all::<WasAttached, Orphan>(world)?;
    }
    Ok(())
}

/// Takes a component from all that have it and pass a filter.
fn remove_all<T: ComponentSet + 'static, F: QueryFilter>(
    world: &mut World,
) -> Result<(), EntityError> {
    world.query_mut::<()>().filter::<(F, With<T>)>().remove::<T>()?;
    Ok(())
}
