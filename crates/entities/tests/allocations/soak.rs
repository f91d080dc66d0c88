//! Many frames: in a steady state nothing is allocated, and failing systems leave nothing behind.

use std::sync::atomic::Ordering;

use ancho_entities::{
    Changed, Commands, CommandsAt, Component, EndSimulation, Entity, FixedStep, Initialization,
    IntoSystem, Local, Lookup, ParamSet, Presentation, Query, QueryDescriptor, Res, ResMut,
    Resource, Single, System, SystemGroup, SystemId, SystemResult, Time, With, World,
    WorldSettings,
};
use ancho_jobs::JobPool;

use crate::counting_allocator::{ALLOCATIONS, LIVE_BYTES};
use crate::{FRAMES, WARM_UP};

#[derive(Component, Clone, Copy)]
struct Position(f32);

#[derive(Component, Clone, Copy)]
struct Velocity(f32);

#[derive(Component, Clone, Copy)]
struct Brief(u32);

#[derive(Component, Clone, Copy)]
struct Score(u64);

#[derive(Resource, Component, Clone, Copy)]
#[resource(local)]
struct Never;

#[derive(Resource, Clone)]
struct Gravity(f32);

#[derive(Resource, Default)]
#[resource(local)]
struct Counts {
    frames: u64,
    changed: usize,
}

struct Physics;

impl SystemGroup for Physics {}

fn fall(gravity: Res<Gravity>, time: Time, mut all: Query<&mut Velocity>) {
    let change = gravity.0 * time.delta();
    all.schedule_parallel(move |velocity| velocity.0 -= change);
}

fn drift(time: Time, mut all: Query<(&mut Position, &Velocity)>) {
    let delta = time.delta();
    all.schedule_parallel(move |(position, velocity)| position.0 += velocity.0 * delta);
}

fn count(all: Query<&Position, Changed<Position>>, mut counts: ResMut<Counts>) {
    counts.frames += 1;
    counts.changed = all.count();
}

/// Spawns one entity per frame; `age` despawns as many.
fn come(mut commands: Commands, mut number: Local<u32>) {
    *number += 1;
    commands.spawn((Brief(3), Position(*number as f32)));
}

fn age(all: Query<(Entity, &mut Brief)>, mut commands: CommandsAt<EndSimulation>) {
    let job = all.job().with(commands.writer());
    let _ = job.schedule_parallel(|(entity, brief), commands| {
        brief.0 -= 1;
        if brief.0 == 0 {
            commands.despawn(entity);
        }
    });
}

// Loops are closures: an iterator keeps a few bytes on the heap.
fn score(
    mut score: Single<&mut Score>,
    positions: Lookup<&Position>,
    mut brief: Query<Entity, With<Brief>>,
) {
    brief.for_each(|entity| score.0 += u64::from(positions.get(entity).is_some()));
}

fn in_turns(mut both: ParamSet<(Query<&Velocity>, Query<&mut Velocity>)>) {
    let mut most = 0.0_f32;
    both.p0().for_each(|velocity| most = most.max(velocity.0));
    both.p1().for_each(|velocity| velocity.0 = velocity.0.min(most));
}

struct Switches {
    on: bool,
    nested: SystemId,
}

impl System for Switches {
    fn on_update(&mut self, world: &mut World) -> SystemResult {
        self.on = !self.on;
        world.set_system_enabled(in_turns, self.on)?;
        world.update_system(self.nested)?;
        Ok(())
    }
}

fn steady(workers: usize) -> World {
    let pool = JobPool::builder().workers(workers).build().unwrap();
    let mut world = World::with_settings("Simulation", WorldSettings::new().job_pool(&pool));
    world.insert_resource(Gravity(9.8));
    world.insert_resource(Counts::default());
    world.spawn_many((Position(0.0), Velocity(1.0)), 1000);
    world.spawn(Score(0));
    world.add_system(Physics.in_group(FixedStep));
    world.add_system(fall.in_group(Physics));
    world.add_system(drift.in_group(Physics).after(fall));
    world.add_system(come.in_group(Initialization));
    world.add_system(age);
    world.add_system(score);
    world.add_system(in_turns);
    let nested = world.add_system((|| {}).named("nested"));
    world.add_system(Switches { on: false, nested });
    world.add_system((|| -> () { unreachable!() }).require(QueryDescriptor::of::<&Never, ()>()));
    world.add_system((|| -> () { unreachable!() }).enabled(false));
    world.add_system((|mut runs: Local<u64>| *runs += 1).patch());
    world.add_system(count.in_group(Presentation));
    world
}

pub(crate) fn many_frames_allocate_nothing_and_failures_leave_nothing_behind() {
    let mut world = steady(0);
    for _ in 0..WARM_UP {
        world.try_update(1.0 / 60.0).unwrap();
    }
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    for _ in 0..FRAMES {
        world.try_update(1.0 / 60.0).unwrap();
    }
    assert_eq!(ALLOCATIONS.load(Ordering::Relaxed) - before, 0, "allocations in {FRAMES} frames");
    assert_eq!(world.resource::<Counts>().frames, (WARM_UP + FRAMES) as u64);

    // With workers it takes longer until all memory that jobs return was used once.
    let mut threaded = steady(2);
    let most = 10_000 / FRAMES;
    let mut counts = Vec::with_capacity(most);
    while counts.last() != Some(&0) && counts.len() < most {
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        for _ in 0..FRAMES {
            threaded.try_update(1.0 / 60.0).unwrap();
        }
        counts.push(ALLOCATIONS.load(Ordering::Relaxed) - before);
    }
    assert_eq!(counts.last(), Some(&0), "allocations in each {FRAMES} frames: {counts:?}");
    drop(threaded);

    // Reporting an error allocates, and frees the memory again.
    std::panic::set_hook(Box::new(|_| {}));
    let gone = world.spawn(());
    world.despawn(gone).unwrap();
    world.add_system((|| -> () { panic!("again") }).named("panics"));
    world.add_system((|| Err::<(), _>("again")).named("fails"));
    world.add_system((|_: Res<Never>| {}).named("lacks"));
    world.add_system((move |mut commands: Commands| commands.add(gone, Never)).named("plays"));
    world.add_system(
        (|mut all: Query<&mut Score>| {
            all.schedule_parallel(|_| panic!("in a job"));
        })
        .named("job"),
    );
    let failing = |world: &mut World| assert!(world.try_update(1.0 / 60.0).is_err());
    (0..WARM_UP).for_each(|_| failing(&mut world));
    // The test runner may still allocate while its thread waits for a core, so one of three counts has to be zero.
    let mut grown = [0; 3];
    for grown in &mut grown {
        let before = LIVE_BYTES.load(Ordering::Relaxed);
        (0..FRAMES).for_each(|_| failing(&mut world));
        *grown = LIVE_BYTES.load(Ordering::Relaxed).wrapping_sub(before);
    }
    assert!(grown.contains(&0), "bytes kept by {FRAMES} frames with failing systems: {grown:?}");
    let _ = std::panic::take_hook();
}
