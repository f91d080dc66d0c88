//! Random structural changes, whose events are compared with the difference of two states of a model.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use ancho_entities::{
    Commands, CommandsAt, EndSimulation, Entity, EntityCommandBuffer, On, Query, QueryDescriptor,
    Remove, Replace, Value, World,
};

use super::{A, B, Kept, Log, Tag, watch_in};

const NAMES: [&str; 4] = ["A", "B", "Tag", "Kept"];
const KEPT: usize = 3;

/// A generator of pseudo-random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % end
    }
}

#[derive(Clone, Debug, PartialEq)]
struct Model {
    has: [bool; 4],
    b: String,
    is_alive: bool,
}

/// A change of one entity, or of all entities with a component.
#[derive(Clone, Copy, Debug)]
enum Change {
    Spawn(usize),
    Add(Entity, usize),
    Set(Entity, usize),
    Remove(Entity, usize),
    Despawn(Entity),
    AddToAll(usize, usize),
    RemoveFromAll(usize),
    DespawnAll(usize),
}

/// The types of a set of components, by its number.
fn types(set: usize) -> &'static [usize] {
    [&[0][..], &[1], &[2], &[3], &[0, 1], &[1, 2]][set]
}

/// Calls a macro-like expression with the components of a set.
macro_rules! with_set {
    ($set:expr, $number:expr, |$components:ident| $call:expr) => {{
        let (a, b) = (A($number), B($number.to_string()));
        match $set {
            0 => with_set!(a, $components, $call),
            1 => with_set!(b, $components, $call),
            2 => with_set!(Tag, $components, $call),
            3 => with_set!(Kept($number), $components, $call),
            4 => with_set!((a, b), $components, $call),
            _ => with_set!((b, Tag), $components, $call),
        }
    }};
    ($value:expr, $components:ident, $call:expr) => {{
        let $components = $value;
        $call
    }};
}

macro_rules! remove_set {
    ($set:expr, $recorder:expr, $entity:expr) => {
        match $set {
            0 => _ = $recorder.remove::<A>($entity),
            1 => _ = $recorder.remove::<B>($entity),
            2 => _ = $recorder.remove::<Tag>($entity),
            3 => _ = $recorder.remove::<Kept>($entity),
            4 => _ = $recorder.remove::<(A, B)>($entity),
            _ => _ = $recorder.remove::<(B, Tag)>($entity),
        }
    };
}

macro_rules! query_of {
    ($ty:expr) => {
        match $ty {
            0 => QueryDescriptor::of::<&A, ()>(),
            1 => QueryDescriptor::of::<&B, ()>(),
            _ => QueryDescriptor::of::<&Tag, ()>(),
        }
    };
}

#[derive(Default)]
struct Script {
    now: BTreeMap<Entity, Model>,
    /// The entities and types that were overwritten or removed since the last delivery.
    touched: BTreeSet<(Entity, usize)>,
}

impl Script {
    fn insert(&mut self, entity: Entity, set: usize, number: u32) {
        let Some(model) = self.now.get_mut(&entity) else { return };
        for &ty in types(set) {
            if std::mem::replace(&mut model.has[ty], true) {
                self.touched.insert((entity, ty));
            }
            if ty == 1 {
                model.b = number.to_string();
            }
        }
    }

    fn remove(&mut self, entity: Entity, types: &[usize]) {
        let Some(model) = self.now.get_mut(&entity) else { return };
        for &ty in types {
            if std::mem::replace(&mut model.has[ty], false) {
                self.touched.insert((entity, ty));
            }
        }
        if !model.is_alive && model.has == [false; 4] {
            self.now.remove(&entity);
        }
    }

    fn despawn(&mut self, entity: Entity) {
        if let Some(model) = self.now.get_mut(&entity) {
            model.is_alive = false;
            self.remove(entity, &[0, 1, 2]);
        }
    }

    /// Applies a change to the model. `spawned` is the id of a new entity.
    fn apply(&mut self, change: Change, number: u32, spawned: Option<Entity>) {
        let with = |script: &Self, ty: usize| -> Vec<Entity> {
            script
                .now
                .iter()
                .filter(|(_, model)| model.has[ty])
                .map(|(&entity, _)| entity)
                .collect()
        };
        match change {
            Change::Spawn(set) => {
                let entity = spawned.unwrap();
                let model = Model { has: [false; 4], b: String::new(), is_alive: true };
                self.now.insert(entity, model);
                self.insert(entity, set, number);
            }
            Change::Add(entity, set) => self.insert(entity, set, number),
            Change::Set(entity, set) => {
                let has_all = |model: &Model| types(set).iter().all(|&ty| model.has[ty]);
                if self.now.get(&entity).is_some_and(has_all) {
                    self.insert(entity, set, number);
                }
            }
            Change::Remove(entity, set) => self.remove(entity, types(set)),
            Change::Despawn(entity) => self.despawn(entity),
            Change::AddToAll(ty, set) => {
                with(self, ty).into_iter().for_each(|entity| self.insert(entity, set, number));
            }
            Change::RemoveFromAll(ty) => {
                with(self, ty).into_iter().for_each(|entity| self.remove(entity, &[ty]));
            }
            Change::DespawnAll(ty) => {
                with(self, ty).into_iter().for_each(|entity| self.despawn(entity));
            }
        }
    }

    /// Chooses a change that is legal for the entities of the model.
    fn choose(&self, random: &mut Random) -> Change {
        let living: Vec<_> = self
            .now
            .iter()
            .filter(|(_, model)| model.is_alive)
            .map(|(&entity, _)| entity)
            .collect();
        let dead: Vec<_> = self
            .now
            .iter()
            .filter(|(_, model)| !model.is_alive)
            .map(|(&entity, _)| entity)
            .collect();
        if !dead.is_empty() && random.below(6) == 0 {
            return Change::Remove(dead[random.below(dead.len())], KEPT);
        }
        if living.is_empty() || random.below(4) == 0 {
            return Change::Spawn(random.below(6));
        }
        let (entity, set) = (living[random.below(living.len())], random.below(6));
        match random.below(24) {
            0..=6 => Change::Add(entity, set),
            7..=10 => {
                let has_all = |set: &usize| types(*set).iter().all(|&ty| self.now[&entity].has[ty]);
                match (0..6).map(|at| (at + set) % 6).find(has_all) {
                    Some(set) => Change::Set(entity, set),
                    None => Change::Add(entity, set),
                }
            }
            11..=16 => Change::Remove(entity, set),
            17..=19 => Change::Despawn(entity),
            20..=21 => Change::AddToAll(random.below(3), random.below(3)),
            22 => Change::RemoveFromAll(random.below(3)),
            _ => Change::DespawnAll(random.below(3)),
        }
    }

    /// Returns the expected events since a state, and clears the list of touched components.
    fn events_since(&mut self, before: &BTreeMap<Entity, Model>) -> BTreeSet<(String, Entity)> {
        let mut events = BTreeSet::new();
        for &entity in before.keys().chain(self.now.keys()) {
            let (old, new) = (before.get(&entity), self.now.get(&entity));
            for (ty, name) in NAMES.iter().enumerate() {
                let had = old.is_some_and(|model| model.has[ty]);
                let has = new.is_some_and(|model| model.has[ty]);
                let sign = match (had, has) {
                    (false, true) => "+",
                    (true, false) => "-",
                    (true, true) if self.touched.contains(&(entity, ty)) => "=",
                    _ => continue,
                };
                if ty == 1 && sign != "+" {
                    let value = old.map_or("", |model| &model.b);
                    events.insert((format!("{sign}B was {value}"), entity));
                }
                events.insert((format!("{sign}{name}"), entity));
            }
            let is_alive = |model: Option<&Model>| model.is_some_and(|model| model.is_alive);
            if is_alive(old) && !is_alive(new) {
                events.insert(("gone".to_owned(), entity));
            }
        }
        self.touched.clear();
        events
    }
}

/// Applies a change to a world.
fn apply_to_world(world: &mut World, change: Change, number: u32) -> Option<Entity> {
    let mut spawned = None;
    match change {
        Change::Spawn(set) => {
            spawned = Some(with_set!(set, number, |set| world.spawn(set)));
        }
        Change::Add(entity, set) => {
            with_set!(set, number, |set| _ = world.add(entity, set).map_err(drop).unwrap());
        }
        Change::Set(entity, set) => {
            with_set!(set, number, |set| world.set(entity, set).map_err(drop).unwrap());
        }
        Change::Remove(entity, set) => remove_set!(set, world, entity),
        Change::Despawn(entity) => _ = world.despawn(entity).unwrap(),
        Change::AddToAll(ty, set) => {
            let query = query_of!(ty);
            with_set!(set, number, |set| _ = world.batch(&query).add(set).map_err(drop).unwrap());
        }
        Change::RemoveFromAll(ty) => {
            let batch = world.batch(query_of!(ty));
            match ty {
                0 => _ = batch.remove::<A>().unwrap(),
                1 => _ = batch.remove::<B>().unwrap(),
                _ => _ = batch.remove::<Tag>().unwrap(),
            }
        }
        Change::DespawnAll(ty) => _ = world.batch(query_of!(ty)).despawn().unwrap(),
    }
    spawned
}

/// Records a change.
macro_rules! record {
    ($recorder:expr, $change:expr, $number:expr) => {{
        let mut spawned = None;
        let number: u32 = $number;
        match $change {
            Change::Spawn(set) => {
                spawned = Some(with_set!(set, number, |set| $recorder.spawn(set)));
            }
            Change::Add(entity, set) => with_set!(set, number, |set| $recorder.add(entity, set)),
            Change::Set(entity, set) => with_set!(set, number, |set| $recorder.set(entity, set)),
            Change::Remove(entity, set) => remove_set!(set, $recorder, entity),
            Change::Despawn(entity) => $recorder.despawn(entity),
            Change::AddToAll(ty, set) => {
                with_set!(set, number, |set| $recorder.batch(query_of!(ty)).add(set))
            }
            Change::RemoveFromAll(ty) => match ty {
                0 => $recorder.batch(query_of!(ty)).remove::<A>(),
                1 => $recorder.batch(query_of!(ty)).remove::<B>(),
                _ => $recorder.batch(query_of!(ty)).remove::<Tag>(),
            },
            Change::DespawnAll(ty) => $recorder.batch(query_of!(ty)).despawn(),
        }
        spawned
    }};
}

/// Changes that the script makes in the next update.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    World,
    Commands,
    Point,
}

struct Shared {
    script: Script,
    random: Random,
    number: u32,
    mode: Option<Mode>,
}

impl Shared {
    fn make_changes(&mut self, mut each: impl FnMut(Change, u32) -> Option<Entity>) {
        let count = 1 + self.random.below(12);
        for _ in 0..count {
            let change = self.script.choose(&mut self.random);
            // Long runs of equal commands are played without being recorded one by one.
            let repeats = if self.random.below(10) == 0 { 20 } else { 1 };
            let changes = match change {
                Change::Spawn(_) => vec![change; repeats],
                _ if repeats == 1 => vec![change],
                _ => {
                    let (set, adds) = (self.random.below(6), self.random.below(2) == 0);
                    let living = self.script.now.iter().filter(|(_, model)| model.is_alive);
                    let change = |(&entity, _)| {
                        if adds { Change::Add(entity, set) } else { Change::Remove(entity, set) }
                    };
                    living.map(change).collect()
                }
            };
            for change in changes {
                self.number += 1;
                let spawned = each(change, self.number);
                self.script.apply(change, self.number, spawned);
            }
        }
    }
}

fn run_script(seed: u64, deliveries: usize) {
    let (mut world, log, values) = (World::new("Observed"), Log::new(), Log::new());
    watch_in(&mut world, &log);
    let (removed, replaced) = (values.clone(), values.clone());
    world.add_observer(move |events: On<Remove<B>, Value>| {
        events
            .iter()
            .for_each(|e| removed.push((format!("-B was {}", e.value().unwrap().0), e.entity())));
    });
    world.add_observer(move |events: On<Replace<B>, Value>| {
        events
            .iter()
            .for_each(|e| replaced.push((format!("=B was {}", e.value().unwrap().0), e.entity())));
    });
    let shared = Arc::new(Mutex::new(Shared {
        script: Script::default(),
        random: Random(seed),
        number: 0,
        mode: None,
    }));
    // The job of the script may record commands for entities that are despawned meanwhile.
    world.set_error_handler(|error| assert!(error.is_warning(), "{error}"));
    let is_due = |shared: &Mutex<Shared>, mode| {
        let mut shared = shared.lock().unwrap();
        if shared.mode == Some(mode) { shared.mode.take() } else { None }.is_some()
    };
    let mine = Arc::clone(&shared);
    world.add_system(move |world: &mut World| {
        if is_due(&mine, Mode::World) {
            mine.lock()
                .unwrap()
                .make_changes(|change, number| apply_to_world(world, change, number));
        }
    });
    let mine = Arc::clone(&shared);
    world.add_system(move |mut commands: Commands| {
        if is_due(&mine, Mode::Commands) {
            mine.lock().unwrap().make_changes(|change, number| record!(commands, change, number));
        }
    });
    let mine = Arc::clone(&shared);
    world.add_system(
        move |mut at: CommandsAt<EndSimulation>,
              mut jobs: CommandsAt<EndSimulation>,
              all: Query<(Entity, &A)>| {
            if is_due(&mine, Mode::Point) {
                let mut commands = at.commands();
                mine.lock()
                    .unwrap()
                    .make_changes(|change, number| record!(commands, change, number));
                // The buffer of the job plays after the other one, for entities of now.
                let mut shared = mine.lock().unwrap();
                let choice = shared.random.below(4) as u32;
                let mut listed: Vec<_> = all.iter().map(|(entity, a)| (entity, a.0)).collect();
                listed.sort_unstable();
                all.job().with(jobs.writer()).schedule_parallel(move |(entity, a), commands| {
                    match (a.0 + choice) % 4 {
                        0 => commands.despawn(entity),
                        1 => commands.add(entity, Tag),
                        2 => commands.remove::<A>(entity),
                        _ => {}
                    }
                });
                for (entity, a) in listed {
                    match (a + choice) % 4 {
                        0 => shared.script.despawn(entity),
                        1 => shared.script.insert(entity, 2, 0),
                        2 => shared.script.remove(entity, &[0]),
                        _ => {}
                    }
                }
            }
        },
    );
    let taken = |log: &Log<(&'static str, Entity)>| -> BTreeSet<(String, Entity)> {
        let all = log.take();
        let set: BTreeSet<_> =
            all.iter().map(|&(name, entity)| (name.to_owned(), entity)).collect();
        assert_eq!(set.len(), all.len(), "an event occurs twice");
        set.into_iter().chain(values.take()).collect()
    };
    for delivery in 0..deliveries {
        let before = shared.lock().unwrap().script.now.clone();
        let mode = shared.lock().unwrap().random.below(5);
        match mode {
            0 => {
                let mut state = shared.lock().unwrap();
                for _ in 0..5 {
                    let before = state.script.now.clone();
                    let change = {
                        let Shared { script, random, .. } = &mut *state;
                        script.choose(random)
                    };
                    state.number += 1;
                    let number = state.number;
                    let spawned = apply_to_world(&mut world, change, number);
                    state.script.apply(change, number, spawned);
                    let expected = state.script.events_since(&before);
                    assert_eq!(
                        taken(&log),
                        expected,
                        "seed {seed}, delivery {delivery}: {change:?}"
                    );
                }
                continue;
            }
            1 => {
                let mut buffer = EntityCommandBuffer::new();
                {
                    let mut commands = world.commands(&mut buffer).unwrap();
                    shared
                        .lock()
                        .unwrap()
                        .make_changes(|change, number| record!(commands, change, number));
                }
                world.play(&mut buffer).unwrap();
            }
            mode => {
                shared.lock().unwrap().mode =
                    Some([Mode::World, Mode::Commands, Mode::Point][mode - 2]);
                world.update(0.1);
            }
        }
        let expected = shared.lock().unwrap().script.events_since(&before);
        assert_eq!(taken(&log), expected, "seed {seed}, delivery {delivery}, mode {mode}");
        for (&entity, model) in &shared.lock().unwrap().script.now {
            let has = [
                world.has::<A>(entity),
                world.has::<B>(entity),
                world.has::<Tag>(entity),
                world.has::<Kept>(entity),
            ];
            assert_eq!(has, model.has, "seed {seed}, delivery {delivery}");
        }
    }
    world.check_invariants().unwrap();
}

#[test]
fn events_of_each_delivery_are_the_difference_of_two_states() {
    for seed in 1..=30 {
        run_script(seed * 7919, 40);
    }
}
