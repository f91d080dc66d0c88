//! Children come to buffers, and leave them.

use ancho_entities::{Buffer, Entity, EntityError, World};

use super::Edit;
use crate::outputs::{CustomLocalToWorld, LocalToWorld};
use crate::parent::{Child, PreviousParent};

/// Has children leave the buffers of their old parents, where the previous parent is another by now.
///
/// A buffer is gone through once, however many leave it. One that is empty goes.
pub(super) fn leave(world: &mut World, edits: &[Edit]) -> Result<(), EntityError> {
    let mut parents: Vec<Entity> = edits.iter().map(|edit| edit.old).collect();
    parents.sort_unstable();
    parents.dedup();
    let mut stay = Vec::new();
    for old in parents {
        let Ok(children) = world.buffer::<Child>(old) else { continue };
        let previous = world.entities().lookup::<PreviousParent>();
        let stays = |child: &Child| previous.get(child.0).is_some_and(|parent| parent.0 == old);
        stay.clear();
        stay.extend(children.iter().copied().filter(stays));
        if stay.is_empty() {
            world.remove::<Buffer<Child>>(old)?;
        } else if stay.len() < children.len() {
            world.buffer_mut::<Child>(old)?.copy_from(&stay);
        }
    }
    Ok(())
}

/// Has children come to the buffers of their new parents. Edits are sorted for that, by parents; those of one parent stay in their
/// order.
pub(super) fn enter(world: &mut World, edits: &mut [Edit]) -> Result<(), EntityError> {
    edits.sort_by_key(|edit| edit.new);
    let mut come = Vec::new();
    for group in edits.chunk_by(|a, b| a.new == b.new) {
        let new = group[0].new;
        if new == Entity::NULL {
            continue;
        }
        if !world.has::<LocalToWorld>(new) && !world.has::<CustomLocalToWorld>(new) {
            world.add(new, LocalToWorld::IDENTITY).map_err(|rejected| rejected.error)?;
        }
        come.clear();
        come.extend(group.iter().map(|edit| Child(edit.child)));
        let mut children = if world.has::<Buffer<Child>>(new) {
            world.buffer_mut::<Child>(new)?
        } else {
            world.add_buffer::<Child>(new)?
        };
        children.extend_from_slice(&come);
    }
    Ok(())
}
