//! shipyard: a sparse set for each component, which iterators have to join.

use std::cell::RefCell;

use rayon::prelude::*;
use shipyard::borrow::WorldBorrow;
use shipyard::{
    Component, EntitiesView, EntityId, Get, IntoIter, IntoWorkload, Remove, View, ViewMut, World,
    track,
};

use super::types::{
    A, B, C, D, Data, Mark, Position, Rotation, Tag, Transform, Velocity, all_marks, twenty_marks,
};
use super::work::{self, FEW, FRAGMENT, HEAVY, MILLION};
use crate::harness::{Cell, Reading};

/// Borrows a view of a part of a world.
fn borrow<V: WorldBorrow>(world: &World) -> V::WorldView<'_> {
    world.borrow::<V>().expect("nothing is borrowed")
}

fn bodies() -> World {
    let mut world = World::new();
    world.bulk_add_entity((0..MILLION).map(work::body));
    world
}

fn advance(world: &mut World) {
    let (mut positions, velocities) = borrow::<(ViewMut<'_, Position>, View<'_, Velocity>)>(world);
    (&mut positions, &velocities).iter().for_each(|(p, v)| work::advance(p, v));
}

fn bodies_result(world: &mut World) -> u64 {
    let (p, v) = borrow::<(View<'_, Position>, View<'_, Velocity>)>(world);
    work::in_any_order((&p, &v).iter().map(|(p, v)| work::body_row(p, v)))
}

pub(super) fn simple_iter(cell: Cell) -> Reading {
    let mut world = World::new();
    world.bulk_add_entity((0..FEW).map(|_| work::simple()));
    cell.run(world, advance, |world| {
        let (t, p) = borrow::<(View<'_, Transform>, View<'_, Position>)>(world);
        let (r, v) = borrow::<(View<'_, Rotation>, View<'_, Velocity>)>(world);
        let rows = (&t, &p, &r, &v).iter();
        work::in_any_order(rows.map(|(t, p, r, v)| work::simple_row(t, p, r, v)))
    })
}

pub(super) fn iter(cell: Cell) -> Reading {
    cell.run(bodies(), advance, bodies_result)
}

pub(super) fn iter_par(cell: Cell) -> Reading {
    work::two_threads();
    let operation = |world: &mut World| {
        let (mut positions, velocities) =
            borrow::<(ViewMut<'_, Position>, View<'_, Velocity>)>(world);
        (&mut positions, &velocities).par_iter().for_each(|(p, v)| work::advance(p, v));
    };
    cell.run(bodies(), operation, bodies_result)
}

pub(super) fn frag_iter(cell: Cell) -> Reading {
    fn spawn<M: Mark + Component>(world: &mut World) {
        world.bulk_add_entity((0..FRAGMENT).map(|index| (work::data(index), M::new(0.0))));
    }
    fn pass(world: &World, factor: f32) {
        let mut data = borrow::<ViewMut<'_, Data>>(world);
        (&mut data).iter().for_each(|data| data.0 *= factor);
    }
    let mut world = World::new();
    for spawn in all_marks!(spawn) {
        spawn(&mut world);
    }
    let operation = |world: &mut World| work::passes(|factor| pass(world, factor));
    cell.run(world, operation, |world| {
        pass(world, work::LAST_PASS);
        let data = borrow::<View<'_, Data>>(world);
        work::in_any_order((&data).iter().map(|data| work::row([data.0])))
    })
}

/// Measures a query in a world with `alive` combinations of components. shipyard has no archetypes.
pub(super) fn query(cell: Cell, alive: usize) -> Reading {
    fn spawn<M: Mark + Component>(world: &mut World) {
        world.bulk_add_entity((0..FRAGMENT).map(|index| (A(index as f32), M::new(0.0))));
    }
    fn add<M: Mark + Component>(world: &mut World, entity: EntityId) {
        world.add_component(entity, M::new(0.0));
    }
    let mut world = World::new();
    for spawn in twenty_marks!(spawn) {
        spawn(&mut world);
    }
    for marks in work::others(alive) {
        let entity = world.add_entity(());
        for mark in marks {
            twenty_marks!(add)[mark](&mut world, entity);
        }
    }
    let operation = |world: &mut World| {
        let mut values = borrow::<ViewMut<'_, A>>(world);
        (&mut values).iter().for_each(|a| a.0 += 1.0);
    };
    cell.run(world, operation, |world| {
        let values = borrow::<View<'_, A>>(world);
        work::in_any_order((&values).iter().map(|a| work::row([a.0])))
    })
}

pub(super) fn heavy_compute(cell: Cell) -> Reading {
    work::two_threads();
    let mut world = World::new();
    world.bulk_add_entity((0..HEAVY).map(work::heavy));
    let operation = |world: &mut World| {
        let (mut t, mut p) = borrow::<(ViewMut<'_, Transform>, ViewMut<'_, Position>)>(world);
        (&mut t, &mut p).par_iter().for_each(|(t, p)| work::invert(t, p));
    };
    cell.run(world, operation, |world| {
        let (t, p) = borrow::<(View<'_, Transform>, View<'_, Position>)>(world);
        work::in_any_order((&t, &p).iter().map(|(t, p)| work::heavy_row(t, p)))
    })
}

/// The entity to look up.
#[derive(Component)]
struct Target(EntityId);

pub(super) fn lookup(cell: Cell) -> Reading {
    let mut world = World::new();
    let positions = (0..MILLION).map(|index| (work::body(index).0, A(0.0)));
    let entities: Vec<EntityId> = world.bulk_add_entity(positions).collect();
    let targets = work::shuffled(entities.clone());
    let (all, mut refer) = borrow::<(EntitiesView<'_>, ViewMut<'_, Target>)>(&world);
    for (entity, target) in entities.into_iter().zip(targets) {
        all.add_component(entity, &mut refer, Target(target));
    }
    drop((all, refer));
    let operation = |world: &mut World| {
        let (targets, mut sums) = borrow::<(View<'_, Target>, ViewMut<'_, A>)>(world);
        let positions = borrow::<View<'_, Position>>(world);
        (&targets, &mut sums).iter().for_each(|(target, sum)| {
            work::take(sum, (&positions).get(target.0).expect("all have it"));
        });
    };
    cell.run(world, operation, |world| {
        let (p, a) = borrow::<(View<'_, Position>, View<'_, A>)>(world);
        work::in_any_order((&p, &a).iter().map(|(p, a)| work::taken_row(p, a)))
    })
}

pub(super) fn add_comp(cell: Cell) -> Reading {
    add_to_all(cell, B(1.0), |world| {
        let (p, v) = borrow::<(View<'_, Position>, View<'_, Velocity>)>(world);
        let b = borrow::<View<'_, B>>(world);
        work::in_any_order((&p, &v, &b).iter().map(|(p, v, b)| work::added_row(p, v, b.0)))
    })
}

pub(super) fn add_tag(cell: Cell) -> Reading {
    add_to_all(cell, Tag, |world| {
        let (p, v) = borrow::<(View<'_, Position>, View<'_, Velocity>)>(world);
        let tags = borrow::<View<'_, Tag>>(world);
        work::in_any_order((&p, &v, &tags).iter().map(|(p, v, _)| work::added_row(p, v, 0.0)))
    })
}

fn add_to_all<T: Component + Copy + Send + Sync>(
    cell: Cell,
    value: T,
    result: impl FnOnce(&mut World) -> u64,
) -> Reading {
    let make = || {
        let mut world = World::new();
        let entities: Vec<EntityId> = world.bulk_add_entity((0..MILLION).map(work::body)).collect();
        (world, entities)
    };
    let operation = |(world, entities): &mut (World, Vec<EntityId>)| {
        let (all, mut values) = borrow::<(EntitiesView<'_>, ViewMut<'_, T>)>(world);
        for &entity in entities.iter() {
            all.add_component(entity, &mut values, value);
        }
    };
    cell.run_afresh(make, operation, |(world, _)| result(world))
}

/// Measures a loop over changed entities. Each row has a time stamp, if it is requested.
pub(super) fn changed(cell: Cell, indices: &[usize]) -> Reading {
    type Tracked<'v> = ViewMut<'v, A, track::Modification>;
    let mut world = World::new();
    world.track_modification::<A>();
    let entities: Vec<EntityId> = world.bulk_add_entity((0..MILLION).map(|_| A(0.0))).collect();
    let turn = RefCell::new(0);
    let make = || {
        let mut turn = turn.borrow_mut();
        *turn += 1;
        borrow::<Tracked<'_>>(&world).clear_all_modified();
        let mut values = borrow::<Tracked<'_>>(&world);
        for &index in indices {
            *(&mut values).get(entities[index]).expect("all have it") =
                work::changed_value(index, *turn);
        }
        0.0
    };
    let operation = |sum: &mut f32| {
        let values = borrow::<View<'_, A, track::Modification>>(&world);
        *sum = values.modified().iter().map(|a| a.0).sum();
    };
    cell.run_afresh(make, operation, |sum| sum.to_bits().into())
}

/// Measures the loop of `iter`, with a time stamp for each row.
pub(super) fn tracked_write(cell: Cell) -> Reading {
    type Tracked<'v> = ViewMut<'v, Position, track::Modification>;
    let mut world = World::new();
    world.track_modification::<Position>();
    world.bulk_add_entity((0..MILLION).map(work::body));
    borrow::<Tracked<'_>>(&world).clear_all_modified();
    let operation = |world: &mut World| {
        let (mut positions, velocities) = borrow::<(Tracked<'_>, View<'_, Velocity>)>(world);
        (&mut positions, &velocities).iter().for_each(|(mut p, v)| work::advance(&mut p, v));
    };
    cell.run(world, operation, |world| {
        let (p, v) = borrow::<(Tracked<'_>, View<'_, Velocity>)>(world);
        assert_eq!(p.modified().iter().count(), MILLION, "all were written");
        work::in_any_order((&p, &v).iter().map(|(p, v)| work::body_row(p, v)))
    })
}

pub(super) fn empty_parallel(cell: Cell) -> Reading {
    work::two_threads();
    let mut world = World::new();
    world.add_entity(A(0.0));
    let operation = |world: &mut World| {
        let mut values = borrow::<ViewMut<'_, A>>(world);
        (&mut values).par_iter().for_each(|a| a.0 += 1.0);
    };
    cell.run(world, operation, |world| {
        let values = borrow::<View<'_, A>>(world);
        (&values).iter().map(|a| u64::from(a.0.to_bits())).sum()
    })
}

/// Measures two systems of a workload, which may run them at the same time.
pub(super) fn two_jobs(cell: Cell) -> Reading {
    fn first(mut a: ViewMut<'_, A>, b: View<'_, B>) {
        (&mut a, &b).iter().for_each(|(a, b)| a.0 += b.0);
    }
    fn second(mut c: ViewMut<'_, C>, d: View<'_, D>) {
        (&mut c, &d).iter().for_each(|(c, d)| c.0 += d.0);
    }
    fn workload() -> shipyard::Workload {
        (first, second).into_workload()
    }
    work::two_threads();
    let mut world = World::new();
    world.bulk_add_entity((0..MILLION).map(work::four));
    world.add_workload(workload);
    let operation = |world: &mut World| world.run_workload(workload).expect("it was added");
    cell.run(world, operation, |world| {
        let (a, b) = borrow::<(View<'_, A>, View<'_, B>)>(world);
        let (c, d) = borrow::<(View<'_, C>, View<'_, D>)>(world);
        let rows = (&a, &b, &c, &d).iter();
        work::in_any_order(rows.map(|(a, b, c, d)| work::four_row(a, b, c, d)))
    })
}

/// Measures the loop and the changes one after the other.
pub(super) fn unrelated_structural(cell: Cell) -> Reading {
    let mut world = bodies();
    let others: Vec<EntityId> =
        world.bulk_add_entity((0..FEW).map(|index| A(index as f32))).collect();
    let operation = |world: &mut World| {
        advance(world);
        let (all, mut values) = borrow::<(EntitiesView<'_>, ViewMut<'_, B>)>(world);
        for &entity in &others {
            all.add_component(entity, &mut values, B(1.0));
        }
        for &entity in &others {
            values.remove(entity);
        }
    };
    cell.run(world, operation, |world| {
        let (a, b) = borrow::<(View<'_, A>, View<'_, B>)>(world);
        let others = work::in_any_order((&a, !&b).iter().map(|(a, _)| work::row([a.0])));
        drop((a, b));
        bodies_result(world).wrapping_add(others)
    })
}
