//! Jobs get each entity once, with its index, in every execution mode.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use ancho_entities::{
    Entity, EntityAt, EntityJob, IndexInQuery, ParallelData, QueryJob, Shared, Without, World,
};
use ancho_jobs::{ExecutionMode, JobHandle, JobSlice, ParallelJobStruct, SliceWrite};

use crate::jobs::common::*;

/// The way to run a job.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Start {
    Run,
    Schedule,
    Parallel,
}

/// Runs the test in all ways, in worlds with `count` entities.
fn each_way(count: u32, mut test: impl FnMut(Checked, Start)) {
    for workers in WORKERS {
        for mode in MODES {
            for start in [Start::Run, Start::Schedule, Start::Parallel] {
                let mut world = world_of(workers, 70);
                world.jobs().set_mode(mode);
                fill(&mut world, count);
                test(world, start);
            }
        }
    }
}

/// Spawns `count` entities that a query of `A` and `X` finds, in several archetypes, and as many that it does not.
fn fill(world: &mut World, count: u32) {
    let half = count / 2;
    world.spawn_batch((0..count - half).map(|at| (A(at), X(at))));
    world.spawn_batch((count - half..count).map(|at| (A(at), X(at), Shared::new(Team(at % 3)))));
    world.spawn_batch((0..count).map(A));
    let off: Vec<_> = world.spawn_batch((0..count).map(|at| (A(at), X(at), B(1)))).collect();
    for entity in off {
        world.set_component_enabled::<X>(entity, false).unwrap();
    }
}

type Given = Arc<Mutex<Vec<(u32, usize)>>>;

#[test]
fn each_entity_is_visited_once() {
    for count in [0, 1, 1000] {
        each_way(count, |mut world, start| {
            let expected = world.query::<(&A, &X)>().to_entities();
            assert_eq!(expected.len(), count as usize);
            let given = Arc::new(Mutex::new(Vec::new()));
            let add = {
                let given = Arc::clone(&given);
                move |(entity, a, _): (Entity, &mut A, &X)| {
                    a.0 += 10_000;
                    given.lock().unwrap().push(entity);
                }
            };
            let job = world.query_mut::<(Entity, &mut A, &X)>().job();
            match start {
                Start::Run => job.run(add),
                Start::Schedule => _ = job.schedule(add),
                Start::Parallel => _ = job.schedule_parallel(add),
            }
            assert_eq!(
                world.query::<&A>().iter().filter(|a| a.0 >= 10_000).count(),
                expected.len()
            );
            let mut given = given.lock().unwrap().clone();
            if start != Start::Parallel {
                assert_eq!(given, expected, "in the order of the chunks");
            }
            given.sort_unstable();
            let mut expected = expected;
            expected.sort_unstable();
            assert_eq!(given, expected);
            assert!(world.query::<&A>().iter().all(|a| a.0 < 20_000));
        });
    }
}

#[test]
fn slices_have_each_entity_once() {
    for count in [0, 1, 1000] {
        each_way(count, |mut world, start| {
            if start == Start::Parallel {
                let calls = Arc::new(AtomicU32::new(0));
                let counted = Arc::clone(&calls);
                let job = world.query_mut::<(&mut A, &X)>().job();
                let job = job.schedule_chunks_parallel(move |(a, x)| {
                    assert!(!a.is_empty() && a.len() == x.len());
                    a.iter_mut().for_each(|a| a.0 += 10_000);
                    counted.fetch_add(1, Ordering::Relaxed);
                });
                world.jobs().complete(job);
                let changed = world.query::<(&A, &X)>().iter().filter(|(a, x)| a.0 == x.0 + 10_000);
                assert_eq!(changed.count(), count as usize);
                assert!(world.query_filtered::<&A, Without<X>>().iter().all(|a| a.0 < 10_000));
                assert_eq!(calls.load(Ordering::Relaxed) > 0, count > 0);
            }
        });
    }
}

/// Returns the recorded values in the order of their indices, which must be consecutive from zero.
fn in_order(given: &Given) -> Vec<u32> {
    let mut given = given.lock().unwrap().clone();
    given.sort_unstable_by_key(|&(_, index)| index);
    assert!(given.iter().map(|&(_, index)| index).eq(0..given.len()), "{given:?}");
    given.into_iter().map(|(value, _)| value).collect()
}

#[test]
fn indices_are_those_of_the_query() {
    for count in [0, 1, 1000] {
        each_way(count, |world, start| {
            // Jobs on one thread can count themselves.
            if start == Start::Parallel {
                let given = Given::default();
                let kept = Arc::clone(&given);
                let job = world.query::<(&A, &X)>().job().with(IndexInQuery);
                let job = job.schedule_parallel(move |(a, _), index| {
                    kept.lock().unwrap().push((a.0, index));
                });
                world.jobs().complete(job);
                let expected: Vec<_> = world.query::<(&A, &X)>().iter().map(|(a, _)| a.0).collect();
                assert_eq!(in_order(&given), expected);
            }
        });
    }
}

#[derive(ParallelJobStruct)]
struct Number<'a> {
    given: Given,
    elements: SliceWrite<'a, u32>,
    by: u32,
}

impl EntityJob for Number<'_> {
    type Query = (Entity, &'static mut A, &'static X);

    fn execute(job: &mut NumberBatch<'_>, (_, a, x): (Entity, &mut A, &X), at: EntityAt) {
        assert!(at.row >= at.in_batch && at.in_query >= at.in_batch);
        job.given.lock().unwrap().push((x.0, at.in_query));
        job.elements[at.in_batch] = a.0;
        a.0 += *job.by;
    }
}

fn start<D: ParallelData + 'static>(
    job: QueryJob<'_, D>,
    start: Start,
    number: impl EntityJob<Query = D>,
) -> JobHandle {
    match start {
        Start::Run => {
            job.run_job(number);
            JobHandle::COMPLETED
        }
        Start::Schedule => job.schedule_job(number),
        Start::Parallel => job.schedule_job_parallel(number),
    }
}

#[test]
fn job_structs_get_each_entity_with_its_index_and_element() {
    for count in [0, 1, 1000] {
        each_way(count, |mut world, how| {
            let expected: Vec<_> = world.query::<(&A, &X)>().iter().map(|(a, _)| a.0).collect();
            let given = Given::default();
            let mut elements = JobSlice::new(count as usize, u32::MAX);
            let job = Number { given: given.clone(), elements: elements.write(), by: 10_000 };
            let handle = start(world.query_mut::<(Entity, &mut A, &X)>().job(), how, job);
            world.jobs().complete(handle);
            assert_eq!(in_order(&given), expected);
            assert_eq!(elements.as_slice().unwrap(), expected);
            let changed = world.query::<(&A, &X)>().iter().filter(|(a, x)| a.0 == x.0 + 10_000);
            assert_eq!(changed.count(), expected.len());
        });
    }
}

#[test]
fn captured_data_is_in_step_with_the_entities() {
    for count in [0, 1, 1000] {
        each_way(count, |world, start| {
            // The slice has more elements than the job needs.
            let mut elements = JobSlice::new(count as usize + 3, u32::MAX);
            let mut next = 0;
            let job = world.query::<(&A, &X)>().job().with(elements.write());
            match start {
                Start::Run => job.run(|(a, _), elements| {
                    elements[next] = a.0;
                    next += 1;
                }),
                Start::Schedule => {
                    let job = job.schedule(move |(a, _), elements| {
                        elements[next] = a.0;
                        next += 1;
                    });
                    world.jobs().complete(job);
                }
                Start::Parallel => {
                    let job = job.schedule_parallel(|(a, _), element| *element = a.0);
                    world.jobs().complete(job);
                }
            }
            let mut expected: Vec<_> = world.query::<(&A, &X)>().iter().map(|(a, _)| a.0).collect();
            expected.extend([u32::MAX; 3]);
            assert_eq!(elements.as_slice().unwrap(), expected);
        });
    }
}

#[test]
fn a_job_that_runs_immediately_can_borrow_and_returns_errors() {
    let mut world = world_with(2);
    fill(&mut world, 10);
    let mut local = Vec::new();
    world.query::<&A>().job().run(|a| local.push(a.0));
    assert_eq!(local.len(), 30);
    let message = panic_message(|| {
        world.query_mut::<&mut A>().job().named("Now").run(|_| panic!("no"));
    });
    assert!(message.contains("no"), "{message}");
    assert_eq!(world.query::<&A>().iter().count(), 30);
}

#[test]
fn large_chunks_are_divided_and_large_values_are_whole() {
    // Enough rows in a chunk for several threads to share one.
    let mut world = world_with(4);
    world.spawn_batch((0..20_000).map(|at| (A(at), B(0), Text(String::new()))));
    let _ = world.query_mut::<(&A, &mut B)>().schedule_parallel(|(a, b)| b.0 += u64::from(a.0));
    let text = world
        .query_mut::<(&B, &mut Text)>()
        .schedule_parallel(|(b, text)| text.0 = b.0.to_string());
    world.jobs().complete(text);
    assert!(world.query::<(&A, &Text)>().iter().all(|(a, text)| a.0.to_string() == text.0));
}

#[test]
fn modes_can_be_changed_between_jobs() {
    let mut world = world_of(2, 70);
    fill(&mut world, 500);
    for round in 0..10 {
        let mode = [ExecutionMode::Serial, ExecutionMode::Parallel, MODES[2]][round % 3];
        world.jobs().set_mode(mode);
        let _ = world.query_mut::<&mut A>().schedule_parallel(|a| a.0 += 1);
        let _ = world.query_mut::<(&mut A, &X)>().schedule(|(a, _)| a.0 += 1);
    }
    assert!(world.query::<(&A, &X)>().iter().all(|(a, x)| a.0 == x.0 + 20));
}
