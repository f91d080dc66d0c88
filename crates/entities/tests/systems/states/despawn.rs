//! Components that despawn their entities at transitions.

use ancho_entities::{
    Buffer, Component, DespawnOnEnter, DespawnOnExit, Disabled, IntoSystem, LinkedEntityGroup,
    Prefab, Query, ResMut, States,
};

use super::{Game, update, world};
use crate::common::{A, Log};

#[test]
fn entities_are_despawned_when_their_value_is_left_or_entered() {
    let mut world = world();
    let menu = world.spawn(DespawnOnExit(Game::Menu));
    let running = world.spawn(DespawnOnExit(Game::Running));
    let before = world.spawn(DespawnOnEnter(Game::Running));
    world.update(0.1);
    assert_eq!(world.entity_count(), 3);
    world.set_state(Game::Running).unwrap();
    world.update(0.1);
    assert_eq!([menu, running, before].map(|entity| world.exists(entity)), [false, true, false]);
    world.set_state(Game::Menu).unwrap();
    world.update(0.1);
    assert_eq!(world.entity_count(), 0);
}

#[test]
fn they_are_despawned_between_exit_and_enter_systems() {
    let mut world = world();
    world.spawn((DespawnOnExit(Game::Menu), A(1)));
    let count = |all: Query<'_, &A>, mut log: ResMut<'_, Log>| log.0.push(all.count().to_string());
    world.add_system(count.on_exit(Game::Menu));
    world.add_system(count.on_transition(Game::Menu, Game::Running));
    world.update(0.1);
    world.set_state(Game::Running).unwrap();
    assert_eq!(update(&mut world), ["1", "0"]);
}

#[test]
fn an_entered_again_state_despawns_too() {
    let mut world = world();
    world.update(0.1);
    world.spawn(DespawnOnExit(Game::Menu));
    world.reenter_state::<Game>().unwrap();
    world.update(0.1);
    assert_eq!(world.entity_count(), 0);
}

#[test]
fn disabled_entities_are_despawned_and_prefabs_are_not() {
    let mut world = world();
    world.update(0.1);
    let disabled = world.spawn((DespawnOnExit(Game::Menu), Disabled));
    let prefab = world.spawn((DespawnOnExit(Game::Menu), Prefab));
    let instance = world.instantiate(prefab).unwrap();
    world.set_state(Game::Running).unwrap();
    world.update(0.1);
    assert_eq!(
        [disabled, prefab, instance].map(|entity| world.exists(entity)),
        [false, true, false]
    );
}

#[test]
fn linked_entities_are_despawned_once() {
    let mut world = world();
    world.update(0.1);
    let root = world.spawn(DespawnOnExit(Game::Menu));
    let child = world.spawn((DespawnOnExit(Game::Menu), A(1)));
    let other = world.spawn(A(2));
    let group = [root, child, other].map(LinkedEntityGroup);
    world.add(root, Buffer::from(group)).unwrap();
    world.set_state(Game::Running).unwrap();
    world.try_update(0.1).unwrap();
    assert_eq!(world.entity_count(), 0);
    assert!(world.check_invariants().is_ok());
}

#[test]
fn an_unknown_state_is_reported_until_it_is_added() {
    #[derive(States, Clone, Debug, PartialEq)]
    enum Unknown {
        Value,
    }

    #[derive(Component)]
    struct Other;

    let mut world = world();
    world.update(0.1);
    world.spawn(DespawnOnExit(Unknown::Value));
    for _ in 0..2 {
        let message = world.try_update(0.1).unwrap_err().to_string();
        assert_eq!(
            message,
            "A0232: the state `Unknown` was not added to this world, but a component `DespawnOnExit` or `DespawnOnEnter` \
             refers to it; add it with `add_state`"
        );
        world.spawn(Other);
    }
    world.add_state(Unknown::Value);
    world.try_update(0.1).unwrap();
}

#[test]
fn observers_see_the_despawns_before_the_value_changes() {
    use ancho_entities::{On, Remove, State};
    let mut world = world();
    world.spawn((DespawnOnExit(Game::Menu), A(1)));
    world.add_observer(|_: On<'_, Remove<A>>, game: State<'_, Game>, mut log: ResMut<'_, Log>| {
        log.0.push(format!("removed in {:?}", *game));
    });
    world.add_system(crate::common::say("enter").on_enter(Game::Running));
    world.update(0.1);
    world.set_state(Game::Running).unwrap();
    assert_eq!(update(&mut world), ["removed in Menu", "enter"]);
}
