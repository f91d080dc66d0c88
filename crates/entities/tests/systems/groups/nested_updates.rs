//! Systems that update systems.

use ancho_entities::{IntoSystem, Query, ResMut, System, SystemGroup, SystemResult, World};

use crate::common::{A, Log, Shared, say, take, world};

#[test]
fn a_system_can_update_others_and_read_the_executing_system() {
    let mut world = world();
    let inner = world.add_system((|| panic!("inside")).named("inner"));
    let own = world.add_system(
        (move |world: &mut World| {
            let before = world.executing_system();
            let error = world.update_system(inner).unwrap_err();
            assert_eq!(world.executing_system(), before, "also if it panicked");
            world.resource_mut::<Log>().0.push(error.to_string());
        })
        .named("outer"),
    );
    assert_eq!(world.executing_system(), None);
    world.update_system(own).unwrap();
    assert_eq!(take(&mut world), ["A0105: system `inner` panicked: inside"]);
    world.remove_system(inner).unwrap();
    world.update_system(own).unwrap();
    assert!(take(&mut world)[0].starts_with("A0108: "));
    assert_eq!(world.executing_system(), None);
}

#[test]
fn errors_of_nested_updates_are_returned_to_the_caller() {
    let mut world = world();
    let inner = world.add_system((|| panic!("inside")).named("inner").enabled(true));
    world.set_group(inner, ancho_entities::Presentation).unwrap();
    world.add_system(move |world: &mut World| {
        let outer = world.executing_system();
        let message = world.update_system(inner).unwrap_err().to_string();
        assert_eq!(world.executing_system(), outer);
        world.resource_mut::<Log>().0.push(message);
    });
    let errors = world.try_update(0.1).unwrap_err();
    assert_eq!(errors.iter().len(), 1, "that of its own turn");
    assert_eq!(take(&mut world), ["A0105: system `inner` panicked: inside"]);
}

#[test]
fn a0109_a_system_cannot_update_itself() {
    struct Itself;

    impl System for Itself {
        fn on_update(&mut self, world: &mut World) -> SystemResult {
            let own = world.executing_system().unwrap();
            assert!(world.system::<Itself>().is_none(), "it is not there twice");
            let group = world.find_system(ancho_entities::Simulation).unwrap();
            for id in [own, group] {
                let message = world.update_system(id).unwrap_err().to_string();
                world.resource_mut::<Log>().0.push(message);
            }
            let message = world.try_update(0.1).unwrap_err().to_string();
            world.resource_mut::<Log>().0.push(message);
            Ok(())
        }
    }

    let mut world = world();
    world.add_system(Itself.named("itself"));
    world.try_update(0.1).unwrap();
    let said = |who| format!("A0109: `{who}` is being updated; wait until its update returns");
    assert_eq!(take(&mut world), [said("itself"), said("Simulation"), said("test")]);
}

#[test]
fn a_group_is_updated_on_its_own() {
    let mut world = world();
    world.add_system(say("draw").in_group(ancho_entities::Presentation));
    world.add_system(say("think"));
    let group = world.find_system(ancho_entities::Presentation).unwrap();
    world.update_system(group).unwrap();
    assert_eq!(take(&mut world), ["draw"]);
}

#[test]
fn a_system_that_removes_itself_gets_its_stop_and_destroy_calls() {
    struct Once(Shared);

    impl System for Once {
        fn on_update(&mut self, world: &mut World) -> SystemResult {
            let own = world.executing_system().unwrap();
            world.remove_system(own)?;
            assert!(world.has_system(own), "it goes when it has returned");
            self.0.push("update");
            Ok(())
        }

        fn on_stop_running(&mut self, _: &mut World) -> SystemResult {
            self.0.push("stop");
            Ok(())
        }

        fn on_destroy(&mut self, _: &mut World) -> SystemResult {
            self.0.push("destroy");
            Ok(())
        }
    }

    let (log, mut world) = (Shared::default(), world());
    let id = world.add_system(Once(log.clone()));
    world.try_update(0.1).unwrap();
    world.try_update(0.1).unwrap();
    assert_eq!(log.take(), ["update", "stop", "destroy"]);
    assert!(!world.has_system(id));
}

#[test]
fn systems_that_a_system_adds_are_created_immediately() {
    let mut world = world();
    let mut done = false;
    world.add_system(move |world: &mut World| {
        if !std::mem::replace(&mut done, true) {
            let id = world.add_system(|mut all: Query<&mut A>, mut log: ResMut<Log>| {
                all.for_each(|a| a.0 += 1);
                log.0.push("new".to_owned());
            });
            world.spawn(A(0));
            world.update_system(id).unwrap();
        }
    });
    world.try_update(0.1).unwrap();
    assert_eq!(take(&mut world), ["new"]);
    assert_eq!(world.singleton::<A>(), Ok(&A(1)));
}

#[test]
fn a_system_that_updates_the_world_leaves_other_errors_to_the_outer_update() {
    let mut world = world();
    let told = Shared::default();
    let handler = told.clone();
    world.set_error_handler(move |error| handler.push(error.to_string()));
    world.add_system((|| Err::<(), _>("no fuel")).named("engine"));
    world.add_system(|world: &mut World| world.update(0.1));
    let expected = [
        "A0106: system `engine` failed: no fuel",
        "A0109: `test` is being updated; wait until its update returns",
    ];
    let errors = world.try_update(0.1).unwrap_err();
    assert_eq!(errors.to_string(), expected.join("\n"));
    assert_eq!(told.take(), [""; 0], "who updates has them");
    world.update(0.1);
    assert_eq!(told.take(), expected);
}

#[test]
fn a_system_gets_its_errors_even_if_others_update_the_world() {
    struct Inner;

    impl SystemGroup for Inner {}

    let mut world = world();
    let group = world.add_system(Inner.in_group(ancho_entities::Presentation));
    world.add_system((|world: &mut World| world.update(0.1)).named("again").in_group(Inner));
    world.add_system((|| panic!("inside")).named("inner").in_group(Inner));
    world.add_system((|| Err::<(), _>("no fuel")).named("engine"));
    world.add_system(
        (move |world: &mut World| {
            let errors = world.update_system(group).unwrap_err();
            let codes = errors.iter().map(|error| error.to_string()[..5].to_owned());
            world.resource_mut::<Log>().0.extend(codes);
        })
        .after("engine"),
    );
    let errors = world.try_update(0.1).unwrap_err();
    assert_eq!(take(&mut world), ["A0109", "A0105"]);
    let codes: Vec<_> = errors.iter().map(|error| error.to_string()[..5].to_owned()).collect();
    assert_eq!(codes, ["A0106", "A0109", "A0105"], "and those of its own turn");
}

#[test]
fn a0109_the_world_is_not_updated_by_a_system_that_is_created_or_destroyed() {
    struct Updates(Shared);

    impl Updates {
        fn try_update(&self, world: &mut World) -> SystemResult {
            self.0.push(world.try_update(0.1).unwrap_err().to_string()[..5].to_owned());
            Ok(())
        }
    }

    impl System for Updates {
        fn on_create(&mut self, world: &mut World) -> SystemResult {
            self.try_update(world)
        }

        fn on_update(&mut self, _: &mut World) -> SystemResult {
            Ok(())
        }

        fn on_destroy(&mut self, world: &mut World) -> SystemResult {
            self.try_update(world)
        }
    }

    let (mut world, log) = (world(), Shared::default());
    world.add_system(say("other"));
    let id = world.add_system(Updates(log.clone()));
    world.remove_system(id).unwrap();
    assert_eq!(log.take(), ["A0109", "A0109"]);
    assert_eq!(take(&mut world), [""; 0]);
}
