//! Parallel loops over entities, which have the same result as loops on one thread.
#![forbid(unsafe_code)]

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use ancho_entities::{
    Aspect, Buffer, Changed, ChunkArena, Component, EnabledMut, Entity, EntityError, OutOfMemory,
    Query, Shared, With, Without, World, WorldSettings,
};
use ancho_jobs::{JobPool, JobScheduler, current_job};

use crate::common::*;

fn world_with(workers: usize, rows: usize) -> Checked {
    let pool = JobPool::builder().workers(workers).build().unwrap();
    let settings = WorldSettings::new().chunk_capacity_limit(rows).job_pool(&pool);
    Checked(World::with_settings("Simulation", settings))
}

/// Creates entities of several archetypes, with some components disabled.
fn fill(world: &mut World, count: u32) -> Vec<Entity> {
    let mut all: Vec<_> = world.spawn_batch((0..count).map(|at| (A(at), X(at)))).collect();
    all.extend(world.spawn_batch((0..count / 3).map(|at| (A(at), X(at), B(at.into())))));
    all.extend(world.spawn_batch((0..count / 7).map(|at| (A(at), Shared::new(Team(at % 3))))));
    for (at, &entity) in all.iter().enumerate().filter(|(at, _)| at % 5 == 0 || at / 150 % 4 == 1) {
        let _ = (at, world.set_component_enabled::<X>(entity, false));
    }
    all
}

#[test]
fn every_number_of_threads_has_the_same_result() {
    let mut hashes = Vec::new();
    for workers in [0, 1, 2, 4] {
        let mut world = world_with(workers, 100);
        fill(&mut world, 5000);
        world.query_mut::<(&mut A, Entity)>().for_each_parallel(|(a, entity)| {
            a.0 = a.0.wrapping_mul(31) ^ entity.index();
        });
        world.query_mut::<(&mut A, &X)>().for_each_parallel(|(a, x)| a.0 += x.0);
        world.query_filtered_mut::<&mut A, Without<X>>().for_each_parallel(|a| a.0 ^= 1);
        world.query_mut::<(&mut A, &Shared<Team>)>().for_each_parallel(|(a, team)| a.0 += team.0);
        hashes.push(world.state_hash());
    }
    let mut world = chunks_of(100);
    fill(&mut world, 5000);
    world.query_mut::<(&mut A, Entity)>().for_each(|(a, entity)| {
        a.0 = a.0.wrapping_mul(31) ^ entity.index();
    });
    world.query_mut::<(&mut A, &X)>().for_each(|(a, x)| a.0 += x.0);
    world.query_filtered_mut::<&mut A, Without<X>>().for_each(|a| a.0 ^= 1);
    world.query_mut::<(&mut A, &Shared<Team>)>().for_each(|(a, team)| a.0 += team.0);
    assert_eq!(hashes, [world.state_hash(); 4]);
}

#[test]
fn each_entity_is_visited_once() {
    // Few rows and many, in chunks large enough to divide, and in enough chunks to trigger prefetching.
    for (count, rows) in [(0, 10), (1, 10), (63, 64), (1000, 1000), (3000, 10), (3000, 700)] {
        let mut world = world_with(3, rows);
        fill(&mut world, count);
        let given = Mutex::new(Vec::new());
        world.query::<(Entity, &A, &X)>().for_each_parallel(|(entity, a, x)| {
            assert_eq!(a.0, x.0);
            given.lock().unwrap().push(entity);
        });
        let mut given = given.into_inner().unwrap();
        given.sort_unstable();
        let mut expected = world.query::<(&A, &X)>().to_entities();
        expected.sort_unstable();
        assert_eq!(given, expected);
    }
}

#[test]
fn enabled_bits_are_written_on_all_threads() {
    let mut world = world_with(3, 300);
    let all: Vec<_> = world.spawn_batch((0..6000).map(|at| (A(at), X(at)))).collect();
    world.query_mut::<(&A, EnabledMut<X>)>().for_each_parallel(|(a, mut on)| on.set(a.0 % 3 != 0));
    for (at, &entity) in all.iter().enumerate() {
        assert_eq!(world.is_component_enabled::<X>(entity), Ok(at % 3 != 0));
    }
    assert_eq!(world.query::<&X>().count(), 4000);
}

#[test]
fn enabled_bits_that_the_filter_reads_are_written_on_all_threads() {
    // Chunks large enough to divide, and enough chunks to trigger prefetching: no thread reads bits that another thread
    // writes.
    for (workers, count, rows) in [(0, 6000, 300), (3, 6000, 900), (3, 20_000, 64)] {
        let mut world = world_with(workers, rows);
        let all: Vec<_> = world.spawn_batch((0..count).map(|at| (A(at), X(at)))).collect();
        for pass in 2..5 {
            let before = world.query::<&X>().count();
            let given = AtomicU32::new(0);
            world.query_mut::<(&A, &X, EnabledMut<X>)>().for_each_parallel(|(a, x, mut on)| {
                assert_eq!(a.0, x.0);
                if given.fetch_add(1, Ordering::Relaxed).is_multiple_of(50) {
                    // Lets other threads work on the same chunk.
                    thread::yield_now();
                }
                on.set(a.0 % pass != 0);
            });
            assert_eq!(given.into_inner() as usize, before);
        }
        for (at, &entity) in (0..).zip(&all) {
            let is_on = (2..5).all(|pass| at % pass != 0_u32);
            assert_eq!(world.is_component_enabled::<X>(entity), Ok(is_on));
        }
    }
}

#[test]
fn buffers_grow_on_all_threads() {
    let mut world = world_with(3, 40);
    world.spawn_many((A(1), Buffer::<Item>::new()), 1000);
    world.query_mut::<&mut Buffer<Item>>().for_each_parallel(|mut items| {
        (0..100).for_each(|at| items.push(Item(at)));
    });
    assert!(world.query::<&Buffer<Item>>().iter().all(|items| items.len() == 100));
}

#[derive(Aspect)]
struct Pair<'w> {
    a: &'w mut A,
    x: Option<&'w X>,
}

#[test]
fn aspects_work_on_all_threads() {
    let mut world = world_with(3, 40);
    fill(&mut world, 1000);
    let off = world.query_filtered::<&A, Without<X>>().count();
    world.query_mut::<Pair>().for_each_parallel(|pair| {
        pair.a.0 = u32::from(pair.x.is_some());
    });
    assert_eq!(world.query::<&A>().iter().filter(|a| a.0 == 0).count(), off);
}

#[test]
fn yielded_chunks_are_marked_as_changed() {
    let mut world = world_with(3, 40);
    fill(&mut world, 1000);
    let seen = world.version();
    world.advance_version();
    world.query_mut::<(&mut A, &B)>().for_each_parallel(|(a, _)| a.0 += 1);
    let changed = world.query_filtered::<(), Changed<A>>().since(seen);
    assert_eq!(changed.count(), world.query_filtered::<(), With<B>>().count());
    assert!(world.query_filtered::<(), Changed<B>>().since(seen).is_empty());
}

#[derive(Component, Clone, Copy)]
#[component(name = "parallel::Noted", track_changes)]
struct Noted(u32);

#[test]
fn tracked_changes_mark_yielded_rows() {
    let mut world = world_with(3, 300);
    let all: Vec<_> = world.spawn_batch((0..3000).map(|at| (Noted(at), X(at)))).collect();
    for (_, &entity) in all.iter().enumerate().filter(|(at, _)| at % 3 == 0) {
        world.set_component_enabled::<X>(entity, false).unwrap();
    }
    let seen = world.version();
    world.advance_version();
    world.query_mut::<(&mut Noted, &X)>().for_each_parallel(|(noted, _)| noted.0 += 1);
    let changed = world.query_filtered::<(), Changed<Noted>>().since(seen).to_entities();
    let given = all.iter().copied().enumerate().filter(|(at, _)| at % 3 != 0);
    assert_eq!(changed, given.map(|(_, entity)| entity).collect::<Vec<_>>());

    // Once more, for the changed entities.
    let then = world.version();
    world.advance_version();
    world.get_mut::<Noted>(all[7]).unwrap();
    world.get_mut::<Noted>(all[2500]).unwrap();
    let mut query = world.query_filtered_mut::<&mut Noted, Changed<Noted>>().since(then);
    query.for_each_parallel(|noted| noted.0 = u32::MAX);
    let written = world.query::<&Noted>().iter().filter(|noted| noted.0 == u32::MAX).count();
    assert_eq!(written, 2);
}

#[test]
fn a_fork_keeps_its_values() {
    let mut world = world_with(2, 40);
    fill(&mut world, 1000);
    let mut fork = world.fork().unwrap();
    let before = fork.state_hash();
    world.query_mut::<&mut A>().for_each_parallel(|a| a.0 += 1);
    assert_eq!(fork.state_hash(), before);
    fork.query_mut::<&mut A>().for_each_parallel(|a| a.0 += 1);
    assert_eq!(fork.state_hash(), world.state_hash());
    fork.check_invariants().unwrap();
}

#[test]
fn chunks_that_are_not_picked_are_unchanged() {
    for workers in [0, 2] {
        let pool = JobPool::builder().workers(workers).build().unwrap();
        let arena = ChunkArena::new();
        let settings = WorldSettings::new().chunk_capacity_limit(10).job_pool(&pool);
        let settings = settings.arena(arena.clone());
        let mut world = Checked(World::with_settings("Simulation", settings));
        let all: Vec<_> = world.spawn_batch((0..50).map(|at| (A(at), X(at)))).collect();
        // In the last chunk all are disabled. The chunk is visited all the same.
        for &entity in &all[40..] {
            world.set_component_enabled::<X>(entity, false).unwrap();
        }
        let fork = Checked(world.fork().unwrap());
        let (before, used) = (fork.state_hash(), arena.stats().used);
        let seen = world.version();
        world.advance_version();
        let mut shown = Vec::new();
        let picked = world.query_mut::<(&mut A, &mut X)>().for_each_picked_chunk_parallel(
            |entities| {
                shown.extend_from_slice(entities);
                entities.contains(&all[25])
            },
            |(a, x)| {
                a.iter_mut().for_each(|a| a.0 += 100);
                x.iter_mut().for_each(|x| x.0 += 100);
            },
        );
        picked.unwrap();
        assert_eq!(shown, all);
        let changed = world.query_filtered::<(), Changed<(A, X)>>().since(seen).to_entities();
        assert_eq!(changed, all[20..30]);
        assert_eq!(arena.stats().used - used, 16 * 1024, "one chunk was copied");
        assert_eq!(fork.state_hash(), before);
        for (at, &entity) in (0..).zip(&all) {
            let added = if (20..30).contains(&at) { 100 } else { 0 };
            assert_eq!(world.get::<A>(entity), Ok(&A(at + added)));
        }
    }
}

#[test]
fn a_function_that_panics_leaves_a_world_that_can_be_used() {
    for workers in [0, 3] {
        let mut world = world_with(workers, 40);
        fill(&mut world, 1000);
        let message = panic_message(|| {
            world.query_mut::<&mut A>().for_each_parallel(|a| {
                assert!(a.0 != 500, "it is five hundred");
                a.0 = 7;
            });
        });
        assert!(message.contains("it is five hundred"), "{message}");
        let given = AtomicU32::new(0);
        world.query_mut::<&mut A>().for_each_parallel(|a| {
            a.0 = 1;
            given.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(given.into_inner() as usize, world.query::<&A>().count());
        assert!(world.query::<&A>().iter().all(|a| a.0 == 1));
    }
}

#[test]
fn inside_a_job_the_loop_uses_one_thread() {
    let mut world = world_with(2, 40);
    fill(&mut world, 1000);
    let jobs = JobScheduler::new(&JobPool::shared());
    let world = Mutex::new(world);
    jobs.run((), |()| {
        let mut world = world.lock().unwrap();
        world.query_mut::<&mut A>().for_each_parallel(|a| a.0 = 1);
        assert!(world.query::<&A>().iter().all(|a| a.0 == 1));
    })
    .unwrap();
}

#[test]
fn views_have_the_same_result_as_the_world() {
    let mut hashes = Vec::new();
    for workers in [0, 1, 2, 4] {
        let mut world = world_with(workers, 100);
        fill(&mut world, 3000);
        let (mut values, mut teams) = world
            .split::<(Query<(&mut A, &X), Without<Shared<Team>>>, Query<(&mut A, &Shared<Team>)>)>(
            );
        values.for_each_parallel(|(a, x)| a.0 += x.0);
        teams.for_each_parallel(|(a, team)| a.0 += team.0);
        hashes.push(world.state_hash());
    }
    let mut world = chunks_of(100);
    fill(&mut world, 3000);
    world.query_mut::<(&mut A, &X)>().for_each(|(a, x)| a.0 += x.0);
    world.query_mut::<(&mut A, &Shared<Team>)>().for_each(|(a, team)| a.0 += team.0);
    assert_eq!(hashes, [world.state_hash(); 4]);
}

#[test]
fn a_view_works_on_all_threads_inside_a_loop_of_another() {
    let mut world = world_with(3, 100);
    world.spawn_many((A(0), X(0)), 2000);
    world.spawn_batch((1..=5_u64).map(B));
    let (mut switches, mut factors) =
        world.split::<(Query<(&mut A, EnabledMut<X>)>, Query<&mut B>)>();
    factors.for_each(|factor| {
        let by = factor.0 as u32;
        let count = AtomicU32::new(0);
        switches.for_each_parallel(|(a, mut x)| {
            a.0 += by;
            x.set(by.is_multiple_of(2));
            count.fetch_add(1, Ordering::Relaxed);
        });
        factor.0 = count.into_inner().into();
    });
    assert_eq!(world.query::<&A>().count(), 2000);
    assert!(world.query::<&A>().iter().all(|a| a.0 == 15));
    assert!(world.query::<&B>().iter().all(|b| b.0 == 2000));
    assert!(world.query::<&X>().is_empty(), "the last has switched them off");
}

/// The function can run code of this thread that uses the other view, or its items.
#[test]
fn a_view_uses_one_thread_if_another_writes_the_bits_that_it_filters_by() {
    let mut world = world_with(3, 100);
    world.spawn_many((A(0), B(0), X(0)), 2000);
    let (mut filtered, mut free, mut switches) =
        world.split::<(Query<&mut A, With<X>>, Query<&mut B>, Query<EnabledMut<X>>)>();
    let this = thread::current().id();
    let is_in_job = || current_job().is_some() || thread::current().id() != this;
    filtered.for_each_parallel(|a| a.0 += 1 + 100 * u32::from(is_in_job()));
    let done = filtered.for_each_picked_chunk_parallel(
        |_| true,
        |all| all.iter_mut().for_each(|a| a.0 += 1 + 100 * u32::from(is_in_job())),
    );
    done.unwrap();
    free.for_each_parallel(|b| b.0 += u64::from(is_in_job()));
    switches.for_each_parallel(|mut x| x.set(is_in_job()));
    assert!(world.query::<&B>().iter().all(|b| b.0 == 1), "nothing conflicts with it");
    assert_eq!(world.query::<&X>().count(), 0);
    world.query_mut::<EnabledMut<X>>().for_each(|mut x| x.set(true));
    assert!(world.query::<&A>().iter().all(|a| a.0 == 2));
}

#[test]
fn a_view_waits_for_conflicting_jobs_only() {
    let mut world = world_with(2, 100);
    world.spawn_many((A(1), B(1)), 2000);
    let (mut a, mut b) = world.split::<(Query<&mut A>, Query<&mut B>)>();
    for round in 0..50 {
        a.schedule_parallel(|a| a.0 += 1);
        b.for_each_parallel(|b| b.0 += 1);
        a.for_each_parallel(move |a| assert_eq!(a.0, round + 2));
    }
    assert!(world.query::<&B>().iter().all(|b| b.0 == 51));
}

#[test]
fn a_view_is_usable_after_a_panic_on_its_threads() {
    let mut world = world_with(2, 100);
    world.spawn_batch((0..2000).map(A));
    let (mut a,) = world.split::<(Query<&mut A>,)>();
    let message = panic_message(|| {
        a.for_each_parallel(|a| assert_ne!(a.0, 1234, "unlucky"));
    });
    assert!(message.contains("unlucky"), "{message}");
    a.for_each_parallel(|a| a.0 = 7);
    assert!(world.query::<&A>().iter().all(|a| a.0 == 7));
}

#[test]
fn without_memory_nothing_is_yielded() {
    let (mut world, fork) = crowded();
    let seen = world.version();
    world.advance_version();
    let state = world.state_hash();
    let refused = |result: Result<(), EntityError>| {
        assert!(matches!(result, Err(EntityError::OutOfMemory(OutOfMemory { .. }))));
    };
    refused(world.query_mut::<&mut A>().unshare());
    refused(world.query_mut::<&mut A>().copy_from(&[A(0); 20]));
    assert_eq!(world.state_hash(), state);
    let changed = world.query_filtered::<(), Changed<(A, X)>>().since(seen);
    assert!(changed.is_empty());
    // Data that is only read needs no memory.
    world.query_mut::<&A>().unshare().unwrap();
    drop(fork);
    let mut query = world.query_mut::<&mut A>();
    query.unshare().unwrap();
    query.for_each(|a| a.0 = 0);
    query.for_each_parallel(|a| a.0 += 1);
    assert!(world.query::<&A>().iter().all(|a| a.0 == 1));
}

#[test]
fn a_view_is_narrowed_to_shared_values() {
    let mut world = chunks_of(7);
    for at in 0..30 {
        world.spawn((A(at), Shared::new(Team(at % 3))));
    }
    let (mut all,) = world.split::<(Query<&mut A>,)>();
    assert_eq!(all.reborrow().with_shared(Team(1)).count(), 10);
    assert_eq!(all.reborrow().with_shared(Team(9)).count(), 0);
    all.reborrow().with_shared(Team(1)).for_each(|a| a.0 = 100);
    all.reborrow().with_shared(Team(2)).for_each_parallel(|a| a.0 = 200);
    let listed = all.to_components::<A>().unwrap();
    let count = |value| listed.iter().filter(|a| a.0 == value).count();
    assert_eq!((count(100), count(200), listed.len()), (10, 10, 30));
    all.reborrow().with_shared(Team(0)).schedule_parallel(|a| a.0 = 300);
    assert_eq!(all.iter_mut().filter(|a| a.0 == 300).count(), 10);
}
