//! flecs, in C, through flecs_ecs: archetypes, with bulk creation from whole columns.

use std::cell::RefCell;
use std::hint::black_box;

use flecs_ecs::prelude::*;

use super::types::*;
use super::work::{self, FEW, GROUP, GROUPS, MANY, MILLION, TURNS};
use crate::harness::{Cell, Reading};

pub(super) fn simple_insert(cell: Cell) -> Reading {
    let operation = |world: &mut World| {
        let (transform, position, rotation, velocity) = work::simple();
        world
            .entity_bulk(FEW as u32)
            .set(&vec![transform; FEW])
            .set(&vec![position; FEW])
            .set(&vec![rotation; FEW])
            .set(&vec![velocity; FEW])
            .build();
    };
    cell.run_afresh(simple_world, operation, simple_result)
}

/// Creates each entity as a bulk of one, in its final table. With `entity().set(…)`, each `set`
/// would move the entity.
pub(super) fn spawn_each(cell: Cell) -> Reading {
    let operation = |world: &mut World| {
        for _ in 0..FEW {
            let (transform, position, rotation, velocity) = work::simple();
            world
                .entity_bulk(1)
                .set(&[transform])
                .set(&[position])
                .set(&[rotation])
                .set(&[velocity])
                .build();
        }
    };
    cell.run_afresh(simple_world, operation, simple_result)
}

/// Returns an empty world with registered components.
fn simple_world() -> World {
    let world = World::new();
    world.component::<Transform>();
    world.component::<Position>();
    world.component::<Rotation>();
    world.component::<Velocity>();
    world
}

fn simple_result(world: &mut World) -> u64 {
    let mut rows = Vec::new();
    world.each::<(&Transform, &Position, &Rotation, &Velocity)>(|(t, p, r, v)| {
        rows.push(work::simple_row(t, p, r, v));
    });
    work::in_any_order(rows.into_iter())
}

/// A world with entities that are processed one by one.
type Populated = (World, Vec<Entity>);

pub(super) fn add_remove(cell: Cell) -> Reading {
    let world = World::new();
    let values: Vec<A> = (0..FEW).map(|index| A(index as f32)).collect();
    let entities = world.entity_bulk(FEW as u32).set(&values).build();
    let operation = |populated: &mut Populated| {
        add_to_all(populated, B(1.0));
        remove_from_all::<B>(populated);
    };
    let result = |populated: &mut Populated| {
        add_to_all(populated, B(1.0));
        let mut rows = Vec::new();
        populated.0.each::<(&A, &B)>(|(a, b)| rows.push(work::row([a.0, b.0])));
        let found = work::in_any_order(rows.into_iter());
        remove_from_all::<B>(populated);
        found
    };
    cell.run((world, entities), operation, result)
}

fn add_to_all<T: ComponentId + Copy>((world, entities): &mut Populated, value: T) {
    for &entity in entities.iter() {
        world.entity_from_id(entity).set(value);
    }
}

fn remove_from_all<T: ComponentId>((world, entities): &mut Populated) {
    let id = world.component_id::<T>();
    for &entity in entities.iter() {
        world.entity_from_id(entity).remove(id);
    }
}

pub(super) fn move_20_components(cell: Cell) -> Reading {
    let world = World::new();
    let entities = (0..FEW).map(|index| {
        let entity = world.entity().id();
        for add in twenty_marks!(add_mark) {
            add(&world, entity, index as f32);
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
        populated.0.each::<(&MarkA, &MarkK, &MarkT, &MarkU)>(|(a, k, t, u)| {
            rows.push(work::moved_row(a, k, t, u));
        });
        let found = work::in_any_order(rows.into_iter());
        remove_from_all::<MarkU>(populated);
        found
    };
    cell.run((world, entities), operation, result)
}

fn add_mark<M: Mark + ComponentId>(world: &World, entity: Entity, value: f32) {
    world.entity_from_id(entity).set(M::new(value));
}

fn bodies(count: usize) -> Populated {
    let world = World::new();
    let (positions, velocities): (Vec<_>, Vec<_>) = (0..count).map(work::body).unzip();
    let entities = world.entity_bulk(count as u32).set(&positions).set(&velocities).build();
    (world, entities)
}

/// Counts the bodies.
fn count((world, _): &mut Populated) -> u64 {
    let mut count = 0;
    world.each::<&Position>(|_| count += 1);
    count
}

pub(super) fn despawn_each(cell: Cell) -> Reading {
    let operation = |(world, entities): &mut Populated| {
        for &entity in entities.iter() {
            world.entity_from_id(entity).destruct();
        }
    };
    cell.run_afresh(|| bodies(MANY), operation, count)
}

pub(super) fn despawn_bulk(cell: Cell) -> Reading {
    let operation = |(world, _): &mut Populated| world.delete_entities_with(id::<Position>());
    cell.run_afresh(|| bodies(MANY), operation, count)
}

pub(super) fn create(cell: Cell) -> Reading {
    let (p0, p1, p2, p3, p4) = work::large();
    let operation = |world: &mut World| {
        world
            .entity_bulk(MANY as u32)
            .set(&vec![p0; MANY])
            .set(&vec![p1; MANY])
            .set(&vec![p2; MANY])
            .set(&vec![p3; MANY])
            .set(&vec![p4; MANY])
            .build();
    };
    let make = || {
        let world = World::new();
        world.component::<Payload0>();
        world.component::<Payload1>();
        world.component::<Payload2>();
        world.component::<Payload3>();
        world.component::<Payload4>();
        world
    };
    cell.run_afresh(make, operation, large_result)
}

fn large_result(world: &mut World) -> u64 {
    let mut rows = Vec::new();
    world.each::<(&Payload0, &Payload1, &Payload2, &Payload3, &Payload4)>(|(a, b, c, d, e)| {
        rows.push(work::large_row(a, b, c, d, e));
    });
    work::in_any_order(rows.into_iter())
}

/// A world with an entity to clone.
type Prefab = (World, Entity);

fn set_large(entity: EntityView<'_>) {
    let (p0, p1, p2, p3, p4) = work::large();
    entity.set(p0).set(p1).set(p2).set(p3).set(p4);
}

pub(super) fn clone_prefab(cell: Cell) -> Reading {
    let make = || {
        let world = World::new();
        let prefab = world.entity();
        set_large(prefab);
        let prefab = prefab.id();
        (world, prefab)
    };
    let operation = |(world, prefab): &mut Prefab| {
        for _ in 0..MANY {
            world.entity_from_id(*prefab).duplicate(true);
        }
    };
    cell.run_afresh(make, operation, |(world, _)| work::without_prefabs(large_result(world), 1))
}

/// Clones groups by inheritance, which is the only way to clone children too. The components are
/// copied.
pub(super) fn clone_group(cell: Cell) -> Reading {
    let make = || {
        let world = World::new();
        let prefab = world.prefab();
        set_large(prefab);
        for _ in 1..GROUP {
            set_large(world.prefab().child_of(prefab));
        }
        let prefab = prefab.id();
        (world, prefab)
    };
    let operation = |(world, prefab): &mut Prefab| {
        for _ in 0..GROUPS {
            world.entity().is_a(*prefab);
        }
    };
    // Queries skip prefabs.
    cell.run_afresh(make, operation, |(world, _)| large_result(world))
}

pub(super) fn toggle_one(cell: Cell) -> Reading {
    let world = World::new();
    world.component::<Position>().add_trait::<flecs::CanToggle>();
    let (positions, velocities): (Vec<_>, Vec<_>) = (0..MANY).map(work::body).unzip();
    let entities = world.entity_bulk(MANY as u32).set(&positions).set(&velocities).build();
    let component = world.component_id::<Position>();
    let operation = |enabled: &mut bool| {
        *enabled = !*enabled;
        for &entity in &entities {
            let entity = world.entity_from_id(entity);
            if *enabled {
                entity.enable(component)
            } else {
                entity.disable(component)
            };
        }
    };
    let result = |_: &mut bool| {
        let is_enabled = |&&entity: &&Entity| world.entity_from_id(entity).is_enabled(component);
        entities.iter().filter(is_enabled).count() as u64
    };
    cell.run(true, operation, result)
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

/// Looks an entity up by copying its component. A closure with a reference takes somewhat longer.
fn look_up(world: &World, entity: Entity) -> u64 {
    work::looked_up(&world.entity_from_id(entity).cloned::<&Position>())
}

pub(super) fn archetypes(cell: Cell, alive: usize) -> Reading {
    let world = World::new();
    for spawn in twenty_marks!(spawn_marked) {
        spawn(&world, 0.0);
    }
    for marks in work::others(alive) {
        let entity = world.entity().set(work::marked(0.0)).id();
        for mark in marks {
            twenty_marks!(add_mark)[mark](&world, entity, 0.0);
        }
    }
    let entities = RefCell::new(Vec::new());
    // The entities of the last operation are despawned before the next.
    let make = || {
        for entity in entities.borrow_mut().drain(..) {
            world.entity_from_id(entity).destruct();
        }
        0
    };
    let operation = |sum: &mut u64| {
        let mut entities = entities.borrow_mut();
        for turn in 0..TURNS {
            entities.extend(twenty_marks!(spawn_marked).map(|spawn| spawn(&world, turn as f32)));
        }
        *sum = entities.iter().map(|&entity| look_up(&world, entity)).sum();
    };
    cell.run_afresh(make, operation, |sum| *sum)
}

fn spawn_marked<M: Mark + ComponentId + DataComponent>(world: &World, value: f32) -> Entity {
    world.entity_bulk(1).set(&[work::marked(value)]).set(&[M::new(value)]).build()[0]
}

pub(super) fn bytes_per_entity(cell: Cell) -> Reading {
    let result = |world: &mut World| {
        let mut rows = Vec::with_capacity(MILLION);
        world.each::<(&Position, &Velocity)>(|(p, v)| rows.push(work::body_row(p, v)));
        work::in_any_order(rows.into_iter())
    };
    cell.run_resident(|| bodies(MILLION).0, result)
}
