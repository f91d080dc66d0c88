//! Conditions that panic or lack a parameter.

use ancho_entities::{
    Condition, IntoSystem, Res, Resource, Single, SystemFault, not, resource_exists,
};

use super::{Level, update, world};
use crate::common::{A, say};

#[derive(Resource, Clone)]
struct Missing;

fn needs_missing(_: Res<'_, Missing>) -> bool {
    true
}

fn needs_single(_: Single<'_, &A>) -> bool {
    true
}

fn panics() -> bool {
    panic!("no answer")
}

#[test]
fn a_missing_parameter_counts_as_false_and_is_reported() {
    let mut world = world();
    world.add_system(say("run").named("guarded").run_if(needs_missing));
    world.add_system(say("other"));
    let errors = world.try_update(0.1).unwrap_err();
    let message = errors.to_string();
    assert!(message.starts_with("A0103: condition `"), "{message}");
    assert!(
        message.contains(
            "needs_missing` of system `guarded` counts as false, because the world has no resource"
        ),
        "{message}"
    );
    assert!(matches!(
        errors.iter().next().unwrap().fault(),
        SystemFault::InCondition { fault, .. } if matches!(**fault, SystemFault::NoResource { .. })
    ));
    assert_eq!(crate::common::take(&mut world), ["other"]);
    world.insert_resource(Missing);
    assert_eq!(update(&mut world), ["run", "other"]);
}

#[test]
fn a_missing_single_is_reported() {
    let mut world = world();
    world.add_system(say("run").named("guarded").run_if(needs_single));
    let message = world.try_update(0.1).unwrap_err().to_string();
    assert!(message.starts_with("A0104: condition `"), "{message}");
    assert!(message.contains("` of system `guarded` counts as false, because"), "{message}");
}

#[test]
fn the_negation_of_a_failed_condition_is_not_true() {
    let mut world = world();
    world.add_system(say("run").run_if(not(needs_missing)));
    world.add_system(say("or").run_if(needs_missing.or(|| true)));
    let errors = world.try_update(0.1).unwrap_err();
    assert_eq!(errors.iter().len(), 2);
    assert!(crate::common::take(&mut world).is_empty());
}

#[test]
fn a_condition_that_is_not_tested_reports_nothing() {
    let mut world = world();
    world.add_system(say("run").run_if(resource_exists::<Missing>.and(needs_missing)));
    world.try_update(0.1).unwrap();
    world.insert_resource(Missing);
    assert_eq!(update(&mut world), ["run"]);
}

#[test]
fn a_panic_counts_as_false_and_names_condition_and_system() {
    let mut world = world();
    world.add_system(say("before"));
    world.add_system(say("run").named("guarded").run_if(panics));
    world.add_system(say("after"));
    for count in 1..4 {
        let errors = world.try_update(0.1).unwrap_err();
        let message = errors.to_string();
        assert!(message.starts_with("A0105: condition `"), "{message}");
        assert!(
            message
                .ends_with("panics` of system `guarded` panicked, and counts as false: no answer"),
            "{message}"
        );
        assert_eq!(errors.iter().next().unwrap().repeats(), count);
        assert_eq!(crate::common::take(&mut world), ["before", "after"]);
        assert!(world.check_invariants().is_ok());
    }
}

#[test]
fn the_last_run_does_not_advance_while_a_condition_fails() {
    use ancho_entities::{Changed, Query};
    let mut world = world();
    world.insert_resource(Level(0));
    world.spawn(A(1));
    let fails = |level: Res<'_, Level>| if level.0 == 0 { panic!("not yet") } else { true };
    let count = |all: Query<'_, &A, Changed<A>>,
                 mut log: ancho_entities::ResMut<'_, crate::common::Log>| {
        log.0.push(all.count().to_string());
    };
    world.add_system(count.run_if(fails));
    world.try_update(0.1).unwrap_err();
    world.try_update(0.1).unwrap_err();
    world.resource_mut::<Level>().0 = 1;
    assert_eq!(update(&mut world), ["1"]);
}

#[test]
fn a_system_that_stops_on_errors_stops_after_an_error_of_its_condition() {
    let mut world = world();
    world.add_system(say("run").run_if(panics).stop_on_error());
    assert!(world.try_update(0.1).is_err());
    assert!(world.try_update(0.1).is_ok());
}

#[test]
fn a_group_with_a_failing_condition_does_not_run() {
    use ancho_entities::SystemGroup;
    struct Fragile;
    impl SystemGroup for Fragile {}
    let mut world = world();
    world.add_system(Fragile.run_if(panics));
    world.add_system(say("member").in_group(Fragile));
    world.add_system(say("other"));
    let message = world.try_update(0.1).unwrap_err().to_string();
    assert!(message.contains("Fragile` panicked, and counts as false: no answer"), "{message}");
    assert_eq!(crate::common::take(&mut world), ["other"]);
}
