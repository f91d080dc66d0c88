//! The clock of a world: time scale and pauses.

use std::time::Duration;

use ancho_entities::{
    FixedRateCatchUp, FixedStep, IntoSystem, ResMut, SystemGroup, Time, TimeError, VariableRate,
    World,
};

use crate::common::{Log, take, world};

fn log(time: Time, mut log: ResMut<Log>) {
    log.0.push(format!("{} {} {}", time.elapsed(), time.delta(), time.unscaled_delta()));
}

#[test]
fn the_scale_is_applied_before_the_maximum() {
    let mut world = world();
    world.add_system(log);
    world.set_time_scale(2.0).unwrap();
    world.set_maximum_delta(1.0).unwrap();
    world.update(0.25);
    world.update(4.0);
    world.set_time_scale(0.0).unwrap();
    world.update(0.5);
    assert_eq!(take(&mut world), ["0.5 0.5 0.25", "1.5 1 4", "1.5 0 0.5"]);
}

#[test]
fn a0120_a_bad_scale_is_refused_and_changes_nothing() {
    let mut world = World::new("test");
    world.set_time_scale(0.5).unwrap();
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(world.set_time_scale(bad), Err(TimeError::Scale { .. })));
    }
    assert_eq!(
        world.set_time_scale(-1.0).unwrap_err().to_string(),
        "A0120: the time scale cannot be -1; pass a finite number, zero or above, or call `pause`"
    );
    assert_eq!(world.time_scale(), 0.5);
}

#[test]
fn systems_run_while_the_world_is_paused_and_fixed_steps_do_not() {
    let mut world = world();
    world.set_rate(FixedStep, FixedRateCatchUp::new(0.25)).unwrap();
    world.add_system((|mut log: ResMut<Log>| log.0.push("step".into())).in_group(FixedStep));
    world.add_system(log);
    world.pause();
    assert!(world.is_paused());
    world.update(1.0);
    world.update(1.0);
    assert_eq!(take(&mut world), ["0 0 1", "0 0 1"], "not even the first step");
    world.resume();
    world.update(0.25);
    assert_eq!(take(&mut world), ["step", "step", "0.25 0.25 0.25"], "no step is caught up");
}

#[test]
fn a_pause_by_a_system_begins_with_the_next_update() {
    let mut world = world();
    world.set_rate(FixedStep, FixedRateCatchUp::new(0.25)).unwrap();
    world.add_system((|world: &mut World| world.pause()).in_group(ancho_entities::Initialization));
    world.add_system(log.in_group(FixedStep));
    world.update(0.25);
    world.update(0.25);
    assert_eq!(take(&mut world), ["0 0.25 0.25", "0.25 0.25 0.25"]);
}

#[test]
fn a_variable_rate_goes_on_while_the_world_is_paused() {
    struct Slow;

    impl SystemGroup for Slow {}

    let mut now = 0;
    let clock = move || {
        now += 100;
        Duration::from_millis(now)
    };
    let mut world = world();
    world.add_system(Slow.rate(VariableRate::new(Duration::from_millis(50)).with_clock(clock)));
    world.add_system((|mut log: ResMut<Log>| log.0.push("slow".into())).in_group(Slow));
    world.pause();
    world.update(1.0);
    world.update(1.0);
    assert_eq!(take(&mut world), ["slow", "slow"]);
}
