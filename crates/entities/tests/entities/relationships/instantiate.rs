//! Instances and copies of entities with links.

use ancho_entities::{Buffer, Disabled, LinkedEntityGroup, Prefab};

use super::despawn::tree;
use super::{ChildOf, Children, TargetedBy, Targets};
use crate::common::*;

#[test]
fn a_tree_is_instantiated_with_its_order() {
    let mut world = world();
    let all = tree(&mut world, 3, 2);
    world.sources_mut::<ChildOf>(all[0]).unwrap().reverse();
    for &entity in &all {
        world.add(entity, A(entity.index())).unwrap();
    }
    let number = |world: &Checked, entity| world.get::<A>(entity).unwrap().0;
    let expected: Vec<_> = world
        .descendants::<ChildOf>(all[0])
        .unwrap()
        .map(|entity| number(&world, entity))
        .collect();
    let instances: Vec<_> = world.instantiate_many(all[0], 3).unwrap().collect();
    assert_eq!(world.entity_count(), 13 * 4);
    for instance in instances {
        let found: Vec<_> = world
            .descendants::<ChildOf>(instance)
            .unwrap()
            .map(|entity| number(&world, entity))
            .collect();
        assert_eq!(found, expected);
        assert!(!world.has::<ChildOf>(instance));
    }
}

#[test]
fn links_to_other_entities_stay_and_the_targets_gain_a_source() {
    let mut world = world();
    let (outside, enemy) = (world.spawn(()), world.spawn(()));
    let all = tree(&mut world, 1, 1);
    world.add(all[0], ChildOf(outside)).unwrap();
    world.add(all[1], Targets { enemy }).unwrap();
    let instances: Vec<_> = world.instantiate_many(all[0], 2).unwrap().collect();
    assert_eq!(world.sources::<ChildOf>(outside), [all[0], instances[0], instances[1]]);
    assert_eq!(world.sources::<Targets>(enemy).len(), 3);
}

#[test]
fn other_sources_of_the_original_are_not_copied() {
    let mut world = world();
    let all = tree(&mut world, 2, 1);
    let hunter = world.spawn(Targets { enemy: all[0] });
    // A link inside of the tree, which is not linked.
    world.add(all[2], Targets { enemy: all[0] }).unwrap();
    world.spawn(Targets { enemy: all[1] });
    let instance = world.instantiate(all[0]).unwrap();
    let children = world.sources::<ChildOf>(instance).to_vec();
    assert_eq!(world.sources::<Targets>(instance), [children[1]]);
    assert_eq!(world.sources::<Targets>(all[0]), [hunter, all[2]]);
    assert!(!world.has::<Buffer<TargetedBy>>(children[0]));
}

#[test]
fn groups_come_first_and_each_entity_is_instantiated_once() {
    let mut world = world();
    let all = tree(&mut world, 2, 1);
    let member = world.spawn(ChildOf(all[0]));
    let stranger = world.spawn(A(9));
    let group = [all[0], stranger, member].map(LinkedEntityGroup);
    world.add(all[0], Buffer::from(group)).unwrap();
    let instance = world.instantiate(all[0]).unwrap();
    assert_eq!(world.entity_count(), 10);
    assert_eq!(world.sources::<ChildOf>(instance).len(), 3);
    assert_eq!(world.buffer::<LinkedEntityGroup>(instance).unwrap().len(), 3);
}

#[test]
fn prefab_trees_become_instances_and_disabled_entities_stay_disabled() {
    let mut world = world();
    let root = world.spawn(Prefab);
    let child = world.spawn((Prefab, Disabled, ChildOf(root)));
    world.spawn((Prefab, ChildOf(child)));
    let instance = world.instantiate(root).unwrap();
    let below: Vec<_> = world.descendants::<ChildOf>(instance).unwrap().collect();
    assert_eq!(below.len(), 2);
    assert!(below.iter().all(|&entity| !world.has::<Prefab>(entity)));
    assert!(!world.is_enabled(below[0]) && world.is_enabled(below[1]));
}

#[test]
fn copies_of_a_part_keep_the_links_of_the_part() {
    let mut world = world();
    let all = tree(&mut world, 2, 2);
    // A root, one of its two children, and a leaf below the other child.
    let map = world.copy_entities(&[all[0], all[1], all[5]]).unwrap();
    let copy = |at: usize| map.get(all[at]).unwrap();
    assert_eq!(world.sources::<ChildOf>(copy(0)), [copy(1)]);
    assert!(!world.has::<Buffer<Children>>(copy(1)));
    assert_eq!(world.target::<ChildOf>(copy(5)), Some(all[4]));
    assert_eq!(world.sources::<ChildOf>(all[4]), [all[5], all[6], copy(5)]);
}
