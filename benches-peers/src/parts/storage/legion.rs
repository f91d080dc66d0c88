//! legion: archetypes, extended by columns; last released in 2021.

use std::cell::RefCell;
use std::hint::black_box;

use legion::query::IntoQuery;
use legion::storage::{Component, IntoSoa};
use legion::world::Duplicate;
use legion::{Entity, EntityStore, World, any};

use super::types::*;
use super::work::{self, FEW, MANY, MILLION, TURNS};
use crate::harness::{Cell, Reading};

pub(super) fn simple_insert(cell: Cell) -> Reading {
    let operation = |world: &mut World| {
        let (transform, position, rotation, velocity) = work::simple();
        let columns =
            (vec![transform; FEW], vec![position; FEW], vec![rotation; FEW], vec![velocity; FEW]);
        world.extend(columns.into_soa());
    };
    cell.run_afresh(World::default, operation, simple_result)
}

pub(super) fn spawn_each(cell: Cell) -> Reading {
    let operation = |world: &mut World| {
        for _ in 0..FEW {
            world.push(work::simple());
        }
    };
    cell.run_afresh(World::default, operation, simple_result)
}

fn simple_result(world: &mut World) -> u64 {
    let mut query = <(&Transform, &Position, &Rotation, &Velocity)>::query();
    work::in_any_order(query.iter(world).map(|(t, p, r, v)| work::simple_row(t, p, r, v)))
}

/// A world with entities that are processed one by one.
type Populated = (World, Vec<Entity>);

pub(super) fn add_remove(cell: Cell) -> Reading {
    let mut world = World::default();
    let entities = world.extend((0..FEW).map(|i| (A(i as f32),))).to_vec();
    let operation = |populated: &mut Populated| {
        add_to_all(populated, B(1.0));
        remove_from_all::<B>(populated);
    };
    let result = |populated: &mut Populated| {
        add_to_all(populated, B(1.0));
        let mut query = <(&A, &B)>::query();
        let found =
            work::in_any_order(query.iter(&populated.0).map(|(a, b)| work::row([a.0, b.0])));
        remove_from_all::<B>(populated);
        found
    };
    cell.run((world, entities), operation, result)
}

fn add_to_all<T: Component + Copy>((world, entities): &mut Populated, value: T) {
    for &entity in entities.iter() {
        world.entry(entity).expect("all are alive").add_component(value);
    }
}

fn remove_from_all<T: Component>((world, entities): &mut Populated) {
    for &entity in entities.iter() {
        world.entry(entity).expect("all are alive").remove_component::<T>();
    }
}

pub(super) fn move_20_components(cell: Cell) -> Reading {
    let mut world = World::default();
    let entities = (0..FEW).map(|index| {
        let entity = world.push(());
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
        let mut query = <(&MarkA, &MarkK, &MarkT, &MarkU)>::query();
        let rows = query.iter(&populated.0);
        let found = work::in_any_order(rows.map(|(a, k, t, u)| work::moved_row(a, k, t, u)));
        remove_from_all::<MarkU>(populated);
        found
    };
    cell.run((world, entities), operation, result)
}

fn add_mark<M: Mark>(world: &mut World, entity: Entity, value: f32) {
    world.entry(entity).expect("it is alive").add_component(M::new(value));
}

fn bodies(count: usize) -> Populated {
    let mut world = World::default();
    let entities = world.extend((0..count).map(work::body)).to_vec();
    (world, entities)
}

pub(super) fn despawn_each(cell: Cell) -> Reading {
    let operation = |(world, entities): &mut Populated| {
        for &entity in entities.iter() {
            world.remove(entity);
        }
    };
    cell.run_afresh(|| bodies(MANY), operation, |(world, _)| world.len() as u64)
}

pub(super) fn clear(cell: Cell) -> Reading {
    let operation = |(world, _): &mut Populated| world.clear();
    cell.run_afresh(|| bodies(MANY), operation, |(world, _)| world.len() as u64)
}

pub(super) fn create(cell: Cell) -> Reading {
    let (p0, p1, p2, p3, p4) = work::large();
    let operation = |world: &mut World| {
        let columns =
            (vec![p0; MANY], vec![p1; MANY], vec![p2; MANY], vec![p3; MANY], vec![p4; MANY]);
        world.extend(columns.into_soa());
    };
    let result = |world: &mut World| {
        let mut query = <(&Payload0, &Payload1, &Payload2, &Payload3, &Payload4)>::query();
        work::in_any_order(query.iter(world).map(|(a, b, c, d, e)| work::large_row(a, b, c, d, e)))
    };
    cell.run_afresh(World::default, operation, result)
}

pub(super) fn random_get(cell: Cell) -> Reading {
    let (world, entities) = bodies(MILLION);
    let entities = work::shuffled(entities);
    let operation = |sum: &mut u64| {
        let found = black_box(&entities).iter().map(|&entity| look_up(&world, entity));
        *sum = black_box(sum.wrapping_add(found.sum()));
    };
    cell.run(0, operation, |sum| *sum)
}

/// Looks an entity up by id. A query takes longer.
fn look_up(world: &World, entity: Entity) -> u64 {
    let entry = world.entry_ref(entity).expect("all are alive");
    work::looked_up(entry.get_component().expect("all have it"))
}

/// Clones a world. The copies have new ids, with a map from the old ones.
pub(super) fn world_clone(cell: Cell) -> Reading {
    let (source, entities) = bodies(MILLION);
    let mut duplicate = Duplicate::default();
    duplicate.register_copy::<Position>();
    duplicate.register_copy::<Velocity>();
    let operation = |(copy, names): &mut (World, Option<_>)| {
        *names = Some(copy.clone_from(&source, &any(), &mut duplicate));
    };
    cell.run_afresh(
        || (World::default(), None),
        operation,
        |(copy, names)| {
            let names = names.take().expect("it was copied");
            let mut query = <(&Position, &Velocity)>::query();
            work::in_any_order(entities.iter().map(|entity| {
                let (position, velocity) = query.get(copy, names[entity]).expect("it was copied");
                work::body_row(position, velocity)
            }))
        },
    )
}

pub(super) fn archetypes(cell: Cell, alive: usize) -> Reading {
    let mut world = World::default();
    for spawn in twenty_marks!(spawn_marked) {
        spawn(&mut world, 0.0);
    }
    for marks in work::others(alive) {
        let entity = world.push((work::marked(0.0),));
        for mark in marks {
            twenty_marks!(add_mark)[mark](&mut world, entity, 0.0);
        }
    }
    let shared = RefCell::new((world, Vec::new()));
    // The entities of the last operation are despawned before the next.
    let make = || {
        let (world, entities): &mut Populated = &mut shared.borrow_mut();
        for entity in entities.drain(..) {
            world.remove(entity);
        }
        0
    };
    let operation = |sum: &mut u64| {
        let (world, entities) = &mut *shared.borrow_mut();
        for turn in 0..TURNS {
            entities.extend(twenty_marks!(spawn_marked).map(|spawn| spawn(world, turn as f32)));
        }
        *sum = entities.iter().map(|&entity| look_up(world, entity)).sum();
    };
    cell.run_afresh(make, operation, |sum| *sum)
}

fn spawn_marked<M: Mark>(world: &mut World, value: f32) -> Entity {
    world.push((work::marked(value), M::new(value)))
}

pub(super) fn bytes_per_entity(cell: Cell) -> Reading {
    let result = |world: &mut World| {
        let mut query = <(&Position, &Velocity)>::query();
        work::in_any_order(query.iter(world).map(|(p, v)| work::body_row(p, v)))
    };
    cell.run_resident(|| bodies(MILLION).0, result)
}
