//! Groups, and systems that are added and removed during their update.

use ancho_entities::{Component, IntoSystem, QueryDescriptor, Simulation, SystemGroup, World};

use crate::trace::{Probe, Trace, noting};

macro_rules! groups {
    ($($group:ident)*) => {
        $(
            #[derive(Clone, Copy)]
            struct $group;

            impl SystemGroup for $group {
                fn name() -> &'static str {
                    stringify!($group)
                }
            }
        )*
    };
}

groups!(Outer Inner Third);

fn frame(world: &mut World, trace: &Trace) -> String {
    world.try_update(0.1).unwrap();
    trace.take()
}

#[test]
fn disabling_a_group_stops_its_systems() {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    world.add_system(Outer);
    world.add_system(Inner.in_group(Outer));
    world.add_system(Probe::<0>::called("a", &trace).in_group(Outer));
    world.add_system(Probe::<1>::called("b", &trace).in_group(Inner).enabled(false));
    world.add_system(Probe::<2>::called("c", &trace).in_group(Inner));
    frame(&mut world, &trace);
    world.set_system_enabled(Outer, false).unwrap();
    let mut stopped: Vec<_> =
        frame(&mut world, &trace).split_whitespace().map(String::from).collect();
    stopped.sort_unstable();
    assert_eq!(stopped, ["a.stop", "c.stop"]);
    assert_eq!(frame(&mut world, &trace), "");
    // A system that was disabled itself stays disabled.
    world.set_system_enabled(Outer, true).unwrap();
    let words = frame(&mut world, &trace);
    assert!(words.contains("a.start a.update"), "{words}");
    assert!(words.contains("c.start c.update"), "{words}");
    assert!(!words.contains("b."), "{words}");
}

#[test]
fn a_group_cannot_be_in_itself() {
    let mut world = World::new("Simulation");
    let told = world.try_add_system(Outer.in_group(Outer)).unwrap_err().to_string();
    assert!(told.starts_with("A0110: "), "{told}");
    assert!(told.contains("Outer"), "{told}");
    world.add_system(Outer);
    // A group can be added once.
    let told = world.try_add_system(Outer).unwrap_err().to_string();
    assert_eq!(
        told,
        "A0116: this world already has `Outer`; structs, groups and points can be added once: remove the other, or use \
         another type"
    );
    world.try_update(0.1).unwrap();
}

#[test]
fn a_system_added_during_an_update_runs_in_the_next_one() {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    let noted = trace.clone();
    let mut added = false;
    let adds = Probe::<0>::called("adds", &trace).updating(move |world| {
        if !added {
            added = true;
            world.add_system(noting(&noted, "first").named("first").first());
            world.add_system(noting(&noted, "child").named("child"));
        }
        Ok(())
    });
    world.add_system(adds);
    assert_eq!(frame(&mut world, &trace), "adds.create adds.start adds.update");
    assert_eq!(frame(&mut world, &trace), "first adds.update child");
}

#[test]
fn a_system_removed_during_an_update_does_not_run_again() {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    let removes = Probe::<0>::called("removes", &trace).updating(move |world| {
        if world.system::<Probe<1>>().is_some() {
            let victim = world.find_system("victim").unwrap();
            world.remove_system(victim)?;
        }
        Ok(())
    });
    world.add_system(removes);
    world.add_system(Probe::<1>::called("victim", &trace).named("victim"));
    world.add_system(noting(&trace, "other"));
    let words = frame(&mut world, &trace);
    assert!(words.contains("victim.destroy"), "{words}");
    assert!(!words.contains("victim.update"), "{words}");
    assert!(words.ends_with("other"), "{words}");
    assert_eq!(frame(&mut world, &trace), "removes.update other");
}

#[test]
fn a_system_that_has_run_is_stopped_when_it_is_removed() {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    world.add_system(Probe::<1>::called("victim", &trace).named("victim"));
    let mut frames = 0;
    let removes = Probe::<0>::called("removes", &trace).updating(move |world| {
        frames += 1;
        if frames == 2 {
            let victim = world.find_system("victim").unwrap();
            world.remove_system(victim)?;
        }
        Ok(())
    });
    world.add_system(removes);
    frame(&mut world, &trace);
    assert_eq!(
        frame(&mut world, &trace),
        "victim.update removes.update victim.stop victim.destroy"
    );
}

#[test]
fn a_system_that_removes_itself_finishes_its_update() {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    let noted = trace.clone();
    let suicidal = Probe::<0>::called("own", &trace).updating(move |world| {
        let own = world.find_system("own").unwrap();
        world.remove_system(own)?;
        noted.note("removed");
        world.remove_system(own)?;
        noted.note("again");
        Ok(())
    });
    world.add_system(suicidal.named("own"));
    world.add_system(noting(&trace, "other"));
    // The system is removed after its update, before the next one runs.
    assert_eq!(
        frame(&mut world, &trace),
        "own.create own.start own.update removed again own.stop own.destroy other"
    );
    assert_eq!(world.find_system("own"), None);
    assert_eq!(frame(&mut world, &trace), "other");
}

#[derive(Component, Clone, Copy)]
struct Needed;

#[test]
fn a_group_runs_while_its_required_entities_exist() {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    world.add_system(Outer.require(QueryDescriptor::of::<&Needed, ()>()));
    world.add_system(Inner.in_group(Outer));
    world.add_system(Probe::<0>::called("a", &trace).in_group(Outer));
    world.add_system(Probe::<1>::called("b", &trace).in_group(Inner));
    world.add_system(noting(&trace, "other"));
    assert_eq!(frame(&mut world, &trace), "a.create b.create other");
    let needed = world.spawn(Needed);
    let outer = world.find_system(Outer).unwrap();
    assert!(!world.system_info(outer).unwrap().running);
    assert_eq!(frame(&mut world, &trace), "b.start b.update a.start a.update other");
    assert!(world.system_info(outer).unwrap().running);
    assert_eq!(frame(&mut world, &trace), "b.update a.update other");
    world.despawn(needed).unwrap();
    let mut words: Vec<_> =
        frame(&mut world, &trace).split_whitespace().map(String::from).collect();
    assert_eq!(words.pop().as_deref(), Some("other"));
    words.sort_unstable();
    assert_eq!(words, ["a.stop", "b.stop"]);
    assert_eq!(world.is_system_enabled(Outer), Ok(true), "it waits");
    assert_eq!(frame(&mut world, &trace), "other");
    world.spawn(Needed);
    assert_eq!(frame(&mut world, &trace), "b.start b.update a.start a.update other");
}

#[test]
fn removing_a_group_removes_its_systems() {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    let outer = world.add_system(Outer);
    world.add_system(Inner.in_group(Outer));
    let child = world.add_system(Probe::<0>::called("child", &trace).in_group(Inner));
    world.add_system(noting(&trace, "other"));
    frame(&mut world, &trace);
    world.remove_system(outer).unwrap();
    assert_eq!(trace.take(), "child.stop child.destroy");
    assert!(!world.has_system(child));
    assert_eq!(frame(&mut world, &trace), "other");
    // They can be added again.
    world.add_system(Outer);
    world.add_system(noting(&trace, "again").in_group(Outer));
    assert_eq!(frame(&mut world, &trace), "other again");
}

#[test]
fn removing_a_removed_system_is_an_error_and_changes_nothing() {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    let id = world.add_system(noting(&trace, "a").named("a"));
    world.remove_system(id).unwrap();
    let told = world.remove_system(id).unwrap_err().to_string();
    assert!(told.starts_with("A0108: this world has no system "), "{told}");
    // A new system in the same slot has another id.
    let other = world.add_system(noting(&trace, "b").named("b"));
    assert!(world.remove_system(id).is_err());
    assert!(world.has_system(other));
    assert_eq!(frame(&mut world, &trace), "b");
}

#[test]
fn ids_of_another_world_are_refused() {
    let trace = Trace::default();
    let mut first = World::new("First");
    let mut second = World::new("Second");
    let id = first.add_system(noting(&trace, "a"));
    second.add_system(noting(&trace, "b"));
    assert!(!second.has_system(id));
    assert!(second.remove_system(id).is_err());
    assert!(second.set_system_enabled(id, false).is_err());
    assert_eq!(frame(&mut second, &trace), "b");
}

#[test]
fn groups_are_enabled_and_required_like_systems() {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    world.add_system(Third.enabled(false).in_group(Simulation));
    world.add_system(Probe::<0>::called("a", &trace).in_group(Third));
    assert_eq!(frame(&mut world, &trace), "a.create");
    world.set_system_enabled(Third, true).unwrap();
    assert_eq!(frame(&mut world, &trace), "a.start a.update");
}
