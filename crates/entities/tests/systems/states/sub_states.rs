//! States that exist while their parent has one value.

use ancho_entities::{IntoSystem, NextState, State, States, in_state};

use super::{Game, Phase, update, world};
use crate::common::{say, take};

fn with_phase() -> ancho_entities::World {
    let mut world = world();
    world.add_sub_state::<Phase>();
    for (enter, exit, value) in
        [("enter day", "exit day", Phase::Day), ("enter night", "exit night", Phase::Night)]
    {
        world.add_system(say(enter).on_enter(value.clone()));
        world.add_system(say(exit).on_exit(value));
    }
    world.add_system(say("enter running").on_enter(Game::Running));
    world.add_system(say("exit running").on_exit(Game::Running));
    world.update(0.1);
    take(&mut world);
    world
}

#[test]
fn a_sub_state_exists_while_its_parent_has_the_value() {
    let mut world = with_phase();
    assert_eq!(world.state::<Phase>(), None);
    world.set_state(Game::Running).unwrap();
    assert_eq!(update(&mut world), ["enter running", "enter day"]);
    assert_eq!(world.state(), Some(&Phase::Day));
    world.set_state(Phase::Night).unwrap();
    assert_eq!(update(&mut world), ["exit day", "enter night"]);
    world.set_state(Game::Menu).unwrap();
    assert_eq!(update(&mut world), ["exit night", "exit running"]);
    assert_eq!(world.state::<Phase>(), None);
    world.set_state(Game::Running).unwrap();
    assert_eq!(update(&mut world), ["enter running", "enter day"], "it starts at its default");
}

#[test]
fn parameters_and_conditions_of_a_missing_sub_state() {
    let mut world = with_phase();
    world.add_system(say("day").run_if(in_state(Phase::Day)));
    world.add_system(say("none").run_if(|phase: Option<State<'_, Phase>>| phase.is_none()));
    assert_eq!(update(&mut world), ["none"]);
    world.set_state(Game::Running).unwrap();
    assert_eq!(update(&mut world), ["enter running", "enter day", "day"]);
    world.set_state(Game::Menu).unwrap();
    world.update(0.1);
    world.add_system((|_: State<'_, Phase>| ()).named("reader"));
    let message = world.try_update(0.1).unwrap_err().to_string();
    assert!(
        message.starts_with(
            "A0226: system `reader` was not run, because the state `Phase` does not exist"
        ),
        "{message}"
    );
}

#[test]
fn a_request_of_the_round_that_creates_it_is_its_initial_value() {
    let mut world = with_phase();
    world.set_state(Game::Running).unwrap();
    world.set_state(Phase::Night).unwrap();
    assert_eq!(update(&mut world), ["enter running", "enter night"]);
}

#[test]
fn a_request_while_it_does_not_exist_is_refused() {
    let mut world = with_phase();
    world.set_state(Phase::Night).unwrap();
    let message = world.try_update(0.1).unwrap_err().to_string();
    assert_eq!(
        message,
        "A0231: the request of state `Phase` (Night) was dropped, because the state does not exist: its parent has another \
         value; set the parent first, or in the same step"
    );
    world.set_state(Game::Running).unwrap();
    world.update(0.1);
    assert_eq!(world.state(), Some(&Phase::Day), "the request is not kept");
}

#[test]
fn a_sub_state_starts_again_when_its_parent_is_entered_again() {
    let mut world = with_phase();
    world.set_state(Game::Running).unwrap();
    world.set_state(Phase::Night).unwrap();
    world.update(0.1);
    take(&mut world);
    world.reenter_state::<Game>().unwrap();
    let lines = update(&mut world);
    assert_eq!(lines, ["exit night", "exit running", "enter running", "enter day"]);
    assert_eq!(world.state(), Some(&Phase::Day));
    world.run_system(|mut next: NextState<'_, Phase>| next.reenter()).unwrap();
    assert_eq!(update(&mut world), ["exit day", "enter day"]);
}

#[test]
fn sub_states_have_sub_states() {
    #[derive(States, Clone, Debug, Default, PartialEq)]
    #[sub_state(of = Phase::Night)]
    struct Moon(u32);

    let mut world = with_phase();
    world.add_sub_state::<Moon>();
    world.add_system(say("enter moon").on_enter(Moon(0)));
    world.add_system(say("exit moon").on_exit(Moon(0)));
    world.set_state(Game::Running).unwrap();
    world.set_state(Phase::Night).unwrap();
    assert_eq!(update(&mut world), ["enter running", "enter night", "enter moon"]);
    world.set_state(Game::Over(1)).unwrap();
    assert_eq!(update(&mut world), ["exit moon", "exit night", "exit running"]);
    assert_eq!((world.state::<Phase>(), world.state::<Moon>()), (None, None));
}

#[test]
fn a_sub_state_that_is_added_later_exists_from_the_next_update() {
    let mut world = world();
    world.set_state(Game::Running).unwrap();
    world.update(0.1);
    world.add_sub_state::<Phase>();
    world.add_system(say("enter day").on_enter(Phase::Day));
    assert_eq!(update(&mut world), ["enter day"]);
}
