//! Keeps `Child` buffers, by what has become of each `Parent`.
//!
//! What a program has done since the last update is found by comparing each [`Parent`] with the [`PreviousParent`] beside it, and
//! by what stays of entities that were despawned. In this order:
//!
//! 1. orders to attach are carried out
//! 2. parents that are gone: their children lose their `Parent`; and buffers that do not agree with the children are put right
//! 3. children that were detached, or are gone, leave the buffers they are in
//! 4. others get a `PreviousParent` to begin with, and every `Parent` that is another than that becomes an [`Edit`]
//! 5. edits that would make an entity its own ancestor are undone, the others are carried out

mod attach;
mod buffers;
mod cycles;

use ancho_entities::{
    Buffer, Changed, Disabled, Entity, EntityError, OrderChanged, Prefab, QueryFilter, Version,
    With, Without, World,
};

use crate::components::{Child, CustomLocalToWorld, LocalToWorld, Parent, PreviousParent};
use crate::error::{TransformError, TransformErrors};
use crate::hierarchy::Hierarchy;
use crate::scratch::{EntityMarks, Reused};
use crate::update::{NodeCache, State, add_matrices, advance_version};
use attach::AttachAdditions;
use buffers::{InactiveParents, LinkCounts};

/// A child that goes from one parent to another. Both may be null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ParentChange {
    child: Entity,
    old: Entity,
    new: Entity,
}

/// What is remembered of parents and children from one update to the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct Links {
    /// Children whose parents are disabled, so that they wait for them. Each is there once.
    waiting: Vec<Entity>,
    /// How many there were at the end of the last update.
    counts: LinkCounts,
    /// The order version of children at the end of the last update.
    order_version: u32,
    inactive_parents: InactiveParents,
    changes: Reused<Vec<ParentChange>>,
    /// Children from which cycles are looked for.
    starts: Reused<Vec<Entity>>,
    /// Children that may be in no buffer, after their parents.
    suspects: Reused<Vec<(Entity, Entity)>>,
    pub(crate) marks: Reused<EntityMarks>,
    /// Those that were last listed, with none above them that rests.
    pub(crate) active: Reused<Vec<Entity>>,
    /// What orders to attach have given in this update.
    additions: Reused<Vec<AttachAdditions>>,
    /// Whether an entity has another parent than when somebody last asked.
    pub(crate) changed: bool,
    /// Whether previous parents may have been written in place since the hierarchy was last refreshed.
    pub(crate) is_rewritten: bool,
}

/// Has the buffers of children follow their parents.
pub(crate) fn update(world: &mut World, state: &mut State) -> Result<(), TransformErrors> {
    let mut errors = TransformErrors::default();
    // Before they get others.
    NodeCache::forget_lost(&mut state.cache, world);
    let State { links, cache, links_version, .. } = state;
    // The hierarchy follows the links when matrices are made.
    let was_changed = std::mem::take(&mut links.changed);
    let hierarchy = (!was_changed).then_some(&cache.hierarchy);
    let done = update_all(world, links, hierarchy, *links_version, &mut errors);
    links.changed |= was_changed;
    let now = advance_version(world);
    // What an update that failed has not looked at is still to be found.
    if done.is_ok() {
        state.links_version = now;
    }
    errors.extend(done.err().map(TransformError::Entities));
    errors.into_result()
}

fn update_all(
    world: &mut World,
    links: &mut Links,
    hierarchy: Option<&Hierarchy>,
    since: Version,
    errors: &mut TransformErrors,
) -> Result<(), EntityError> {
    let check = buffers::check_links(world, links, hierarchy, since);
    // An update that fails has done it in any case.
    let was_rewritten = std::mem::replace(&mut links.is_rewritten, true);
    let is_attached = attach::apply(world, &mut links.additions, errors)?;
    type NewChild = (With<Parent>, Without<PreviousParent>);
    let has_new_children = !world.query::<()>().filter::<NewChild>().is_empty();
    add_link_components(world)?;
    // From here on all that should have a matrix have one, and parents that have none are gone.
    add_matrices(world)?;
    let mut changes = std::mem::take(&mut links.changes);
    changes.clear();
    let is_unlinked = unlink_despawned_parents(world, &mut changes)?;
    links.changed |= is_unlinked;
    if check.must_restore {
        links.changed = true;
        buffers::restore_buffers(world, links)?;
    }
    attach::detach(world)?;
    unlink_removed_parents(world, &mut changes)?;
    links.changed |= !changes.is_empty();
    buffers::leave(world, &changes, &mut links.marks, errors)?;
    changes.clear();

    let new = world.query_mut::<()>().filter::<NewChild>();
    new.add(PreviousParent(Entity::NULL)).map_err(|rejected| rejected.error)?;
    let is_unusual = is_attached || check.must_restore;
    if check.is_written || is_unusual {
        // Both may have been written, as when entities exchange their components.
        links.changed |= find_parent_changes::<Changed<Parent>>(world, since, &mut changes);
    }
    // An enabled entity counts as moved, not as changed. So does a new child, which has just got its previous parent.
    let is_moved =
        check.is_moved || world.component_order_version::<PreviousParent>() != check.order_version;
    if is_moved && (check.has_new_parents || has_new_children || is_unusual) {
        find_parent_changes::<OrderChanged>(world, since, &mut changes);
    }
    // The previous parent of a new child is written to a chunk that the child has just moved to.
    let mut is_rewritten = check.is_written || check.has_new_parents || is_unusual || is_unlinked;
    let Links { waiting, marks, .. } = links;
    let mark = marks.new_mark();
    waiting.retain(|&child| match parent_change_of(world, child) {
        Some(change) if change.old == Entity::NULL && is_inactive(world, change.new) => {
            // It goes on waiting, however it was found.
            marks.mark(child, mark);
            true
        }
        change => {
            is_rewritten |= change.is_some();
            changes.extend(change);
            false
        }
    });
    // An entity may have been found more than once. What is found first decides on the order.
    changes.retain(|change| marks.mark(change.child, mark) != mark);
    if !changes.is_empty() {
        links.changed = true;
        resolve_parents(world, &mut changes, &mut links.waiting)?;
        let mut undone = Vec::new();
        let change_count = changes.len();
        let Links { starts, marks, .. } = &mut *links;
        cycles::undo_cycles(world, &mut changes, starts, marks, &mut undone, errors)?;
        is_rewritten |= changes.len() != change_count;
        attach::revert(world, &links.additions, &undone, &mut links.marks)?;
        // Some have just lost their parents.
        attach::detach(world)?;
        buffers::leave(world, &changes, &mut links.marks, errors)?;
        buffers::enter(world, &mut changes)?;
    }
    changes.clear();
    links.changes = changes;
    // A frame at rest is counted once.
    links.order_version = check.order_version;
    links.is_rewritten = was_rewritten | is_rewritten;
    if links.changed {
        links.counts = LinkCounts::of(world);
        links.order_version = world.component_order_version::<PreviousParent>();
    }
    Ok(())
}

/// Gives new children all that they need in one step, so that they move to another chunk once, and not twice.
fn add_link_components(world: &mut World) -> Result<(), EntityError> {
    type NewChild = (With<Parent>, Without<(PreviousParent, LocalToWorld, CustomLocalToWorld)>);
    let new = world.query_mut::<()>().filter::<NewChild>();
    let needed = (LocalToWorld::IDENTITY, PreviousParent(Entity::NULL));
    new.add(needed).map_err(|rejected| rejected.error)?;
    Ok(())
}

/// Children of those that are gone lose their parents, and the buffers of those go. Returns whether there were any.
///
/// Edits are what is listed meanwhile: there is nothing else to do for them.
fn unlink_despawned_parents(
    world: &mut World,
    changes: &mut Vec<ParentChange>,
) -> Result<bool, EntityError> {
    type Gone = (With<Buffer<Child>>, Without<(LocalToWorld, CustomLocalToWorld)>);
    let gone = world.query::<(Entity, &Buffer<Child>)>().filter::<Gone>();
    if gone.is_empty() {
        return Ok(false);
    }
    gone.for_each(|(old, children)| {
        changes.extend(children.iter().map(|&Child(child)| ParentChange {
            child,
            old,
            new: Entity::NULL,
        }));
    });
    for ParentChange { child, old, .. } in changes.drain(..) {
        if world.get::<PreviousParent>(child).is_ok_and(|previous| previous.0 == old) {
            // It has been given another parent already, unless it is the same.
            match world.get::<Parent>(child) {
                Ok(&Parent(parent)) if parent == old => {
                    world.remove::<(Parent, PreviousParent)>(child)?;
                }
                _ => world.get_mut::<PreviousParent>(child)?.0 = Entity::NULL,
            }
        }
    }
    world.query_mut::<()>().filter::<Gone>().remove::<Buffer<Child>>()?;
    Ok(true)
}

/// Children that have no parent any more, or are gone, are to leave the buffers of those that they had.
fn unlink_removed_parents(
    world: &mut World,
    changes: &mut Vec<ParentChange>,
) -> Result<(), EntityError> {
    type Left = (With<PreviousParent>, Without<Parent>);
    let before = changes.len();
    let left = world.query::<(Entity, &PreviousParent)>().filter::<Without<Parent>>();
    left.for_each(|(child, previous)| {
        changes.push(ParentChange { child, old: previous.0, new: Entity::NULL });
    });
    if changes.len() > before {
        world.query_mut::<()>().filter::<Left>().remove::<PreviousParent>()?;
    }
    Ok(())
}

/// Finds children that have another parent than before, among those that pass a filter. Returns whether some do.
fn find_parent_changes<F: QueryFilter>(
    world: &World,
    since: Version,
    changes: &mut Vec<ParentChange>,
) -> bool {
    let children = world.query::<(Entity, &Parent, &PreviousParent)>().filter::<F>().since(since);
    let mut are_some = false;
    children.for_each(|(child, parent, previous)| {
        are_some = true;
        if parent.0 != previous.0 || parent.0.is_null() {
            changes.push(ParentChange { child, old: previous.0, new: parent.0 });
        }
    });
    are_some
}

/// What has become of the parent of a child.
fn parent_change_of(world: &World, child: Entity) -> Option<ParentChange> {
    let (parent, previous) =
        world.query::<(&Parent, &PreviousParent)>().get(child).map(|(p, q)| (p.0, q.0))?;
    (parent != previous).then_some(ParentChange { child, old: previous, new: parent })
}

/// Children of nobody lose their parents; children of who is disabled wait. Both leave where they are.
///
/// The others have their new parents as the previous ones from here on.
fn resolve_parents(
    world: &mut World,
    changes: &mut [ParentChange],
    waiting: &mut Vec<Entity>,
) -> Result<(), EntityError> {
    // Those of one parent mostly follow each other.
    let mut last = (Entity::NULL, ParentState::Missing);
    for change in changes {
        if change.new != last.0 {
            last = (change.new, parent_state(world, change.new));
        }
        match last.1 {
            ParentState::Missing => {
                change.new = Entity::NULL;
                world.remove::<(Parent, PreviousParent)>(change.child)?;
                continue;
            }
            ParentState::Inactive => {
                change.new = Entity::NULL;
                waiting.push(change.child);
            }
            ParentState::Active => {}
        }
        world.get_mut::<PreviousParent>(change.child)?.0 = change.new;
    }
    Ok(())
}

/// What has become of one that is to be a parent.
#[derive(Clone, Copy)]
enum ParentState {
    Missing,
    Inactive,
    Active,
}

fn parent_state(world: &World, parent: Entity) -> ParentState {
    match parent {
        parent if is_missing(world, parent) => ParentState::Missing,
        parent if is_inactive(world, parent) => ParentState::Inactive,
        _ => ParentState::Active,
    }
}

/// Whether an entity takes no part, so that it gets no children.
pub(crate) fn is_inactive(world: &World, entity: Entity) -> bool {
    world.has::<Disabled>(entity) || world.has::<Prefab>(entity)
}

/// Whether an entity is not there, or was despawned and only what stays of it is there.
pub(crate) fn is_missing(world: &World, entity: Entity) -> bool {
    !world.exists(entity) || world.is_cleanup_only(entity)
}

#[cfg(test)]
mod tests {
    use ancho_entities::{Disabled, World};
    use glam::Vec3;

    use super::buffers::{LinkCounts, check_links};
    use super::update;
    use crate::components::{Parent, Position};
    use crate::freeze::Static;
    use crate::update::{State, update_matrices};

    /// Whether the next update restores all buffers.
    fn must_restore(world: &World, state: &State) -> bool {
        let hierarchy = Some(&state.cache.hierarchy);
        check_links(world, &mut state.links.clone(), hierarchy, state.links_version).must_restore
    }

    #[test]
    fn ordinary_changes_do_not_have_all_links_looked_at() {
        let mut world = World::new("Simulation");
        let mut state = State::default();
        let parents = [(); 4].map(|()| world.spawn(Position(Vec3::X)));
        let child = (Position(Vec3::Y), Parent(parents[0]));
        let children: Vec<_> = (0..20)
            .map(|number| world.spawn((Position(Vec3::Y), Parent(parents[number % 4]))))
            .collect();
        let update_all = |world: &mut World, state: &mut State| {
            update(world, state).unwrap();
            update_matrices(world, state).unwrap();
            assert_eq!(state.links.counts, LinkCounts::of(world));
            assert!(!must_restore(world, state));
        };
        update_all(&mut world, &mut state);
        for number in 0..9 {
            match number {
                0 => _ = world.spawn(child),
                1 => _ = world.despawn(children[0]).unwrap(),
                2 => _ = world.despawn(parents[3]).unwrap(),
                3 => world.set(children[1], Parent(parents[2])).unwrap(),
                4 => _ = world.remove::<Parent>(children[2]).unwrap(),
                5 => _ = world.add(children[4], Disabled).unwrap(),
                6 => _ = world.add(parents[0], Disabled).unwrap(),
                7 => _ = world.remove::<Disabled>(children[4]).unwrap(),
                _ => _ = world.add(parents[1], Static).unwrap(),
            }
            assert!(!must_restore(&world, &state), "change {number}");
            update_all(&mut world, &mut state);
        }
        world.swap_components(children[5], children[6]).unwrap();
        assert!(must_restore(&world, &state));
        update_all(&mut world, &mut state);
    }

    #[test]
    fn t5_who_waits_for_a_parent_waits_once() {
        let mut world = World::new("Simulation");
        let mut state = State::default();
        let parent = world.spawn((Position(Vec3::X), Disabled));
        let child = world.spawn((Position(Vec3::Y), Parent(parent)));
        update(&mut world, &mut state).unwrap();
        assert_eq!(state.links.waiting, [child]);
        for number in 0..100 {
            // Others come to its chunk, or its parent is written.
            if number % 2 == 0 {
                world.spawn((Position(Vec3::Y), Parent(child)));
            } else {
                world.get_mut::<Parent>(child).unwrap().0 = parent;
            }
            update(&mut world, &mut state).unwrap();
            assert_eq!(state.links.waiting, [child]);
        }
        world.remove::<Disabled>(parent).unwrap();
        update(&mut world, &mut state).unwrap();
        assert!(state.links.waiting.is_empty());
    }
}
