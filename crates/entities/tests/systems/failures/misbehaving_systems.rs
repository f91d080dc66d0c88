//! Systems that misbehave: a clear error, and the world still works.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ancho_entities::{
    Commands, Component, IntoSystem, Presentation, Query, RateManager, RateTurn, Root, Simulation,
    System, SystemGroup, SystemResult, Time, World,
};

use crate::trace::{Probe, Trace, noting};

#[derive(Component, Clone, Copy)]
struct Number(u32);

#[derive(Clone, Copy)]
struct Group;

impl SystemGroup for Group {
    fn name() -> &'static str {
        "Group"
    }
}

/// Returns the errors of an update, one string each.
fn told(world: &mut World) -> Vec<String> {
    match world.try_update(0.1) {
        Ok(()) => Vec::new(),
        Err(errors) => errors.iter().map(ToString::to_string).collect(),
    }
}

#[test]
fn a_system_that_removes_its_own_group_is_the_last_to_run() {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    let group = world.add_system(Group);
    let noted = trace.clone();
    let removes = Probe::<0>::called("own", &trace).updating(move |world| {
        world.remove_system(group)?;
        noted.note("removed");
        Ok(())
    });
    world.add_system(removes.in_group(Group));
    world.add_system(noting(&trace, "sibling").in_group(Group));
    world.add_system(noting(&trace, "other").in_group(Presentation));
    world.try_update(0.1).unwrap();
    let words = trace.take();
    assert!(words.starts_with("own.create own.start own.update removed"), "{words}");
    assert!(words.contains("own.stop own.destroy"), "{words}");
    assert!(!words.contains("sibling"), "{words}");
    assert!(words.contains("other"), "{words}");
    assert!(!world.has_system(group));
    world.try_update(0.1).unwrap();
    assert_eq!(trace.take(), "other");
}

#[test]
fn a_system_that_removes_the_default_groups_leaves_a_world_that_can_be_updated() {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    world.add_system(noting(&trace, "draw").in_group(Presentation));
    let simulation = world.find_system(Simulation).unwrap();
    let _ = world.remove_system(simulation);
    told(&mut world);
    assert_eq!(trace.take(), "draw");
    let root = world.find_system(Root).unwrap();
    let _ = world.remove_system(root);
    told(&mut world);
    // Any failure after this is an error with a code.
    if let Err(error) = world.try_add_system(noting(&trace, "late")) {
        assert!(error.to_string().starts_with("A01"), "{error}");
    }
    told(&mut world);
    drop(world);
}

#[test]
fn enabling_the_own_system_in_a_lifecycle_call_applies_next_time() {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    let wavering = Probe::<0>::new(&trace)
        .starting(|world| {
            let own = world.find_system("own").unwrap();
            world.set_system_enabled(own, false)?;
            Ok(())
        })
        .stopping(|world| {
            let own = world.find_system("own").unwrap();
            world.set_system_enabled(own, true)?;
            Ok(())
        });
    world.add_system(wavering.named("own"));
    for _ in 0..6 {
        world.try_update(0.1).unwrap();
    }
    drop(world);
    // It is unspecified whether the first update still runs. Starts and stops alternate, and nothing else happens.
    let words = trace.take();
    let ends: Vec<_> =
        words.split(' ').filter(|word| *word == "start" || *word == "stop").collect();
    for pair in ends.chunks(2) {
        assert_eq!(pair, ["start", "stop"], "{words}");
    }
    assert!(words.ends_with("destroy"), "{words}");
}

#[test]
fn a_system_that_adds_others_when_it_is_created_comes_after_them() {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    let noted = trace.clone();
    let adds = Probe::<0>::called("outer", &trace).creating(move |world| {
        world.add_system(Probe::<1>::called("inner", &noted));
        Ok(())
    });
    world.add_system(adds);
    world.try_update(0.1).unwrap();
    let words = trace.take();
    assert!(words.starts_with("outer.create inner.create "), "{words}");
    assert!(words.contains("inner.start inner.update"), "{words}");
    assert!(words.contains("outer.start outer.update"), "{words}");
    drop(world);
    let words = trace.take();
    assert!(words.contains("inner.destroy") && words.contains("outer.destroy"), "{words}");
}

#[test]
fn a_system_that_is_destroyed_may_remove_and_update_others() {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    let other = world.add_system(Probe::<1>::called("other", &trace));
    let last = Probe::<0>::called("last", &trace).destroying(move |world| {
        let _ = world.update_system(other);
        let _ = world.remove_system(other);
        Ok(())
    });
    world.add_system(last);
    world.try_update(0.1).unwrap();
    trace.take();
    drop(world);
    let words = trace.take();
    assert_eq!(words.matches("other.destroy").count(), 1, "{words}");
    assert_eq!(words.matches("last.destroy").count(), 1, "{words}");
}

#[test]
fn a0105_names_a_system_whose_destructor_panics() {
    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("in a destructor");
        }
    }

    struct Holder {
        _bomb: Bomb,
    }

    impl System for Holder {
        fn on_update(&mut self, _: &mut World) -> SystemResult {
            Ok(())
        }
    }

    let (trace, errors) = (Trace::default(), Trace::default());
    let mut world = World::new("Simulation");
    let handler = errors.clone();
    world.set_error_handler(move |error| handler.note(error.to_string()));
    let id = world.add_system(Holder { _bomb: Bomb }.named("holder"));
    world.add_system(noting(&trace, "other"));
    world.try_update(0.1).unwrap();
    let failed = world.remove_system(id).unwrap_err();
    assert!(!world.has_system(id));
    assert_eq!(
        failed.to_string(),
        "A0150: `holder` was removed, but failed during removal: A0105: system `holder` panicked: in a destructor"
    );
    assert_eq!(errors.take(), "", "the caller has the error");
    world.try_update(0.1).unwrap();
    assert_eq!(trace.take(), "other other");
}

#[test]
fn a_panic_whose_payload_panics_on_drop_is_reported() {
    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            if !std::thread::panicking() {
                panic!("in the payload");
            }
        }
    }

    let trace = Trace::default();
    let mut world = World::new("Simulation");
    world.add_system((|| -> () { std::panic::panic_any(Bomb) }).named("bomb"));
    world.add_system(noting(&trace, "other"));
    let sentences = told(&mut world);
    assert!(sentences[0].starts_with("A0105: system `bomb` panicked"), "{sentences:?}");
    assert_eq!(trace.take(), "other");
}

#[test]
fn a_rate_manager_that_panics_or_returns_a_bad_time_is_reported_and_the_others_run() {
    struct Panics;

    impl RateManager for Panics {
        fn next_update(&mut self, _: RateTurn) -> Option<Time> {
            panic!("in the rate");
        }
    }

    struct Bad;

    impl RateManager for Bad {
        fn next_update(&mut self, turn: RateTurn) -> Option<Time> {
            (turn.updates == 0).then(|| Time::new(f64::NAN, 0.1))
        }
    }

    let trace = Trace::default();
    let mut world = World::new("Simulation");
    let group = world.add_system(Group.rate(Panics));
    world.add_system(noting(&trace, "in the group").in_group(Group));
    world.add_system(noting(&trace, "other").in_group(Presentation));
    let sentences = told(&mut world);
    assert_eq!(sentences.len(), 1);
    assert!(sentences[0].contains("in the rate"), "{sentences:?}");
    assert_eq!(trace.take(), "other");
    world.set_rate(group, Bad).unwrap();
    let sentences = told(&mut world);
    let expected = "A0120: group `Group` was not updated: the elapsed time cannot be NaN seconds; pass a finite number";
    assert_eq!(sentences, [expected]);
    assert_eq!(trace.take(), "other");
    assert_eq!(world.time().frame(), 2);
}

#[test]
fn a_handler_that_panics_leaves_the_world_usable() {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    world.set_error_handler(|_| panic!("in the handler"));
    world.add_system((|| Err::<(), _>("no")).named("fails"));
    world.add_system(noting(&trace, "other"));
    for _ in 0..2 {
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world.update(0.1)));
    }
    assert_eq!(trace.take(), "other other");
    assert_eq!(told(&mut world), ["A0106: system `fails` failed: no"]);
    assert_eq!(world.executing_system(), None);
}

#[test]
fn failures_of_an_update_are_not_reported_twice() {
    let mut world = World::new("Simulation");
    let heard = Arc::new(AtomicUsize::new(0));
    let counted = heard.clone();
    world.set_error_handler(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    let fails = world.add_system((|| Err::<(), _>("no")).named("fails"));
    assert_eq!(told(&mut world).len(), 1);
    assert_eq!(heard.load(Ordering::Relaxed), 0);
    world.update(0.1);
    assert_eq!(heard.load(Ordering::Relaxed), 1);
    world.set_system_enabled(fails, false).unwrap();
    assert_eq!(told(&mut world), [""; 0]);
    world.update(0.1);
    assert_eq!(heard.load(Ordering::Relaxed), 1);
}

#[test]
fn a_fork_has_the_entities_and_not_the_systems() {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    world.spawn_many(Number(1), 3);
    world.add_system(noting(&trace, "a"));
    world.try_update(0.1).unwrap();
    trace.take();
    let mut fork = world.fork().unwrap();
    assert_eq!(fork.entity_count(), 3);
    fork.try_update(0.1).unwrap();
    assert_eq!(trace.take(), "");
    world.try_update(0.1).unwrap();
    assert_eq!(trace.take(), "a");
}

#[test]
fn a_thousand_systems_in_a_chain_run_in_order() {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    for number in (0..1000).rev() {
        let system = noting(&trace, &number.to_string()).named(number.to_string());
        if number == 0 {
            world.add_system(system);
        } else {
            world.add_system(system.after((number - 1).to_string().as_str()));
        }
    }
    world.try_update(0.1).unwrap();
    let expected: Vec<_> = (0..1000).map(|number| number.to_string()).collect();
    assert_eq!(trace.take(), expected.join(" "));
}

#[test]
fn sixteen_parameters_are_enough() {
    type N<'w> = Query<'w, &'static Number>;

    let mut world = World::new("Simulation");
    world.spawn_many(Number(1), 2);
    let seen = Arc::new(AtomicUsize::new(0));
    let counted = seen.clone();
    world.add_system(
        move |a: N,
              b: N,
              c: N,
              d: N,
              e: N,
              f: N,
              g: N,
              h: N,
              i: N,
              j: N,
              k: N,
              l: N,
              m: N,
              n: N,
              _: Time,
              _: Commands| {
            let all = [a, b, c, d, e, f, g, h, i, j, k, l, m, n];
            counted.store(all.iter().map(Query::count).sum(), Ordering::Relaxed);
        },
    );
    world.try_update(0.1).unwrap();
    assert_eq!(seen.load(Ordering::Relaxed), 28);
}

#[test]
fn a0105_names_the_group_whose_rate_manager_panics_on_drop() {
    struct Bomb;

    impl RateManager for Bomb {
        fn next_update(&mut self, _: RateTurn) -> Option<Time> {
            None
        }
    }

    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("in a destructor");
        }
    }

    let errors = Trace::default();
    let mut world = World::new("Simulation");
    let handler = errors.clone();
    world.set_error_handler(move |error| handler.note(error.to_string()));
    let id = world.add_system(Group.rate(Bomb).named("steps"));
    let failed = world.remove_system(id).unwrap_err();
    assert_eq!(
        failed.to_string(),
        "A0150: `steps` was removed, but failed during removal: A0105: system `steps` panicked: in a destructor"
    );
    assert_eq!(errors.take(), "", "the caller has the error");
    assert!(!world.has_system(id));
    world.try_update(0.1).unwrap();
}
