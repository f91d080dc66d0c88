//! shipyard: a sparse set for each component, so nothing moves when one is added or removed.

use std::cell::RefCell;
use std::hint::black_box;

use shipyard::borrow::WorldBorrow;
use shipyard::sparse_set::SparseSet;
use shipyard::{
    Component, EntitiesView, EntitiesViewMut, EntityId, Get, IntoIter, Remove, View, ViewMut, World,
};

use super::types::{
    A, B, Mark, MarkA, MarkK, MarkT, MarkU, Payload0, Payload1, Payload2, Payload3,
};
use super::types::{Payload4, Position, Rotation, Transform, Velocity, twenty_marks};
use super::work::{self, FEW, MANY, MILLION, TURNS};
use crate::harness::{Cell, Reading};

pub(super) fn simple_insert(cell: Cell) -> Reading {
    let operation = |world: &mut World| {
        world.bulk_add_entity((0..FEW).map(|_| work::simple()));
    };
    cell.run_afresh(World::new, operation, simple_result)
}

pub(super) fn spawn_each(cell: Cell) -> Reading {
    let operation = |world: &mut World| {
        let (mut all, mut t, mut p) =
            borrow::<(EntitiesViewMut<'_>, ViewMut<'_, Transform>, ViewMut<'_, Position>)>(world);
        let (mut r, mut v) = borrow::<(ViewMut<'_, Rotation>, ViewMut<'_, Velocity>)>(world);
        for _ in 0..FEW {
            all.add_entity((&mut t, &mut p, &mut r, &mut v), work::simple());
        }
    };
    cell.run_afresh(World::new, operation, simple_result)
}

fn simple_result(world: &mut World) -> u64 {
    let mut rows = Vec::new();
    world.run(
        |t: View<'_, Transform>,
         p: View<'_, Position>,
         r: View<'_, Rotation>,
         v: View<'_, Velocity>| {
            rows.extend((&t, &p, &r, &v).iter().map(|(t, p, r, v)| work::simple_row(t, p, r, v)));
        },
    );
    work::in_any_order(rows.into_iter())
}

/// A world with entities that are processed one by one.
type Populated = (World, Vec<EntityId>);

pub(super) fn add_remove(cell: Cell) -> Reading {
    let mut world = World::new();
    let entities = world.bulk_add_entity((0..FEW).map(|i| A(i as f32))).collect();
    let operation = |populated: &mut Populated| {
        add_to_all(populated, B(1.0));
        remove_from_all::<B>(populated);
    };
    let result = |populated: &mut Populated| {
        add_to_all(populated, B(1.0));
        let (a, b) = borrow::<(View<'_, A>, View<'_, B>)>(&populated.0);
        let found = work::in_any_order((&a, &b).iter().map(|(a, b)| work::row([a.0, b.0])));
        drop((a, b));
        remove_from_all::<B>(populated);
        found
    };
    cell.run((world, entities), operation, result)
}

/// Borrows a view of a part of a world.
fn borrow<V: WorldBorrow>(world: &World) -> V::WorldView<'_> {
    world.borrow::<V>().expect("nothing is borrowed")
}

fn add_to_all<T: Component + Copy + Send + Sync>((world, entities): &mut Populated, value: T) {
    let (all, mut values) = borrow::<(EntitiesView<'_>, ViewMut<'_, T>)>(world);
    for &entity in entities.iter() {
        all.add_component(entity, &mut values, value);
    }
}

fn remove_from_all<T: Component + Send + Sync>((world, entities): &mut Populated) {
    let mut values = borrow::<ViewMut<'_, T>>(world);
    for &entity in entities.iter() {
        values.remove(entity);
    }
}

pub(super) fn move_20_components(cell: Cell) -> Reading {
    let mut world = World::new();
    let entities = (0..FEW).map(|index| {
        let entity = world.add_entity(());
        for add in twenty_marks!(add_mark) {
            add(&mut world, entity, index as f32);
        }
        entity
    });
    let entities = entities.collect();
    let operation = |populated: &mut Populated| {
        add_to_all(populated, MarkU(1.0));
        remove_from_all::<MarkU>(populated);
    };
    let result = |populated: &mut Populated| {
        add_to_all(populated, MarkU(1.0));
        let mut rows = Vec::new();
        populated.0.run(
            |a: View<'_, MarkA>, k: View<'_, MarkK>, t: View<'_, MarkT>, u: View<'_, MarkU>| {
                let marks = (&a, &k, &t, &u);
                rows.extend(marks.iter().map(|(a, k, t, u)| work::moved_row(a, k, t, u)));
            },
        );
        let found = work::in_any_order(rows.into_iter());
        remove_from_all::<MarkU>(populated);
        found
    };
    cell.run((world, entities), operation, result)
}

fn add_mark<M: Mark + Component>(world: &mut World, entity: EntityId, value: f32) {
    world.add_component(entity, M::new(value));
}

fn bodies(count: usize) -> Populated {
    let mut world = World::new();
    let entities = world.bulk_add_entity((0..count).map(work::body)).collect();
    (world, entities)
}

/// Returns a world with bodies. One of them has a reused id, so that a copy must copy the ids.
fn bodies_with_history() -> Populated {
    let mut world = World::new();
    let first = world.add_entity(work::body(0));
    world.delete_entity(first);
    let entities = world.bulk_add_entity((0..MILLION).map(work::body)).collect();
    (world, entities)
}

/// Counts the bodies.
fn count((world, _): &mut Populated) -> u64 {
    world.run(|positions: View<'_, Position>| positions.len() as u64)
}

pub(super) fn despawn_each(cell: Cell) -> Reading {
    let operation = |(world, entities): &mut Populated| {
        let mut all = world.all_storages_mut().expect("nothing is borrowed");
        for &entity in entities.iter() {
            all.delete_entity(entity);
        }
    };
    cell.run_afresh(|| bodies(MANY), operation, count)
}

pub(super) fn clear(cell: Cell) -> Reading {
    let operation = |(world, _): &mut Populated| world.clear();
    cell.run_afresh(|| bodies(MANY), operation, count)
}

pub(super) fn create(cell: Cell) -> Reading {
    let values = work::large();
    let operation = |world: &mut World| {
        world.bulk_add_entity((0..MANY).map(|_| values));
    };
    let result = |world: &mut World| {
        let mut rows = Vec::new();
        world.run(
            |a: View<'_, Payload0>,
             b: View<'_, Payload1>,
             c: View<'_, Payload2>,
             d: View<'_, Payload3>,
             e: View<'_, Payload4>| {
                let payloads = (&a, &b, &c, &d, &e);
                rows.extend(payloads.iter().map(|(a, b, c, d, e)| work::large_row(a, b, c, d, e)));
            },
        );
        work::in_any_order(rows.into_iter())
    };
    cell.run_afresh(World::new, operation, result)
}

pub(super) fn random_get(cell: Cell) -> Reading {
    let (world, entities) = bodies(MILLION);
    let entities = work::shuffled(entities);
    let operation = |sum: &mut u64| {
        let positions = borrow::<View<'_, Position>>(&world);
        let found = black_box(&entities)
            .iter()
            .map(|&entity| work::looked_up((&positions).get(entity).expect("all have it")));
        *sum = black_box(sum.wrapping_add(found.sum()));
    };
    cell.run(0, operation, |sum| *sum)
}

pub(super) fn world_clone(cell: Cell) -> Reading {
    let (mut source, entities) = bodies_with_history();
    source.register_clone::<(SparseSet<Position>, SparseSet<Velocity>)>();
    let operation = |copy: &mut World| {
        let source = source.all_storages().expect("nothing is borrowed");
        source.clone_storages_to(&mut copy.all_storages_mut().expect("nothing is borrowed"));
    };
    let result = |copy: &mut World| {
        let (positions, velocities) = borrow::<(View<'_, Position>, View<'_, Velocity>)>(copy);
        work::in_any_order(entities.iter().map(|&entity| {
            let (p, v) = (&positions, &velocities).get(entity).expect("the copy has all");
            work::body_row(p, v)
        }))
    };
    cell.run_afresh(World::new, operation, result)
}

/// Measures the creation of entities in a world with `alive` combinations of components. shipyard
/// has no archetypes.
pub(super) fn archetypes(cell: Cell, alive: usize) -> Reading {
    let mut world = World::new();
    for spawn in twenty_marks!(spawn_marked) {
        spawn(&mut world, 0.0);
    }
    for marks in work::others(alive) {
        let entity = world.add_entity(work::marked(0.0));
        for mark in marks {
            twenty_marks!(add_mark)[mark](&mut world, entity, 0.0);
        }
    }
    let shared = RefCell::new((world, Vec::new()));
    // The entities of the last operation are despawned before the next.
    let make = || {
        let (world, entities): &mut Populated = &mut shared.borrow_mut();
        for entity in entities.drain(..) {
            world.delete_entity(entity);
        }
        0
    };
    let operation = |sum: &mut u64| {
        let (world, entities) = &mut *shared.borrow_mut();
        for turn in 0..TURNS {
            entities.extend(twenty_marks!(spawn_marked).map(|spawn| spawn(world, turn as f32)));
        }
        let positions = borrow::<View<'_, Position>>(world);
        let found =
            entities.iter().map(|&e| work::looked_up((&positions).get(e).expect("all have it")));
        *sum = found.sum();
    };
    cell.run_afresh(make, operation, |sum| *sum)
}

fn spawn_marked<M: Mark + Component>(world: &mut World, value: f32) -> EntityId {
    world.add_entity((work::marked(value), M::new(value)))
}

pub(super) fn bytes_per_entity(cell: Cell) -> Reading {
    let make = || {
        let mut world = World::new();
        world.bulk_add_entity((0..MILLION).map(work::body));
        world
    };
    let result = |world: &mut World| {
        let (p, v) = borrow::<(View<'_, Position>, View<'_, Velocity>)>(world);
        work::in_any_order((&p, &v).iter().map(|(p, v)| work::body_row(p, v)))
    };
    cell.run_resident(make, result)
}
