//! Filters by shared values, and new shared values for all matches.

use ancho_entities::{Changed, OrderChanged, QueryDescriptor, Shared, Version, World};

use crate::common::*;

#[test]
fn chunks_are_filtered_by_value() {
    let mut world = world();
    let red: Vec<_> = world.spawn_many((A(1), Shared::new(Team(1))), 5).collect();
    let blue: Vec<_> = world.spawn_many((A(2), Shared::new(Team(2))), 6).collect();
    let tagged: Vec<_> = world.spawn_many((A(3), Tag, Shared::new(Team(2))), 2).collect();
    world.spawn_many(A(4), 7);
    let of = |team| world.query::<&A>().with_shared(Team(team));
    assert_eq!(of(1).to_entities(), red);
    assert_eq!(of(2).to_entities(), [blue.clone(), tagged].concat());
    // No entity has these values: the default, and one that was never used.
    assert!(of(0).is_empty() && of(9).is_empty());
    assert_eq!(of(2).count_unfiltered(), 20);
    assert!(of(2).matches(blue[0]) && !of(2).matches(red[0]));
    // A type that the world has not used yet.
    assert!(world.query::<&A>().with_shared(Mesh(1)).is_empty());
    assert!(!world.query::<&A>().with_shared(Mesh(1)).matches(red[0]));
    assert_eq!(world.query::<&A>().with_shared(Mesh(1)).get(red[0]), None);
}

#[test]
fn all_values_must_match() {
    let mut world = world();
    for team in 0..3 {
        for mesh in 0..3 {
            world.spawn((A(team * 10 + mesh), Shared::new(Team(team)), Shared::new(Mesh(mesh))));
        }
    }
    let query = world.query::<&A>().with_shared(Team(2)).with_shared(Mesh(1));
    assert_eq!(query.single(), Ok(&A(21)));
    assert!(query.with_shared(Team(1)).is_empty());
}

#[test]
fn a_filter_stays_and_follows_the_entities() {
    let mut world = world();
    let entity = world.spawn((A(0), Shared::new(Team(1))));
    let query = QueryDescriptor::of::<&A, ()>().with_shared(Team(7));
    assert!(query.query(&world).is_empty());
    world.set_shared(entity, Team(7)).unwrap();
    world.query_mut::<&mut A>().with_shared(Team(7)).for_each(|a| a.0 += 1);
    world.query_mut::<&mut A>().with_shared(Team(7)).for_each(|a| a.0 += 1);
    world.set_shared(entity, Team(1)).unwrap();
    world.query_mut::<&mut A>().with_shared(Team(7)).for_each(|a| a.0 += 1);
    assert_eq!(world.get(entity), Ok(&A(2)));
}

#[test]
fn values_and_changes_must_both_match() {
    let mut world = world();
    let red = world.spawn((A(1), Shared::new(Team(1))));
    let blue = world.spawn((A(2), Shared::new(Team(2))));
    let seen = world.version();
    world.advance_version();
    world.get_mut::<A>(red).unwrap().0 = 5;
    let query = |team| world.query_filtered::<&A, Changed<A>>().with_shared(Team(team)).since(seen);
    assert_eq!(query(1).to_entities(), [red]);
    assert!(query(2).is_empty() && !query(2).matches(blue));
}

/// Returns the number of chunks with added or removed rows since a version.
fn reordered(world: &World, since: Version) -> usize {
    let found = world.query_filtered::<(), OrderChanged>().since(since).to_entities();
    let is_found =
        |chunk: &ancho_entities::ArchetypeChunk<'_>| found.contains(&chunk.entities()[0]);
    world.chunks().filter(is_found).count()
}

#[test]
fn whole_chunks_get_another_value_in_place() {
    let mut world = chunks_of(10);
    let many: Vec<_> = world.spawn_many((A(1), X(0), Shared::new(Team(1))), 95).collect();
    let few: Vec<_> = world.spawn_many((A(2), X(0), Shared::new(Team(2))), 3).collect();
    let look = |world: &World| -> Vec<_> {
        let chunks = world.chunks();
        chunks.map(|chunk| (chunk.sequence_number(), chunk.entities().to_vec())).collect()
    };
    let events = |world: &World| world.component_order_version::<A>();
    let (before, came) = (look(&world), events(&world));
    assert_eq!(before.len(), 11);
    let seen = world.version();
    world.advance_version();
    // The three fit into the chunk of five, and the five beside the three.
    assert_eq!(
        world.batch(QueryDescriptor::of::<&A, ()>().with_shared(Team(2))).set_shared(Team(1)),
        Ok(3)
    );
    assert_eq!(world.batch(QueryDescriptor::of::<&A, ()>()).set_shared(Team(3)), Ok(98));
    assert_eq!(world.batch(QueryDescriptor::of::<&A, ()>()).add(Shared::new(Team(4))).unwrap(), 0);
    assert_eq!(look(&world), before);
    assert_eq!(reordered(&world, seen), 0);
    assert_eq!(events(&world), came);
    let set = world.query_filtered::<(), Changed<Shared<Team>>>().since(seen);
    assert_eq!(set.count(), 98, "it was written");
    assert_eq!(world.query_filtered::<(), Changed<A>>().since(seen).count(), 0);
    assert_eq!(world.query::<&A>().with_shared(Team(4)).count(), 98);
    // A match by enabled state splits a chunk.
    world.set_component_enabled::<X>(few[1], false).unwrap();
    let seen = world.version();
    world.advance_version();
    assert_eq!(world.batch(QueryDescriptor::of::<&X, ()>()).set_shared(Team(5)), Ok(97));
    assert_eq!(reordered(&world, seen), 2, "where two left, and where they came to");
    assert!(world.chunks().any(|chunk| chunk.entities() == [few[1]]));
    assert_eq!(world.query::<&X>().with_shared(Team(5)).count(), 97);
    assert_eq!(world.shared(few[1]), Ok(&Team(4)));
    assert_eq!(world.shared(many[94]), Ok(&Team(5)));
    assert!(events(&world) > came);
}

#[test]
fn values_count_chunks_that_get_them_in_place() {
    let mut world = chunks_of(10);
    let both = |team| (A(1), Shared::new(Team(team)), Shared::new(Mesh(1)));
    world.spawn_many(both(1), 10);
    world.spawn_many(both(2), 10);
    world.spawn_many(both(3), 10);
    let counts = |world: &World| -> Vec<u32> {
        let count = |team| world.shared_order_version(&Team(team));
        (1..4).map(count).chain([world.shared_order_version(&Mesh(1))]).collect()
    };
    let before = counts(&world);
    world.batch(QueryDescriptor::of::<&A, ()>().with_shared(Team(2))).set_shared(Team(1)).unwrap();
    let after = counts(&world);
    assert_eq!(after[0], before[0] + 1);
    assert_eq!(after[2..], before[2..], "entities with these neither came nor went");
    world.batch(QueryDescriptor::of::<&A, ()>().with_shared(Team(1))).set_shared(Team(3)).unwrap();
    assert_eq!(counts(&world)[2], before[2] + 2, "two chunks came");
    assert_eq!(counts(&world)[3], before[3]);
}
