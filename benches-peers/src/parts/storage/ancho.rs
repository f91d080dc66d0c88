//! ancho: archetypes in chunks of 16 KiB.

use std::cell::RefCell;
use std::hint::black_box;

use ancho_entities::{
    ArchetypeChunk, Buffer, BufferElement, Columns, Component, Entity, LinkedEntityGroup, Prefab,
    Shared, SharedComponent, World,
};

use super::types::{
    A, B, Mark, MarkA, MarkK, MarkT, MarkU, Payload0, Payload1, Payload2, Payload3,
};
use super::types::{Payload4, Position, Rotation, Transform, Velocity, twenty_marks};
use super::work::{self, FEW, GROUP, GROUPS, MANY, MILLION, PUSHED, SHARING, TURNS};
use crate::harness::{Cell, Reading};

fn world() -> World {
    World::new("peers")
}

pub(super) fn simple_insert(cell: Cell) -> Reading {
    let operation = |world: &mut World| {
        let columns = Columns::new(FEW)
            .with(|_| work::simple().0)
            .with(|_| work::simple().1)
            .with(|_| work::simple().2)
            .with(|_| work::simple().3);
        world.spawn_columns(columns).expect("there is memory");
    };
    cell.run_afresh(world, operation, simple_result)
}

pub(super) fn spawn_each(cell: Cell) -> Reading {
    let operation = |world: &mut World| {
        for _ in 0..FEW {
            world.spawn(work::simple());
        }
    };
    cell.run_afresh(world, operation, simple_result)
}

fn simple_result(world: &mut World) -> u64 {
    let rows = world.chunks().flat_map(|chunk| {
        let (t, p) = (column::<Transform>(&chunk), column::<Position>(&chunk));
        let (r, v) = (column::<Rotation>(&chunk), column::<Velocity>(&chunk));
        (0..chunk.len()).map(move |i| work::simple_row(&t[i], &p[i], &r[i], &v[i]))
    });
    work::in_any_order(rows)
}

/// Returns a column of a chunk, or an empty slice if the chunk does not have the column.
fn column<'w, T: Component>(chunk: &ArchetypeChunk<'w>) -> &'w [T] {
    chunk.slice().unwrap_or_default()
}

/// A world with entities that are processed one by one.
type Populated = (World, Vec<Entity>);

pub(super) fn add_remove(cell: Cell) -> Reading {
    let mut world = world();
    let entities = world.spawn_batch((0..FEW).map(|i| A(i as f32))).collect();
    let operation = |populated: &mut Populated| {
        add_to_all(populated, B(1.0));
        remove_from_all::<B>(populated);
    };
    let result = |populated: &mut Populated| {
        add_to_all(populated, B(1.0));
        let rows = populated.0.chunks().flat_map(|chunk| {
            let rows = column::<A>(&chunk).iter().zip(column::<B>(&chunk));
            rows.map(|(a, b)| work::row([a.0, b.0]))
        });
        let found = work::in_any_order(rows);
        remove_from_all::<B>(populated);
        found
    };
    cell.run((world, entities), operation, result)
}

fn add_to_all<T: Component + Copy>((world, entities): &mut Populated, value: T) {
    for &entity in entities.iter() {
        world.add(entity, value).expect("all are alive");
    }
}

fn remove_from_all<T: Component>((world, entities): &mut Populated) {
    for &entity in entities.iter() {
        world.remove::<T>(entity).expect("all are alive");
    }
}

pub(super) fn move_20_components(cell: Cell) -> Reading {
    let mut world = world();
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
        let rows = populated.0.chunks().flat_map(|chunk| {
            let (a, k) = (column::<MarkA>(&chunk), column::<MarkK>(&chunk));
            let (t, u) = (column::<MarkT>(&chunk), column::<MarkU>(&chunk));
            (0..u.len()).map(move |i| work::moved_row(&a[i], &k[i], &t[i], &u[i]))
        });
        let found = work::in_any_order(rows);
        remove_from_all::<MarkU>(populated);
        found
    };
    cell.run((world, entities), operation, result)
}

fn add_mark<M: Mark + Component>(world: &mut World, entity: Entity, value: f32) {
    world.add(entity, M::new(value)).expect("it is alive");
}

fn bodies(count: usize) -> Populated {
    let mut world = world();
    let entities = world.spawn_batch((0..count).map(work::body)).collect();
    (world, entities)
}

/// Returns a world with bodies. One of them has a reused id, so that a copy must copy the ids.
fn bodies_with_history() -> Populated {
    let mut world = world();
    let first = world.spawn(work::body(0));
    world.despawn(first).expect("it is alive");
    let entities = world.spawn_batch((0..MILLION).map(work::body)).collect();
    (world, entities)
}

fn count((world, _): &mut Populated) -> u64 {
    world.entity_count() as u64
}

pub(super) fn despawn_each(cell: Cell) -> Reading {
    let operation = |(world, entities): &mut Populated| {
        for &entity in entities.iter() {
            world.despawn(entity).expect("all are alive");
        }
    };
    cell.run_afresh(|| bodies(MANY), operation, count)
}

pub(super) fn despawn_bulk(cell: Cell) -> Reading {
    let operation = |(world, entities): &mut Populated| {
        world.batch(entities.as_slice()).despawn().expect("all are alive");
    };
    cell.run_afresh(|| bodies(MANY), operation, count)
}

pub(super) fn clear(cell: Cell) -> Reading {
    let operation = |(world, _): &mut Populated| {
        world.despawn_all().unwrap();
    };
    cell.run_afresh(|| bodies(MANY), operation, count)
}

pub(super) fn create(cell: Cell) -> Reading {
    let values = work::large();
    let operation = |world: &mut World| {
        world.spawn_many(values, MANY);
    };
    cell.run_afresh(world, operation, large_result)
}

pub(super) fn clone_prefab(cell: Cell) -> Reading {
    let fixture = || {
        let mut world = world();
        let prefab = world.spawn((Prefab, work::large()));
        (world, prefab)
    };
    let operation = |(world, prefab): &mut (World, Entity)| {
        world.instantiate_many(*prefab, MANY).expect("there is memory");
    };
    cell.run_afresh(fixture, operation, |(world, _)| large_result(world))
}

/// The root of an entity's group, like the peers' child relation.
#[derive(Component, Clone, Copy)]
struct ChildOf(Entity);

pub(super) fn clone_group(cell: Cell) -> Reading {
    let fixture = || {
        let mut world = world();
        let root = world.spawn((Prefab, work::large()));
        let mut group = vec![LinkedEntityGroup(root)];
        group.extend(
            world
                .spawn_many((Prefab, work::large(), ChildOf(root)), GROUP - 1)
                .map(LinkedEntityGroup),
        );
        world.add(root, Buffer::from(group)).expect("it is there");
        (world, root)
    };
    let operation = |(world, root): &mut (World, Entity)| {
        world.instantiate_many(*root, GROUPS).expect("there is memory");
    };
    let result = |(world, root): &mut (World, Entity)| {
        let lookup = world.lookup::<&ChildOf>();
        for chunk in world.chunks().filter(|chunk| !chunk.has::<Prefab>()) {
            let groups = chunk.buffers::<LinkedEntityGroup>();
            for (entity, group) in chunk.entities().iter().zip(groups.iter().flat_map(|g| g.iter()))
            {
                assert!(group.len() == GROUP && group[0].0 == *entity && entity != root);
                let parents = group[1..].iter().map(|child| lookup.get(child.0));
                assert!({ parents }.all(|parent| parent.is_some_and(|of| of.0 == *entity)));
            }
        }
        large_result(world)
    };
    cell.run_afresh(fixture, operation, result)
}

fn large_result(world: &mut World) -> u64 {
    let instances = world.chunks().filter(|chunk| !chunk.has::<Prefab>());
    let rows = instances.flat_map(|chunk| {
        let (a, b) = (column::<Payload0>(&chunk), column::<Payload1>(&chunk));
        let (c, d) = (column::<Payload2>(&chunk), column::<Payload3>(&chunk));
        let e = column::<Payload4>(&chunk);
        (0..chunk.len()).map(move |i| work::large_row(&a[i], &b[i], &c[i], &d[i], &e[i]))
    });
    work::in_any_order(rows)
}

/// An element of the buffers.
#[derive(BufferElement, Clone, Copy)]
#[buffer(inline = 16)]
struct Element(u32);

pub(super) fn buffer_push(cell: Cell) -> Reading {
    let fixture = || {
        let mut world = world();
        world.spawn_many(Buffer::<Element>::new(), MANY);
        world
    };
    let operation = |world: &mut World| {
        let mut next = 0;
        world.for_each_chunk_mut(|mut chunk| {
            let mut buffers = chunk.buffers_mut::<Element>().expect("all have one");
            for mut buffer in buffers.iter_mut() {
                for _ in 0..PUSHED {
                    buffer.push(Element(next));
                    next += 1;
                }
            }
        });
    };
    let result = |world: &mut World| {
        let chunks = world.chunks();
        let buffers = chunks.flat_map(|chunk| {
            chunk.buffers::<Element>().expect("all chunks have the buffer").iter()
        });
        work::in_any_order(buffers.map(|buffer| work::pushed_row(buffer.iter().map(|e| e.0))))
    };
    cell.run_afresh(fixture, operation, result)
}

/// An enableable position.
#[derive(Component, Clone, Copy)]
#[component(enableable)]
struct Switched(#[field(opaque)] Position);

pub(super) fn toggle_one(cell: Cell) -> Reading {
    let mut world = world();
    let bodies =
        (0..MANY).map(work::body).map(|(position, velocity)| (Switched(position), velocity));
    let entities: Vec<Entity> = world.spawn_batch(bodies).collect();
    let operation = |(enabled, world): &mut (bool, World)| {
        *enabled = !*enabled;
        for &entity in &entities {
            world.set_component_enabled::<Switched>(entity, *enabled).expect("all have it");
        }
    };
    let result = |(_, world): &mut (bool, World)| {
        world.chunks().map(|chunk| chunk.enabled_count::<Switched>() as u64).sum()
    };
    cell.run((true, world), operation, result)
}

/// Spawns entities of 128 bytes.
fn payloads(world: &mut World) -> Vec<Entity> {
    let payloads = (0..SHARING).map(|i| (Payload0([i as f32; 16]), Payload1([1.0; 16])));
    world.spawn_batch(payloads).collect()
}

/// Moves each entity twice: to another archetype, and back.
pub(super) fn move_128_bytes(cell: Cell) -> Reading {
    let mut world = world();
    let entities = payloads(&mut world);
    let operation = |populated: &mut Populated| {
        add_to_all(populated, A(1.0));
        remove_from_all::<A>(populated);
    };
    cell.run((world, entities), operation, count)
}

#[derive(SharedComponent, Default, PartialEq, Eq, Hash)]
struct Mesh(u32);

#[derive(SharedComponent, Default, PartialEq, Eq, Hash)]
struct Material(u32);

/// Returns a world with entities of 128 bytes that have one of 64 meshes and one of 64 materials.
fn drawn() -> Populated {
    let mut world = world();
    let entities = payloads(&mut world);
    for (at, &entity) in (0..).zip(&entities) {
        let shared = (Shared::new(Mesh(at % 64)), Shared::new(Material(at / 64 % 64)));
        world.add(entity, shared).map_err(|rejected| rejected.error).expect("all are alive");
    }
    (world, entities)
}

/// Moves each entity with a mesh and a material twice: to another archetype, and back. One entity of each combination stays in
/// each archetype, so that no chunk is allocated or freed, as in `set_shared`.
pub(super) fn move_drawn(cell: Cell) -> Reading {
    let (mut world, entities) = drawn();
    for at in 0..64 * 64 {
        let shared = || (Shared::new(Mesh(at % 64)), Shared::new(Material(at / 64)));
        let stays = (Payload0([0.0; 16]), Payload1([0.0; 16]));
        world.spawn((stays, shared()));
        world.spawn((stays, A(0.0), shared()));
    }
    let operation = |populated: &mut Populated| {
        add_to_all(populated, A(1.0));
        remove_from_all::<A>(populated);
    };
    cell.run((world, entities), operation, count)
}

/// Moves each entity with a mesh and a material twice: to another mesh, and to another material.
pub(super) fn set_shared(cell: Cell) -> Reading {
    let (world, entities) = drawn();
    let operation = |(turn, world): &mut (u32, World)| {
        *turn += 1;
        for (at, &entity) in (*turn..).zip(&entities) {
            world.set_shared(entity, Mesh(at % 64)).expect("all have one");
        }
        for (at, &entity) in (*turn * 64..).zip(&entities) {
            world.set_shared(entity, Material(at / 64 % 64)).expect("all have one");
        }
    };
    cell.run((0, world), operation, |(_, world)| world.entity_count() as u64)
}

pub(super) fn random_get(cell: Cell) -> Reading {
    let (world, entities) = bodies(MILLION);
    let entities = work::shuffled(entities);
    let operation = |sum: &mut u64| {
        let positions = world.lookup::<&Position>();
        let found = positions
            .get_many(black_box(&entities))
            .map(|position| work::looked_up(position.expect("all have it")));
        *sum = black_box(sum.wrapping_add(found.sum()));
    };
    cell.run(0, operation, |sum| *sum)
}

pub(super) fn world_clone(cell: Cell) -> Reading {
    copy(cell, |source| source.duplicate().expect("there is memory"))
}

pub(super) fn fork(cell: Cell) -> Reading {
    copy(cell, |source| source.fork().expect("there is memory"))
}

fn copy(cell: Cell, copy: impl Fn(&mut World) -> World) -> Reading {
    let (mut source, entities) = bodies_with_history();
    let operation = |target: &mut Option<World>| *target = Some(copy(&mut source));
    let result = |target: &mut Option<World>| {
        let copy = target.as_ref().expect("it was copied");
        work::in_any_order(entities.iter().map(|&entity| {
            let position = copy.get::<Position>(entity).expect("the copy has all");
            work::body_row(position, copy.get::<Velocity>(entity).expect("the copy has all"))
        }))
    };
    cell.run_afresh(|| None, operation, result)
}

pub(super) fn archetypes(cell: Cell, alive: usize) -> Reading {
    let mut world = world();
    for spawn in twenty_marks!(spawn_marked) {
        spawn(&mut world, 0.0);
    }
    for marks in work::others(alive) {
        let entity = world.spawn(work::marked(0.0));
        for mark in marks {
            twenty_marks!(add_mark)[mark](&mut world, entity, 0.0);
        }
    }
    let shared = RefCell::new((world, Vec::new()));
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
        let positions = world.lookup::<&Position>();
        let found = entities.iter().map(|&e| work::looked_up(positions.get(e).expect("it has it")));
        *sum = found.sum();
    };
    cell.run_afresh(make, operation, |sum| *sum)
}

fn spawn_marked<M: Mark + Component>(world: &mut World, value: f32) -> Entity {
    world.spawn((work::marked(value), M::new(value)))
}

pub(super) fn bytes_per_entity(cell: Cell) -> Reading {
    let make = || {
        let mut world = world();
        world.spawn_batch((0..MILLION).map(work::body));
        world
    };
    let result = |world: &mut World| {
        let rows = world.chunks().flat_map(|chunk| {
            let rows = column::<Position>(&chunk).iter().zip(column::<Velocity>(&chunk));
            rows.map(|(position, velocity)| work::body_row(position, velocity))
        });
        work::in_any_order(rows)
    };
    cell.run_resident(make, result)
}
