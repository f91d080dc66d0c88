//! Custom containers: a counter that all batches of a job increment.
//!
//! The data is a plain type. `Container` lets `Native` guard it: the owner and jobs access it as any other container,
//! and conflicts are rejected. `ConcurrentWrite` defines the write access of each batch of a parallel job, during which
//! no code can read the counter.
//!
//! The sample has two counters. `Counter` is one atomic number, which all threads contend for. `PerThreadCounter` has a
//! number for each thread, in its own cache line, and adds them up on read. The zeros among many numbers are counted
//! with each counter, and by one thread alone. The summary shows the time of each.

mod counter;
mod per_thread;
#[cfg(test)]
mod tests;

use ancho::burst::burst;
use ancho::burst::math::Random;
use ancho::collections::{Container, Native};
use ancho::entities::SystemResult;
use ancho::jobs::{ConcurrentWrite, JobScheduler};
use ancho::prelude::*;

use crate::gallery::{Canvas, Color, Kind, Options, Sample, SampleResult, WorldSample};
use counter::Counter;
use per_thread::PerThreadCounter;

pub(crate) const SAMPLE: Sample = Sample {
    name: "native_counter",
    summary: "a custom container that counts a million numbers on all threads",
    kind: Kind::World(WorldSample {
        counts: "numbers",
        entities: 1_000_000,
        most: 50_000_000,
        frames: 300,
        seed: Some(1),
        build,
        add_systems,
        paint,
        steering: None,
    }),
};

/// A counter that jobs share.
type NativeCounter = Native<Counter>;

/// A counter that jobs share, with a part for each thread.
type NativePerThreadCounter = Native<PerThreadCounter>;

/// Operations of both counters with exclusive access.
trait Count {
    fn count(&self) -> i64;
    fn set_count(&mut self, count: i64);
    fn increment(&mut self);
}

/// Write access of a batch, concurrent with other batches.
trait Increment {
    fn increment(&self);
}

/// A random digit, which changes in each frame.
#[derive(Component, Clone, Copy)]
struct Digit {
    value: u32,
    random: Random,
}

/// Number of zeros that each counter has found. A singleton component.
#[derive(Component, Clone, Copy, Debug, Default)]
struct Tally {
    by_one_thread: i64,
    by_one_number: i64,
    by_a_number_for_each_thread: i64,
}

/// The counters. They are reset in each frame, so that no state persists between frames.
#[derive(Resource, Debug)]
#[resource(local)]
struct Counters {
    one: NativeCounter,
    per_thread: NativePerThreadCounter,
}

fn build(options: &Options) -> SampleResult<World> {
    let mut world = options.world("Native counter");
    world.spawn(Tally::default());
    world.spawn_batch(
        (0..options.entities as u64)
            .map(|index| Digit { value: 0, random: Random::from_index(options.seed, index) }),
    );
    Ok(world)
}

fn add_systems(world: &mut World) {
    world.insert_resource(Counters {
        one: NativeCounter::of(Counter::default()).named("one number"),
        per_thread: NativePerThreadCounter::of(PerThreadCounter::default()).named("per thread"),
    });
    world.add_system(randomise_digits);
    world.add_system(count_on_one_thread);
    world.add_system(count_with_one_number);
    world.add_system(count_with_a_number_for_each_thread);
}

/// Draws all numbers anew.
#[burst]
fn randomise_digits(mut digits: Query<&mut Digit>) {
    digits.for_each_parallel(|digit| digit.value = digit.random.range(0..10));
}

/// Counts with exclusive access, without contention.
fn count_on_one_thread(
    digits: Query<&Digit>,
    mut counters: ResMut<Counters>,
    mut tally: Single<&mut Tally>,
) -> SystemResult {
    let counter = counters.one.get_mut()?;
    counter.set_count(0);
    digits.iter().filter(|digit| digit.value == 0).for_each(|_| counter.increment());
    tally.by_one_thread = counter.count();
    Ok(())
}

fn count_with_one_number(
    jobs: &JobScheduler,
    digits: Query<&Digit>,
    mut counters: ResMut<Counters>,
    mut tally: Single<&mut Tally>,
) -> SystemResult {
    count_zeros(jobs, digits, &mut counters.one, &mut tally.by_one_number)
}

fn count_with_a_number_for_each_thread(
    jobs: &JobScheduler,
    digits: Query<&Digit>,
    mut counters: ResMut<Counters>,
    mut tally: Single<&mut Tally>,
) -> SystemResult {
    let count = &mut tally.by_a_number_for_each_thread;
    count_zeros(jobs, digits, &mut counters.per_thread, count)
}

/// Counts the zeros on all threads with either counter, and completes the job.
fn count_zeros<C>(
    jobs: &JobScheduler,
    digits: Query<&Digit>,
    counter: &mut Native<C>,
    count: &mut i64,
) -> SystemResult
where
    C: Container + ConcurrentWrite + Count,
    for<'b> C::Item<'b>: Increment,
{
    counter.get_mut()?.set_count(0);
    let job = digits.job().named("CountZeros").with(counter.writer());
    let job = job.schedule_parallel(|digit, counter| {
        if digit.value == 0 {
            counter.increment();
        }
    });
    jobs.complete(job);
    *count = counter.get()?.count();
    Ok(())
}

/// Draws the numbers row by row, with bright zeros.
fn paint(world: &World, canvas: &mut Canvas) {
    let digits = world.query::<&Digit>();
    let side = digits.count().isqrt() + 1;
    canvas.look_at(Vec3::ZERO, Vec2::splat(side as f32));
    let from_middle = |at: usize| at as f32 + 0.5 - side as f32 * 0.5;
    for (index, digit) in digits.iter().enumerate() {
        let place = Vec3::new(from_middle(index % side), 0.0, -from_middle(index / side));
        let dark = Color::BLUE.mixed(Color::GREY, digit.value as f32 / 9.0);
        canvas.point(place, if digit.value == 0 { Color::YELLOW } else { dark });
    }
    if let Ok(tally) = world.singleton::<Tally>() {
        canvas.caption(format!("zeros: {}, counted on one thread", tally.by_one_thread));
        canvas.caption(format!("{} with one number", tally.by_one_number));
        canvas.caption(format!("{} with one for each thread", tally.by_a_number_for_each_thread));
    }
}
