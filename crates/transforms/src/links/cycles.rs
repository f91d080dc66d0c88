//! Entities that would be their own ancestors.

use std::collections::HashMap;

use ancho_collections::FixedState;
use ancho_entities::{ComponentLookup, Entity, EntityError, World};

use super::{Edit, rests};
use crate::components::{Parent, PreviousParent};
use crate::error::{TransformError, TransformErrors};
use crate::scratch::Seen;

/// Undoes edits that close cycles, in which entities are their own ancestors. All edits have been noted as previous parents, and count at
/// once: an entity and its parent can change places.
///
/// Of the edits in a cycle the last one closes it, and is undone: the child keeps the parent that it had. The others stay. If that closes
/// another cycle, so does the last edit there. The children of undone edits are listed.
///
/// `starts` is used for its memory.
///
/// A cycle without an edit is one of previous parents that somebody else has written: its first entity loses its parent.
pub(super) fn undo_cycles(
    world: &mut World,
    edits: &mut Vec<Edit>,
    starts: &mut Vec<Entity>,
    seen: &mut Seen,
    undone: &mut Vec<Entity>,
    errors: &mut TransformErrors,
) -> Result<(), EntityError> {
    starts.clear();
    starts.extend(edits.iter().map(|edit| edit.child));
    // Which edit is of which child; made when there is a cycle.
    let mut edit_of = HashMap::<Entity, usize, FixedState>::default();
    loop {
        let first_walk = seen.next_round();
        let parents = world.lookup();
        let walks = starts.drain(..).map(|start| walk(&parents, start, seen, first_walk));
        let cycles: Vec<_> = walks.filter(|cycle| !cycle.is_empty()).collect();
        if cycles.is_empty() {
            break;
        }
        if edit_of.is_empty() && undone.is_empty() {
            edit_of.extend(edits.iter().enumerate().map(|(at, edit)| (edit.child, at)));
        }
        for mut cycle in cycles {
            if let Some(edit) = cycle.iter().find_map(|&child| left_at_rest(world, child)) {
                world.get_mut::<PreviousParent>(edit.child)?.0 = Entity::NULL;
                edits.push(edit);
                continue;
            }
            let edited = cycle.iter().filter_map(|member| edit_of.get(member).copied());
            let closing = match edited.max() {
                Some(last) => {
                    let edit = edits[last];
                    undo(world, edit)?;
                    edit_of.remove(&edit.child);
                    undone.push(edit.child);
                    // Only by this edge can there be a cycle that there was not before.
                    starts.push(edit.child);
                    edit.child
                }
                None => {
                    let first = cycle.iter().copied().min().unwrap_or(Entity::NULL);
                    edits.push(lose_parent(world, first)?);
                    first
                }
            };
            let place = cycle.iter().position(|&member| member == closing).unwrap_or(0);
            cycle.rotate_left(place);
            errors.extend([TransformError::Cycle { entities: cycle, undone: Some(closing) }]);
        }
    }
    if !undone.is_empty() {
        let round = seen.next_round();
        for &child in &*undone {
            seen.see(child, round);
        }
        edits.retain(|edit| !seen.is_seen(edit.child, round));
    }
    Ok(())
}

/// Walks from a child to its ancestors, until one that another walk since the first one has seen. If this one has seen it, there is a
/// cycle, which is returned.
fn walk(
    parents: &ComponentLookup<'_, PreviousParent>,
    child: Entity,
    seen: &mut Seen,
    first_walk: u64,
) -> Vec<Entity> {
    let mut cycle = Vec::new();
    let walk = seen.next_round();
    let parent_of = |entity| parents.get(entity).map_or(Entity::NULL, |parent| parent.0);
    let mut at = child;
    while at != Entity::NULL {
        let before = seen.see(at, walk);
        if before == walk {
            let mut member = at;
            while cycle.first() != Some(&member) {
                cycle.push(member);
                member = parent_of(member);
            }
            break;
        }
        if before >= first_walk {
            break;
        }
        at = parent_of(at);
    }
    cycle
}

/// A child that rests, and has another parent than when it did not, of which nobody has taken notice yet: it leaves the one that it
/// had, so that nobody takes that for its ancestor. The other one is looked at when the child takes part again.
fn left_at_rest(world: &World, child: Entity) -> Option<Edit> {
    let old = world.get::<PreviousParent>(child).ok()?.0;
    let is_another = world.get::<Parent>(child).map_or(true, |parent| parent.0 != old);
    (is_another && rests(world, child)).then_some(Edit { child, old, new: Entity::NULL })
}

/// Has an entity have no parent any more.
fn lose_parent(world: &mut World, child: Entity) -> Result<Edit, EntityError> {
    let old = world.get::<PreviousParent>(child)?.0;
    world.remove::<(Parent, PreviousParent)>(child)?;
    Ok(Edit { child, old, new: Entity::NULL })
}

/// Has a child keep the parent that it had.
fn undo(world: &mut World, edit: Edit) -> Result<(), EntityError> {
    if edit.old == Entity::NULL {
        world.remove::<(Parent, PreviousParent)>(edit.child)?;
    } else {
        world.get_mut::<PreviousParent>(edit.child)?.0 = edit.old;
        world.get_mut::<Parent>(edit.child)?.0 = edit.old;
    }
    Ok(())
}
