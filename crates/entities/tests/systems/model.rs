//! Random systems and groups that are added, removed, moved, enabled and disabled, also by lifecycle calls of systems.
//!
//! The lifecycle calls of each system must alternate. An update without changes is compared with the model.

use std::sync::{Arc, Mutex};

use ancho_entities::{
    Component, IntoSystem, QueryDescriptor, System, SystemBuilder, SystemGroup, SystemResult, World,
};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::fixtures::model::{cases, time_is_up};

const PROBES: usize = 5;
const GROUPS: usize = 4;

#[derive(Component, Clone, Copy)]
struct Needed;

struct Group<const N: usize>;

impl<const N: usize> SystemGroup for Group<N> {}

/// A system or a group. A group that does not exist stands for the default group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Probe(usize),
    Group(usize),
}

impl Key {
    fn name(self) -> String {
        match self {
            Self::Probe(number) => format!("p{number}"),
            Self::Group(GROUPS) => "Simulation".to_owned(),
            Self::Group(number) => format!("g{number}"),
        }
    }
}

#[derive(Clone, Debug)]
enum Op {
    /// Adds to a group; the flag adds a requirement.
    Add(Key, usize, bool),
    Remove(Key),
    Enable(Key, bool),
    Move(Key, usize),
    Need(bool),
}

#[derive(Clone, Debug)]
enum Step {
    Do(Op),
    /// Makes a system apply operations at its next lifecycle call of a kind.
    When(usize, usize, Vec<Op>),
    Update,
}

const MOMENTS: [&str; 5] = ["create", "start", "update", "stop", "destroy"];

/// An event, in the order of occurrence.
#[derive(Clone, Debug, PartialEq)]
enum Event {
    Told(usize, &'static str),
    Done(Done),
}

/// A successful operation: its kind, its target, the group, and a flag.
type Done = (u8, Key, usize, bool);

#[derive(Default)]
struct Plans {
    events: Vec<Event>,
    ops: [[Vec<Op>; 5]; PROBES],
}

type SharedPlans = Arc<Mutex<Plans>>;

struct Probe<const N: usize>(SharedPlans);

impl<const N: usize> Probe<N> {
    fn told(&self, world: &mut World, moment: usize) -> SystemResult {
        let ops = {
            let mut plans = self.0.lock().unwrap();
            plans.events.push(Event::Told(N, MOMENTS[moment]));
            std::mem::take(&mut plans.ops[N][moment])
        };
        ops.iter().for_each(|op| perform(world, op, &self.0));
        Ok(())
    }
}

impl<const N: usize> System for Probe<N> {
    fn on_create(&mut self, world: &mut World) -> SystemResult {
        self.told(world, 0)
    }

    fn on_start_running(&mut self, world: &mut World) -> SystemResult {
        self.told(world, 1)
    }

    fn on_update(&mut self, world: &mut World) -> SystemResult {
        self.told(world, 2)
    }

    fn on_stop_running(&mut self, world: &mut World) -> SystemResult {
        self.told(world, 3)
    }

    fn on_destroy(&mut self, world: &mut World) -> SystemResult {
        self.told(world, 4)
    }
}

fn builder(key: Key, plans: &SharedPlans) -> SystemBuilder {
    let plans = plans.clone();
    let builder = match key {
        Key::Probe(0) => Probe::<0>(plans).into_builder(),
        Key::Probe(1) => Probe::<1>(plans).into_builder(),
        Key::Probe(2) => Probe::<2>(plans).into_builder(),
        Key::Probe(3) => Probe::<3>(plans).into_builder(),
        Key::Probe(_) => Probe::<4>(plans).into_builder(),
        Key::Group(0) => Group::<0>.into_builder(),
        Key::Group(1) => Group::<1>.into_builder(),
        Key::Group(2) => Group::<2>.into_builder(),
        Key::Group(_) => Group::<3>.into_builder(),
    };
    builder.named(key.name())
}

/// Applies the operation, and records it unless it was refused.
fn perform(world: &mut World, op: &Op, plans: &SharedPlans) {
    let done = match *op {
        Op::Add(key, group, requires) => {
            let mut system = builder(key, plans).in_group(Key::Group(group).name().as_str());
            if requires {
                system = system.require(QueryDescriptor::of::<&Needed, ()>());
            }
            let is_new = world.find_system(key.name().as_str()).is_none();
            if is_new {
                let begun = Event::Done((5, key, group, requires));
                plans.lock().unwrap().events.push(begun);
            }
            let added = world.try_add_system(system).is_ok();
            (added || is_new).then_some((if added { 0 } else { 6 }, key, group, requires))
        }
        Op::Remove(key) => {
            let id = world.find_system(key.name().as_str());
            let removed = id.is_some_and(|id| world.remove_system(id).is_ok());
            removed.then_some((1, key, 0, false))
        }
        Op::Enable(key, on) => {
            let done = world.set_system_enabled(key.name().as_str(), on).is_ok();
            done.then_some((2, key, 0, on))
        }
        Op::Move(key, group) => {
            let id = world.find_system(key.name().as_str());
            let group_name = Key::Group(group).name();
            let moved = id.is_some_and(|id| world.set_group(id, group_name.as_str()).is_ok());
            moved.then_some((3, key, group, false))
        }
        Op::Need(on) => {
            let all =
                world.query_filtered::<ancho_entities::Entity, ancho_entities::With<Needed>>();
            let all = all.to_entities();
            for entity in all {
                world.despawn(entity).unwrap();
            }
            if on {
                world.spawn(Needed);
            }
            Some((4, Key::Group(GROUPS), 0, on))
        }
    };
    plans.lock().unwrap().events.extend(done.map(Event::Done));
}

/// The model of an existing system or group.
#[derive(Clone, Debug)]
struct Known {
    key: Key,
    group: usize,
    requires: bool,
    is_enabled: bool,
    is_started: bool,
    /// True while it is being created, and not yet in a group.
    is_new: bool,
    /// The number of systems created before it.
    created: usize,
}

/// The existing systems and groups, those of each group in order.
#[derive(Clone, Debug, Default)]
struct Model {
    all: Vec<Known>,
    is_needed: bool,
    /// The last lifecycle call of each probe.
    last: [&'static str; PROBES],
    /// The number of created systems.
    created: usize,
}

impl Model {
    fn known(&mut self, key: Key) -> Option<&mut Known> {
        self.all.iter_mut().find(|known| known.key == key)
    }

    fn remove(&mut self, key: Key) {
        self.all.retain(|known| known.key != key);
        if let Key::Group(group) = key {
            let children: Vec<_> = self.children(group).map(|known| known.key).collect();
            children.into_iter().for_each(|child| self.remove(child));
        }
    }

    fn children(&self, group: usize) -> impl Iterator<Item = &Known> {
        self.all.iter().filter(move |known| known.group == group)
    }

    /// Applies an event to the model.
    fn see(&mut self, event: &Event) {
        match *event {
            Event::Told(number, moment) => {
                let follows: &[&str] = match self.last[number] {
                    "" | "destroy" => &["create"],
                    "create" | "stop" => &["start", "destroy"],
                    _ => &["update", "stop"],
                };
                assert!(
                    follows.contains(&moment),
                    "p{number}: {moment} after {}",
                    self.last[number]
                );
                self.last[number] = moment;
                if moment == "destroy" {
                    self.remove(Key::Probe(number));
                } else if let Some(known) = self.known(Key::Probe(number)) {
                    known.is_started = ["start", "update"].contains(&moment);
                }
            }
            // The system is being created, and other systems may already change it.
            Event::Done((5, key, group, requires)) => {
                // A known system was just removed with its group, which is still being removed.
                self.remove(key);
                let (is_enabled, is_started, is_new, created) = (true, false, true, self.created);
                self.created += 1;
                let known = Known { key, group, requires, is_enabled, is_started, is_new, created };
                self.all.push(known);
            }
            Event::Done((0, key, ..)) => {
                let Some(at) = self.all.iter().position(|known| known.key == key) else { return };
                if self.all[at].is_new {
                    let known = self.all.remove(at);
                    self.all.push(Known { is_new: false, ..known });
                }
            }
            Event::Done((6, key, ..)) => self.all.retain(|known| known.key != key || !known.is_new),
            Event::Done((1, key, ..)) => self.remove(key),
            Event::Done((2, key, _, on)) => {
                if let Some(known) = self.known(key) {
                    known.is_enabled = on;
                }
            }
            Event::Done((3, key, group, _)) => {
                let Some(at) = self.all.iter().position(|known| known.key == key) else { return };
                if self.all[at].group != group {
                    let known = self.all.remove(at);
                    self.all.push(Known { group, is_new: false, ..known });
                }
            }
            Event::Done((_, _, _, on)) => self.is_needed = on,
        }
    }

    /// Appends the expected calls of an update without changes.
    fn update(&self, group: usize, told: &mut Vec<Event>) {
        for known in self.children(group) {
            let runs = known.is_enabled && (self.is_needed || !known.requires);
            match known.key {
                _ if !runs => self.stop(known, told),
                Key::Group(inner) => self.update(inner, told),
                Key::Probe(number) => {
                    let start = (!known.is_started).then_some(Event::Told(number, "start"));
                    told.extend(start.into_iter().chain([Event::Told(number, "update")]));
                }
            }
        }
    }

    /// Returns the expected calls when the world is dropped without changes: running systems stop, then all are
    /// destroyed, the last first.
    fn end(&self) -> Vec<Event> {
        let mut all: Vec<_> = self.all.iter().collect();
        all.sort_by_key(|known| known.created);
        let probe = |known: &Known| match known.key {
            Key::Probe(number) => Some((number, known.is_started)),
            Key::Group(_) => None,
        };
        let probes: Vec<_> = all.into_iter().filter_map(probe).collect();
        let started = probes.iter().filter(|(_, is_started)| *is_started);
        let stops = started.map(|&(number, _)| Event::Told(number, "stop"));
        let destroys = probes.iter().rev().map(|&(number, _)| Event::Told(number, "destroy"));
        stops.chain(destroys).collect()
    }

    fn stop(&self, known: &Known, told: &mut Vec<Event>) {
        match known.key {
            Key::Group(inner) => self.children(inner).for_each(|child| self.stop(child, told)),
            Key::Probe(number) if known.is_started => told.push(Event::Told(number, "stop")),
            Key::Probe(_) => {}
        }
    }
}

fn check(steps: &[Step]) -> Vec<Event> {
    let (plans, mut model) = (SharedPlans::default(), Model::default());
    let mut world = World::new("test");
    let mut events = Vec::new();
    for step in steps {
        let mut expected = None;
        match step {
            Step::Do(op) => perform(&mut world, op, &plans),
            Step::When(number, moment, ops) => {
                plans.lock().unwrap().ops[*number][*moment].clone_from(ops);
            }
            Step::Update => {
                let is_quiet = plans.lock().unwrap().ops.as_flattened().iter().all(Vec::is_empty);
                if is_quiet {
                    let told: &mut Vec<_> = expected.get_or_insert_default();
                    model.update(GROUPS, told);
                }
                world.try_update(0.01).unwrap();
            }
        }
        let happened = std::mem::take(&mut plans.lock().unwrap().events);
        if let Some(expected) = expected {
            assert_eq!(happened, expected, "{model:?}");
        }
        happened.iter().for_each(|event| model.see(event));
        events.extend(happened);
        for known in &model.all {
            let name = known.key.name();
            assert_eq!(world.is_system_enabled(name.as_str()), Ok(known.is_enabled), "{name}");
        }
        let all = (0..PROBES).map(Key::Probe).chain((0..GROUPS).map(Key::Group));
        for key in all {
            let is_there = world.find_system(key.name().as_str()).is_some();
            assert_eq!(is_there, model.known(key).is_some(), "{key:?}");
        }
    }
    if steps.len().is_multiple_of(2) {
        plans.lock().unwrap().ops.as_flattened_mut().iter_mut().for_each(Vec::clear);
        // Some systems move to a group that may be younger than others.
        let moves = (0..2).map(|probe| Op::Move(Key::Probe(probe), 3));
        let ops = std::iter::once(Op::Add(Key::Group(3), GROUPS, false)).chain(moves);
        ops.for_each(|op| perform(&mut world, &op, &plans));
        let happened = std::mem::take(&mut plans.lock().unwrap().events);
        happened.iter().for_each(|event| model.see(event));
        events.extend(happened);
    }
    let is_quiet = plans.lock().unwrap().ops.as_flattened().iter().all(Vec::is_empty);
    drop(world);
    let happened = std::mem::take(&mut plans.lock().unwrap().events);
    if is_quiet {
        assert_eq!(happened, model.end(), "{model:?}");
    }
    happened.iter().for_each(|event| model.see(event));
    assert!(model.last.iter().all(|last| ["", "destroy"].contains(last)), "{:?}", model.last);
    assert_eq!(Arc::strong_count(&plans), 1, "no system is left");
    events.extend(happened);
    events
}

fn key() -> impl Strategy<Value = Key> {
    prop_oneof![2 => (0..PROBES).prop_map(Key::Probe), 1 => (0..GROUPS).prop_map(Key::Group)]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (key(), 0..=GROUPS, any::<bool>()).prop_map(|(key, group, requires)| Op::Add(key, group, requires)),
        2 => key().prop_map(Op::Remove),
        3 => (key(), any::<bool>()).prop_map(|(key, on)| Op::Enable(key, on)),
        3 => (key(), 0..=GROUPS).prop_map(|(key, group)| Op::Move(key, group)),
        1 => any::<bool>().prop_map(Op::Need),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => op().prop_map(Step::Do),
        2 => (0..PROBES, 0..MOMENTS.len(), vec(op(), 0..4)).prop_map(|(number, moment, ops)| Step::When(number, moment, ops)),
        4 => Just(Step::Update),
    ]
}

#[test]
fn lifecycle_calls_alternate_and_follow_the_model() {
    let mut runner = proptest::test_runner::TestRunner::new(cases(512));
    let result = runner.run(&vec(step(), 0..60), |steps| {
        if time_is_up() {
            return Ok(());
        }
        let first = check(&steps);
        assert_eq!(check(&steps), first);
        Ok(())
    });
    result.unwrap();
}
