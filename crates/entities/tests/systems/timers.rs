//! Timers, stopwatches and random numbers in components.

use ancho_burst::math::Random;
use ancho_entities::{
    Component, Disabled, FixedRateCatchUp, FixedStep, IntoSystem, Prefab, Query, ResMut, Resource,
    Stopwatch, Time, Timer, World, assert_replays,
};

use crate::fixtures::panic_message;

#[test]
fn a_timer_finishes_once() {
    let mut timer = Timer::once(1.0);
    assert!(!timer.is_finished() && !timer.is_repeating() && timer.remaining() == 1.0);
    assert!(!timer.tick(0.5).is_finished());
    assert_eq!((timer.elapsed(), timer.fraction(), timer.remaining()), (0.5, 0.5, 0.5));
    assert!(timer.tick(0.5).just_finished() && timer.times_finished() == 1);
    assert!(!timer.tick(5.0).just_finished() && timer.is_finished());
    assert_eq!((timer.elapsed(), timer.fraction(), timer.remaining()), (1.0, 1.0, 0.0));
    timer.reset();
    assert!(!timer.is_finished() && timer.elapsed() == 0.0);
    assert!(timer.tick(1.5).just_finished());
}

#[test]
fn a_repeating_timer_carries_the_overshoot() {
    let mut timer = Timer::repeating(0.25);
    let ticks = [0.125, 0.125, 0.0, 0.625, 0.25, 0.125, 0.0625];
    let times = ticks.map(|seconds| timer.tick(seconds).times_finished());
    assert_eq!(times, [0, 1, 0, 2, 1, 1, 0]);
    assert_eq!(timer.elapsed(), 0.0625);
    assert!(!timer.is_finished() && timer.is_repeating());
    assert!(timer.tick(0.25).is_finished());
}

#[test]
fn a_tick_of_zero_finishes_nothing() {
    let (mut once, mut repeating) = (Timer::once(0.0), Timer::repeating(1.0));
    assert!(!once.is_finished() && !once.tick(0.0).is_finished());
    assert!(once.tick(f64::MIN_POSITIVE).just_finished());
    assert!(repeating.tick(1.0).just_finished() && !repeating.tick(0.0).just_finished());
    // Beyond a new duration, the next tick of any length finishes it.
    repeating.tick(0.9);
    repeating.set_duration(0.25);
    assert_eq!(repeating.tick(0.0).times_finished(), 0);
    assert_eq!(repeating.tick(0.125).times_finished(), 4);
    assert!(Timer::default().tick(0.1).just_finished());
}

#[test]
fn a_paused_timer_does_not_count() {
    let (mut once, mut repeating, mut stopwatch) =
        (Timer::once(1.0), Timer::repeating(1.0), Stopwatch::new());
    once.pause();
    repeating.tick(1.5);
    repeating.pause();
    assert!(once.is_paused() && repeating.just_finished());
    assert!(!once.tick(5.0).is_finished() && !repeating.tick(5.0).just_finished());
    assert_eq!((once.elapsed(), repeating.elapsed()), (0.0, 0.5));
    once.reset();
    assert!(once.is_paused());
    once.resume();
    assert!(once.tick(1.0).just_finished());
    stopwatch.tick(1.25);
    stopwatch.pause();
    stopwatch.tick(1.0);
    assert_eq!((stopwatch.elapsed(), stopwatch.is_paused()), (1.25, true));
    stopwatch.resume();
    assert_eq!(stopwatch.tick(0.25).elapsed(), 1.5);
    stopwatch.reset();
    assert_eq!(stopwatch, Stopwatch::new());
}

#[test]
fn a_repeating_timer_does_not_drift() {
    // A tenth has no exact value. Each tick rounds once, so the sum of all counts stays that of the seconds.
    let mut random = Random::new(3);
    for period in [0.1, 1.0 / 60.0, 0.007, 3.3] {
        let (mut timer, mut seconds, mut times) = (Timer::repeating(period), 0.0, 0_u64);
        for _ in 0..20_000 {
            let step = random.range(0.0..0.5);
            seconds += step;
            times += u64::from(timer.tick(step).times_finished());
            assert!((0.0..period).contains(&timer.elapsed()));
            let counted = times as f64 * period + timer.elapsed();
            assert!((counted - seconds).abs() < 1e-8, "{period}: {counted} and {seconds}");
        }
    }
}

#[test]
fn integer_multiples_of_the_period_are_counted_exactly() {
    for period in [0.1, 0.3, 1.0 / 3.0, 1e-9, 7e9] {
        for count in [1_u32, 3, 10, 49, 1_000_003] {
            let mut timer = Timer::repeating(period);
            let times = timer.tick(period * f64::from(count)).times_finished();
            // The product may be rounded below the multiple; then the rest is almost a period.
            let nearly = times + 1 == count && timer.remaining() < period * 1e-6;
            assert!(times == count || nearly, "{count} × {period}: {timer:?}");
        }
    }
    let mut timer = Timer::repeating(f64::MIN_POSITIVE);
    assert_eq!(timer.tick(f64::MAX).times_finished(), u32::MAX);
    assert_eq!(timer.elapsed(), 0.0);
}

#[test]
fn invalid_seconds_are_refused() {
    assert_eq!(
        panic_message(|| Timer::repeating(0.0)),
        "A0251: a repeating timer cannot have a duration of 0 seconds; pass a finite number above zero"
    );
    assert_eq!(
        panic_message(|| Timer::once(-1.0)),
        "A0251: a timer cannot have a duration of -1 seconds; pass a finite number, zero or above"
    );
    assert_eq!(
        panic_message(|| Stopwatch::new().tick(f64::NAN).elapsed()),
        "A0251: a timer cannot count NaN seconds; pass a finite number, zero or above"
    );
    for wrong in [-0.5, f64::NAN, f64::INFINITY] {
        assert!(Timer::try_once(wrong).is_err() && Timer::try_repeating(wrong).is_err());
        let mut timer = Timer::repeating(2.0);
        assert!(timer.try_set_duration(wrong).is_err() && timer.try_set_duration(0.0).is_err());
        assert!(panic_message(|| timer.tick(wrong).is_finished()).starts_with("A0251: "));
        assert_eq!(timer, Timer::repeating(2.0));
    }
}

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Spawner {
    timer: Timer,
    watch: Stopwatch,
    random: Random,
    spawned: u32,
}

fn spawner() -> Spawner {
    let (timer, watch) = (Timer::repeating(0.25), Stopwatch::new());
    Spawner { timer, watch, random: Random::new(1), spawned: 0 }
}

fn spawn(mut all: Query<&mut Spawner>, time: Time) {
    all.for_each(|spawner| {
        spawner.watch.tick(time.delta_f64());
        for _ in 0..spawner.timer.tick(time.delta_f64()).times_finished() {
            spawner.spawned += spawner.random.range(1..=6);
        }
    });
}

#[test]
fn timers_and_random_numbers_are_forked_hashed_and_rolled_back_with_their_entity() {
    let mut world = World::new("Simulation");
    let entity = world.spawn(spawner());
    world.add_system(spawn);
    world.update(0.625);
    let before = *world.get::<Spawner>(entity).unwrap();
    let mut snapshot = world.fork().unwrap();
    assert_eq!(snapshot.get(entity), Ok(&before));

    let run = |world: &mut World| {
        (0..10).for_each(|_| world.update(0.2));
        (world.state_hash(), *world.get::<Spawner>(entity).unwrap())
    };
    let first = run(&mut world);
    assert_ne!(world.state_hash(), snapshot.state_hash());
    world.copy_and_replace_from(&mut snapshot).unwrap();
    assert_eq!(world.get(entity), Ok(&before));
    assert_eq!(run(&mut world), first);
    assert!(first.1.spawned > before.spawned && first.1.watch.elapsed() > 2.0);
    // A pause is state too.
    let hash = world.state_hash();
    world.get_mut::<Spawner>(entity).unwrap().timer.pause();
    assert_ne!(world.state_hash(), hash);
}

#[test]
fn timers_count_the_steps_of_their_group_and_only_entities_that_the_query_yields() {
    let mut world = World::new("Simulation");
    let all = [
        world.spawn(spawner()),
        world.spawn((spawner(), Disabled)),
        world.spawn((spawner(), Prefab)),
    ];
    world.set_rate(FixedStep, FixedRateCatchUp::new(0.25)).unwrap();
    world.add_system(spawn.in_group(FixedStep));
    let elapsed =
        |world: &World| all.map(|entity| world.get::<Spawner>(entity).unwrap().watch.elapsed());
    world.update(0.125);
    world.update(0.0625);
    let start = elapsed(&world);
    world.update(0.75);
    assert_eq!(elapsed(&world), [start[0] + 0.75, 0.0, 0.0]);
}

#[derive(Resource, Clone, Copy, PartialEq, Debug)]
struct Round {
    timer: Timer,
    random: Random,
    number: u32,
}

fn next_round(mut round: ResMut<Round>, time: Time) {
    if round.timer.tick(time.delta_f64()).just_finished() {
        round.number += round.random.range(1..100);
    }
}

#[test]
fn timers_and_random_numbers_of_resources_are_part_of_the_state() {
    let mut world = World::new("Simulation");
    world.insert_resource(Round {
        timer: Timer::repeating(0.05),
        random: Random::new(2),
        number: 0,
    });
    world.spawn(spawner());
    world.add_system(next_round);
    world.add_system(spawn);
    assert_replays(&mut world, 30);
    let (round, fork) = (*world.resource::<Round>(), world.fork().unwrap());
    assert!(round.number > 0);
    let hash = world.state_hash();
    world.resource_mut::<Round>().random.next_u32();
    assert_ne!(world.state_hash(), hash);
    assert_eq!((*fork.resource::<Round>(), fork.state_hash()), (round, hash));
}

/// The assertions do nothing in debug builds. `cargo xtask testrelease` runs them.
#[cfg(all(feature = "inspect", feature = "dispatch"))]
mod vectorised {
    use ancho_burst::{CpuLevel, assert_vectorized, burst};
    use ancho_entities::Timer;

    #[burst]
    fn tick_all(timers: &mut [Timer], seconds: f64) {
        for timer in timers {
            timer.tick(seconds);
        }
    }

    #[test]
    fn loops_over_timers_are_vectorised() {
        let mut timers: Vec<Timer> = (1..1000).map(|i| Timer::repeating(f64::from(i))).collect();
        tick_all(&mut timers, 500.0);
        assert_eq!(timers[99].times_finished(), 5);
        for level in CpuLevel::ALL {
            assert_vectorized!(tick_all, level);
        }
    }
}
