//! Sets of systems.

use ancho_entities::{
    FixedStep, IntoSystem, IntoSystems, Presentation, Res, ResMut, SystemSet, World,
};

use super::{Level, is_positive, update, world};
use crate::common::{Log, say};

struct Early;
struct Late;

impl SystemSet for Early {
    fn name() -> &'static str {
        "Early"
    }
}

impl SystemSet for Late {
    fn name() -> &'static str {
        "Late"
    }
}

#[test]
fn the_condition_of_a_set_guards_earlier_and_later_members_of_all_groups() {
    let mut world = world();
    world.add_system(say("one").in_set(Early));
    world.configure_set(Early).run_if(is_positive);
    world.add_system(say("two").in_set(Early).in_group(Presentation));
    world.add_system(say("free"));
    assert_eq!(update(&mut world), ["free"]);
    world.resource_mut::<Level>().0 = 1;
    assert_eq!(update(&mut world), ["one", "free", "two"]);
}

#[test]
fn each_member_tests_the_condition_of_its_set() {
    let mut world = world();
    world.resource_mut::<Level>().0 = 1;
    world.configure_set(Early).run_if(is_positive);
    world.add_system((|mut level: ResMut<'_, Level>| level.0 = 0).in_set(Early));
    world.add_system(say("second").in_set(Early));
    assert!(update(&mut world).is_empty());
}

#[test]
fn the_conditions_of_all_sets_are_tested_before_those_of_the_system() {
    let mut world = world();
    let never = |_: Res<'_, Log>| -> bool { panic!("it is not tested") };
    world.add_system(say("run").run_if(never).in_set(Early).in_set(Late));
    world.configure_set(Late).run_if(is_positive);
    world.configure_set(Early).run_if(|| true);
    assert!(update(&mut world).is_empty());
}

#[test]
fn sets_are_enabled_and_disabled() {
    let mut world = world();
    world.add_system(say("one").in_set(Early));
    world.configure_set(Early).enabled(false);
    world.add_system(say("two").in_set(Early));
    assert!(update(&mut world).is_empty());
    world.configure_set(Early).enabled(true);
    assert_eq!(update(&mut world), ["one", "two"]);
    world.set_system_enabled(Early, false).unwrap();
    assert!(update(&mut world).is_empty());
}

#[test]
fn sets_are_ordered_in_each_group_that_has_members_of_both() {
    let mut world = world();
    world.configure_set(Early).before(Late);
    world.add_system(say("late").in_set(Late));
    world.add_system(say("early").in_set(Early));
    world.add_system(say("alone").in_set(Early).in_group(FixedStep));
    world.add_systems((say("late p"), say("other p")).in_set(Late).in_group(Presentation));
    world.add_system(say("early p").in_set(Early).in_group(Presentation));
    world.clear_rate(FixedStep).unwrap();
    assert_eq!(update(&mut world), ["alone", "early", "late", "early p", "late p", "other p"]);
}

#[test]
fn systems_are_ordered_by_sets_and_sets_by_systems() {
    let mut world = world();
    world.add_system(say("last").named("last"));
    world.add_system(say("a").in_set(Early));
    world.add_system(say("first").before(Early));
    world.add_system(say("b").in_set(Early));
    world.configure_set(Early).before("last");
    assert_eq!(update(&mut world), ["first", "a", "b", "last"]);
}

#[test]
fn an_order_of_sets_without_a_common_group_is_an_error() {
    let mut world = world();
    world.configure_set(Early).before(Late);
    world.add_system(say("early").in_set(Early));
    world.add_system(say("late").in_set(Late).in_group(Presentation));
    let message = world.try_update(0.1).unwrap_err().to_string();
    assert_eq!(
        message,
        "A0124: the systems of set `Early` should run before `Late`, but no two of them are in one group; put them in one \
         group, or remove `before`"
    );
}

#[test]
fn a_system_cannot_be_ordered_by_a_set_without_members_in_its_group() {
    let mut world = world();
    world.add_system(say("late").in_set(Late).in_group(Presentation));
    world.add_system(say("system").named("system").after(Late));
    let message = world.try_update(0.1).unwrap_err().to_string();
    assert_eq!(
        message,
        "A0124: `system` of `Simulation` should run after `Late`, a set without members in this group; add a member to \
         `Simulation`, or remove `after`"
    );
}

#[test]
fn a_member_of_both_sets_cannot_run_before_itself() {
    let mut world = world();
    world.configure_set(Early).before(Late);
    world.add_system(say("both").named("both").in_set(Early).in_set(Late));
    let message = world.try_update(0.1).unwrap_err().to_string();
    assert!(message.starts_with("A0125: `both` cannot run before itself"), "{message}");
}

#[test]
fn an_empty_set_is_reported_until_it_has_a_member() {
    let mut world = world();
    world.add_system(say("run"));
    world.configure_set(Early).enabled(true);
    for _ in 0..2 {
        let message = world.try_update(0.1).unwrap_err().to_string();
        assert_eq!(
            message,
            "A0222: set `Early` was configured, but has no systems; add one with `in_set`, or allow it with `may_be_empty`"
        );
    }
    assert_eq!(super::take(&mut world), ["run", "run"], "other systems run");
    let id = world.add_system(say("member").in_set(Early));
    world.try_update(0.1).unwrap();
    world.remove_system(id).unwrap();
    assert!(world.try_update(0.1).is_err());
    world.configure_set(Early).may_be_empty();
    world.try_update(0.1).unwrap();
}

#[test]
fn an_empty_set_is_a_target_if_it_may_be_empty() {
    let mut world = world();
    world.add_system(say("run").before(Late));
    assert!(world.try_update(0.1).is_err());
    world.configure_set(Late).may_be_empty();
    world.sort_systems().unwrap();
    assert_eq!(update(&mut world), ["run"]);
}

#[test]
fn sets_are_not_configured_during_an_update() {
    let mut world = world();
    let late = |world: &mut World| {
        world.configure_set(Early).may_be_empty();
    };
    world.add_system(late.named("late"));
    let message = world.try_update(0.1).unwrap_err().to_string();
    assert!(
        message.starts_with("A0105: system `late` panicked: A0109: `configure_set` was called"),
        "{message}"
    );
}

#[test]
fn a_member_of_two_sets_runs_if_both_are_enabled() {
    let mut world = world();
    world.configure_set(Late).enabled(false);
    world.add_system(say("one").in_set(Early).in_set(Late));
    world.configure_set(Early).enabled(true);
    world.add_system(say("two").in_set(Early).in_set(Late));
    assert!(update(&mut world).is_empty());
    world.configure_set(Early).enabled(false);
    world.configure_set(Late).enabled(true);
    assert!(update(&mut world).is_empty());
    world.configure_set(Early).enabled(true);
    assert_eq!(update(&mut world), ["one", "two"]);
}
