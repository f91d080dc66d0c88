//! Entities that would be their own ancestors.

use ancho_entities::{ComponentLookup, Entity, EntityError, World};

use super::seen::Seen;
use super::{Edit, rests};
use crate::error::{TransformError, TransformErrors};
use crate::parent::{Parent, PreviousParent};

/// Undoes edits that make an entity its own ancestor. All of them have been noted as previous parents.
///
/// All edits count at once: it does not matter which comes first. Each entity is looked at once, and again if what is undone makes
/// other cycles. Whose edits are undone is listed.
///
/// A cycle without an edit is one of previous parents that somebody else has written: all of it loses its parents.
pub(super) fn undo_cycles(
    world: &mut World,
    edits: &mut Vec<Edit>,
    seen: &mut Seen,
    undone: &mut Vec<Entity>,
    errors: &mut TransformErrors,
) -> Result<(), EntityError> {
    loop {
        let first_walk = seen.next_round();
        let parents = world.entities().lookup();
        let walks = edits.iter().map(|edit| walk(&parents, edit.child, seen, first_walk));
        let cycles: Vec<_> = walks.filter(|cycle| !cycle.is_empty()).collect();
        if cycles.is_empty() {
            return Ok(());
        }
        let edited = seen.next_round();
        for edit in &*edits {
            seen.see(edit.child, edited);
        }
        let members = seen.next_round();
        for cycle in cycles {
            if let Some(edit) = cycle.iter().find_map(|&child| left_at_rest(world, child)) {
                world.get_mut::<PreviousParent>(edit.child)?.0 = Entity::NULL;
                edits.push(edit);
                continue;
            }
            let has_edits = cycle.iter().any(|&member| seen.is_seen(member, edited));
            for &member in &cycle {
                if has_edits {
                    seen.see(member, members);
                } else {
                    edits.push(lose_parent(world, member)?);
                }
            }
            errors.extend([TransformError::Cycle { entities: cycle }]);
        }
        for edit in edits.iter().filter(|edit| seen.is_seen(edit.child, members)) {
            undo(world, *edit)?;
            undone.push(edit.child);
        }
        edits.retain(|edit| !seen.is_seen(edit.child, members));
    }
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
