//! ancho: an `EntityCommandBuffer`.

use std::cell::RefCell;

use ancho_entities::{Commands, Entity, EntityCommandBuffer, World};
use ancho_jobs::{JobPool, JobScheduler};

use super::work::{self, MANY, MIXED, Recorder};
use crate::harness::{Cell, Reading};
use crate::parts::storage::types::{A, B, Position, Velocity};

/// Number of indices per batch of a recording job.
const BATCH: usize = 1_024;

fn world() -> World {
    World::new("peers")
}

/// A world with entities that are processed one by one.
type Populated = (World, Vec<Entity>);

fn bodies(count: usize) -> Populated {
    let mut world = world();
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
    let query = world.query::<(&Position, Option<&Velocity>, Option<&A>, Option<&B>)>();
    work::in_any_order(query.iter().map(|(p, v, a, b)| work::any_row(p, v, a, b)))
}

/// Returns a recorder for this thread. Created entities have their ids immediately.
fn commands<'w>(world: &'w World, buffer: &'w mut EntityCommandBuffer) -> Commands<'w> {
    world.commands(buffer).expect("nothing else records")
}

/// Plays the commands, and clears the buffer for reuse.
fn play(world: &mut World, buffer: &mut EntityCommandBuffer) {
    world.play(buffer).expect("all commands are valid");
    buffer.clear().expect("nothing records");
}

pub(super) fn spawn(cell: Cell) -> Reading {
    let mut buffer = EntityCommandBuffer::new();
    let operation = |world: &mut World| {
        let mut commands = commands(world, &mut buffer);
        for index in 0..MANY {
            commands.spawn(work::body(index));
        }
        play(world, &mut buffer);
    };
    cell.run_afresh(world, operation, result)
}

pub(super) fn spawn_batch(cell: Cell) -> Reading {
    let mut buffer = EntityCommandBuffer::new();
    let operation = |world: &mut World| {
        commands(world, &mut buffer).spawn_batch((0..MANY).map(work::body));
        play(world, &mut buffer);
    };
    cell.run_afresh(world, operation, result)
}

/// Adds components one by one, because there is no bulk command for differing values.
pub(super) fn add(cell: Cell) -> Reading {
    let mut buffer = EntityCommandBuffer::new();
    let operation = |(world, entities): &mut Populated| {
        let mut commands = commands(world, &mut buffer);
        for (index, &entity) in entities.iter().enumerate() {
            commands.add(entity, work::charge(index));
        }
        play(world, &mut buffer);
    };
    cell.run_afresh(|| bodies(MANY), operation, |(world, _)| result(world))
}

pub(super) fn destroy(cell: Cell) -> Reading {
    let mut buffer = EntityCommandBuffer::new();
    let operation = |(world, entities): &mut Populated| {
        let mut commands = commands(world, &mut buffer);
        for &entity in entities.iter() {
            commands.despawn(entity);
        }
        play(world, &mut buffer);
    };
    cell.run_afresh(all_but_one, operation, |(world, _)| result(world))
}

/// Measures recording in a parallel job on this thread and `workers` others, to one buffer. The recorded commands are dropped
/// before the next operation.
pub(super) fn recording(cell: Cell, workers: usize) -> Reading {
    let pool = JobPool::builder().workers(workers).build().expect("threads");
    let jobs = JobScheduler::new(&pool);
    let buffer = RefCell::new(EntityCommandBuffer::new());
    let make = || buffer.borrow_mut().clear().expect("nothing records");
    let operation = |(): &mut ()| {
        let mut buffer = buffer.borrow_mut();
        let job = jobs.schedule_for_each(&[], buffer.writer(), MANY, BATCH, |commands, index| {
            commands.spawn(work::body(index));
        });
        jobs.complete(job.expect("no conflict"));
    };
    let result = |(): &mut ()| {
        let mut world = world();
        play(&mut world, &mut buffer.borrow_mut());
        result(&mut world)
    };
    cell.run_afresh(make, operation, result)
}

impl Recorder for Commands<'_> {
    type Entity = Entity;

    #[inline]
    fn spawn_body(&mut self, body: (Position, Velocity)) -> Entity {
        self.spawn(body)
    }

    #[inline]
    fn spawn_charged(&mut self, position: Position, velocity: Velocity, charge: A) {
        self.spawn((position, velocity, charge));
    }

    #[inline]
    fn add_a(&mut self, entity: Entity, value: A) {
        self.add(entity, value);
    }

    #[inline]
    fn add_b(&mut self, entity: Entity, value: B) {
        self.add(entity, value);
    }

    #[inline]
    fn set_position(&mut self, entity: Entity, value: Position) {
        self.set(entity, value);
    }

    #[inline]
    fn remove_velocity(&mut self, entity: Entity) {
        self.remove::<Velocity>(entity);
    }

    #[inline]
    fn despawn(&mut self, entity: Entity) {
        // By its path, since this method has the same name.
        (**self).despawn(entity);
    }
}

pub(super) fn mixed(cell: Cell) -> Reading {
    let mut buffer = EntityCommandBuffer::new();
    let operation = |(world, entities): &mut Populated| {
        work::record_mix(&mut commands(world, &mut buffer), entities);
        play(world, &mut buffer);
    };
    cell.run_afresh(|| bodies(MIXED), operation, |(world, _)| result(world))
}

pub(super) fn mixed_play(cell: Cell) -> Reading {
    let buffer = RefCell::new(EntityCommandBuffer::new());
    let make = || {
        let (world, entities) = bodies(MIXED);
        work::record_mix(&mut commands(&world, &mut buffer.borrow_mut()), &entities);
        world
    };
    cell.run_afresh(make, |world| play(world, &mut buffer.borrow_mut()), result)
}
