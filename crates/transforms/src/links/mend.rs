//! Buffers of children and previous parents that do not agree, since a program has done more than to write `Parent`.
//!
//! Parents and children leave for other worlds, and come from there, without each other: references to what is elsewhere are dead, or
//! null. A program can also remove the buffer of a parent, or the previous parent of a child. All of that changes how many there are, or
//! is counted as a transfer, so that all links are looked at only then. Entities that exchange their components are found by comparing the
//! chunks that have changed.

use ancho_entities::{
    Buffer, Changed, Entity, EntityError, IncludeDisabled, IncludePrefabs, Or, OrderChanged,
    QueryFilter, Version, With, World,
};

use super::is_gone;
use super::seen::Seen;
use crate::hierarchy::Hierarchy;
use crate::parent::{Child, Parent, PreviousParent};

/// The number of parents and children, and of transfers from and to other worlds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Census {
    parents: usize,
    children: usize,
    transfers: u64,
}

/// Also those that rest.
type All = (IncludeDisabled, IncludePrefabs);

impl Census {
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

/// Whether buffers and previous parents may disagree in chunks that have changed since, as after entities exchanged their components, or
/// a program removed children from the buffer of a parent.
///
/// Children that the hierarchy has with the same parent are listed there. Only the others are looked for in the buffers. A buffer of a
/// parent without children in the hierarchy counts as a disagreement: the parent is new, or all its children rest.
pub(super) fn links_disagree(
    world: &World,
    hierarchy: Option<&Hierarchy>,
    since: Version,
    seen: &mut Seen,
    suspects: &mut Vec<(Entity, Entity)>,
) -> bool {
    type Changes<T> = (All, Or<(OrderChanged, Changed<T>)>);
    let previous = world.lookup::<&PreviousParent>();
    let parents = world.query_filtered::<(Entity, &Buffer<Child>), Changes<Buffer<Child>>>();
    let disagree = parents.since(since).iter().any(|(parent, children)| {
        let is_child = |child| previous.get(child).is_some_and(|previous| previous.0 == parent);
        let known = hierarchy.map_or(0, |hierarchy| hierarchy.child_count(parent));
        // A buffer that the program added can stand for one that it removed elsewhere: the number of parents stays the same. A
        // buffer that is too short is one that the program has written, or added again.
        known == 0
            || children.len() < known
            || !children.iter().all(|&Child(child)| is_child(child))
    });
    if disagree {
        return true;
    }
    suspects.clear();
    let children = world.query_filtered::<(Entity, &PreviousParent), Changes<PreviousParent>>();
    children.since(since).for_each(|(child, &PreviousParent(parent))| {
        let known = hierarchy.and_then(|hierarchy| hierarchy.parent_of(child));
        if !parent.is_null() && known != Some(parent) {
            suspects.push((parent, child));
        }
    });
    suspects.sort_unstable();
    suspects.chunk_by(|a, b| a.0 == b.0).any(|group| {
        // A buffer may list anything if a program has written to it: only suspects are noted.
        let (suspected, listed) = (seen.next_round(), seen.next_round());
        for &(_, child) in group {
            seen.see(child, suspected);
        }
        for &Child(child) in world.buffer::<Child>(group[0].0).unwrap_or_default() {
            if seen.is_seen(child, suspected) {
                seen.see(child, listed);
            }
        }
        group.iter().any(|&(_, child)| !seen.is_seen(child, listed))
    })
}

/// Has the buffers list those that have the parent as their previous one, once each, and no others. Children of parents that are not
/// there lose them; children that are in no buffer are listed as waiting to come to one.
pub(super) fn mend(
    world: &mut World,
    seen: &mut Seen,
    waiting: &mut Vec<Entity>,
) -> Result<(), EntityError> {
    let (listed, elsewhere) = (seen.next_round(), seen.next_round());
    let (mut stay, mut shortened) = (Vec::new(), Vec::new());
    let previous = world.lookup::<&PreviousParent>();
    let mut parents = world.query_filtered::<(Entity, &Buffer<Child>), All>();
    parents.for_each(|(parent, children)| {
        stay.clear();
        stay.extend(children.iter().filter(|&&Child(child)| match previous.get(child) {
            Some(previous) if previous.0 == parent => seen.see(child, listed) != listed,
            Some(_) if !seen.is_seen(child, listed) => {
                seen.see(child, elsewhere);
                false
            }
            _ => false,
        }));
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
        if !previous.0.is_null() && !seen.is_seen(child, listed) {
            lost.push((child, previous.0));
        }
    });
    for (child, old) in lost {
        if world.get(child) != Ok(&Parent(old)) {
            // It leaves in this update. That it is in no buffer is reported there, unless it has exchanged its components, or there is
            // no buffer to leave.
            if seen.is_seen(child, elsewhere) || !world.has::<Buffer<Child>>(old) {
                world.get_mut::<PreviousParent>(child)?.0 = Entity::NULL;
            }
            continue;
        }
        if is_gone(world, old) {
            world.remove::<(Parent, PreviousParent)>(child)?;
        } else {
            world.get_mut::<PreviousParent>(child)?.0 = Entity::NULL;
            waiting.push(child);
        }
    }
    Ok(())
}
