//! legion: schedules, whose systems run in parallel where possible.

use legion::systems::Builder;
use legion::{IntoQuery, Resources, Schedule, SystemBuilder, World, any};

use super::types::{A, B, C, D, E, Position, Value, Velocity};
use super::work::{self, EACH, MOVED};
use crate::harness::{Cell, Reading};

/// A world and its schedule.
type Scheduled = (World, Resources, Schedule);

fn execute((world, resources, schedule): &mut Scheduled) {
    schedule.execute(world, resources);
}

/// Processes the entities as slices.
fn add_system<X: Value, Y: Value>(schedule: &mut Builder, name: &'static str) {
    let system = SystemBuilder::new(name).with_query(<(&mut X, &mut Y)>::query()).build(
        |_, world, _, query| {
            query.for_each_chunk_mut(world, |chunk| {
                let (xs, ys) = chunk.into_components();
                work::swap_all(xs, ys);
            });
        },
    );
    schedule.add_system(system);
}

/// Measures a schedule on two threads. The second and the third system write the same component of
/// different entities.
pub(in crate::parts::systems) fn schedule(cell: Cell) -> Reading {
    work::two_threads();
    let mut world = World::default();
    world.extend((0..EACH).map(work::ab));
    world.extend((0..EACH).map(work::abc));
    world.extend((0..EACH).map(work::abcd));
    world.extend((0..EACH).map(work::abce));
    let mut schedule = Schedule::builder();
    add_system::<A, B>(&mut schedule, "ab");
    add_system::<C, D>(&mut schedule, "cd");
    add_system::<C, E>(&mut schedule, "ce");
    let schedule = schedule.build();
    cell.run((world, Resources::default(), schedule), execute, |(world, ..)| {
        let mut query = <(&A, &B, Option<&C>, Option<&D>, Option<&E>)>::query();
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

/// Runs the systems one after the other on this thread, which is faster for empty systems.
fn empty(cell: Cell, count: usize) -> Reading {
    let ran = work::count_runs(systems(count, work::counted), execute);
    cell.run(systems(count, work::nothing), execute, |_| ran)
}

/// Returns a schedule with `count` equal systems.
fn systems(count: usize, system: impl Fn() + Copy + Send + Sync + 'static) -> Scheduled {
    let mut schedule = Schedule::builder();
    for _ in 0..count {
        let system = SystemBuilder::new("empty").build(move |_, _, _, ()| system());
        schedule.add_thread_local(system);
    }
    (World::default(), Resources::default(), schedule.build())
}

/// Moves entities to another world. They keep their ids, which are unique among all worlds.
pub(in crate::parts::systems) fn world_move(cell: Cell) -> Reading {
    type Pair = (World, World);
    let make = || {
        let mut source = World::default();
        source.extend((0..MOVED).map(work::body));
        (source, World::default())
    };
    let operation = |(source, target): &mut Pair| target.move_from(source, &any());
    cell.run_afresh(make, operation, |(source, target)| {
        let mut query = <(&Position, &Velocity)>::query();
        let arrived = work::in_any_order(query.iter(target).map(|(p, v)| work::body_row(p, v)));
        work::moved(source.len(), arrived)
    })
}
