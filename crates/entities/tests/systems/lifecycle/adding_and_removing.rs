//! Systems that are added to groups that do not run, and systems that are removed.

use ancho_entities::{
    IntoSystem, QueryDescriptor, Root, Simulation, System, SystemGroup, SystemResult, World,
};

use crate::common::{A, Shared, say, take, world};

struct Group;

impl SystemGroup for Group {
    fn name() -> &'static str {
        "Group"
    }
}

struct Inner;

impl SystemGroup for Inner {
    fn name() -> &'static str {
        "Inner"
    }
}

type Hook = Box<dyn FnMut(&mut World) + Send>;

/// A system that logs its lifecycle, and runs an action on creation or destruction.
struct Told {
    log: Shared,
    create: Hook,
    destroy: Hook,
}

impl Told {
    fn new(log: &Shared) -> Self {
        Self { log: log.clone(), create: Box::new(|_| {}), destroy: Box::new(|_| {}) }
    }
}

impl System for Told {
    fn on_create(&mut self, world: &mut World) -> SystemResult {
        (self.create)(world);
        Ok(())
    }

    fn on_start_running(&mut self, _: &mut World) -> SystemResult {
        self.log.push("start");
        Ok(())
    }

    fn on_update(&mut self, _: &mut World) -> SystemResult {
        self.log.push("update");
        Ok(())
    }

    fn on_stop_running(&mut self, _: &mut World) -> SystemResult {
        self.log.push("stop");
        Ok(())
    }

    fn on_destroy(&mut self, world: &mut World) -> SystemResult {
        self.log.push("destroy");
        (self.destroy)(world);
        Ok(())
    }
}

#[test]
fn a_running_system_that_moves_to_a_stopped_group_is_stopped() {
    for requires in [false, true] {
        let (log, mut world) = (Shared::default(), World::new("test"));
        let group = if requires {
            Group.require(QueryDescriptor::of::<&A, ()>())
        } else {
            Group.enabled(false)
        };
        world.add_system(group);
        world.add_system(Inner.in_group(Group));
        let id = world.add_system(Told::new(&log));
        world.try_update(0.1).unwrap();
        assert_eq!(log.take(), ["start", "update"]);
        world.set_group(id, Inner).unwrap();
        world.try_update(0.1).unwrap();
        assert_eq!(log.take(), ["stop"]);
        world.try_update(0.1).unwrap();
        assert!(log.take().is_empty());
        world.spawn(A(1));
        world.set_system_enabled(Group, true).unwrap();
        world.try_update(0.1).unwrap();
        assert_eq!(log.take(), ["start", "update"]);
    }
}

#[test]
fn a_group_that_is_being_removed_takes_no_systems() {
    let (log, mut world) = (Shared::default(), world());
    let group = world.add_system(Group);
    world.add_system(Inner.in_group(Group));
    let free = world.add_system(say("free"));
    let noted = log.clone();
    let mut told = Told::new(&log);
    told.destroy = Box::new(move |world| {
        let refused = world.try_add_system(say("late").named("late").in_group(Group));
        noted.push(refused.unwrap_err().to_string());
        assert!(world.set_group(free, Group).is_err());
    });
    world.add_system(told.in_group(Inner));
    world.remove_system(group).unwrap();
    assert_eq!(
        log.take(),
        [
            "destroy",
            "A0110: system `late` cannot be in `Group`, which is not a group of this world; add the group first, or \
             name another"
        ]
    );
    world.try_update(0.1).unwrap();
    assert_eq!(take(&mut world), ["free"]);
}

#[test]
fn a_system_that_leaves_a_group_before_its_removal_stays() {
    let (log, mut world) = (Shared::default(), world());
    let group = world.add_system(Group);
    let saved = world.add_system(say("saved").in_group(Group));
    let mut told = Told::new(&log);
    told.destroy = Box::new(move |world| world.set_group(saved, Simulation).unwrap());
    // The last system is destroyed first.
    world.add_system(told.in_group(Group));
    world.remove_system(group).unwrap();
    assert!(world.has_system(saved) && !world.has_system(group));
    world.try_update(0.1).unwrap();
    assert_eq!(take(&mut world), ["saved"]);
}

#[test]
fn a_system_that_removes_its_group_while_it_is_created_is_not_added() {
    let (log, mut world) = (Shared::default(), World::new("test"));
    let group = world.add_system(Group);
    let mut told = Told::new(&log);
    told.create = Box::new(move |world| world.remove_system(group).unwrap());
    let refused = world.try_add_system(told.named("told").in_group(Group)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "A0110: system `told` cannot be in `Group`, which is not a group of this world; add the group first, or name another"
    );
    assert_eq!(log.take(), ["destroy"]);
    assert_eq!(world.find_system("told"), None);
    world.try_update(0.1).unwrap();
}

#[test]
fn systems_run_without_the_standard_groups() {
    let mut world = world();
    world.add_system(say("old"));
    world.remove_system(world.find_system(Simulation).unwrap()).unwrap();
    world.add_system(say("in root"));
    world.try_update(0.1).unwrap();
    assert_eq!(take(&mut world), ["in root"]);
    world.remove_system(world.find_system(Root).unwrap()).unwrap();
    world.try_update(0.1).unwrap();
    assert!(take(&mut world).is_empty());
    assert!(world.find_system(Root).is_none());
    world.add_system(say("new"));
    world.try_update(0.1).unwrap();
    assert_eq!(take(&mut world), ["new"]);
    assert!(world.find_system(Simulation).is_some());
}

#[test]
fn a_system_that_moves_while_it_is_created_is_in_one_group() {
    let (log, mut world) = (Shared::default(), World::new("test"));
    world.add_system(Group);
    let mut told = Told::new(&log);
    told.create = Box::new(|world| {
        let own = world.executing_system().unwrap();
        world.set_group(own, Group).unwrap();
    });
    let id = world.add_system(told);
    assert_eq!(world.system_info(id).unwrap().group, world.find_system(Group));
    world.try_update(0.1).unwrap();
    assert_eq!(log.take(), ["start", "update"]);
    world.set_system_enabled(Group, false).unwrap();
    world.try_update(0.1).unwrap();
    assert_eq!(log.take(), ["stop"]);
}

/// A system that removes itself at the given event.
struct Leaves(Shared, &'static str);

impl Leaves {
    fn told(&self, world: &mut World, moment: &'static str) -> SystemResult {
        self.0.push(moment);
        if moment == self.1 {
            let own = world.executing_system().ok_or("no system is running")?;
            world.remove_system(own)?;
        }
        Ok(())
    }
}

impl System for Leaves {
    fn on_start_running(&mut self, world: &mut World) -> SystemResult {
        self.told(world, "start")
    }

    fn on_update(&mut self, world: &mut World) -> SystemResult {
        self.told(world, "update")
    }

    fn on_stop_running(&mut self, world: &mut World) -> SystemResult {
        self.told(world, "stop")
    }

    fn on_destroy(&mut self, world: &mut World) -> SystemResult {
        self.told(world, "destroy")
    }
}

#[test]
fn a_system_that_removes_itself_in_any_call_is_removed_once() {
    for (moment, told) in [
        ("start", vec!["start", "stop", "destroy"]),
        ("update", vec!["start", "update", "stop", "destroy"]),
        ("stop", vec!["start", "update", "stop", "destroy"]),
    ] {
        let (log, mut world) = (Shared::default(), World::new("test"));
        let id = world.add_system(Leaves(log.clone(), moment));
        world.try_update(0.1).unwrap();
        if moment == "stop" {
            world.set_system_enabled(id, false).unwrap();
            world.try_update(0.1).unwrap();
        }
        assert!(!world.has_system(id), "{moment}");
        assert_eq!(log.take(), told, "{moment}");
        // Another system of the type can be added.
        let again = world.add_system(Leaves(log.clone(), "destroy"));
        world.try_update(0.1).unwrap();
        world.remove_system(again).unwrap();
        assert_eq!(log.take(), ["start", "update", "stop", "destroy"]);
    }
}

/// A system that logs its stop and its destruction, with its number.
struct Numbered<const NUMBER: u32>(Shared);

impl<const NUMBER: u32> System for Numbered<NUMBER> {
    fn on_update(&mut self, _: &mut World) -> SystemResult {
        Ok(())
    }

    fn on_stop_running(&mut self, _: &mut World) -> SystemResult {
        self.0.push(format!("stop {NUMBER}"));
        Ok(())
    }

    fn on_destroy(&mut self, _: &mut World) -> SystemResult {
        self.0.push(format!("destroy {NUMBER}"));
        Ok(())
    }
}

/// Creates a world with a nested group: created as 1, 2, 3, updated as 2, 1, 3.
fn numbered(log: &Shared) -> World {
    let mut world = World::new("test");
    world.add_system(Group);
    world.add_system(Inner.in_group(Group));
    world.add_system(Numbered::<1>(log.clone()).named("one").in_group(Inner));
    world.add_system(Numbered::<2>(log.clone()).named("two").before("one").in_group(Inner));
    world.add_system(Numbered::<3>(log.clone()).after(Inner).in_group(Group));
    world.try_update(0.1).unwrap();
    world
}

#[test]
fn systems_of_a_removed_group_all_stop_before_the_first_is_destroyed() {
    let log = Shared::default();
    let mut world = numbered(&log);
    let group = world.find_system("Group").unwrap();
    world.remove_system(group).unwrap();
    assert_eq!(log.take(), ["stop 2", "stop 1", "stop 3", "destroy 3", "destroy 2", "destroy 1"]);
}

#[test]
fn systems_of_a_dropped_world_all_stop_before_the_first_is_destroyed() {
    let log = Shared::default();
    drop(numbered(&log));
    assert_eq!(log.take(), ["stop 1", "stop 2", "stop 3", "destroy 3", "destroy 2", "destroy 1"]);
}
