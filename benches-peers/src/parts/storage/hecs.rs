//! hecs: archetypes, with columns that are built outside of the world and moved into it.

use std::cell::RefCell;
use std::hint::black_box;

use hecs::{ColumnBatch, ColumnBatchType, Entity, EntityBuilderClone, PreparedQuery, World};

use super::types::*;
use super::work::{self, FEW, Large, MANY, MILLION, TURNS};
use crate::harness::{Cell, Reading};

pub(super) fn simple_insert(cell: Cell) -> Reading {
    let operation = |world: &mut World| {
        let mut columns = ColumnBatchType::new();
        columns.add::<Transform>().add::<Position>().add::<Rotation>().add::<Velocity>();
        let mut columns = columns.into_batch(FEW as u32);
        let (transform, position, rotation, velocity) = work::simple();
        fill(&mut columns, FEW, transform);
        fill(&mut columns, FEW, position);
        fill(&mut columns, FEW, rotation);
        fill(&mut columns, FEW, velocity);
        world.spawn_column_batch(complete(columns));
    };
    cell.run_afresh(World::new, operation, simple_result)
}

/// Writes a column.
fn fill<T: Copy + Send + Sync + 'static>(
    columns: &mut hecs::ColumnBatchBuilder,
    count: usize,
    value: T,
) {
    let mut writer = columns.writer::<T>().expect("the column was added");
    for _ in 0..count {
        let _ = writer.push(value);
    }
}

fn complete(columns: hecs::ColumnBatchBuilder) -> ColumnBatch {
    columns.build().expect("all columns are full")
}

pub(super) fn spawn_each(cell: Cell) -> Reading {
    let operation = |world: &mut World| {
        for _ in 0..FEW {
            world.spawn(work::simple());
        }
    };
    cell.run_afresh(World::new, operation, simple_result)
}

fn simple_result(world: &mut World) -> u64 {
    let mut query = world.query::<(&Transform, &Position, &Rotation, &Velocity)>();
    work::in_any_order(query.iter().map(|(t, p, r, v)| work::simple_row(t, p, r, v)))
}

/// A world with entities that are processed one by one.
type Populated = (World, Vec<Entity>);

pub(super) fn add_remove(cell: Cell) -> Reading {
    let mut world = World::new();
    let entities: Vec<Entity> = world.spawn_batch((0..FEW).map(|i| (A(i as f32),))).collect();
    let operation = |populated: &mut Populated| {
        add_to_all(populated, B(1.0));
        remove_from_all::<B>(populated);
    };
    let result = |populated: &mut Populated| {
        add_to_all(populated, B(1.0));
        let mut query = populated.0.query::<(&A, &B)>();
        let found = work::in_any_order(query.iter().map(|(a, b)| work::row([a.0, b.0])));
        drop(query);
        remove_from_all::<B>(populated);
        found
    };
    cell.run((world, entities), operation, result)
}

fn add_to_all<T: Copy + Send + Sync + 'static>((world, entities): &mut Populated, value: T) {
    for &entity in entities.iter() {
        world.insert_one(entity, value).expect("all are alive");
    }
}

fn remove_from_all<T: Send + Sync + 'static>((world, entities): &mut Populated) {
    for &entity in entities.iter() {
        world.remove_one::<T>(entity).expect("all have it");
    }
}

pub(super) fn move_20_components(cell: Cell) -> Reading {
    let mut world = World::new();
    let entities = (0..FEW).map(|index| {
        let entity = world.spawn(());
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
        let mut query = populated.0.query::<(&MarkA, &MarkK, &MarkT, &MarkU)>();
        let found =
            work::in_any_order(query.iter().map(|(a, k, t, u)| work::moved_row(a, k, t, u)));
        drop(query);
        remove_from_all::<MarkU>(populated);
        found
    };
    cell.run((world, entities), operation, result)
}

fn add_mark<M: Mark>(world: &mut World, entity: Entity, value: f32) {
    world.insert_one(entity, M::new(value)).expect("it is alive");
}

fn bodies(count: usize) -> Populated {
    let mut world = World::new();
    let entities = world.spawn_batch((0..count).map(work::body)).collect();
    (world, entities)
}

/// Returns a world with bodies. One of them has a reused id, so that a copy must copy the ids.
fn bodies_with_history() -> Populated {
    let mut world = World::new();
    let first = world.spawn(work::body(0));
    world.despawn(first).expect("it is alive");
    let entities = world.spawn_batch((0..MILLION).map(work::body)).collect();
    (world, entities)
}

pub(super) fn despawn_each(cell: Cell) -> Reading {
    let operation = |(world, entities): &mut Populated| {
        for &entity in entities.iter() {
            world.despawn(entity).expect("all are alive");
        }
    };
    cell.run_afresh(|| bodies(MANY), operation, |(world, _)| world.len().into())
}

pub(super) fn clear(cell: Cell) -> Reading {
    let operation = |(world, _): &mut Populated| world.clear();
    cell.run_afresh(|| bodies(MANY), operation, |(world, _)| world.len().into())
}

pub(super) fn create(cell: Cell) -> Reading {
    let values: Large = work::large();
    let operation = |world: &mut World| {
        let mut columns = ColumnBatchType::new();
        columns.add::<Payload0>().add::<Payload1>().add::<Payload2>();
        columns.add::<Payload3>().add::<Payload4>();
        let mut columns = columns.into_batch(MANY as u32);
        fill(&mut columns, MANY, values.0);
        fill(&mut columns, MANY, values.1);
        fill(&mut columns, MANY, values.2);
        fill(&mut columns, MANY, values.3);
        fill(&mut columns, MANY, values.4);
        world.spawn_column_batch(complete(columns));
    };
    cell.run_afresh(World::new, operation, large_result)
}

/// Clones a prefab, which is not an entity here.
pub(super) fn clone_prefab(cell: Cell) -> Reading {
    let (p0, p1, p2, p3, p4) = work::large();
    let mut prefab = EntityBuilderClone::new();
    prefab.add(p0).add(p1).add(p2).add(p3).add(p4);
    let prefab = prefab.build();
    let operation = |world: &mut World| {
        for _ in 0..MANY {
            world.spawn(&prefab);
        }
    };
    cell.run_afresh(World::new, operation, large_result)
}

fn large_result(world: &mut World) -> u64 {
    let mut query = world.query::<(&Payload0, &Payload1, &Payload2, &Payload3, &Payload4)>();
    work::in_any_order(query.iter().map(|(a, b, c, d, e)| work::large_row(a, b, c, d, e)))
}

pub(super) fn random_get(cell: Cell) -> Reading {
    let (world, entities) = bodies(MILLION);
    let entities = work::shuffled(entities);
    let mut query = PreparedQuery::<&Position>::new();
    let operation = |sum: &mut u64| {
        let mut query = query.query(&world);
        let view = query.view();
        let found = black_box(&entities)
            .iter()
            .map(|&entity| work::looked_up(view.get(entity).expect("all have it")));
        *sum = black_box(sum.wrapping_add(found.sum()));
    };
    cell.run(0, operation, |sum| *sum)
}

/// Clones a world like hecs's example `cloning`. The types and the only archetype are known in advance, and the copies have the
/// ids of the source instead of new ones.
pub(super) fn world_clone(cell: Cell) -> Reading {
    let (source, entities) = bodies_with_history();
    let operation = |copy: &mut World| {
        for archetype in source.archetypes().filter(|archetype| !archetype.is_empty()) {
            let mut columns = ColumnBatchType::new();
            columns.add::<Position>().add::<Velocity>();
            let mut columns = columns.into_batch(archetype.len());
            copy_column::<Position>(archetype, &mut columns);
            copy_column::<Velocity>(archetype, &mut columns);
            let handles: Vec<Entity> = source.query::<Entity>().iter().collect();
            copy.spawn_column_batch_at(&handles, complete(columns));
        }
    };
    let result = |copy: &mut World| {
        let mut query = copy.query::<(&Position, &Velocity)>();
        let view = query.view();
        work::in_any_order(entities.iter().map(|&entity| {
            let (position, velocity) = view.get(entity).expect("the copy has all");
            work::body_row(position, velocity)
        }))
    };
    cell.run_afresh(World::new, operation, result)
}

fn copy_column<T: Copy + Send + Sync + 'static>(
    archetype: &hecs::Archetype,
    columns: &mut hecs::ColumnBatchBuilder,
) {
    let mut writer = columns.writer::<T>().expect("the column was added");
    for &value in &*archetype.get::<&T>().expect("all have it") {
        let _ = writer.push(value);
    }
}

pub(super) fn archetypes(cell: Cell, alive: usize) -> Reading {
    let mut world = World::new();
    for spawn in twenty_marks!(spawn_marked) {
        spawn(&mut world, 0.0);
    }
    for marks in work::others(alive) {
        let entity = world.spawn((work::marked(0.0),));
        for mark in marks {
            twenty_marks!(add_mark)[mark](&mut world, entity, 0.0);
        }
    }
    let shared = RefCell::new((world, Vec::new()));
    let mut query = PreparedQuery::<&Position>::new();
    // The entities of the last operation are despawned before the next.
    let make = || {
        let (world, entities): &mut Populated = &mut shared.borrow_mut();
        for entity in entities.drain(..) {
            world.despawn(entity).expect("all are alive");
        }
        0
    };
    let operation = |sum: &mut u64| {
        let (world, entities) = &mut *shared.borrow_mut();
        for turn in 0..TURNS {
            entities.extend(twenty_marks!(spawn_marked).map(|spawn| spawn(world, turn as f32)));
        }
        let mut query = query.query(world);
        let view = query.view();
        *sum = entities.iter().map(|&e| work::looked_up(view.get(e).expect("all have it"))).sum();
    };
    cell.run_afresh(make, operation, |sum| *sum)
}

fn spawn_marked<M: Mark>(world: &mut World, value: f32) -> Entity {
    world.spawn((work::marked(value), M::new(value)))
}

pub(super) fn bytes_per_entity(cell: Cell) -> Reading {
    let result = |world: &mut World| {
        let mut query = world.query::<(&Position, &Velocity)>();
        work::in_any_order(query.iter().map(|(p, v)| work::body_row(p, v)))
    };
    cell.run_resident(|| bodies(MILLION).0, result)
}
