//! States of groups that make 0, 1 or 3 steps.

use ancho_entities::{FixedStep, IntoSystem, NextState, ResMut, State, States, World};

use crate::common::{self, Log, say, take};

#[derive(States, Clone, Debug, PartialEq)]
struct Turn(u32);

/// Creates a world whose state changes in `FixedStep`, with a step of a quarter of a second.
fn stepped() -> World {
    let mut world = common::world();
    world.add_state_in(FixedStep, Turn(0));
    world.set_timestep(FixedStep, 0.25).unwrap();
    world.update(0.0);
    world
}

#[test]
fn a_request_waits_for_a_step() {
    let mut world = stepped();
    world.add_system(say("enter").on_enter(Turn(1)));
    world.set_state(Turn(1)).unwrap();
    world.update(0.1);
    assert!(take(&mut world).is_empty());
    assert_eq!(world.state(), Some(&Turn(0)));
    world.update(0.2);
    assert_eq!(take(&mut world), ["enter"]);
    assert_eq!(world.state(), Some(&Turn(1)));
}

#[test]
fn each_step_makes_a_transition() {
    for (seconds, steps) in [(0.1, 0), (0.25, 1), (0.75, 3)] {
        let mut world = stepped();
        let next =
            |turn: State<'_, Turn>, mut next: NextState<'_, Turn>, mut log: ResMut<'_, Log>| {
                log.0.push(turn.0.to_string());
                next.set(Turn(turn.0 + 1));
            };
        world.add_system(next.in_group(FixedStep));
        world.update(seconds);
        let expected: Vec<_> = (0..steps).map(|step: u32| step.to_string()).collect();
        assert_eq!(take(&mut world), expected);
        assert_eq!(world.state(), Some(&Turn(steps.saturating_sub(1))));
    }
}

#[test]
fn the_initial_value_is_entered_at_the_first_step() {
    let mut world = common::world();
    world.add_state_in(FixedStep, Turn(0));
    world.set_timestep(FixedStep, 0.25).unwrap();
    world.add_system(say("enter").on_enter(Turn(0)));
    world.add_system(say("step").in_group(FixedStep));
    world.update(0.0);
    assert_eq!(take(&mut world), ["enter", "step"]);
}

#[test]
fn a_step_that_a_condition_skips_makes_no_transition() {
    let mut world = stepped();
    world.add_run_condition(FixedStep, || false).unwrap();
    world.set_state(Turn(1)).unwrap();
    world.update(1.0);
    assert_eq!(world.state(), Some(&Turn(0)));
}
