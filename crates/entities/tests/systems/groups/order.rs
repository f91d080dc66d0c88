//! The order of systems.

use ancho_entities::{Initialization, IntoSystem, Presentation, Simulation, SystemGroup, World};

use crate::trace::{Probe, Trace, noting};

struct Physics;

impl SystemGroup for Physics {
    fn name() -> &'static str {
        "Physics"
    }
}

fn plan() {}

fn traced() -> (World, Trace) {
    (World::new("Simulation"), Trace::default())
}

/// Returns the trace of one update.
fn frame(world: &mut World, trace: &Trace) -> String {
    world.try_update(0.1).unwrap();
    trace.take()
}

/// Returns the ordering error of an update.
fn refused(world: &mut World) -> String {
    world.try_update(0.1).unwrap_err().to_string()
}

#[test]
fn unordered_systems_run_in_the_order_of_addition() {
    let (mut world, trace) = traced();
    for name in ["z", "m", "a", "k"] {
        world.add_system(noting(&trace, name).named(name));
    }
    assert_eq!(frame(&mut world, &trace), "z m a k");
    assert_eq!(frame(&mut world, &trace), "z m a k");
}

#[test]
fn constraints_hold_in_any_order_of_addition() {
    let (mut world, trace) = traced();
    world.add_system(noting(&trace, "a").named("a").after("c"));
    world.add_system(noting(&trace, "b").named("b"));
    world.add_system(noting(&trace, "c").named("c").after("b"));
    world.add_system(noting(&trace, "d").named("d").before("b"));
    assert_eq!(frame(&mut world, &trace), "d b c a");
}

#[test]
fn targets_are_functions_types_groups_names_and_ids() {
    let (mut world, trace) = traced();
    let e = world.add_system(noting(&trace, "e").named("e"));
    world.add_system(noting(&trace, "f").named("f").before(e));
    world.add_system(noting(&trace, "g").named("g").before("f"));
    world.add_system(Probe::<0>::called("h", &trace).before("g").named("h"));
    world.add_system(noting(&trace, "i").named("i").before("h"));
    world.add_system(Physics.before("i"));
    world.add_system(noting(&trace, "p").in_group(Physics));
    world.add_system(noting(&trace, "j").named("j").before(Physics));
    world.add_system(plan.before("j"));
    world.add_system(noting(&trace, "k").named("k").before(plan));
    assert_eq!(frame(&mut world, &trace), "h.create k j p i h.start h.update g f e");
}

#[test]
fn a_group_orders_all_that_is_in_it() {
    let (mut world, trace) = traced();
    world.add_system(Physics.in_group(Simulation));
    world.add_system(noting(&trace, "draw").in_group(Presentation));
    world.add_system(noting(&trace, "late").in_group(Physics).named("late").last());
    world.add_system(noting(&trace, "load").in_group(Initialization));
    world.add_system(noting(&trace, "think").before(Physics));
    world.add_system(noting(&trace, "early").in_group(Physics).named("early"));
    assert_eq!(frame(&mut world, &trace), "load think early late draw");
}

#[test]
fn cycles_list_only_their_members() {
    let (mut world, trace) = traced();
    world.add_system(noting(&trace, "a").named("a").before("b"));
    world.add_system(noting(&trace, "x").named("x").after("a"));
    world.add_system(noting(&trace, "b").named("b").before("a"));
    assert_eq!(
        refused(&mut world),
        "A0123: the order of the systems of `Simulation` has a cycle: `a` before `b` (set by `a`), `b` before `a` (set \
         by `b`); remove one of these constraints"
    );

    let (mut world, trace) = traced();
    let names = ["a", "b", "c", "d", "e"];
    for (at, name) in names.into_iter().enumerate() {
        world.add_system(noting(&trace, name).named(name).after(names[(at + 4) % 5]));
    }
    world.add_system(noting(&trace, "behind").named("behind").after("e"));
    world.add_system(noting(&trace, "ahead").named("ahead").before("a"));
    assert_eq!(
        refused(&mut world),
        "A0123: the order of the systems of `Simulation` has a cycle: `a` before `b` (set by `b`), `b` before `c` (set \
         by `c`), `c` before `d` (set by `d`), `d` before `e` (set by `e`), `e` before `a` (set by `a`); remove one of \
         these constraints"
    );
}

#[test]
fn a_cycle_stops_its_group_alone_until_it_is_broken() {
    let (mut world, trace) = traced();
    world.add_system(noting(&trace, "a").named("a").before("b"));
    let b = world.add_system(noting(&trace, "b").named("b").before("a"));
    world.add_system(noting(&trace, "draw").in_group(Presentation));
    assert!(world.try_update(0.1).is_err());
    assert!(world.try_update(0.1).is_err());
    trace.take();
    world.remove_system(b).unwrap();
    // Now `b` does not exist.
    assert_eq!(
        refused(&mut world),
        "A0124: `a` of `Simulation` should run before `b`, which this world does not have; add it to `Simulation`, or \
         remove `before`"
    );
    trace.take();
    world.add_system(noting(&trace, "b").named("b"));
    assert_eq!(frame(&mut world, &trace), "a b draw");
}

#[test]
fn first_and_last() {
    let (mut world, trace) = traced();
    world.add_system(noting(&trace, "z").named("z").last());
    world.add_system(noting(&trace, "m").named("m").after("f").before("z"));
    world.add_system(noting(&trace, "y").named("y").last().before("z"));
    world.add_system(noting(&trace, "f").named("f").first());
    world.add_system(noting(&trace, "e").named("e").first().before("f"));
    assert_eq!(frame(&mut world, &trace), "e f m y z");
}

#[test]
fn constraints_that_contradict_first_and_last_are_refused() {
    let (mut world, trace) = traced();
    world.add_system(noting(&trace, "f").named("f").first());
    world.add_system(noting(&trace, "m").named("m").before("f"));
    assert_eq!(
        refused(&mut world),
        "A0127: `m` of `Simulation` should run before `f`, but it is neither among the first nor the last, and `f` is \
         among the first; remove `before`, `first` or `last`"
    );
    let (mut world, trace) = traced();
    world.add_system(noting(&trace, "f").named("f").first().after("z"));
    world.add_system(noting(&trace, "z").named("z").last());
    assert_eq!(
        refused(&mut world),
        "A0127: `f` of `Simulation` should run after `z`, but it is among the first, and `z` is among the last; remove \
         `after`, `first` or `last`"
    );
}

#[test]
fn first_and_last_together_are_refused() {
    let (mut world, trace) = traced();
    let added = world.try_add_system(noting(&trace, "f").named("f").first().last());
    let refused = added.map_err(|error| error.to_string());
    let told = refused.err().unwrap_or_else(|| world.try_update(0.1).unwrap_err().to_string());
    assert_eq!(
        told,
        "A0128: `f` of `Simulation` cannot be both first and last; remove `first` or `last`"
    );
}

#[test]
fn unknown_targets_are_errors() {
    let (mut world, trace) = traced();
    world.add_system(noting(&trace, "a").named("a").after("missing"));
    assert_eq!(
        refused(&mut world),
        "A0124: `a` of `Simulation` should run after `missing`, which this world does not have; add it to `Simulation`, \
         or remove `after`"
    );
}

#[test]
fn targets_in_other_groups_are_errors() {
    let (mut world, trace) = traced();
    world.add_system(noting(&trace, "a").named("a").after("draw"));
    world.add_system(noting(&trace, "draw").named("draw").in_group(Presentation));
    assert_eq!(
        refused(&mut world),
        "A0126: `a` of `Simulation` should run after `draw`, which is in `Presentation`; only systems of the same \
         group can be ordered: put both in one group, or order the groups"
    );
}

#[test]
fn a_system_before_itself_is_an_error() {
    let (mut world, trace) = traced();
    let added = world.try_add_system(noting(&trace, "a").named("a").before("a"));
    let refused = added.map_err(|error| error.to_string());
    let told = refused.err().unwrap_or_else(|| world.try_update(0.1).unwrap_err().to_string());
    assert_eq!(
        told,
        "A0125: `a` cannot run before itself; name another system, or remove `before`"
    );
}

#[test]
fn only_groups_have_systems() {
    let (mut world, trace) = traced();
    world.add_system(plan.named("plan"));
    let told = world.try_add_system(noting(&trace, "a").named("a").in_group("plan")).unwrap_err();
    assert_eq!(
        told.to_string(),
        "A0110: system `a` cannot be in `plan`, which is not a group of this world; add the group first, or name another"
    );
    // The group does not exist.
    let told = world.try_add_system(noting(&trace, "a").named("a").in_group(Physics)).unwrap_err();
    assert_eq!(
        told.to_string(),
        "A0110: system `a` cannot be in `Physics`, which is not a group of this world; add the group first, or name another"
    );
}

#[test]
fn an_unsorted_group_runs_in_the_order_of_addition() {
    let (mut world, trace) = traced();
    world.add_system(Physics.unsorted());
    for (name, target) in [("a", "c"), ("b", "a"), ("c", "b")] {
        // A cycle, which an unsorted group ignores.
        world.add_system(noting(&trace, name).named(name).in_group(Physics).after(target));
    }
    assert_eq!(frame(&mut world, &trace), "a b c");
}

struct Inner;

impl SystemGroup for Inner {}

#[test]
fn a_group_in_an_unsorted_group_is_sorted() {
    let (mut world, trace) = traced();
    world.add_system(Physics.unsorted());
    world.add_system(noting(&trace, "a").named("a").in_group(Physics).after("d"));
    world.add_system(Inner.in_group(Physics).after("d"));
    world.add_system(noting(&trace, "b").named("b").in_group(Inner).after("c"));
    world.add_system(noting(&trace, "c").named("c").in_group(Inner));
    world.add_system(noting(&trace, "d").named("d").in_group(Physics));
    assert_eq!(frame(&mut world, &trace), "a c b d");
}

#[test]
fn a_new_order_applies_in_the_next_update() {
    let (mut world, trace) = traced();
    world.add_system(Physics);
    world.add_system(noting(&trace, "a").named("a").in_group(Physics).after("b"));
    world.add_system(noting(&trace, "b").named("b").in_group(Physics));
    assert_eq!(frame(&mut world, &trace), "b a");
    world.set_sorting(Physics, false).unwrap();
    assert_eq!(frame(&mut world, &trace), "a b");
    world.set_sorting(Physics, true).unwrap();
    assert_eq!(frame(&mut world, &trace), "b a");
}

#[test]
fn the_order_is_available_as_text() {
    let (mut world, trace) = traced();
    world.add_system(noting(&trace, "b").named("b").after("a"));
    world.add_system(noting(&trace, "a").named("a"));
    world.try_update(0.1).unwrap();
    let text = world.system_order().to_string();
    let at = |name: &str| text.find(name).unwrap_or_else(|| panic!("no {name} in {text}"));
    assert!(at("Initialization") < at("BeginSimulation"));
    assert!(at("BeginSimulation") < at("a\n"));
    assert!(at("a\n") < at("b\n"));
    assert!(at("b\n") < at("EndSimulation"));
    assert!(at("EndSimulation") < at("BeginPresentation"));
}
