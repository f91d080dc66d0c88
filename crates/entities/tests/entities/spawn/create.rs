//! Creating none, one and many.

use ancho_entities::{Columns, Component, ComponentType, EntityError};

use crate::common::{A, B, C, Given, Hundred, Tag, Text, both, chunk_entities, chunks_of, world};

#[test]
fn an_entity_is_created_empty_from_values_or_from_an_archetype() {
    for mut world in both() {
        let empty = world.spawn(());
        let values = world.spawn((A(1), (Text("b".into()), Tag)));
        let archetype = world.archetype::<(A, B)>();
        let defaults = world.create(archetype).unwrap();
        assert_eq!(world.entity_count(), 3);
        assert!(!world.has::<A>(empty));
        assert_eq!(world.get(values), Ok(&A(1)));
        assert_eq!(world.get(values), Ok(&Text("b".into())));
        assert!(world.has::<Tag>(values));
        assert_eq!(world.get(defaults), Ok(&A(0)));
        assert_eq!(world.get(defaults), Ok(&B(0)));
    }
}

#[test]
fn nothing_else_is_added_to_an_entity() {
    // DIFFERENCE: no `Simulate` tag. An archetype lists exactly the requested types.
    let mut world = world();
    let entity = world.spawn(A(1));
    let archetype = world.entity_archetype(entity).unwrap();
    let types = world.component_types(archetype).unwrap();
    assert_eq!(types, [ComponentType::of::<A>()]);
    let empty = world.spawn(());
    let archetype = world.entity_archetype(empty).unwrap();
    assert_eq!(world.component_types(archetype), Ok(&[][..]));
}

#[test]
fn creating_zero_entities_does_nothing() {
    // DIFFERENCE: counts are `usize`, so none is negative.
    for mut world in both() {
        let archetype = world.archetype::<(A, Text)>();
        assert_eq!(world.spawn_many(A(1), 0).len(), 0);
        assert_eq!(world.spawn_batch(std::iter::empty::<A>()).len(), 0);
        assert_eq!(world.spawn_columns((Vec::<A>::new(),)).unwrap().len(), 0);
        assert_eq!(world.create_many(archetype, 0).unwrap().len(), 0);
        assert_eq!(world.entity_count(), 0);
        assert_eq!(world.chunks().count(), 0);
        assert_eq!(world.spawn(A(1)).index(), 0);
    }
}

#[test]
fn components_start_with_their_default() {
    // DIFFERENCE: the default of the type, where the reference has zero bytes.
    let mut world = world();
    let archetype = world.archetype::<(A, Hundred, Text, Tag)>();
    let all: Vec<_> = world.create_many(archetype, 10_000).unwrap().collect();
    assert_eq!(all.len(), 10_000);
    for entity in all {
        assert_eq!(world.get(entity), Ok(&A(0)));
        assert_eq!(world.get(entity), Ok(&Hundred(100)));
        assert_eq!(world.get(entity), Ok(&Text(String::new())));
        assert!(world.has::<Tag>(entity));
    }
}

#[test]
fn reused_memory_starts_with_defaults() {
    let mut world = world();
    let archetype = world.archetype::<(A, C)>();
    let old: Vec<_> = world.spawn_many((A(u32::MAX), C(u64::MAX)), 10_000).collect();
    world.batch(&old).despawn().unwrap();
    world.create_many(archetype, 10_000).unwrap();
    for chunk in world.chunks() {
        assert!(chunk.slice::<A>().unwrap().iter().all(|a| *a == A(0)));
        assert!(chunk.slice::<C>().unwrap().iter().all(|c| *c == C(0)));
    }
}

#[test]
fn a_component_without_a_default_needs_a_value() {
    // DIFFERENCE: a type may have no initial value.
    for mut world in both() {
        let archetype = world.archetype::<(A, Given)>();
        let component = ComponentType::of::<Given>();
        let refused = EntityError::NoInitialValue { component };
        assert_eq!(world.create(archetype), Err(refused));
        assert_eq!(world.create_many(archetype, 5).unwrap_err(), refused);
        assert_eq!(world.entity_count(), 0);
        world.spawn((A(1), Given(1)));
    }
}

#[test]
fn the_archetype_of_another_world_is_refused() {
    for [mut ours, mut theirs] in [both(), [world(), world()]] {
        ours.archetype::<A>();
        let archetype = theirs.archetype::<A>();
        let refused = EntityError::ForeignArchetype;
        assert_eq!(ours.create(archetype), Err(refused));
        assert_eq!(ours.create_many(archetype, 3).unwrap_err(), refused);
        assert_eq!(ours.entity_count(), 0);
    }
}

#[test]
fn entities_of_a_batch_are_in_chunk_order() {
    let mut world = chunks_of(10);
    let mut all = vec![world.spawn(A(0)), world.spawn(A(1)), world.spawn(A(2))];
    all.extend(world.spawn_many(A(3), 25));
    all.extend(world.spawn_batch((0..14).map(A)));
    let columns = (0..9).map(A).collect::<Vec<_>>();
    all.extend(world.spawn_columns((columns,)).unwrap());
    let archetype = world.archetype::<A>();
    all.extend(world.create_many(archetype, 12).unwrap());
    assert_eq!(chunk_entities(&world).concat(), all);
}

#[test]
fn a_batch_has_the_values_of_its_iterator() {
    let mut world = chunks_of(7);
    let many: Vec<_> = world.spawn_many((A(5), Text("same".into())), 20).collect();
    for entity in many {
        assert_eq!(world.get(entity), Ok(&A(5)));
        assert_eq!(world.get(entity), Ok(&Text("same".into())));
    }
    let sets = (0..20).map(|number| (A(number), Text(number.to_string())));
    let batch: Vec<_> = world.spawn_batch(sets).collect();
    let (a, text): (Vec<_>, Vec<_>) =
        (0..20).map(|number| (A(number), Text(number.to_string()))).unzip();
    let columns: Vec<_> = world.spawn_columns((text, a)).unwrap().collect();
    for all in [batch, columns] {
        for (number, entity) in (0..).zip(all) {
            assert_eq!(world.get(entity), Ok(&A(number)));
            assert_eq!(world.get(entity), Ok(&Text(number.to_string())));
        }
    }
}

#[test]
fn columns_are_vectors_arrays_or_slices_of_equal_length() {
    let mut world = world();
    let b = [B(3), B(4)];
    let boxed: Box<[C]> = vec![C(5), C(6)].into();
    let columns = (vec![A(1), A(2)], &b[..], boxed, [Tag, Tag]);
    let all: Vec<_> = world.spawn_columns(columns).unwrap().collect();
    assert_eq!(world.get(all[1]), Ok(&A(2)));
    assert_eq!(world.get(all[1]), Ok(&B(4)));
    assert_eq!(world.get(all[1]), Ok(&C(6)));
    assert!(world.has::<Tag>(all[0]));
    let before = world.state_hash();
    let refused = world.spawn_columns((vec![A(1), A(2)], vec![B(3)])).unwrap_err();
    assert_eq!(refused.value, (vec![A(1), A(2)], vec![B(3)]));
    let component = ComponentType::of::<B>();
    assert_eq!(refused.error, EntityError::WrongLength { component, expected: 2, found: 1 });
    assert_eq!(world.state_hash(), before);
}

/// A component of a size with a specialized write.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Place([f32; 3]);

#[test]
fn columns_can_be_computed_from_the_index() {
    for limit in [1, 3, 4, 7, 1000] {
        let mut world = chunks_of(limit);
        world.spawn((A(0), Text("before".into())));
        let columns = Columns::new(50)
            .with(|index| Text(index.to_string()))
            .with(|_| Tag)
            .with(|index| Place([index as f32, 0.5, -(index as f32)]))
            .with(|index| A(index as u32));
        let all: Vec<_> = world.spawn_columns(columns).unwrap().collect();
        assert_eq!((all.len(), world.entity_count()), (50, 51));
        for (number, &entity) in (0..).zip(&all) {
            assert_eq!(world.get(entity), Ok(&A(number)));
            assert_eq!(world.get(entity), Ok(&Text(number.to_string())));
            assert_eq!(world.get(entity), Ok(&Place([number as f32, 0.5, -(number as f32)])));
            assert!(world.has::<Tag>(entity));
        }
        let empty: Vec<_> = world.spawn_columns(Columns::new(3)).unwrap().collect();
        assert_eq!((empty.len(), world.entity_count()), (3, 54));
        assert_eq!(world.spawn_columns(Columns::new(0).with(|_| A(1))).unwrap().len(), 0);
        let twice = Columns::new(2).with(|_| A(1)).with(|_| A(2));
        let component = ComponentType::of::<A>();
        let refused = world.spawn_columns(twice).unwrap_err();
        assert_eq!(refused.error, EntityError::DuplicateComponent { component });
        assert_eq!(world.entity_count(), 54);
    }
}
