//! shipyard: workloads, which share systems among threads where possible.

use shipyard::scheduler::ScheduledWorkload;
use shipyard::{Component, EntityId, IntoIter, View, ViewMut, Workload, World, track};

use super::types::{A, B, C, D, E, Position, Value, Velocity};
use super::work::{self, EACH, MOVED};
use crate::harness::{Cell, Reading};

/// A world and its workload. A workload stored in the world would be looked up by name.
type Scheduled = (World, ScheduledWorkload);

fn run((world, workload): &mut Scheduled) {
    workload.run_with_world(world).expect("nothing is borrowed");
}

fn system<X, Y>(mut xs: ViewMut<'_, X>, mut ys: ViewMut<'_, Y>)
where
    X: Component<Tracking = track::Untracked> + Value,
    Y: Component<Tracking = track::Untracked> + Value,
{
    (&mut xs, &mut ys).iter().for_each(|(x, y)| work::swap(x, y));
}

pub(in crate::parts::systems) fn schedule(cell: Cell) -> Reading {
    work::two_threads();
    let mut world = World::new();
    world.bulk_add_entity((0..EACH).map(work::ab));
    world.bulk_add_entity((0..EACH).map(work::abc));
    world.bulk_add_entity((0..EACH).map(work::abcd));
    world.bulk_add_entity((0..EACH).map(work::abce));
    let workload = Workload::new("schedule")
        .with_system(system::<A, B>)
        .with_system(system::<C, D>)
        .with_system(system::<C, E>);
    let (workload, _) = workload.build().expect("its systems can be run");
    cell.run((world, workload), run, |(world, _)| {
        let mut rows = Vec::new();
        world.run(
            |a: View<'_, A>, b: View<'_, B>, c: View<'_, C>, d: View<'_, D>, e: View<'_, E>| {
                let all = (&a, &b, c.as_optional(), d.as_optional(), e.as_optional());
                rows.extend(all.iter().map(|(a, b, c, d, e)| work::swapped_row(a, b, c, d, e)));
            },
        );
        work::in_any_order(rows.into_iter())
    })
}

pub(in crate::parts::systems) fn empty_100(cell: Cell) -> Reading {
    empty(cell, 100)
}

pub(in crate::parts::systems) fn empty_1000(cell: Cell) -> Reading {
    empty(cell, 1_000)
}

fn empty(cell: Cell, count: usize) -> Reading {
    work::two_threads();
    let ran = work::count_runs(systems(count, work::counted), run);
    cell.run(systems(count, work::nothing), run, |_| ran)
}

/// Returns a workload with `count` equal systems.
fn systems(count: usize, system: impl Fn() + Copy + Send + Sync + 'static) -> Scheduled {
    let mut workload = Workload::new("empty");
    for _ in 0..count {
        workload = workload.with_system(system);
    }
    let (workload, _) = workload.build().expect("its systems can be run");
    (World::new(), workload)
}

/// Moves entities to another world one by one, since there is no bulk operation. They keep their
/// ids.
pub(in crate::parts::systems) fn world_move(cell: Cell) -> Reading {
    type State = (World, Vec<EntityId>, World);
    let make = || {
        let mut source = World::new();
        let entities = source.bulk_add_entity((0..MOVED).map(work::body)).collect();
        (source, entities, World::new())
    };
    let operation = |(source, entities, target): &mut State| {
        let mut source = source.all_storages_mut().expect("nothing is borrowed");
        let mut target = target.all_storages_mut().expect("nothing is borrowed");
        for &entity in entities.iter() {
            source.move_entity(&mut target, entity);
        }
    };
    cell.run_afresh(make, operation, |(source, _, target)| {
        let left_behind = source.run(|positions: View<'_, Position>| positions.len());
        let mut rows = Vec::new();
        target.run(|p: View<'_, Position>, v: View<'_, Velocity>| {
            rows.extend((&p, &v).iter().map(|(p, v)| work::body_row(p, v)));
        });
        work::moved(left_behind, work::in_any_order(rows.into_iter()))
    })
}
