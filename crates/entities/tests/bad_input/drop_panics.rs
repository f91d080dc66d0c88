//! Destructors that panic in the middle.

use ancho_entities::{ComponentType, Entity, World};

use crate::common::{A, Stays, ignore};
use crate::fragile::{Call, F0, F1, F2, Scene, f0, f1, f2, survives};

type Action = fn(&mut World, &[Entity]);

/// Everything that drops values.
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
        ignore(world.entities_mut().remove_types(all[2], &types));
    }),
    ("set_archetype", |world, all| {
        let archetype = world.entities_mut().archetype::<(F2, A)>();
        ignore(world.entities_mut().set_archetype(all[2], archetype));
    }),
    ("take", |world, all| ignore(world.take::<F1>(all[2]))),
    ("despawn", |world, all| ignore(world.despawn(all[1]))),
    ("despawn the only one of a chunk", |world, all| {
        ignore(world.despawn(all[11]));
        ignore(world.despawn(all[10]));
    }),
    ("despawn_slice", |world, all| ignore(world.despawn_slice(&all[1..11]))),
    ("despawn_slice, any order", |world, all| {
        ignore(world.despawn_slice(&[all[9], all[2], all[10], all[3], all[3], all[0], all[8]]));
    }),
    ("despawn_slice, whole chunks", |world, all| ignore(world.despawn_slice(all))),
    ("despawn_all", |world, _| ignore(world.despawn_all())),
    ("despawn, and one stays", |world, all| {
        ignore(world.add(all[1], Stays));
        ignore(world.despawn(all[1]));
        ignore(world.remove::<Stays>(all[1]));
    }),
    ("despawn_slice, and some stay", |world, all| {
        all[1..7].iter().for_each(|&entity| ignore(world.add(entity, Stays)));
        ignore(world.despawn_slice(all));
    }),
    ("despawn, and the last is removed", |world, all| {
        ignore(world.add(all[1], Stays));
        ignore(world.despawn(all[1]));
        ignore(world.add(all[1], (f0(1), f1(1))));
        ignore(world.remove::<Stays>(all[1]));
        ignore(world.remove::<(F0, F1)>(all[1]));
    }),
    ("spawn_many", |world, _| ignore(world.spawn_many(9, (f1(1), f0(1))).len())),
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
    use ancho_entities::WorldSettings;

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
    // What is refused is given back, and dropped by who gets it.
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
            // The fork has what it had. What panics here was shared until now.
            let all = scene.all.clone();
            action(&mut scene.worlds[1], &all);
        });
    }
}

#[test]
fn nothing_leaks_when_a_world_goes() {
    survives(Call::Drop, "world", Scene::new, |scene| {
        let world = scene.worlds.remove(0);
        drop(world);
    });
}

#[test]
fn nothing_leaks_when_worlds_that_share_memory_go() {
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
fn nothing_leaks_when_a_duplicate_goes() {
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
        world.entities_mut().for_each_chunk_mut(|mut chunk| {
            chunk.slice_mut::<F0>().unwrap()[0] = f0(0);
        });
    });
}

#[test]
fn what_was_to_go_is_gone() {
    // A destructor that panics does not keep its entity alive, nor the others of the call.
    let all_gone: [(&str, Action); 3] = [
        ("despawn", |world, all| all.iter().for_each(|entity| ignore(world.despawn(*entity)))),
        ("despawn_slice", |world, all| ignore(world.despawn_slice(all))),
        ("despawn_all", |world, _| ignore(world.despawn_all())),
    ];
    for (what, action) in all_gone {
        survives(Call::Drop, what, Scene::new, |scene| {
            let (world, all) = scene.parts();
            let action = std::panic::AssertUnwindSafe(|| action(world, all));
            let result = std::panic::catch_unwind(action);
            let left = scene.world().entity_count();
            if what == "despawn_all" {
                assert_eq!(left, 0);
            }
            if let Err(panic) = result {
                std::panic::resume_unwind(panic);
            }
            assert_eq!(left, 0);
        });
    }
}
