//! Destructors that panic in the middle.

use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex};

use ancho_entities::{
    BufferElement, Component, ComponentType, Entity, IntoSystem, Managed, ManagedComponent,
    Resource, Shared, SharedComponent, World, WorldSettings,
};

use crate::common::{A, Stays, ignore};
use crate::fixtures::fragile::{Call, F0, F1, F2, Scene, f0, f1, f2, survives};

type Action = fn(&mut World, &[Entity]);

/// Every operation that drops values.
const ACTIONS: [(&str, Action); 20] = [
    ("add replaces", |world, all| ignore(world.add(all[1], (f0(0), f1(0))))),
    ("add replaces and moves", |world, all| ignore(world.add(all[1], (f0(0), f1(0), f2(0))))),
    ("set", |world, all| ignore(world.set(all[1], (f1(0), A(0), f0(0))))),
    ("remove one", |world, all| ignore(world.remove::<F0>(all[1]))),
    ("remove two", |world, all| ignore(world.remove::<(F1, F0)>(all[1]))),
    ("remove all", |world, all| ignore(world.remove::<(F1, A, F0, F2)>(all[1]))),
    ("remove the last of a chunk", |world, all| ignore(world.remove::<F0>(all[9]))),
    ("remove_types", |world, all| {
        let types = [ComponentType::of::<F0>(), ComponentType::of::<F1>()];
        ignore(world.remove_types(all[2], &types));
    }),
    ("set_archetype", |world, all| {
        let archetype = world.archetype::<(F2, A)>();
        ignore(world.set_archetype(all[2], archetype));
    }),
    ("take", |world, all| ignore(world.take::<F1>(all[2]))),
    ("despawn", |world, all| ignore(world.despawn(all[1]))),
    ("despawn the only one of a chunk", |world, all| {
        ignore(world.despawn(all[11]));
        ignore(world.despawn(all[10]));
    }),
    ("despawn_slice", |world, all| ignore(world.batch(&all[1..11]).despawn())),
    ("despawn_slice, any order", |world, all| {
        ignore(world.batch(&[all[9], all[2], all[10], all[3], all[3], all[0], all[8]]).despawn());
    }),
    ("despawn_slice, whole chunks", |world, all| ignore(world.batch(all).despawn())),
    ("despawn_all", |world, _| ignore(world.despawn_all())),
    ("despawn, and one stays", |world, all| {
        ignore(world.add(all[1], Stays));
        ignore(world.despawn(all[1]));
        ignore(world.remove::<Stays>(all[1]));
    }),
    ("despawn_slice, and some stay", |world, all| {
        all[1..7].iter().for_each(|&entity| ignore(world.add(entity, Stays)));
        ignore(world.batch(all).despawn());
    }),
    ("despawn, and the last is removed", |world, all| {
        ignore(world.add(all[1], Stays));
        ignore(world.despawn(all[1]));
        ignore(world.add(all[1], (f0(1), f1(1))));
        ignore(world.remove::<Stays>(all[1]));
        ignore(world.remove::<(F0, F1)>(all[1]));
    }),
    ("spawn_many", |world, _| ignore(world.spawn_many((f1(1), f0(1)), 9).len())),
];

#[test]
fn nothing_leaks_or_is_dropped_twice() {
    for (what, action) in ACTIONS {
        survives(Call::Drop, what, Scene::new, |scene| {
            let (world, all) = scene.parts();
            action(world, all);
        });
    }
}

#[test]
fn nothing_leaks_or_is_dropped_twice_in_strict_worlds() {
    let strict = || {
        let mut scene = Scene { worlds: Vec::new(), all: Vec::new() };
        let settings = WorldSettings::new().chunk_capacity_limit(4).strict(true);
        let mut world = World::with_settings("Simulation", settings);
        scene.all = world.spawn_batch((0..12).map(|n| (f0(n), A(n), f1(n)))).collect();
        scene.worlds.push(world);
        scene
    };
    for (what, action) in ACTIONS.iter().filter(|(what, _)| what.starts_with("despawn")) {
        survives(Call::Drop, what, strict, |scene| {
            let (world, all) = scene.parts();
            action(world, all);
        });
    }
    // A refused set is returned to the caller, who drops it.
    survives(Call::Drop, "add refused", strict, |scene| {
        let (world, all) = scene.parts();
        ignore(world.add(all[1], (f0(0), f1(0))));
    });
}

#[test]
fn nothing_leaks_or_is_dropped_twice_in_worlds_that_share_memory() {
    for (what, action) in ACTIONS {
        survives(Call::Drop, what, Scene::forked, |scene| {
            let (world, all) = scene.parts();
            action(world, all);
            // The fork is unchanged. The values that panic here were shared until now.
            let all = scene.all.clone();
            action(&mut scene.worlds[1], &all);
        });
    }
}

#[test]
fn nothing_leaks_when_a_world_is_dropped() {
    survives(Call::Drop, "world", Scene::new, |scene| {
        let world = scene.worlds.remove(0);
        drop(world);
    });
}

#[test]
fn nothing_leaks_when_worlds_that_share_memory_are_dropped() {
    for order in [[0, 0], [1, 0]] {
        survives(Call::Drop, "worlds", Scene::forked, |scene| {
            let all = scene.all.clone();
            scene.worlds[1].despawn(all[3]).unwrap();
            for index in order {
                drop(scene.worlds.remove(index));
            }
        });
    }
}

#[test]
fn nothing_leaks_when_a_duplicate_is_dropped() {
    survives(Call::Drop, "duplicate", Scene::new, |scene| {
        drop(scene.world().duplicate().unwrap());
    });
}

#[test]
fn nothing_leaks_when_sets_are_refused() {
    survives(Call::Drop, "refused", Scene::new, |scene| {
        let (world, all) = scene.parts();
        ignore(world.try_spawn((f0(1), f1(1), f0(2))));
        ignore(world.add(Entity::NULL, (f0(1), f1(1))));
        ignore(world.set(all[10], (f0(1), f1(1))));
        ignore(world.spawn_columns((vec![f0(1), f0(2)], vec![f1(1)])));
    });
}

#[test]
fn values_that_are_overwritten_in_place_are_dropped() {
    survives(Call::Drop, "in place", Scene::forked, |scene| {
        let (world, all) = scene.parts();
        *world.get_mut::<F0>(all[1]).unwrap() = f0(0);
        world.for_each_chunk_mut(|mut chunk| {
            chunk.slice_mut::<F0>().unwrap()[0] = f0(0);
        });
    });
}

#[test]
fn despawned_entities_are_gone_after_a_panic() {
    // A destructor that panics keeps neither its entity nor the others of the call alive.
    let all_gone: [(&str, Action); 3] = [
        ("despawn", |world, all| all.iter().for_each(|entity| ignore(world.despawn(*entity)))),
        ("despawn_slice", |world, all| ignore(world.batch(all).despawn())),
        ("despawn_all", |world, _| ignore(world.despawn_all())),
    ];
    for (what, action) in all_gone {
        survives(Call::Drop, what, Scene::new, |scene| {
            let (world, all) = scene.parts();
            let action = AssertUnwindSafe(|| action(world, all));
            let result = catch_unwind(action);
            let left = scene.world().entity_count();
            if what == "despawn_all" {
                assert_eq!(left, 0);
            }
            if let Err(panic) = result {
                resume_unwind(panic);
            }
            assert_eq!(left, 0);
        });
    }
}

/// A value that records its drop, then panics if its number is selected.
struct Loud {
    number: u32,
    panics: u32,
    dropped: Arc<Mutex<Vec<u32>>>,
}

impl Drop for Loud {
    fn drop(&mut self) {
        self.dropped.lock().unwrap().push(self.number);
        if self.number == self.panics {
            resume_unwind(Box::new(self.number));
        }
    }
}

macro_rules! loud {
    ($(#[$attribute:meta] $name:ident)*) => {$(
        #[$attribute]
        struct $name(#[field(opaque)] #[allow(dead_code, reason = "it is dropped")] Loud);
    )*};
}

loud! {
    #[derive(Component)] Value
    #[derive(Component)] Other
    #[derive(ManagedComponent)] Script
    #[derive(BufferElement)] Item
    #[derive(SharedComponent)] Team
}

impl PartialEq for Team {
    fn eq(&self, other: &Self) -> bool {
        self.0.number == other.0.number
    }
}

impl Eq for Team {}

impl Hash for Team {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.number.hash(state);
    }
}

#[derive(Resource)]
#[resource(local)]
struct LoudResource<const N: u32>(#[allow(dead_code, reason = "it is dropped")] Loud);

#[test]
fn a_world_drops_everything_if_one_value_panics() {
    const ALL: u32 = 17;
    for panics in 0..=ALL {
        let dropped = Arc::new(Mutex::new(Vec::new()));
        let mut count = 0;
        let mut loud = || {
            count += 1;
            Loud { number: count, panics, dropped: Arc::clone(&dropped) }
        };
        let settings = WorldSettings::new().chunk_capacity_limit(1);
        let mut world = World::with_settings("Simulation", settings);
        for _ in 0..2 {
            let one = world.spawn((Value(loud()), Other(loud()), Managed::new(Script(loud()))));
            let mut items = world.add_buffer::<Item>(one).unwrap();
            items.push(Item(loud()));
            items.push(Item(loud()));
            world.spawn((A(1), Shared::new(Team(loud()))));
        }
        let (one, two) = (loud(), loud());
        world.add_system((move || _ = &one).named("one"));
        world.add_system((move || _ = &two).named("two"));
        world.insert_resource(LoudResource::<0>(loud()));
        world.insert_resource(LoudResource::<1>(loud()));
        world.insert_resource(LoudResource::<2>(loud()));
        assert_eq!(count, ALL);
        let result = catch_unwind(AssertUnwindSafe(|| drop(world)));
        let mut dropped = std::mem::take(&mut *dropped.lock().unwrap());
        dropped.sort_unstable();
        assert_eq!(dropped, Vec::from_iter(1..=ALL), "value {panics} panicked");
        // The panic of a system is printed: dropping a world has no caller to return it to.
        let is_reported = panics != 0 && !(13..15).contains(&panics);
        assert_eq!(result.is_err(), is_reported, "value {panics} panicked");
    }
}

#[test]
fn all_resources_are_dropped_if_several_panic() {
    let dropped = Arc::new(Mutex::new(Vec::new()));
    let loud = |number| Loud { number, panics: number, dropped: Arc::clone(&dropped) };
    let mut world = World::new("Simulation");
    world.insert_resource(LoudResource::<0>(loud(1)));
    world.insert_resource(LoudResource::<1>(loud(2)));
    world.insert_resource(LoudResource::<2>(loud(3)));
    let payload = catch_unwind(AssertUnwindSafe(|| drop(world))).unwrap_err();
    assert_eq!(payload.downcast_ref(), Some(&1_u32), "the first is reported");
    assert_eq!(*dropped.lock().unwrap(), [1, 2, 3]);
}
