//! Matrices have the same bits on any number of threads.

use std::sync::mpsc;

use ancho_entities::{Entity, World, WorldSettings};
use ancho_jobs::{JobPool, JobScheduler};
use ancho_transforms::{
    LocalToWorld, LocalTransform, Parent, Position, Rotation, Static, update_transforms,
};
use glam::{Quat, Vec3};

/// Updates a forest of several levels and single entities, which are moved, spawned and despawned.
fn run(workers: usize) -> (u64, Vec<LocalToWorld>) {
    let pool = JobPool::builder().workers(workers).build().unwrap();
    let mut world = World::with_settings("Simulation", WorldSettings::new().job_pool(&pool));
    let mut all: Vec<Entity> = Vec::new();
    for number in 0..6_000_usize {
        let turn = Quat::from_rotation_y(number as f32 * 0.1);
        let place = Vec3::new(number as f32 * 0.01, 1.0, 0.0);
        all.push(match number {
            0..20 => world.spawn(LocalTransform::from_position_rotation(place, turn)),
            20..5_000 => {
                let parent = Parent(all[number / 4]);
                world.spawn((LocalTransform::from_position_rotation(place, turn), parent))
            }
            _ => world.spawn((Position(place), Rotation(turn))),
        });
    }
    let mut hash = 0_u64;
    for frame in 0..6_usize {
        // All of them, then few.
        let step = if frame < 3 { 1 } else { 400 };
        for (number, &entity) in all.iter().enumerate().filter(|(number, _)| number % step == 0) {
            if let Ok(local) = world.get_mut::<LocalTransform>(entity) {
                local.rotation = Quat::from_rotation_x((frame + number) as f32 * 0.2);
            }
        }
        world.despawn(all[4_900 + frame]).unwrap();
        world.add(all[30 + frame], Parent(all[frame])).unwrap();
        update_transforms(&mut world).unwrap();
        hash = hash.rotate_left(7) ^ world.state_hash();
    }
    let matrices = all.iter().filter_map(|&entity| world.get::<LocalToWorld>(entity).ok().copied());
    (hash, matrices.collect())
}

/// Spawns a root and four levels with eight children each: 8, 64, 512 and 4,096 nodes, each a step from its parent.
fn bush(world: &mut World) -> Vec<Entity> {
    let local = LocalTransform::from_position(Vec3::X);
    let mut all = vec![world.spawn(local)];
    for number in 1..=8 + 64 + 512 + 4_096 {
        let parent = Parent(all[(number - 1) / 8]);
        all.push(world.spawn((local, parent)));
    }
    all
}

/// Returns the number of levels that were computed by all threads in an update.
fn shared_levels(world: &mut World, pool: &JobPool) -> usize {
    pool.set_profiling(true);
    update_transforms(world).unwrap();
    pool.set_profiling(false);
    let events = pool.take_events();
    let mut jobs: Vec<u64> = events
        .iter()
        // The number of what a thread does on the spot is zero.
        .filter(|event| event.job == "place parents" && event.sequence > 0)
        .map(|event| event.sequence)
        .collect();
    jobs.sort_unstable();
    jobs.dedup();
    jobs.len()
}

#[test]
fn matrices_are_the_same_for_any_number_of_workers() {
    let alone = run(0);
    assert!(alone.1.len() > 5_900);
    for workers in [1, 2, 4] {
        assert_eq!(run(workers), alone, "{workers} workers");
    }
}

#[test]
fn nodes_below_a_single_moving_root_are_computed_by_all_threads() {
    for workers in [1, 3] {
        let pool = JobPool::builder().workers(workers).build().unwrap();
        let mut world = World::with_settings("Simulation", WorldSettings::new().job_pool(&pool));
        let all = bush(&mut world);
        update_transforms(&mut world).unwrap();

        world.get_mut::<LocalTransform>(all[0]).unwrap().position.y = 1.0;
        assert_eq!(shared_levels(&mut world, &pool), 1, "that of 512");
        let place = |world: &World, node: usize| {
            world.get::<LocalToWorld>(all[node]).unwrap().position().to_array()
        };
        for node in 585..all.len() {
            assert_eq!(place(&world, node), [5.0, 1.0, 0.0]);
        }
        // An eighth of that is for one thread.
        world.get_mut::<LocalTransform>(all[1]).unwrap().position.y = 1.0;
        assert_eq!(shared_levels(&mut world, &pool), 0);
        assert_eq!(place(&world, 585), [5.0, 2.0, 0.0]);
        assert_eq!(place(&world, all.len() - 1), [5.0, 1.0, 0.0]);
        // Where it is left off from is nothing that stays.
        assert_eq!(shared_levels(&mut world, &pool), 0);
        world.get_mut::<LocalTransform>(all[0]).unwrap().position.y = 0.0;
        assert_eq!(shared_levels(&mut world, &pool), 1);
        assert_eq!(place(&world, 585), [5.0, 1.0, 0.0]);
        assert_eq!(place(&world, all.len() - 1), [5.0, 0.0, 0.0]);
    }
}

#[test]
fn a_world_inside_of_a_job_is_updated_by_one_thread() {
    for workers in [0, 2] {
        let pool = JobPool::builder().workers(workers).build().unwrap();
        let mut world = World::with_settings("Simulation", WorldSettings::new().job_pool(&pool));
        let all = bush(&mut world);
        let jobs = JobScheduler::new(&pool);
        let (sender, receiver) = mpsc::channel();
        let root = all[0];
        let job = jobs
            .schedule(&[], (), move |()| {
                let first = update_transforms(&mut world);
                // Levels of many, which all threads share elsewhere.
                world.get_mut::<LocalTransform>(root).unwrap().position.y = 1.0;
                sender.send((first, update_transforms(&mut world), world)).unwrap();
            })
            .unwrap();
        jobs.complete(job);
        let (first, second, mut world) = receiver.recv().unwrap();
        assert_eq!((first, second), (Ok(()), Ok(())));
        let place = |world: &World, node: usize| {
            world.get::<LocalToWorld>(all[node]).unwrap().position().to_array()
        };
        assert_eq!(place(&world, 0), [1.0, 1.0, 0.0]);
        for node in 585..all.len() {
            assert_eq!(place(&world, node), [5.0, 1.0, 0.0]);
        }
        // Outside it goes on as it did.
        world.get_mut::<LocalTransform>(root).unwrap().position.y = 2.0;
        update_transforms(&mut world).unwrap();
        assert_eq!(place(&world, all.len() - 1), [5.0, 2.0, 0.0]);
    }
}

/// Spawns a root with 128 chains of 30 links below it, each a step from its parent.
fn chains(world: &mut World) -> Vec<Entity> {
    let local = LocalTransform::from_position(Vec3::X);
    let mut all = vec![world.spawn(local)];
    for number in 1..=128 * 30 {
        let parent = Parent(if number % 30 == 1 { all[0] } else { all[number - 1] });
        all.push(world.spawn((local, parent)));
    }
    all
}

#[test]
fn chains_below_one_root_are_shared_by_all_threads() {
    let mut hashes = Vec::new();
    for workers in [0, 1, 3] {
        let pool = JobPool::builder().workers(workers).build().unwrap();
        let mut world = World::with_settings("Simulation", WorldSettings::new().job_pool(&pool));
        let all = chains(&mut world);
        let place = |world: &World, node: usize| {
            world.get::<LocalToWorld>(all[node]).unwrap().position().to_array()
        };
        assert_eq!(shared_levels(&mut world, &pool), 1, "all of it has come");
        assert_eq!(place(&world, 30), [31.0, 0.0, 0.0]);
        world.get_mut::<LocalTransform>(all[0]).unwrap().position.y = 1.0;
        assert_eq!(shared_levels(&mut world, &pool), 1, "all is below the root");
        assert_eq!(place(&world, 29), [30.0, 1.0, 0.0]);
        assert_eq!(place(&world, 128 * 30), [31.0, 1.0, 0.0]);
        // One chain is for one thread.
        world.get_mut::<LocalTransform>(all[31]).unwrap().position.y = 2.0;
        assert_eq!(shared_levels(&mut world, &pool), 0);
        assert_eq!(place(&world, 60), [31.0, 3.0, 0.0]);
        assert_eq!(place(&world, 61), [2.0, 1.0, 0.0]);
        // A chain below the end of another one, and what is below it moves with it.
        world.add(all[61], Parent(all[30])).unwrap();
        update_transforms(&mut world).unwrap();
        assert_eq!(place(&world, 90), [61.0, 1.0, 0.0]);
        world.get_mut::<LocalTransform>(all[0]).unwrap().position.y = 0.0;
        assert_eq!(shared_levels(&mut world, &pool), 1);
        assert_eq!(place(&world, 90), [61.0, 0.0, 0.0]);
        assert_eq!(place(&world, 120), [31.0, 0.0, 0.0]);
        hashes.push(world.state_hash());
    }
    assert_eq!(hashes, [hashes[0]; 3]);
}

#[test]
fn rows_of_entities_that_cannot_be_frozen_are_in_the_same_order() {
    let run = |workers| {
        let pool = JobPool::builder().workers(workers).build().unwrap();
        let mut world = World::with_settings("Simulation", WorldSettings::new().job_pool(&pool));
        for number in 0..20_000 {
            let x = if number % 3 == 0 { f32::NAN } else { 1.0 };
            world.spawn((Position(Vec3::new(x, 0.0, 0.0)), Static));
        }
        assert!(update_transforms(&mut world).is_err());
        world.query::<Entity>().iter().collect::<Vec<_>>()
    };
    let expected = run(0);
    assert!((0..4).all(|_| run(3) == expected));
}
