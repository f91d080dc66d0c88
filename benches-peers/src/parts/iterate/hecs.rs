//! hecs: archetypes, with iterators that loop inside of the library.

use std::cell::RefCell;

use hecs::{ChangeTracker, Component, Entity, PreparedQuery, World};

use super::types::*;
use super::work::{self, BATCH, FEW, FRAGMENT, HEAVY, MILLION};
use crate::harness::{Cell, Reading};

fn bodies() -> World {
    let mut world = World::new();
    world.spawn_batch((0..MILLION).map(work::body));
    world
}

/// Processes the entities with `for_each`, which is a loop for each archetype. A `for` loop takes a
/// third longer.
fn advance(world: &mut World) {
    let query = world.query_mut::<(&mut Position, &Velocity)>();
    query.into_iter().for_each(|(position, velocity)| work::advance(position, velocity));
}

fn bodies_result(world: &mut World) -> u64 {
    let query = world.query_mut::<(&Position, &Velocity)>();
    work::in_any_order(query.into_iter().map(|(p, v)| work::body_row(p, v)))
}

pub(super) fn simple_iter(cell: Cell) -> Reading {
    let mut world = World::new();
    world.spawn_batch((0..FEW).map(|_| work::simple()));
    cell.run(world, advance, |world| {
        let query = world.query_mut::<(&Transform, &Position, &Rotation, &Velocity)>();
        work::in_any_order(query.into_iter().map(|(t, p, r, v)| work::simple_row(t, p, r, v)))
    })
}

pub(super) fn iter(cell: Cell) -> Reading {
    cell.run(bodies(), advance, bodies_result)
}

/// Measures a loop over batches on the threads of rayon, as hecs intends.
pub(super) fn iter_par(cell: Cell) -> Reading {
    work::two_threads();
    let operation = |world: &mut World| {
        let query = world.query_mut::<(&mut Position, &Velocity)>();
        rayon::scope(|scope| {
            for batch in query.into_iter_batched(BATCH as u32) {
                scope.spawn(move |_| batch.for_each(|(p, v)| work::advance(p, v)));
            }
        });
    };
    cell.run(bodies(), operation, bodies_result)
}

/// A world and a query that caches the matching archetypes.
struct Prepared<Q: hecs::Query> {
    world: World,
    query: PreparedQuery<Q>,
}

impl<Q: hecs::Query> Prepared<Q> {
    fn new(world: World) -> Self {
        Prepared { world, query: PreparedQuery::new() }
    }
}

pub(super) fn frag_iter(cell: Cell) -> Reading {
    fn spawn<M: Mark>(world: &mut World) {
        world.spawn_batch((0..FRAGMENT).map(|index| (work::data(index), M::new(0.0))));
    }
    type Fragments = Prepared<&'static mut Data>;
    fn pass(Prepared { world, query }: &mut Fragments, factor: f32) {
        query.query_mut(world).for_each(|data| data.0 *= factor);
    }
    let mut world = World::new();
    for spawn in all_marks!(spawn) {
        spawn(&mut world);
    }
    let operation = |prepared: &mut Fragments| work::passes(|factor| pass(prepared, factor));
    cell.run(Prepared::new(world), operation, |prepared| {
        pass(prepared, work::LAST_PASS);
        let all = prepared.query.query_mut(&mut prepared.world);
        work::in_any_order(all.map(|data| work::row([data.0])))
    })
}

pub(super) fn query(cell: Cell, alive: usize) -> Reading {
    fn spawn<M: Mark>(world: &mut World) {
        world.spawn_batch((0..FRAGMENT).map(|index| (A(index as f32), M::new(0.0))));
    }
    fn add<M: Mark>(world: &mut World, entity: Entity) {
        world.insert_one(entity, M::new(0.0)).expect("it is alive");
    }
    let mut world = World::new();
    for spawn in twenty_marks!(spawn) {
        spawn(&mut world);
    }
    for marks in work::others(alive) {
        let entity = world.spawn(());
        for mark in marks {
            twenty_marks!(add)[mark](&mut world, entity);
        }
    }
    type Found = Prepared<&'static mut A>;
    let operation = |Prepared { world, query }: &mut Found| {
        query.query_mut(world).for_each(|a| a.0 += 1.0);
    };
    cell.run(Prepared::new(world), operation, |Prepared { world, query }| {
        work::in_any_order(query.query_mut(world).map(|a| work::row([a.0])))
    })
}

pub(super) fn heavy_compute(cell: Cell) -> Reading {
    work::two_threads();
    let mut world = World::new();
    world.spawn_batch((0..HEAVY).map(work::heavy));
    let operation = |world: &mut World| {
        let query = world.query_mut::<(&mut Transform, &mut Position)>();
        rayon::scope(|scope| {
            for batch in query.into_iter_batched(HEAVY as u32 / 64) {
                scope.spawn(move |_| batch.for_each(|(t, p)| work::invert(t, p)));
            }
        });
    };
    cell.run(world, operation, |world| {
        let query = world.query_mut::<(&Transform, &Position)>();
        work::in_any_order(query.into_iter().map(|(t, p)| work::heavy_row(t, p)))
    })
}

/// The entity to look up.
struct Target(Entity);

/// Measures a query for writing, with the view of another query for lookups.
pub(super) fn lookup(cell: Cell) -> Reading {
    let mut world = World::new();
    let positions =
        (0..MILLION).map(|index| (work::body(index).0, A(0.0), Target(Entity::DANGLING)));
    let entities: Vec<Entity> = world.spawn_batch(positions).collect();
    let targets = work::shuffled(entities.clone());
    for (entity, target) in entities.into_iter().zip(targets) {
        world.query_one_mut::<&mut Target>(entity).expect("all have it").0 = target;
    }
    let operation = |world: &mut World| {
        let mut positions = world.query::<&Position>();
        let positions = positions.view();
        world.query::<(&Target, &mut A)>().iter().for_each(|(target, sum)| {
            work::take(sum, positions.get(target.0).expect("all have it"));
        });
    };
    cell.run(world, operation, |world| {
        let query = world.query_mut::<(&Position, &A)>();
        work::in_any_order(query.into_iter().map(|(p, a)| work::taken_row(p, a)))
    })
}

pub(super) fn add_comp(cell: Cell) -> Reading {
    add_to_all(cell, B(1.0), |world| {
        let query = world.query_mut::<(&Position, &Velocity, &B)>();
        work::in_any_order(query.into_iter().map(|(p, v, b)| work::added_row(p, v, b.0)))
    })
}

pub(super) fn add_tag(cell: Cell) -> Reading {
    add_to_all(cell, Tag, |world| {
        let query = world.query_mut::<(&Position, &Velocity)>().with::<&Tag>();
        work::in_any_order(query.into_iter().map(|(p, v)| work::added_row(p, v, 0.0)))
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
        for &entity in entities.iter() {
            world.insert_one(entity, value).expect("all are alive");
        }
    };
    cell.run_afresh(make, operation, |(world, _)| result(world))
}

/// Measures changes with the tracker of hecs, which keeps a copy of each value and compares.
pub(super) fn changed(cell: Cell, indices: &[usize]) -> Reading {
    let mut world = World::new();
    let entities: Vec<Entity> = world.spawn_batch((0..MILLION).map(|_| (A(0.0),))).collect();
    let mut tracker = ChangeTracker::<A>::new();
    drop(tracker.track(&mut world));
    let shared = RefCell::new((world, 0));
    let make = || {
        let (world, turn) = &mut *shared.borrow_mut();
        *turn += 1;
        for &index in indices {
            let value = world.query_one_mut::<&mut A>(entities[index]).expect("all have it");
            *value = work::changed_value(index, *turn);
        }
        0.0
    };
    let operation = |sum: &mut f32| {
        let (world, _) = &mut *shared.borrow_mut();
        *sum = tracker.track(world).changed().map(|(_, _, a)| a.0).sum();
    };
    cell.run_afresh(make, operation, |sum| sum.to_bits().into())
}

pub(super) fn empty_parallel(cell: Cell) -> Reading {
    work::two_threads();
    let mut world = World::new();
    world.spawn((A(0.0),));
    let operation = |world: &mut World| {
        let query = world.query_mut::<&mut A>();
        rayon::scope(|scope| {
            for batch in query.into_iter_batched(BATCH as u32) {
                scope.spawn(move |_| batch.for_each(|a| a.0 += 1.0));
            }
        });
    };
    cell.run(world, operation, |world| {
        world.query_mut::<&A>().into_iter().map(|a| u64::from(a.0.to_bits())).sum()
    })
}

/// Measures two threads that write different components of a world, because hecs has no jobs.
pub(super) fn two_jobs(cell: Cell) -> Reading {
    work::two_threads();
    let mut world = World::new();
    world.spawn_batch((0..MILLION).map(work::four));
    let operation = |world: &mut World| {
        let world = &*world;
        rayon::join(
            || world.query::<(&mut A, &B)>().iter().for_each(|(a, b)| a.0 += b.0),
            || world.query::<(&mut C, &D)>().iter().for_each(|(c, d)| c.0 += d.0),
        );
    };
    cell.run(world, operation, |world| {
        let query = world.query_mut::<(&A, &B, &C, &D)>();
        work::in_any_order(query.into_iter().map(|(a, b, c, d)| work::four_row(a, b, c, d)))
    })
}

/// Measures the loop and the changes one after the other, because structural changes need exclusive
/// access to the world.
pub(super) fn unrelated_structural(cell: Cell) -> Reading {
    let mut world = bodies();
    let others: Vec<Entity> = world.spawn_batch((0..FEW).map(|index| (A(index as f32),))).collect();
    let operation = |world: &mut World| {
        advance(world);
        for &entity in &others {
            world.insert_one(entity, B(1.0)).expect("all are alive");
        }
        for &entity in &others {
            world.remove_one::<B>(entity).expect("all have it");
        }
    };
    cell.run(world, operation, |world| {
        let query = world.query_mut::<&A>().without::<&B>();
        let others = work::in_any_order(query.into_iter().map(|a| work::row([a.0])));
        bodies_result(world).wrapping_add(others)
    })
}
