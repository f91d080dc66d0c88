//! ancho: function systems, and a world that updates them.

use ancho_entities::{Component, Mutable, Query, World};

use super::types::{A, B, C, D, E, Position, Value, Velocity};
use super::work::{self, EACH, MOVED};
use crate::harness::{Cell, Reading};

/// The length of a frame.
const FRAME: f64 = 1.0 / 60.0;

pub(super) fn update(world: &mut World) {
    world.update(FRAME);
}

/// Processes the entities on this thread, because a job would take longer for this number of
/// entities.
fn system<X: Component + Mutable + Value, Y: Component + Mutable + Value>(
    mut query: Query<'_, (&mut X, &mut Y)>,
) {
    query.for_each(|(x, y)| work::swap(x, y));
}

pub(in crate::parts::systems) fn schedule(cell: Cell) -> Reading {
    let mut world = World::new("peers");
    world.spawn_batch((0..EACH).map(work::ab));
    world.spawn_batch((0..EACH).map(work::abc));
    world.spawn_batch((0..EACH).map(work::abcd));
    world.spawn_batch((0..EACH).map(work::abce));
    world.add_system(system::<A, B>);
    world.add_system(system::<C, D>);
    world.add_system(system::<C, E>);
    cell.run(world, update, |world| {
        let query = world.query::<(&A, &B, Option<&C>, Option<&D>, Option<&E>)>();
        work::in_any_order(query.iter().map(|(a, b, c, d, e)| work::swapped_row(a, b, c, d, e)))
    })
}

pub(in crate::parts::systems) fn empty_100(cell: Cell) -> Reading {
    empty(cell, 100)
}

pub(in crate::parts::systems) fn empty_1000(cell: Cell) -> Reading {
    empty(cell, 1_000)
}

/// Measures systems in the default group, with the other groups and points around it.
fn empty(cell: Cell, count: usize) -> Reading {
    let ran = work::count_runs(systems(count, work::counted), update);
    cell.run(systems(count, work::nothing), update, |_| ran)
}

/// Returns a world with `count` equal systems.
fn systems(count: usize, system: impl Fn() + Copy + Send + Sync + 'static) -> World {
    let mut world = World::new("peers");
    for _ in 0..count {
        world.add_system(system);
    }
    world
}

/// Moves whole chunks to the other world. The entities get new ids there, with a map from the old
/// ones.
pub(in crate::parts::systems) fn world_move(cell: Cell) -> Reading {
    type Pair = (World, World);
    let make = || {
        let mut source = World::new("source");
        source.spawn_batch((0..MOVED).map(work::body));
        (source, World::new("target"))
    };
    let operation = |(source, target): &mut Pair| {
        target.move_entities_from(source).expect("there is memory");
    };
    cell.run_afresh(make, operation, |(source, target)| {
        let left_behind = source.query::<&Position>().iter().count();
        let query = target.query::<(&Position, &Velocity)>();
        let arrived = work::in_any_order(query.iter().map(|(p, v)| work::body_row(p, v)));
        work::moved(left_behind, arrived)
    })
}
