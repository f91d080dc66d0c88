//! Systems start and stop with their conditions.

use ancho_entities::{IntoSystem, System, SystemGroup, SystemResult, World};

use super::{Level, is_positive, update, world};
use crate::common::{Log, say};

struct Traced;

fn log(world: &mut World, line: &str) -> SystemResult {
    world.resource_mut::<Log>().0.push(line.to_owned());
    Ok(())
}

impl System for Traced {
    fn on_start_running(&mut self, world: &mut World) -> SystemResult {
        log(world, "start")
    }

    fn on_update(&mut self, world: &mut World) -> SystemResult {
        log(world, "update")
    }

    fn on_stop_running(&mut self, world: &mut World) -> SystemResult {
        log(world, "stop")
    }
}

fn set_level(world: &mut World, level: u32) {
    world.resource_mut::<Level>().0 = level;
}

#[test]
fn a_struct_starts_and_stops_with_its_condition() {
    let mut world = world();
    world.add_system(Traced.run_if(is_positive));
    assert!(update(&mut world).is_empty());
    set_level(&mut world, 1);
    assert_eq!(update(&mut world), ["start", "update"]);
    assert_eq!(update(&mut world), ["update"]);
    set_level(&mut world, 0);
    assert_eq!(update(&mut world), ["stop"]);
    assert!(update(&mut world).is_empty());
}

#[test]
fn a_function_counts_as_running_while_its_condition_is_true() {
    let mut world = world();
    let id = world.add_system(say("run").run_if(is_positive));
    for level in [0, 1, 0, 0, 1] {
        set_level(&mut world, level);
        world.update(0.1);
        assert_eq!(world.system_info(id).unwrap().running, level == 1);
    }
}

struct Callbacks;

impl SystemGroup for Callbacks {
    fn on_create(&mut self, world: &mut World) -> SystemResult {
        log(world, "group created")
    }

    fn on_start_running(&mut self, world: &mut World) -> SystemResult {
        log(world, "group starts")
    }

    fn on_update(&mut self, world: &mut World) -> SystemResult {
        log(world, "group begins")?;
        world.update_members();
        log(world, "group ends")
    }

    fn on_stop_running(&mut self, world: &mut World) -> SystemResult {
        log(world, "group stops")
    }

    fn on_destroy(&mut self, world: &mut World) -> SystemResult {
        log(world, "group destroyed")
    }
}

#[test]
fn a_group_has_callbacks_around_its_systems() {
    let mut world = world();
    let group = world.add_system(Callbacks);
    world.add_system(Traced.in_group(Callbacks));
    let first = ["group created", "group starts", "group begins", "start", "update", "group ends"];
    assert_eq!(update(&mut world), first);
    assert_eq!(update(&mut world), ["group begins", "update", "group ends"]);
    world.set_system_enabled(group, false).unwrap();
    assert_eq!(update(&mut world), ["stop", "group stops"]);
    world.set_system_enabled(group, true).unwrap();
    assert_eq!(
        update(&mut world),
        ["group starts", "group begins", "start", "update", "group ends"]
    );
    world.remove_system(group).unwrap();
    assert_eq!(crate::common::take(&mut world), ["stop", "group stops", "group destroyed"]);
}

#[test]
fn a_group_with_a_condition_starts_and_stops_with_it() {
    let mut world = world();
    world.add_system(Callbacks.run_if(is_positive));
    world.add_system(Traced.in_group(Callbacks));
    assert_eq!(update(&mut world), ["group created"]);
    set_level(&mut world, 1);
    assert_eq!(
        update(&mut world),
        ["group starts", "group begins", "start", "update", "group ends"]
    );
    set_level(&mut world, 0);
    assert_eq!(update(&mut world), ["stop", "group stops"]);
    assert!(update(&mut world).is_empty());
}

#[test]
fn a_group_decides_how_often_its_systems_run() {
    struct Twice(bool);
    impl SystemGroup for Twice {
        fn on_update(&mut self, world: &mut World) -> SystemResult {
            if self.0 {
                world.update_members();
                world.update_members();
            }
            self.0 = !self.0;
            Ok(())
        }
    }
    let mut world = world();
    world.add_system(Twice(true));
    world.add_system(say("run").in_group(Twice(false)));
    assert_eq!(update(&mut world), ["run", "run"]);
    assert!(update(&mut world).is_empty());
    assert_eq!(update(&mut world), ["run", "run"]);
}

#[test]
fn a_group_that_fails_is_reported_and_others_run() {
    struct Fails;
    impl SystemGroup for Fails {
        fn on_update(&mut self, world: &mut World) -> SystemResult {
            world.update_members();
            Err("no network".into())
        }
    }
    let mut world = world();
    world.add_system(Fails);
    world.add_system(say("member").in_group(Fails));
    world.add_system(say("other"));
    let message = world.try_update(0.1).unwrap_err().to_string();
    assert!(message.ends_with("Fails` failed: no network"), "{message}");
    assert_eq!(crate::common::take(&mut world), ["member", "other"]);
}

#[test]
fn a_group_can_be_removed_by_its_member() {
    let mut world = world();
    let group = world.add_system(Callbacks);
    let remove = move |world: &mut World| world.remove_system(group).unwrap();
    world.add_system(remove.in_group(Callbacks));
    world.update(0.1);
    let log = crate::common::take(&mut world);
    assert_eq!(log.last().unwrap(), "group destroyed", "{log:?}");
    assert!(!world.has_system(group));
    world.update(0.1);
    assert!(crate::common::take(&mut world).is_empty());
}

#[test]
fn members_are_updated_by_their_group_only() {
    let mut world = world();
    world.add_system((|world: &mut World| world.update_members()).named("wrong"));
    let message = world.try_update(0.1).unwrap_err().to_string();
    assert!(
        message.starts_with(
            "A0105: system `wrong` panicked: A0221: `update_members` was called outside"
        ),
        "{message}"
    );
}
