//! Clones that panic in the middle.

use ancho_entities::{ComponentType, Entity, World};

use crate::common::{A, B, ignore};
use crate::fixtures::fragile::{Call, F0, F1, F2, Scene, f0, f1, f2, survives};

#[test]
fn nothing_leaks_when_many_are_made_of_one() {
    for count in [1, 2, 7, 13] {
        survives_or_is_not_called(count);
    }
}

fn survives_or_is_not_called(count: usize) {
    // One entity needs no clone: it gets the value itself.
    if count > 1 {
        survives(Call::Clone, "spawn_many", Scene::new, |scene| {
            ignore(scene.world().spawn_many((f1(1), A(1), f0(1)), count).len());
        });
    }
    survives(Call::Clone, "spawn_many into shared memory", Scene::forked, |scene| {
        ignore(scene.world().spawn_many((f1(1), A(1), f0(1)), count).len());
    });
}

#[test]
fn none_of_many_is_there_when_one_cannot_be_made() {
    survives(Call::Clone, "spawn_many", Scene::new, |scene| {
        let world = scene.world();
        let (count, hash) = (world.entity_count(), world.state_hash());
        let spawn = std::panic::AssertUnwindSafe(|| {
            ignore(world.spawn_many((f0(7), A(7), f1(7)), 20).len());
        });
        let Err(panic) = std::panic::catch_unwind(spawn) else {
            return assert_eq!(scene.world().entity_count(), count + 20);
        };
        let world = scene.world();
        assert_eq!((world.entity_count(), world.state_hash()), (count, hash));
        std::panic::resume_unwind(panic);
    });
}

#[test]
fn no_instance_is_there_when_one_cannot_be_made() {
    for (what, setup) in [("alone", Scene::new as fn() -> Scene), ("forked", Scene::forked)] {
        for count in [1, 2, 7, 13] {
            // An entity whose chunk is full, one whose chunk has room, and one with fewer components.
            for which in [1, 9, 10] {
                let what = format!("{count} instances of {which}, {what}");
                survives(Call::Clone, &what, setup, |scene| {
                    let (world, all) = scene.parts();
                    let source = all[which];
                    world.set_name(source, "source").unwrap();
                    let (before, hash) = (world.entity_count(), world.state_hash());
                    let instantiate = std::panic::AssertUnwindSafe(|| {
                        ignore(world.instantiate_many(source, count).unwrap().len());
                    });
                    let Err(panic) = std::panic::catch_unwind(instantiate) else {
                        return assert_eq!(scene.world().entity_count(), before + count);
                    };
                    let world = scene.world();
                    assert_eq!((world.entity_count(), world.state_hash()), (before, hash));
                    std::panic::resume_unwind(panic);
                });
            }
        }
    }
}

type Action = fn(&mut World, &[Entity]);

/// Every operation that writes to a chunk, and so copies a shared one.
const WRITES: [(&str, Action); 21] = [
    ("get_mut", |world, all| ignore(world.get_mut::<F0>(all[1]).map(|value| value.value = 1))),
    ("get_mut of another", |world, all| ignore(world.get_mut::<A>(all[1]).map(|a| a.0 = 1))),
    ("set", |world, all| ignore(world.set(all[1], (f0(1), f1(1))))),
    ("add replaces", |world, all| ignore(world.add(all[1], f1(1)))),
    ("add moves", |world, all| ignore(world.add(all[1], f2(1)))),
    ("add moves to a shared chunk", |world, all| ignore(world.add(all[10], (A(1), f1(1))))),
    ("add_types", |world, all| {
        ignore(world.add_types(all[1], &[ComponentType::of::<F2>()]));
    }),
    ("add_bytes", |world, all| {
        ignore(world.add_bytes(all[1], ComponentType::of::<B>(), &[1; 4]));
    }),
    ("set_bytes", |world, all| {
        ignore(world.set_bytes(all[1], ComponentType::of::<A>(), &[1; 4]));
    }),
    ("remove", |world, all| ignore(world.remove::<F1>(all[1]))),
    ("remove to a shared chunk", |world, all| ignore(world.remove::<(A, F1)>(all[1]))),
    ("take", |world, all| ignore(world.take::<F0>(all[1]))),
    ("set_archetype", |world, all| {
        let archetype = world.archetype::<(F0, B)>();
        ignore(world.set_archetype(all[1], archetype));
    }),
    ("swap_components", |world, all| {
        ignore(world.swap_components(all[1], all[9]));
    }),
    ("despawn", |world, all| ignore(world.despawn(all[1]))),
    ("despawn_slice", |world, all| ignore(world.batch(&all[1..11]).despawn())),
    ("spawn", |world, _| ignore(world.spawn((f0(1), A(1), f1(1))))),
    ("instantiate", |world, all| ignore(world.instantiate(all[1]))),
    ("instantiate a neighbour", |world, all| {
        ignore(world.instantiate_many(all[9], 7).map(|new| new.len()));
    }),
    ("spawn_batch", |world, _| {
        ignore(world.spawn_batch((0..9).map(|n| (f0(n), A(n), f1(n)))).len());
    }),
    ("slice_mut", |world, _| {
        world.for_each_chunk_mut(|mut chunk| {
            chunk.slice_mut::<F0>().unwrap().iter_mut().for_each(|value| value.value += 1);
        });
    }),
];

#[test]
fn nothing_leaks_when_a_shared_chunk_cannot_be_copied() {
    for (what, action) in WRITES {
        for writer in [0, 1] {
            survives(Call::Clone, what, Scene::forked, |scene| {
                let all = scene.all.clone();
                action(&mut scene.worlds[writer], &all);
            });
        }
    }
}

#[test]
fn nothing_leaks_when_the_others_of_a_shared_chunk_are_dropped() {
    for (what, action) in WRITES {
        // Some of these operations drop nothing, so no panic happens.
        survives(Call::Drop, what, Scene::forked, |scene| {
            let all = scene.all.clone();
            action(&mut scene.worlds[0], &all);
            drop(scene.worlds.remove(1));
            action(&mut scene.worlds[0], &all);
            drop(scene.worlds.remove(0));
        });
    }
}

#[test]
fn a_chunk_that_could_not_be_copied_is_unchanged_for_the_other_world() {
    for (what, action) in WRITES {
        survives(Call::Clone, what, Scene::forked, |scene| {
            let hash = scene.worlds[1].state_hash();
            let all = scene.all.clone();
            let write = std::panic::AssertUnwindSafe(|| action(&mut scene.worlds[0], &all));
            let result = std::panic::catch_unwind(write);
            assert_eq!(scene.worlds[1].state_hash(), hash, "{what}");
            if let Err(panic) = result {
                std::panic::resume_unwind(panic);
            }
        });
    }
}

#[test]
fn columns_and_defaults_into_shared_memory() {
    survives(Call::Clone, "spawn_columns", Scene::forked, |scene| {
        let columns = (vec![f0(1), f0(2)], vec![A(1), A(2)], vec![f1(1), f1(2)]);
        ignore(scene.world().spawn_columns(columns).map(|new| new.len()));
    });
    survives(Call::Clone, "create_many", Scene::forked, |scene| {
        let archetype = scene.world().archetype::<(F0, A, F1)>();
        ignore(scene.world().create_many(archetype, 9).map(|new| new.len()));
    });
}

#[test]
fn nothing_leaks_when_a_world_cannot_be_duplicated() {
    survives(Call::Clone, "duplicate", Scene::new, |scene| {
        let hash = scene.world().state_hash();
        let duplicate = scene.world().duplicate().unwrap();
        assert_eq!(duplicate.state_hash(), hash);
        scene.worlds.push(duplicate);
    });
    survives(Call::Clone, "duplicate of what is shared", Scene::forked, |scene| {
        let duplicate = scene.world().duplicate().unwrap();
        scene.worlds.push(duplicate);
    });
}

#[test]
fn a_fork_of_a_fork_is_safe() {
    let forked_twice = || {
        let mut scene = Scene::forked();
        let fork = scene.worlds[1].fork().unwrap();
        scene.worlds.push(fork);
        scene
    };
    survives(Call::Clone, "three worlds", forked_twice, |scene| {
        let all = scene.all.clone();
        for world in &mut scene.worlds {
            world.get_mut::<F0>(all[1]).unwrap().value = 1;
            world.despawn(all[5]).unwrap();
            world.add(all[9], f2(1)).unwrap();
        }
    });
    survives(Call::Drop, "three worlds", forked_twice, |scene| {
        let all = scene.all.clone();
        for world in &mut scene.worlds {
            world.set(all[1], f0(7)).unwrap();
            world.despawn(all[5]).unwrap();
        }
        scene.worlds.drain(..).for_each(drop);
    });
    let _ = F2::default();
}
