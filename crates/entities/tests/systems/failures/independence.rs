//! The failure of one system is reported, and does not stop the others.

use ancho_entities::{
    Component, IntoSystem, Presentation, Query, Res, ResMut, Resource, Single, SystemGroup, World,
};

use crate::trace::{Probe, Trace, noting};

#[derive(Component, Clone, Copy)]
struct Health(u32);

struct Physics;

impl SystemGroup for Physics {
    fn name() -> &'static str {
        "Physics"
    }
}

#[derive(Resource, Clone)]
struct Absent;

#[test]
fn failing_systems_do_not_stop_the_others() {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    world.add_system(noting(&trace, "a"));
    world.add_system((|| -> () { panic!("spilled {}", 3) }).named("clumsy"));
    world.add_system(noting(&trace, "b"));
    world.add_system((|| Err::<(), _>("no fuel")).named("engine"));
    world.add_system(noting(&trace, "c"));
    for _ in 0..2 {
        let errors = world.try_update(0.1).unwrap_err();
        let told: Vec<_> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "A0105: system `clumsy` panicked: spilled 3",
                "A0106: system `engine` failed: no fuel"
            ]
        );
        assert_eq!(trace.take(), "a b c");
    }
}

#[test]
fn a_failing_system_in_a_nested_group_is_reported_by_name() {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    world.add_system(Physics);
    world.add_system((|| Err::<(), _>("stuck")).named("collide").in_group(Physics));
    world.add_system(noting(&trace, "after").after(Physics));
    world.add_system(noting(&trace, "draw").in_group(Presentation));
    let errors = world.try_update(0.1).unwrap_err();
    assert_eq!(errors.to_string(), "A0106: system `collide` failed: stuck");
    assert_eq!(trace.take(), "after draw");
}

#[test]
fn a_system_that_panics_stays_and_runs_again() {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    let mut frame = 0;
    let probe = Probe::<0>::new(&trace).updating(move |_| {
        frame += 1;
        assert!(frame != 2, "second");
        Ok(())
    });
    let id = world.add_system(probe.named("probe"));
    world.try_update(0.1).unwrap();
    let errors = world.try_update(0.1).unwrap_err();
    assert_eq!(errors.to_string(), "A0105: system `probe` panicked: second");
    world.try_update(0.1).unwrap();
    world.remove_system(id).unwrap();
    assert_eq!(trace.take(), "create start update update update stop destroy");
}

#[test]
fn missing_resources_and_singletons_are_reported() {
    let mut world = World::new("Simulation");
    world.add_system((|_: Res<Absent>| {}).named("needs"));
    world.add_system((|_: Option<Res<Absent>>| {}).named("can do without"));
    world.add_system((|_: Single<&Health>| {}).named("single"));
    let told: Vec<_> = world.try_update(0.1).unwrap_err().iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 2);
    assert!(
        told[0].starts_with("A0103: system `needs` was not run, because the world has no resource")
    );
    assert!(
        told[0].contains("Absent`; insert it with `insert_resource`, or take an `Option` of it")
    );
    assert!(told[1].starts_with("A0104: system `single` was not run, because `Single<"));
    assert!(
        told[1].contains("matches no entity; make it wait with `require`, or take an `Option`")
    );
    world.insert_resource(Absent);
    world.spawn(Health(1));
    world.try_update(0.1).unwrap();
    world.spawn(Health(2));
    let told = world.try_update(0.1).unwrap_err().to_string();
    assert!(told.contains("matches 2 entities"), "{told}");
}

#[test]
fn conflicts_of_parameters_are_found_when_the_system_is_added() {
    let mut world = World::new("Simulation");
    let twice = |_: Query<&mut Health>, _: Query<&Health>| {};
    let told = world.try_add_system(twice.named("twice")).unwrap_err().to_string();
    for part in [
        "A010",
        "system `twice` cannot be added",
        "parameter 1, `Query<",
        "parameter 2, `Query<",
        "Health`",
    ] {
        assert!(told.contains(part), "no {part} in {told}");
    }
    let twice = |_: ResMut<Absent>, _: Res<Absent>| {};
    let told = world.try_add_system(twice.named("greedy")).unwrap_err().to_string();
    for part in ["A010", "system `greedy` cannot be added", "ResMut<", "Res<", "Absent"] {
        assert!(told.contains(part), "no {part} in {told}");
    }
    world.try_update(0.1).unwrap();
}
