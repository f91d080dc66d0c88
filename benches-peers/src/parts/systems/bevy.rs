//! bevy_ecs: commands of any type in a vector of bytes, each a function that receives the world.

use std::cell::RefCell;
use std::mem;

use bevy_ecs::entity::Entity;
use bevy_ecs::system::Commands;
use bevy_ecs::world::{CommandQueue, World};
use bevy_tasks::TaskPoolBuilder;

use super::work::{self, Apart, MANY, MIXED, Recorder};
use crate::harness::{Cell, Reading};
use crate::parts::storage::types::{A, B, Position, Velocity};

/// Returns an empty world with registered components.
fn world() -> World {
    let mut world = World::new();
    world.register_bundle::<(Position, Velocity)>();
    world.register_bundle::<(Position, Velocity, A)>();
    world.register_component::<B>();
    world
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
    let mut query = world.query::<(&Position, Option<&Velocity>, Option<&A>, Option<&B>)>();
    work::in_any_order(query.iter(world).map(|(p, v, a, b)| work::any_row(p, v, a, b)))
}

pub(super) fn spawn(cell: Cell) -> Reading {
    let mut queue = CommandQueue::default();
    let operation = |world: &mut World| {
        record(&mut queue, world, 0..MANY);
        queue.apply(world);
    };
    cell.run_afresh(world, operation, result)
}

/// Records commands that spawn entities one by one.
fn record(queue: &mut CommandQueue, world: &World, indices: std::ops::Range<usize>) {
    let mut commands = Commands::new(queue, world);
    for index in indices {
        commands.spawn(work::body(index));
    }
}

pub(super) fn spawn_batch(cell: Cell) -> Reading {
    let mut queue = CommandQueue::default();
    let operation = |world: &mut World| {
        Commands::new(&mut queue, world).spawn_batch((0..MANY).map(work::body));
        queue.apply(world);
    };
    cell.run_afresh(world, operation, result)
}

/// Adds components as a batch, which takes ownership of the list and iterates over it at playback.
pub(super) fn add(cell: Cell) -> Reading {
    let mut queue = CommandQueue::default();
    let operation = |(world, entities): &mut Populated| {
        let entities = mem::take(entities).into_iter().enumerate();
        let batch = entities.map(|(index, entity)| (entity, work::charge(index)));
        Commands::new(&mut queue, world).insert_batch(batch);
        queue.apply(world);
    };
    cell.run_afresh(|| bodies(MANY), operation, |(world, _)| result(world))
}

pub(super) fn add_each(cell: Cell) -> Reading {
    let mut queue = CommandQueue::default();
    let operation = |(world, entities): &mut Populated| {
        let mut commands = Commands::new(&mut queue, world);
        for (index, &entity) in entities.iter().enumerate() {
            commands.entity(entity).insert(work::charge(index));
        }
        queue.apply(world);
    };
    cell.run_afresh(|| bodies(MANY), operation, |(world, _)| result(world))
}

pub(super) fn destroy(cell: Cell) -> Reading {
    let mut queue = CommandQueue::default();
    let operation = |(world, entities): &mut Populated| {
        let mut commands = Commands::new(&mut queue, world);
        for &entity in entities.iter() {
            commands.entity(entity).despawn();
        }
        queue.apply(world);
    };
    cell.run_afresh(all_but_one, operation, |(world, _)| result(world))
}

pub(super) fn record_1t(cell: Cell) -> Reading {
    recording(cell, |world, [queue, _]| record(&mut queue.0, world, 0..MANY))
}

/// Measures recording as in two concurrent systems, each with its own queue. `ParallelCommands` keeps one queue per thread.
pub(super) fn record_2t(cell: Cell) -> Reading {
    // This thread helps while it waits.
    let pool = TaskPoolBuilder::new().num_threads(1).build();
    recording(cell, |world, [first, second]| {
        pool.scope(|scope| {
            scope.spawn(async { record(&mut first.0, world, 0..MANY / 2) });
            scope.spawn(async { record(&mut second.0, world, MANY / 2..MANY) });
        });
    })
}

/// Measures recording. The recorded commands are played back before the next operation, which uses a new world.
fn recording(cell: Cell, record: impl Fn(&World, &mut [Apart<CommandQueue>; 2])) -> Reading {
    let shared = RefCell::new((world(), <[Apart<CommandQueue>; 2]>::default()));
    let play = || {
        let (world, queues) = &mut *shared.borrow_mut();
        queues.iter_mut().for_each(|queue| queue.0.apply(world));
        mem::replace(world, self::world())
    };
    let make = || drop(play());
    let operation = |(): &mut ()| {
        let (world, queues) = &mut *shared.borrow_mut();
        record(world, queues);
    };
    cell.run_afresh(make, operation, |()| result(&mut play()))
}

impl Recorder for Commands<'_, '_> {
    type Entity = Entity;

    #[inline]
    fn spawn_body(&mut self, body: (Position, Velocity)) -> Entity {
        self.spawn(body).id()
    }

    #[inline]
    fn spawn_charged(&mut self, position: Position, velocity: Velocity, charge: A) {
        self.spawn((position, velocity, charge));
    }

    #[inline]
    fn add_a(&mut self, entity: Entity, value: A) {
        self.entity(entity).insert(value);
    }

    #[inline]
    fn add_b(&mut self, entity: Entity, value: B) {
        self.entity(entity).insert(value);
    }

    #[inline]
    fn set_position(&mut self, entity: Entity, value: Position) {
        self.entity(entity).insert(value);
    }

    #[inline]
    fn remove_velocity(&mut self, entity: Entity) {
        self.entity(entity).remove::<Velocity>();
    }

    #[inline]
    fn despawn(&mut self, entity: Entity) {
        self.entity(entity).despawn();
    }
}

pub(super) fn mixed(cell: Cell) -> Reading {
    let mut queue = CommandQueue::default();
    let operation = |(world, entities): &mut Populated| {
        work::record_mix(&mut Commands::new(&mut queue, world), entities);
        queue.apply(world);
    };
    cell.run_afresh(|| bodies(MIXED), operation, |(world, _)| result(world))
}

pub(super) fn mixed_play(cell: Cell) -> Reading {
    let queue = RefCell::new(CommandQueue::default());
    let make = || {
        let (world, entities) = bodies(MIXED);
        work::record_mix(&mut Commands::new(&mut queue.borrow_mut(), &world), &entities);
        world
    };
    cell.run_afresh(make, |world| queue.borrow_mut().apply(world), result)
}
