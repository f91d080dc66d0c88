//! ancho, with and without the order for latency, which leaves jobs more time: systems that schedule a job each, and systems that
//! wait for it.

use std::hint::black_box;

use ancho_entities::{Component, IntoSystem, Mutable, Query, World};

use super::ancho::update;
use super::types::{A, B, C, D, E, Value};
use super::work;
use crate::harness::{Cell, Reading};

/// Number of entities, each with all components.
const ENTITIES: usize = 10_000;

/// Schedules one job on one thread.
fn compute<X: Component + Mutable + Value>(mut query: Query<'_, (&mut X, &E)>) {
    query.schedule(|(x, e)| *x.value() = (0..8).fold(e.0, |value, _| (value * 0.5 + 1.0).sqrt()));
}

/// Waits for the job, and iterates over its results.
fn read<X: Component + Mutable + Value + Copy>(mut query: Query<'_, &X>) {
    let mut sum = 0.0;
    query.for_each(|x| sum += *{ *x }.value());
    black_box(sum);
}

fn waits(cell: Cell, for_latency: bool) -> Reading {
    let mut world = World::new("peers");
    let row = |index: usize| (A(0.0), B(0.0), C(0.0), D(0.0), E(index as f32));
    world.spawn_batch((0..ENTITIES).map(row));
    world.add_system(compute::<A>.in_jobs());
    world.add_system(read::<A>);
    world.add_system(compute::<B>.in_jobs());
    world.add_system(read::<B>);
    world.add_system(compute::<C>.in_jobs());
    world.add_system(read::<C>);
    world.add_system(compute::<D>.in_jobs());
    world.add_system(read::<D>);
    world.order_systems_for_latency(for_latency);
    cell.run(world, update, |world| {
        let query = world.query::<(&A, &B, Option<&C>, Option<&D>, Option<&E>)>();
        work::in_any_order(query.iter().map(|(a, b, c, d, e)| work::swapped_row(a, b, c, d, e)))
    })
}

/// Measures systems in the order in which they were added: each reading system waits for the job that was just scheduled.
pub(in crate::parts::systems) fn plain(cell: Cell) -> Reading {
    waits(cell, false)
}

/// Measures systems in the order for latency: all jobs are scheduled before the first wait.
pub(in crate::parts::systems) fn lengthened(cell: Cell) -> Reading {
    waits(cell, true)
}
