//! Updates of `Child` buffers: children enter and leave them, and buffers that disagree with `PreviousParent` are restored.

use std::collections::HashMap;

use ancho_collections::FixedState;
use ancho_entities::{
    Any, Buffer, Changed, Disabled, Entity, EntityError, IncludeDisabled, IncludePrefabs,
    OrderChanged, Prefab, QueryFilter, Version, With, World,
};

use super::{Links, ParentChange, is_inactive, is_missing};
use crate::components::{Child, CustomLocalToWorld, LocalToWorld, Parent, PreviousParent};
use crate::error::{TransformError, TransformErrors};
use crate::hierarchy::Hierarchy;
use crate::scratch::EntityMarks;

/// Removes children from the buffers of their old parents, if they have another previous parent now.
///
/// Each buffer is rewritten once. Empty buffers are removed. A child that is not in the buffer of its old parent is an error: other
/// code has written to the buffer.
pub(super) fn leave(
    world: &mut World,
    changes: &[ParentChange],
    marks: &mut EntityMarks,
    errors: &mut TransformErrors,
) -> Result<(), EntityError> {
    let mut leaving: Vec<ParentChange> =
        changes.iter().filter(|change| !change.old.is_null()).copied().collect();
    leaving.sort_by_key(|change| change.old);
    let mut stay = Vec::new();
    for group in leaving.chunk_by(|a, b| a.old == b.old) {
        let old = group[0].old;
        // If other code has written to a buffer, it may list any entity. So only leaving children are marked.
        let (leaving, found) = (marks.new_mark(), marks.new_mark());
        for change in group {
            marks.mark(change.child, leaving);
        }
        let children = world.buffer::<Child>(old).unwrap_or_default();
        let previous = world.lookup::<&PreviousParent>();
        stay.clear();
        for &child in children {
            if previous.get(child.0).is_some_and(|parent| parent.0 == old) {
                stay.push(child);
            } else if marks.has_mark(child.0, leaving) {
                marks.mark(child.0, found);
            }
        }
        // A despawned parent has no buffer to check.
        if !is_missing(world, old) {
            let missing = group.iter().filter(|change| marks.mark(change.child, found) != found);
            errors.extend(
                missing
                    .map(|change| TransformError::NotInParent { child: change.child, parent: old }),
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

/// Tests whether an entity has a matrix, which every parent needs.
fn is_placed(world: &World, entity: Entity) -> bool {
    world.has::<LocalToWorld>(entity) || world.has::<CustomLocalToWorld>(entity)
}

/// Adds children to the buffers of their new parents. Sorts the changes by parent. The children of one parent keep their order.
pub(super) fn enter(world: &mut World, changes: &mut [ParentChange]) -> Result<(), EntityError> {
    changes.sort_by_key(|change| change.new);
    let mut come = Vec::new();
    for group in changes.chunk_by(|a, b| a.new == b.new) {
        let new = group[0].new;
        if new == Entity::NULL {
            continue;
        }
        if !is_placed(world, new) {
            world.add(new, LocalToWorld::IDENTITY).map_err(|rejected| rejected.error)?;
        }
        come.clear();
        come.extend(group.iter().map(|change| Child(change.child)));
        let mut children = if world.has::<Buffer<Child>>(new) {
            world.buffer_mut::<Child>(new)?
        } else {
            world.add_buffer::<Child>(new)?
        };
        children.extend_from_slice(&come);
    }
    Ok(())
}

// Buffers and previous parents disagree if a program has changed more than `Parent`.
//
// Parents and children can move to another world without each other. Then references between them are dead or null. A program can
// also remove the buffer of a parent or the previous parent of a child. Both change the number of links or of transfers, and then
// all buffers are restored. If entities have swapped their components, checking the changed chunks finds them.

/// The numbers of parents, children and transfers between worlds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LinkCounts {
    parents: usize,
    children: usize,
    transfers: u64,
}

/// The number of children of each parent that has no active children in the hierarchy, because the parent or its children are
/// inactive.
pub(super) type InactiveParents = HashMap<Entity, usize, FixedState>;

/// Filter that includes inactive entities.
type All = (IncludeDisabled, IncludePrefabs);

impl LinkCounts {
    pub(super) fn of(world: &World) -> Self {
        Self {
            parents: count::<With<Buffer<Child>>>(world),
            children: count::<With<PreviousParent>>(world),
            transfers: world.world_transfer_count(),
        }
    }
}

fn count<F: QueryFilter>(world: &World) -> usize {
    world.query_filtered::<(), (F, All)>().count_unfiltered()
}

/// The result of [`check_links`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LinkCheck {
    /// True if buffers and previous parents may disagree, so that all buffers have to be restored.
    pub(super) must_restore: bool,
    /// True if a [`Parent`] or [`PreviousParent`] may have been written.
    pub(super) is_written: bool,
    /// True if a child in a changed chunk has a parent other than its previous one.
    pub(super) has_new_parents: bool,
    /// The order version of entities with a [`PreviousParent`], which increases when such entities are added, removed or moved.
    pub(super) order_version: u32,
    /// True if children were added, removed or moved.
    pub(super) is_moved: bool,
}

/// Checks the links in chunks that changed since the last update.
///
/// Buffers and previous parents disagree after entities have swapped components, or after a program wrote, removed or added a
/// buffer. Without changes, the check costs one query over the chunk versions of children. Structural changes are found by the
/// order version.
pub(super) fn check_links(
    world: &World,
    links: &mut Links,
    hierarchy: Option<&Hierarchy>,
    since: Version,
) -> LinkCheck {
    let counts = LinkCounts::of(world);
    let is_counted = counts == links.counts;
    let order_version = world.component_order_version::<PreviousParent>();
    let is_moved = !is_counted || order_version != links.order_version;
    let mut check =
        LinkCheck { must_restore: !is_counted, order_version, is_moved, ..LinkCheck::default() };
    let Links { suspects, marks, inactive_parents, .. } = links;
    suspects.clear();
    let mut add_child = |(child, parent, previous): (_, Option<&Parent>, &PreviousParent)| {
        let previous = previous.0;
        check.has_new_parents |=
            parent.is_some_and(|parent| parent.0 != previous || parent.0.is_null());
        // If the hierarchy has the child below the same parent, the parent's buffer lists it. Only other children are looked up.
        let in_hierarchy = hierarchy.and_then(|hierarchy| hierarchy.parent_of(child));
        if !previous.is_null() && in_hierarchy != Some(previous) {
            suspects.push((previous, child));
        }
    };
    type Children<'a> = (Entity, Option<&'a Parent>, &'a PreviousParent);
    type Written = (All, Changed<(Parent, PreviousParent)>);
    world.query_filtered::<Children<'_>, Written>().since(since).for_each(|child| {
        check.is_written = true;
        add_child(child);
    });
    if is_moved {
        let moved = world.query_filtered::<Children<'_>, (All, OrderChanged)>();
        moved.since(since).for_each(add_child);
    }
    check.must_restore = check.must_restore
        || !parents_agree(world, hierarchy, since, inactive_parents, counts.parents)
        || !are_listed(world, suspects, marks);
    check
}

/// Tests whether the buffers in changed chunks list at least the expected number of children, and only children whose previous
/// parent is the owner of the buffer.
fn parents_agree(
    world: &World,
    hierarchy: Option<&Hierarchy>,
    since: Version,
    inactive_parents: &mut InactiveParents,
    parent_count: usize,
) -> bool {
    let previous = world.lookup::<&PreviousParent>();
    let agrees = |parent, children: &[Child], checked: usize| {
        let in_hierarchy = hierarchy.map_or(0, |hierarchy| hierarchy.child_count(parent));
        // If a program removes one buffer and adds another one, the number of parents stays the same. A buffer with too few
        // children was written, or removed and added again.
        let expected = match in_hierarchy {
            0 => inactive_parents.get(&parent).copied().unwrap_or(usize::MAX),
            count => count,
        };
        let is_child = |child| previous.get(child).is_some_and(|previous| previous.0 == parent);
        children.len() >= expected
            && children.iter().take(checked).all(|&Child(child)| is_child(child))
    };
    type Parents<'a> = (Entity, &'a Buffer<Child>);
    type Written = (All, Changed<Buffer<Child>>);
    let written = world.query_filtered::<Parents<'_>, Written>().since(since);
    if !written.iter().all(|(parent, children)| agrees(parent, children, usize::MAX)) {
        return false;
    }
    // A buffer that was not written has only moved with its entity, so checking one child is enough.
    let moved = world.query_filtered::<Parents<'_>, (All, OrderChanged)>().since(since);
    if !moved.iter().all(|(parent, children)| agrees(parent, children, 1)) {
        return false;
    }
    // The map is cleared before it has many more entries than there are parents. The next restoration fills it again.
    if inactive_parents.len() > 2 * parent_count {
        inactive_parents.clear();
    }
    type Inactive = (All, OrderChanged, Any<(Disabled, Prefab)>);
    world.query_filtered::<Parents<'_>, Inactive>().since(since).for_each(|(parent, children)| {
        inactive_parents.insert(parent, children.len());
    });
    true
}

/// Tests whether each child is in the buffer of its parent. `links` has pairs of parent and child.
fn are_listed(world: &World, links: &mut [(Entity, Entity)], marks: &mut EntityMarks) -> bool {
    links.sort_unstable();
    links.chunk_by(|a, b| a.0 == b.0).all(|group| {
        // If a program has written to a buffer, it may list any entity. So only the children of this group are marked.
        let (expected, listed) = (marks.new_mark(), marks.new_mark());
        for &(_, child) in group {
            marks.mark(child, expected);
        }
        for &Child(child) in world.buffer::<Child>(group[0].0).unwrap_or_default() {
            if marks.has_mark(child, expected) {
                marks.mark(child, listed);
            }
        }
        group.iter().all(|&(_, child)| marks.has_mark(child, listed))
    })
}

/// Rewrites all buffers so that each lists exactly the entities whose previous parent is its owner, each once. Children of missing
/// parents lose their parents. Children that no buffer lists wait for their parent, and enter its buffer in this update.
pub(super) fn restore_buffers(world: &mut World, links: &mut Links) -> Result<(), EntityError> {
    let Links { marks, waiting, inactive_parents, .. } = links;
    inactive_parents.clear();
    let (listed, elsewhere) = (marks.new_mark(), marks.new_mark());
    let (mut stay, mut shortened) = (Vec::new(), Vec::new());
    let previous = world.lookup::<&PreviousParent>();
    let mut parents = world.query_filtered::<(Entity, &Buffer<Child>), All>();
    parents.for_each(|(parent, children)| {
        stay.clear();
        stay.extend(children.iter().filter(|&&Child(child)| match previous.get(child) {
            Some(previous) if previous.0 == parent => marks.mark(child, listed) != listed,
            Some(_) if !marks.has_mark(child, listed) => {
                marks.mark(child, elsewhere);
                false
            }
            _ => false,
        }));
        let has_active = || stay.iter().any(|&Child(child)| !is_inactive(world, child));
        if is_inactive(world, parent) || !has_active() {
            inactive_parents.insert(parent, stay.len());
        }
        if stay.len() < children.len() {
            shortened.push((parent, stay.clone()));
        }
    });
    for (parent, stay) in shortened {
        if stay.is_empty() {
            world.remove::<Buffer<Child>>(parent)?;
        } else {
            world.buffer_mut::<Child>(parent)?.copy_from(&stay);
        }
    }
    let mut lost = Vec::new();
    world.query_filtered::<(Entity, &PreviousParent), All>().for_each(|(child, previous)| {
        if !previous.0.is_null() && !marks.has_mark(child, listed) {
            lost.push((child, previous.0));
        }
    });
    for (child, old) in lost {
        if world.get(child) != Ok(&Parent(old)) {
            // The child leaves this parent in this update, which reports that no buffer lists the child. The update reports nothing
            // if the child has swapped its components, or if there is no buffer to leave.
            if marks.has_mark(child, elsewhere) || !world.has::<Buffer<Child>>(old) {
                world.get_mut::<PreviousParent>(child)?.0 = Entity::NULL;
            }
            continue;
        }
        if is_missing(world, old) {
            world.remove::<(Parent, PreviousParent)>(child)?;
        } else {
            world.get_mut::<PreviousParent>(child)?.0 = Entity::NULL;
            waiting.push(child);
        }
    }
    Ok(())
}
