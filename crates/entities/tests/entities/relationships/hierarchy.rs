//! Methods for parents and children, and traversal.

use ancho_entities::{Buffer, Child, Component, Parent, Prefab};

use super::{ChildOf, Targets};
use crate::common::*;

#[test]
fn children_are_spawned_in_order_at_any_depth() {
    let mut world = world();
    let root = world.spawn(A(0));
    let mut names = Vec::new();
    world
        .entity_mut(root)
        .unwrap()
        .with_children(|root| {
            let first = root.spawn(A(1));
            root.with_children(first, |first| {
                assert_eq!(first.parent(), names.last().copied().unwrap_or(first.parent()));
                first.spawn(A(2));
            });
            names.push(root.spawn(A(3)));
        })
        .unwrap();
    let numbers = world.descendants::<Parent>(root).unwrap();
    let numbers: Vec<_> = numbers.map(|entity| world.get::<A>(entity).unwrap().0).collect();
    assert_eq!(numbers, [1, 2, 3]);
    assert_eq!(world.entity(root).unwrap().children().len(), 2);
    assert_eq!(world.entity(names[0]).unwrap().parent(), Some(root));
}

#[test]
fn children_of_a_prefab_are_prefabs() {
    let mut world = world();
    let root = world.spawn(Prefab);
    world
        .with_children(root, |root| {
            root.spawn(A(1));
            root.spawn((A(2), Prefab));
        })
        .unwrap();
    assert!(world.children(root).iter().all(|&child| world.has::<Prefab>(child)));
}

#[test]
fn children_are_inserted_moved_and_detached() {
    let mut world = world();
    let root = world.spawn(());
    let all: Vec<_> = world.spawn_many(A(1), 4).collect();
    let mut entity = world.entity_mut(root).unwrap();
    entity.add_child(all[0]).unwrap().add_child(all[1]).unwrap().add_child(all[0]).unwrap();
    assert_eq!(entity.children(), &all[..2], "its place is unchanged");
    entity.insert_child(0, all[2]).unwrap().insert_child(100, all[3]).unwrap();
    assert_eq!(entity.children(), [all[2], all[0], all[1], all[3]]);
    entity.insert_child(2, all[2]).unwrap();
    assert_eq!(entity.children(), [all[0], all[1], all[2], all[3]]);
    entity.children_mut().unwrap().sort_by(|_, left, right| right.cmp(&left));
    assert_eq!(entity.children(), [all[3], all[2], all[1], all[0]]);
    assert!(world.entity_mut(all[2]).unwrap().detach().unwrap());
    assert!(!world.entity_mut(all[2]).unwrap().detach().unwrap());
    let mut entity = world.entity_mut(root).unwrap();
    assert!(entity.detach_children().unwrap());
    assert!(entity.children().is_empty() && entity.children_mut().is_err());
    assert_eq!(world.entity_count(), 5);
}

#[test]
fn descendants_are_despawned_without_their_parent() {
    let mut world = world();
    let root = world.spawn(());
    let child = world.spawn(Parent(root));
    world.spawn_many(Parent(child), 3).for_each(drop);
    assert_eq!(world.entity_mut(root).unwrap().despawn_children(), Ok(4));
    assert_eq!(world.despawn_children(root), Ok(0));
    assert_eq!(world.all_entities(), [root]);
    assert!(!world.has::<Buffer<Child>>(root));
}

#[test]
fn a_comparison_that_panics_changes_nothing() {
    let mut world = world();
    let root = world.spawn(());
    let all: Vec<_> = world.spawn_many(Parent(root), 5).collect();
    let sort = std::panic::AssertUnwindSafe(|| {
        world.children_mut(root).unwrap().sort_by(|_, _, _| panic!("undecided"));
    });
    assert!(std::panic::catch_unwind(sort).is_err());
    assert_eq!(world.children(root), all);
}

#[test]
fn traversal_of_a_cycle_is_an_error() {
    let mut world = world();
    let all: Vec<_> = world.spawn_many(A(1), 4).collect();
    for (from, to) in [(0, 1), (1, 2), (2, 1)] {
        world.add(all[from], Targets { enemy: all[to] }).unwrap();
    }
    for &entity in &all[..3] {
        let error = world.ancestors::<Targets>(entity).unwrap_err();
        assert!(error.to_string().starts_with("A0140: cycle of `game::Targets`: "), "{error}");
        assert!(world.root_of::<Targets>(entity).is_err());
    }
    assert!(world.descendants::<Targets>(all[0]).unwrap().eq([]));
    assert!(world.descendants::<Targets>(all[2]).is_err());
    assert_eq!(world.root_of::<Targets>(all[3]), Ok(all[3]));
}

#[test]
fn lookups_traverse_links() {
    let mut world = world();
    let root = world.spawn(());
    let child = world.spawn(ChildOf(root));
    let leaf = world.spawn(ChildOf(child));
    let targets = world.lookup::<&ChildOf>();
    assert!(targets.ancestors(leaf).unwrap().eq([child, root]));
    assert_eq!(targets.root_of(leaf), Ok(root));
    drop(targets);
    let sources = world.lookup::<&Buffer<super::Children>>();
    assert!(sources.descendants(root).unwrap().eq([child, leaf]));
}

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(name = "game::Speed")]
struct Speed(u32);

#[test]
fn sorting_by_key_is_stable() {
    let mut world = world();
    let root = world.spawn(());
    let speeds = [3, 1, 2, 1].map(|speed| (Speed(speed), Parent(root)));
    let all: Vec<_> = world.spawn_batch(speeds).collect();
    let key = |world: &ancho_entities::EntityManager, child| world.get::<Speed>(child).unwrap().0;
    world.children_mut(root).unwrap().sort_by_key(key);
    assert_eq!(world.children(root), [all[1], all[3], all[2], all[0]]);
    world.children_mut(root).unwrap().swap(0, 3);
    assert_eq!(world.children(root), [all[0], all[3], all[2], all[1]]);
}
