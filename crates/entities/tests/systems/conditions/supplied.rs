//! The conditions that the crate supplies.

use ancho_entities::{
    FixedStep, IntoSystem, Resource, any_with, every, resource_changed, resource_exists,
    resource_removed,
};

use super::{update, world};
use crate::common::{A, Switch, say};

#[derive(Resource, Clone)]
struct Map;

#[test]
fn a_resource_exists_from_insertion_to_removal() {
    let mut world = world();
    world.add_system(say("map").run_if(resource_exists::<Map>));
    assert!(update(&mut world).is_empty());
    world.insert_resource(Map);
    assert_eq!(update(&mut world), ["map"]);
    world.remove_resource::<Map>();
    assert!(update(&mut world).is_empty());
}

#[test]
fn any_with_counts_entities_that_queries_yield() {
    let mut world = world();
    world.add_system(say("a").run_if(any_with::<A>));
    world.add_system(say("switch").run_if(any_with::<Switch>));
    assert!(update(&mut world).is_empty());
    world.spawn(A(1));
    let entity = world.spawn(Switch(1));
    assert_eq!(update(&mut world), ["a", "switch"]);
    world.set_component_enabled::<Switch>(entity, false).unwrap();
    assert_eq!(update(&mut world), ["a"]);
}

#[test]
fn every_fires_once_per_interval_and_step() {
    let mut world = world();
    world.add_system(say("half").run_if(every(0.5)));
    world.add_system(say("tenth").run_if(every(0.1)));
    let lines: Vec<_> = (0..4).map(|_| update(&mut world).join(" ")).collect();
    assert_eq!(lines, ["tenth", "half tenth", "tenth", "half tenth"]);
}

#[test]
fn every_is_exact_despite_rounding_errors() {
    for (interval, step) in [(0.1, 0.1), (0.3, 0.1), (1.0, 1.0 / 60.0), (0.05, 0.01)] {
        let mut world = world();
        world.add_system(say("tick").run_if(every(interval)));
        let steps = 6000;
        let mut gaps = Vec::new();
        let mut last = 0;
        for step_number in 1..=steps {
            world.update(step);
            if !super::take(&mut world).is_empty() {
                gaps.push(step_number - last);
                last = step_number;
            }
        }
        let expected = (interval / step).round() as i32;
        assert!(gaps.iter().all(|&gap| gap == expected), "{interval} {step}: {gaps:?}");
        assert_eq!(gaps.len() as i32, steps / expected);
    }
}

#[test]
fn every_uses_the_time_of_the_group() {
    let mut world = world();
    world.add_system(say("tick").in_group(FixedStep).run_if(every(0.5)));
    world.set_timestep(FixedStep, 0.25).unwrap();
    world.update(0.0);
    assert!(super::take(&mut world).is_empty(), "zero is not a multiple");
    world.update(1.0);
    assert_eq!(super::take(&mut world), ["tick", "tick"], "in steps 2 and 4 of 4");
}

#[test]
#[should_panic(
    expected = "A0220: a system cannot run every 0 seconds; pass a finite number above zero"
)]
fn every_refuses_an_interval_of_zero() {
    let _ = every(0.0);
}

#[test]
fn a_resource_is_changed_by_insertion_and_by_writing() {
    let mut world = world();
    world.add_system(say("level").run_if(resource_changed::<super::Level>));
    world.add_system(say("map").run_if(resource_changed::<Map>));
    assert_eq!(update(&mut world), ["level"], "the system has not run yet");
    assert!(update(&mut world).is_empty());
    world.resource_mut::<super::Level>().0 = 1;
    world.insert_resource(Map);
    assert_eq!(update(&mut world), ["level", "map"]);
    assert!(update(&mut world).is_empty());
    world.remove_resource::<Map>();
    assert!(update(&mut world).is_empty());
}

#[test]
fn a_change_behind_another_condition_is_not_lost() {
    let mut world = world();
    let system = say("changed").run_if(resource_exists::<Map>);
    world.add_system(system.run_if(resource_changed::<super::Level>));
    assert!(update(&mut world).is_empty());
    world.resource_mut::<super::Level>().0 = 1;
    assert!(update(&mut world).is_empty());
    world.insert_resource(Map);
    assert_eq!(update(&mut world), ["changed"]);
    assert!(update(&mut world).is_empty());
}

#[test]
fn a_system_that_writes_the_resource_does_not_trigger_itself() {
    let mut world = world();
    let count = |mut level: ancho_entities::ResMut<'_, super::Level>| level.0 += 1;
    world.add_system(count.run_if(resource_changed::<super::Level>));
    for _ in 0..5 {
        world.update(0.1);
    }
    assert_eq!(world.resource::<super::Level>().0, 1);
}

#[test]
fn a_removed_resource_is_seen_once() {
    let mut world = world();
    world.add_system(say("removed").run_if(resource_removed::<Map>));
    assert!(update(&mut world).is_empty());
    world.insert_resource(Map);
    assert!(update(&mut world).is_empty());
    world.remove_resource::<Map>();
    assert_eq!(update(&mut world), ["removed"]);
    assert!(update(&mut world).is_empty());
    world.insert_resource(Map);
    world.remove_resource::<Map>();
    world.insert_resource(Map);
    assert!(update(&mut world).is_empty(), "it is there again");
}

#[test]
fn conditions_are_exact_after_a_rollback() {
    let mut world = world();
    world.add_system(say("changed").run_if(resource_changed::<super::Level>));
    assert_eq!(update(&mut world), ["changed"]);
    world.resource_mut::<super::Level>().0 = 1;
    let mut changed = world.fork().unwrap();
    assert_eq!(update(&mut world), ["changed"]);
    let mut seen = world.fork().unwrap();
    world.restore(&mut changed).unwrap();
    assert!(crate::common::take(&mut world).is_empty(), "nothing runs during the rollback");
    assert_eq!(update(&mut world), ["changed"]);
    world.restore(&mut seen).unwrap();
    assert!(update(&mut world).is_empty());
}

#[test]
fn a_system_runs_while_it_has_unread_messages() {
    use ancho_entities::{Message, MessageReader, ResMut, on_message};

    #[derive(Message, Clone)]
    struct Hit(u32);

    let mut world = world();
    let read_one = |mut hits: MessageReader<'_, Hit>, mut log: ResMut<'_, crate::common::Log>| {
        log.0.extend(hits.read().take(1).map(|hit| hit.0.to_string()));
    };
    world.add_system(read_one.run_if(on_message::<Hit>));
    world.add_system(say("no reader").run_if(on_message::<Hit>));
    assert!(update(&mut world).is_empty());
    world.write_message(Hit(1));
    world.write_message(Hit(2));
    assert_eq!(update(&mut world), ["1"], "the condition reads none");
    assert_eq!(update(&mut world), ["2"]);
    assert!(update(&mut world).is_empty());
}
