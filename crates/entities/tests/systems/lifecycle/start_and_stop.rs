//! The start, update and stop of systems.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ancho_entities::{
    Changed, Component, Entity, IntoSystem, Query, QueryDescriptor, SystemId, World,
};

use crate::trace::{Probe, Trace, noting};

#[derive(Component, Clone, Copy, Debug)]
struct Needed;

#[derive(Component, Clone, Copy, Debug)]
struct Other;

#[derive(Component, Clone, Copy, Debug)]
#[component(enableable)]
struct Awake;

/// The requirement of the system, and whether it is met at first.
#[derive(Clone, Copy)]
enum Requires {
    Nothing,
    There,
    Lacking,
}
use Requires::{Lacking, Nothing, There};

/// The change between the first update and the second.
#[derive(Clone, Copy)]
enum Then {
    Keep,
    /// Enables the system if it was disabled, and the reverse.
    Switch,
    /// Toggles twice, so that no update sees it.
    SwitchTwice,
    /// Adds the requirement if it was missing, and removes it if it was present.
    Exchange,
}
use Then::{Exchange, Keep, Switch, SwitchTwice};

/// Adds a system, updates, applies the change, updates, and removes the system. Returns the trace with a bar after
/// each.
fn life(enabled: bool, requires: Requires, then: Then) -> String {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    let mut needed: Option<Entity> = None;
    if let There = requires {
        needed = Some(world.spawn(Needed));
    }
    let mut words = Vec::new();
    let mut step = |trace: &Trace| words.push(trace.take());
    let probe = Probe::<0>::new(&trace).enabled(enabled);
    let id: SystemId = match requires {
        Nothing => world.add_system(probe),
        There | Lacking => world.add_system(probe.require(QueryDescriptor::of::<&Needed, ()>())),
    };
    step(&trace);
    world.update(0.1);
    step(&trace);
    match then {
        Keep => {}
        Switch => world.set_system_enabled(id, !enabled).unwrap(),
        SwitchTwice => {
            world.set_system_enabled(id, !enabled).unwrap();
            world.set_system_enabled(id, enabled).unwrap();
        }
        Exchange => match needed.take() {
            Some(entity) => {
                world.despawn(entity).unwrap();
            }
            None => {
                world.spawn(Needed);
            }
        },
    }
    world.update(0.1);
    step(&trace);
    world.remove_system(id).unwrap();
    step(&trace);
    words.join(" | ")
}

#[test]
fn starting_and_stopping_alternate_in_eighteen_lives() {
    let on = true;
    let off = false;
    let expected = [
        (on, Nothing, Keep, "create | start update | update | stop destroy"),
        (on, Nothing, Switch, "create | start update | stop | destroy"),
        (on, Nothing, SwitchTwice, "create | start update | update | stop destroy"),
        (on, There, Keep, "create | start update | update | stop destroy"),
        (on, There, Switch, "create | start update | stop | destroy"),
        (on, There, Exchange, "create | start update | stop | destroy"),
        (on, Lacking, Keep, "create |  |  | destroy"),
        (on, Lacking, Switch, "create |  |  | destroy"),
        (on, Lacking, Exchange, "create |  | start update | stop destroy"),
        (off, Nothing, Keep, "create |  |  | destroy"),
        (off, Nothing, Switch, "create |  | start update | stop destroy"),
        (off, Nothing, SwitchTwice, "create |  |  | destroy"),
        (off, There, Keep, "create |  |  | destroy"),
        (off, There, Switch, "create |  | start update | stop destroy"),
        (off, There, Exchange, "create |  |  | destroy"),
        (off, Lacking, Keep, "create |  |  | destroy"),
        (off, Lacking, Switch, "create |  |  | destroy"),
        (off, Lacking, Exchange, "create |  |  | destroy"),
    ];
    for (row, (enabled, requires, then, expected)) in expected.into_iter().enumerate() {
        assert_eq!(life(enabled, requires, then), expected, "row {row}");
    }
}

#[test]
fn a_system_whose_creation_fails_is_not_added() {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    let failing = Probe::<0>::new(&trace).creating(|_| Err("no map".into()));
    let refused = world.try_add_system(failing.named("map")).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "A0112: system `map` was not added, because `on_create` failed: no map"
    );
    assert!(world.system::<Probe<0>>().is_none());
    world.update(0.1);
    drop(world);
    assert_eq!(trace.take(), "create");
}

#[test]
fn a_creation_that_panics_is_reported_and_leaves_the_world_usable() {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    let failing = Probe::<0>::new(&trace).creating(|_| panic!("no map"));
    let refused = world.try_add_system(failing.named("map")).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "A0112: system `map` was not added, because `on_create` failed: no map"
    );
    world.add_system(Probe::<0>::new(&trace));
    world.update(0.1);
    assert_eq!(trace.take(), "create create start update");
}

#[test]
fn a_start_that_fails_is_one_and_there_is_no_update_this_time() {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    let failing = Probe::<0>::new(&trace).starting(|_| Err("not yet".into()));
    let late = world.add_system(failing.named("late"));
    let errors = world.try_update(0.1).unwrap_err();
    assert_eq!(errors.to_string(), "A0106: system `late` failed: not yet");
    assert_eq!(trace.take(), "create start");
    world.try_update(0.1).unwrap();
    world.remove_system(late).unwrap();
    assert_eq!(trace.take(), "update stop destroy");
}

#[test]
fn dropping_a_world_stops_running_systems_and_destroys_all_in_reverse() {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    world.add_system(Probe::<0>::called("a", &trace));
    world.add_system(Probe::<1>::called("b", &trace).enabled(false));
    world.add_system(Probe::<2>::called("c", &trace).before("a").named("c"));
    world.add_system(noting(&trace, "a").named("a"));
    world.update(0.1);
    trace.take();
    drop(world);
    let words = trace.take();
    // All running systems are stopped before one is destroyed; they are destroyed in reverse order of creation.
    let (stops, destroys) = words.split_at(words.find("c.destroy").unwrap());
    let mut stops: Vec<_> = stops.split_whitespace().collect();
    stops.sort_unstable();
    assert_eq!(stops, ["a.stop", "c.stop"]);
    assert_eq!(destroys, "c.destroy b.destroy a.destroy");
}

/// Returns whether a system with these requirements runs.
fn runs(world: &mut World, flag: &Arc<AtomicBool>) -> bool {
    flag.store(false, Ordering::Relaxed);
    world.update(0.1);
    flag.load(Ordering::Relaxed)
}

fn raising(flag: &Arc<AtomicBool>) -> impl FnMut() + Send + use<> {
    let flag = flag.clone();
    move || flag.store(true, Ordering::Relaxed)
}

#[test]
fn a_system_runs_only_if_all_required_queries_match() {
    let flag = Arc::new(AtomicBool::new(false));
    let mut world = World::new("Simulation");
    let needed = QueryDescriptor::of::<&Needed, ()>();
    let other = QueryDescriptor::of::<&Other, ()>();
    world.add_system(raising(&flag).require(needed).require(other));
    assert!(!runs(&mut world, &flag));
    let one = world.spawn(Needed);
    assert!(!runs(&mut world, &flag));
    world.spawn(Other);
    assert!(runs(&mut world, &flag));
    world.despawn(one).unwrap();
    assert!(!runs(&mut world, &flag));
}

#[test]
fn one_of_the_required_queries_is_enough() {
    let flag = Arc::new(AtomicBool::new(false));
    let mut world = World::new("Simulation");
    let needed = QueryDescriptor::of::<&Needed, ()>();
    let other = QueryDescriptor::of::<&Other, ()>();
    world.add_system(raising(&flag).require_any(needed).require_any(other));
    assert!(!runs(&mut world, &flag));
    let one = world.spawn(Needed);
    assert!(runs(&mut world, &flag));
    world.despawn(one).unwrap();
    assert!(!runs(&mut world, &flag));
    world.spawn(Other);
    assert!(runs(&mut world, &flag));
}

#[test]
fn own_queries_count_as_requirements_only_on_request() {
    let flag = Arc::new(AtomicBool::new(false));
    let mut world = World::new("Simulation");
    let raise = raising(&flag);
    let mut own = raise;
    let asks = move |_: Query<&Needed>, _: Query<&Other>| own();
    world.add_system(asks.require_matching());
    assert!(!runs(&mut world, &flag));
    let one = world.spawn(Other);
    assert!(runs(&mut world, &flag));
    world.despawn(one).unwrap();
    assert!(!runs(&mut world, &flag));

    // Explicit requirements override those of the parameters.
    let mut world = World::new("Simulation");
    let mut own = raising(&flag);
    let asks = move |_: Query<&Needed>| own();
    world.add_system(asks.require_matching().require(QueryDescriptor::of::<&Other, ()>()));
    world.spawn(Needed);
    assert!(!runs(&mut world, &flag));
    world.spawn(Other);
    assert!(runs(&mut world, &flag));
}

#[test]
fn without_requirements_it_always_runs() {
    let flag = Arc::new(AtomicBool::new(false));
    let mut world = World::new("Simulation");
    let mut own = raising(&flag);
    world.add_system(move |_: Query<&Needed>| own());
    assert!(runs(&mut world, &flag));
}

#[test]
fn enabled_bits_and_changes_do_not_matter_to_requirements() {
    let flag = Arc::new(AtomicBool::new(false));
    let mut world = World::new("Simulation");
    world.add_system(raising(&flag).require(QueryDescriptor::of::<&Awake, ()>()));
    let sleeper = world.spawn(Awake);
    world.set_component_enabled::<Awake>(sleeper, false).unwrap();
    assert!(runs(&mut world, &flag));

    let mut world = World::new("Simulation");
    world.add_system(raising(&flag).require(QueryDescriptor::of::<&Needed, Changed<Needed>>()));
    world.spawn(Needed);
    for _ in 0..3 {
        assert!(runs(&mut world, &flag));
    }
}
