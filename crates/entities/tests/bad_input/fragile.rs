//! Components that count their instances and panic on request.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

use ancho_entities::{Component, Entity, World, WorldSettings};

use crate::common::A;

/// The kinds of user code that a world calls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Call {
    Clone,
    Default,
    Drop,
}

/// All values of this thread's test.
#[derive(Default)]
struct Registry {
    made: u64,
    alive: BTreeSet<u64>,
    faults: Vec<&'static str>,
    /// The kind of call that panics, and the number of calls before it that succeed.
    fuse: Option<(Call, usize)>,
}

thread_local! {
    static REGISTRY: RefCell<Registry> = RefCell::default();
}

fn registry<R>(function: impl FnOnce(&mut Registry) -> R) -> R {
    REGISTRY.with_borrow_mut(function)
}

/// Message of a requested panic.
const TOLD_TO: &str = "told to";

/// Panics if it is this call's turn. Prints no message, so that thousands of panics are quick.
fn perhaps_panic(call: Call) {
    let panics = registry(|registry| match &mut registry.fuse {
        Some((kind, 0)) if *kind == call => {
            registry.fuse = None;
            true
        }
        Some((kind, left)) if *kind == call => {
            *left -= 1;
            false
        }
        _ => false,
    });
    if panics {
        resume_unwind(Box::new(TOLD_TO));
    }
}

/// A value that the registry tracks while it lives.
#[derive(Component)]
pub(crate) struct Fragile<const N: usize> {
    #[field(opaque)]
    id: u64,
    pub(crate) value: u32,
}

impl<const N: usize> Fragile<N> {
    pub(crate) fn new(value: u32) -> Self {
        let id = registry(|registry| {
            registry.made += 1;
            registry.alive.insert(registry.made);
            registry.made
        });
        Self { id, value }
    }
}

impl<const N: usize> Clone for Fragile<N> {
    fn clone(&self) -> Self {
        registry(|registry| {
            if !registry.alive.contains(&self.id) {
                registry.faults.push("cloned after it was dropped");
            }
        });
        perhaps_panic(Call::Clone);
        Self::new(self.value)
    }
}

impl<const N: usize> Default for Fragile<N> {
    fn default() -> Self {
        perhaps_panic(Call::Default);
        Self::new(0)
    }
}

impl<const N: usize> Drop for Fragile<N> {
    fn drop(&mut self) {
        registry(|registry| {
            if !registry.alive.remove(&self.id) {
                registry.faults.push("dropped twice");
            }
        });
        if !thread::panicking() {
            perhaps_panic(Call::Drop);
        }
    }
}

pub(crate) type F0 = Fragile<0>;
pub(crate) type F1 = Fragile<1>;
pub(crate) type F2 = Fragile<2>;

pub(crate) fn f0(value: u32) -> F0 {
    F0::new(value)
}

pub(crate) fn f1(value: u32) -> F1 {
    F1::new(value)
}

pub(crate) fn f2(value: u32) -> F2 {
    F2::new(value)
}

/// Worlds, and entities that exist in all of them.
pub(crate) struct Scene {
    pub(crate) worlds: Vec<World>,
    pub(crate) all: Vec<Entity>,
}

impl Scene {
    /// Creates ten entities in chunks of four, and two with fewer components.
    pub(crate) fn new() -> Self {
        let settings = WorldSettings::new().chunk_capacity_limit(4);
        let mut world = World::with_settings("Simulation", settings);
        let mut all: Vec<_> = world.spawn_batch((0..10).map(|n| (f0(n), A(n), f1(n)))).collect();
        all.extend(world.spawn_batch((10..12).map(f0)));
        Self { worlds: vec![world], all }
    }

    /// Creates the same entities, and a fork that shares all memory.
    pub(crate) fn forked() -> Self {
        let mut scene = Self::new();
        let fork = scene.world().fork().unwrap();
        scene.worlds.push(fork);
        scene
    }

    pub(crate) fn world(&mut self) -> &mut World {
        &mut self.worlds[0]
    }

    pub(crate) fn parts(&mut self) -> (&mut World, &[Entity]) {
        (&mut self.worlds[0], &self.all)
    }

    /// Checks that the live values and the values in the worlds are the same.
    fn check(&self, what: &str) {
        let mut found = BTreeSet::new();
        for world in &self.worlds {
            if let Err(violation) = world.check_invariants() {
                panic!("{what}: {violation}");
            }
            let mut here = BTreeSet::new();
            for chunk in world.chunks() {
                let ids = [ids::<0>(&chunk), ids::<1>(&chunk), ids::<2>(&chunk)].concat();
                for id in ids {
                    assert!(here.insert(id), "{what}: value {id} is there twice");
                }
            }
            found.extend(here);
        }
        registry(|registry| {
            assert!(registry.faults.is_empty(), "{what}: {:?}", registry.faults);
            let leaked: Vec<_> = registry.alive.difference(&found).collect();
            let dangling: Vec<_> = found.difference(&registry.alive).collect();
            assert!(leaked.is_empty(), "{what}: leaked {leaked:?}");
            assert!(dangling.is_empty(), "{what}: dropped and still there: {dangling:?}");
        });
    }

    /// Uses the worlds, to show that everything still works.
    fn go_on(&mut self) {
        for world in &mut self.worlds {
            let new: Vec<_> = world.spawn_many((f0(1), A(1), f1(1)), 9).collect();
            world.add(new[0], f2(1)).unwrap();
            world.remove::<F0>(new[1]).unwrap();
            world.batch(&new[2..5]).despawn().unwrap();
            for entity in world.all_entities() {
                if let Ok(value) = world.get_mut::<F0>(entity) {
                    value.value += 1;
                }
            }
        }
    }
}

fn ids<const N: usize>(chunk: &ancho_entities::ArchetypeChunk<'_>) -> Vec<u64> {
    let slice = chunk.slice::<Fragile<N>>().unwrap_or(&[]);
    slice.iter().map(|value| value.id).collect()
}

/// Makes the first call of a kind panic during the action, then the second, and so on, until none panics. After each
/// panic the worlds are consistent, and each value was dropped exactly once.
#[track_caller]
pub(crate) fn survives(
    call: Call,
    what: &str,
    setup: impl Fn() -> Scene,
    action: impl Fn(&mut Scene),
) {
    for position in 0.. {
        let what = format!("{what}, {call:?} {position}");
        registry(|registry| *registry = Registry::default());
        let mut scene = setup();
        scene.check(&format!("{what}, before"));
        registry(|registry| registry.fuse = Some((call, position)));
        let result = catch_unwind(AssertUnwindSafe(|| action(&mut scene)));
        let panicked = registry(|registry| registry.fuse.take().is_none());
        assert_eq!(result.is_err(), panicked, "{what}: a panic that was not told to");
        // The action may have failed an assertion after the panic that it was to survive.
        if let Err(panic) = result
            && panic.downcast_ref() != Some(&TOLD_TO)
        {
            resume_unwind(panic);
        }
        scene.check(&what);
        scene.go_on();
        scene.check(&format!("{what}, going on"));
        drop(scene);
        registry(|registry| {
            assert!(registry.faults.is_empty(), "{what}, at the end: {:?}", registry.faults);
            assert!(registry.alive.is_empty(), "{what}, at the end: {:?}", registry.alive);
        });
        if !panicked {
            assert!(position > 0, "{what}: nothing was called");
            return;
        }
    }
}
