//! Despawning targets and sources.

use std::collections::BTreeSet;

use ancho_entities::{Buffer, Component, Disabled, Entity, LinkedEntityGroup, Prefab, World};

use super::{ChildOf, Children, Likes, TargetedBy, Targets};
use crate::common::*;

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(name = "game::Remains", cleanup)]
struct Remains;

/// Spawns a tree with `width` children on each of `depth` levels. Returns the entities, depth first.
pub(super) fn tree(world: &mut World, width: usize, depth: usize) -> Vec<Entity> {
    fn grow(world: &mut World, node: Entity, width: usize, depth: usize, all: &mut Vec<Entity>) {
        all.push(node);
        for _ in 0..if depth == 0 { 0 } else { width } {
            let child = world.spawn(ChildOf(node));
            grow(world, child, width, depth - 1, all);
        }
    }
    let root = world.spawn(());
    let mut all = Vec::new();
    grow(world, root, width, depth, &mut all);
    all
}

#[test]
fn linked_sources_are_despawned_with_their_target() {
    let mut world = world();
    let all = tree(&mut world, 3, 3);
    let stranger = world.spawn(());
    assert_eq!(world.despawn(all[0]), Ok(true));
    assert_eq!(world.all_entities(), [stranger]);
}

#[test]
fn a_branch_leaves_the_buffer_of_its_parent() {
    let mut world = world();
    let all = tree(&mut world, 2, 2);
    world.despawn(all[1]).unwrap();
    assert_eq!(world.sources::<ChildOf>(all[0]), [all[4]]);
    assert_eq!(world.entity_count(), 4);
}

#[test]
fn a_detached_child_remains() {
    let mut world = world();
    let all = tree(&mut world, 2, 1);
    world.remove::<ChildOf>(all[1]).unwrap();
    world.despawn(all[0]).unwrap();
    assert_eq!(world.all_entities(), [all[1]]);
}

#[test]
fn other_sources_lose_the_link() {
    let mut world = world();
    let target = world.spawn(());
    let hunters: Vec<_> =
        world.spawn_many((A(1), Targets { enemy: target }, Likes(target)), 100).collect();
    let deep = tree(&mut world, 1, 1);
    world.add(deep[0], ChildOf(target)).unwrap();
    world.spawn(Targets { enemy: deep[1] });
    assert_eq!(world.despawn(target), Ok(true));
    assert_eq!(world.entity_count(), 101);
    assert!(
        hunters.iter().all(|&hunter| !world.has::<Targets>(hunter) && !world.has::<Likes>(hunter))
    );
    assert!(hunters.iter().all(|&hunter| world.get::<A>(hunter) == Ok(&A(1))));
}

#[test]
fn a_despawned_source_leaves_all_buffers() {
    let mut world = world();
    let (parent, enemy) = (world.spawn(()), world.spawn(()));
    let source = world.spawn((ChildOf(parent), Targets { enemy }));
    world.despawn(source).unwrap();
    assert!(!world.has::<Buffer<Children>>(parent) && !world.has::<Buffer<TargetedBy>>(enemy));
}

#[test]
fn cleanup_components_keep_an_entity_without_links() {
    let mut world = world();
    let parent = world.spawn((A(1), Remains));
    let child = world.spawn((ChildOf(parent), Remains));
    let hunter = world.spawn(Targets { enemy: child });
    world.despawn(parent).unwrap();
    assert!(world.is_cleanup_only(parent) && world.is_cleanup_only(child));
    assert!(!world.has::<ChildOf>(child) && !world.has::<Buffer<Children>>(parent));
    assert!(!world.has::<Targets>(hunter));
    let error = world.add(hunter, ChildOf(parent)).unwrap_err().error;
    assert!(error.to_string().starts_with("A0072"), "{error}");
    assert_eq!(world.remove::<Remains>(child), Ok(true));
    assert!(!world.exists(child));
}

#[test]
fn groups_and_linked_sources_are_despawned_together_once() {
    let mut world = world();
    let all = tree(&mut world, 2, 1);
    let (member, below) = (world.spawn(()), world.spawn(()));
    world.add(below, ChildOf(member)).unwrap();
    let group = [all[0], member, all[2]].map(LinkedEntityGroup);
    world.add(all[0], Buffer::from(group)).unwrap();
    let stranger = world.spawn(Targets { enemy: below });
    assert_eq!(world.batch(&[all[0], all[1]]).despawn(), Ok(5));
    assert_eq!(world.all_entities(), [stranger]);
}

#[test]
fn members_of_a_group_leave_the_buffers_of_others() {
    let mut world = world();
    let outside = world.spawn(());
    let (root, member) = (world.spawn(()), world.spawn(ChildOf(outside)));
    world.add(root, Buffer::from([root, member].map(LinkedEntityGroup))).unwrap();
    let mut fork = world.fork();
    world.despawn(root).unwrap();
    assert!(!world.has::<Buffer<Children>>(outside));
    let roots = fork.query::<&Buffer<LinkedEntityGroup>>().to_entities();
    assert_eq!(roots, [root]);
    let query = ancho_entities::QueryDescriptor::new()
        .all([ancho_entities::ComponentType::of_buffer::<LinkedEntityGroup>()]);
    assert_eq!(fork.batch(&query).despawn(), Ok(2));
    assert!(!fork.has::<Buffer<Children>>(outside));
}

#[test]
fn cycles_of_a_relationship_that_allows_them_are_despawned_one_by_one() {
    let mut world = world();
    let (a, b) = (world.spawn(()), world.spawn(()));
    world.add(a, Targets { enemy: b }).unwrap();
    world.add(b, Targets { enemy: a }).unwrap();
    world.despawn(a).unwrap();
    assert!(world.exists(b) && !world.has::<Targets>(b));
}

#[test]
fn disabling_reaches_all_linked_descendants() {
    let mut world = world();
    let all = tree(&mut world, 2, 2);
    assert_eq!(world.set_enabled(all[0], false), Ok(true));
    assert!(all.iter().all(|&entity| !world.is_enabled(entity)));
    let newcomer = world.spawn(ChildOf(all[0]));
    assert!(world.is_enabled(newcomer), "children of a disabled parent are not disabled");
    assert_eq!(world.sources::<ChildOf>(all[0]), [all[1], all[4], newcomer]);
    assert_eq!(world.batch(&[all[0]]).set_enabled(true), Ok(7));
    assert!(all.iter().all(|&entity| world.is_enabled(entity)));
    world.set_enabled(all[1], false).unwrap();
    let disabled: BTreeSet<_> =
        all.iter().filter(|&&entity| world.has::<Disabled>(entity)).copied().collect();
    assert_eq!(disabled, BTreeSet::from([all[1], all[2], all[3]]));
}

#[test]
fn prefabs_and_disabled_entities_keep_their_links() {
    let mut world = world();
    let parent = world.spawn(Prefab);
    let child = world.spawn((ChildOf(parent), Disabled));
    assert_eq!(world.sources::<ChildOf>(parent), [child]);
    world.despawn(parent).unwrap();
    assert_eq!(world.entity_count(), 0);
}

#[test]
fn despawning_everything_needs_no_updates_of_links() {
    let mut world = world();
    tree(&mut world, 3, 3);
    assert_eq!(world.despawn_all(), Ok(40));
    let parent = world.spawn(Remains);
    world.spawn((ChildOf(parent), Remains));
    world.despawn_all().unwrap();
    assert_eq!(world.entity_count(), 2);
}

#[test]
fn a_deep_chain_is_despawned_without_recursion() {
    let mut world = world();
    let mut last = world.spawn(());
    for _ in 0..20_000 {
        last = world.spawn(ChildOf(last));
    }
    let root = world.root_of::<ChildOf>(last).unwrap();
    world.despawn(root).unwrap();
    assert_eq!(world.entity_count(), 0);
}

#[test]
fn a_source_that_takes_the_row_of_a_despawned_entity_leaves_no_empty_chunk() {
    let mut world = chunks_of(3);
    let enemy = world.spawn(A(0));
    let source = world.spawn((A(1), Targets { enemy }));
    // The chunk of entities without links is full, so that another one is opened for the source.
    let plain: Vec<_> = world.spawn_many(A(2), 3).collect();
    world.batch(&[enemy, plain[0]]).despawn().unwrap();
    world.check_invariants().unwrap();
    assert_eq!(world.target::<Targets>(source), None);
    assert_eq!(world.chunks().count(), 1);
}
