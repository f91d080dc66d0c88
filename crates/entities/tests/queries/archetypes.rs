//! The archetypes that queries match, and when.

use ancho_entities::{
    Absent, ComponentType, Disabled, Entity, IncludeDisabled, IncludePrefabs, Prefab, Present,
    QueryDescriptor, RuntimeType, With, Without,
};

use crate::common::*;

#[test]
fn archetypes_created_later_are_found() {
    let mut world = world();
    let query = QueryDescriptor::of::<&A, ()>();
    assert_eq!(query.query(&world).count(), 0);
    let first = world.spawn(A(1));
    assert_eq!(query.query(&world).to_entities(), [first]);
    let second = world.spawn((A(2), B(0)));
    let third = world.spawn((A(3), Tag));
    assert_eq!(query.query(&world).to_entities(), [first, second, third]);
    // More archetypes than bits in a word.
    let types: Vec<_> = (0..130_u32)
        .map(|at| {
            let name = format!("queries::archetypes::{at}");
            ComponentType::register(RuntimeType::new(name, 4, 4)).unwrap()
        })
        .collect();
    for ty in types {
        let entity = world.spawn(A(4));
        world.add_types(entity, &[ty]).unwrap();
        assert!(query.query(&world).matches(entity) && query.query(&world).mask().matches(entity));
    }
    assert_eq!(query.query(&world).count(), 133);
    let found = world.query::<&A>().iter().map(|a| a.0).sum::<u32>();
    assert_eq!(found, 6 + 130 * 4);
}

#[test]
fn entities_are_ordered_by_archetype_then_chunk_then_row() {
    let mut world = chunks_of(3);
    let mixed: Vec<Entity> = (0..20)
        .map(|at| if at % 2 == 0 { world.spawn(A(at)) } else { world.spawn((A(at), Tag)) })
        .collect();
    world.despawn(mixed[4]).unwrap();
    let by_chunk: Vec<Entity> =
        world.chunks().flat_map(|chunk| chunk.entities().to_vec()).collect();
    assert_eq!(world.query::<&A>().to_entities(), by_chunk);
    let values: Vec<u32> = by_chunk.iter().map(|&at| world.get::<A>(at).unwrap().0).collect();
    let mut walked = Vec::new();
    world.query::<&A>().for_each(|a| walked.push(a.0));
    assert_eq!(walked, values);
    assert_eq!(world.query::<&A>().iter().map(|a| a.0).collect::<Vec<_>>(), values);
}

#[test]
fn removing_and_adding_change_the_matches_immediately() {
    let mut world = world();
    let entity = world.spawn(A(1));
    let query = QueryDescriptor::of::<&A, Without<Tag>>();
    assert!(query.query(&world).matches(entity));
    world.add(entity, Tag).unwrap();
    assert!(!query.query(&world).matches(entity) && query.query(&world).is_empty());
    world.remove::<Tag>(entity).unwrap();
    assert!(query.query(&world).matches(entity));
    world.despawn(entity).unwrap();
    assert!(!query.query(&world).matches(entity) && query.query(&world).is_empty());
}

#[test]
fn prefabs_and_disabled_entities_are_skipped() {
    let mut world = world();
    let plain = world.spawn(A(0));
    let prefab = world.spawn((A(1), Prefab));
    let disabled = world.spawn((A(2), Disabled));
    let both = world.spawn((A(3), Prefab, Disabled));
    assert_eq!(world.query::<&A>().to_entities(), [plain]);
    assert_eq!(world.query_filtered::<&A, IncludePrefabs>().to_entities(), [plain, prefab]);
    assert_eq!(world.query_filtered::<&A, IncludeDisabled>().to_entities(), [plain, disabled]);
    let all = world.query_filtered::<&A, (IncludePrefabs, IncludeDisabled)>();
    assert_eq!(all.to_entities(), [plain, prefab, disabled, both]);
    // Naming a mark lifts its own exclusion only.
    assert_eq!(world.query_filtered::<&A, With<Prefab>>().to_entities(), [prefab]);
    assert_eq!(world.query_filtered::<&A, Present<Disabled>>().to_entities(), [disabled]);
    assert_eq!(world.query::<(&A, &Prefab)>().to_entities(), [prefab]);
    assert_eq!(world.query_filtered::<&A, With<(Prefab, Disabled)>>().to_entities(), [both]);
    // In `Any`, `Without` and `Absent`, naming a mark lifts nothing.
    assert_eq!(
        world.query_filtered::<&A, ancho_entities::Any<(Prefab, A)>>().to_entities(),
        [plain]
    );
    assert_eq!(world.query_filtered::<&A, Without<Prefab>>().to_entities(), [plain]);
    assert_eq!(world.query_filtered::<&A, Absent<Prefab>>().to_entities(), [plain]);
    assert_eq!(
        world.query_filtered::<&A, (Absent<Prefab>, IncludePrefabs)>().to_entities(),
        [plain]
    );
    let absent = world.query_filtered::<&A, (Absent<Prefab>, IncludeDisabled)>();
    assert_eq!(absent.to_entities(), [plain, disabled]);
    assert_eq!(world.query::<Option<&Prefab>>().to_entities(), [plain]);
}

#[test]
fn a_descriptor_works_in_any_world() {
    let query = QueryDescriptor::of::<(&mut A, Entity), ()>();
    let (mut one, mut other) = (world(), world());
    one.spawn((B(0), A(1)));
    other.spawn(Tag);
    other.spawn((A(10), Tag));
    other.spawn(A(20));
    for _ in 0..2 {
        one.query_mut::<(&mut A, Entity)>().for_each(|(a, _)| a.0 += 1);
        other.query_mut::<(&mut A, Entity)>().for_each(|(a, _)| a.0 += 1);
    }
    assert_eq!(one.query::<&A>().to_components(), Ok(vec![A(3)]));
    assert_eq!(other.query::<&A>().to_components(), Ok(vec![A(12), A(22)]));
    assert_eq!(query.query(&one).count(), 1);
    assert_eq!(one.query_mut::<(&mut A, Entity)>().into_iter().count(), 1);
}
