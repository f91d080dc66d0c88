//! In a steady state, scheduling and running jobs over entities allocates nothing.

use std::sync::atomic::Ordering;

use ancho_entities::{
    Changed, Component, EnabledMut, Entity, EntityAt, EntityJob, IndexInQuery, JobLookup, Lookup,
    Query, With, World, WorldSettings,
};
use ancho_jobs::{JobPool, JobSlice, ParallelJobStruct, SliceWrite};

use crate::counting_allocator::ALLOCATIONS;
use crate::{FRAMES, WARM_UP};

#[derive(Component, Clone, Copy)]
struct Position(f32);

#[derive(Component, Clone, Copy)]
struct Velocity(f32);

#[derive(Component, Clone, Copy)]
struct Target(Entity);

#[derive(Component, Clone, Copy)]
#[component(enableable)]
struct Awake;

#[derive(Component, Clone, Copy)]
#[component(track_changes)]
struct Noted(u32);

#[derive(ParallelJobStruct)]
struct Aim<'a> {
    positions: JobLookup<'a, &'static Position>,
    distances: SliceWrite<'a, f32>,
    share: f32,
}

impl EntityJob for Aim<'_> {
    type Query = (&'static mut Velocity, &'static Target);

    fn execute(job: &mut AimBatch<'_>, (velocity, target): (&mut Velocity, &Target), at: EntityAt) {
        if let Some(position) = job.positions.get(target.0) {
            velocity.0 += position.0 * *job.share;
        }
        job.distances[at.in_batch] = velocity.0;
    }
}

/// Schedules jobs of all kinds, with work on the world's thread between them.
fn frame(world: &mut World, all: &[Entity], distances: &mut JobSlice<f32>) {
    let seen = world.version();
    world.advance_version();
    let mut query = world.query_mut::<(&mut Position, &Velocity)>();
    let _ = query.schedule_parallel(|(position, velocity)| position.0 += velocity.0);
    let (bodies, positions) = world.split::<(Query<(&mut Velocity, &Target)>, Lookup<&Position>)>();
    let positions = positions.into_job();
    let aim = Aim { positions, distances: distances.write(), share: 0.5 };
    let aim = bodies.job().schedule_job_parallel(aim);
    let mut query = world.query_mut::<(&Position, EnabledMut<Awake>)>();
    let _ = query.schedule_parallel(|(position, mut on)| on.set(position.0 > 10.0));
    let query = world.query_filtered_mut::<&mut Noted, With<Awake>>();
    let _ = query
        .job()
        .named("Note")
        .with(IndexInQuery)
        .schedule_parallel(|noted, index| noted.0 = index as u32);
    let mut query = world.query_filtered_mut::<&mut Velocity, Changed<Noted>>().since(seen);
    let _ = query.schedule(|velocity| velocity.0 = 0.0);
    let array = world.query_mut::<&mut Noted>().job().into_array();
    let (jobs, count) = (array.jobs(), array.len());
    let _ = jobs.schedule_for_each(&[], array, count, 64, |noted, _| noted.0 += 1).unwrap();
    // The world's thread waits for some jobs, by reading and by writing.
    world.get_mut::<Noted>(all[5]).unwrap().0 = 1;
    assert!(world.query_filtered::<&Position, With<Awake>>().count() <= all.len());
    world.jobs().complete(aim);
    distances.as_mut_slice().unwrap()[0] = 0.0;
    world.jobs().complete_everything();
}

/// Counts the allocations of each [`FRAMES`] frames after a warm-up, until a count is zero or `most` counts were taken.
fn count_frames(workers: usize, most: usize) -> Vec<usize> {
    let pool = JobPool::builder().workers(workers).build().unwrap();
    let settings = WorldSettings::new().chunk_capacity_limit(100).job_pool(&pool);
    let mut world = World::with_settings("Simulation", settings);
    let goal = world.spawn(Position(3.0));
    let sets = (0..1000).map(|_| (Position(1.0), Velocity(1.0), Target(goal), Awake, Noted(0)));
    let all: Vec<_> = world.spawn_batch(sets).collect();
    let mut distances = JobSlice::new(1000, 0.0);
    for _ in 0..WARM_UP {
        frame(&mut world, &all, &mut distances);
    }
    let mut counts = Vec::with_capacity(most);
    while counts.len() < most && counts.last() != Some(&0) {
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        for _ in 0..FRAMES {
            frame(&mut world, &all, &mut distances);
        }
        counts.push(ALLOCATIONS.load(Ordering::Relaxed) - before);
    }
    counts
}

pub(crate) fn frames_of_jobs_over_entities_allocate_nothing() {
    assert_eq!(count_frames(0, 1), [0]);
    // Finished jobs return their memory, and later jobs reuse it. With workers, a job gets another block each time, so
    // it takes a while until every block is large enough for every job.
    for workers in [1, 2] {
        let counts = count_frames(workers, 20_000 / FRAMES);
        assert_eq!(counts.last(), Some(&0), "{workers} workers: {counts:?}");
        assert!(counts.iter().sum::<usize>() < 200, "{workers} workers: {counts:?}");
    }
}
