//! Queries of worlds that share memory.

use ancho_entities::{ChunkArena, World, WorldSettings};

use crate::common::*;

#[test]
fn writing_leaves_the_fork_as_it_was() {
    let mut world = chunks_of(10);
    world.spawn_batch((0..100).map(|at| (A(at), Text(at.to_string()), X(at))));
    world.query_mut::<(&mut A, &mut Text)>().for_each(|(a, _)| a.0 += 1000);
    let mut fork = Checked(world.fork().unwrap());
    let state = fork.state_hash();
    world
        .query_mut::<(&mut A, &mut Text)>()
        .for_each(|(a, text)| (a.0, text.0) = (0, "gone".into()));
    assert_eq!(fork.state_hash(), state);
    assert!(fork.query::<&A>().iter().map(|a| a.0).eq(1000..1100));
    // The same query works in the fork, including archetypes that only the fork has.
    fork.spawn((A(7), Text(String::new()), Tag));
    fork.query_mut::<(&mut A, &mut Text)>().for_each(|(a, _)| a.0 += 1);
    assert_eq!(fork.query::<(&A, &Text)>().count(), 101);
    assert_eq!(world.query::<(&A, &Text)>().count(), 100);
    assert!(world.query::<&A>().iter().all(|a| a.0 == 0));
}

#[test]
fn reading_copies_nothing() {
    let arena = ChunkArena::new();
    let settings = WorldSettings::new().arena(arena.clone()).chunk_capacity_limit(10);
    let mut world = Checked(World::with_settings("Simulation", settings));
    world.spawn_batch((0..100).map(|at| (A(at), X(at))));
    let fork = Checked(world.fork().unwrap());
    let before = arena.stats();
    assert_eq!(world.query_mut::<(&A, &X)>().into_iter().count(), 100);
    world.query_mut::<ancho_entities::Entity>().for_each(|_| ());
    assert_eq!(arena.stats(), before);
    // Only the chunk of the found entity is copied.
    let first = world.query::<ancho_entities::Entity>().iter().next().unwrap();
    world.query_mut::<&mut A>().get_mut(first).unwrap().0 = 5;
    assert_ne!(arena.stats(), before);
    assert!(fork.query::<&A>().iter().map(|a| a.0).eq(0..100));
}

#[test]
fn without_memory_loops_panic_with_a0056() {
    let (mut world, _fork) = crowded();
    let said = panic_message(|| world.query_mut::<&mut A>().for_each(|a| a.0 = 1));
    assert!(said.starts_with("A0056: "), "{said}");
    let said = panic_message(|| world.query_mut::<&mut A>().into_iter().count());
    assert!(said.starts_with("A0056: "), "{said}");
    let said = panic_message(|| world.query_mut::<&mut A>().for_each_chunk(|_| ()));
    assert!(said.starts_with("A0056: "), "{said}");
    // The first chunk was processed before the memory ran out.
    assert_eq!(world.query::<&A>().iter().filter(|a| a.0 == 1).count(), 10);
}
