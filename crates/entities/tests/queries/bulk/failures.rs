//! Batches over queries, with user code that panics and with too little memory.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use ancho_entities::{
    ChunkArena, Component, ComponentType, Entity, EntityError, IncludeDisabled, QueryDescriptor,
    Shared, SharedComponent, With, Without, World,
};

use crate::fixtures::fragile::{Call, F0, F1, F2, Scene, f0, f1, f2, survives};
use crate::fixtures::limited_memory::{CHUNK, Set, limited, look, refused};
use crate::fixtures::{A, B, Stays, Tag, Text, ignore};

/// A mark for rows in the middle of chunks.
#[derive(Component, Clone, Copy, Default)]
#[component(name = "game::Chosen", enableable)]
struct Chosen;

#[derive(SharedComponent, Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[shared(name = "game::Side")]
struct Side(u32);

/// Marks some entities of a scene as chosen.
fn choose(mut scene: Scene) -> Scene {
    let all = scene.all.clone();
    for world in &mut scene.worlds {
        for &entity in &all {
            world.add(entity, Chosen).unwrap();
        }
        for at in [1, 2, 5, 8] {
            world.set_component_enabled::<Chosen>(all[at], false).unwrap();
        }
    }
    scene
}

fn chosen() -> Scene {
    choose(Scene::new())
}

fn chosen_and_forked() -> Scene {
    let mut scene = chosen();
    let fork = scene.world().fork().unwrap();
    scene.worlds.push(fork);
    scene
}

type Action = (&'static str, fn(&mut World));

/// Every batch operation that clones a set or drops values.
const ACTIONS: [Action; 14] = [
    ("add", |world| ignore(world.batch(QueryDescriptor::of::<&A, ()>()).add(f2(1)))),
    ("add to some", |world| {
        ignore(world.batch(QueryDescriptor::of::<&Chosen, ()>()).add((f2(1), B(1))));
    }),
    ("add replaces", |world| {
        ignore(world.batch(QueryDescriptor::of::<&A, ()>()).add((f1(1), f0(1))));
    }),
    ("add replaces some", |world| {
        ignore(world.batch(QueryDescriptor::of::<&A, With<Chosen>>()).add((f1(1), A(1))));
    }),
    ("add replaces and moves", |world| {
        ignore(world.batch(QueryDescriptor::of::<&F0, ()>()).add((f0(1), f2(1), f1(1))));
    }),
    ("add shared", |world| {
        ignore(world.batch(QueryDescriptor::of::<&F0, ()>()).add((f0(1), Shared::new(Side(1)))));
    }),
    ("remove", |world| ignore(world.batch(QueryDescriptor::of::<&A, ()>()).remove::<F1>())),
    ("remove from some", |world| {
        ignore(world.batch(QueryDescriptor::of::<&Chosen, ()>()).remove::<(F0, F1)>());
    }),
    ("remove all", |world| {
        ignore(world.batch(QueryDescriptor::of::<(), ()>()).remove::<(F0, A, F1, Chosen)>());
    }),
    ("despawn", |world| ignore(world.batch(QueryDescriptor::of::<&A, ()>()).despawn())),
    ("despawn some", |world| ignore(world.batch(QueryDescriptor::of::<&Chosen, ()>()).despawn())),
    ("despawn all", |world| ignore(world.batch(QueryDescriptor::of::<(), ()>()).despawn())),
    ("despawn, and some stay", |world| {
        ignore(world.batch(QueryDescriptor::of::<&Chosen, ()>()).add(Stays));
        ignore(world.batch(QueryDescriptor::of::<&F0, ()>()).despawn());
        ignore(world.batch(QueryDescriptor::of::<(), ()>()).remove::<Stays>());
    }),
    ("add a tag and remove it", |world| {
        ignore(world.batch(QueryDescriptor::of::<&F0, ()>()).add((Tag, f2(1))));
        ignore(world.batch(QueryDescriptor::of::<&F0, ()>()).remove::<(Tag, F2)>());
    }),
];

#[test]
fn nothing_leaks_or_is_dropped_twice_when_destructors_panic() {
    for setup in [chosen, chosen_and_forked] {
        for (what, action) in ACTIONS {
            survives(Call::Drop, what, setup, |scene| {
                scene.worlds.iter_mut().for_each(action);
                scene.worlds.truncate(1);
            });
        }
    }
}

#[test]
fn the_change_is_complete_when_destructors_panic() {
    let after = |action: fn(&mut World)| {
        let mut scene = chosen();
        action(scene.world());
        scene.world().state_hash()
    };
    // Only the actions that are a single change.
    for (what, action) in ACTIONS.iter().filter(|(what, _)| !what.contains(" and ")) {
        let expected = after(*action);
        survives(Call::Drop, what, chosen, |scene| {
            let done = catch_unwind(AssertUnwindSafe(|| action(scene.world())));
            assert_eq!(scene.world().state_hash(), expected, "{what}");
            if let Err(panic) = done {
                resume_unwind(panic);
            }
        });
    }
}

#[test]
fn nothing_changes_when_a_clone_panics() {
    for setup in [chosen as fn() -> Scene, chosen_and_forked] {
        for (what, action) in
            ACTIONS.iter().filter(|(what, _)| what.starts_with("add ") && !what.contains("tag"))
        {
            survives(Call::Clone, what, setup, |scene| {
                let before: Vec<_> = scene.worlds.iter().map(|world| world.state_hash()).collect();
                let Err(panic) = catch_unwind(AssertUnwindSafe(|| action(scene.world()))) else {
                    return;
                };
                let after: Vec<_> = scene.worlds.iter().map(|world| world.state_hash()).collect();
                assert_eq!(after, before, "{what}");
                resume_unwind(panic);
            });
        }
    }
}

#[test]
fn nothing_changes_when_a_shared_chunk_cannot_be_copied() {
    for (what, action) in ACTIONS.iter().filter(|(what, _)| what.contains("some")) {
        survives(Call::Clone, what, chosen_and_forked, |scene| {
            let before = scene.worlds[1].state_hash();
            let done = catch_unwind(AssertUnwindSafe(|| action(scene.world())));
            assert_eq!(scene.worlds[1].state_hash(), before, "{what}");
            if let Err(panic) = done {
                resume_unwind(panic);
            }
        });
    }
}

#[test]
fn nothing_changes_when_a_default_panics() {
    let types = [ComponentType::of::<F2>(), ComponentType::of::<F1>(), ComponentType::of::<Tag>()];
    for setup in [chosen as fn() -> Scene, chosen_and_forked] {
        survives(Call::Default, "add_types", setup, |scene| {
            let before = scene.world().state_hash();
            let add = || {
                scene.world().batch(QueryDescriptor::of::<&Chosen, ()>()).add_types(&types).unwrap()
            };
            let Err(panic) = catch_unwind(AssertUnwindSafe(add)) else { return };
            assert_eq!(scene.world().state_hash(), before);
            resume_unwind(panic);
        });
    }
}

type Write = (&'static str, fn(&mut World) -> Result<(), EntityError>);

/// Every batch operation that needs a chunk, for ten entities in chunks of four, of which every third is chosen.
const WRITES: [Write; 8] = [
    ("add", |world| {
        world.batch(QueryDescriptor::of::<&A, ()>()).add(B(1)).map(drop).map_err(|refused| {
            assert_eq!(refused.value, B(1));
            refused.error
        })
    }),
    ("add a tag to some", |world| {
        world
            .batch(QueryDescriptor::of::<&Chosen, ()>())
            .add(Tag)
            .map(drop)
            .map_err(|refused| refused.error)
    }),
    ("add what is cloned", |world| {
        let added = world.batch(QueryDescriptor::of::<&A, ()>()).add((B(1), Text("new".into())));
        added.map(drop).map_err(|refused| refused.error)
    }),
    ("add shared to some", |world| {
        let added =
            world.batch(QueryDescriptor::of::<&Chosen, ()>()).add((Tag, Shared::new(Side(1))));
        added.map(drop).map_err(|refused| refused.error)
    }),
    ("add_types", |world| {
        world
            .batch(QueryDescriptor::of::<&A, ()>())
            .add_types(&[ComponentType::of::<B>()])
            .map(drop)
    }),
    ("remove", |world| world.batch(QueryDescriptor::of::<&A, ()>()).remove::<Text>().map(drop)),
    ("remove all", |world| world.batch(QueryDescriptor::of::<&A, ()>()).remove::<Set>().map(drop)),
    ("set_enabled of some", |world| {
        world.batch(QueryDescriptor::of::<&Chosen, ()>()).set_enabled(false).map(drop)
    }),
];

/// Creates a world in an arena with `chunks` spare chunks.
fn spare(chunks: usize, owner: &Arc<()>) -> (World, ChunkArena) {
    // Choosing entities moves them to chunks of another archetype, out of their old chunks.
    let (mut world, all, arena) = limited(10, 3 + chunks, owner);
    assert_eq!(world.batch(QueryDescriptor::of::<&A, ()>()).add(Chosen).unwrap(), 10);
    for (at, &entity) in all.iter().enumerate() {
        let is_chosen = at % 3 == 0;
        world.set_component_enabled::<Chosen>(entity, is_chosen).unwrap();
    }
    assert_eq!(arena.stats().used, 3 * CHUNK);
    (world, arena)
}

#[test]
fn nothing_changes_without_memory() {
    let owner = Arc::new(());
    for (what, write) in WRITES {
        let (mut world, arena) = spare(0, &owner);
        let count = Arc::strong_count(&owner);
        refused(what, &mut world, &arena, write);
        assert_eq!(Arc::strong_count(&owner), count, "{what}");
    }
    // One chunk too few is not enough either, unless the rows that move first leave their memory to the others.
    for (what, write) in WRITES.iter().filter(|(what, _)| !what.ends_with("some")) {
        let needed = if *what == "add" { 1 } else { 3 };
        let (mut world, arena) = spare(needed - 1, &owner);
        refused(what, &mut world, &arena, write);
        let (mut world, arena) = spare(needed, &owner);
        write(&mut world).unwrap();
        look(&world, &arena);
        assert_eq!(arena.stats().used, 3 * CHUNK, "{what}");
    }
    assert_eq!(Arc::strong_count(&owner), 1);
}

#[test]
fn nothing_changes_without_memory_for_copies() {
    let owner = Arc::new(());
    let more: [Write; 4] = [
        ("add replaces", |world| {
            let added =
                world.batch(QueryDescriptor::of::<&A, ()>()).add((A(1), Text("new".into())));
            added.map(drop).map_err(|refused| refused.error)
        }),
        ("despawn some", |world| {
            world.batch(QueryDescriptor::of::<&Chosen, ()>()).despawn().map(drop)
        }),
        ("remove a tag from some", |world| {
            world.batch(QueryDescriptor::of::<&Chosen, ()>()).remove::<Chosen>().map(drop)
        }),
        ("add of one that replaces", |world| {
            world
                .batch(QueryDescriptor::of::<&A, ()>())
                .add(A(1))
                .map(drop)
                .map_err(|refused| refused.error)
        }),
    ];
    for (what, write) in WRITES.iter().chain(&more) {
        let (mut world, arena) = spare(0, &owner);
        let mut fork = world.fork().unwrap();
        refused(what, &mut fork, &arena, write);
        refused(what, &mut world, &arena, write);
        assert_eq!(world.state_hash(), fork.state_hash());
    }
    assert_eq!(Arc::strong_count(&owner), 1);
}

#[test]
fn changes_that_need_no_memory_succeed_without() {
    let owner = Arc::new(());
    for forks in [false, true] {
        let (mut world, arena) = spare(0, &owner);
        let fork = forks.then(|| world.fork().unwrap());
        assert_eq!(world.batch(QueryDescriptor::of::<&A, ()>()).add(Tag).unwrap(), 10);
        assert_eq!(
            world.batch(QueryDescriptor::of::<&A, ()>()).add(Shared::new(Side(1))).unwrap(),
            10
        );
        assert_eq!(world.batch(QueryDescriptor::of::<&A, ()>()).set_shared(Side(2)), Ok(10));
        assert_eq!(
            world.batch(QueryDescriptor::of::<&A, ()>()).remove::<(Shared<Side>, Chosen)>(),
            Ok(10)
        );
        assert_eq!(world.batch(QueryDescriptor::of::<&A, ()>()).set_enabled(false), Ok(10));
        look(&world, &arena);
        assert_eq!(arena.stats().used, 3 * CHUNK);
        assert_eq!(world.batch(QueryDescriptor::of::<&A, IncludeDisabled>()).despawn(), Ok(10));
        assert_eq!(arena.stats().used, if forks { 3 * CHUNK } else { 0 });
        drop((fork, world));
    }
    assert_eq!(Arc::strong_count(&owner), 1);
}

#[test]
fn entities_that_would_be_too_large_are_refused_before_others_change() {
    /// A component that fits into a chunk, but not together with `Larger`.
    #[derive(Component, Clone, Copy)]
    struct Large([u8; 12_000]);

    /// A component that fits into a chunk, but not together with `Large`.
    #[derive(Component, Clone, Copy)]
    struct Larger([u8; 14_000]);

    let mut world = World::new("Simulation");
    world.spawn(A(1));
    let large: Entity = world.spawn((A(1), Large([1; 12_000])));
    let hash = world.state_hash();
    let refused =
        world.batch(QueryDescriptor::of::<&A, ()>()).add(Larger([2; 14_000])).unwrap_err();
    assert!(matches!(refused.error, EntityError::DoesNotFit { .. }));
    assert_eq!((refused.value.0[0], world.state_hash()), (2, hash));
    assert_eq!(
        world.batch(QueryDescriptor::of::<&A, Without<Large>>()).add(Larger([2; 14_000])).unwrap(),
        1
    );
    assert_eq!(world.get::<Large>(large).unwrap().0[0], 1);
    world.check_invariants().unwrap();
}

#[test]
fn values_without_bytes_are_cloned_for_each() {
    use std::cell::Cell;

    thread_local! {
        static CLONED: Cell<usize> = const { Cell::new(0) };
    }

    /// A value that can only be created by cloning another.
    #[derive(Component)]
    #[component(name = "game::Token")]
    struct Token(());

    impl Clone for Token {
        fn clone(&self) -> Self {
            CLONED.set(CLONED.get() + 1);
            assert!(CLONED.get() < 100, "enough");
            Self(())
        }
    }

    let mut world = World::new("Simulation");
    world.spawn_many(A(1), 60);
    assert_eq!(world.batch(QueryDescriptor::of::<&A, ()>()).add(Token(())).unwrap(), 60);
    assert_eq!(CLONED.get(), 60);
    let hash = world.state_hash();
    let add = || world.batch(QueryDescriptor::of::<&A, ()>()).add((Token(()), Tag)).map(drop);
    assert!(catch_unwind(AssertUnwindSafe(add)).is_err());
    assert_eq!(world.state_hash(), hash);
    world.check_invariants().unwrap();
}
