//! Names of entities.

use ancho_entities::{Entity, EntityError};

use crate::common::{A, B, both, world};

#[test]
fn an_entity_can_have_a_name() {
    for mut world in both() {
        let entity = world.spawn(A(1));
        assert_eq!(world.entity_name(entity), None);
        world.set_name(entity, "Grishnákh").unwrap();
        assert_eq!(world.entity_name(entity), Some("Grishnákh"));
        world.set_name(entity, "").unwrap();
        assert_eq!(world.entity_name(entity), None);
    }
}

#[test]
fn names_have_any_length() {
    // DIFFERENCE: there is no fixed string, so nothing is cut off after 61 bytes.
    let mut world = world();
    let entity = world.spawn(());
    for length in [61, 62, 1000] {
        let name = "ü".repeat(length);
        world.set_name(entity, &name).unwrap();
        assert_eq!(world.entity_name(entity), Some(name.as_str()));
    }
}

#[test]
fn a_missing_entity_has_no_name() {
    for mut world in both() {
        let entity = world.spawn(());
        world.set_name(entity, "old").unwrap();
        world.despawn(entity).unwrap();
        assert_eq!(world.entity_name(entity), None);
        let refused = EntityError::NoSuchEntity { entity, slot_version: Some(2) };
        assert_eq!(world.set_name(entity, "new"), Err(refused));
        assert!(world.set_name(Entity::NULL, "null").is_err());
        // The next entity with the index has no name either.
        let next = world.spawn(());
        assert_eq!(next.index(), entity.index());
        assert_eq!(world.entity_name(next), None);
        world.set_name(next, "next").unwrap();
        world.despawn_all().unwrap();
        let last = world.spawn(());
        assert_eq!(world.entity_name(last), None);
    }
}

#[test]
fn a_name_follows_its_entity() {
    // Names follow moves, and are copied with the world.
    let mut world = world();
    let [first, second] = [world.spawn(A(1)), world.spawn(A(2))];
    world.set_name(second, "second").unwrap();
    let (fork, duplicate) = (world.fork(), world.duplicate());
    world.despawn(first).unwrap();
    world.add(second, B(1)).unwrap();
    world.remove::<A>(second).unwrap();
    assert_eq!(world.entity_name(second), Some("second"));
    world.set_name(second, "renamed").unwrap();
    assert_eq!(fork.entity_name(second), Some("second"));
    assert_eq!(duplicate.entity_name(second), Some("second"));
    assert_eq!(fork.entity_name(first), None);
}
