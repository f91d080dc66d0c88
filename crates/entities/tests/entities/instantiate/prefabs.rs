//! Prefabs, and disabled entities.
//!
//! The tests of queries cover that queries skip them.

use ancho_entities::{ComponentType, Disabled, Entity, EntityError, Prefab};

use crate::common::{A, B, Text, both, world};

#[test]
fn instances_are_no_prefabs() {
    for mut world in both() {
        let prefab = world.spawn((Prefab, A(1), Text("x".into())));
        let all: Vec<_> = world.instantiate_many(prefab, 20).unwrap().collect();
        for &entity in &all {
            assert!(!world.has::<Prefab>(entity));
            assert_eq!(world.get(entity), Ok(&A(1)));
            assert_eq!(world.get(entity), Ok(&Text("x".into())));
        }
        assert!(world.has::<Prefab>(prefab));
        let bare = world.spawn(Prefab);
        let instance = world.instantiate(bare).unwrap();
        let entities = &world;
        let archetype = entities.entity_archetype(instance).unwrap();
        assert_eq!(entities.component_types(archetype), Ok(&[][..]));
    }
}

#[test]
fn an_instance_equals_an_entity_without_the_tag() {
    let (mut left, mut right) = (world(), world());
    let prefab = left.spawn((A(1), B(2), Prefab));
    assert_eq!(right.spawn((A(1), B(2), Prefab)), prefab);
    let instance = left.instantiate(prefab).unwrap();
    assert_eq!(right.spawn((A(1), B(2))), instance);
    assert_eq!(left.state_hash(), right.state_hash());
}

#[test]
fn copies_of_worlds_keep_prefabs() {
    let mut world = world();
    let prefab = world.spawn((Prefab, A(1)));
    for copy in [world.fork(), world.duplicate()] {
        assert!(copy.has::<Prefab>(prefab));
    }
}

#[test]
fn instances_of_disabled_entities_are_disabled() {
    for mut world in both() {
        let source = world.spawn((Prefab, A(1)));
        assert_eq!(world.set_enabled(source, false), Ok(true));
        let all: Vec<_> = world.instantiate_many(source, 3).unwrap().collect();
        for &entity in &all {
            assert!(world.has::<Disabled>(entity) && !world.has::<Prefab>(entity));
            assert!(!world.is_enabled(entity));
        }
        assert_eq!(world.set_enabled(all[1], true), Ok(true));
        let enabled = all.iter().map(|&entity| world.is_enabled(entity));
        assert_eq!(enabled.collect::<Vec<_>>(), [false, true, false]);
    }
}

#[test]
fn entities_are_disabled_and_enabled_by_a_component() {
    for mut world in both() {
        let entity = world.spawn((A(1), Text("x".into())));
        let home = world.entity_archetype(entity);
        let entities = &mut world;
        assert!(entities.is_enabled(entity));
        // Setting the current state is neither a change nor an error, even in a strict world.
        assert_eq!(entities.set_enabled(entity, true), Ok(false));
        assert_eq!(entities.set_enabled(entity, false), Ok(true));
        assert_eq!(entities.set_enabled(entity, false), Ok(false));
        assert!(!entities.is_enabled(entity) && entities.has::<Disabled>(entity));
        assert_eq!(entities.get(entity), Ok(&A(1)));
        assert_eq!(entities.get(entity), Ok(&Text("x".into())));
        assert_eq!(entities.set_enabled(entity, true), Ok(true));
        assert_eq!(entities.entity_archetype(entity), home);
        // `Disabled` is a component like others.
        entities.add(entity, Disabled).unwrap();
        assert!(!entities.is_enabled(entity));
        assert!(entities.exists(entity));
        assert_eq!(entities.entity_count(), 1);
    }
}

#[test]
fn disabling_a_missing_entity_is_an_error() {
    for mut world in both() {
        let gone = world.spawn(A(1));
        world.despawn(gone).unwrap();
        for nobody in [gone, Entity::NULL] {
            for enabled in [false, true] {
                let result = world.set_enabled(nobody, enabled);
                assert!(matches!(result, Err(EntityError::NoSuchEntity { .. })));
            }
            assert!(!world.is_enabled(nobody));
        }
    }
}

#[test]
fn the_tags_are_not_enableable() {
    let mut world = world();
    let entity = world.spawn((Prefab, Disabled));
    for component in [ComponentType::of::<Prefab>(), ComponentType::of::<Disabled>()] {
        let refused = EntityError::NotEnableable { component };
        assert_eq!(world.set_type_enabled(entity, component, false), Err(refused));
    }
}
