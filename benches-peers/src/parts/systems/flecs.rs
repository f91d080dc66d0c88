//! flecs, in C, through flecs_ecs: operations between `defer_begin` and `defer_end` are deferred, and merged per entity when they
//! are applied.

use flecs_ecs::prelude::*;

use super::work::{self, MANY, MIXED, MIXED_COMMANDS, Recorder};
use crate::harness::{Cell, Reading};
use crate::parts::storage::types::*;

/// Returns an empty world with registered components, and a command list with capacity for `commands` commands, like a list that
/// was used before.
fn world(commands: usize) -> World {
    let world = World::new();
    world.component::<Position>();
    world.component::<Velocity>();
    world.component::<A>();
    world.component::<B>();
    let scratch = world.entity().set(work::body(0).0);
    world.defer_begin();
    for _ in 0..commands {
        scratch.set(work::body(0).0);
    }
    world.defer_end();
    scratch.destruct();
    world
}

/// Number of commands of the mix. Each component of a created entity is one command.
const MIXED_SETS: usize = MIXED_COMMANDS / 10 * 13;

/// A world with entities that are processed one by one.
type Populated = (World, Vec<Entity>);

fn bodies(count: usize, commands: usize) -> Populated {
    let world = world(commands);
    let (positions, velocities): (Vec<_>, Vec<_>) = (0..count).map(work::body).unzip();
    let entities = world.entity_bulk(count as u32).set(&positions).set(&velocities).build();
    (world, entities)
}

/// Returns a world with many bodies, and one that is not processed.
fn all_but_one() -> Populated {
    let (world, mut entities) = bodies(MANY + 1, MANY);
    entities.pop();
    (world, entities)
}

fn result(world: &World) -> u64 {
    let mut rows = Vec::new();
    world.each::<(&Position, Option<&Velocity>, Option<&A>, Option<&B>)>(|(p, v, a, b)| {
        rows.push(work::any_row(p, v, a, b));
    });
    work::in_any_order(rows.into_iter())
}

pub(super) fn spawn(cell: Cell) -> Reading {
    let operation = |world: &mut World| {
        world.defer_begin();
        record((&*world).into(), 0..MANY);
        world.defer_end();
    };
    cell.run_afresh(|| world(2 * MANY), operation, |world| result(world))
}

/// Records commands that create entities one by one, with two commands for each.
fn record(world: WorldRef<'_>, indices: std::ops::Range<usize>) {
    for index in indices {
        let (position, velocity) = work::body(index);
        world.entity().set(position).set(velocity);
    }
}

pub(super) fn add(cell: Cell) -> Reading {
    let operation = |(world, entities): &mut Populated| {
        world.defer_begin();
        for (index, &entity) in entities.iter().enumerate() {
            world.entity_from_id(entity).set(work::charge(index));
        }
        world.defer_end();
    };
    cell.run_afresh(|| bodies(MANY, MANY), operation, |(world, _)| result(world))
}

pub(super) fn destroy(cell: Cell) -> Reading {
    let operation = |(world, entities): &mut Populated| {
        world.defer_begin();
        for &entity in entities.iter() {
            world.entity_from_id(entity).destruct();
        }
        world.defer_end();
    };
    cell.run_afresh(all_but_one, operation, |(world, _)| result(world))
}

/// Measures only the recording. Before the next operation, the recorded commands are applied, and the entities destroyed. (Two
/// threads cannot create entities.)
pub(super) fn record_1t(cell: Cell) -> Reading {
    let world = world(2 * MANY);
    world.defer_begin();
    let make = || {
        world.defer_end();
        world.delete_entities_with(id::<Position>());
        world.defer_begin();
    };
    let result = |(): &mut ()| {
        world.defer_end();
        let found = result(&world);
        world.defer_begin();
        found
    };
    let reading = cell.run_afresh(make, |()| record((&world).into(), 0..MANY), result);
    world.defer_end();
    reading
}

impl Recorder for &World {
    type Entity = Entity;

    #[inline]
    fn spawn_body(&mut self, (position, velocity): (Position, Velocity)) -> Entity {
        self.entity().set(position).set(velocity).id()
    }

    #[inline]
    fn spawn_charged(&mut self, position: Position, velocity: Velocity, charge: A) {
        self.entity().set(position).set(velocity).set(charge);
    }

    #[inline]
    fn add_a(&mut self, entity: Entity, value: A) {
        self.entity_from_id(entity).set(value);
    }

    #[inline]
    fn add_b(&mut self, entity: Entity, value: B) {
        self.entity_from_id(entity).set(value);
    }

    #[inline]
    fn set_position(&mut self, entity: Entity, value: Position) {
        self.entity_from_id(entity).set(value);
    }

    #[inline]
    fn remove_velocity(&mut self, entity: Entity) {
        self.entity_from_id(entity).remove(Velocity::id());
    }

    #[inline]
    fn despawn(&mut self, entity: Entity) {
        self.entity_from_id(entity).destruct();
    }
}

pub(super) fn mixed(cell: Cell) -> Reading {
    let operation = |(world, entities): &mut Populated| {
        world.defer_begin();
        work::record_mix(&mut &*world, entities);
        world.defer_end();
    };
    cell.run_afresh(|| bodies(MIXED, MIXED_SETS), operation, |(world, _)| result(world))
}

pub(super) fn mixed_play(cell: Cell) -> Reading {
    let make = || {
        let (world, entities) = bodies(MIXED, MIXED_SETS);
        world.defer_begin();
        work::record_mix(&mut &world, &entities);
        world
    };
    let operation = |world: &mut World| {
        world.defer_end();
    };
    cell.run_afresh(make, operation, |world| result(world))
}
