//! The values of shared components: stored once, counted, listed, and dropped with their last chunk.

use std::sync::Arc;

use ancho_entities::{
    ChunkArena, Entity, EntityError, Shared, SharedComponent, World, WorldSettings,
};

use crate::common::{A, B, Checked, Tag, both, chunks_of, panic_message, world};
use crate::shared::components::{Caption, Counted, Mesh, Team, order, references, team, teams};

#[test]
fn a_world_stores_each_value_once() {
    for mut world in both() {
        let owner = Arc::new(());
        let counted = |number| Shared::new(Counted(number, owner.clone()));
        let all: Vec<_> = (0..100).map(|at| world.spawn((A(at), counted(at % 4)))).collect();
        assert_eq!(Arc::strong_count(&owner), 1 + 4);
        for (at, &entity) in (0..).zip(&all) {
            assert_eq!(world.shared::<Counted>(entity).unwrap().0, at % 4);
        }
        // The same allocation, not an equal value.
        let [first, other] =
            [all[1], all[97]].map(|entity| world.shared::<Counted>(entity).unwrap());
        assert!(std::ptr::eq(first, other));
    }
}

#[test]
fn values_are_dropped_with_the_last_chunk_that_has_them() {
    for mut world in both() {
        let owner = Arc::new(());
        let counted = |number| Shared::new(Counted(number, owner.clone()));
        let count = |world: &World| world.shared_reference_count(&Counted(1, Arc::default()));
        assert_eq!(count(&world), 0);
        let first = world.spawn(counted(1));
        assert_eq!((count(&world), Arc::strong_count(&owner)), (1, 2));
        let second = world.spawn((A(1), counted(1)));
        assert_eq!((count(&world), Arc::strong_count(&owner)), (2, 2));
        world.remove::<Shared<Counted>>(first).unwrap();
        assert_eq!((count(&world), Arc::strong_count(&owner)), (1, 2));
        world.despawn(second).unwrap();
        assert_eq!((count(&world), Arc::strong_count(&owner)), (0, 1));
        assert_eq!(world.shared_values::<Counted>().count(), 0);
    }
}

#[test]
fn a_chunk_counts_once_for_all_its_entities() {
    let mut world = chunks_of(10);
    world.spawn_many(team(7), 25);
    assert_eq!(references(&world, 7), 3);
    assert_eq!(references(&world, 8), 0);
}

#[test]
fn worlds_drop_each_value_once() {
    let owner = Arc::new(());
    for end in [
        (|world| drop(world)) as fn(Checked),
        |mut world| {
            world.despawn_all().unwrap();
        },
        |mut world| {
            let all = world.all_entities();
            world.batch(&all).despawn().unwrap();
            assert_eq!(world.chunks().count(), 0);
        },
        |mut world| {
            let fork = world.fork();
            drop(world);
            assert_eq!(fork.entity_count(), 60);
        },
    ] {
        let mut world = chunks_of(4);
        for number in 0..6 {
            let value = Shared::new(Counted(number, owner.clone()));
            world.spawn_many((A(1), value), 10);
        }
        assert_eq!(Arc::strong_count(&owner), 7);
        end(world);
        assert_eq!(Arc::strong_count(&owner), 1);
    }
}

#[test]
fn values_are_listed_with_the_default_first() {
    for mut world in both() {
        assert_eq!(teams(&world), [0], "the default exists, though no entity has it");
        assert_eq!(world.shared_values::<Mesh>().count(), 0, "there is no default");
        let [three, five, two] = [3, 5, 2].map(|number| world.spawn((A(number), team(number))));
        assert_eq!(teams(&world), [0, 3, 5, 2]);
        world.set_shared(five, Team(0)).unwrap();
        assert_eq!(teams(&world), [0, 3, 2]);
        world.despawn(three).unwrap();
        assert_eq!(teams(&world), [0, 2]);
        world.remove::<Shared<Team>>(two).unwrap();
        assert_eq!(teams(&world), [0]);
        assert_eq!(references(&world, 0), 1);
        // New values reuse freed slots, the last first.
        for number in [7, 8, 9] {
            world.spawn(team(number));
        }
        assert_eq!(teams(&world).len(), 4);
        world.despawn_all().unwrap();
        assert_eq!(teams(&world), [0]);
    }
}

#[test]
fn each_value_counts_added_and_removed_entities() {
    for mut world in both() {
        assert_eq!((order(&world, 1), order(&world, 2)), (0, 0));
        let first = world.spawn((A(1), team(1)));
        let second = world.spawn((A(1), team(1)));
        let (one, two) = (order(&world, 1), order(&world, 2));
        assert_eq!((one, two), (2, 0));
        world.spawn((B(1), team(2)));
        assert_eq!((order(&world, 1), order(&world, 2)), (2, 1));
        // A move counts for both values, and twice if both chunks have the value.
        world.set_shared(first, Team(2)).unwrap();
        assert_eq!((order(&world, 1), order(&world, 2)), (3, 2));
        world.add(second, Tag).unwrap();
        assert_eq!((order(&world, 1), order(&world, 2)), (5, 2));
        world.add(first, Tag).unwrap();
        assert_eq!((order(&world, 1), order(&world, 2)), (5, 4));
        // Writing and enabling do not count.
        world.get_mut::<A>(second).unwrap().0 = 7;
        assert_eq!(order(&world, 1), 5);
    }
}

#[test]
fn the_order_version_of_a_value_never_decreases() {
    let mut world = chunks_of(4);
    let mut last = [0; 3];
    for round in 0..30 {
        let all: Vec<_> = world.spawn_many((A(round), team(round % 3)), 9).collect();
        world.batch(&all[..4]).set_shared(Team((round + 1) % 3)).unwrap();
        world.batch(&all[2..7]).despawn().unwrap();
        if round % 5 == 4 {
            world.despawn_all().unwrap();
        }
        for value in 0..3 {
            let now = order(&world, value);
            let is_there = references(&world, value) > 0;
            assert!(now >= last[value as usize] || !is_there, "{round} {value}");
            if is_there {
                last[value as usize] = now;
            }
        }
    }
}

#[test]
fn values_may_own_memory_and_need_no_clone() {
    let mut world = world();
    let caption = |text: &str| Shared::new(Caption(text.into()));
    let entity = world.spawn((A(1), caption("a")));
    world.spawn_many((A(2), caption("b")), 10);
    let mut fork = world.fork();
    let second = world.instantiate(entity).unwrap();
    assert_eq!(world.shared(second), Ok(&Caption("a".into())));
    world.set_shared(entity, Caption("c".into())).unwrap();
    fork.set_shared(entity, Caption("d".into())).unwrap();
    assert_eq!(world.shared(entity), Ok(&Caption("c".into())));
    assert_eq!(fork.shared(entity), Ok(&Caption("d".into())));
}

#[test]
fn values_may_refer_to_entities() {
    // Moved and copied entities get a value with mapped references (`tests/worlds/transfer/shared_references.rs`), and commands
    // replace placeholders (`tests/commands/shared_values.rs`). An instance keeps the value. An opaque field is not
    // remapped.
    // DIFFERENCE: a type with entities that is not `Clone` does not compile (`tests/ui/shared`).
    #[derive(SharedComponent, Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[shared(name = "game::Origin")]
    struct Origin(Entity);

    #[derive(SharedComponent, Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[shared(name = "game::HiddenOrigin")]
    struct HiddenOrigin(#[field(opaque)] Entity);

    let mut world = world();
    let entity = world.spawn(A(1));
    let set = (Shared::new(Origin(entity)), Shared::new(HiddenOrigin(entity)));
    world.add(entity, set).map_err(|rejected| rejected.error).unwrap();
    let second = world.instantiate(entity).unwrap();
    assert_eq!(world.shared(second), Ok(&Origin(entity)));
    assert_eq!(world.shared(second), Ok(&HiddenOrigin(entity)));
    world.remap_references(|_| second).unwrap();
    assert_eq!(world.shared(second), Ok(&Origin(second)));
    assert_eq!(world.shared(second), Ok(&HiddenOrigin(entity)));
}

#[test]
fn the_state_hash_depends_on_values_and_not_on_their_indices() {
    let (mut left, mut right) = (world(), world());
    // One world has stored other values before.
    let passing = left.spawn((A(1), team(9)));
    left.set_shared(passing, Team(5)).unwrap();
    left.despawn(passing).unwrap();
    let passing = right.spawn((A(1), team(3)));
    right.despawn(passing).unwrap();
    for world in [&mut left, &mut right] {
        world.spawn((A(1), team(5)));
        world.spawn((A(1), team(6)));
    }
    assert_eq!(left.state_hash(), right.state_hash());
    let entity = right.all_entities()[1];
    right.set_shared(entity, Team(7)).unwrap();
    assert_ne!(left.state_hash(), right.state_hash());
}

#[test]
fn without_memory_nothing_changes() {
    let owner = Arc::new(());
    let arena = ChunkArena::with_limit(2 * 16 * 1024);
    let settings = WorldSettings::new().chunk_capacity_limit(4).arena(arena);
    let mut world = Checked::with_settings(settings);
    let counted = |number| Shared::new(Counted(number, owner.clone()));
    let all: Vec<_> = world.spawn_many((A(1), counted(1)), 8).collect();
    let before = world.state_hash();
    let is_full = |error| matches!(error, EntityError::OutOfMemory(_));
    assert!(is_full(world.try_spawn((A(1), counted(2))).unwrap_err().error));
    assert!(is_full(world.set_shared(all[1], Counted(2, owner.clone())).unwrap_err()));
    assert!(is_full(world.add(all[1], (B(1), counted(2))).unwrap_err().error));
    assert!(is_full(world.add(all[1], B(1)).unwrap_err().error));
    assert!(is_full(world.remove::<A>(all[1]).unwrap_err()));
    assert!(is_full(world.take::<Shared<Counted>>(all[1]).unwrap_err()));
    assert!(is_full(world.instantiate(all[1]).unwrap_err()));
    assert!(is_full(world.batch(&all[1..3]).set_shared(Counted(2, owner.clone())).unwrap_err()));
    let message = panic_message(|| world.spawn_many((A(1), counted(3)), 3).len());
    assert!(message.starts_with("A0056"), "{message}");
    let message = panic_message(|| world.spawn_batch([(A(1), counted(3))]).len());
    assert!(message.starts_with("A0056"), "{message}");
    assert_eq!(world.state_hash(), before);
    assert_eq!(Arc::strong_count(&owner), 2, "what was refused is gone");
    world.check_invariants().unwrap();
    // A chunk that only changes its value needs no memory.
    world.batch(&all[..4]).set_shared(Counted(2, owner.clone())).unwrap();
    assert_eq!(world.shared::<Counted>(all[3]).unwrap().0, 2);
}
