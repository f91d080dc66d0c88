//! Ids: validity, and the order of allocation.

use ancho_entities::{Entity, EntityError};

use crate::common::{A, Text, both, world};

#[test]
fn an_id_is_a_pair_of_numbers_and_equal_if_both_are() {
    assert_eq!(size_of::<Entity>(), 8);
    let entity = Entity::from_parts(3, 4);
    assert_eq!((entity.index(), entity.version()), (3, 4));
    assert_ne!(entity, Entity::from_parts(3, 5));
    assert_ne!(entity, Entity::from_parts(2, 4));
    assert_eq!(Entity::from_bits(entity.to_bits()), entity);
    // DIFFERENCE: indices are unsigned. There are no negative ones for entities that a command buffer will create.
    assert_eq!(Entity::from_parts(u32::MAX, 1).index(), u32::MAX);
}

#[test]
fn the_null_entity_is_the_default_one_and_never_exists() {
    assert_eq!(Entity::default(), Entity::NULL);
    assert_eq!((Entity::NULL.index(), Entity::NULL.version()), (0, 0));
    for mut world in both() {
        assert!(!world.exists(Entity::NULL));
        let first = world.spawn(());
        assert_eq!(first.index(), Entity::NULL.index());
        assert!(!world.exists(Entity::NULL));
        world.despawn(first).unwrap();
        assert!(!world.exists(Entity::NULL));
    }
}

#[test]
fn versions_of_living_entities_begin_at_one() {
    let mut world = world();
    assert!(world.spawn_many(A(0), 1000).all(|entity| entity.version() == 1));
}

#[test]
fn a_destroyed_entity_stays_dead_when_its_index_is_used_again() {
    for mut world in both() {
        let old = world.spawn(A(1));
        assert!(world.exists(old));
        world.despawn(old).unwrap();
        assert!(!world.exists(old));
        let new = world.spawn(A(2));
        assert_eq!((new.index(), new.version()), (old.index(), old.version() + 1));
        assert!(world.exists(new) && !world.exists(old));
        assert!(world.get::<A>(old).is_err());
        assert_eq!(world.get(new), Ok(&A(2)));
    }
}

#[test]
fn an_entity_that_is_not_created_yet_does_not_exist() {
    for mut world in both() {
        let entity = world.spawn(A(1));
        let future = Entity::from_parts(entity.index(), entity.version() + 1);
        let next = Entity::from_parts(entity.index() + 1, 1);
        let beyond = Entity::from_parts(u32::MAX >> 1, 1);
        for missing in [future, next, beyond] {
            assert!(!world.exists(missing));
            let refused = world.add(missing, A(2)).unwrap_err();
            let EntityError::NoSuchEntity { entity, .. } = refused.error else {
                panic!("{}", refused.error);
            };
            assert_eq!((entity, refused.value), (missing, A(2)));
            assert!(refused.error.to_string().contains("has not created it"));
        }
    }
}

#[test]
fn the_index_that_was_freed_last_is_used_first() {
    let mut world = world();
    let [a, b, c] = [(); 3].map(|()| world.spawn(A(0)));
    world.despawn(b).unwrap();
    let again = world.spawn(A(0));
    assert_eq!(again, Entity::from_parts(b.index(), b.version() + 1));
    world.despawn(a).unwrap();
    world.despawn(c).unwrap();
    assert_eq!(world.spawn(A(0)).index(), c.index());
    assert_eq!(world.spawn(A(0)).index(), a.index());
    assert_eq!(world.spawn(A(0)).index(), 3);
}

#[test]
fn the_table_never_shrinks_and_its_indices_are_used_again() {
    let mut world = world();
    for round in 1..=3 {
        let all: Vec<_> = world.spawn_many(A(0), 10_000).collect();
        assert!(all.iter().all(|entity| entity.index() < 10_000 && entity.version() == round));
        assert_eq!(world.batch(&all).despawn(), Ok(10_000));
        assert!(all.iter().all(|entity| !world.exists(*entity)));
    }
}

#[test]
fn the_table_grows_and_keeps_everything() {
    let mut world = world();
    let first = world.spawn((A(7), Text("first".into())));
    let all: Vec<_> = world.spawn_batch((0..200_000).map(A)).collect();
    assert_eq!(world.get(first), Ok(&Text("first".into())));
    for (number, entity) in all.iter().enumerate() {
        assert_eq!(world.get(*entity), Ok(&A(number as u32)));
    }
    assert_eq!(world.entity_count(), 200_001);
}

#[test]
fn an_entity_without_components_exists() {
    // Entities that exist after their destruction are tested with cleanup components.
    for mut world in both() {
        let entity = world.spawn(A(1));
        world.remove::<A>(entity).unwrap();
        assert!(world.exists(entity));
        world.despawn(entity).unwrap();
        assert!(!world.exists(entity));
    }
}
