//! Chunks that keep their rows when a query adds components to all of them, or removes some.

use ancho_entities::{Changed, Entity, Present, QueryDescriptor, Shared, World};

use crate::common::*;

/// Returns the chunk and row of an entity.
fn place(world: &World, entity: Entity) -> (u32, usize) {
    let info = world.storage_info().get(entity).unwrap();
    (info.chunk_number(), info.row())
}

fn places(world: &World, entities: &[Entity]) -> Vec<(u32, usize)> {
    entities.iter().map(|&entity| place(world, entity)).collect()
}

/// Spawns entities with distinct values, and disables one component of some.
fn filled(world: &mut World, count: u32) -> Vec<Entity> {
    let set = |at: u32| (A(at), X(at), Text(at.to_string()));
    let all: Vec<_> = world.spawn_batch((0..count).map(set)).collect();
    for &entity in all.iter().step_by(7) {
        world.set_component_enabled::<X>(entity, false).unwrap();
    }
    all
}

/// Checks that all entities have their initial values.
fn check(world: &World, all: &[Entity]) {
    for (at, &entity) in (0..).zip(all) {
        assert_eq!(world.get(entity), Ok(&A(at)));
        assert_eq!(world.get(entity), Ok(&X(at)));
        assert_eq!(world.get(entity), Ok(&Text(at.to_string())));
        assert_eq!(world.is_component_enabled::<X>(entity), Ok(at % 7 != 0));
    }
    world.check_invariants().unwrap();
}

#[test]
fn rows_stay_in_place_if_the_changed_components_fit() {
    let mut world = world();
    let all = filled(&mut world, 3000);
    let before = places(&world, &all);
    assert_eq!(world.batch(QueryDescriptor::of::<&A, Present<X>>()).add((B(5), Y)).unwrap(), 3000);
    check(&world, &all);
    assert!(all.iter().all(|&entity| world.get(entity) == Ok(&B(5))));
    assert!(all.iter().all(|&entity| world.is_component_enabled::<Y>(entity) == Ok(true)));
    let with = places(&world, &all);
    let moved = before.iter().zip(&with).filter(|(before, with)| before != with).count();
    assert!(moved > 0 && moved < 1500, "{moved} of 3000 moved");
    // Now all rows have room, and never move again.
    for value in 0..4 {
        assert_eq!(world.batch(QueryDescriptor::of::<&A, Present<X>>()).remove::<B>(), Ok(3000));
        check(&world, &all);
        assert_eq!(places(&world, &all), with);
        assert_eq!(
            world.batch(QueryDescriptor::of::<&A, Present<X>>()).add(B(value)).unwrap(),
            3000
        );
        check(&world, &all);
        assert_eq!(places(&world, &all), with);
        assert!(all.iter().all(|&entity| world.get(entity) == Ok(&B(value))));
    }
}

#[test]
fn chunks_that_would_be_mostly_empty_are_merged() {
    let mut world = world();
    let all: Vec<_> = world.spawn_batch((0..2000).map(A)).collect();
    world.batch(QueryDescriptor::of::<&A, ()>()).add(Large([3; 64])).unwrap();
    let large = world.chunks().count();
    world.batch(QueryDescriptor::of::<&A, ()>()).remove::<Large>().unwrap();
    let small = world.chunks().count();
    assert!(small * 4 < large, "{small} of {large} chunks");
    assert!((0..).zip(&all).all(|(at, &entity)| world.get(entity) == Ok(&A(at))));
    world.check_invariants().unwrap();
}

#[derive(ancho_entities::Component, Clone, Copy)]
#[component(name = "queries::Large")]
struct Large([u64; 64]);

#[test]
fn forks_keep_their_entities() {
    let mut world = world();
    let all = filled(&mut world, 3000);
    // Unsharing memory clones text, so these entities are in chunks without text from the beginning.
    let numbers: Vec<_> = world.spawn_batch((0..3000).map(|at| (A(at), Tag))).collect();
    let fork = world.fork().unwrap();
    let hash = fork.state_hash();
    world.batch(QueryDescriptor::of::<&A, Present<X>>()).add(B(1)).unwrap();
    world.batch(QueryDescriptor::of::<&A, ancho_entities::With<Tag>>()).add(B(2)).unwrap();
    check(&world, &all);
    check(&fork, &all);
    assert_eq!(fork.state_hash(), hash);
    for (at, &entity) in (0..).zip(&numbers) {
        assert_eq!((world.get(entity), world.get(entity)), (Ok(&A(at)), Ok(&B(2))));
        assert!(fork.get(entity) == Ok(&A(at)) && !fork.has::<B>(entity));
    }
    // The memory is unshared now.
    world.batch(QueryDescriptor::of::<&A, Present<X>>()).remove::<B>().unwrap();
    check(&world, &all);
    check(&fork, &all);
}

#[test]
fn groups_of_shared_values_stay_apart() {
    let mut world = world();
    let of = |team: u32| move |at| (A(at), Shared::new(Team(team)));
    let red: Vec<_> = world.spawn_batch((0..2500).map(of(1))).collect();
    let blue: Vec<_> = world.spawn_batch((0..2500).map(of(2))).collect();
    world.batch(QueryDescriptor::of::<&A, ()>()).add(B(7)).unwrap();
    for (team, all) in [(1, &red), (2, &blue)] {
        for (at, &entity) in (0..).zip(all) {
            assert_eq!(world.get(entity), Ok(&A(at)));
            assert_eq!(world.shared::<Team>(entity), Ok(&Team(team)));
        }
        assert_eq!(world.query::<&A>().with_shared(Team(team)).count(), 2500);
    }
    world.batch(QueryDescriptor::of::<&A, ()>().with_shared(Team(1))).remove::<B>().unwrap();
    assert_eq!(world.query::<&B>().count(), 2500);
    assert!(blue.iter().all(|&entity| world.get(entity) == Ok(&B(7))));
    world.check_invariants().unwrap();
}

#[test]
fn only_added_components_count_as_written() {
    let mut world = world();
    filled(&mut world, 3000);
    let seen = world.version();
    world.advance_version();
    world.batch(QueryDescriptor::of::<&A, Present<X>>()).add(B(1)).unwrap();
    assert_eq!(world.query_filtered::<&A, (Changed<A>, Present<X>)>().since(seen).count(), 0);
    assert_eq!(world.query_filtered::<&B, (Changed<B>, Present<X>)>().since(seen).count(), 3000);
}

#[test]
fn the_result_equals_single_changes() {
    for limit in [10_000, 500, 64, 5] {
        let mut world = chunks_of(limit);
        let mut naive = chunks_of(limit);
        let all = filled(&mut world, 1500);
        assert_eq!(filled(&mut naive, 1500), all);
        world.batch(QueryDescriptor::of::<&A, Present<X>>()).add((B(4), Tag)).unwrap();
        all.iter().for_each(|&entity| assert!(naive.add(entity, (B(4), Tag)).unwrap()));
        // Despawns some entities, so that there is room in the middle.
        for &entity in all.iter().step_by(3) {
            world.despawn(entity).unwrap();
            naive.despawn(entity).unwrap();
        }
        world.batch(QueryDescriptor::of::<&A, Present<X>>()).remove::<X>().unwrap();
        world.batch(QueryDescriptor::of::<&A, ()>()).add(Y).unwrap();
        for &entity in all.iter().filter(|&&entity| naive.exists(entity)).collect::<Vec<_>>() {
            naive.remove::<X>(entity).unwrap();
            naive.add(entity, Y).unwrap();
        }
        for &entity in &all {
            assert_eq!(world.exists(entity), naive.exists(entity));
            assert_eq!(world.get::<A>(entity).ok(), naive.get::<A>(entity).ok());
            assert_eq!(world.get::<B>(entity).ok(), naive.get::<B>(entity).ok());
            assert_eq!(world.get::<Text>(entity).ok(), naive.get::<Text>(entity).ok());
            assert_eq!(world.has::<X>(entity), naive.has::<X>(entity));
        }
        assert_eq!(world.query::<&Y>().count(), naive.query::<&Y>().count());
    }
}
