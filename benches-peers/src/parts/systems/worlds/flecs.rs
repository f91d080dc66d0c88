//! flecs, in C, through flecs_ecs: systems of the frame, on one thread.

use flecs_ecs::prelude::*;

use super::types::{A, B, C, D, E, Value};
use super::work::{self, EACH};
use crate::harness::{Cell, Reading};

/// The length of a frame, which flecs would otherwise measure with the clock.
const FRAME: f32 = 1.0 / 60.0;

fn progress(world: &mut World) {
    world.progress_time(FRAME);
}

/// Processes the entities table by table, as slices.
fn system<X, Y>(world: &World)
where
    X: Value + ComponentId<UnderlyingType = X> + DataComponent,
    Y: Value + ComponentId<UnderlyingType = Y> + DataComponent,
{
    world.system::<(&mut X, &mut Y)>().run(|mut tables| {
        while tables.next() {
            let (mut xs, mut ys) = (tables.field_mut::<X>(0), tables.field_mut::<Y>(1));
            work::swap_all(xs.as_mut_slice(), ys.as_mut_slice());
        }
    });
}

pub(in crate::parts::systems) fn schedule(cell: Cell) -> Reading {
    let world = World::new();
    let count = EACH as u32;
    let (a, b): (Vec<A>, Vec<B>) = (0..EACH).map(work::ab).unzip();
    let c = |of: fn(usize) -> C| (0..EACH).map(of).collect::<Vec<_>>();
    let (alone, with_d, with_e) = (
        c(|index| work::abc(index).2),
        c(|index| work::abcd(index).2),
        c(|index| work::abce(index).2),
    );
    let d: Vec<D> = (0..EACH).map(|index| work::abcd(index).3).collect();
    let e: Vec<E> = (0..EACH).map(|index| work::abce(index).3).collect();
    world.entity_bulk(count).set(&a).set(&b).build();
    world.entity_bulk(count).set(&a).set(&b).set(&alone).build();
    world.entity_bulk(count).set(&a).set(&b).set(&with_d).set(&d).build();
    world.entity_bulk(count).set(&a).set(&b).set(&with_e).set(&e).build();
    system::<A, B>(&world);
    system::<C, D>(&world);
    system::<C, E>(&world);
    cell.run(world, progress, |world| {
        let mut rows = Vec::new();
        world.each::<(&A, &B, Option<&C>, Option<&D>, Option<&E>)>(|(a, b, c, d, e)| {
            rows.push(work::swapped_row(a, b, c, d, e));
        });
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
    let ran = work::count_runs(systems(count, work::counted), progress);
    cell.run(systems(count, work::nothing), progress, |_| ran)
}

/// Returns a world with `count` equal systems.
fn systems(count: usize, system: impl Fn() + Copy + Send + Sync + 'static) -> World {
    let world = World::new();
    for _ in 0..count {
        world.system::<()>().run(move |mut tables| {
            while tables.next() {
                system();
            }
        });
    }
    world
}
