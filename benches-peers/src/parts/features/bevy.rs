//! bevy_ecs: messages in two vectors, observers that run once per entity, relationships maintained by hooks.

use bevy_ecs::message::MessageRegistry;
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::SingleThreadedExecutor;
use bevy_ecs::world::CommandQueue;

use super::work::{self, FEW, Hit, MANY, READERS, SYSTEMS};
use crate::harness::{Cell, Reading};
use crate::parts::storage::types::{A, B, Position, Velocity};

/// A world and its schedule.
type Scheduled = (World, Schedule);

/// A world with entities that are processed one by one.
type Populated = (World, Vec<Entity>);

/// Returns a schedule of systems that run one after the other on this thread.
fn on_this_thread() -> Schedule {
    let mut schedule = Schedule::default();
    schedule.set_executor(SingleThreadedExecutor::new()).set_apply_final_deferred(false);
    schedule
}

fn run((world, schedule): &mut Scheduled) {
    schedule.run(world);
}

fn world_with_messages() -> World {
    let mut world = World::new();
    world.init_resource::<Messages<Hit>>();
    world
}

/// Writes messages as a batch, which reserves memory. The messages of the frame before are dropped.
pub(super) fn write(cell: Cell) -> Reading {
    fn write(mut messages: MessageWriter<'_, Hit>) {
        messages.write_batch((0..MANY).map(work::hit));
    }
    let mut schedule = on_this_thread();
    schedule.add_systems(write);
    let operation = |(world, schedule): &mut Scheduled| {
        world.resource_mut::<Messages<Hit>>().update();
        schedule.run(world);
    };
    cell.run((world_with_messages(), schedule), operation, |(world, _)| {
        work::hits(world.resource::<Messages<Hit>>().iter_current_update_messages().copied())
    })
}

pub(super) fn read(cell: Cell) -> Reading {
    fn read(mut messages: MessageReader<'_, '_, Hit>) {
        work::add(messages.read().map(work::damage).sum());
    }
    let make = || {
        let mut world = world_with_messages();
        world.write_message_batch((0..MANY).map(work::hit));
        let mut schedule = on_this_thread();
        for _ in 0..READERS {
            schedule.add_systems(read);
        }
        // The first run prepares the schedule, and reads the messages.
        schedule.run(&mut world);
        world.resource_mut::<Messages<Hit>>().clear();
        world.write_message_batch((0..MANY).map(work::hit));
        work::take_sum();
        (world, schedule)
    };
    cell.run_afresh(make, run, |_| work::take_sum())
}

/// A message type with a number.
#[derive(Message)]
struct Note<const NUMBER: usize>;

/// Updates all registered types in each frame, as bevy's plugin for messages does.
pub(super) fn many_types(cell: Cell) -> Reading {
    fn update(world: &mut World) {
        let last = world.last_change_tick();
        world.resource_scope(|world, mut registry: Mut<'_, MessageRegistry>| {
            registry.run_updates(world, last);
        });
    }
    macro_rules! register {
        ($world:expr, $($tens:literal)*) => {$(
            MessageRegistry::register_message::<Note<{ $tens * 10 }>>($world);
            MessageRegistry::register_message::<Note<{ $tens * 10 + 1 }>>($world);
            MessageRegistry::register_message::<Note<{ $tens * 10 + 2 }>>($world);
            MessageRegistry::register_message::<Note<{ $tens * 10 + 3 }>>($world);
            MessageRegistry::register_message::<Note<{ $tens * 10 + 4 }>>($world);
            MessageRegistry::register_message::<Note<{ $tens * 10 + 5 }>>($world);
            MessageRegistry::register_message::<Note<{ $tens * 10 + 6 }>>($world);
            MessageRegistry::register_message::<Note<{ $tens * 10 + 7 }>>($world);
            MessageRegistry::register_message::<Note<{ $tens * 10 + 8 }>>($world);
            MessageRegistry::register_message::<Note<{ $tens * 10 + 9 }>>($world);
        )*};
    }
    let mut world = World::new();
    register!(&mut world, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19);
    let mut schedule = on_this_thread();
    schedule.add_systems(update);
    cell.run((world, schedule), run, |_| 0)
}

/// Returns a world with an observer of new positions, which counts them.
fn observed() -> World {
    let mut world = World::new();
    world.add_observer(|_: On<'_, '_, Add<Position>>| work::add(1));
    world
}

fn observed_result(world: &mut World) -> u64 {
    let mut query = world.query::<&Position>();
    (query.iter(world).count() as u64).wrapping_mul(2) - work::take_sum()
}

pub(super) fn observed_batch(cell: Cell) -> Reading {
    let make = || {
        work::take_sum();
        observed()
    };
    let operation = |world: &mut World| {
        world.spawn_batch((0..MANY).map(work::body));
    };
    cell.run_afresh(make, operation, observed_result)
}

pub(super) fn observed_each(cell: Cell) -> Reading {
    let make = || {
        work::take_sum();
        observed()
    };
    let operation = |world: &mut World| {
        for index in 0..MANY {
            world.spawn(work::body(index));
        }
    };
    cell.run_afresh(make, operation, observed_result)
}

/// Reads the old values in an observer, which runs before a component is removed.
pub(super) fn removed_values(cell: Cell) -> Reading {
    let make = || {
        work::take_sum();
        let mut world = World::new();
        world.add_observer(|gone: On<'_, '_, Remove<Velocity>>, all: Query<'_, '_, &Velocity>| {
            let velocity = all.get(gone.entity).expect("it is removed after the observer");
            work::add(velocity.0.y.to_bits().into());
        });
        let entities = world.spawn_batch((0..MANY).map(work::body)).collect();
        (world, entities)
    };
    let operation = |(world, entities): &mut Populated| {
        for &entity in entities.iter() {
            world.entity_mut(entity).remove::<Velocity>();
        }
    };
    cell.run_afresh(make, operation, |_| work::take_sum())
}

/// A resource that conditions read.
#[derive(Resource)]
struct IsOn(bool);

/// Returns a schedule with empty systems, each with a condition.
fn conditions(cell: Cell, is_on: bool) -> Reading {
    let scheduled = |system: fn()| {
        let mut world = World::new();
        world.insert_resource(IsOn(is_on));
        let mut schedule = on_this_thread();
        for _ in 0..SYSTEMS {
            schedule.add_systems(system.run_if(|is_on: Res<'_, IsOn>| is_on.0));
        }
        (world, schedule)
    };
    let mut counted = scheduled(|| work::add(1));
    run(&mut counted);
    let ran = work::take_sum();
    cell.run(scheduled(|| {}), run, |_| ran)
}

pub(super) fn conditions_false(cell: Cell) -> Reading {
    conditions(cell, false)
}

pub(super) fn conditions_true(cell: Cell) -> Reading {
    conditions(cell, true)
}

/// Returns a world with a parent and entities without one.
fn orphans() -> (World, Vec<Entity>, Entity) {
    let mut world = World::new();
    let entities = world.spawn_batch((0..MANY).map(work::body)).collect();
    let parent = world.spawn_empty().id();
    (world, entities, parent)
}

pub(super) fn attach(cell: Cell) -> Reading {
    let mut queue = CommandQueue::default();
    let operation = |(world, entities, parent): &mut (World, Vec<Entity>, Entity)| {
        let mut commands = Commands::new(&mut queue, world);
        for &entity in entities.iter() {
            commands.entity(entity).insert(ChildOf(*parent));
        }
        queue.apply(world);
    };
    cell.run_afresh(orphans, operation, |(world, _, parent)| {
        world.get::<Children>(*parent).expect("there are children").len() as u64
    })
}

/// Returns a world with a tree, and its root.
fn tree() -> (World, Entity) {
    let mut world = World::new();
    let mut nodes: Vec<Entity> = Vec::with_capacity(MANY);
    for node in 0..MANY {
        let entity = world.spawn(work::body(node));
        let entity = entity.id();
        if let Some(parent) = work::parent_of(node) {
            world.entity_mut(entity).insert(ChildOf(nodes[parent]));
        }
        nodes.push(entity);
    }
    let root = nodes[0];
    (world, root)
}

pub(super) fn despawn_tree(cell: Cell) -> Reading {
    let operation = |(world, root): &mut (World, Entity)| {
        world.despawn(*root);
    };
    cell.run_afresh(tree, operation, |(world, _)| {
        let mut query = world.query::<&Position>();
        query.iter(world).count() as u64
    })
}

/// A component that requires three others.
#[derive(Component)]
#[require(A, B, Position)]
struct Ship(#[expect(dead_code, reason = "a value to store")] f32);

pub(super) fn required(cell: Cell) -> Reading {
    let operation = |world: &mut World| {
        for index in 0..MANY {
            world.spawn(Ship(index as f32));
        }
    };
    cell.run_afresh(World::new, operation, |world| {
        let mut query = world.query_filtered::<Entity, (With<A>, With<B>, With<Position>)>();
        query.iter(world).count() as u64
    })
}

pub(super) fn chained_commands(cell: Cell) -> Reading {
    let make = || {
        let mut world = World::new();
        let entities = (0..FEW).map(|_| world.spawn_empty().id()).collect();
        (world, entities)
    };
    let mut queue = CommandQueue::default();
    let operation = |(world, entities): &mut Populated| {
        let mut commands = Commands::new(&mut queue, world);
        for (index, &entity) in entities.iter().enumerate() {
            let (position, velocity) = work::body(index);
            let mut entity = commands.entity(entity);
            entity.insert(position).insert(velocity).insert(A(1.0)).insert(B(2.0));
        }
        queue.apply(world);
    };
    cell.run_afresh(make, operation, |(world, _)| {
        let mut query = world.query_filtered::<(&Position, &Velocity), (With<A>, With<B>)>();
        work::in_any_order(query.iter(world).map(|(p, v)| work::body_row(p, v)))
    })
}
