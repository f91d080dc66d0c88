//! Destroying one, some and all.

use std::sync::Arc;

use ancho_entities::{ChunkArena, Component, Entity, EntityError, WorldSettings};

use crate::common::{A, B, Checked, Text, both, chunks_of, strict, world};

#[derive(Component, Clone)]
struct Counted(#[field(opaque)] Arc<()>);

#[test]
fn despawning_a_missing_entity_is_no_error() {
    // As 1.x has it
    let mut world = world();
    let entity = world.spawn(A(1));
    let other = world.spawn(A(2));
    assert_eq!(world.despawn(entity), Ok(true));
    let before = world.state_hash();
    assert_eq!(world.despawn(entity), Ok(false));
    assert_eq!(world.despawn(Entity::NULL), Ok(false));
    assert_eq!(world.state_hash(), before);
    assert_eq!(world.batch(&[entity, other, Entity::NULL, other]).despawn(), Ok(1));
    assert_eq!(world.entity_count(), 0);
}

#[test]
fn despawning_a_missing_entity_is_an_error_in_a_strict_world() {
    // As 2018 has it
    let mut world = strict();
    let entity = world.spawn(A(1));
    let other = world.spawn(A(2));
    assert_eq!(world.despawn(entity), Ok(true));
    let before = world.state_hash();
    let refused = EntityError::NoSuchEntity { entity, slot_version: Some(2) };
    assert_eq!(world.despawn(entity), Err(refused));
    let null = world.despawn(Entity::NULL).unwrap_err();
    assert!(matches!(null, EntityError::NoSuchEntity { entity: Entity::NULL, .. }));
    assert_eq!(world.batch(&[other, entity]).despawn(), Err(refused));
    assert!(world.exists(other));
    assert_eq!(world.state_hash(), before);
}

#[test]
fn an_entity_may_be_named_twice_in_a_slice() {
    for mut world in both() {
        let all: Vec<_> = world.spawn_many(A(1), 5).collect();
        let named = [all[3], all[1], all[3], all[3], all[1]];
        assert_eq!(world.batch(&named).despawn(), Ok(2));
        assert_eq!(world.entity_count(), 3);
        assert_eq!(world.batch(&[]).despawn(), Ok(0));
    }
}

#[test]
fn slices_may_be_in_any_order_and_of_any_archetypes() {
    for mut world in both() {
        let mut all: Vec<_> = world.spawn_many(A(1), 100).collect();
        all.extend(world.spawn_many((A(1), B(2)), 100));
        let kept = all.split_off(150);
        let mut shuffled: Vec<_> = (0..150).map(|i| all[i * 77 % 150]).collect();
        shuffled.reverse();
        assert_eq!(world.batch(&shuffled).despawn(), Ok(150));
        let mut left = world.all_entities();
        left.sort();
        assert_eq!(left, kept);
    }
}

#[test]
fn all_entities_can_be_despawned_in_one_call() {
    for mut world in both() {
        let old = world.spawn(A(1));
        world.spawn_many((A(1), Text("x".into())), 1000);
        assert_eq!(world.despawn_all(), Ok(1001));
        assert_eq!((world.entity_count(), world.chunks().count()), (0, 0));
        assert_eq!(world.despawn_all(), Ok(0));
        assert!(!world.exists(old));
        let new = world.spawn(A(2));
        assert_eq!(new, Entity::from_parts(0, 2));
    }
}

#[test]
fn components_are_dropped_immediately_and_once() {
    for mut world in both() {
        let value = Arc::new(());
        let all: Vec<_> = world.spawn_many((A(0), Counted(value.clone())), 20).collect();
        assert_eq!(Arc::strong_count(&value), 21);
        world.despawn(all[3]).unwrap();
        assert_eq!(Arc::strong_count(&value), 20);
        world.batch(&all[10..15]).despawn().unwrap();
        assert_eq!(Arc::strong_count(&value), 15);
        world.remove::<Counted>(all[0]).unwrap();
        assert_eq!(Arc::strong_count(&value), 14);
        world.despawn_all().unwrap();
        assert_eq!(Arc::strong_count(&value), 1);
        world.spawn(Counted(value.clone()));
        drop(world);
        assert_eq!(Arc::strong_count(&value), 1);
    }
}

#[test]
fn the_memory_of_an_emptied_chunk_is_returned() {
    let arena = ChunkArena::new();
    let settings = WorldSettings::new().chunk_capacity_limit(10).arena(arena.clone());
    let mut world = Checked::with_settings(settings);
    let all: Vec<_> = world.spawn_many(A(1), 30).collect();
    assert_eq!(arena.stats().used, 3 * 16 * 1024);
    world.batch(&all[..9]).despawn().unwrap();
    assert_eq!(arena.stats().used, 3 * 16 * 1024);
    world.despawn(all[9]).unwrap();
    assert_eq!(arena.stats().used, 2 * 16 * 1024);
    world.despawn_all().unwrap();
    assert_eq!(arena.stats().used, 0);
}

#[test]
fn the_others_keep_their_values() {
    let mut world = chunks_of(8);
    let sets = (0..50).map(|number| (A(number), Text(number.to_string())));
    let all: Vec<_> = world.spawn_batch(sets).collect();
    for entity in all.iter().step_by(3) {
        world.despawn(*entity).unwrap();
    }
    for (number, entity) in (0..).zip(&all) {
        if number % 3 == 0 {
            assert!(!world.exists(*entity));
        } else {
            assert_eq!(world.get(*entity), Ok(&A(number)));
            assert_eq!(world.get(*entity), Ok(&Text(number.to_string())));
        }
    }
}
