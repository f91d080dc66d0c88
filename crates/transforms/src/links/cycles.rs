//! Finds and undoes cycles of parents.

use std::collections::HashMap;

use ancho_collections::FixedState;
use ancho_entities::{Entity, EntityError, Indexed, Lookup, World};

use super::{ParentChange, is_inactive};
use crate::components::{Parent, PreviousParent};
use crate::error::{TransformError, TransformErrors};
use crate::scratch::EntityMarks;

/// Undoes changes that make entities their own ancestors. All changes are stored as previous parents before, and are checked
/// together, so an entity and its parent can trade places.
///
/// The last change in a cycle closes it and is undone: the child keeps its old parent. The other changes remain. Further cycles are
/// undone in the same way. `undone` lists the children of undone changes.
///
/// `starts` is scratch memory.
///
/// A cycle without a change consists of previous parents that other code has written. The first entity of such a cycle loses its
/// parent.
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
    // The change of each child, filled when there is a cycle.
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
            let changed = cycle.iter().filter_map(|member| parent_change_of.get(member).copied());
            let closing = match changed.max() {
                Some(last) => {
                    let change = changes[last];
                    undo(world, change)?;
                    parent_change_of.remove(&change.child);
                    undone.push(change.child);
                    // Only the restored link can close another cycle.
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

/// Walks from a child to its ancestors, until it reaches an entity that a walk since `first_walk` has visited. Returns the cycle if
/// this same walk has visited the entity.
fn walk(
    parents: &Lookup<'_, &PreviousParent, Indexed>,
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

/// Returns the change that unlinks an inactive child from an outdated parent. The parent of the child was changed while the child
/// was inactive, and the new parent is linked once the child is active.
fn stale_inactive_parent(world: &World, child: Entity) -> Option<ParentChange> {
    let old = world.get::<PreviousParent>(child).ok()?.0;
    let is_another = world.get::<Parent>(child).map_or(true, |parent| parent.0 != old);
    (is_another && is_inactive(world, child)).then_some(ParentChange {
        child,
        old,
        new: Entity::NULL,
    })
}

/// Removes the parent of an entity.
fn remove_parent(world: &mut World, child: Entity) -> Result<ParentChange, EntityError> {
    let old = world.get::<PreviousParent>(child)?.0;
    world.remove::<(Parent, PreviousParent)>(child)?;
    Ok(ParentChange { child, old, new: Entity::NULL })
}

/// Restores the old parent of a child.
fn undo(world: &mut World, change: ParentChange) -> Result<(), EntityError> {
    if change.old == Entity::NULL {
        world.remove::<(Parent, PreviousParent)>(change.child)?;
    } else {
        world.get_mut::<PreviousParent>(change.child)?.0 = change.old;
        world.get_mut::<Parent>(change.child)?.0 = change.old;
    }
    Ok(())
}
