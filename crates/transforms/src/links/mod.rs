//! Links between parents and children: `Child` buffers are updated after changes of `Parent`.
//!
//! Changes since the last update are found by comparing each [`Parent`] with the [`PreviousParent`] of the same entity, and by the
//! cleanup components of despawned entities. An update has these steps:
//!
//! 1. Requests to attach are applied.
//! 2. Children of despawned parents lose their `Parent`, and buffers that disagree with the children are restored.
//! 3. Children that were detached or despawned leave the buffers of their parents.
//! 4. New children get a `PreviousParent`, and every `Parent` that differs from it becomes a [`ParentChange`].
//! 5. Changes that would make an entity its own ancestor are undone. The other changes are applied.
//! 6. Prefabs with new parents are checked.

mod attach;
mod buffers;
mod cycles;
mod prefabs;

use ancho_entities::{
    Buffer, Changed, Disabled, Entity, EntityError, OrderChanged, Prefab, QueryDescriptor,
    QueryFilter, Version, With, Without, World,
};

use crate::components::{Child, CustomLocalToWorld, LocalToWorld, Parent, PreviousParent};
use crate::error::{TransformError, TransformErrors};
use crate::hierarchy::Hierarchy;
use crate::scratch::{EntityMarks, Reused};
use crate::update::{NodeCache, State, add_matrices, advance_version};
use attach::AttachAdditions;
use buffers::{InactiveParents, LinkCounts};

/// A child that moves from one parent to another. Both may be null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ParentChange {
    child: Entity,
    old: Entity,
    new: Entity,
}

/// State of the links between two updates.
#[derive(Clone, Debug, Default)]
pub(crate) struct Links {
    /// Children that wait for inactive parents. Each is listed once.
    waiting: Vec<Entity>,
    /// The numbers of links and transfers at the end of the last update.
    counts: LinkCounts,
    /// The order version of children at the end of the last update.
    order_version: u32,
    inactive_parents: InactiveParents,
    changes: Reused<Vec<ParentChange>>,
    /// Children from which the search for cycles starts.
    starts: Reused<Vec<Entity>>,
    /// Pairs of parent and child that a buffer may not list.
    suspects: Reused<Vec<(Entity, Entity)>>,
    pub(crate) marks: Reused<EntityMarks>,
    /// The result of the last [`list_active`](Self::list_active).
    pub(crate) active: Reused<Vec<Entity>>,
    /// Components that requests to attach added in this update.
    additions: Reused<Vec<AttachAdditions>>,
    /// True if parents have changed since the hierarchy was last refreshed.
    pub(crate) changed: bool,
    /// True if previous parents may have been written in place since the hierarchy was last refreshed.
    pub(crate) is_rewritten: bool,
}

/// Updates `Child` buffers and previous parents.
pub(crate) fn update(world: &mut World, state: &mut State) -> Result<(), TransformErrors> {
    let mut errors = TransformErrors::default();
    // Must run before these nodes get new matrices.
    NodeCache::forget_lost(&mut state.cache, world);
    let State { links, cache, links_version, .. } = state;
    // The update of matrices refreshes the hierarchy.
    let was_changed = std::mem::take(&mut links.changed);
    let hierarchy = (!was_changed).then_some(&cache.hierarchy);
    let done = update_all(world, links, hierarchy, *links_version, &mut errors);
    links.changed |= was_changed;
    let now = advance_version(world);
    // If this update fails, the next one repeats the search.
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
    // A failed update may have written previous parents.
    let was_rewritten = std::mem::replace(&mut links.is_rewritten, true);
    let is_attached = attach::apply(world, &mut links.additions, errors)?;
    type NewChild = (With<Parent>, Without<PreviousParent>);
    let has_new_children = !world.query_filtered::<(), NewChild>().is_empty();
    add_link_components(world)?;
    // From here on, all active nodes have a matrix, and parents without a matrix are despawned.
    add_matrices(world)?;
    let mut changes = std::mem::take(&mut links.changes);
    changes.clear();
    links.changed |= unlink_despawned_parents(world, &mut changes)?;
    if check.must_restore {
        links.changed = true;
        buffers::restore_buffers(world, links)?;
    }
    attach::detach(world)?;
    unlink_removed_parents(world, &mut changes)?;
    links.changed |= !changes.is_empty();
    buffers::leave(world, &changes, &mut links.marks, errors)?;
    changes.clear();

    let new = world.batch(QueryDescriptor::of::<(), NewChild>());
    new.add(PreviousParent(Entity::NULL)).map_err(|rejected| rejected.error)?;
    let is_unusual = is_attached || check.must_restore;
    if check.is_written || is_unusual {
        // Both components may have been written, for example if entities have swapped their components.
        links.changed |= find_parent_changes::<Changed<Parent>>(world, since, &mut changes);
    }
    // An entity that was enabled counts as moved, not as changed. So does a new child, which has just got its previous parent.
    let is_moved =
        check.is_moved || world.component_order_version::<PreviousParent>() != check.order_version;
    if is_moved && (check.has_new_parents || has_new_children || is_unusual) {
        find_parent_changes::<OrderChanged>(world, since, &mut changes);
    }
    // The previous parent of a new child is written in a chunk to which the child has just moved.
    let mut is_rewritten = check.is_written || check.has_new_parents || is_unusual;
    let Links { waiting, marks, .. } = links;
    let mark = marks.new_mark();
    waiting.retain(|&child| match parent_change_of(world, child) {
        Some(change) if change.old == Entity::NULL && is_inactive(world, change.new) => {
            // The child continues to wait.
            marks.mark(child, mark);
            true
        }
        change => {
            is_rewritten |= change.is_some();
            changes.extend(change);
            false
        }
    });
    // A child may have been found more than once. Its first occurrence determines the order.
    changes.retain(|change| marks.mark(change.child, mark) != mark);
    if !changes.is_empty() {
        links.changed = true;
        resolve_parents(world, &mut changes, &mut links.waiting, errors)?;
        let mut undone = Vec::new();
        let change_count = changes.len();
        let Links { starts, marks, .. } = &mut *links;
        cycles::undo_cycles(world, &mut changes, starts, marks, &mut undone, errors)?;
        is_rewritten |= changes.len() != change_count;
        attach::revert(world, &links.additions, &undone, &mut links.marks)?;
        // Some children have just lost their parents.
        attach::detach(world)?;
        buffers::leave(world, &changes, &mut links.marks, errors)?;
        buffers::enter(world, &mut changes)?;
    }
    changes.clear();
    links.changes = changes;
    errors.extend(prefabs::unlisted_children(world, since));
    // Links are counted only after changes.
    links.order_version = check.order_version;
    links.is_rewritten = was_rewritten | is_rewritten;
    if links.changed {
        links.counts = LinkCounts::of(world);
        links.order_version = world.component_order_version::<PreviousParent>();
    }
    Ok(())
}

/// Adds all components that new children need in one step, so that they move to another chunk only once.
fn add_link_components(world: &mut World) -> Result<(), EntityError> {
    type NewChild = (With<Parent>, Without<(PreviousParent, LocalToWorld, CustomLocalToWorld)>);
    let new = world.batch(QueryDescriptor::of::<(), NewChild>());
    let needed = (LocalToWorld::IDENTITY, PreviousParent(Entity::NULL));
    new.add(needed).map_err(|rejected| rejected.error)?;
    Ok(())
}

/// Removes the `Parent` of children of despawned parents, and the buffers of these parents. Returns whether there were despawned
/// parents.
///
/// `changes` is scratch memory.
fn unlink_despawned_parents(
    world: &mut World,
    changes: &mut Vec<ParentChange>,
) -> Result<bool, EntityError> {
    type Gone = (With<Buffer<Child>>, Without<(LocalToWorld, CustomLocalToWorld)>);
    let mut gone = world.query_filtered::<(Entity, &Buffer<Child>), Gone>();
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
            // The child keeps its `Parent` if the program has written another one.
            match world.get::<Parent>(child) {
                Ok(&Parent(parent)) if parent == old => {
                    world.remove::<(Parent, PreviousParent)>(child)?;
                }
                _ => world.get_mut::<PreviousParent>(child)?.0 = Entity::NULL,
            }
        }
    }
    world.batch(QueryDescriptor::of::<(), Gone>()).remove::<Buffer<Child>>()?;
    Ok(true)
}

/// Lists children that were despawned or have lost their `Parent`, so that they leave the buffers of their old parents.
fn unlink_removed_parents(
    world: &mut World,
    changes: &mut Vec<ParentChange>,
) -> Result<(), EntityError> {
    type Left = (With<PreviousParent>, Without<Parent>);
    let before = changes.len();
    let mut left = world.query_filtered::<(Entity, &PreviousParent), Without<Parent>>();
    left.for_each(|(child, previous)| {
        changes.push(ParentChange { child, old: previous.0, new: Entity::NULL });
    });
    if changes.len() > before {
        world.batch(QueryDescriptor::of::<(), Left>()).remove::<PreviousParent>()?;
    }
    Ok(())
}

/// Finds children whose parent differs from the previous one, among the children that match a filter. Returns whether any child
/// matches the filter.
fn find_parent_changes<F: QueryFilter>(
    world: &World,
    since: Version,
    changes: &mut Vec<ParentChange>,
) -> bool {
    let mut children = world.query_filtered::<(Entity, &Parent, &PreviousParent), F>().since(since);
    let mut are_some = false;
    children.for_each(|(child, parent, previous)| {
        are_some = true;
        if parent.0 != previous.0 || parent.0.is_null() {
            changes.push(ParentChange { child, old: previous.0, new: parent.0 });
        }
    });
    are_some
}

/// Returns the change of a child's parent, or `None` if the parent has not changed.
fn parent_change_of(world: &World, child: Entity) -> Option<ParentChange> {
    let (parent, previous) =
        world.query::<(&Parent, &PreviousParent)>().get(child).map(|(p, q)| (p.0, q.0))?;
    (parent != previous).then_some(ParentChange { child, old: previous, new: parent })
}

/// Tests for each change whether the new parent exists. Children of missing parents lose their parents, and children of inactive
/// parents wait. Both leave their old parents. A child of a prefab is an error.
///
/// For all other changes, the new parent becomes the previous parent.
fn resolve_parents(
    world: &mut World,
    changes: &mut [ParentChange],
    waiting: &mut Vec<Entity>,
    errors: &mut TransformErrors,
) -> Result<(), EntityError> {
    // Children of one parent are usually contiguous.
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
                errors.extend(prefabs::live_child_error(world, change.child, change.new));
                change.new = Entity::NULL;
                waiting.push(change.child);
            }
            ParentState::Active => {}
        }
        world.get_mut::<PreviousParent>(change.child)?.0 = change.new;
    }
    Ok(())
}

/// The state of a new parent.
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

/// Tests whether an entity is disabled or a prefab, so that it gets no children.
pub(crate) fn is_inactive(world: &World, entity: Entity) -> bool {
    world.has::<Disabled>(entity) || world.has::<Prefab>(entity)
}

/// Tests whether an entity does not exist, or has only cleanup components left.
pub(crate) fn is_missing(world: &World, entity: Entity) -> bool {
    !world.exists(entity) || world.is_cleanup_only(entity)
}

#[cfg(test)]
mod tests {
    use ancho_entities::{Disabled, World};
    use glam::Vec3;

    use super::buffers::{LinkCounts, check_links};
    use super::update;
    use crate::components::{Child, Parent, Position, Static};
    use crate::update::{State, update_matrices};

    /// Tests whether the next update restores all buffers.
    fn must_restore(world: &World, state: &State) -> bool {
        let hierarchy = Some(&state.cache.hierarchy);
        check_links(world, &mut state.links.clone(), hierarchy, state.links_version).must_restore
    }

    #[test]
    fn ordinary_changes_do_not_restore_all_buffers() {
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
    fn disabling_trees_one_by_one_does_not_restore_all_buffers() {
        let mut world = World::new("Simulation");
        let mut state = State::default();
        let parents = [(); 4].map(|()| world.spawn(Position(Vec3::X)));
        for parent in parents {
            world.spawn_many((Position(Vec3::Y), Parent(parent)), 3);
        }
        update(&mut world, &mut state).unwrap();
        update_matrices(&mut world, &mut state).unwrap();
        for parent in parents {
            world.add(parent, Disabled).unwrap();
            assert!(!must_restore(&world, &state));
            update(&mut world, &mut state).unwrap();
            update_matrices(&mut world, &mut state).unwrap();
        }
        world.buffer_mut::<Child>(parents[0]).unwrap().clear();
        assert!(must_restore(&world, &state));
    }

    #[test]
    fn a_child_that_waits_for_its_parent_is_listed_once() {
        let mut world = World::new("Simulation");
        let mut state = State::default();
        let parent = world.spawn((Position(Vec3::X), Disabled));
        let child = world.spawn((Position(Vec3::Y), Parent(parent)));
        update(&mut world, &mut state).unwrap();
        assert_eq!(state.links.waiting, [child]);
        for number in 0..100 {
            // Even steps add an entity to the chunk of the waiting child. Odd steps write the parent of the waiting child.
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
