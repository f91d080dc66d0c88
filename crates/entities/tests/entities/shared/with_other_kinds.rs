//! Shared components beside all other kinds.

use std::sync::Arc;

use ancho_entities::{
    Buffer, BufferElement, Component, Disabled, LinkedEntityGroup, Prefab, Shared, World,
};

use crate::common::{A, B, Owned, Text, both, chunks_of, world};
use crate::enabled::bits::Engine;
use crate::shared::components::{Registry, Team, team};

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(name = "together::Handle", cleanup)]
struct Handle(u32);

#[derive(BufferElement, Clone, Debug, PartialEq)]
#[buffer(name = "together::Item", inline = 2)]
struct Item(u32, String);

fn items(from: u32, count: u32) -> Buffer<Item> {
    (from..from + count).map(|number| Item(number, number.to_string())).collect()
}

#[test]
fn enabled_bits_follow_when_values_split_a_chunk() {
    for split in [1, 2, 3, 5, 7] {
        let mut world = chunks_of(70);
        let all: Vec<_> = world
            .spawn_batch((0..140).map(|number| (Engine(number), A(number), team(1))))
            .collect();
        let is_on = |number: usize| !number.is_multiple_of(3);
        for (number, &entity) in all.iter().enumerate() {
            let entities = &mut world;
            entities.set_component_enabled::<Engine>(entity, is_on(number)).unwrap();
        }
        let moved: Vec<_> = all.iter().copied().step_by(split + 1).collect();
        for &entity in &moved {
            world.set_shared(entity, Team(2)).unwrap();
        }
        // Neighbours together, then rows that fill the gaps.
        world.batch(&all[20..40]).set_shared(Team(3)).unwrap();
        for &entity in &all[..10] {
            world.despawn(entity).unwrap();
        }
        world.batch(&all[60..130]).set_shared(Team(4)).unwrap();
        for (number, &entity) in all.iter().enumerate().skip(10) {
            assert_eq!(world.get(entity), Ok(&Engine(number as u32)));
            let found = world.is_component_enabled::<Engine>(entity);
            assert_eq!(found, Ok(is_on(number)), "{split} {number}");
            let expected = match number {
                20..40 => 3,
                60..130 => 4,
                _ if moved.contains(&entity) => 2,
                _ => 1,
            };
            assert_eq!(world.shared(entity), Ok(&Team(expected)));
        }
        world.check_invariants().unwrap();
    }
}

#[test]
fn enabled_bits_stay_in_a_chunk_that_gets_another_value() {
    let mut world = chunks_of(8);
    let all: Vec<_> = world.spawn_many((Engine(1), team(1)), 8).collect();
    world.set_component_enabled::<Engine>(all[3], false).unwrap();
    world.batch(&all).set_shared(Team(2)).unwrap();
    let enabled = |world: &World| {
        all.iter().map(|&e| world.is_component_enabled::<Engine>(e).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(enabled(&world), [true, true, true, false, true, true, true, true]);
    // Swapping exchanges bits and shared values, too.
    let other = world.spawn((Engine(9), team(5)));
    world.swap_components(all[3], other).unwrap();
    assert_eq!(world.is_component_enabled::<Engine>(other), Ok(false));
    assert_eq!(world.is_component_enabled::<Engine>(all[3]), Ok(true));
    assert_eq!((world.shared(other), world.shared(all[3])), (Ok(&Team(2)), Ok(&Team(5))));
}

#[test]
fn buffers_move_with_their_entities_and_forks_keep_theirs() {
    let mut world = chunks_of(6);
    let all: Vec<_> = world
        .spawn_batch((0..20).map(|number| (items(number, number % 5), A(number), team(number % 2))))
        .collect();
    let mut forks = Vec::new();
    for round in 0..4 {
        let mut fork = world.fork();
        world.batch(&all[round * 3..round * 3 + 7]).set_shared(Team(round as u32)).unwrap();
        for &entity in all.iter().skip(round).step_by(3) {
            fork.set_shared(entity, Team(9)).unwrap();
            fork.buffer_mut::<Item>(entity).unwrap().push(Item(7, "fork".into()));
        }
        forks.push((round, fork));
    }
    for (number, &entity) in (0..).zip(&all) {
        assert_eq!(*world.buffer::<Item>(entity).unwrap(), *items(number, number % 5));
        for (round, fork) in &forks {
            let changed = number as usize >= *round && (number as usize - round).is_multiple_of(3);
            let expected = number % 5 + u32::from(changed);
            assert_eq!(fork.buffer::<Item>(entity).unwrap().len(), expected as usize);
            assert_eq!(fork.shared(entity) == Ok(&Team(9)), changed);
        }
    }
}

#[test]
fn forks_and_duplicates_have_separate_reference_counts() {
    let mut world = chunks_of(4);
    let all: Vec<_> = world.spawn_many((A(1), team(1)), 10).collect();
    let (mut fork, mut copy) = (world.fork(), world.duplicate());
    assert_eq!(fork.state_hash(), world.state_hash());
    world.despawn_all().unwrap();
    fork.set_shared(all[0], Team(2)).unwrap();
    copy.remove::<Shared<Team>>(all[1]).unwrap();
    let count = |world: &World, number| world.shared_reference_count(&Team(number));
    assert_eq!([1, 2].map(|number| count(&world, number)), [0, 0]);
    assert_eq!([1, 2].map(|number| count(&fork, number)), [3, 1]);
    assert_eq!([1, 2].map(|number| count(&copy, number)), [3, 0]);
    // The order of drops does not matter.
    drop(world);
    drop(copy);
    fork.batch(&all).set_shared(Team(3)).unwrap();
    assert!(all.iter().all(|&entity| fork.shared(entity) == Ok(&Team(3))));
}

#[test]
fn a_chunk_shared_with_a_fork_gets_another_value_without_a_copy() {
    let owner = Arc::new(());
    let mut world = chunks_of(4);
    let all: Vec<_> = world.spawn_many((Owned(owner.clone()), team(1)), 8).collect();
    let fork = world.fork();
    world.batch(&all[..4]).set_shared(Team(2)).unwrap();
    assert_eq!(world.set_shared(all[5], Team(1)), Ok(false));
    assert_eq!(Arc::strong_count(&owner), 9, "nothing was cloned");
    world.set_shared(all[5], Team(2)).unwrap();
    assert_eq!(Arc::strong_count(&owner), 13, "one chunk was");
    let values = |world: &World| {
        all.iter().map(|&entity| world.shared::<Team>(entity).unwrap().0).collect::<Vec<_>>()
    };
    assert_eq!(values(&world), [2, 2, 2, 2, 1, 2, 1, 1]);
    assert_eq!(values(&fork), [1; 8]);
}

#[test]
fn remains_are_grouped_by_their_cleanup_values() {
    for mut world in both() {
        let all: Vec<_> = (0..12)
            .map(|at| {
                let shared = (team(at % 2), Shared::new(Registry(at % 3)));
                world.spawn((A(at), Handle(at), items(at, 3), shared))
            })
            .collect();
        world.despawn_all().unwrap();
        assert_eq!(world.entity_count(), 12);
        let count = |world: &World| world.chunks().count();
        assert_eq!(count(&world), 3);
        for (at, &entity) in (0..).zip(&all) {
            assert_eq!(world.shared(entity), Ok(&Registry(at % 3)));
            assert_eq!(world.get(entity), Ok(&Handle(at)));
            assert!(!world.has::<Shared<Team>>(entity) && !world.has::<Buffer<Item>>(entity));
        }
        // A cleanup-only entity may get more components, and exists until they are removed.
        world.add(all[0], Shared::new(Team(5))).unwrap();
        world.remove::<(Handle, Shared<Registry>)>(all[0]).unwrap();
        assert_eq!(world.shared(all[0]), Ok(&Team(5)));
        world.remove::<Shared<Team>>(all[0]).unwrap();
        assert!(!world.exists(all[0]));
        for &entity in &all[1..] {
            world.remove::<(Handle, Shared<Registry>)>(entity).unwrap();
        }
        assert_eq!((world.entity_count(), count(&world)), (0, 0));
    }
}

#[test]
fn groups_are_instantiated_with_their_values() {
    let mut world = world();
    let root = world.spawn((Prefab, A(1), team(1)));
    let member = world.spawn((Prefab, B(1), team(2), Shared::new(Registry(1))));
    let members = [LinkedEntityGroup(root), LinkedEntityGroup(member)];
    world.add(root, Buffer::from(members)).unwrap();
    let copy = world.instantiate(root).unwrap();
    let copied = world.buffer::<LinkedEntityGroup>(copy).unwrap()[1].0;
    assert_eq!((world.shared(copy), world.shared(copied)), (Ok(&Team(1)), Ok(&Team(2))));
    assert!(!world.has::<Shared<Registry>>(copied) && !world.has::<Prefab>(copied));
    world.set_enabled(copy, false).unwrap();
    assert!(world.has::<Disabled>(copied));
    assert_eq!(world.shared(copied), Ok(&Team(2)));
    world.despawn(copy).unwrap();
    assert!(!world.exists(copied));
    assert_eq!(world.shared_reference_count(&Team(2)), 1);
}

#[test]
fn names_stay_with_their_entities() {
    let mut world = world();
    let (one, other) = (world.spawn((A(1), team(1))), world.spawn((A(2), team(2))));
    world.set_name(one, "one").unwrap();
    world.set_shared(one, Team(3)).unwrap();
    world.swap_components(one, other).unwrap();
    assert_eq!(world.entity_name(one), Some("one"));
    assert_eq!((world.get(one), world.shared(one)), (Ok(&A(2)), Ok(&Team(2))));
}

#[test]
fn each_value_is_dropped_once() {
    let owner = Arc::new(());
    let mut world = chunks_of(5);
    let set = |number| (Owned(owner.clone()), Text("x".into()), team(number));
    let all: Vec<_> = world.spawn_batch((0..40).map(|at| set(at % 4))).collect();
    for &entity in &all {
        world.set(entity, (Owned(owner.clone()), team(1))).unwrap();
    }
    assert_eq!(Arc::strong_count(&owner), 41);
    for &entity in all.iter().step_by(2) {
        world.add(entity, set(2)).unwrap();
    }
    world.batch(&all[3..30]).set_shared(Team(7)).unwrap();
    assert_eq!(Arc::strong_count(&owner), 41);
    for &entity in &all[..10] {
        world.take::<(Shared<Team>, Owned)>(entity).unwrap();
    }
    assert_eq!(Arc::strong_count(&owner), 31);
    world.batch(&all[5..20]).despawn().unwrap();
    assert_eq!(Arc::strong_count(&owner), 21);
    drop(world);
    assert_eq!(Arc::strong_count(&owner), 1);
}
