//! Orders to attach children to parents.

use ancho_entities::{
    ComponentSet, Entity, EntityError, QueryDescriptor, QueryFilter, With, Without, World,
};

use super::is_gone;
use super::seen::Seen;
use crate::error::{TransformError, TransformErrors};
use crate::outputs::LocalToParent;
use crate::parent::{Attach, Attached, Parent, WasAttached};

/// What an order gave to a child that did not have it before.
#[derive(Debug)]
pub(super) struct Given {
    child: Entity,
    attached: bool,
    was_attached: bool,
    to_parent: bool,
}

/// Carries out all orders, and despawns them. Lists what they gave, beside parents.
pub(super) fn carry_out(
    world: &mut World,
    all_given: &mut Vec<Given>,
    errors: &mut TransformErrors,
) -> Result<(), EntityError> {
    all_given.clear();
    let orders = world.query::<&Attach>();
    if orders.is_empty() {
        return Ok(());
    }
    let orders: Vec<Attach> = orders.iter().copied().collect();
    world.batch(QueryDescriptor::of::<(), With<Attach>>()).despawn()?;
    for Attach { parent, child } in orders {
        let missing = [parent, child].into_iter().find(|&entity| is_gone(world, entity));
        if let Some(missing) = missing {
            errors.extend([TransformError::NothingToAttach { parent, child, missing }]);
            continue;
        }
        give(world, child, Parent(parent))?;
        all_given.push(Given {
            child,
            attached: give_new(world, child, Attached)?,
            was_attached: give_new(world, child, WasAttached)?,
            to_parent: give_new(world, child, LocalToParent::default())?,
        });
    }
    Ok(())
}

/// Takes back what orders gave to these children: they have kept the parents that they had.
pub(super) fn take_back(
    world: &mut World,
    all_given: &[Given],
    children: &[Entity],
    seen: &mut Seen,
) -> Result<(), EntityError> {
    let round = seen.next_round();
    for &child in children {
        seen.see(child, round);
    }
    for given in all_given.iter().filter(|given| seen.is_seen(given.child, round)) {
        if given.attached {
            world.remove::<Attached>(given.child)?;
        }
        if given.was_attached {
            world.remove::<WasAttached>(given.child)?;
        }
        if given.to_parent {
            world.remove::<LocalToParent>(given.child)?;
        }
    }
    Ok(())
}

/// Gives an entity a component, unless it has one. Returns whether it had none.
fn give_new<T: ComponentSet>(
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
    if !world.query_filtered::<(), Detached>().is_empty() {
        take::<Parent, Detached>(world)?;
    }
    if !world.query_filtered::<(), Orphan>().is_empty() {
        take::<LocalToParent, Orphan>(world)?;
        take::<Attached, Orphan>(world)?;
        take::<WasAttached, Orphan>(world)?;
    }
    Ok(())
}

/// Takes a component from all that have it and pass a filter.
fn take<T: ComponentSet + 'static, F: QueryFilter>(world: &mut World) -> Result<(), EntityError> {
    world.batch(QueryDescriptor::of::<(), (F, With<T>)>()).remove::<T>()?;
    Ok(())
}
