//! Removing components.

use ancho_entities::{ComponentType, Entity, EntityError};

use crate::common::{A, B, C, Tag, Text, both, strict, world};

#[test]
fn remove_returns_whether_a_component_was_present() {
    for mut world in both() {
        let entity = world.spawn((A(1), B(2), Text("kept".into())));
        assert_eq!(world.remove::<A>(entity), Ok(true));
        assert!(!world.has::<A>(entity));
        assert_eq!(world.get(entity), Ok(&B(2)));
        assert_eq!(world.get(entity), Ok(&Text("kept".into())));
        let b = ComponentType::of::<B>();
        assert_eq!(world.remove_types(entity, &[b]), Ok(true));
        assert!(!world.has::<B>(entity));
        assert_eq!(world.get(entity), Ok(&Text("kept".into())));
    }
}

#[test]
fn removing_a_missing_component_does_nothing() {
    // As 1.x has it
    let mut world = world();
    let entity = world.spawn(A(1));
    let dead = world.spawn(A(2));
    world.despawn(dead).unwrap();
    let before = world.state_hash();
    let b = ComponentType::of::<B>();
    assert_eq!(world.remove::<B>(entity), Ok(false));
    assert_eq!(world.remove_types(entity, &[b]), Ok(false));
    for missing in [dead, Entity::NULL] {
        assert_eq!(world.remove::<A>(missing), Ok(false));
        assert_eq!(world.remove_types(missing, &[b]), Ok(false));
    }
    assert_eq!(world.state_hash(), before);
    // Of a set, the existing components are removed.
    assert_eq!(world.remove::<(B, A, Tag)>(entity), Ok(true));
    assert!(!world.has::<A>(entity));
}

#[test]
fn removing_a_missing_component_is_an_error_in_a_strict_world() {
    // As 2018 has it
    let mut world = strict();
    let entity = world.spawn(A(1));
    let dead = world.spawn(A(2));
    world.despawn(dead).unwrap();
    let before = world.state_hash();
    let (a, b) = (ComponentType::of::<A>(), ComponentType::of::<B>());
    let refused = EntityError::MissingComponent { entity, component: b };
    assert_eq!(world.remove::<B>(entity), Err(refused));
    assert_eq!(world.remove::<(A, B)>(entity), Err(refused));
    assert_eq!(world.remove_types(entity, &[b]), Err(refused));
    assert_eq!(world.remove_types(entity, &[a, b]), Err(refused));
    let refused = EntityError::NoSuchEntity { entity: dead, slot_version: Some(2) };
    assert_eq!(world.remove::<A>(dead), Err(refused));
    assert_eq!(world.remove_types(dead, &[a]), Err(refused));
    assert!(world.remove::<A>(Entity::NULL).is_err());
    assert_eq!(world.state_hash(), before);
    assert!(world.has::<A>(entity));
}

#[test]
fn several_are_removed_in_one_move() {
    for mut world in both() {
        let entity = world.spawn((A(1), B(2), C(3), Text("kept".into())));
        let archetypes = world.archetype_count();
        assert_eq!(world.remove::<(C, A)>(entity), Ok(true));
        assert_eq!(world.archetype_count(), archetypes + 1);
        assert_eq!(world.component_order_version::<B>(), 3);
        assert_eq!(world.component_order_version::<A>(), 2);
        assert!(!world.has::<A>(entity) && !world.has::<C>(entity));
        assert_eq!(world.get(entity), Ok(&Text("kept".into())));
        // The last components as well: the entity has none.
        assert_eq!(world.remove::<(B, Text)>(entity), Ok(true));
        assert!(world.exists(entity));
    }
}

#[test]
fn removing_nothing_does_nothing() {
    for mut world in both() {
        let entity = world.spawn(A(1));
        let before = world.state_hash();
        assert_eq!(world.remove::<()>(entity), Ok(false));
        assert_eq!(world.remove_types(entity, &[]), Ok(false));
        assert_eq!(world.state_hash(), before);
    }
}

#[test]
fn a_component_can_be_taken() {
    for mut world in both() {
        let entity = world.spawn((A(1), Text("mine".into())));
        assert_eq!(world.take::<Text>(entity), Ok(Text("mine".into())));
        assert!(!world.has::<Text>(entity));
        let component = ComponentType::of::<Text>();
        let refused = EntityError::MissingComponent { entity, component };
        assert_eq!(world.take::<Text>(entity), Err(refused));
        assert_eq!(world.get(entity), Ok(&A(1)));
    }
}
