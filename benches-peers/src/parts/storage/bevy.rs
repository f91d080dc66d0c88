//! bevy_ecs: archetypes whose tables are growing vectors, and two ticks for each component.

use std::cell::RefCell;
use std::hint::black_box;

use bevy_ecs::component::Component;
use bevy_ecs::entity::{Entity, EntityCloner};
use bevy_ecs::hierarchy::ChildOf;
use bevy_ecs::query::With;
use bevy_ecs::world::World;

use super::types::{
    A, B, Mark, MarkA, MarkK, MarkT, MarkU, Payload0, Payload1, Payload2, Payload3,
};
use super::types::{Payload4, Position, Rotation, Transform, Velocity, twenty_marks};
use super::work::{self, FEW, GROUP, GROUPS, Large, MANY, MILLION, TURNS};
use crate::harness::{Cell, Reading};

pub(super) fn simple_insert(cell: Cell) -> Reading {
    let operation = |world: &mut World| {
        world.spawn_batch((0..FEW).map(|_| work::simple()));
    };
    cell.run_afresh(simple_world, operation, simple_result)
}

pub(super) fn spawn_each(cell: Cell) -> Reading {
    let operation = |world: &mut World| {
        for _ in 0..FEW {
            world.spawn(work::simple());
        }
    };
    cell.run_afresh(simple_world, operation, simple_result)
}

/// Returns an empty world with registered components.
fn simple_world() -> World {
    let mut world = World::new();
    world.register_bundle::<(Transform, Position, Rotation, Velocity)>();
    world
}

fn simple_result(world: &mut World) -> u64 {
    let mut query = world.query::<(&Transform, &Position, &Rotation, &Velocity)>();
    work::in_any_order(query.iter(world).map(|(t, p, r, v)| work::simple_row(t, p, r, v)))
}

/// A world with entities that are processed one by one.
type Populated = (World, Vec<Entity>);

pub(super) fn add_remove(cell: Cell) -> Reading {
    let mut world = World::new();
    let entities: Vec<Entity> = world.spawn_batch((0..FEW).map(|i| A(i as f32))).collect();
    let operation = |populated: &mut Populated| {
        add_to_all(populated, B(1.0));
        remove_from_all::<B>(populated);
    };
    let result = |populated: &mut Populated| {
        add_to_all(populated, B(1.0));
        let mut query = populated.0.query::<(&A, &B)>();
        let found =
            work::in_any_order(query.iter(&populated.0).map(|(a, b)| work::row([a.0, b.0])));
        remove_from_all::<B>(populated);
        found
    };
    cell.run((world, entities), operation, result)
}

fn add_to_all<T: Component + Copy>((world, entities): &mut Populated, value: T) {
    for &entity in entities.iter() {
        world.entity_mut(entity).insert(value);
    }
}

fn remove_from_all<T: Component>((world, entities): &mut Populated) {
    for &entity in entities.iter() {
        world.entity_mut(entity).remove::<T>();
    }
}

pub(super) fn move_20_components(cell: Cell) -> Reading {
    let mut world = World::new();
    let entities = (0..FEW).map(|index| {
        let entity = world.spawn_empty().id();
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
        let rows = query.iter(&populated.0);
        let found = work::in_any_order(rows.map(|(a, k, t, u)| work::moved_row(a, k, t, u)));
        remove_from_all::<MarkU>(populated);
        found
    };
    cell.run((world, entities), operation, result)
}

fn add_mark<M: Mark + Component>(world: &mut World, entity: Entity, value: f32) {
    world.entity_mut(entity).insert(M::new(value));
}

fn bodies(count: usize) -> Populated {
    let mut world = World::new();
    let entities = world.spawn_batch((0..count).map(work::body)).collect();
    (world, entities)
}

/// Returns a world with bodies. One of them has a reused id, so that a copy must copy the ids.
fn bodies_with_history() -> Populated {
    let mut world = World::new();
    let first = world.spawn(work::body(0)).id();
    world.despawn(first);
    let entities = world.spawn_batch((0..MILLION).map(work::body)).collect();
    (world, entities)
}

/// Counts the bodies. (The world has entities of its own.)
fn count((world, _): &mut Populated) -> u64 {
    world.query::<&Position>().iter(world).count() as u64
}

pub(super) fn despawn_each(cell: Cell) -> Reading {
    let operation = |(world, entities): &mut Populated| {
        for &entity in entities.iter() {
            world.despawn(entity);
        }
    };
    cell.run_afresh(|| bodies(MANY), operation, count)
}

pub(super) fn despawn_bulk(cell: Cell) -> Reading {
    let operation = |(world, _): &mut Populated| world.despawn_all::<With<Position>>();
    cell.run_afresh(|| bodies(MANY), operation, count)
}

pub(super) fn clear(cell: Cell) -> Reading {
    let operation = |(world, _): &mut Populated| world.clear_entities();
    cell.run_afresh(|| bodies(MANY), operation, count)
}

pub(super) fn create(cell: Cell) -> Reading {
    let values = work::large();
    let operation = |world: &mut World| {
        world.spawn_batch((0..MANY).map(|_| values));
    };
    let make = || {
        let mut world = World::new();
        world.register_bundle::<Large>();
        world
    };
    cell.run_afresh(make, operation, large_result)
}

fn large_result(world: &mut World) -> u64 {
    let mut query = world.query::<(&Payload0, &Payload1, &Payload2, &Payload3, &Payload4)>();
    work::in_any_order(query.iter(world).map(|(a, b, c, d, e)| work::large_row(a, b, c, d, e)))
}

/// A world with an entity to clone, and its cloner.
type Prefab = (World, Entity, EntityCloner);

pub(super) fn clone_prefab(cell: Cell) -> Reading {
    let make = || {
        let mut world = World::new();
        let prefab = world.spawn(work::large()).id();
        let cloner = EntityCloner::build_opt_out(&mut world).finish();
        (world, prefab, cloner)
    };
    let operation = |(world, prefab, cloner): &mut Prefab| {
        for _ in 0..MANY {
            cloner.spawn_clone(world, *prefab);
        }
    };
    cell.run_afresh(make, operation, |(world, ..)| work::without_prefabs(large_result(world), 1))
}

pub(super) fn clone_group(cell: Cell) -> Reading {
    let make = || {
        let mut world = World::new();
        let prefab = world.spawn(work::large()).id();
        for _ in 1..GROUP {
            world.spawn((work::large(), ChildOf(prefab)));
        }
        let mut cloner = EntityCloner::build_opt_out(&mut world);
        cloner.linked_cloning(true);
        let cloner = cloner.finish();
        (world, prefab, cloner)
    };
    let operation = |(world, prefab, cloner): &mut Prefab| {
        for _ in 0..GROUPS {
            cloner.spawn_clone(world, *prefab);
        }
    };
    let result = |(world, ..): &mut Prefab| work::without_prefabs(large_result(world), GROUP);
    cell.run_afresh(make, operation, result)
}

pub(super) fn random_get(cell: Cell) -> Reading {
    let (mut world, entities) = bodies(MILLION);
    let entities = work::shuffled(entities);
    let mut query = world.query::<&Position>();
    let operation = |sum: &mut u64| {
        let query = query.query(&world);
        let found = black_box(&entities)
            .iter()
            .map(|&entity| work::looked_up(query.get(entity).expect("all have it")));
        *sum = black_box(sum.wrapping_add(found.sum()));
    };
    cell.run(0, operation, |sum| *sum)
}

/// Copies the entities one by one, with a query for the components, which must be listed. A batch
/// would assign new ids.
pub(super) fn world_clone(cell: Cell) -> Reading {
    let (mut source, entities) = bodies_with_history();
    let mut query = source.query::<(Entity, &Position, &Velocity)>();
    let operation = |copy: &mut World| {
        for (entity, position, velocity) in query.iter(&source) {
            copy.spawn_at(entity, (*position, *velocity)).expect("the name is free");
        }
    };
    let result = |copy: &mut World| {
        work::in_any_order(entities.iter().map(|&entity| {
            let (position, velocity) = copy
                .entity(entity)
                .get_components::<(&Position, &Velocity)>()
                .expect("the copy has all");
            work::body_row(position, velocity)
        }))
    };
    cell.run_afresh(World::new, operation, result)
}

pub(super) fn archetypes(cell: Cell, alive: usize) -> Reading {
    let mut world = World::new();
    for spawn in twenty_marks!(spawn_marked) {
        spawn(&mut world, 0.0);
    }
    for marks in work::others(alive) {
        let entity = world.spawn(work::marked(0.0)).id();
        for mark in marks {
            twenty_marks!(add_mark)[mark](&mut world, entity, 0.0);
        }
    }
    let mut query = world.query::<&Position>();
    let shared = RefCell::new((world, Vec::new()));
    // The entities of the last operation are despawned before the next.
    let make = || {
        let (world, entities): &mut Populated = &mut shared.borrow_mut();
        for entity in entities.drain(..) {
            world.despawn(entity);
        }
        0
    };
    let operation = |sum: &mut u64| {
        let (world, entities) = &mut *shared.borrow_mut();
        for turn in 0..TURNS {
            entities.extend(twenty_marks!(spawn_marked).map(|spawn| spawn(world, turn as f32)));
        }
        let query = query.query(world);
        *sum = entities.iter().map(|&e| work::looked_up(query.get(e).expect("all have it"))).sum();
    };
    cell.run_afresh(make, operation, |sum| *sum)
}

fn spawn_marked<M: Mark + Component>(world: &mut World, value: f32) -> Entity {
    world.spawn((work::marked(value), M::new(value))).id()
}

pub(super) fn bytes_per_entity(cell: Cell) -> Reading {
    let make = || {
        let mut world = World::new();
        world.spawn_batch((0..MILLION).map(work::body));
        world
    };
    let result = |world: &mut World| {
        let mut query = world.query::<(&Position, &Velocity)>();
        work::in_any_order(query.iter(world).map(|(p, v)| work::body_row(p, v)))
    };
    cell.run_resident(make, result)
}
