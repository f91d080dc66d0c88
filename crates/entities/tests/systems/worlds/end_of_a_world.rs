//! Worlds, and their end.

use ancho_entities::{Component, IntoSystem, SystemGroup, World};

use crate::trace::{Probe, Trace, noting};

#[derive(Component, Clone, Copy)]
struct Number(u64);

struct Group;

impl SystemGroup for Group {}

#[test]
fn worlds_have_separate_systems_and_times() {
    let trace = Trace::default();
    let mut first = World::new("First");
    let mut second = World::new("Second");
    first.add_system(noting(&trace, "first"));
    second.add_system(noting(&trace, "second"));
    first.update(0.25);
    assert_eq!(trace.take(), "first");
    second.update(0.125);
    assert_eq!(trace.take(), "second");
    assert_eq!((first.time().elapsed(), second.time().elapsed()), (0.25, 0.125));
}

#[test]
fn a_system_that_panics_when_destroyed_does_not_stop_the_others() {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    world.set_error_handler(|_| {});
    world.add_system(Probe::<0>::called("a", &trace));
    world.add_system(Probe::<1>::called("b", &trace).destroying(|_| panic!("in destroy")));
    world.add_system(Probe::<2>::called("c", &trace).stopping(|_| panic!("in stop")));
    world.update(0.1);
    trace.take();
    drop(world);
    let words = trace.take();
    for word in ["a.stop", "b.stop", "c.stop"] {
        assert!(words.contains(word), "{words}");
    }
    assert!(words.ends_with("c.destroy b.destroy a.destroy"), "{words}");
}

#[test]
fn a_world_that_is_being_dropped_takes_no_systems() {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    let noted = trace.clone();
    world.add_system(Probe::<0>::called("a", &trace).destroying(move |world| {
        let told = world.try_add_system(Probe::<1>::called("b", &noted)).unwrap_err().to_string();
        noted.note(told.split(':').next().unwrap());
        Ok(())
    }));
    drop(world);
    assert_eq!(trace.take(), "a.create a.destroy A0117");
}

#[test]
fn entities_can_be_used_until_the_last_system_is_destroyed() {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    world.spawn_many(Number(1), 7);
    let noted = trace.clone();
    world.add_system(Probe::<0>::new(&trace).destroying(move |world| {
        noted.note(world.query::<&Number>().count().to_string());
        world.despawn_all()?;
        Ok(())
    }));
    drop(world);
    assert_eq!(trace.take(), "create destroy 7");
}

#[test]
fn adding_and_removing_systems_raises_their_version() {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    let mut version = world.systems_version();
    let mut has_risen = |world: &World| {
        let before = std::mem::replace(&mut version, world.systems_version());
        version > before
    };
    let id = world.add_system(noting(&trace, "a").named("a"));
    assert!(has_risen(&world));
    world.try_update(0.1).unwrap();
    assert!(!has_risen(&world), "no entity was created or destroyed");
    world.add_system(Group);
    assert!(has_risen(&world));
    world.remove_system(id).unwrap();
    assert!(has_risen(&world));
    let id = world.add_system(noting(&trace, "patch").patch());
    assert!(has_risen(&world));
    world.remove_system(id).unwrap();
    assert!(has_risen(&world));
}

#[test]
fn removing_all_systems_raises_their_version() {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    world.add_system(noting(&trace, "a"));
    let before = world.systems_version();
    let root = world.find_system(ancho_entities::Root).unwrap();
    world.remove_system(root).unwrap();
    let without = world.systems_version();
    assert!(without > before);
    world.add_system(noting(&trace, "b"));
    assert!(world.systems_version() > without);
    world.try_update(0.1).unwrap();
    assert_eq!(trace.take(), "b");
}

#[test]
fn systems_are_destroyed_in_reverse_order_of_creation() {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    world.add_system(Probe::<0>::called("a", &trace).last().named("a"));
    world.add_system(Group);
    world.add_system(Probe::<1>::called("b", &trace).in_group(Group));
    world.add_system(Probe::<2>::called("c", &trace).before("a"));
    drop(world);
    assert_eq!(trace.take(), "a.create b.create c.create c.destroy b.destroy a.destroy");
}
