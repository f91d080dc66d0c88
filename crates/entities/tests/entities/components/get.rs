//! Reading, writing and testing for components.

use ancho_entities::{ComponentType, Entity, EntityError, Version};

use crate::common::{A, B, Tag, Text, both};

#[test]
fn a_value_can_be_read_and_written() {
    for mut world in both() {
        let entity = world.spawn((A(1), Text("one".into())));
        world.set(entity, A(2)).unwrap();
        assert_eq!(world.get(entity), Ok(&A(2)));
        world.set(entity, (Text("two".into()), A(3))).unwrap();
        assert_eq!(world.get(entity), Ok(&A(3)));
        world.get_mut::<Text>(entity).unwrap().0.push('!');
        assert_eq!(world.get(entity), Ok(&Text("two!".into())));
        world.set(entity, ()).unwrap();
    }
}

#[test]
fn a_component_that_is_not_there_is_an_error() {
    for mut world in both() {
        let entity = world.spawn(A(1));
        let before = world.state_hash();
        let b = ComponentType::of::<B>();
        let refused = EntityError::MissingComponent { entity, component: b };
        assert_eq!(world.get::<B>(entity), Err(refused));
        assert_eq!(world.get_mut::<B>(entity), Err(refused));
        let given_back = world.set(entity, (A(2), B(3))).unwrap_err();
        assert_eq!((given_back.error, given_back.value), (refused, (A(2), B(3))));
        assert_eq!(world.get_bytes(entity, b), Err(refused));
        assert_eq!(world.set_bytes(entity, b, &[0; 4]), Err(refused));
        assert_eq!(world.state_hash(), before);
        assert_eq!(world.get(entity), Ok(&A(1)));
    }
}

#[test]
fn an_entity_that_is_not_there_is_an_error() {
    for mut world in both() {
        let entity = world.spawn(A(1));
        world.despawn(entity).unwrap();
        let a = ComponentType::of::<A>();
        let refused = EntityError::NoSuchEntity { entity, slot_version: Some(2) };
        assert_eq!(world.get::<A>(entity), Err(refused));
        assert_eq!(world.get_mut::<A>(entity), Err(refused));
        assert_eq!(world.set(entity, A(2)).unwrap_err().error, refused);
        assert_eq!(world.get_bytes(entity, a), Err(refused));
        assert_eq!(world.set_bytes(entity, a, &[0; 4]), Err(refused));
        assert!(world.get::<A>(Entity::NULL).is_err());
    }
}

#[test]
fn writing_counts_as_a_change_and_reading_does_not() {
    for mut world in both() {
        let entity = world.spawn((A(1), B(2)));
        let version = |world: &ancho_entities::World| {
            let chunk = world.chunks().next().unwrap();
            (chunk.change_version::<A>().unwrap(), chunk.change_version::<B>().unwrap())
        };
        let first = Version::FIRST;
        let second = world.advance_version();
        world.get::<A>(entity).unwrap();
        assert_eq!(version(&world), (first, first));
        world.set(entity, A(2)).unwrap();
        assert_eq!(version(&world), (second, first));
        let third = world.advance_version();
        // Also without an actual write.
        world.get_mut::<B>(entity).unwrap();
        assert_eq!(version(&world), (second, third));
        // A refused call is no change.
        world.advance_version();
        world.set(entity, (A(3), Tag)).unwrap_err();
        assert_eq!(version(&world), (second, third));
    }
}

#[test]
fn has_tests_for_all_types_and_is_never_an_error() {
    for mut world in both() {
        let entity = world.spawn((A(1), Tag));
        assert!(world.has::<A>(entity) && world.has::<Tag>(entity));
        assert!(world.has::<(Tag, A)>(entity) && world.has::<()>(entity));
        assert!(!world.has::<B>(entity) && !world.has::<(A, B)>(entity));
        let (a, b) = (ComponentType::of::<A>(), ComponentType::of::<B>());
        assert!(world.has_type(entity, a) && !world.has_type(entity, b));
        world.despawn(entity).unwrap();
        for missing in [entity, Entity::NULL, Entity::from_parts(99, 1)] {
            assert!(!world.has::<A>(missing) && !world.has::<()>(missing));
            assert!(!world.has_type(missing, a));
        }
    }
}

#[test]
fn a_lookup_reads_one_component_of_many_entities() {
    for mut world in both() {
        let all: Vec<_> = world.spawn_batch((0..3000).map(A)).collect();
        for entity in all.iter().step_by(3) {
            world.add(*entity, Tag).unwrap();
        }
        let other = world.spawn(B(1));
        let seen = world.version();
        world.advance_version();
        let (lookup, tags) = (world.lookup::<&A>(), world.lookup::<&Tag>());
        for (number, entity) in (0..3000).zip(&all).rev() {
            assert_eq!(lookup.get(*entity), Some(&A(number)));
            // DIFFERENCE: a tag has a value, even in lookups.
            assert_eq!(
                (tags.get(*entity).is_some(), tags.has(*entity)),
                (number % 3 == 0, number % 3 == 0)
            );
        }
        assert!(lookup.get(other).is_none() && !lookup.has(Entity::NULL));
        // A lookup of many is the same as one by one, even for fewer entities than are prefetched.
        let mixed = [Entity::NULL, other, Entity::from_parts(5, 2), Entity::from_parts(1 << 30, 1)];
        let asked: Vec<_> = all.iter().rev().chain(&mixed).chain(&all[..40]).copied().collect();
        for asked in [&asked[..], &asked[2990..3010], &asked[..1], &[]] {
            let many = lookup.get_many(asked);
            assert_eq!(many.len(), asked.len());
            assert!(many.eq(asked.iter().map(|&entity| lookup.get(entity))));
            assert!(tags.get_many(asked).eq(asked.iter().map(|&entity| tags.get(entity))));
        }
        assert!(world.chunks().all(|chunk| !chunk.did_change::<A>(seen)));
    }
}
