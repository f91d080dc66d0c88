//! Adding components.

use ancho_entities::{ComponentType, Entity, EntityError};

use crate::common::{A, B, C, Given, Hundred, Tag, Text, both, strict, world};

#[test]
fn add_returns_whether_a_component_is_new() {
    for mut world in both() {
        let entity = world.spawn(());
        assert!(world.add(entity, A(1)).unwrap());
        assert!(world.add(entity, (B(2), Text("c".into()))).unwrap());
        assert_eq!(world.get(entity), Ok(&A(1)));
        assert_eq!(world.get(entity), Ok(&B(2)));
        assert_eq!(world.get(entity), Ok(&Text("c".into())));
    }
}

#[test]
fn adding_a_value_replaces_the_present_one() {
    // As 1.x has it
    let mut world = world();
    let entity = world.spawn((A(1), Text("old".into())));
    assert!(!world.add(entity, A(2)).unwrap());
    assert_eq!(world.get(entity), Ok(&A(2)));
    // One component is new, the other is replaced.
    assert!(world.add(entity, (B(3), Text("new".into()))).unwrap());
    assert_eq!(world.get(entity), Ok(&Text("new".into())));
    assert_eq!(world.get(entity), Ok(&B(3)));
}

#[test]
fn adding_a_type_keeps_the_present_value() {
    // As 1.x has it
    let mut world = world();
    let entity = world.spawn((A(1), Hundred(7)));
    let [a, hundred, text] =
        [ComponentType::of::<A>(), ComponentType::of::<Hundred>(), ComponentType::of::<Text>()];
    assert_eq!(world.add_types(entity, &[a]), Ok(false));
    assert_eq!(world.add_types(entity, &[hundred, text, a]), Ok(true));
    assert_eq!(world.get(entity), Ok(&A(1)));
    assert_eq!(world.get(entity), Ok(&Hundred(7)));
    assert_eq!(world.get(entity), Ok(&Text(String::new())));
}

#[test]
fn a_type_that_is_added_begins_with_its_default() {
    for mut world in both() {
        let entity = world.spawn(A(1));
        let [hundred, given] = [ComponentType::of::<Hundred>(), ComponentType::of::<Given>()];
        assert_eq!(world.add_types(entity, &[hundred]), Ok(true));
        assert_eq!(world.get(entity), Ok(&Hundred(100)));
        let before = world.state_hash();
        let refused = EntityError::NoInitialValue { component: given };
        let tag = ComponentType::of::<Tag>();
        assert_eq!(world.add_types(entity, &[tag, given]), Err(refused));
        assert_eq!(world.state_hash(), before);
    }
}

#[test]
fn adding_a_present_component_is_an_error_in_a_strict_world() {
    // As 2018 has it
    let mut world = strict();
    let entity = world.spawn((A(1), Text("old".into())));
    let before = world.state_hash();
    let refused = |component: ComponentType| EntityError::AlreadyPresent { entity, component };
    let (a, text) = (ComponentType::of::<A>(), ComponentType::of::<Text>());
    let one = world.add(entity, A(2)).unwrap_err();
    assert_eq!((one.error, one.value), (refused(a), A(2)));
    let mixed = world.add(entity, (B(3), Text("new".into()))).unwrap_err();
    assert_eq!((mixed.error, mixed.value), (refused(text), (B(3), Text("new".into()))));
    assert_eq!(world.add_types(entity, &[a]), Err(refused(a)));
    let b = ComponentType::of::<B>();
    assert_eq!(world.add_types(entity, &[b, a]), Err(refused(a)));
    assert_eq!(world.add_bytes(entity, a, &[0; 4]), Err(refused(a)));
    assert_eq!(world.state_hash(), before);
    assert_eq!(world.get(entity), Ok(&A(1)));
    assert!(!world.has::<B>(entity));
}

#[test]
fn adding_to_a_missing_entity_is_an_error() {
    for mut world in both() {
        let entity = world.spawn(A(1));
        world.despawn(entity).unwrap();
        let refused = EntityError::NoSuchEntity { entity, slot_version: Some(2) };
        let given_back = world.add(entity, Text("mine".into())).unwrap_err();
        assert_eq!((given_back.error, given_back.value), (refused, Text("mine".into())));
        let a = ComponentType::of::<A>();
        assert_eq!(world.add_types(entity, &[a]), Err(refused));
        assert_eq!(world.add_bytes(entity, a, &[0; 4]), Err(refused));
        assert!(world.add(Entity::NULL, A(1)).is_err());
    }
}

#[test]
fn adding_nothing_does_nothing_and_still_needs_an_entity() {
    for mut world in both() {
        let entity = world.spawn(A(1));
        let (before, version) = (world.state_hash(), world.component_order_version::<A>());
        assert!(!world.add(entity, ()).unwrap());
        assert_eq!(world.add_types(entity, &[]), Ok(false));
        assert_eq!(world.state_hash(), before);
        assert_eq!(world.component_order_version::<A>(), version);
        world.despawn(entity).unwrap();
        assert!(world.add(entity, ()).is_err());
        assert!(world.add_types(entity, &[]).is_err());
    }
}

#[test]
fn a_set_is_added_in_one_move() {
    for mut world in both() {
        let entity = world.spawn(A(1));
        let archetypes = world.archetype_count();
        world.add(entity, (B(2), C(3), Tag)).unwrap();
        // No intermediate archetype with only some of them was created.
        assert_eq!(world.archetype_count(), archetypes + 1);
        assert_eq!(world.component_order_version::<A>(), 3);
        assert_eq!(world.component_order_version::<B>(), 1);
        assert_eq!(world.component_order_version::<C>(), 1);
        let entity = world.spawn(A(1));
        let types = [ComponentType::of::<B>(), ComponentType::of::<C>()];
        let archetypes = world.archetype_count();
        world.add_types(entity, &types).unwrap();
        assert_eq!(world.archetype_count(), archetypes + 1);
    }
}

#[test]
fn a_set_may_have_more_than_fifteen_types() {
    // DIFFERENCE: sets nest, so they have no size limit.
    use ancho_entities::Component;

    #[derive(Component, Clone, Copy, Debug, PartialEq)]
    struct Nth<const N: u32>(u32);

    let mut world = world();
    let entity = world.spawn(A(1));
    let first = (Nth::<0>(0), Nth::<1>(1), Nth::<2>(2), Nth::<3>(3), Nth::<4>(4), Nth::<5>(5));
    let second = (Nth::<6>(6), Nth::<7>(7), Nth::<8>(8), Nth::<9>(9), Nth::<10>(10), Nth::<11>(11));
    let third = (Nth::<12>(12), Nth::<13>(13), Nth::<14>(14), Nth::<15>(15), Nth::<16>(16));
    assert!(world.add(entity, (first, second, third)).unwrap());
    assert_eq!(world.component_order_version::<A>(), 3);
    assert_eq!(world.get(entity), Ok(&Nth::<0>(0)));
    assert_eq!(world.get(entity), Ok(&Nth::<16>(16)));
}
