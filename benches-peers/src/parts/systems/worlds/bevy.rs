//! bevy_ecs: schedules, here of systems that run one after the other on the main thread.

use bevy_ecs::component::{Component, Mutable};
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::SingleThreadedExecutor;

use super::types::{A, B, C, D, E, Value};
use super::work::{self, EACH};
use crate::harness::{Cell, Reading};

/// A world and its schedule.
type Scheduled = (World, Schedule);

fn run((world, schedule): &mut Scheduled) {
    schedule.run(world);
}

/// Returns a schedule without a final sync point for commands, because no system here uses
/// commands.
fn on_this_thread() -> Schedule {
    let mut schedule = Schedule::default();
    schedule.set_executor(SingleThreadedExecutor::new()).set_apply_final_deferred(false);
    schedule
}

/// Processes the entities as slices, without marking each row as changed.
fn system<X, Y>(mut query: Query<'_, '_, (&mut X, &mut Y)>)
where
    X: Component<Mutability = Mutable> + Value,
    Y: Component<Mutability = Mutable> + Value,
{
    for (mut xs, mut ys) in query.contiguous_iter_mut().expect("all is in tables") {
        work::swap_all(xs.bypass_change_detection(), ys.bypass_change_detection());
    }
}

pub(in crate::parts::systems) fn schedule(cell: Cell) -> Reading {
    let mut world = World::new();
    world.spawn_batch((0..EACH).map(work::ab));
    world.spawn_batch((0..EACH).map(work::abc));
    world.spawn_batch((0..EACH).map(work::abcd));
    world.spawn_batch((0..EACH).map(work::abce));
    let mut schedule = on_this_thread();
    schedule.add_systems((system::<A, B>, system::<C, D>, system::<C, E>));
    cell.run((world, schedule), run, |(world, _)| {
        let mut query = world.query::<(&A, &B, Option<&C>, Option<&D>, Option<&E>)>();
        work::in_any_order(
            query.iter(world).map(|(a, b, c, d, e)| work::swapped_row(a, b, c, d, e)),
        )
    })
}

pub(in crate::parts::systems) fn empty_100(cell: Cell) -> Reading {
    empty(cell, 100)
}

pub(in crate::parts::systems) fn empty_1000(cell: Cell) -> Reading {
    empty(cell, 1_000)
}

fn empty(cell: Cell, count: usize) -> Reading {
    let ran = work::count_runs(systems(count, work::counted), run);
    cell.run(systems(count, work::nothing), run, |_| ran)
}

/// Returns a schedule with `count` equal systems.
fn systems(count: usize, system: impl Fn() + Copy + Send + Sync + 'static) -> Scheduled {
    let mut schedule = on_this_thread();
    for _ in 0..count {
        schedule.add_systems(system);
    }
    (World::new(), schedule)
}
