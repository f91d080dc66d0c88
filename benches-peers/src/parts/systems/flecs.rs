//! flecs, in C, through flecs_ecs: what is done to entities between `defer_begin` and `defer_end`
//! is put off, and is gathered for each entity when it is carried out.

use flecs_ecs::prelude::*;

use super::work::{self, MANY, MIXED, Recorder};
use crate::harness::{Cell, Reading};
use crate::parts::storage::types::*;

/// An empty world that knows the components.
fn world() -> World {
    let world = World::new();
    world.component::<Position>();
    world.component::<Velocity>();
    world.component::<A>();
    world.component::<B>();
    world
}

/// A world with entities to be treated one by one.
type Populated = (World, Vec<Entity>);

fn bodies(count: usize) -> Populated {
    let world = world();
    let (positions, velocities): (Vec<_>, Vec<_>) = (0..count).map(work::body).unzip();
    let entities = world.entity_bulk(count as u32).set(&positions).set(&velocities).build();
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
    cell.run_afresh(world, operation, |world| result(world))
}

/// Records entities one by one, with two commands for each.
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
    cell.run_afresh(|| bodies(MANY), operation, |(world, _)| result(world))
}

pub(super) fn destroy(cell: Cell) -> Reading {
    let operation = |(world, entities): &mut Populated| {
        world.defer_begin();
        for &entity in entities.iter() {
            world.entity_from_id(entity).destruct();
        }
        world.defer_end();
    };
    cell.run_afresh(|| bodies(MANY), operation, |(world, _)| result(world))
}

pub(super) fn record_1t(cell: Cell) -> Reading {
    recording(cell, 1, |world| record(world.stage(0), 0..MANY))
}

/// A stage for each thread.
pub(super) fn record_2t(cell: Cell) -> Reading {
    work::two_threads();
    recording(cell, 2, |world| {
        let (first, second) = (world.stage(0), world.stage(1));
        rayon::join(move || record(first, 0..MANY / 2), move || record(second, MANY / 2..MANY));
    })
}

/// Measures recording, while the world can only be read. What was recorded is carried out before
/// the next, and destroyed.
fn recording(cell: Cell, stages: i32, record: impl Fn(&World)) -> Reading {
    let world = world();
    world.set_stage_count(stages);
    let begin = || world.readonly_begin(stages > 1);
    begin();
    let make = || {
        world.readonly_end();
        world.delete_entities_with(id::<Position>());
        begin();
    };
    let result = |(): &mut ()| {
        world.readonly_end();
        let found = result(&world);
        begin();
        found
    };
    let reading = cell.run_afresh(make, |()| record(&world), result);
    world.readonly_end();
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
    cell.run_afresh(|| bodies(MIXED), operation, |(world, _)| result(world))
}

pub(super) fn mixed_play(cell: Cell) -> Reading {
    let make = || {
        let (world, entities) = bodies(MIXED);
        world.defer_begin();
        work::record_mix(&mut &world, &entities);
        world
    };
    let operation = |world: &mut World| {
        world.defer_end();
    };
    cell.run_afresh(make, operation, |world| result(world))
}
