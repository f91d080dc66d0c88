//! bevy_ecs: archetypes, whose tables a query yields as slices.

use std::cell::RefCell;

use bevy_ecs::prelude::*;
use bevy_ecs::query::QueryData;
use bevy_ecs::schedule::SingleThreadedExecutor;
use bevy_tasks::{ComputeTaskPool, TaskPoolBuilder};

use super::types::{
    A, B, C, D, Data, Mark, Position, Tag, Transform, Velocity, all_marks, twenty_marks,
};
use super::work::{self, FEW, FRAGMENT, HEAVY, MILLION};
use crate::harness::{Cell, Reading};

/// A world and a query of it.
type Queried<D> = (World, QueryState<D>);
/// The query of most cases.
type Moving = Queried<(&'static mut Position, &'static Velocity)>;

fn queried<D: QueryData + 'static>(mut world: World) -> Queried<D> {
    let query = world.query();
    (world, query)
}

fn bodies() -> World {
    let mut world = World::new();
    world.spawn_batch((0..MILLION).map(work::body));
    world
}

/// Processes the entities as slices, without marking each row as changed. (`tracked_write` marks the rows.)
fn advance((world, query): &mut Moving) {
    for (mut positions, velocities) in query.contiguous_iter_mut(world).expect("all is in tables") {
        work::advance_all(positions.bypass_change_detection(), velocities);
    }
}

fn bodies_result(world: &mut World) -> u64 {
    let mut query = world.query::<(&Position, &Velocity)>();
    work::in_any_order(query.iter(world).map(|(p, v)| work::body_row(p, v)))
}

/// Sets up two threads for tasks. The main thread helps while it waits. (With one thread, bevy_ecs would run everything on the
/// main thread.)
fn two_threads() {
    ComputeTaskPool::get_or_init(|| TaskPoolBuilder::new().num_threads(2).build());
}

pub(super) fn simple_iter(cell: Cell) -> Reading {
    let mut world = World::new();
    world.spawn_batch((0..FEW).map(|_| work::simple()));
    cell.run(queried(world), advance, |(world, _): &mut Moving| {
        let mut query =
            world.query::<(&Transform, &Position, &super::types::Rotation, &Velocity)>();
        work::in_any_order(query.iter(world).map(|(t, p, r, v)| work::simple_row(t, p, r, v)))
    })
}

pub(super) fn iter(cell: Cell) -> Reading {
    cell.run(queried(bodies()), advance, |(world, _)| bodies_result(world))
}

pub(super) fn iter_par(cell: Cell) -> Reading {
    two_threads();
    let operation = |(world, query): &mut Moving| {
        let all = query.contiguous_par_iter_mut(world).expect("all is in tables");
        all.for_each(|(mut positions, velocities)| {
            work::advance_all(positions.bypass_change_detection(), velocities);
        });
    };
    cell.run(queried(bodies()), operation, |(world, _)| bodies_result(world))
}

/// A world and its schedule.
type Scheduled = (World, Schedule);

fn run((world, schedule): &mut Scheduled) {
    schedule.run(world);
}

pub(super) fn frag_iter(cell: Cell) -> Reading {
    fn spawn<M: Mark + Component>(world: &mut World) {
        world.spawn_batch((0..FRAGMENT).map(|index| (work::data(index), M::new(0.0))));
    }
    type Fragments = Queried<&'static mut Data>;
    fn pass((world, query): &mut Fragments, factor: f32) {
        for mut table in query.contiguous_iter_mut(world).expect("all is in tables") {
            for data in table.bypass_change_detection() {
                data.0 *= factor;
            }
        }
    }
    let mut world = World::new();
    for spawn in all_marks!(spawn) {
        spawn(&mut world);
    }
    let operation = |queried: &mut Fragments| work::passes(|factor| pass(queried, factor));
    cell.run(queried(world), operation, |queried| {
        pass(queried, work::LAST_PASS);
        let (world, query) = queried;
        work::in_any_order(query.iter(world).map(|data| work::row([data.0])))
    })
}

pub(super) fn query(cell: Cell, alive: usize) -> Reading {
    fn spawn<M: Mark + Component>(world: &mut World) {
        world.spawn_batch((0..FRAGMENT).map(|index| (A(index as f32), M::new(0.0))));
    }
    fn add<M: Mark + Component>(world: &mut World, entity: Entity) {
        world.entity_mut(entity).insert(M::new(0.0));
    }
    let mut world = World::new();
    for spawn in twenty_marks!(spawn) {
        spawn(&mut world);
    }
    for marks in work::others(alive) {
        let entity = world.spawn_empty().id();
        for mark in marks {
            twenty_marks!(add)[mark](&mut world, entity);
        }
    }
    type Found = Queried<&'static mut A>;
    let operation = |(world, query): &mut Found| {
        for mut table in query.contiguous_iter_mut(world).expect("all is in tables") {
            for a in table.bypass_change_detection() {
                a.0 += 1.0;
            }
        }
    };
    cell.run(queried(world), operation, |(world, query)| {
        work::in_any_order(query.iter(world).map(|a| work::row([a.0])))
    })
}

pub(super) fn heavy_compute(cell: Cell) -> Reading {
    two_threads();
    type Heavy = Queried<(&'static mut Transform, &'static mut Position)>;
    let mut world = World::new();
    world.spawn_batch((0..HEAVY).map(work::heavy));
    let operation = |(world, query): &mut Heavy| {
        query.par_iter_mut(world).for_each(|(mut transform, mut position)| {
            work::invert(&mut transform, &mut position);
        });
    };
    cell.run(queried(world), operation, |(world, query)| {
        work::in_any_order(query.iter(world).map(|(t, p)| work::heavy_row(t, p)))
    })
}

/// The entity to look up.
#[derive(Component)]
struct Target(Entity);

/// Measures a system, which may have one query for writing and another for lookups.
pub(super) fn lookup(cell: Cell) -> Reading {
    fn system(mut takers: Query<'_, '_, (&Target, &mut A)>, positions: Query<'_, '_, &Position>) {
        for (target, mut sum) in &mut takers {
            let position = positions.get(target.0).expect("all have it");
            work::take(sum.bypass_change_detection(), position);
        }
    }
    let mut world = World::new();
    let positions = (0..MILLION).map(|index| (work::body(index).0, A(0.0)));
    let entities: Vec<Entity> = world.spawn_batch(positions).collect();
    let targets = work::shuffled(entities.clone()).into_iter().map(Target);
    world.insert_batch(entities.into_iter().zip(targets));
    let mut schedule = Schedule::default();
    schedule.set_executor(SingleThreadedExecutor::new()).add_systems(system);
    cell.run((world, schedule), run, |(world, _)| {
        let mut query = world.query::<(&Position, &A)>();
        work::in_any_order(query.iter(world).map(|(p, a)| work::taken_row(p, a)))
    })
}

pub(super) fn add_comp(cell: Cell) -> Reading {
    add_to_all(cell, B(1.0), |world| {
        let mut query = world.query::<(&Position, &Velocity, &B)>();
        work::in_any_order(query.iter(world).map(|(p, v, b)| work::added_row(p, v, b.0)))
    })
}

pub(super) fn add_tag(cell: Cell) -> Reading {
    add_to_all(cell, Tag, |world| {
        let mut query = world.query_filtered::<(&Position, &Velocity), With<Tag>>();
        work::in_any_order(query.iter(world).map(|(p, v)| work::added_row(p, v, 0.0)))
    })
}

fn add_to_all<T: Component + Copy>(
    cell: Cell,
    value: T,
    result: impl FnOnce(&mut World) -> u64,
) -> Reading {
    let make = || {
        let mut world = World::new();
        let entities: Vec<Entity> = world.spawn_batch((0..MILLION).map(work::body)).collect();
        (world, entities)
    };
    let operation = |(world, entities): &mut (World, Vec<Entity>)| {
        world.insert_batch(entities.iter().map(|&entity| (entity, value)));
    };
    cell.run_afresh(make, operation, |(world, _)| result(world))
}

pub(super) fn changed(cell: Cell, indices: &[usize]) -> Reading {
    let mut world = World::new();
    let entities: Vec<Entity> = world.spawn_batch((0..MILLION).map(|_| A(0.0))).collect();
    let mut query = world.query_filtered::<&A, Changed<A>>();
    let shared = RefCell::new((world, 0));
    let make = || {
        let (world, turn) = &mut *shared.borrow_mut();
        *turn += 1;
        world.clear_trackers();
        for &index in indices {
            let mut value = world.get_mut::<A>(entities[index]).expect("all have it");
            *value = work::changed_value(index, *turn);
        }
        0.0
    };
    let operation = |sum: &mut f32| {
        let (world, _) = &*shared.borrow();
        *sum = query.iter(world).map(|a| a.0).sum();
    };
    cell.run_afresh(make, operation, |sum| sum.to_bits().into())
}

/// Measures the loop of `iter`, with a change tick per row.
pub(super) fn tracked_write(cell: Cell) -> Reading {
    let mut world = bodies();
    world.clear_trackers();
    let operation = |(world, query): &mut Moving| {
        let tables = query.contiguous_iter_mut(world).expect("all is in tables");
        for (mut positions, velocities) in tables {
            work::advance_all(&mut positions, velocities);
        }
    };
    cell.run(queried(world), operation, |(world, _)| {
        let mut written = world.query_filtered::<(), Changed<Position>>();
        assert_eq!(written.iter(world).count(), MILLION, "all were written");
        bodies_result(world)
    })
}

pub(super) fn empty_parallel(cell: Cell) -> Reading {
    two_threads();
    let mut world = World::new();
    world.spawn(A(0.0));
    type Found = Queried<&'static mut A>;
    let operation = |(world, query): &mut Found| {
        query.par_iter_mut(world).for_each(|mut a| a.bypass_change_detection().0 += 1.0);
    };
    cell.run(queried(world), operation, |(world, query)| {
        query.single(world).expect("there is one").0.to_bits().into()
    })
}

/// Measures two systems of a schedule, which may run them at the same time.
pub(super) fn two_jobs(cell: Cell) -> Reading {
    fn first(mut query: Query<'_, '_, (&mut A, &B)>) {
        for (mut a, b) in query.contiguous_iter_mut().expect("all is in tables") {
            let sums = a.bypass_change_detection().iter_mut();
            sums.zip(b).for_each(|(a, b)| a.0 += b.0);
        }
    }
    fn second(mut query: Query<'_, '_, (&mut C, &D)>) {
        for (mut c, d) in query.contiguous_iter_mut().expect("all is in tables") {
            let sums = c.bypass_change_detection().iter_mut();
            sums.zip(d).for_each(|(c, d)| c.0 += d.0);
        }
    }
    two_threads();
    let mut world = World::new();
    world.spawn_batch((0..MILLION).map(work::four));
    let mut schedule = Schedule::default();
    schedule.add_systems((first, second));
    cell.run((world, schedule), run, |(world, _)| {
        let mut query = world.query::<(&A, &B, &C, &D)>();
        work::in_any_order(query.iter(world).map(|(a, b, c, d)| work::four_row(a, b, c, d)))
    })
}

/// Measures the loop and the changes one after the other, because structural changes need exclusive access to the world.
pub(super) fn unrelated_structural(cell: Cell) -> Reading {
    let mut world = bodies();
    let others: Vec<Entity> = world.spawn_batch((0..FEW).map(|index| A(index as f32))).collect();
    let operation = |queried: &mut Moving| {
        advance(queried);
        let (world, _) = queried;
        world.insert_batch(others.iter().map(|&entity| (entity, B(1.0))));
        for &entity in &others {
            world.entity_mut(entity).remove::<B>();
        }
    };
    cell.run(queried(world), operation, |(world, _)| {
        let mut query = world.query_filtered::<&A, Without<B>>();
        let others = work::in_any_order(query.iter(world).map(|a| work::row([a.0])));
        bodies_result(world).wrapping_add(others)
    })
}
