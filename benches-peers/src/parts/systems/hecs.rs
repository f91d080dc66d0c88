//! hecs: a `CommandBuffer`.
//!
//! Commands with values are queued as boxed functions that receive the world: they have static types when they run, and take half
//! the time of `spawn` and `insert`.

use std::cell::RefCell;
use std::mem;

use hecs::{ColumnBatchType, CommandBuffer, Entity, World};

use super::work::{self, Apart, MANY, MIXED, Recorder};
use crate::harness::{Cell, Reading};
use crate::parts::storage::types::{A, B, Position, Velocity};

/// A world with entities that are processed one by one.
type Populated = (World, Vec<Entity>);

fn bodies(count: usize) -> Populated {
    let mut world = World::new();
    let entities = world.spawn_batch((0..count).map(work::body)).collect();
    (world, entities)
}

/// Returns a world with many bodies, and one that is not processed.
fn all_but_one() -> Populated {
    let (world, mut entities) = bodies(MANY + 1);
    entities.pop();
    (world, entities)
}

fn result(world: &mut World) -> u64 {
    let mut query = world.query::<(&Position, Option<&Velocity>, Option<&A>, Option<&B>)>();
    work::in_any_order(query.iter().map(|(p, v, a, b)| work::any_row(p, v, a, b)))
}

pub(super) fn spawn(cell: Cell) -> Reading {
    let mut buffer = CommandBuffer::new();
    let operation = |world: &mut World| {
        record(&mut buffer, 0..MANY);
        buffer.run_on(world);
    };
    cell.run_afresh(World::new, operation, result)
}

/// Records commands that spawn entities one by one. The entities have no ids before playback.
fn record(buffer: &mut CommandBuffer, indices: std::ops::Range<usize>) {
    for body in indices.map(work::body) {
        buffer.queue(move |world| {
            world.spawn(body);
        });
    }
}

/// Spawns entities as columns, which are moved into the world.
pub(super) fn spawn_batch(cell: Cell) -> Reading {
    let mut buffer = CommandBuffer::new();
    let operation = |world: &mut World| {
        let mut columns = ColumnBatchType::new();
        columns.add::<Position>().add::<Velocity>();
        let mut columns = columns.into_batch(MANY as u32);
        fill(&mut columns, |index| work::body(index).0);
        fill(&mut columns, |index| work::body(index).1);
        buffer.queue(|world| {
            world.spawn_column_batch(columns.build().expect("all columns are full"));
        });
        buffer.run_on(world);
    };
    cell.run_afresh(World::new, operation, result)
}

/// Writes a column.
fn fill<T: Send + Sync + 'static>(
    columns: &mut hecs::ColumnBatchBuilder,
    value: impl Fn(usize) -> T,
) {
    let mut writer = columns.writer::<T>().expect("the column was added");
    for index in 0..MANY {
        let _ = writer.push(value(index));
    }
}

/// Adds the components with one recorded function, which takes ownership of the list.
pub(super) fn add(cell: Cell) -> Reading {
    let mut buffer = CommandBuffer::new();
    let operation = |(world, entities): &mut Populated| {
        let entities = mem::take(entities).into_iter().enumerate();
        buffer.queue(move |world| {
            entities.for_each(|(index, entity)| insert(world, entity, work::charge(index)));
        });
        buffer.run_on(world);
    };
    cell.run_afresh(|| bodies(MANY), operation, |(world, _)| result(world))
}

pub(super) fn add_each(cell: Cell) -> Reading {
    let mut buffer = CommandBuffer::new();
    let operation = |(world, entities): &mut Populated| {
        for (index, &entity) in entities.iter().enumerate() {
            buffer.queue(move |world| insert(world, entity, work::charge(index)));
        }
        buffer.run_on(world);
    };
    cell.run_afresh(|| bodies(MANY), operation, |(world, _)| result(world))
}

/// Adds or sets a component if the entity exists, as the command does.
#[inline]
fn insert<T: Send + Sync + 'static>(world: &mut World, entity: Entity, value: T) {
    let _ = world.insert_one(entity, value);
}

pub(super) fn destroy(cell: Cell) -> Reading {
    let mut buffer = CommandBuffer::new();
    let operation = |(world, entities): &mut Populated| {
        for &entity in entities.iter() {
            buffer.despawn(entity);
        }
        buffer.run_on(world);
    };
    cell.run_afresh(all_but_one, operation, |(world, _)| result(world))
}

pub(super) fn record_1t(cell: Cell) -> Reading {
    recording(cell, |[buffer, _]| record(&mut buffer.0, 0..MANY))
}

/// Measures recording on two threads, each with its own buffer.
pub(super) fn record_2t(cell: Cell) -> Reading {
    work::two_threads();
    recording(cell, |[first, second]| {
        rayon::join(|| record(&mut first.0, 0..MANY / 2), || record(&mut second.0, MANY / 2..MANY));
    })
}

/// Measures recording. The recorded commands are dropped before the next operation.
fn recording(cell: Cell, record: impl Fn(&mut [Apart<CommandBuffer>; 2])) -> Reading {
    let buffers = RefCell::new(<[Apart<CommandBuffer>; 2]>::default());
    let make = || buffers.borrow_mut().iter_mut().for_each(|buffer| buffer.0.clear());
    let operation = |(): &mut ()| record(&mut buffers.borrow_mut());
    let result = |(): &mut ()| {
        let mut world = World::new();
        buffers.borrow_mut().iter_mut().for_each(|buffer| buffer.0.run_on(&mut world));
        result(&mut world)
    };
    cell.run_afresh(make, operation, result)
}

/// A buffer, and the world that reserves ids of entities.
struct Recording<'a> {
    buffer: &'a mut CommandBuffer,
    world: &'a World,
}

impl Recorder for Recording<'_> {
    type Entity = Entity;

    #[inline]
    fn spawn_body(&mut self, body: (Position, Velocity)) -> Entity {
        let entity = self.world.reserve_entity();
        self.buffer.queue(move |world| {
            let _ = world.insert(entity, body);
        });
        entity
    }

    #[inline]
    fn spawn_charged(&mut self, position: Position, velocity: Velocity, charge: A) {
        self.buffer.queue(move |world| {
            world.spawn((position, velocity, charge));
        });
    }

    #[inline]
    fn add_a(&mut self, entity: Entity, value: A) {
        self.buffer.queue(move |world| insert(world, entity, value));
    }

    #[inline]
    fn add_b(&mut self, entity: Entity, value: B) {
        self.buffer.queue(move |world| insert(world, entity, value));
    }

    #[inline]
    fn set_position(&mut self, entity: Entity, value: Position) {
        self.buffer.queue(move |world| insert(world, entity, value));
    }

    #[inline]
    fn remove_velocity(&mut self, entity: Entity) {
        self.buffer.remove_one::<Velocity>(entity);
    }

    #[inline]
    fn despawn(&mut self, entity: Entity) {
        self.buffer.despawn(entity);
    }
}

pub(super) fn mixed(cell: Cell) -> Reading {
    let mut buffer = CommandBuffer::new();
    let operation = |(world, entities): &mut Populated| {
        work::record_mix(&mut Recording { buffer: &mut buffer, world }, entities);
        buffer.run_on(world);
    };
    cell.run_afresh(|| bodies(MIXED), operation, |(world, _)| result(world))
}

pub(super) fn mixed_play(cell: Cell) -> Reading {
    let buffer = RefCell::new(CommandBuffer::new());
    let make = || {
        let (world, entities) = bodies(MIXED);
        let buffer = &mut buffer.borrow_mut();
        work::record_mix(&mut Recording { buffer, world: &world }, &entities);
        world
    };
    cell.run_afresh(make, |world| buffer.borrow_mut().run_on(world), result)
}
