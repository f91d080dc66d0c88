//! Systems that update systems, and systems that follow all others.

use ancho_entities::{Component, IntoSystem, Presentation, SystemGroup, World};

use crate::trace::{Probe, Trace, noting};

struct Physics;

impl SystemGroup for Physics {
    fn name() -> &'static str {
        "Physics"
    }
}

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Health(u32);

#[test]
fn after_a_nested_update_the_outer_system_is_the_executing_one() {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    let inner = world.add_system(Probe::<1>::called("inner", &trace).updating({
        let trace = trace.clone();
        move |world| {
            trace.note(format!("{:?}", world.executing_system().is_some()));
            Ok(())
        }
    }));
    let outer = Probe::<0>::called("outer", &trace).updating({
        let trace = trace.clone();
        move |world| {
            let own = world.executing_system();
            world.update_system(inner)?;
            assert_eq!(world.executing_system(), own);
            trace.note("back");
            Ok(())
        }
    });
    world.add_system(outer.in_group(Presentation));
    assert_eq!(world.executing_system(), None);
    world.try_update(0.1).unwrap();
    assert_eq!(world.executing_system(), None);
    assert_eq!(
        trace.take(),
        "inner.create outer.create inner.start inner.update true outer.start outer.update inner.update true back"
    );
}

#[test]
fn the_executing_system_is_restored_when_the_inner_one_panics() {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    let inner = Probe::<1>::called("inner", &trace).updating(|_| panic!("inside"));
    let inner = world.add_system(inner.named("inner").enabled(false));
    let outer = Probe::<0>::called("outer", &trace).updating({
        let trace = trace.clone();
        move |world| {
            let own = world.executing_system();
            world.set_system_enabled(inner, true)?;
            if let Err(error) = world.update_system(inner) {
                trace.note(error.to_string());
            }
            world.set_system_enabled(inner, false)?;
            assert_eq!(world.executing_system(), own);
            assert!(own.is_some());
            Ok(())
        }
    });
    world.add_system(outer.in_group(Presentation));
    world.add_system(noting(&trace, "after").in_group(Presentation));
    let _ = world.try_update(0.1);
    let words = trace.take();
    assert!(words.contains("A0105: system `inner` panicked: inside"), "{words}");
    assert!(words.ends_with("after"), "{words}");
    assert_eq!(world.executing_system(), None);
}

#[test]
fn a_system_that_updates_itself_gets_an_error() {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    let own = Probe::<0>::called("own", &trace).updating(|world| {
        let own = world.executing_system().unwrap();
        world.update_system(own)?;
        Ok(())
    });
    world.add_system(own.named("own"));
    let told = world.try_update(0.1).unwrap_err().to_string();
    assert!(told.contains("A0109: `own` is being updated"), "{told}");
}

#[test]
fn a_group_that_is_updating_is_not_updated_from_inside() {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    let physics = world.add_system(Physics);
    let inside = Probe::<0>::called("inside", &trace).updating(move |world| {
        world.update_system(physics)?;
        Ok(())
    });
    world.add_system(inside.in_group(Physics));
    let told = world.try_update(0.1).unwrap_err().to_string();
    assert!(told.contains("A0109: `Physics` is being updated"), "{told}");
}

#[test]
fn a_world_is_not_updated_from_inside() {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    let inside = Probe::<0>::called("inside", &trace).updating(|world| {
        world.try_update(0.1)?;
        Ok(())
    });
    world.add_system(inside);
    world.add_system(noting(&trace, "other"));
    let told = world.try_update(0.1).unwrap_err().to_string();
    assert!(told.contains("A0109"), "{told}");
    assert!(trace.take().ends_with("other"));
    assert_eq!(world.time().frame(), 1);
}

#[test]
fn a_single_system_can_be_updated_from_outside() {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    let id = world.add_system(Probe::<0>::called("a", &trace));
    world.add_system(noting(&trace, "b"));
    world.update_system(id).unwrap();
    assert_eq!(trace.take(), "a.create a.start a.update");
    world.set_system_enabled(id, false).unwrap();
    world.update_system(id).unwrap();
    assert_eq!(trace.take(), "a.stop");
    world.remove_system(id).unwrap();
    let told = world.update_system(id).unwrap_err().to_string();
    assert!(told.contains("A0108"), "{told}");
}

#[test]
fn a_patch_follows_every_other_system() {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    world.add_system(noting(&trace, "a"));
    world.add_system(noting(&trace, "patch").patch());
    world.add_system(noting(&trace, "b").enabled(false));
    world.add_system(noting(&trace, "c").in_group(Presentation));
    world.try_update(0.1).unwrap();
    let words = trace.take();
    assert!(words.contains("a patch"), "{words}");
    assert!(words.contains("c patch"), "{words}");
    assert!(!words.contains('b'), "{words}");
}

#[test]
fn a_patch_sees_the_changes_of_the_system() {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    let entity = world.spawn(Health(0));
    let change = move |world: &mut World| world.get_mut::<Health>(entity).unwrap().0 = 7;
    world.add_system(change);
    let noted = trace.clone();
    let patch = move |world: &mut World| {
        let seen = world.get::<Health>(entity).unwrap().0;
        if seen == 7 {
            world.get_mut::<Health>(entity).unwrap().0 = 8;
            noted.note("patched");
        }
    };
    world.add_system(patch.patch());
    let noted = trace.clone();
    let read =
        move |world: &mut World| noted.note(format!("{:?}", world.get::<Health>(entity).unwrap()));
    world.add_system(read);
    world.try_update(0.1).unwrap();
    assert_eq!(trace.take(), "patched Health(8)");
}
