//! States in forks, hashes and rollbacks.

use ancho_entities::{IntoSystem, NextState, State, in_state};

use super::{Game, Phase, update, world};
use crate::common::{say, take};

#[test]
fn values_and_requests_are_part_of_forks_and_hashes() {
    let mut world = world();
    world.update(0.1);
    let mut fork = world.fork().unwrap();
    assert_eq!(fork.state(), Some(&Game::Menu));
    assert_eq!(world.state_hash(), fork.state_hash());
    world.set_state(Game::Running).unwrap();
    assert_ne!(world.state_hash(), fork.state_hash(), "the request counts");
    fork.set_state(Game::Running).unwrap();
    assert_eq!(world.state_hash(), fork.state_hash());
}

#[test]
fn a_state_that_is_added_to_a_fork_keeps_its_value() {
    let mut world = world();
    world.set_state(Game::Running).unwrap();
    world.update(0.1);
    let mut fork = world.fork().unwrap();
    fork.add_state(Game::Menu);
    fork.insert_resource(crate::common::Log::default());
    fork.add_system(say("enter").on_enter(Game::Running));
    fork.add_system(say("running").run_if(in_state(Game::Running)));
    assert_eq!(update(&mut fork), ["running"], "it was entered before the fork");
}

#[test]
fn a_rollback_restores_values_and_requests_and_runs_nothing() {
    let mut world = world();
    world.add_sub_state::<Phase>();
    world.add_system(say("enter running").on_enter(Game::Running));
    world.add_system(say("exit running").on_exit(Game::Running));
    world.update(0.1);
    world.set_state(Game::Running).unwrap();
    let mut snapshot = world.fork().unwrap();
    assert_eq!(update(&mut world), ["enter running"]);
    world.set_state(Game::Over(2)).unwrap();
    assert_eq!(update(&mut world), ["exit running"]);

    world.restore(&mut snapshot).unwrap();
    assert!(take(&mut world).is_empty());
    assert_eq!((world.state(), world.state::<Phase>()), (Some(&Game::Menu), None));
    assert_eq!(update(&mut world), ["enter running"], "the request was restored");
    assert_eq!(world.state(), Some(&Phase::Day));
}

#[test]
fn a_replay_has_the_same_hashes() {
    let mut world = world();
    world.add_sub_state::<Phase>();
    let next = |game: State<'_, Game>, mut next: NextState<'_, Game>| match &*game {
        Game::Menu => next.set(Game::Running),
        Game::Running => next.set(Game::Over(3)),
        Game::Over(0) => next.set(Game::Menu),
        Game::Over(rest) => next.set(Game::Over(rest - 1)),
    };
    world.add_system(next);
    world.update(0.1);
    let mut snapshot = world.fork().unwrap();
    let run = |world: &mut ancho_entities::World| -> Vec<u64> {
        (0..20)
            .map(|_| {
                world.update(0.1);
                world.state_hash()
            })
            .collect()
    };
    let first = run(&mut world);
    world.restore(&mut snapshot).unwrap();
    assert_eq!(run(&mut world), first);
}
