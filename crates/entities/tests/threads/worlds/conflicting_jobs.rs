//! Jobs of both worlds are completed before entities move.

use ancho_entities::{Entity, QueryDescriptor, World, WorldSettings};
use ancho_jobs::JobPool;

use crate::common::{A, Link, X};

/// Creates two worlds on the same threads, with the given chunk limits.
fn two(workers: usize, limits: [usize; 2]) -> [World; 2] {
    let pool = JobPool::builder().workers(workers).build().unwrap();
    limits.map(|limit| {
        let settings = WorldSettings::new().chunk_capacity_limit(limit).job_pool(&pool);
        World::with_settings("Simulation", settings)
    })
}

/// Creates worlds with jobs that change all numbers and links.
fn busy(workers: usize, limits: [usize; 2]) -> [World; 2] {
    let mut worlds = two(workers, limits);
    for world in &mut worlds {
        let first = world.spawn(A(1));
        world.spawn_many((A(1), Link(first)), 3000);
        world.spawn_many(X(1), 100);
        for _ in 0..3 {
            _ = world.query_mut::<&mut A>().schedule_parallel(|number| number.0 += 1);
        }
        _ = world
            .query_mut::<(&mut Link, Entity)>()
            .schedule_parallel(|(link, entity)| link.0 = entity);
        world.jobs().flush();
    }
    worlds
}

#[test]
fn entities_move_when_the_jobs_that_see_them_are_done() {
    for workers in [0, 1, 3] {
        for limits in [[100, 100], [100, 70]] {
            let [mut source, mut destination] = busy(workers, limits);
            let moved = destination.move_entities_from(&mut source).unwrap();
            assert_eq!((moved.len(), source.entity_count()), (3101, 0));
            assert!(destination.query::<&A>().iter().all(|number| number.0 == 4));
            let linked = destination.query::<(Entity, &Link)>();
            assert!(linked.iter().all(|(entity, link)| link.0 == entity));
            source.check_invariants().unwrap();
            destination.check_invariants().unwrap();
        }
    }
}

#[test]
fn entities_are_copied_when_the_jobs_that_see_them_are_done() {
    for workers in [0, 1, 3] {
        for limits in [[100, 100], [100, 70]] {
            let [source, mut destination] = busy(workers, limits);
            let copied = destination.copy_entities_from(&source).unwrap();
            assert_eq!((copied.len(), source.entity_count()), (3101, 3101));
            for world in [&source, &destination] {
                assert!(world.query::<&A>().iter().all(|number| number.0 == 4));
                let linked = world.query::<(Entity, &Link)>();
                assert!(linked.iter().all(|(entity, link)| link.0 == entity));
                world.check_invariants().unwrap();
            }
        }
    }
}

#[test]
fn a_query_moves_the_matches_after_conflicting_jobs() {
    for workers in [0, 1, 3] {
        let [mut source, mut destination] = busy(workers, [100, 100]);
        let moved =
            source.batch(QueryDescriptor::of::<&Link, ()>()).move_to(&mut destination).unwrap();
        assert_eq!((moved.len(), source.entity_count()), (3000, 101));
        // Jobs over the entities that arrived, and over those that stayed.
        for world in [&mut source, &mut destination] {
            _ = world.query_mut::<&mut A>().schedule_parallel(|number| number.0 += 1);
        }
        for world in [&source, &destination] {
            assert!(world.query::<&A>().iter().all(|number| number.0 == 5));
        }
    }
}

#[test]
fn a_world_is_replaced_when_its_jobs_are_done() {
    for workers in [0, 1, 3] {
        let [mut source, mut destination] = busy(workers, [100, 100]);
        for _ in 0..3 {
            destination.copy_and_replace_from(&mut source).unwrap();
            assert_eq!(destination.state_hash(), source.state_hash());
            for world in [&mut source, &mut destination] {
                let mut numbers = world.query_mut::<&mut A>();
                _ = numbers.schedule_parallel(|number| number.0 += 1);
                world.jobs().flush();
            }
        }
        assert!(destination.query::<&A>().iter().all(|number| number.0 == 7));
    }
}

#[test]
fn jobs_without_conflicts_continue() {
    let [mut source, mut destination] = two(0, [100, 100]);
    source.spawn_many(A(1), 100);
    source.spawn_many(X(1), 100);
    destination.spawn_many(X(1), 100);
    let there = source.query_mut::<&mut X>().schedule(|other| other.0 += 1);
    let here = destination.query_mut::<&mut X>().schedule(|other| other.0 += 1);
    source.batch(QueryDescriptor::of::<&A, ()>()).move_to(&mut destination).unwrap();
    assert!(!source.jobs().is_completed(there));
    assert!(!destination.jobs().is_completed(here));
    assert!(destination.query::<&X>().iter().all(|other| other.0 == 2));
}
