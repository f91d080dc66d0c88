//! Components without bytes.

use ancho_entities::{ComponentType, EntityError};

use crate::common::{A, B, Tag, Text, both, strict, world};

#[test]
fn a_tag_takes_no_room() {
    for mut world in both() {
        let without = world.archetype::<(A, B)>();
        let with = world.archetype::<(A, Tag, B)>();
        assert_ne!(without, with);
        let capacity = world.archetype_capacity(without);
        assert_eq!(world.archetype_capacity(with), capacity);
    }
}

#[test]
fn a_tag_can_be_added_and_removed() {
    for mut world in both() {
        let entity = world.spawn(A(1));
        assert!(!world.has::<Tag>(entity));
        assert!(world.add(entity, Tag).unwrap());
        assert!(world.has::<Tag>(entity));
        assert_eq!(world.remove::<Tag>(entity), Ok(true));
        assert!(!world.has::<Tag>(entity));
        let tag = ComponentType::of::<Tag>();
        assert_eq!(world.add_types(entity, &[tag]), Ok(true));
        assert!(world.has_type(entity, tag));
        assert_eq!(world.remove_types(entity, &[tag]), Ok(true));
        assert_eq!(world.get(entity), Ok(&A(1)));
    }
}

#[test]
fn a_tag_has_a_value() {
    // DIFFERENCE: in Rust a zero-sized type has a value like any other, which can be read and set.
    for mut world in both() {
        let entity = world.spawn((A(1), Tag));
        assert_eq!(world.get(entity), Ok(&Tag));
        assert_eq!(*world.get_mut::<Tag>(entity).unwrap(), Tag);
        world.set(entity, Tag).unwrap();
        assert_eq!(world.chunks().next().unwrap().slice::<Tag>(), Some(&[Tag][..]));
        assert_eq!(world.take::<Tag>(entity), Ok(Tag));
        let component = ComponentType::of::<Tag>();
        assert_eq!(
            world.get::<Tag>(entity),
            Err(EntityError::MissingComponent { entity, component })
        );
    }
}

#[test]
fn adding_a_tag_leaves_the_neighbours_alone() {
    let mut world = world();
    let sets = (0..100).map(|number| (A(number), Text(number.to_string())));
    let all: Vec<_> = world.spawn_batch(sets).collect();
    for entity in all.iter().step_by(2) {
        assert!(world.add(*entity, Tag).unwrap());
        assert!(!world.add(*entity, Tag).unwrap());
    }
    for (number, entity) in (0..).zip(&all) {
        assert_eq!(world.get(*entity), Ok(&A(number)));
        assert_eq!(world.get(*entity), Ok(&Text(number.to_string())));
        assert_eq!(world.has::<Tag>(*entity), number % 2 == 0);
    }
}

#[test]
fn adding_a_tag_again_is_an_error_in_a_strict_world() {
    let mut world = strict();
    let entity = world.spawn(Tag);
    let component = ComponentType::of::<Tag>();
    let refused = world.add(entity, Tag).unwrap_err();
    assert_eq!(refused.error, EntityError::AlreadyPresent { entity, component });
}
