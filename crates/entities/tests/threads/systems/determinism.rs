//! A world has the same states for any number of threads, order of work, and CPU level.

use std::sync::{Arc, Mutex};

use ancho_burst::{CpuLevel, math};
use ancho_entities::{
    CommandsAt, Component, EndSimulation, Entity, FixedStep, Initialization, IntoSystem, Lookup,
    Presentation, Query, Time, With, World, WorldSettings,
};
use ancho_jobs::{ExecutionMode, JobPool};

#[derive(Component, Clone, Copy)]
struct Position(f32);

#[derive(Component, Clone, Copy)]
struct Velocity(f32);

#[derive(Component, Clone, Copy)]
struct Age(u32);

#[derive(Component, Clone, Copy)]
struct Parent(Entity);

fn drift(time: Time, mut all: Query<(&mut Position, &Velocity)>) {
    let delta = time.delta();
    all.schedule_parallel(move |(position, velocity)| position.0 += velocity.0 * delta);
}

fn swing(mut all: Query<(&Position, &mut Velocity)>) {
    all.schedule_parallel(|(position, velocity)| velocity.0 -= math::sin(position.0) * 0.25);
}

/// Creates and destroys entities in parallel; each batch has its own commands, on any thread.
fn breed(all: Query<(Entity, &Position, &mut Age)>, mut commands: CommandsAt<EndSimulation>) {
    let job = all.job().with(commands.writer());
    let _ = job.schedule_parallel(|(entity, position, age), commands| {
        age.0 += 1;
        if age.0 % 7 == 0 {
            commands.spawn((
                Position(position.0 * 0.5),
                Velocity(1.0),
                Age(age.0 % 5),
                Parent(entity),
            ));
        }
        if age.0 % 11 == 0 {
            commands.despawn(entity);
        }
    });
}

/// Loops on the main thread, which wait for the jobs.
fn follow(mut children: Query<(&mut Velocity, &Parent)>, parents: Lookup<&Position, With<Age>>) {
    children.for_each(|(velocity, parent)| {
        if let Some(position) = parents.get(parent.0) {
            velocity.0 += position.0 * 0.01;
        }
    });
}

/// Returns the hashes of the frames, and the systems in their order.
fn run(workers: usize, mode: ExecutionMode) -> (Vec<u64>, String) {
    let pool = JobPool::builder().workers(workers).build().unwrap();
    let mut world = World::with_settings("Simulation", WorldSettings::new().job_pool(&pool));
    world.jobs().set_mode(mode);
    world.spawn_batch((0..3000).map(|number| {
        (Position(number as f32 * 0.125), Velocity(1.0 - number as f32 * 0.001), Age(number % 13))
    }));
    let names = Arc::new(Mutex::new(String::new()));
    let noted = names.clone();
    world.add_system(drift.in_group(FixedStep));
    world.add_system(swing.in_group(FixedStep).after(drift));
    world.add_system(breed);
    world.add_system(follow.before(breed));
    world.add_system((|all: Query<&Position>| assert!(all.count() > 0)).in_group(Initialization));
    world.add_system(
        (move |time: Time| {
            noted.lock().unwrap().push_str(&format!("{} ", time.frame()));
        })
        .in_group(Presentation),
    );
    let mut hashes = Vec::new();
    for frame in 0..40 {
        // Frames differ: some have no fixed step, some have several.
        world.try_update(f64::from(frame % 4) / 90.0).unwrap();
        hashes.push(world.state_hash());
    }
    world.check_invariants().unwrap();
    let text = format!("{}\n{}", names.lock().unwrap(), world.system_order());
    (hashes, text)
}

/// Numbers of threads, and execution modes.
const WAYS: [(usize, ExecutionMode); 9] = [
    (0, ExecutionMode::Parallel),
    (1, ExecutionMode::Parallel),
    (2, ExecutionMode::Parallel),
    (4, ExecutionMode::Parallel),
    (2, ExecutionMode::Serial),
    (0, ExecutionMode::Shuffle { seed: 1 }),
    (1, ExecutionMode::Shuffle { seed: 2 }),
    (2, ExecutionMode::Shuffle { seed: 3 }),
    (4, ExecutionMode::Shuffle { seed: 4 }),
];

#[test]
fn the_same_frames_with_any_number_of_workers_any_order_and_at_any_level() {
    let _alone = crate::lock_cpu_level();
    CpuLevel::Baseline.limit();
    let alone = run(0, ExecutionMode::Serial);
    let different: std::collections::HashSet<_> = alone.0.iter().collect();
    assert!(different.len() > 30, "something happens in each frame");
    for level in CpuLevel::ALL {
        if level.limit() != level {
            continue;
        }
        for (workers, mode) in WAYS {
            let (hashes, text) = run(workers, mode);
            for (frame, (hash, expected)) in hashes.iter().zip(&alone.0).enumerate() {
                assert_eq!(hash, expected, "frame {frame}, {workers} workers, {mode:?}, {level:?}");
            }
            assert_eq!(text, alone.1, "{workers} workers, {mode:?}, {level:?}");
        }
    }
}
