//! Entities that would be their own ancestors.

use std::collections::HashMap;

use ancho_collections::FixedState;
use ancho_entities::{ComponentLookup, Entity, EntityError, World};

use super::{ParentChange, is_inactive};
use crate::components::{Parent, PreviousParent};
use crate::error::{TransformError, TransformErrors};
use crate::scratch::EntityMarks;

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
    changes: &mut Vec<ParentChange>,
    starts: &mut Vec<Entity>,
    marks: &mut EntityMarks,
    undone: &mut Vec<Entity>,
    errors: &mut TransformErrors,
) -> Result<(), EntityError> {
    starts.clear();
    starts.extend(changes.iter().map(|change| change.child));
    // Which edit is of which child; made when there is a cycle.
    let mut parent_change_of = HashMap::<Entity, usize, FixedState>::default();
    loop {
        let first_walk = marks.new_mark();
        let parents = world.lookup();
        let walks = starts.drain(..).map(|start| walk(&parents, start, marks, first_walk));
        let cycles: Vec<_> = walks.filter(|cycle| !cycle.is_empty()).collect();
        if cycles.is_empty() {
            break;
        }
        if parent_change_of.is_empty() && undone.is_empty() {
            parent_change_of
                .extend(changes.iter().enumerate().map(|(at, change)| (change.child, at)));
        }
        for mut cycle in cycles {
            if let Some(change) =
                cycle.iter().find_map(|&child| stale_inactive_parent(world, child))
            {
                world.get_mut::<PreviousParent>(change.child)?.0 = Entity::NULL;
                changes.push(change);
                continue;
            }
            let edited = cycle.iter().filter_map(|member| parent_change_of.get(member).copied());
            let closing = match edited.max() {
                Some(last) => {
                    let change = changes[last];
                    undo(world, change)?;
                    parent_change_of.remove(&change.child);
                    undone.push(change.child);
                    // Only by this edge can there be a cycle that there was not before.
                    starts.push(change.child);
                    change.child
                }
                None => {
                    let first = cycle.iter().copied().min().unwrap_or(Entity::NULL);
                    changes.push(remove_parent(world, first)?);
                    first
                }
            };
            let place = cycle.iter().position(|&member| member == closing).unwrap_or(0);
            cycle.rotate_left(place);
            errors.extend([TransformError::Cycle { entities: cycle, undone: Some(closing) }]);
        }
    }
    if !undone.is_empty() {
        let mark = marks.new_mark();
        for &child in &*undone {
            marks.mark(child, mark);
        }
        changes.retain(|change| !marks.has_mark(change.child, mark));
    }
    Ok(())
}

/// Walks from a child to its ancestors, until one that another walk since the first one has seen. If this one has seen it, there is a
/// cycle, which is returned.
fn walk(
    parents: &ComponentLookup<'_, PreviousParent>,
    child: Entity,
    marks: &mut EntityMarks,
    first_walk: u64,
) -> Vec<Entity> {
    let mut cycle = Vec::new();
    let walk = marks.new_mark();
    let parent_of = |entity| parents.get(entity).map_or(Entity::NULL, |parent| parent.0);
    let mut at = child;
    while at != Entity::NULL {
        let before = marks.mark(at, walk);
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
fn stale_inactive_parent(world: &World, child: Entity) -> Option<ParentChange> {
    let old = world.get::<PreviousParent>(child).ok()?.0;
    let is_another = world.get::<Parent>(child).map_or(true, |parent| parent.0 != old);
    (is_another && is_inactive(world, child)).then_some(ParentChange {
        child,
        old,
        new: Entity::NULL,
    })
}

/// Has an entity have no parent any more.
fn remove_parent(world: &mut World, child: Entity) -> Result<ParentChange, EntityError> {
    let old = world.get::<PreviousParent>(child)?.0;
    world.remove::<(Parent, PreviousParent)>(child)?;
    Ok(ParentChange { child, old, new: Entity::NULL })
}

/// Has a child keep the parent that it had.
fn undo(world: &mut World, change: ParentChange) -> Result<(), EntityError> {
    if change.old == Entity::NULL {
        world.remove::<(Parent, PreviousParent)>(change.child)?;
    } else {
        world.get_mut::<PreviousParent>(change.child)?.0 = change.old;
        world.get_mut::<Parent>(change.child)?.0 = change.old;
    }
    Ok(())
}
