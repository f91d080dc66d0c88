//! Components that are removed and added in one move.

use std::sync::Arc;

use ancho_entities::{Component, EntityError, Shared};

use crate::common::{A, B, Link, Mesh, Owned, Tag, Text, both, strict, world};

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(enableable)]
struct Lamp(u32);

#[test]
fn there_is_no_archetype_in_between() {
    let mut world = world();
    let ids: Vec<_> = world.spawn_many((A(1), Text("a".into())), 3).collect();
    let archetypes = world.archetype_count();
    for &id in &ids {
        world.exchange::<Text, _>(id, (B(2), Tag)).unwrap();
        assert_eq!((world.get(id), world.get(id)), (Ok(&A(1)), Ok(&B(2))));
        assert!(world.has::<Tag>(id) && !world.has::<Text>(id));
    }
    assert_eq!(world.archetype_count(), archetypes + 1);
}

#[test]
fn values_are_dropped_once() {
    let mut world = world();
    let count = Arc::new(());
    let id = world.spawn((A(1), Owned(count.clone())));
    world.exchange::<(Owned, A), _>(id, Owned(count.clone())).unwrap();
    assert_eq!(Arc::strong_count(&count), 2);
    assert!(!world.has::<A>(id));
    // In place: all components are removed and added again.
    world.exchange::<Owned, _>(id, Owned(count.clone())).unwrap();
    assert_eq!(Arc::strong_count(&count), 2);
    world.exchange::<Owned, _>(id, B(1)).unwrap();
    assert_eq!(Arc::strong_count(&count), 1);
}

#[test]
fn components_that_are_missing_or_present_are_allowed_unless_the_world_is_strict() {
    let mut lenient = world();
    let id = lenient.spawn((A(1), B(2)));
    lenient.exchange::<Text, _>(id, A(7)).unwrap();
    assert_eq!((lenient.get(id), lenient.get(id)), (Ok(&A(7)), Ok(&B(2))));

    let mut strict = strict();
    let id = strict.spawn((A(1), B(2)));
    let missing = strict.exchange::<Text, _>(id, Tag).unwrap_err().error;
    assert!(matches!(missing, EntityError::MissingComponent { .. }), "{missing}");
    let present = strict.exchange::<A, _>(id, B(3)).unwrap_err();
    assert!(matches!(present.error, EntityError::AlreadyPresent { .. }), "{present}");
    assert_eq!(present.value, B(3));
    strict.exchange::<(A, B), _>(id, (A(5), Tag)).unwrap();
    assert_eq!((strict.get(id), strict.has::<B>(id)), (Ok(&A(5)), false));
}

#[test]
fn empty_sets_only_add_or_remove() {
    for mut world in both() {
        let id = world.spawn(A(1));
        world.exchange::<(), _>(id, B(1)).unwrap();
        world.exchange::<A, _>(id, ()).unwrap();
        assert!(world.has::<B>(id) && !world.has::<A>(id));
        world.despawn(id).unwrap();
        assert_eq!(world.exchange::<(), _>(id, Text("x".into())).unwrap_err().value.0, "x");
        assert!(world.exchange::<B, _>(id, ()).is_err());
        assert!(world.exchange::<B, _>(id, A(1)).is_err());
    }
}

#[test]
fn a_component_twice_is_an_error_and_changes_nothing() {
    let mut world = world();
    let id = world.spawn(A(1));
    let error = world.exchange::<A, _>(id, (B(1), B(2))).unwrap_err().error;
    assert!(matches!(error, EntityError::DuplicateComponent { .. }), "{error}");
    let error = world.exchange::<(A, A), _>(id, B(2)).unwrap_err().error;
    assert!(matches!(error, EntityError::DuplicateComponent { .. }), "{error}");
    assert_eq!((world.get(id), world.has::<B>(id)), (Ok(&A(1)), false));
}

#[test]
fn shared_values_and_enabled_bits_follow() {
    let mut world = world();
    let id = world.spawn((A(1), Shared::new(Mesh(1)), Lamp(1)));
    world.set_component_enabled::<Lamp>(id, false).unwrap();
    world.exchange::<Shared<Mesh>, _>(id, B(1)).unwrap();
    assert!(world.shared::<Mesh>(id).is_err());
    assert_eq!(world.is_component_enabled::<Lamp>(id), Ok(false));
    world.exchange::<(A, B), _>(id, Shared::new(Mesh(2))).unwrap();
    assert_eq!(world.shared(id), Ok(&Mesh(2)));
    world.exchange::<Shared<Mesh>, _>(id, (Shared::new(Mesh(3)), Link(id))).unwrap();
    assert_eq!((world.shared(id), world.get(id)), (Ok(&Mesh(3)), Ok(&Link(id))));
    world.exchange::<Lamp, _>(id, Lamp(2)).unwrap();
    assert_eq!(world.is_component_enabled::<Lamp>(id), Ok(false));
    world.exchange::<Link, _>(id, A(9)).unwrap();
    world.exchange::<Lamp, _>(id, Tag).unwrap();
    world.exchange::<Tag, _>(id, Lamp(3)).unwrap();
    assert_eq!(world.is_component_enabled::<Lamp>(id), Ok(true));
}

#[test]
fn forks_keep_their_values() {
    let mut world = world();
    let id = world.spawn((A(1), Text("a".into())));
    let fork = world.fork();
    world.exchange::<Text, _>(id, B(1)).unwrap();
    assert_eq!(fork.get(id), Ok(&Text("a".into())));
    assert!(!fork.has::<B>(id));
    fork.check_invariants().unwrap();
}
