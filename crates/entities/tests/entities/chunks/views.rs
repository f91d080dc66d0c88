//! Chunks as slices.

use std::collections::BTreeSet;

use ancho_entities::{ComponentType, EntityError};

use crate::common::{A, B, Tag, Text, both, chunks_of};

#[test]
fn a_chunk_lists_its_components() {
    for mut world in both() {
        world.spawn_many((A(1), Tag), 5);
        let archetype = world.archetype::<(A, Tag)>();
        let chunk = world.chunks().next().unwrap();
        assert_eq!((chunk.len(), chunk.entities().len()), (5, 5));
        assert_eq!(chunk.archetype(), archetype);
        assert_eq!(Ok(chunk.capacity()), world.archetype_capacity(archetype));
        assert_eq!(Ok(chunk.component_types()), world.component_types(archetype));
        assert!(chunk.has::<A>() && chunk.has::<Tag>() && !chunk.has::<B>());
    }
}

#[test]
fn a_component_may_be_in_some_chunks_only() {
    // DIFFERENCE: a missing column is `None`, not an empty array.
    for mut world in both() {
        world.spawn_many(A(1), 2);
        world.spawn_many((A(2), B(3)), 3);
        let found: Vec<_> = world
            .chunks()
            .map(|chunk| (chunk.slice::<A>().map(<[A]>::len), chunk.slice::<B>().map(<[B]>::len)))
            .collect();
        assert_eq!(found, [(Some(2), None), (Some(3), Some(3))]);
        let chunk = world.chunks().next().unwrap();
        assert_eq!(chunk.change_version::<B>(), None);
        assert!(!chunk.did_change::<B>(ancho_entities::Version::NEVER));
        assert_eq!(chunk.bytes(ComponentType::of::<B>()), None);
    }
}

#[test]
fn components_can_be_changed_chunk_by_chunk() {
    let mut world = chunks_of(4);
    let all: Vec<_> = world.spawn_batch((0..10).map(|n| (A(n), Text(n.to_string())))).collect();
    world.spawn(B(1));
    let mut lengths = Vec::new();
    world.for_each_chunk_mut(|mut chunk| {
        lengths.push(chunk.as_chunk().len());
        let first = chunk.as_chunk().entities()[0];
        match chunk.slice_mut::<A>() {
            Ok(a) => a.iter_mut().for_each(|a| a.0 += 100),
            Err(error) => {
                let component = ComponentType::of::<A>();
                assert_eq!(error, EntityError::MissingComponent { entity: first, component });
                return;
            }
        }
        chunk.slice_mut::<Text>().unwrap().iter_mut().for_each(|text| text.0.push('!'));
    });
    assert_eq!(lengths, [4, 4, 2, 1]);
    for (number, entity) in (0..).zip(all) {
        assert_eq!(world.get(entity), Ok(&A(number + 100)));
        assert_eq!(world.get(entity), Ok(&Text(format!("{number}!"))));
    }
}

#[test]
fn byte_slices_show_the_values() {
    for mut world in both() {
        world.spawn_batch([A(1), A(2)]);
        let chunk = world.chunks().next().unwrap();
        let expected = [1_u32.to_ne_bytes(), 2_u32.to_ne_bytes()].concat();
        assert_eq!(chunk.bytes(ComponentType::of::<A>()), Some(&expected[..]));
        world.spawn(Text("pointers".into()));
        let chunk = world.chunks().last().unwrap();
        assert_eq!(chunk.bytes(ComponentType::of::<Text>()), None);
    }
}

#[test]
fn a_chunk_has_a_unique_number_while_it_lives() {
    let mut world = chunks_of(2);
    let mut seen = BTreeSet::new();
    for round in 0..5 {
        let all: Vec<_> = world.spawn_many(A(round), 6).collect();
        let numbers: Vec<_> = world.chunks().map(|c| c.sequence_number()).collect();
        assert!(numbers.iter().all(|number| seen.insert(*number)), "used twice");
        world.set(all[0], A(9)).unwrap();
        world.despawn(all[1]).unwrap();
        let now: Vec<_> = world.chunks().map(|c| c.sequence_number()).collect();
        assert_eq!(now, numbers);
        world.despawn_all().unwrap();
    }
    // A fork has the same chunks under the same numbers.
    world.spawn_many(A(1), 6);
    let fork = world.fork();
    let numbers = |world: &ancho_entities::World| {
        world.chunks().map(|chunk| chunk.sequence_number()).collect::<Vec<_>>()
    };
    assert_eq!(numbers(&fork), numbers(&world));
}
