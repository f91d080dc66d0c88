//! Requests, rounds and their systems.

use ancho_entities::{
    Commands, Initialization, IntoSystem, IntoSystems, NextState, ResMut, State, in_state, not,
};

use super::{Game, update, world};
use crate::common::{A, Log, say};

#[test]
fn the_systems_of_the_initial_value_run_at_the_first_update() {
    let mut world = world();
    world.add_system(say("enter").on_enter(Game::Menu));
    world.add_system(say("tick"));
    assert_eq!(world.state(), Some(&Game::Menu));
    assert_eq!(update(&mut world), ["enter", "tick"]);
    assert_eq!(update(&mut world), ["tick"]);
}

#[test]
fn exit_transition_and_enter_systems_run_in_this_order() {
    let mut world = world();
    world.add_system(say("enter running").on_enter(Game::Running));
    world.add_system(say("menu to running").on_transition(Game::Menu, Game::Running));
    world.add_system(say("running to menu").on_transition(Game::Running, Game::Menu));
    world.add_system(say("exit menu").on_exit(Game::Menu));
    world.add_system(say("exit running").on_exit(Game::Running));
    assert!(update(&mut world).is_empty());
    world.set_state(Game::Running).unwrap();
    assert_eq!(world.state(), Some(&Game::Menu), "it changes at the next update");
    assert_eq!(update(&mut world), ["exit menu", "menu to running", "enter running"]);
    assert_eq!(world.state(), Some(&Game::Running));
    world.set_state(Game::Over(3)).unwrap();
    assert_eq!(update(&mut world), ["exit running"]);
}

#[test]
fn exit_systems_read_the_old_value_and_others_the_new_one() {
    let mut world = world();
    let log = |game: State<'_, Game>, mut log: ResMut<'_, Log>| log.0.push(format!("{:?}", *game));
    world.add_system(log.on_exit(Game::Menu));
    world.add_system(log.on_transition(Game::Menu, Game::Running));
    world.add_system(log.on_enter(Game::Running));
    world.update(0.1);
    world.set_state(Game::Running).unwrap();
    assert_eq!(update(&mut world), ["Menu", "Running", "Running"]);
}

#[test]
fn the_last_request_wins() {
    let mut world = world();
    world.add_system(say("running").on_enter(Game::Running));
    world.add_system(say("over").on_enter(Game::Over(1)));
    world.update(0.1);
    world.set_state(Game::Running).unwrap();
    world
        .run_system(|mut next: NextState<'_, Game>| {
            assert_eq!(next.requested(), Some(&Game::Running));
            next.set(Game::Over(1));
        })
        .unwrap();
    assert_eq!(update(&mut world), ["over"]);
    world.set_state(Game::Running).unwrap();
    world.run_system(|mut next: NextState<'_, Game>| next.clear()).unwrap();
    assert!(update(&mut world).is_empty());
}

#[test]
fn a_request_before_the_first_update_follows_the_initial_value() {
    let mut world = world();
    world.add_system(say("enter menu").on_enter(Game::Menu));
    world.add_system(say("exit menu").on_exit(Game::Menu));
    world.add_system(say("enter running").on_enter(Game::Running));
    world.set_state(Game::Running).unwrap();
    assert_eq!(update(&mut world), ["enter menu", "exit menu", "enter running"]);
}

#[test]
fn a_request_for_the_current_value_does_nothing() {
    let mut world = world();
    world.add_systems((say("exit"), say("again")).on_exit(Game::Menu));
    world.add_system(say("enter").on_enter(Game::Menu));
    assert_eq!(update(&mut world), ["enter"]);
    world.set_state(Game::Menu).unwrap();
    assert!(update(&mut world).is_empty());
}

#[test]
fn a_state_is_entered_again() {
    let mut world = world();
    world.add_system(say("exit").on_exit(Game::Menu));
    world.add_system(say("again").on_transition(Game::Menu, Game::Menu));
    world.add_system(say("enter").on_enter(Game::Menu));
    world.update(0.1);
    crate::common::take(&mut world);
    world.run_system(|mut next: NextState<'_, Game>| next.reenter()).unwrap();
    assert_eq!(update(&mut world), ["exit", "again", "enter"]);
    assert!(update(&mut world).is_empty());
}

#[test]
fn a_request_of_a_transition_starts_another_round() {
    let mut world = world();
    let go_on = |mut next: NextState<'_, Game>| next.set(Game::Over(7));
    world.add_systems((say("enter running"), go_on).on_enter(Game::Running));
    world.add_system(say("exit running").on_exit(Game::Running));
    world.add_system(say("enter over").on_enter(Game::Over(7)));
    world.add_system(say("tick"));
    world.update(0.1);
    crate::common::take(&mut world);
    world.set_state(Game::Running).unwrap();
    assert_eq!(update(&mut world), ["enter running", "exit running", "enter over", "tick"]);
}

#[test]
fn systems_request_states_with_parameters_and_commands() {
    let mut world = world();
    world.add_system(
        (|mut next: NextState<'_, Game>| next.set(Game::Running)).run_if(in_state(Game::Menu)),
    );
    world.add_system(
        (|mut commands: Commands<'_>| commands.set_state(Game::Over(1)))
            .run_if(in_state(Game::Running)),
    );
    world.update(0.1);
    assert_eq!(world.state(), Some(&Game::Menu));
    world.update(0.1);
    assert_eq!(world.state(), Some(&Game::Running));
    world.update(0.1);
    assert_eq!(world.state(), Some(&Game::Over(1)));
}

#[test]
fn the_condition_of_a_state_is_true_while_it_has_the_value() {
    let mut world = world();
    world.add_system(say("menu").run_if(in_state(Game::Menu)));
    world.add_system(say("other").run_if(not(in_state(Game::Menu))));
    assert_eq!(update(&mut world), ["menu"]);
    world.set_state(Game::Over(1)).unwrap();
    assert_eq!(update(&mut world), ["other"]);
}

#[test]
fn a_state_changes_before_the_point_and_the_systems_of_its_group() {
    let mut world = world();
    let log = |game: State<'_, Game>, mut log: ResMut<'_, Log>| log.0.push(format!("{:?}", *game));
    world.add_system(log.in_group(Initialization));
    world.add_system(log);
    world.update(0.1);
    crate::common::take(&mut world);
    world.set_state(Game::Running).unwrap();
    assert_eq!(update(&mut world), ["Menu", "Running"]);
}

#[test]
fn commands_of_a_transition_are_played_after_each_system() {
    use ancho_entities::Query;
    let mut world = world();
    let spawn = |mut commands: Commands<'_>| {
        commands.spawn(A(1));
    };
    let count = |all: Query<'_, &A>, mut log: ResMut<'_, Log>| log.0.push(all.count().to_string());
    world.add_systems((spawn, count).on_enter(Game::Menu).chain());
    assert_eq!(update(&mut world), ["1"]);
}

#[test]
fn systems_of_a_value_are_ordered_and_guarded_as_others() {
    let mut world = world();
    world.add_system(say("second").named("second").on_enter(Game::Menu));
    world.add_system(say("first").on_enter(Game::Menu).before("second"));
    world.add_system(say("never").on_enter(Game::Menu).run_if(|| false));
    assert_eq!(update(&mut world), ["first", "second"]);
}

#[test]
fn a_changed_state_is_seen_once() {
    let mut world = world();
    let log = |mut log: ResMut<'_, Log>| log.0.push("changed".to_owned());
    world.add_system(log.run_if(|game: State<'_, Game>| game.is_changed()));
    assert_eq!(update(&mut world), ["changed"]);
    assert!(update(&mut world).is_empty());
    world.set_state(Game::Running).unwrap();
    assert_eq!(update(&mut world), ["changed"]);
    assert!(update(&mut world).is_empty());
}
