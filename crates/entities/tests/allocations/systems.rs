//! Updates allocate nothing after a warm-up.

use std::sync::atomic::Ordering;

use ancho_collections::{Allocator, FixedState, NativeList};
use ancho_entities::{
    Changed, Commands, CommandsAt, Component, EndFixedStep, EndSimulation, Entity, FixedStep,
    IntoSystem, Local, Lookup, NonSend, NonSendMut, ParamSet, Query, QueryDescriptor, Res, ResMut,
    Single, System, SystemResult, Time, UpdateAllocator, With, World, WorldSettings,
};
use ancho_jobs::{JobPool, JobScheduler};

use crate::counting_allocator::ALLOCATIONS;

#[derive(Component, Clone, Copy)]
struct A(f32);

#[derive(Component, Clone, Copy)]
struct B(f32);

#[derive(Component, Clone, Copy)]
struct Score(f32);

#[derive(Component, Clone, Copy)]
#[component(enableable)]
struct Awake;

#[derive(Default)]
struct Struct {
    times: u32,
}

impl System for Struct {
    fn on_update(&mut self, world: &mut World) -> SystemResult {
        world.query_mut::<(&mut A, &B)>().for_each(|(a, b)| a.0 += b.0);
        self.times += 1;
        Ok(())
    }
}

fn jobs(time: Time, mut all: Query<(&mut A, &B)>) {
    let dt = time.delta();
    all.schedule_parallel(move |(a, b)| a.0 += b.0 * dt);
}

fn commands(mut commands: Commands, all: Query<(Entity, &Score)>, mut last: Local<Option<Entity>>) {
    if let Some(last) = last.take() {
        commands.despawn(last);
    }
    *last = Some(commands.spawn(A(1.0)));
    assert_eq!(all.count(), 1);
}

fn at_point(mut commands: CommandsAt<EndSimulation>, mut all: Query<Entity, With<Score>>) {
    all.for_each(|entity| commands.commands().set(entity, Score(1.0)));
}

/// Records commands in every second step.
fn at_point_now_and_then(
    mut commands: CommandsAt<EndFixedStep>,
    mut all: Query<Entity, With<Score>>,
    mut steps: Local<u32>,
) {
    *steps += 1;
    if steps.is_multiple_of(2) {
        all.for_each(|entity| commands.commands().set(entity, Score(1.0)));
    }
}

#[expect(
    clippy::type_complexity,
    reason = "it is how parameters that exclude each other are written"
)]
fn others(
    mut set: ParamSet<(Query<&mut A, Changed<B>>, Query<&A>)>,
    score: Single<&Score>,
    lookup: Lookup<&B>,
    number: Res<u32>,
    mut sum: ResMut<f64>,
) {
    set.p0().for_each(|a| a.0 += score.0);
    *sum += f64::from(set.p1().count() as u32 + *number);
    assert!(lookup.get(Entity::NULL).is_none());
}

/// Runs nested loops, a loop that ends early, and a loop in a closure.
fn loops(scores: Query<&Score>, mut all: Query<(&mut A, &B)>, awake: Query<Entity, With<Awake>>) {
    for score in &scores {
        for (a, b) in &mut all {
            a.0 += b.0 * score.0;
        }
        assert!(awake.iter().take(2).all(|entity| awake.iter().any(|other| other == entity)));
    }
    assert!(all.iter_mut().map(|(a, _)| a.0).sum::<f32>() >= 0.0);
}

/// Allocates more than the first block holds, so that there are several. (A container keeps a part of itself in other
/// memory.)
fn memory(memory: UpdateAllocator, mut last: Local<Option<Numbers>>) {
    let mut numbers =
        Numbers::with_capacity_and_hasher_in(50_000, FixedState::default(), memory.clone());
    numbers.insert(1);
    assert_eq!(numbers.len(), 1);
    *last = Some(numbers);
}

type Numbers = hashbrown::HashSet<u32, FixedState, Allocator>;

fn non_send(mut number: NonSendMut<u32>, text: Option<NonSend<&str>>) {
    *number += text.map_or(0, |text| text.len() as u32);
}

fn fill(mut list: ResMut<NativeList<f32>>, jobs: &JobScheduler) -> SystemResult {
    list.wait_mut(jobs)?.clear();
    _ = jobs.named("fill").schedule(&[], list.write(), |list| list.push(1.0))?;
    Ok(())
}

fn read(list: Res<NativeList<f32>>, jobs: &JobScheduler) -> SystemResult {
    assert!(!list.wait(jobs)?.is_empty());
    Ok(())
}

fn world(workers: usize) -> World {
    let pool = JobPool::builder().workers(workers).build().unwrap();
    let mut world = World::with_settings("test", WorldSettings::new().job_pool(&pool));
    world.spawn_many((A(0.0), B(1.0)), 10_000);
    world.spawn(Score(0.0));
    world.spawn_many(Awake, 100);
    // This entity keeps the chunk that others enter and leave.
    world.spawn(A(0.0));
    world.insert_resource(1_u32);
    world.insert_resource(0.0_f64);
    world.insert_non_send(1_u32);
    world.insert_non_send("text");
    world.insert_resource(NativeList::<f32>::new());
    world.add_system(non_send);
    world.add_system(fill);
    world.add_system(read);
    world.add_system(Struct::default());
    world.add_system(jobs);
    world.add_system(commands);
    world.add_system(at_point);
    world.add_system(at_point_now_and_then.in_group(FixedStep));
    world.add_system(others);
    world.add_system(loops);
    world.add_system(memory);
    world.add_system(memory.in_group(FixedStep));
    world.add_system((|| {}).in_group(FixedStep));
    world.add_system((|| {}).require(QueryDescriptor::of::<&B, ()>()));
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

pub(crate) fn a_frame_allocates_nothing() {
    let counts = count_hundreds_of_frames(world(0), 2);
    assert_eq!(counts.last(), Some(&0), "{counts:?}");
    let mut measured = world(0);
    measured.profile_systems(true);
    let counts = count_hundreds_of_frames(measured, 2);
    assert_eq!(counts.last(), Some(&0), "measured: {counts:?}");
    // With workers it takes longer until all memory that jobs return was used once.
    for workers in [1, 2] {
        let counts = count_hundreds_of_frames(world(workers), 20);
        assert_eq!(counts.last(), Some(&0), "{workers} workers: {counts:?}");
    }
}
