//! In a steady state, recording, playing and clearing command buffers allocates nothing.
//!
//! In a file of its own, with one test: it counts what the whole process allocates.
#![cfg(feature = "derive")]

#[path = "common/counting_allocator.rs"]
mod counting_allocator;

use std::sync::atomic::Ordering;

use ancho_entities::{
    Buffer, BufferElement, CommandRecorder, Component, Entity, EntityCommandBuffer, With, World,
    WorldSettings,
};
use ancho_jobs::JobPool;

use counting_allocator::ALLOCATIONS;

#[derive(Component, Clone, Copy)]
struct Position(f32);

#[derive(Component, Clone, Copy, Default)]
struct Target(Entity);

#[derive(Component, Clone, Copy)]
#[component(enableable)]
struct Awake;

#[derive(Component, Clone, Copy)]
struct Brief;

#[derive(BufferElement, Clone, Copy)]
#[buffer(inline = 8)]
struct Item(u32);

#[derive(Component, Clone, Copy)]
struct Stays;

/// Records something, and does the same with the world alone.
type Record = fn(&mut CommandRecorder, &[Entity]);
type Direct = fn(&mut World, &[Entity]);

const PARTS: &[(&str, Record, Direct)] = &[
    (
        "set",
        |commands, all| all.iter().for_each(|&entity| commands.set(entity, Position(1.0))),
        |world, all| all.iter().for_each(|&entity| world.set(entity, Position(1.0)).unwrap()),
    ),
    (
        "set with references",
        |commands, all| all.iter().for_each(|&entity| commands.set(entity, Target(all[3]))),
        |world, all| all.iter().for_each(|&entity| world.set(entity, Target(all[3])).unwrap()),
    ),
    (
        "set by descending keys",
        |commands, all| {
            for (at, &entity) in all.iter().enumerate() {
                commands.set_sort_key(Some((all.len() - at) as u32));
                commands.set(entity, Position(1.0));
            }
        },
        |world, all| all.iter().for_each(|&entity| world.set(entity, Position(1.0)).unwrap()),
    ),
    (
        "switch",
        |commands, all| {
            all.iter().for_each(|&entity| commands.set_component_enabled::<Awake>(entity, true));
        },
        |world, all| {
            for &entity in all {
                world.entities_mut().set_component_enabled::<Awake>(entity, true).unwrap();
            }
        },
    ),
    (
        "append, and set_buffer of few",
        |commands, all| {
            for &entity in all {
                commands.append(entity, Item(1));
            }
            for &entity in all {
                commands.set_buffer(entity, [Item(1), Item(2)]);
            }
        },
        |world, all| {
            for &entity in all {
                world.buffer_mut::<Item>(entity).unwrap().push(Item(1));
            }
            for &entity in all {
                world
                    .set(entity, [Item(1), Item(2)].into_iter().collect::<Buffer<Item>>())
                    .unwrap();
            }
        },
    ),
    (
        "add and remove",
        |commands, all| {
            all.iter().for_each(|&entity| commands.add(entity, Brief));
            all.iter().for_each(|&entity| commands.remove::<Brief>(entity));
        },
        |world, all| {
            all.iter().for_each(|&entity| _ = world.add(entity, Brief).unwrap());
            all.iter().for_each(|&entity| _ = world.remove::<Brief>(entity).unwrap());
        },
    ),
    (
        "add to a slice and remove from it",
        |commands, all| {
            commands.add_to_slice(all, Brief);
            commands.remove_from_slice::<Brief>(all);
        },
        |world, all| {
            all.iter().for_each(|&entity| _ = world.add(entity, Brief).unwrap());
            all.iter().for_each(|&entity| _ = world.remove::<Brief>(entity).unwrap());
        },
    ),
    (
        "spawn, and despawn by query",
        |commands, _| {
            (0..200).for_each(|at| _ = commands.spawn((Position(at as f32), Brief)));
            commands.for_query::<(), With<Brief>>().despawn();
        },
        |world, _| {
            (0..200).for_each(|at| _ = world.spawn((Position(at as f32), Brief)));
            _ = world.query_mut::<()>().filter::<With<Brief>>().despawn().unwrap();
        },
    ),
    (
        "spawn_many and spawn_batch, and despawn by query",
        |commands, _| {
            commands.spawn_many(100, (Position(1.0), Brief));
            commands.spawn_batch((0..100).map(|at| (Position(at as f32), Brief)));
            commands.for_query::<(), With<Brief>>().despawn();
        },
        |world, _| {
            world.spawn_many(100, (Position(1.0), Brief));
            world.spawn_batch((0..100).map(|at| (Position(at as f32), Brief)));
            _ = world.query_mut::<()>().filter::<With<Brief>>().despawn().unwrap();
        },
    ),
    (
        "spawn in pairs that refer to each other, and despawn by query",
        |commands, _| {
            for at in 0..100 {
                let first = commands.spawn((Position(at as f32), Brief, Target::default()));
                let second = commands.spawn((Target(first), Brief));
                commands.set(first, Target(second));
            }
            commands.for_query::<(), With<Brief>>().despawn();
        },
        |world, _| {
            for at in 0..100 {
                let first = world.spawn((Position(at as f32), Brief, Target::default()));
                let second = world.spawn((Target(first), Brief));
                world.set(first, Target(second)).unwrap();
            }
            _ = world.query_mut::<()>().filter::<With<Brief>>().despawn().unwrap();
        },
    ),
    (
        "spawn and despawn at once",
        |commands, _| {
            for at in 0..200 {
                let brief = commands.spawn(Position(at as f32));
                commands.add(brief, Brief);
                commands.despawn(brief);
            }
        },
        |world, _| {
            for at in 0..200 {
                let brief = world.spawn(Position(at as f32));
                world.add(brief, Brief).unwrap();
                world.despawn(brief).unwrap();
            }
        },
    ),
    (
        "all kinds in turn",
        |commands, all| {
            for (at, &entity) in all.iter().enumerate() {
                let brief = commands.spawn((Position(at as f32), Target(entity)));
                commands.add(entity, Brief);
                commands.set(entity, (Position(2.0), Target(brief)));
                commands.remove::<Target>(brief);
                commands.set_component_enabled::<Awake>(entity, false);
                commands.remove::<Brief>(entity);
                commands.despawn(brief);
            }
        },
        |world, all| {
            for (at, &entity) in all.iter().enumerate() {
                let brief = world.spawn((Position(at as f32), Target(entity)));
                world.add(entity, Brief).unwrap();
                world.set(entity, (Position(2.0), Target(brief))).unwrap();
                world.remove::<Target>(brief).unwrap();
                world.entities_mut().set_component_enabled::<Awake>(entity, false).unwrap();
                world.remove::<Brief>(entity).unwrap();
                world.despawn(brief).unwrap();
            }
        },
    ),
    (
        "instantiate, and despawn by query",
        |commands, all| {
            for &entity in &all[..50] {
                let copy = commands.instantiate(entity);
                commands.add(copy, Brief);
            }
            commands.for_query::<(), With<Brief>>().despawn();
        },
        |world, all| {
            for &entity in &all[..50] {
                let copy = world.entities_mut().instantiate(entity).unwrap();
                world.add(copy, Brief).unwrap();
            }
            _ = world.query_mut::<()>().filter::<With<Brief>>().despawn().unwrap();
        },
    ),
];

/// Who records.
#[derive(Clone, Copy, Debug)]
enum By {
    MainThread,
    World,
    SingleJob,
    ParallelJob,
}

/// How much each fifty frames allocate, after some to warm up, until it is no more than it may be.
fn count_frames(mut frame: impl FnMut(), most: usize, limit: usize) -> Vec<usize> {
    for _ in 0..20 {
        frame();
    }
    let mut counts = Vec::with_capacity(most);
    while counts.len() < most && counts.last().is_none_or(|&last| last > limit) {
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        for _ in 0..50 {
            frame();
        }
        counts.push(ALLOCATIONS.load(Ordering::Relaxed) - before);
    }
    counts
}

fn world(workers: usize) -> (World, Vec<Entity>) {
    let pool = JobPool::builder().workers(workers).build().unwrap();
    let settings = WorldSettings::new().chunk_capacity_limit(100).job_pool(&pool);
    let mut world = World::with_settings("Simulation", settings);
    let set = |at: u32| (Position(at as f32), Target::default(), Buffer::<Item>::new(), Awake);
    let all = world.spawn_batch((0..200).map(set)).collect();
    // The chunk of those that come and go stays, and so its memory.
    world.spawn((Position(0.0), Target::default(), Buffer::<Item>::new(), Awake, Stays));
    (world, all)
}

fn record(world: &World, buffer: &mut EntityCommandBuffer, all: &[Entity], part: Record, by: By) {
    match by {
        By::MainThread => part(buffer.commands().unwrap(), all),
        By::World => part(&mut world.commands(buffer).unwrap(), all),
        By::SingleJob | By::ParallelJob => {
            let mut these = [Entity::NULL; 200];
            these.copy_from_slice(all);
            let jobs = world.entities().jobs();
            let job = if matches!(by, By::SingleJob) {
                jobs.schedule(&[], buffer.writer(), move |mut commands| part(&mut commands, &these))
            } else {
                // All batches have a lane of their own, and only one of them does the work.
                jobs.schedule_for_each(&[], buffer.writer(), 64, 8, move |commands, index| {
                    if index == 20 {
                        part(commands, &these);
                    } else {
                        commands.set(these[index], Position(2.0));
                    }
                })
            };
            jobs.complete(job.unwrap());
        }
    }
}

#[test]
fn frames_of_commands_allocate_no_more_than_the_world_does() {
    let mut wrong = Vec::new();
    for &(name, part, direct) in PARTS {
        let (mut own, all) = world(0);
        let least = count_frames(|| direct(&mut own, &all), 1, usize::MAX)[0];
        for by in [By::MainThread, By::World, By::SingleJob, By::ParallelJob] {
            for workers in [0, 2] {
                let (mut world, all) = world(workers);
                let mut buffer = EntityCommandBuffer::new();
                // Memory goes from one worker to another, and it takes a while until all of it is large enough.
                let most = if workers == 0 { 1 } else { 20 };
                let counts = count_frames(
                    || {
                        record(&world, &mut buffer, &all, part, by);
                        buffer.clear().unwrap();
                    },
                    most,
                    0,
                );
                if counts.last() != Some(&0) {
                    wrong
                        .push(format!("{name}, recorded by {by:?}, {workers} workers: {counts:?}"));
                }
                let counts = count_frames(
                    || {
                        record(&world, &mut buffer, &all, part, by);
                        world.play(&mut buffer).unwrap();
                        buffer.clear().unwrap();
                    },
                    most,
                    least,
                );
                if *counts.last().unwrap() > least {
                    wrong.push(format!(
                        "{name}, recorded by {by:?} and played, {workers} workers: {:?} in 50 frames, the world alone {least}",
                        counts.last().unwrap()
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
