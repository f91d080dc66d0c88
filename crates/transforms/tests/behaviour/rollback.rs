//! Rollback: the entities of a snapshot replace those of a world.

use std::mem;

use ancho_entities::{
    Changed, Component, Entity, EntityManager, IntoSystem, OrderChanged, Presentation, Query,
    World, WorldSettings,
};
use ancho_jobs::JobPool;
use ancho_transforms::{
    AddTransforms, LocalToWorld, LocalTransform, Parent, Position, update_transforms,
};
use glam::Vec3;

use crate::common::{at, place, world};

/// Counts of the updates in which each filter matched the entity.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
struct Found {
    moved: u32,
    pushed: u32,
    reordered: u32,
}

fn count_pushed(mut found: Query<&mut Found, Changed<LocalTransform>>) {
    found.for_each(|found| found.pushed += 1);
}

fn count_reordered(mut found: Query<&mut Found, OrderChanged>) {
    found.for_each(|found| found.reordered += 1);
}

fn count_moved(mut found: Query<&mut Found, Changed<LocalToWorld>>) {
    found.for_each(|found| found.moved += 1);
}

/// Spawns trees of three levels that fill many chunks, and adds systems that count changes.
fn forest(workers: usize) -> (World, Vec<Entity>) {
    let pool = JobPool::builder().workers(workers).build().unwrap();
    let mut world = World::with_settings("Simulation", WorldSettings::new().job_pool(&pool));
    world.add_transforms();
    world.add_system(count_pushed);
    world.add_system(count_reordered.in_group(Presentation));
    world.add_system(count_moved.in_group(Presentation));
    let mut all: Vec<Entity> = Vec::new();
    for number in 0..2_000_usize {
        let local = LocalTransform::from_position(Vec3::new(number as f32, 1.0, 0.0));
        all.push(match number {
            0..50 => world.spawn((local, Found::default())),
            _ => world.spawn((local, Found::default(), Parent(all[number / 8]))),
        });
    }
    (world, all)
}

/// Applies the input of a frame, runs the frame, and returns the state that it ends with.
fn run_frame(world: &mut World, all: &[Entity], frame: usize) -> u64 {
    for number in [frame % 50, 100 + frame * 7, 1_900 + frame] {
        if let Ok(local) = world.get_mut::<LocalTransform>(all[number]) {
            local.position.y += frame as f32;
        }
    }
    if frame.is_multiple_of(3) {
        world.set(all[900 + frame], Parent(all[frame])).unwrap();
    }
    if frame.is_multiple_of(5) {
        world.despawn(all[1_000 + frame]).unwrap();
        let local = LocalTransform::from_position(Vec3::Z);
        world.spawn((local, Found::default(), Parent(all[300 + frame])));
    }
    world.try_update(1.0 / 60.0).unwrap();
    world.check_invariants().unwrap();
    world.state_hash()
}

#[test]
fn a_replay_from_a_snapshot_equals_the_original_run_in_each_frame() {
    let mut runs = Vec::new();
    for workers in [0, 3] {
        let (mut world, all) = forest(workers);
        let mut hashes: Vec<u64> =
            (0..30).map(|frame| run_frame(&mut world, &all, frame)).collect();
        let mut snapshot = world.fork().unwrap();
        hashes.extend((30..60).map(|frame| run_frame(&mut world, &all, frame)));
        // The second and third rollback begin at other frames than the first.
        for end in [60, 45, 60] {
            world.restore(&mut snapshot).unwrap();
            assert_eq!(world.state_hash(), hashes[29]);
            let again = (30..end).map(|frame| run_frame(&mut world, &all, frame));
            assert!(again.eq(hashes[30..end].iter().copied()));
        }
        assert_eq!(snapshot.state_hash(), hashes[29], "the snapshot stays as it was");
        let root = world.get::<LocalTransform>(all[0]).unwrap().position;
        assert_eq!(place(&world, all[0]), root);
        runs.push(hashes);
    }
    assert_eq!(runs[0], runs[1]);
}

#[test]
fn a_snapshot_of_each_frame_can_be_restored() {
    let (mut world, all) = forest(0);
    let mut snapshots = Vec::new();
    let mut hashes = Vec::new();
    for frame in 0..12 {
        snapshots.push(world.fork().unwrap());
        hashes.push(run_frame(&mut world, &all, frame));
    }
    for first in [10, 3, 7, 0] {
        world.restore(&mut snapshots[first]).unwrap();
        let again = (first..12).map(|frame| run_frame(&mut world, &all, frame));
        assert!(again.eq(hashes[first..].iter().copied()));
    }
}

#[test]
fn a_snapshot_of_a_snapshot_can_be_restored() {
    let (mut world, all) = forest(0);
    (0..5).for_each(|frame| _ = run_frame(&mut world, &all, frame));
    let mut copy = world.fork().unwrap().fork().unwrap().duplicate().unwrap();
    let hashes: Vec<u64> = (5..10).map(|frame| run_frame(&mut world, &all, frame)).collect();
    world.restore(&mut copy).unwrap();
    let again: Vec<u64> = (5..10).map(|frame| run_frame(&mut world, &all, frame)).collect();
    assert_eq!(again, hashes);
}

#[test]
fn matrices_are_correct_after_swapping_with_a_snapshot() {
    let mut world = world();
    world.add_transforms();
    let root = world.spawn(at(1.0, 0.0, 0.0));
    let child = world.spawn((at(0.0, 1.0, 0.0), Parent(root)));
    let alone = world.spawn(at(5.0, 0.0, 0.0));
    world.try_update(0.1).unwrap();
    let mut snapshot = world.fork().unwrap();
    for _ in 0..20 {
        world.get_mut::<Position>(root).unwrap().0.x += 1.0;
        world.try_update(0.1).unwrap();
    }
    mem::swap::<EntityManager>(&mut world, &mut snapshot);
    for step in 1..4 {
        world.get_mut::<Position>(root).unwrap().0.x = 10.0 * step as f32;
        world.get_mut::<Position>(alone).unwrap().0.x = 7.0 * step as f32;
        world.try_update(0.1).unwrap();
        assert_eq!(place(&world, root), Vec3::new(10.0 * step as f32, 0.0, 0.0));
        assert_eq!(place(&world, child), Vec3::new(10.0 * step as f32, 1.0, 0.0));
        assert_eq!(place(&world, alone), Vec3::new(7.0 * step as f32, 0.0, 0.0));
    }
    // Those that were there before come back.
    mem::swap::<EntityManager>(&mut world, &mut snapshot);
    assert_eq!(place(&world, child), Vec3::new(21.0, 1.0, 0.0));
    world.get_mut::<Position>(root).unwrap().0.x = 0.0;
    world.try_update(0.1).unwrap();
    assert_eq!(place(&world, child), Vec3::Y);
}

#[test]
fn matrices_are_correct_after_swapping_with_an_unrelated_world() {
    let mut one = world();
    let root = one.spawn(at(1.0, 0.0, 0.0));
    let child = one.spawn((at(0.0, 1.0, 0.0), Parent(root)));
    for _ in 0..20 {
        one.get_mut::<Position>(root).unwrap().0.x += 1.0;
        update_transforms(&mut one).unwrap();
    }
    let mut two = world();
    let other_root = two.spawn(at(0.0, 0.0, 3.0));
    let other_child = two.spawn((at(0.0, 0.0, 1.0), Parent(other_root)));
    mem::swap::<EntityManager>(&mut one, &mut two);
    for world in [&mut one, &mut two] {
        update_transforms(world).unwrap();
        world.check_invariants().unwrap();
    }
    assert_eq!(place(&one, other_child), Vec3::new(0.0, 0.0, 4.0));
    assert_eq!(place(&two, child), Vec3::new(21.0, 1.0, 0.0));
    one.get_mut::<Position>(other_root).unwrap().0.z = 5.0;
    two.get_mut::<Position>(root).unwrap().0.x = 0.0;
    for world in [&mut one, &mut two] {
        update_transforms(world).unwrap();
    }
    assert_eq!(place(&one, other_child), Vec3::new(0.0, 0.0, 6.0));
    assert_eq!(place(&two, child), Vec3::Y);
}
