//! Systems and values that fail during transitions.

use ancho_entities::{
    ComputedState, IntoSystem, NextState, Plugin, States, SystemResult, World, in_state,
};

use super::{Game, update, world};
use crate::common::{self, say, take};

#[test]
fn a_failing_enter_system_does_not_stop_the_others() {
    let mut world = world();
    world.add_system((|| panic!("no music")).named("music").on_enter(Game::Running));
    world.add_system((|| Err::<(), _>("no light")).named("light").on_enter(Game::Running));
    world.add_system(say("entered").on_enter(Game::Running));
    world.add_system(say("tick"));
    world.update(0.1);
    take(&mut world);
    world.set_state(Game::Running).unwrap();
    let message = world.try_update(0.1).unwrap_err().to_string();
    assert_eq!(
        message,
        "A0105: system `music` panicked: no music\nA0106: system `light` failed: no light"
    );
    assert_eq!(take(&mut world), ["entered", "tick"]);
    assert_eq!(world.state(), Some(&Game::Running), "the state stays changed");
    assert!(world.check_invariants().is_ok());
    assert_eq!(update(&mut world), ["tick"]);
}

#[test]
fn endless_transitions_are_reported_and_the_last_request_waits() {
    let mut world = world();
    let to = |value: Game| move |mut next: NextState<'_, Game>| next.set(value.clone());
    world.add_system(to(Game::Running).on_enter(Game::Menu));
    world.add_system(to(Game::Menu).on_enter(Game::Running));
    let message = world.try_update(0.1).unwrap_err().to_string();
    assert!(
        message.starts_with(
            "A0230: state `Game` was requested again after eight rounds of transitions at one point, and the request waits for the \
             next step; the rounds after the first one: `Game` from Menu to Running, then `Game` from Running to Menu, then "
        ),
        "{message}"
    );
    let before = world.state::<Game>().cloned();
    world.try_update(0.1).unwrap_err();
    assert_eq!(world.state::<Game>().cloned(), before, "after eight more rounds");
}

#[test]
#[should_panic(expected = "A0227: this world already has the state `Game`")]
fn a_state_is_added_once() {
    world().add_state(Game::Running);
}

#[test]
fn a_state_that_was_not_added_is_reported() {
    let mut world = common::world();
    assert_eq!(
        world.set_state(Game::Menu).unwrap_err().to_string(),
        "A0226: this world has no state `Game`; add it with `add_state`"
    );
    world.add_system(say("run").run_if(in_state(Game::Menu)));
    let message = world.try_update(0.1).unwrap_err().to_string();
    assert_eq!(
        message,
        "A0232: the state `Game` was not added to this world, but a system uses it; add it with `add_state`"
    );
    world.add_state(Game::Menu);
    assert_eq!(update(&mut world), ["run"]);
    let mut other = common::world();
    other.add_system(say("enter").on_enter(Game::Menu));
    assert!(other.try_update(0.1).unwrap_err().to_string().starts_with("A0232: "));
}

#[test]
fn a_panic_of_a_computed_state_is_reported() {
    #[derive(States, Clone, Debug, PartialEq)]
    #[computed_state]
    #[state(name = "Fragile")]
    struct Fragile;

    impl ComputedState for Fragile {
        type Sources = Game;

        fn compute(game: Option<&Game>) -> Option<Self> {
            assert_ne!(game, Some(&Game::Running), "no way");
            Some(Self)
        }
    }

    let mut world = world();
    world.add_computed_state::<Fragile>();
    world.update(0.1);
    world.set_state(Game::Running).unwrap();
    let message = world.try_update(0.1).unwrap_err().to_string();
    assert!(
        message.starts_with("A0105: code of state `Fragile` panicked: ")
            && message.contains("no way"),
        "{message}"
    );
    assert_eq!((world.state(), world.state()), (Some(&Game::Running), Some(&Fragile)));
    world.update(0.1);
}

#[test]
fn states_of_a_failed_plugin_are_removed() {
    #[derive(States, Clone, Debug, PartialEq)]
    enum Menu {
        Main,
    }
    struct Broken;
    impl Plugin for Broken {
        fn build(self, world: &mut World) -> SystemResult {
            world.add_state(Menu::Main);
            world.add_system(say("enter").on_enter(Menu::Main));
            Err("no device".into())
        }
    }
    let mut world = world();
    world.try_add_plugin(Broken).unwrap_err();
    assert_eq!(world.state::<Menu>(), None);
    world.add_state(Menu::Main);
    world.add_system(say("mine").on_enter(Menu::Main));
    assert_eq!(update(&mut world), ["mine"]);
}

#[test]
fn states_are_not_added_during_an_update() {
    let mut world = common::world();
    world.add_system((|world: &mut World| world.add_state(Game::Menu)).named("late"));
    let message = world.try_update(0.1).unwrap_err().to_string();
    assert!(
        message.contains("A0109: `add_state` was called while the world is being updated"),
        "{message}"
    );
}

#[test]
fn a_system_of_a_transition_can_be_added_during_an_update() {
    let mut world = world();
    world.add_system(
        (|world: &mut World| {
            world.add_system(say("running").on_enter(Game::Running));
        })
        .on_enter(Game::Menu),
    );
    world.update(0.1);
    world.set_state(Game::Running).unwrap();
    assert_eq!(update(&mut world), ["running"]);
}
