//! Update times of rate managers.

use std::time::Duration;

use super::*;

/// Returns the times of the group's updates in one turn, in a world with the time `elapsed`.
fn ticks(rate: &mut dyn RateManager, elapsed: f64, maximum_delta: f64) -> Vec<f64> {
    let mut turn = RateTurn { time: Time::new(elapsed, 0.0), maximum_delta, updates: 0 };
    let mut ticks = Vec::new();
    while let Some(time) = rate.next_update(turn) {
        assert_eq!(Some(time.delta_f64()), rate.timestep());
        ticks.push(time.elapsed());
        turn.updates += 1;
    }
    ticks
}

#[test]
fn catch_up_ticks_from_zero_to_the_time_of_the_world() {
    let mut rate = FixedRateCatchUp::new(1.0);
    let all = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
    assert_eq!(ticks(&mut rate, 8.5, 10.0), all);
    assert_eq!(ticks(&mut rate, 8.9, 10.0), []);
    assert_eq!(ticks(&mut rate, 9.0, 10.0), [9.0]);
}

#[test]
fn catch_up_recovers_gradually() {
    let mut rate = FixedRateCatchUp::new(0.125);
    let turns: Vec<_> = (0..5).map(|_| ticks(&mut rate, 0.875, 0.25)).collect();
    let expected: [&[f64]; 5] = [&[0.0, 0.125, 0.25], &[0.375, 0.5], &[0.625, 0.75], &[0.875], &[]];
    assert_eq!(turns, expected);
}

#[test]
fn catch_up_without_a_maximum_runs_the_steps_of_the_update() {
    for (timestep, deltas) in
        [(0.1, [0.7, 0.05, 0.35, 2.0]), (1.0 / 60.0, [10.0, 0.0, 0.4, 1.0 / 60.0]), (3.0, [1.0; 4])]
    {
        let mut rate = FixedRateCatchUp::new(timestep);
        let (mut elapsed, mut next) = (0.0, 0.0);
        for delta in deltas {
            elapsed += delta;
            let time = Time::new(elapsed, delta);
            let mut turn = RateTurn { time, maximum_delta: f64::INFINITY, updates: 0 };
            while let Some(time) = rate.next_update(turn) {
                assert_eq!(time.elapsed(), next);
                next += timestep;
                turn.updates += 1;
            }
            assert!(next > elapsed, "{next} of {elapsed}");
        }
    }
}

#[test]
fn catch_up_without_a_maximum_recovers_a_third_of_a_second_per_update() {
    let mut rate = FixedRateCatchUp::new(0.125);
    let turns: Vec<_> = (0..3).map(|_| ticks(&mut rate, 3600.0, f64::INFINITY)).collect();
    let expected: [&[f64]; 3] = [&[0.0, 0.125, 0.25], &[0.375, 0.5], &[0.625, 0.75]];
    assert_eq!(turns, expected);
}

#[test]
fn catch_up_may_always_go_one_step() {
    let mut rate = FixedRateCatchUp::new(0.5);
    assert_eq!(ticks(&mut rate, 3.0, 0.001), [0.0, 0.5]);
    assert_eq!(ticks(&mut rate, 3.0, 0.001), [1.0]);
}

#[test]
fn a_changed_step_counts_from_the_last_update() {
    let mut rate = FixedRateCatchUp::new(1.0);
    assert_eq!(ticks(&mut rate, 2.2, 10.0), [0.0, 1.0, 2.0]);
    rate.set_timestep(0.25).unwrap();
    assert_eq!(ticks(&mut rate, 2.5, 10.0), [2.25, 2.5]);

    let mut rate = FixedRateSimple::new(1.0);
    assert_eq!(ticks(&mut rate, 0.0, 1.0), [0.0]);
    rate.set_timestep(0.25).unwrap();
    assert_eq!(ticks(&mut rate, 0.0, 1.0), [0.25]);
    assert_eq!(ticks(&mut rate, 0.0, 1.0), [0.5]);
}

#[test]
fn simple_has_a_clock_of_its_own() {
    let mut rate = FixedRateSimple::new(0.5);
    rate.set_timestep(0.25).unwrap();
    assert_eq!(ticks(&mut rate, 100.0, 1.0), [0.0]);
    assert_eq!(ticks(&mut rate, 100.0, 1.0), [0.25]);
    assert_eq!(ticks(&mut rate, 7.0, 1.0), [0.5]);
}

#[test]
fn steps_are_clamped() {
    assert_eq!(FixedRateCatchUp::new(1e-9).timestep(), Some(0.0001));
    assert_eq!(FixedRateCatchUp::new(1e9).timestep(), Some(10.0));
    assert_eq!(FixedRateSimple::new(1e-9).timestep(), Some(0.0001));
    assert_eq!(FixedRateSimple::new(11.0).timestep(), Some(10.0));
}

#[test]
fn invalid_steps_are_refused_and_change_nothing() {
    let mut catch_up = FixedRateCatchUp::new(0.5);
    let mut simple = FixedRateSimple::new(0.5);
    let mut variable = VariableRate::default();
    for bad in [0.0, -0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(FixedRateCatchUp::try_new(bad).is_err(), "{bad}");
        assert!(FixedRateSimple::try_new(bad).is_err(), "{bad}");
        assert!(catch_up.set_timestep(bad).is_err(), "{bad}");
        assert!(simple.set_timestep(bad).is_err(), "{bad}");
        assert!(variable.set_timestep(bad).is_err(), "{bad}");
    }
    assert!(variable.set_timestep(1e300).is_err());
    assert_eq!(catch_up.timestep(), Some(0.5));
    assert_eq!(simple.timestep(), Some(0.5));
    assert_eq!(variable.timestep(), Some(0.066));
}

#[test]
fn a_world_that_updates_by_the_step_has_one_update_each_time() {
    let mut rate = FixedRateCatchUp::new(1.0 / 60.0);
    let mut elapsed = 0.0;
    assert_eq!(ticks(&mut rate, elapsed, 1.0 / 3.0), [0.0]);
    for frame in 0..100_000 {
        elapsed += 1.0 / 60.0;
        assert_eq!(ticks(&mut rate, elapsed, 1.0 / 3.0), [elapsed], "{frame}");
    }
}

#[test]
fn a_late_group_begins_late() {
    let mut rate = FixedRateCatchUp::new(0.5).starting_at(100.0);
    assert_eq!(ticks(&mut rate, 100.25, 1.0), [100.0]);
    assert_eq!(ticks(&mut rate, 100.5, 1.0), [100.5]);
}

#[test]
fn steps_lost_in_rounding_do_not_hang() {
    let mut rate = FixedRateCatchUp::new(0.0001).starting_at(1e18);
    assert_eq!(ticks(&mut rate, 1e18, 1.0), [1e18]);
    assert_eq!(ticks(&mut rate, 2e18, 1e17), []);
}

#[test]
fn a_world_whose_time_goes_back_waits() {
    let mut rate = FixedRateCatchUp::new(1.0);
    assert_eq!(ticks(&mut rate, 2.0, 10.0), [0.0, 1.0, 2.0]);
    assert_eq!(ticks(&mut rate, 0.5, 10.0), []);
    assert_eq!(ticks(&mut rate, 3.0, 10.0), [3.0]);
}

#[test]
fn variable_waits_for_its_clock() {
    let mut readings = [1000, 1065, 1066, 1067, 1500, 1400].into_iter();
    let mut rate =
        VariableRate::default().with_clock(move || Duration::from_millis(readings.next().unwrap()));
    let turn = RateTurn { time: Time::new(3.0, 0.5), maximum_delta: 1.0, updates: 0 };
    let mut deltas = || {
        let delta = rate.next_update(turn).map(|time| time.delta_f64());
        // The turn ends after one update, and the clock is not read again.
        assert_eq!(rate.next_update(RateTurn { updates: 1, ..turn }), None);
        delta
    };
    let expected = [Some(0.0), None, Some(0.066), None, Some(0.434), None];
    assert_eq!(std::array::from_fn(|_| deltas()), expected);
}
