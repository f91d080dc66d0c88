//! Children come to buffers, and leave them.

use ancho_entities::{Buffer, Entity, EntityError, World};

use super::seen::Seen;
use super::{Edit, is_gone};
use crate::error::{TransformError, TransformErrors};
use crate::outputs::{CustomLocalToWorld, LocalToWorld};
use crate::parent::{Child, PreviousParent};

/// Has children leave the buffers of their old parents, where the previous parent is another by now.
///
/// A buffer is gone through once, however many leave it. One that is empty goes. Who is not in the buffer that it should leave is an
/// error: somebody else has written to it.
pub(super) fn leave(
    world: &mut World,
    edits: &[Edit],
    seen: &mut Seen,
    errors: &mut TransformErrors,
) -> Result<(), EntityError> {
    let mut leaving: Vec<Edit> = edits.iter().filter(|edit| !edit.old.is_null()).copied().collect();
    leaving.sort_by_key(|edit| edit.old);
    let mut stay = Vec::new();
    for group in leaving.chunk_by(|a, b| a.old == b.old) {
        let old = group[0].old;
        // What is in a buffer may be anything, if somebody else has written to it: only those that leave are noted.
        let (leaving, found) = (seen.next_round(), seen.next_round());
        for edit in group {
            seen.see(edit.child, leaving);
        }
        let children = world.buffer::<Child>(old).unwrap_or_default();
        let previous = world.lookup::<&PreviousParent>();
        stay.clear();
        for &child in children {
            if previous.get(child.0).is_some_and(|parent| parent.0 == old) {
                stay.push(child);
            } else if seen.is_seen(child.0, leaving) {
                seen.see(child.0, found);
            }
        }
        // Of who is gone nothing is left to leave.
        if !is_gone(world, old) {
            let missing = group.iter().filter(|edit| seen.see(edit.child, found) != found);
            errors.extend(
                missing.map(|edit| TransformError::NotInParent { child: edit.child, parent: old }),
            );
        }
        if children.is_empty() {
            continue;
        }
        if stay.is_empty() {
            world.remove::<Buffer<Child>>(old)?;
        } else if stay.len() < children.len() {
            world.buffer_mut::<Child>(old)?.copy_from(&stay);
        }
    }
    Ok(())
}

/// Whether an entity has a matrix, as parents have.
fn is_placed(world: &World, entity: Entity) -> bool {
    world.has::<LocalToWorld>(entity) || world.has::<CustomLocalToWorld>(entity)
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
        if !is_placed(world, new) {
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
