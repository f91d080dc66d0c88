//! Plugins.

use ancho_entities::{IntoSystem, Plugin, SystemResult, World};

use crate::common::{A, say, take, world};

#[derive(Default)]
struct Speaker;

impl Plugin for Speaker {
    fn name() -> &'static str {
        "Speaker"
    }

    fn build(self, world: &mut World) -> SystemResult {
        world.add_system(say("speak").named("speak"));
        Ok(())
    }
}

#[test]
fn a_plugin_adds_its_systems_at_once() {
    let mut world = world();
    world.add_plugin(Speaker);
    assert!(world.find_system("speak").is_some() && world.has_plugin::<Speaker>());
    world.update(0.1);
    assert_eq!(take(&mut world), ["speak"]);
}

#[test]
fn functions_are_plugins_and_can_be_added_repeatedly() {
    fn one(world: &mut World) {
        world.add_system(say("one"));
    }
    fn fails(_: &mut World) -> SystemResult {
        Err("no device".into())
    }
    let mut world = world();
    world.add_plugin(one);
    world.add_plugin(one);
    world.add_plugin(|world: &mut World| {
        world.add_system(say("closure"));
    });
    world.update(0.1);
    assert_eq!(take(&mut world), ["one", "one", "closure"]);
    let error = world.try_add_plugin(fails).unwrap_err().to_string();
    assert!(
        error.starts_with("A0225: plugin `")
            && error.ends_with("fails` was not added, because no device"),
        "{error}"
    );
}

#[test]
fn the_order_of_plugins_does_not_matter_for_constraints() {
    let mut world = world();
    world.add_plugin(|world: &mut World| {
        world.add_system(say("answer").after("speak"));
    });
    world.add_plugin(Speaker);
    world.update(0.1);
    assert_eq!(take(&mut world), ["speak", "answer"]);
}

#[test]
fn a_second_plugin_of_a_type_is_refused_with_both_places() {
    let mut world = world();
    world.add_plugin(Speaker);
    let first = line!() - 1;
    let error = world.try_add_plugin(Speaker).unwrap_err().to_string();
    let second = line!() - 1;
    let [first, second] = [first, second].map(|line| format!("plugins.rs:{line}:"));
    assert!(error.starts_with("A0224: plugin `Speaker` was added at "), "{error}");
    assert!(error.contains(&first) && error.contains(&second), "{error}");
    world.update(0.1);
    assert_eq!(take(&mut world), ["speak"], "nothing was added");
}

#[test]
fn a_required_plugin_is_added_unless_it_is_there() {
    let mut world = world();
    world.require_plugin::<Speaker>();
    world.require_plugin::<Speaker>();
    world.update(0.1);
    assert_eq!(take(&mut world), ["speak"]);
    assert!(world.try_add_plugin(Speaker).is_err());
}

#[test]
fn plugins_can_require_each_other() {
    #[derive(Default)]
    struct Hen;
    #[derive(Default)]
    struct Egg;
    impl Plugin for Hen {
        fn build(self, world: &mut World) -> SystemResult {
            world.require_plugin::<Egg>();
            world.add_system(say("hen"));
            Ok(())
        }
    }
    impl Plugin for Egg {
        fn build(self, world: &mut World) -> SystemResult {
            world.require_plugin::<Hen>();
            world.add_system(say("egg"));
            Ok(())
        }
    }
    let mut world = world();
    world.add_plugin(Hen);
    world.update(0.1);
    assert_eq!(take(&mut world), ["egg", "hen"]);
}

/// Adds a system, an entity and another plugin, and fails.
struct Broken {
    panics: bool,
}

impl Plugin for Broken {
    fn name() -> &'static str {
        "Broken"
    }

    fn build(self, world: &mut World) -> SystemResult {
        world.require_plugin::<Speaker>();
        world.add_system(say("broken").named("broken"));
        world.spawn(A(1));
        assert!(!self.panics, "no memory");
        Err("no device".into())
    }
}

#[test]
fn the_systems_and_plugins_of_a_failed_plugin_are_removed() {
    for (panics, reason) in [(false, "no device"), (true, "it panicked: no memory")] {
        let mut world = world();
        world.add_system(say("mine"));
        let error = world.try_add_plugin(Broken { panics }).unwrap_err().to_string();
        assert_eq!(error, format!("A0225: plugin `Broken` was not added, because {reason}"));
        assert_eq!((world.find_system("broken"), world.find_system("speak")), (None, None));
        assert!(!world.has_plugin::<Broken>() && !world.has_plugin::<Speaker>());
        assert_eq!(world.entity_count(), 1, "entities stay");
        assert!(world.check_invariants().is_ok());
        world.add_plugin(Speaker);
        world.update(0.1);
        assert_eq!(take(&mut world), ["mine", "speak"]);
    }
}

#[test]
fn a_plugin_that_another_one_requires_fails_the_other_one() {
    #[derive(Default)]
    struct Inner;
    struct Outer;
    impl Plugin for Inner {
        fn name() -> &'static str {
            "Inner"
        }

        fn build(self, _: &mut World) -> SystemResult {
            Err("no device".into())
        }
    }
    impl Plugin for Outer {
        fn name() -> &'static str {
            "Outer"
        }

        fn build(self, world: &mut World) -> SystemResult {
            world.add_system(say("outer"));
            world.require_plugin::<Inner>();
            Ok(())
        }
    }
    let mut world = world();
    let error = world.try_add_plugin(Outer).unwrap_err().to_string();
    assert_eq!(
        error,
        "A0225: plugin `Outer` was not added, because it panicked: A0225: plugin `Inner` was not added, because no device"
    );
    world.update(0.1);
    assert!(take(&mut world).is_empty());
}

#[test]
fn plugins_are_not_added_during_an_update() {
    let mut world = world();
    world.add_system((|world: &mut World| world.add_plugin(Speaker)).named("late"));
    let error = world.try_update(0.1).unwrap_err().to_string();
    assert!(
        error.starts_with("A0105: system `late` panicked: A0109: `add_plugin` was called"),
        "{error}"
    );
    assert!(!world.has_plugin::<Speaker>());
}

#[test]
fn plugins_and_their_systems_are_not_copied_by_a_fork() {
    let mut world = world();
    world.add_plugin(Speaker);
    let fork = world.fork().unwrap();
    assert!(!fork.has_plugin::<Speaker>() && fork.find_system("speak").is_none());
}

#[test]
fn observers_of_a_failed_plugin_are_removed() {
    use crate::common::Log;
    use ancho_entities::{Add, On, ResMut};
    let observe = |line: &'static str| {
        move |_: On<'_, Add<A>>, mut log: ResMut<'_, Log>| log.0.push(line.to_owned())
    };
    let mut world = world();
    let broken = move |world: &mut World| -> SystemResult {
        world.add_observer(observe("broken"));
        Err("no device".into())
    };
    world.try_add_plugin(broken).unwrap_err();
    world.add_observer(observe("mine"));
    world.spawn(A(1));
    assert_eq!(take(&mut world), ["mine"]);
}
