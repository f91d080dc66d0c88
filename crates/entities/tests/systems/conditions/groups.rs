//! Conditions of groups, with 0, 1 and 3 steps.

use ancho_entities::{
    FixedStep, IntoSystem, Res, ResMut, Resource, SystemGroup, World, not, resource_exists,
};

use super::{Level, is_positive, update, world};
use crate::common::{Log, say};

/// The number of tests of a condition.
#[derive(Resource, Clone)]
struct Paused;

/// Creates a world in which `FixedStep` has a step of a quarter of a second.
fn stepped() -> World {
    let mut world = world();
    world.add_system(say("step").in_group(FixedStep));
    world.set_timestep(FixedStep, 0.25).unwrap();
    world.update(0.0);
    super::take(&mut world);
    world
}

#[test]
fn a_system_tests_its_condition_in_each_step() {
    for (seconds, steps) in [(0.1, 0), (0.25, 1), (0.75, 3)] {
        let mut world = stepped();
        let count = |mut level: ResMut<'_, Level>| level.0 += 1;
        world.add_system(count.named("count").in_group(FixedStep));
        let second = |level: Res<'_, Level>| level.0 == 2;
        world.add_system(say("second").in_group(FixedStep).run_if(second).after("count"));
        world.update(seconds);
        let lines = super::take(&mut world);
        assert_eq!(lines.iter().filter(|line| *line == "step").count(), steps);
        assert_eq!(lines.iter().filter(|line| *line == "second").count(), usize::from(steps > 1));
    }
}

#[test]
fn a_group_tests_its_condition_before_each_step() {
    for (seconds, steps) in [(0.1, 0), (0.25, 1), (0.75, 3)] {
        let mut world = stepped();
        world.add_system((|mut level: ResMut<'_, Level>| level.0 += 1).in_group(FixedStep));
        world.add_run_condition(FixedStep, |level: Res<'_, Level>| level.0 < 2).unwrap();
        world.update(seconds);
        assert_eq!(super::take(&mut world).len(), steps.min(2));
    }
}

#[test]
fn time_passes_while_the_condition_of_a_group_is_false() {
    let mut world = stepped();
    world.add_run_condition(FixedStep, not(resource_exists::<Paused>)).unwrap();
    world.insert_resource(Paused);
    for _ in 0..10 {
        world.update(0.25);
    }
    world.remove_resource::<Paused>();
    world.update(0.25);
    assert_eq!(super::take(&mut world), ["step"], "no steps are made up for");
}

#[test]
fn one_test_decides_for_all_systems_of_a_group() {
    struct Once;
    impl SystemGroup for Once {}
    let mut world = world();
    world.resource_mut::<Level>().0 = 1;
    world.add_system(Once.run_if(is_positive));
    world.add_system((|mut level: ResMut<'_, Level>| level.0 = 0).in_group(Once));
    world.add_system(say("second").in_group(Once));
    assert_eq!(update(&mut world), ["second"]);
    assert!(update(&mut world).is_empty());
}

#[test]
fn the_condition_of_a_group_sees_changes_since_its_last_step() {
    use ancho_entities::{Changed, Query};
    struct Reacting;
    impl SystemGroup for Reacting {}
    let mut world = world();
    let entity = world.spawn(crate::common::A(1));
    let changed = |all: Query<'_, &crate::common::A, Changed<crate::common::A>>| !all.is_empty();
    world.add_system(Reacting.run_if(is_positive).run_if(changed));
    world.add_system(say("react").in_group(Reacting));
    assert!(update(&mut world).is_empty());
    world.resource_mut::<Level>().0 = 1;
    assert_eq!(update(&mut world), ["react"]);
    assert!(update(&mut world).is_empty());
    world.get_mut::<crate::common::A>(entity).unwrap().0 = 2;
    assert_eq!(update(&mut world), ["react"]);
}

#[test]
fn nested_groups_test_their_own_conditions() {
    struct Outer;
    struct Inner;
    impl SystemGroup for Outer {}
    impl SystemGroup for Inner {}
    let mut world = world();
    world.add_system(Outer.run_if(|| true));
    world.add_system(Inner.in_group(Outer).run_if(is_positive));
    world.add_system(say("outer").in_group(Outer));
    world.add_system((|mut log: ResMut<'_, Log>| log.0.push("inner".to_owned())).in_group(Inner));
    assert_eq!(update(&mut world), ["outer"]);
    world.resource_mut::<Level>().0 = 1;
    assert_eq!(update(&mut world), ["inner", "outer"]);
}
