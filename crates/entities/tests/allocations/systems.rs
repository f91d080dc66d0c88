//! Updates allocate nothing after a warm-up.

use std::sync::atomic::Ordering;

use ancho_collections::{Allocator, FixedState, NativeList};
use ancho_entities::{
    Changed, Commands, CommandsAt, Component, Condition, EndFixedStep, EndSimulation, Entity,
    FixedStep, In, IntoSystem, Local, Lookup, Message, MessageReader, MessageWriter, NextState,
    NonSend, NonSendMut, ParamSet, Query, QueryDescriptor, Res, ResMut, Resource, Single, Startup,
    State, States, System, SystemResult, SystemSet, Time, UpdateAllocator, With, World,
    WorldSettings, any_with, in_state, not, resource_exists,
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

#[derive(Resource, Clone)]
struct Number(u32);

#[derive(Resource, Clone)]
struct Sum(f64);

#[derive(Resource)]
#[resource(local)]
struct Listed(NativeList<f32>);

#[expect(
    clippy::type_complexity,
    reason = "it is how parameters that exclude each other are written"
)]
fn others(
    mut set: ParamSet<(Query<&mut A, Changed<B>>, Query<&A>)>,
    score: Single<&Score>,
    lookup: Lookup<&B>,
    number: Res<Number>,
    mut sum: ResMut<Sum>,
) {
    set.p0().for_each(|a| a.0 += score.0);
    sum.0 += f64::from(set.p1().count() as u32 + number.0);
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

fn fill(mut list: ResMut<Listed>, jobs: &JobScheduler) -> SystemResult {
    list.0.wait_mut(jobs)?.clear();
    _ = jobs.named("fill").schedule(&[], list.0.write(), |list| list.push(1.0))?;
    Ok(())
}

fn read(list: Res<Listed>, jobs: &JobScheduler) -> SystemResult {
    assert!(!list.0.wait(jobs)?.is_empty());
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
    world.insert_resource(Number(1));
    world.insert_resource(Sum(0.0));
    world.insert_non_send(1_u32);
    world.insert_non_send("text");
    world.insert_resource(Listed(NativeList::new()));
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
    add_conditions_and_states(&mut world);
    add_messages(&mut world);
    world
}

#[derive(Message, Clone)]
struct Hit(f32);

#[derive(Message, Clone)]
#[message(local, keep = all)]
struct Input(u32);

/// Adds writers and readers of messages: systems, jobs, a group with a rate, and a reader that reads only a part.
fn add_messages(world: &mut World) {
    world.add_system(|mut hits: MessageWriter<Hit>, all: Query<&A>| {
        hits.write_batch((0..100).map(|number| Hit(number as f32)));
        all.job().with(hits.writer()).schedule_parallel(|a, hits| {
            if a.0 > 1e9 {
                hits.write(Hit(a.0));
            }
        });
        hits.write(Hit(0.0));
    });
    world.add_system(|mut inputs: MessageWriter<Input>, jobs: &JobScheduler| {
        inputs.write(Input(1));
        jobs.schedule(&[], inputs.writer(), |mut inputs| inputs.write(Input(2)))
    });
    world.add_system(|mut hits: MessageReader<Hit>, mut sum: ResMut<Sum>| {
        sum.0 += hits.read().map(|hit| f64::from(hit.0)).sum::<f64>();
    });
    world.add_system((|mut hits: MessageReader<Hit>| _ = hits.read().next()).in_group(FixedStep));
    world.add_system(|mut inputs: MessageReader<Input>| {
        assert_eq!(inputs.slices().flatten().map(|input| input.0).sum::<u32>(), 3);
    });
}

#[derive(States, Clone, Debug, PartialEq)]
enum Game {
    Running,
}

#[derive(States, Clone, Debug, Default, PartialEq)]
#[sub_state(of = Game::Running)]
struct Turn(u32);

/// A struct that starts and stops.
struct Conditional;

impl System for Conditional {
    fn on_update(&mut self, _: &mut World) -> SystemResult {
        Ok(())
    }
}

/// Adds conditions that are true, false and alternating, sets, one-shot systems, pipes, and states with requests in each step.
fn add_conditions_and_states(world: &mut World) {
    struct Guarded;
    impl SystemSet for Guarded {}
    let is_even = |time: Time| time.frame().is_multiple_of(2);
    world.configure_set(Guarded).run_if(any_with::<A>);
    world.add_system((|| {}).in_set(Guarded).run_if(resource_exists::<Number>));
    world.add_system((|| {}).run_if(not(resource_exists::<Number>).or(is_even)));
    world.add_system(Conditional.run_if(is_even));
    world.add_system((|| 1_u32).pipe(|In(one): In<u32>, _: Commands| {
        assert_eq!(one, 1);
    }));
    world.add_system((|| {}).in_group(Startup));
    world.add_state(Game::Running);
    world.add_sub_state::<Turn>();
    world.add_system((|| {}).run_if(in_state(Turn(0)).or(in_state(Game::Running))));
    world.add_system((|mut next: NextState<Game>| next.set(Game::Running)).in_group(FixedStep));
    world.add_system(|turn: State<Turn>, mut next: NextState<Turn>| next.set(Turn(1 - turn.0)));
    world.add_system((|| {}).on_enter(Turn(1)));
    world.add_system((|| {}).on_exit(Turn(1)));
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
