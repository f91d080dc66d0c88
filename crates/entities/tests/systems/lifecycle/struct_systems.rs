//! The lifecycle of struct systems.

use ancho_entities::{
    IntoSystem, QueryDescriptor, ResMut, Simulation, System, SystemError, SystemGroup,
    SystemResult, World, system_type,
};

use crate::common::{A, B, Log, Shared, say, take};

/// A system that logs each lifecycle call.
struct Noting {
    log: Shared,
    name: &'static str,
}

impl Noting {
    fn new(log: &Shared, name: &'static str) -> Self {
        Self { log: log.clone(), name }
    }

    fn note(&self, what: &str) -> SystemResult {
        self.log.push(format!("{} {what}", self.name));
        Ok(())
    }
}

impl System for Noting {
    fn on_create(&mut self, _: &mut World) -> SystemResult {
        self.note("create")
    }

    fn on_start_running(&mut self, _: &mut World) -> SystemResult {
        self.note("start")
    }

    fn on_update(&mut self, _: &mut World) -> SystemResult {
        self.note("update")
    }

    fn on_stop_running(&mut self, _: &mut World) -> SystemResult {
        self.note("stop")
    }

    fn on_destroy(&mut self, _: &mut World) -> SystemResult {
        self.note("destroy")
    }
}

/// A second type, since a world has one system of a type.
struct Other(Noting);

impl System for Other {
    fn on_create(&mut self, world: &mut World) -> SystemResult {
        self.0.on_create(world)
    }

    fn on_start_running(&mut self, world: &mut World) -> SystemResult {
        self.0.on_start_running(world)
    }

    fn on_update(&mut self, world: &mut World) -> SystemResult {
        self.0.on_update(world)
    }

    fn on_stop_running(&mut self, world: &mut World) -> SystemResult {
        self.0.on_stop_running(world)
    }

    fn on_destroy(&mut self, world: &mut World) -> SystemResult {
        self.0.on_destroy(world)
    }
}

/// A third type.
struct Third(Noting);

impl System for Third {
    fn on_start_running(&mut self, world: &mut World) -> SystemResult {
        self.0.on_start_running(world)
    }

    fn on_update(&mut self, world: &mut World) -> SystemResult {
        self.0.on_update(world)
    }

    fn on_stop_running(&mut self, world: &mut World) -> SystemResult {
        self.0.on_stop_running(world)
    }
}

#[test]
fn starting_and_stopping_alternate() {
    let (log, mut world) = (Shared::default(), World::new("test"));
    let id = world.add_system(Noting::new(&log, "x"));
    assert_eq!(log.take(), ["x create"]);
    world.update(0.1);
    world.update(0.1);
    assert_eq!(log.take(), ["x start", "x update", "x update"]);
    world.set_system_enabled(id, false).unwrap();
    assert!(log.take().is_empty(), "the callback runs with its update");
    world.update(0.1);
    world.update(0.1);
    assert_eq!(log.take(), ["x stop"]);
    world.set_system_enabled(id, true).unwrap();
    world.set_system_enabled(id, false).unwrap();
    world.update(0.1);
    assert!(log.take().is_empty());
    world.set_system_enabled(id, true).unwrap();
    world.update(0.1);
    assert_eq!(log.take(), ["x start", "x update"]);
    world.remove_system(id).unwrap();
    assert_eq!(log.take(), ["x stop", "x destroy"]);
}

#[test]
fn a_system_that_never_ran_is_not_stopped() {
    let (log, mut world) = (Shared::default(), World::new("test"));
    let id = world.add_system(Noting::new(&log, "x").enabled(false));
    world.update(0.1);
    world.remove_system(id).unwrap();
    assert_eq!(log.take(), ["x create", "x destroy"]);
}

#[test]
fn requirements_start_and_stop_a_system() {
    let (log, mut world) = (Shared::default(), World::new("test"));
    let both = Noting::new(&log, "x")
        .require(QueryDescriptor::of::<&A, ()>())
        .require(QueryDescriptor::of::<&B, ()>());
    world.add_system(both);
    log.take();
    world.update(0.1);
    let a = world.spawn(A(1));
    world.update(0.1);
    assert!(log.take().is_empty(), "one of two is not enough");
    let b = world.spawn(B(1));
    world.update(0.1);
    assert_eq!(log.take(), ["x start", "x update"]);
    world.despawn(a).unwrap();
    world.update(0.1);
    world.update(0.1);
    assert_eq!(log.take(), ["x stop"]);
    world.spawn(A(1));
    world.update(0.1);
    assert_eq!(log.take(), ["x start", "x update"]);
    world.despawn(b).unwrap();
    drop(world);
    assert_eq!(log.take(), ["x stop", "x destroy"]);
}

#[test]
fn one_of_several_and_own_queries() {
    use ancho_entities::{Query, ResMut};

    use crate::common::{Log, take, world};

    fn own(_: Query<&A>, _: Query<&B>, mut log: ResMut<Log>) {
        log.0.push("own".to_owned());
    }

    let mut world = world();
    let any = (|mut log: ResMut<Log>| log.0.push("any".to_owned()))
        .require_any(QueryDescriptor::of::<&A, ()>())
        .require_any(QueryDescriptor::of::<&B, ()>());
    world.add_system(any);
    world.add_system(own.require_matching());
    let explicit = own.require_matching().require(QueryDescriptor::of::<(&A, &B), ()>());
    world.add_system(explicit);
    world.update(0.1);
    assert!(take(&mut world).is_empty());
    world.spawn(B(1));
    world.update(0.1);
    assert_eq!(take(&mut world), ["any", "own"], "what is required explicitly wins");
    world.spawn((A(1), B(1)));
    world.update(0.1);
    assert_eq!(take(&mut world), ["any", "own", "own"]);
}

#[test]
fn enabled_bits_and_changes_do_not_matter_to_requirements() {
    use ancho_entities::Changed;

    use crate::common::Switch;

    let (log, mut world) = (Shared::default(), World::new("test"));
    let entity = world.spawn((Switch(1), A(1)));
    world.set_component_enabled::<Switch>(entity, false).unwrap();
    let system = Noting::new(&log, "x")
        .require(QueryDescriptor::of::<&Switch, ()>())
        .require(QueryDescriptor::of::<(), Changed<A>>().since(world.version()));
    world.add_system(system);
    log.take();
    world.update(0.1);
    assert_eq!(log.take(), ["x start", "x update"]);
}

struct Group;

impl SystemGroup for Group {}

struct Inner;

impl SystemGroup for Inner {}

#[test]
fn a_group_that_stops_has_its_systems_stop() {
    let (log, mut world) = (Shared::default(), World::new("test"));
    world.add_system(Group);
    world.add_system(Inner.in_group(Group));
    world.add_system(Noting::new(&log, "x").in_group(Inner));
    let other = world.add_system(Other(Noting::new(&log, "y")).in_group(Group));
    log.take();
    world.update(0.1);
    assert_eq!(log.take(), ["x start", "x update", "y start", "y update"]);
    world.set_system_enabled(other, false).unwrap();
    world.set_system_enabled(Group, false).unwrap();
    world.update(0.1);
    world.update(0.1);
    assert_eq!(log.take(), ["x stop", "y stop"]);
    world.set_system_enabled(Group, true).unwrap();
    world.update(0.1);
    assert_eq!(log.take(), ["x start", "x update"], "one that was disabled on its own stays so");
    assert_eq!(world.is_system_enabled(other), Ok(false));
    world.remove_system(world.find_system(Group).unwrap()).unwrap();
    assert_eq!(log.take(), ["x stop", "y destroy", "x destroy"]);
    assert!(world.find_system(Inner).is_none() && !world.has_system(other));
}

#[test]
fn a_group_stops_its_systems_in_the_order_in_which_they_run() {
    let (log, mut world) = (Shared::default(), World::new("test"));
    world.add_system(Group);
    world.add_system(Noting::new(&log, "last").in_group(Group).last());
    world.add_system(Inner.in_group(Group));
    world.add_system(Other(Noting::new(&log, "first")).in_group(Group).before(Inner));
    world.add_system(Third(Noting::new(&log, "inner")).in_group(Inner));
    log.take();
    world.update(0.1);
    let run =
        ["first start", "first update", "inner start", "inner update", "last start", "last update"];
    assert_eq!(log.take(), run);
    world.set_system_enabled(Group, false).unwrap();
    world.update(0.1);
    assert_eq!(log.take(), ["first stop", "inner stop", "last stop"]);
    world.set_system_enabled(Group, true).unwrap();
    world.update(0.1);
    log.take();
    // The order is computed again after a change.
    let third = world.find_system(system_type::<Third>()).unwrap();
    world.set_group(third, Group).unwrap();
    world.set_system_enabled(Group, false).unwrap();
    world.update(0.1);
    assert_eq!(log.take(), ["first stop", "inner stop", "last stop"]);
}

#[test]
fn an_unsorted_group_stops_its_systems() {
    let (log, mut world) = (Shared::default(), World::new("test"));
    world.add_system(Group);
    world.add_system(Noting::new(&log, "x").in_group(Group));
    world.add_system(Other(Noting::new(&log, "y")).in_group(Group));
    world.update(0.1);
    log.take();
    fn hen() {}
    fn egg() {}
    world.add_system(hen.in_group(Group).before(egg));
    world.add_system(egg.in_group(Group).before(hen));
    world.set_system_enabled(Group, false).unwrap();
    world.try_update(0.1).unwrap();
    assert_eq!(log.take(), ["x stop", "y stop"]);
}

#[test]
fn a0150_removing_a_system_returns_the_failures_of_its_end() {
    struct Fails;

    impl System for Fails {
        fn on_update(&mut self, _: &mut World) -> SystemResult {
            Ok(())
        }

        fn on_stop_running(&mut self, _: &mut World) -> SystemResult {
            panic!("cannot stop")
        }

        fn on_destroy(&mut self, _: &mut World) -> SystemResult {
            Err("no disk".into())
        }
    }

    let (log, mut world) = (Shared::default(), World::new("test"));
    let handler = log.clone();
    world.set_error_handler(move |error| handler.push(error.to_string()));
    let id = world.add_system(Fails.named("saves"));
    let error = world.remove_system(id).unwrap_err();
    let expected = "A0150: `saves` was removed, but failed during removal: A0106: system `saves` failed: no disk";
    assert_eq!(error.to_string(), expected);
    assert!(!world.has_system(id));

    let group = world.add_system(Group);
    world.add_system(Fails.named("saves").in_group(Group));
    world.update(0.1);
    let error = world.remove_system(group).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "A0150: `{}` was removed, but failed during removal: A0105: system `saves` panicked: cannot stop; A0106: \
             system `saves` failed: no disk",
            std::any::type_name::<Group>()
        )
    );
    assert_eq!(world.find_system("saves"), None);

    // A system that removes another one handles the error.
    let id = world.add_system(Fails.named("saves"));
    world.add_system((move |world: &mut World| world.remove_system(id)).named("removes").first());
    world.update(0.1);
    assert_eq!(log.take(), [format!("A0106: system `removes` failed: {expected}")]);
    world.update(0.1);
    assert_eq!(log.take().len(), 1, "it is gone");
}

#[test]
fn a_world_that_is_dropped_stops_all_and_destroys_the_last_first() {
    let (log, mut world) = (Shared::default(), World::new("test"));
    world.add_system(Noting::new(&log, "x"));
    world.add_system(Other(Noting::new(&log, "y")));
    world.update(0.1);
    log.take();
    drop(world);
    assert_eq!(log.take(), ["x stop", "y stop", "y destroy", "x destroy"]);
}

#[test]
fn a_panic_at_the_end_does_not_keep_others_from_theirs() {
    struct Bad;

    impl System for Bad {
        fn on_update(&mut self, _: &mut World) -> SystemResult {
            Ok(())
        }

        fn on_stop_running(&mut self, _: &mut World) -> SystemResult {
            panic!("while stopping")
        }

        fn on_destroy(&mut self, world: &mut World) -> SystemResult {
            fn late() {}
            let refused = world.try_add_system(late.named("late")).unwrap_err();
            assert_eq!(refused, SystemError::WorldEnds { system: "late".to_owned() });
            assert_eq!(
                refused.to_string(),
                "A0117: system `late` cannot be added to a world that is being dropped; add it before, or to another world"
            );
            panic!("while being destroyed")
        }
    }

    let (log, mut world) = (Shared::default(), World::new("test"));
    let errors = log.clone();
    world.set_error_handler(move |error| errors.push(error.to_string()));
    world.add_system(Noting::new(&log, "x"));
    world.add_system(Bad.named("bad"));
    world.update(0.1);
    log.take();
    drop(world);
    let bad = |what| format!("A0105: system `bad` panicked: while {what}");
    let expected = ["x stop", "x destroy", &bad("stopping"), &bad("being destroyed")];
    assert_eq!(log.take(), expected);
}

#[test]
fn a_start_that_fails_is_followed_by_no_update() {
    struct Bad(u32);

    impl System for Bad {
        fn on_start_running(&mut self, _: &mut World) -> SystemResult {
            Err("cold".into())
        }

        fn on_update(&mut self, _: &mut World) -> SystemResult {
            self.0 += 1;
            Ok(())
        }
    }

    let mut world = World::new("test");
    world.add_system(Bad(0));
    assert!(world.try_update(0.1).unwrap_err().to_string().ends_with("failed: cold"));
    assert_eq!(world.system::<Bad>().unwrap().0, 0);
    world.try_update(0.1).unwrap();
    assert_eq!(world.system_mut::<Bad>().unwrap().0, 1);
    let _ = Simulation;
}

#[test]
fn a_function_added_twice_is_enabled_in_both_places() {
    fn count(mut log: ResMut<Log>) {
        log.0.push("count".to_owned());
    }

    let mut world = crate::common::world();
    let ids = [count, count].map(|system| world.add_system(system));
    let named = world.add_system(say("named").named("other"));
    world.set_system_enabled(count, false).unwrap();
    assert_eq!(ids.map(|id| world.is_system_enabled(id)), [Ok(false), Ok(false)]);
    world.try_update(0.1).unwrap();
    assert_eq!(take(&mut world), ["named"]);
    world.set_system_enabled(ids[1], true).unwrap();
    assert_eq!(world.is_system_enabled(count), Ok(false), "the first one");
    world.set_system_enabled(count, true).unwrap();
    world.set_system_enabled("other", false).unwrap();
    assert_eq!(world.is_system_enabled(named), Ok(false));
    world.try_update(0.1).unwrap();
    assert_eq!(take(&mut world), ["count", "count"]);
}
