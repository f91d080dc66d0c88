//! ancho: chunks of archetypes, and jobs over them.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ancho_entities::{
    Changed, ChunkInJob, ChunkJob, Component, Entity, IgnoreEnabled, JobLookup, Lookup, Present,
    Query, QueryDescriptor, Version, With, Without, World,
};
use ancho_jobs::{JobHandle, ParallelJobStruct};

use super::types::*;
use super::work::{self, FEW, FRAGMENT, HEAVY, MILLION, Pattern};
use crate::harness::{Cell, Reading};

fn world() -> World {
    World::new("peers")
}

fn bodies() -> World {
    let mut world = world();
    world.spawn_batch((0..MILLION).map(work::body));
    world
}

fn advance(world: &mut World) {
    let mut query = world.query_mut::<(&mut Position, &Velocity)>();
    query.for_each(|(position, velocity)| work::advance(position, velocity));
}

fn bodies_result(world: &mut World) -> u64 {
    let query = world.query::<(&Position, &Velocity)>();
    work::in_any_order(query.iter().map(|(p, v)| work::body_row(p, v)))
}

pub(super) fn simple_iter(cell: Cell) -> Reading {
    let mut world = world();
    world.spawn_batch((0..FEW).map(|_| work::simple()));
    cell.run(world, advance, |world| {
        let query = world.query::<(&Transform, &Position, &Rotation, &Velocity)>();
        work::in_any_order(query.iter().map(|(t, p, r, v)| work::simple_row(t, p, r, v)))
    })
}

pub(super) fn iter(cell: Cell) -> Reading {
    cell.run(bodies(), advance, bodies_result)
}

pub(super) fn iter_par(cell: Cell) -> Reading {
    let operation = |world: &mut World| {
        let mut query = world.query_mut::<(&mut Position, &Velocity)>();
        query.for_each_parallel(|(position, velocity)| work::advance(position, velocity));
    };
    cell.run(two_threads(bodies()), operation, bodies_result)
}

pub(super) fn iter_job(cell: Cell) -> Reading {
    let operation = |world: &mut World| {
        let mut query = world.query_mut::<(&mut Position, &Velocity)>();
        let job = query.schedule_parallel(|(position, velocity)| work::advance(position, velocity));
        complete(world, job);
    };
    cell.run(two_threads(bodies()), operation, bodies_result)
}

fn complete(world: &World, job: JobHandle) {
    world.jobs().complete(job);
}

#[derive(Component, Clone, Copy)]
struct Target(Entity);

/// Measures lookups on one thread, as for the peers.
pub(super) fn lookup(cell: Cell) -> Reading {
    #[derive(ParallelJobStruct)]
    struct Take<'a> {
        positions: JobLookup<'a, &'static Position>,
    }
    impl ChunkJob for Take<'_> {
        type Query = (&'static Target, &'static mut A);

        fn execute(job: &mut TakeBatch<'_>, mut chunk: ChunkInJob<'_, Self::Query>) {
            chunk.for_each_run(|(targets, sums)| {
                let positions = job.positions.get_many(targets.iter().map(|target| target.0));
                for (sum, position) in sums.iter_mut().zip(positions) {
                    work::take(sum, position.expect("all have it"));
                }
            });
        }
    }
    let operation = |world: &mut World| {
        let (takers, positions) = world.split::<Takers>();
        let take = Take { positions: positions.into_job() };
        let job = takers.job().schedule_chunk_job(take);
        complete(world, job);
    };
    cell.run(targets(), operation, taken_result)
}

/// Measures single lookups, one after the other, as for the peers.
pub(super) fn lookup_get(cell: Cell) -> Reading {
    let operation = |world: &mut World| {
        let (takers, positions) = world.split::<Takers>();
        let job = takers.job().with(positions.into_job());
        let job = job.schedule(|(target, sum), positions| {
            work::take(sum, positions.get(target.0).expect("all have it"));
        });
        complete(world, job);
    };
    cell.run(targets(), operation, taken_result)
}

type Takers =
    (Query<'static, (&'static Target, &'static mut A)>, Lookup<'static, &'static Position>);

fn targets() -> World {
    let mut world = world();
    let positions = (0..MILLION).map(|index| (work::body(index).0, A(0.0), Target(Entity::NULL)));
    let entities: Vec<Entity> = world.spawn_batch(positions).collect();
    let targets = work::shuffled(entities.clone());
    for (entity, target) in entities.into_iter().zip(targets) {
        world.get_mut::<Target>(entity).expect("all have it").0 = target;
    }
    world
}

fn taken_result(world: &mut World) -> u64 {
    let query = world.query::<(&Position, &A)>();
    work::in_any_order(query.iter().map(|(p, a)| work::taken_row(p, a)))
}

fn fours() -> World {
    let mut world = world();
    world.spawn_batch((0..MILLION).map(work::four));
    world
}

fn fours_result(world: &mut World) -> u64 {
    let query = world.query::<(&A, &B, &C, &D)>();
    work::in_any_order(query.iter().map(|(a, b, c, d)| work::four_row(a, b, c, d)))
}

pub(super) fn two_loops(cell: Cell) -> Reading {
    let operation = |world: &mut World| {
        world.query_mut::<(&mut A, &B)>().for_each(|(a, b)| a.0 += b.0);
        world.query_mut::<(&mut C, &D)>().for_each(|(c, d)| c.0 += d.0);
    };
    cell.run(fours(), operation, fours_result)
}

pub(super) fn two_jobs(cell: Cell) -> Reading {
    let operation = |world: &mut World| {
        let first = world.query_mut::<(&mut A, &B)>().schedule(|(a, b)| a.0 += b.0);
        let second = world.query_mut::<(&mut C, &D)>().schedule(|(c, d)| c.0 += d.0);
        world.jobs().complete_all(&[first, second]);
    };
    cell.run(two_threads(fours()), operation, fours_result)
}

pub(super) fn empty_job(cell: Cell) -> Reading {
    let mut world = world();
    world.spawn_many(A(0.0), 10 * capacity());
    assert_eq!(world.chunks().count(), 10);
    let operation = |world: &mut World| {
        let job = world.query_mut::<&mut A>().job().schedule_chunks_parallel(|_| {});
        complete(world, job);
    };
    cell.run(two_threads(world), operation, |_| 0)
}

/// Returns the capacity of a chunk for entities with only an `A`.
fn capacity() -> usize {
    let mut world = world();
    world.spawn(A(0.0));
    world.chunks().map(|chunk| chunk.capacity()).sum()
}

/// Measures jobs without entities, for ten batches.
pub(super) fn empty_job_alone(cell: Cell) -> Reading {
    let operation = |world: &mut World| {
        let job = world.jobs().schedule_parallel(&[], (), 10, 1, |(), _| {});
        complete(world, job.expect("nothing is in its way"));
    };
    cell.run(two_threads(world()), operation, |_| 0)
}

/// Measures structural changes while a job runs on the other thread, until the measurement ends.
pub(super) fn structural_beside_job(cell: Cell) -> Reading {
    let mut world = two_threads(bodies());
    let other = world.spawn(A(0.0));
    let (is_running, stop) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (runs, stops) = (Arc::clone(&is_running), Arc::clone(&stop));
    let waits = move || {
        runs.store(true, Ordering::Relaxed);
        while !stops.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
    };
    let job = world.query_mut::<&mut Position>().schedule(move |_| waits());
    world.jobs().flush();
    while !is_running.load(Ordering::Relaxed) {
        std::thread::yield_now();
    }
    let operation = |world: &mut World| {
        world.add(other, B(1.0)).map_err(|rejected| rejected.error).expect("it is alive");
        world.remove::<B>(other).expect("it has it");
    };
    cell.run(world, operation, |world| {
        assert!(!world.jobs().is_completed(job), "the job is not completed yet");
        stop.store(true, Ordering::Relaxed);
        complete(world, job);
        0
    })
}

/// Measures structural changes of entities while a job loops over other entities.
pub(super) fn unrelated_structural(cell: Cell) -> Reading {
    let mut world = two_threads(bodies());
    let others: Vec<Entity> = world.spawn_batch((0..FEW).map(|index| A(index as f32))).collect();
    let operation = |world: &mut World| {
        let mut query = world.query_mut::<(&mut Position, &Velocity)>();
        let job = query.schedule(|(position, velocity)| work::advance(position, velocity));
        world.jobs().flush();
        for &entity in &others {
            world.add(entity, B(1.0)).map_err(|rejected| rejected.error).expect("all are alive");
        }
        for &entity in &others {
            world.remove::<B>(entity).expect("all have it");
        }
        complete(world, job);
    };
    cell.run(world, operation, |world| {
        let query = world.query_filtered::<&A, Without<B>>();
        let others = work::in_any_order(query.iter().map(|a| work::row([a.0])));
        bodies_result(world).wrapping_add(others)
    })
}

/// Returns the world with jobs on this thread and one more.
fn two_threads(world: World) -> World {
    assert_eq!(world.jobs().thread_count(), 2, "the peers have two threads");
    world
}

pub(super) fn heavy_compute(cell: Cell) -> Reading {
    let mut world = world();
    world.spawn_batch((0..HEAVY).map(work::heavy));
    let operation = |world: &mut World| {
        let mut query = world.query_mut::<(&mut Transform, &mut Position)>();
        query.for_each_parallel(|(transform, position)| work::invert(transform, position));
    };
    cell.run(two_threads(world), operation, |world| {
        let query = world.query::<(&Transform, &Position)>();
        work::in_any_order(query.iter().map(|(t, p)| work::heavy_row(t, p)))
    })
}

pub(super) fn empty_parallel(cell: Cell) -> Reading {
    let mut world = world();
    world.spawn(A(0.0));
    let operation =
        |world: &mut World| world.query_mut::<&mut A>().for_each_parallel(|a| a.0 += 1.0);
    cell.run(two_threads(world), operation, |world| {
        world.query::<&A>().single().expect("there is one").0.to_bits().into()
    })
}

pub(super) fn frag_iter(cell: Cell) -> Reading {
    fn spawn<M: Mark + Component>(world: &mut World) {
        world.spawn_batch((0..FRAGMENT).map(|index| (work::data(index), M::new(0.0))));
    }
    let mut world = world();
    for spawn in all_marks!(spawn) {
        spawn(&mut world);
    }
    let pass = |world: &mut World, factor: f32| {
        world.query_mut::<&mut Data>().for_each(|data| data.0 *= factor);
    };
    let operation = |world: &mut World| work::passes(|factor| pass(world, factor));
    cell.run(world, operation, |world| {
        pass(world, work::LAST_PASS);
        work::in_any_order(world.query::<&Data>().iter().map(|data| work::row([data.0])))
    })
}

pub(super) fn query(cell: Cell, alive: usize) -> Reading {
    fn spawn<M: Mark + Component>(world: &mut World) {
        world.spawn_batch((0..FRAGMENT).map(|index| (A(index as f32), M::new(0.0))));
    }
    fn add<M: Mark + Component>(world: &mut World, entity: Entity) {
        let added = world.add(entity, M::new(0.0)).map_err(|rejected| rejected.error);
        added.expect("it is alive");
    }
    let mut world = world();
    for spawn in twenty_marks!(spawn) {
        spawn(&mut world);
    }
    for marks in work::others(alive) {
        let entity = world.spawn(());
        for mark in marks {
            twenty_marks!(add)[mark](&mut world, entity);
        }
    }
    let operation = |world: &mut World| world.query_mut::<&mut A>().for_each(|a| a.0 += 1.0);
    cell.run(world, operation, |world| {
        work::in_any_order(world.query::<&A>().iter().map(|a| work::row([a.0])))
    })
}

/// An enableable position.
#[derive(Component, Clone, Copy)]
#[component(enableable)]
struct Switched(Position);

pub(super) fn enabled(cell: Cell, pattern: Pattern) -> Reading {
    let mut world = world();
    let bodies = (0..MILLION).map(work::body).map(|(p, v)| (Switched(p), v));
    let entities: Vec<Entity> = world.spawn_batch(bodies).collect();
    for index in (0..MILLION).filter(|&index| !pattern(index)) {
        let switched = world.set_component_enabled::<Switched>(entities[index], false);
        switched.expect("all have it");
    }
    let operation = |world: &mut World| {
        let mut query = world.query_mut::<(&mut Switched, &Velocity)>();
        query.for_each(|(position, velocity)| work::advance(&mut position.0, velocity));
    };
    cell.run(world, operation, |world| {
        let query = world.query_filtered::<(&Switched, &Velocity), IgnoreEnabled>();
        work::in_any_order(query.iter().map(|(p, v)| work::body_row(&p.0, v)))
    })
}

pub(super) fn add_comp(cell: Cell) -> Reading {
    add_to_all(cell, B(1.0), |world| {
        let query = world.query::<(&Position, &Velocity, &B)>();
        work::in_any_order(query.iter().map(|(p, v, b)| work::added_row(p, v, b.0)))
    })
}

pub(super) fn add_tag(cell: Cell) -> Reading {
    add_to_all(cell, Tag, |world| {
        let query = world.query_filtered::<(&Position, &Velocity), With<Tag>>();
        work::in_any_order(query.iter().map(|(p, v)| work::added_row(p, v, 0.0)))
    })
}

fn add_to_all<T: Component + Copy>(
    cell: Cell,
    value: T,
    result: impl FnOnce(&mut World) -> u64,
) -> Reading {
    let operation = |world: &mut World| {
        let added = world
            .batch(QueryDescriptor::of::<&Position, ()>())
            .add(value)
            .map_err(|rejected| rejected.error);
        assert_eq!(added, Ok(MILLION));
    };
    cell.run_afresh(bodies, operation, result)
}

pub(super) fn toggle(cell: Cell) -> Reading {
    let mut world = world();
    world.spawn_batch((0..MILLION).map(work::body).map(|(p, v)| (Switched(p), v)));
    let query = QueryDescriptor::of::<(), Present<Switched>>();
    let operation = |(enabled, world): &mut (bool, World)| {
        *enabled = !*enabled;
        let switched = world.batch(&query).set_component_enabled::<Switched>(*enabled);
        assert_eq!(switched, Ok(MILLION));
    };
    let result = |(_, world): &mut (bool, World)| world.query::<&Switched>().count() as u64;
    cell.run((true, world), operation, result)
}

/// A value with tracked changes.
#[derive(Component, Clone, Copy)]
#[component(track_changes)]
struct TrackedA(A);

/// A position with tracked changes.
#[derive(Component, Clone, Copy)]
#[component(track_changes)]
struct TrackedPosition(Position);

pub(super) fn tracked_write(cell: Cell) -> Reading {
    let mut world = world();
    world.spawn_batch((0..MILLION).map(work::body).map(|(p, v)| (TrackedPosition(p), v)));
    let operation = |world: &mut World| {
        world.advance_version();
        let mut query = world.query_mut::<(&mut TrackedPosition, &Velocity)>();
        query.for_each(|(position, velocity)| work::advance(&mut position.0, velocity));
    };
    let seen = world.version();
    cell.run(world, operation, |world| {
        let written = world.query_filtered::<(), Changed<TrackedPosition>>().since(seen);
        assert_eq!(written.count(), MILLION, "all were written");
        let query = world.query::<(&TrackedPosition, &Velocity)>();
        work::in_any_order(query.iter().map(|(p, v)| work::body_row(&p.0, v)))
    })
}

pub(super) fn changed_random(cell: Cell) -> Reading {
    let indices = work::scattered();
    let mut world = world();
    let entities: Vec<Entity> = world.spawn_batch((0..MILLION).map(|_| TrackedA(A(0.0)))).collect();
    let shared = RefCell::new((world, 0, Version::NEVER));
    let make = || {
        let (world, turn, seen) = &mut *shared.borrow_mut();
        *turn += 1;
        *seen = world.version();
        world.advance_version();
        for &index in &indices {
            let value = world.get_mut::<TrackedA>(entities[index]).expect("all have it");
            value.0 = work::changed_value(index, *turn);
        }
        0.0
    };
    let operation = |sum: &mut f32| {
        let (world, _, seen) = &*shared.borrow();
        let query = world.query_filtered::<&TrackedA, Changed<TrackedA>>().since(*seen);
        *sum = query.iter().map(|a| a.0.0).sum();
    };
    cell.run_afresh(make, operation, |sum| sum.to_bits().into())
}

pub(super) fn changed_cluster(cell: Cell) -> Reading {
    let indices = work::cluster();
    let mut world = world();
    let entities: Vec<Entity> = world.spawn_batch((0..MILLION).map(|_| A(0.0))).collect();
    let shared = RefCell::new((world, 0, Version::NEVER));
    let make = || {
        let (world, turn, seen) = &mut *shared.borrow_mut();
        *turn += 1;
        *seen = world.version();
        world.advance_version();
        for &index in &indices {
            let value = world.get_mut::<A>(entities[index]).expect("all have it");
            *value = work::changed_value(index, *turn);
        }
        0.0
    };
    let operation = |sum: &mut f32| {
        let (world, _, seen) = &*shared.borrow();
        let query = world.query_filtered::<&A, Changed<A>>().since(*seen);
        *sum = query.iter().map(|a| a.0).sum();
    };
    cell.run_afresh(make, operation, |sum| sum.to_bits().into())
}
