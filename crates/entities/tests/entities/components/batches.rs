//! Batches over slices and over the members of groups.

use ancho_entities::{
    Buffer, ComponentType, Entity, EntityError, Linked, LinkedEntityGroup, World,
};

use crate::common::A;
use crate::enabled::bits::Engine;

/// Creates a world with a group of three, and another entity.
fn group() -> (World, [Entity; 4]) {
    let mut world = World::new("Simulation");
    let all: Vec<_> = world.spawn_many(A(20), 4).collect();
    let members: Buffer<LinkedEntityGroup> =
        all[..3].iter().map(|&member| LinkedEntityGroup(member)).collect();
    world.add(all[0], members).unwrap();
    (world, all.try_into().unwrap())
}

#[test]
fn the_members_of_a_group_are_changed_and_no_others() {
    let (mut world, all) = group();
    assert_eq!(world.batch(Linked(all[0])).add(Engine(1)).unwrap(), 3);
    assert_eq!(all.map(|entity| world.has::<Engine>(entity)), [true, true, true, false]);
    world.batch(Linked(all[0])).set((A(30), Engine(2))).unwrap();
    assert_eq!(all.map(|entity| world.get::<A>(entity).unwrap().0), [30, 30, 30, 20]);
    world.batch(Linked(all[0])).set_component_enabled::<Engine>(false).unwrap();
    assert_eq!(world.is_component_enabled::<Engine>(all[2]), Ok(false));
    assert_eq!(world.batch(Linked(all[0])).remove::<Engine>(), Ok(3));
    assert_eq!(world.batch(Linked(all[0])).set_enabled(false), Ok(3));
    assert_eq!(all.map(|entity| world.is_enabled(entity)), [false, false, false, true]);
    assert_eq!(world.batch(Linked(all[0])).despawn(), Ok(3));
    assert_eq!(world.all_entities(), [all[3]]);
    world.check_invariants().unwrap();
}

#[test]
fn an_entity_without_a_group_is_its_only_member() {
    let (mut world, all) = group();
    assert_eq!(world.batch(Linked(all[3])).despawn(), Ok(1));
    assert_eq!(world.entity_count(), 3);
    let missing = world.batch(Linked(all[3])).despawn().unwrap_err();
    assert!(matches!(missing, EntityError::NoSuchEntity { entity, .. } if entity == all[3]));
}

#[test]
fn an_entity_may_be_named_twice_and_none_changes_if_one_is_missing() {
    let (mut world, all) = group();
    assert_eq!(world.batch(&[all[3], all[1], all[3]]).add_types(&[engine()]), Ok(2));
    assert_eq!(world.batch(&all).remove_types(&[engine()]), Ok(2));
    world.despawn(all[3]).unwrap();
    assert!(world.batch(&all).add(Engine(1)).is_err());
    assert!(world.batch(&all).set(A(1)).is_err());
    assert!(world.batch(&all[..3]).set_component_enabled::<Engine>(true).is_err());
    assert!(all[..3].iter().all(|&entity| world.get(entity) == Ok(&A(20))));
    assert!(!world.has::<Engine>(all[0]));
}

fn engine() -> ComponentType {
    ComponentType::of::<Engine>()
}
