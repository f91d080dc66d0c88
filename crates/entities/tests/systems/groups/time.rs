//! World time, and the update rates of groups.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ancho_entities::{
    FixedRateCatchUp, FixedRateSimple, FixedStep, IntoSystem, Presentation, SystemGroup, Time,
    VariableRate, World,
};

use crate::trace::{Probe, Trace};

struct Steps;

impl SystemGroup for Steps {
    fn name() -> &'static str {
        "Steps"
    }
}

/// The times that a system has seen.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<Time>>>);

impl Seen {
    fn system(&self) -> impl FnMut(Time) + Send + use<> {
        let seen = self.clone();
        move |time: Time| seen.0.lock().unwrap().push(time)
    }

    fn take(&self) -> Vec<Time> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    fn elapsed(&self) -> Vec<f64> {
        self.take().iter().map(Time::elapsed).collect()
    }
}

/// Creates a world with a group of this rate.
fn stepping(rate: impl ancho_entities::RateManager + 'static) -> (World, Seen) {
    let seen = Seen::default();
    let mut world = World::new("Simulation");
    world.add_system(Steps.rate(rate));
    world.add_system(seen.system().in_group(Steps));
    (world, seen)
}

#[test]
fn delta_times_add_up() {
    let seen = Seen::default();
    let mut world = World::new("Simulation");
    world.add_system(seen.system());
    world.update(0.25);
    world.update(0.125);
    let times = seen.take();
    assert_eq!((times[0].delta(), times[0].elapsed(), times[0].frame()), (0.25, 0.25, 1));
    assert_eq!((times[1].delta(), times[1].elapsed(), times[1].frame()), (0.125, 0.375, 2));
    assert_eq!(world.time(), times[1]);
}

#[test]
fn the_delta_time_is_limited_only_if_a_maximum_is_set() {
    let mut world = World::new("Simulation");
    assert_eq!(world.maximum_delta(), f64::INFINITY);
    world.update(5.0);
    assert_eq!((world.time().delta_f64(), world.time().elapsed()), (5.0, 5.0));
    world.set_maximum_delta(1.0).unwrap();
    world.update(5.0);
    assert_eq!((world.time().delta_f64(), world.time().elapsed()), (1.0, 6.0));
    for (bad, word) in [(0.0, "0"), (-1.0, "-1"), (f64::NAN, "NaN")] {
        assert_eq!(
            world.set_maximum_delta(bad).unwrap_err().to_string(),
            format!(
                "A0120: the maximum delta time cannot be {word} seconds; pass a number above zero"
            )
        );
    }
    assert_eq!(world.maximum_delta(), 1.0);
    world.set_maximum_delta(f64::INFINITY).unwrap();
    world.update(5.0);
    assert_eq!(world.time().elapsed(), 11.0);
}

#[test]
fn a_long_update_has_all_its_fixed_steps() {
    let (mut world, seen) = stepping(FixedRateCatchUp::new(0.25));
    world.update(1.0);
    assert_eq!(seen.elapsed(), [0.0, 0.25, 0.5, 0.75, 1.0]);
    world.update(2.0);
    assert_eq!(seen.elapsed(), [1.25, 1.5, 1.75, 2.0, 2.25, 2.5, 2.75, 3.0]);
}

#[test]
fn times_are_pushed_and_popped() {
    let seen = Seen::default();
    let mut world = World::new("Simulation");
    let id = world.add_system(seen.system());
    world.update(0.25);
    world.push_time(Time::new(10.0, 1.0)).unwrap();
    world.push_time(Time::new(20.0, 2.0)).unwrap();
    world.update_system(id).unwrap();
    world.pop_time().unwrap();
    world.update_system(id).unwrap();
    world.pop_time().unwrap();
    world.update_system(id).unwrap();
    assert_eq!(seen.elapsed(), [0.25, 20.0, 10.0, 0.25]);
    assert_eq!(
        world.pop_time().unwrap_err().to_string(),
        "A0122: there is no earlier time to go back to; call `pop_time` once for each `push_time`"
    );
}

#[test]
fn bad_deltas_are_refused_and_nothing_runs() {
    let seen = Seen::default();
    let mut world = World::new("Simulation");
    world.add_system(seen.system());
    for (bad, word) in
        [(-1.0, "-1"), (f64::NAN, "NaN"), (f64::INFINITY, "inf"), (f64::NEG_INFINITY, "-inf")]
    {
        let told = world.try_update(bad).unwrap_err().to_string();
        let expected = format!(
            "A0120: the delta time of an update cannot be {word} seconds; pass a finite number, zero or above"
        );
        assert_eq!(told, expected);
    }
    assert_eq!(seen.take(), []);
    assert_eq!(world.time(), Time::default());
    world.try_update(0.0).unwrap();
    assert_eq!(seen.take().len(), 1);
}

#[test]
fn the_catch_up_rate_ticks_up_to_the_time_of_the_world() {
    let (mut world, seen) = stepping(FixedRateCatchUp::new(1.0));
    world.set_maximum_delta(10.0).unwrap();
    world.update(8.5);
    let times = seen.take();
    assert!(times.iter().all(|time| time.delta() == 1.0 && time.frame() == 1));
    let elapsed: Vec<_> = times.iter().map(Time::elapsed).collect();
    assert_eq!(elapsed, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    // Outside the group, the world's time applies.
    assert_eq!(world.time().elapsed(), 8.5);
}

#[test]
fn the_catch_up_rate_recovers_gradually() {
    let (mut world, seen) = stepping(FixedRateCatchUp::new(0.125));
    world.set_maximum_delta(0.25).unwrap();
    world.set_time(Time::new(0.875, 0.0)).unwrap();
    let mut frames = Vec::new();
    for _ in 0..4 {
        world.update(0.0);
        frames.push(seen.elapsed());
    }
    let expected: [&[f64]; 4] = [&[0.0, 0.125, 0.25], &[0.375, 0.5], &[0.625, 0.75], &[0.875]];
    assert_eq!(frames, expected);
}

#[test]
fn the_simple_fixed_rate_ticks_once_with_its_own_clock() {
    let (mut world, seen) = stepping(FixedRateSimple::new(0.5));
    world.update(0.25);
    world.update(0.001);
    world.update(0.0);
    assert_eq!(seen.elapsed(), [0.0, 0.5, 1.0]);
}

#[test]
fn the_variable_rate_waits_for_its_clock() {
    let mut readings = [0, 30, 70, 80].into_iter();
    let clock = move || Duration::from_millis(readings.next().unwrap());
    let (mut world, seen) = stepping(VariableRate::default().with_clock(clock));
    for _ in 0..4 {
        world.update(0.25);
    }
    let seen: Vec<_> = seen.take().iter().map(|time| (time.elapsed(), time.delta_f64())).collect();
    assert_eq!(seen, [(0.25, 0.0), (0.75, 0.07)]);
}

#[test]
fn the_fixed_step_is_a_sixtieth_of_a_second() {
    let seen = Seen::default();
    let mut world = World::new("Simulation");
    world.add_system(seen.system().in_group(FixedStep));
    world.update(1.0 / 60.0);
    assert_eq!(seen.elapsed(), [0.0, 1.0 / 60.0]);
    for _ in 0..100 {
        world.update(1.0 / 60.0);
        assert_eq!(seen.elapsed(), [world.time().elapsed()]);
    }
}

#[test]
fn a_fixed_step_of_zero_is_refused() {
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(FixedRateCatchUp::try_new(bad).is_err(), "{bad}");
        assert!(FixedRateSimple::try_new(bad).is_err(), "{bad}");
    }
    let told = FixedRateCatchUp::try_new(0.0).unwrap_err().to_string();
    assert_eq!(
        told,
        "A0121: the time step of a group cannot be 0 seconds; pass a finite number above zero"
    );
}

#[test]
fn without_a_manager_a_group_updates_once_in_the_time_around_it() {
    let seen = Seen::default();
    let mut world = World::new("Simulation");
    world.add_system(Steps);
    world.add_system(seen.system().in_group(Steps));
    world.update(0.25);
    assert_eq!(seen.take(), [world.time()]);
}

#[test]
fn groups_nest_in_the_time_of_the_outer_one() {
    struct Fine;
    impl SystemGroup for Fine {}

    let (mut world, _) = stepping(FixedRateCatchUp::new(0.25));
    let seen = Seen::default();
    world.add_system(Fine.in_group(Steps).rate(FixedRateCatchUp::new(0.125)));
    world.add_system(seen.system().in_group(Fine));
    world.set_maximum_delta(1.0).unwrap();
    world.update(0.25);
    assert_eq!(seen.elapsed(), [0.0, 0.125, 0.25]);
}

#[test]
fn the_time_of_the_world_is_restored_when_a_system_panics() {
    let (mut world, seen) = stepping(FixedRateSimple::new(0.5));
    world.add_system((|| -> () { panic!("in a step") }).in_group(Steps));
    world.add_system(seen.system().in_group(Presentation));
    assert!(world.try_update(0.25).is_err());
    assert_eq!(seen.elapsed(), [0.0, 0.25]);
    assert_eq!(world.time().elapsed(), 0.25);
}

#[test]
fn a_time_that_a_system_forgot_to_pop_is_popped() {
    let trace = Trace::default();
    let seen = Seen::default();
    let mut world = World::new("Simulation");
    let forgetful = Probe::<0>::new(&trace).updating(|world| {
        world.push_time(Time::new(99.0, 1.0))?;
        panic!("before popping");
    });
    world.add_system(forgetful);
    world.add_system(seen.system().in_group(Presentation));
    assert!(world.try_update(0.25).is_err());
    assert!(world.try_update(0.25).is_err());
    assert_eq!(seen.elapsed(), [0.25, 0.5]);
}

#[test]
fn times_pushed_in_lifecycle_calls_are_popped() {
    let push = |world: &mut World| {
        world.push_time(Time::new(10.0, 1.0))?;
        world.push_time(Time::new(20.0, 1.0))?;
        Ok(())
    };
    let (seen, trace) = (Seen::default(), Trace::default());
    let mut world = World::new("Simulation");
    let probe = Probe::<0>::new(&trace).creating(push).starting(push).stopping(push);
    let id = world.add_system(probe.destroying(push));
    assert_eq!(world.time(), Time::default());
    world.add_system(seen.system());
    world.try_update(0.25).unwrap();
    world.set_system_enabled(id, false).unwrap();
    world.try_update(0.25).unwrap();
    world.remove_system(id).unwrap();
    world.try_update(0.25).unwrap();
    assert_eq!(seen.elapsed(), [0.25, 0.5, 0.75]);
    assert_eq!(trace.take(), "create start update stop destroy");
    assert!(world.pop_time().is_err(), "nothing is left");
}

#[test]
fn a_system_that_panics_when_it_starts_leaves_no_time_behind() {
    let (seen, trace) = (Seen::default(), Trace::default());
    let mut world = World::new("Simulation");
    let probe = Probe::<0>::new(&trace).starting(|world| {
        world.push_time(Time::new(10.0, 1.0))?;
        panic!("in start");
    });
    world.add_system(probe);
    world.add_system(seen.system());
    assert!(world.try_update(0.25).is_err());
    assert_eq!(seen.elapsed(), [0.25]);
    assert!(world.pop_time().is_err());
}

#[test]
fn a0122_a_system_pops_no_time_that_it_has_not_pushed() {
    let refused =
        "A0122: there is no earlier time to go back to; call `pop_time` once for each `push_time`";
    let (mut world, seen) = stepping(FixedRateSimple::new(0.5));
    let trace = Trace::default();
    let pop = move |world: &mut World| {
        assert_eq!(world.pop_time().unwrap_err().to_string(), refused);
        world.push_time(Time::new(10.0, 1.0))?;
        assert_eq!(world.pop_time()?.elapsed(), 10.0);
        assert_eq!(world.pop_time().unwrap_err().to_string(), refused);
        Ok(())
    };
    let probe = Probe::<0>::new(&trace).creating(pop).starting(pop).updating(pop);
    let id = world.add_system(probe.stopping(pop).destroying(pop).in_group(Steps));
    world.add_system(seen.system().in_group(Steps));
    // A time pushed from outside cannot be popped either.
    world.push_time(Time::new(100.0, 1.0)).unwrap();
    world.try_update(0.25).unwrap();
    world.try_update(0.25).unwrap();
    world.set_system_enabled(id, false).unwrap();
    world.update_system(id).unwrap();
    world.remove_system(id).unwrap();
    assert_eq!(trace.take(), "create start update update stop destroy");
    assert_eq!(seen.elapsed(), [0.0, 0.0, 0.5, 0.5]);
    assert_eq!(world.time().elapsed(), 100.5);
    world.pop_time().unwrap();
    assert_eq!(world.time().elapsed(), 0.0);
}

#[test]
fn a0122_a_system_that_updates_another_keeps_its_times() {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    let inner = world.add_system(Probe::<1>::new(&trace).updating(|world| {
        assert!(world.pop_time().is_err());
        Ok(())
    }));
    let outer = world.add_system(Probe::<0>::new(&trace).updating(move |world| {
        world.push_time(Time::new(10.0, 1.0))?;
        world.update_system(inner)?;
        assert_eq!(world.pop_time()?.elapsed(), 10.0);
        Ok(())
    }));
    world.update_system(outer).unwrap();
    assert_eq!(world.time(), Time::default());
}
