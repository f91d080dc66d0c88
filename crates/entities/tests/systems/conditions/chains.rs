//! Systems that are added together: chains and common conditions.

use ancho_entities::{Commands, IntoSystem, IntoSystems, Presentation, Query, ResMut};

use super::{Level, is_positive, update, world};
use crate::common::{A, Log, say};

#[test]
fn each_system_of_a_chain_runs_after_the_previous_one() {
    let mut world = world();
    world.add_systems((say("a").after("late"), say("b"), say("c")).chain());
    world.add_system(say("late").named("late"));
    world.add_system(say("other").named("other"));
    assert_eq!(update(&mut world), ["late", "a", "b", "c", "other"]);
}

#[test]
fn a_chain_orders_two_systems_of_one_function() {
    fn first(mut log: ResMut<'_, Log>) {
        log.0.push("same".to_owned());
    }
    let mut world = world();
    world.add_systems((first, say("between"), first).chain());
    assert_eq!(update(&mut world), ["same", "between", "same"]);
}

#[test]
fn commands_are_played_between_the_systems_of_a_chain() {
    let mut world = world();
    let spawn = |mut commands: Commands<'_>| {
        commands.spawn(A(1));
    };
    let count = |all: Query<'_, &A>, mut log: ResMut<'_, Log>| log.0.push(all.count().to_string());
    world.add_systems((spawn, count).chain());
    assert_eq!(update(&mut world), ["1"]);
}

#[test]
fn a_chain_stays_in_order_when_a_system_is_removed_or_moved() {
    let mut world = world();
    let ids = world.add_systems((say("a").after("d"), say("b"), say("c").before("e")).chain());
    world.add_systems((say("d").named("d"), say("e").named("e")));
    assert_eq!(update(&mut world), ["d", "a", "b", "c", "e"]);
    world.remove_system(ids[1]).unwrap();
    assert_eq!(update(&mut world), ["d", "a", "c", "e"]);
}

#[test]
fn a_chain_across_groups_is_refused_and_adds_nothing() {
    let mut world = world();
    let (one, two) = (say("one").named("one"), say("two").named("two").in_group(Presentation));
    let error = world.try_add_systems((one, two).chain()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "A0223: `two` cannot be chained after `one`, because `one` is in `Simulation` and `two` is in `Presentation`; put all \
         systems of a chain in one group"
    );
    assert_eq!((world.find_system("one"), world.find_system("two")), (None, None));
}

#[test]
fn a_patch_cannot_be_chained() {
    let mut world = world();
    let error = world.try_add_systems((say("one"), say("two").patch()).chain()).unwrap_err();
    assert!(error.to_string().starts_with("A0097: `chain` cannot be used"), "{error}");
}

#[test]
fn each_system_tests_the_common_condition() {
    let mut world = world();
    world.resource_mut::<Level>().0 = 1;
    let reset = |mut level: ResMut<'_, Level>| level.0 = 0;
    world.add_systems((say("one"), reset, say("two")).chain().run_if(is_positive));
    assert_eq!(update(&mut world), ["one"]);
}

#[test]
fn options_apply_to_all_systems() {
    let mut world = world();
    world.add_system(say("simulation"));
    world.add_systems((say("a"), say("b")).in_group(Presentation).after("c"));
    world.add_system(say("c").named("c").in_group(Presentation));
    assert_eq!(update(&mut world), ["simulation", "c", "a", "b"]);
}
