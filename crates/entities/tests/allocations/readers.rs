//! Frames in which jobs read a container that another job fills, and no code completes these jobs.

use std::sync::atomic::Ordering;

use ancho_collections::NativeList;
use ancho_entities::{Component, Query, Res, ResMut, Resource, SystemResult, World, WorldSettings};
use ancho_jobs::{JobPool, JobScheduler};

use crate::counting_allocator::ALLOCATIONS;

#[derive(Clone, Component, Copy)]
struct A(f32);

#[derive(Resource)]
#[resource(local)]
struct Listed(NativeList<f32>);

fn fill(mut list: ResMut<Listed>, jobs: &JobScheduler) -> SystemResult {
    let job = jobs.named("fill").in_turn();
    let _ = job.schedule(&[], list.0.write(), |list| {
        list.clear();
        list.push(1.0);
    })?;
    Ok(())
}

fn read(list: Res<Listed>, jobs: &JobScheduler) -> SystemResult {
    let read = || jobs.named("read").in_turn();
    for _ in 0..3 {
        let _ = read().schedule(&[], list.0.read(), |list| assert_eq!(list.len(), 1))?;
    }
    let _ =
        read().schedule_for_each(&[], list.0.read(), 100, 10, |list, _| assert!(list[0] > 0.0))?;
    Ok(())
}

fn read_for_each(list: Res<Listed>, all: Query<&mut A>) {
    all.job().wait_for_containers().with(list.0.read()).schedule_parallel(|a, list| a.0 += list[0]);
}

fn world(workers: usize) -> World {
    let pool = JobPool::builder().workers(workers).build().unwrap();
    let mut world = World::with_settings("test", WorldSettings::new().job_pool(&pool));
    world.spawn_many(A(0.0), 1000);
    world.insert_resource(Listed(NativeList::new()));
    world.add_system(fill);
    world.add_system(read);
    world.add_system(read_for_each);
    world
}

/// Counts the allocations of each hundred frames, until a count is zero or `most` counts were taken.
fn count_hundreds_of_frames(mut world: World, most: usize) -> Vec<usize> {
    let mut counts = Vec::with_capacity(most);
    while counts.last() != Some(&0) && counts.len() < most {
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        for _ in 0..100 {
            world.try_update(1.0 / 60.0).unwrap();
        }
        counts.push(ALLOCATIONS.load(Ordering::Relaxed) - before);
    }
    counts
}

pub(crate) fn frames_of_jobs_that_are_never_completed_allocate_nothing() {
    for workers in [0, 1, 2] {
        let counts = count_hundreds_of_frames(world(workers), 20);
        assert_eq!(counts.last(), Some(&0), "{workers} workers: {counts:?}");
    }
}
