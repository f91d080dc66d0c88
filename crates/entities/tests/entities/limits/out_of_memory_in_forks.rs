//! Forks that write, without memory for a copy of the shared chunk.

use std::sync::Arc;

use ancho_entities::{ChunkArena, ComponentType, Entity, EntityError, World};

use crate::common::{A, B, Link, Tag, Text, panic_message};
use crate::fixtures::limited_memory::{CHUNK, Set, limited, look, refused, set};

type Write = (&'static str, fn(&mut World, &[Entity]) -> Result<(), EntityError>);

/// Every operation that writes to a shared chunk of three entities with room for a fourth.
const WRITES: [Write; 24] = [
    ("get_mut", |world, all| world.get_mut::<A>(all[0]).map(|_| ())),
    ("set", |world, all| world.set(all[0], A(9)).map_err(|refused| refused.error)),
    ("set of two", |world, all| {
        world.set(all[0], (A(9), Text("mine".into()))).map_err(|refused| {
            assert_eq!(refused.value, (A(9), Text("mine".into())));
            refused.error
        })
    }),
    ("set_bytes", |world, all| world.set_bytes(all[0], ComponentType::of::<A>(), &[1; 4])),
    ("add replaces", |world, all| {
        world.add(all[0], Text("mine".into())).map(|_| ()).map_err(|refused| {
            assert_eq!(refused.value, Text("mine".into()));
            refused.error
        })
    }),
    ("add moves", |world, all| {
        world.add(all[0], B(1)).map(|_| ()).map_err(|refused| refused.error)
    }),
    ("add replaces and moves", |world, all| {
        world.add(all[0], (B(1), A(2))).map(|_| ()).map_err(|refused| refused.error)
    }),
    ("add_types", |world, all| world.add_types(all[0], &[ComponentType::of::<Tag>()]).map(|_| ())),
    ("add_bytes replaces", |world, all| {
        world.add_bytes(all[0], ComponentType::of::<A>(), &[1; 4]).map(|_| ())
    }),
    ("add_bytes moves", |world, all| {
        world.add_bytes(all[0], ComponentType::of::<B>(), &[1; 4]).map(|_| ())
    }),
    ("remove", |world, all| world.remove::<A>(all[0]).map(|_| ())),
    ("remove_types", |world, all| {
        world.remove_types(all[0], &[ComponentType::of::<A>()]).map(|_| ())
    }),
    ("take", |world, all| world.take::<Text>(all[2]).map(|_| ())),
    ("set_archetype", |world, all| {
        let archetype = world.archetype::<(A, B)>();
        world.set_archetype(all[0], archetype)
    }),
    ("swap_components", |world, all| world.swap_components(all[0], all[2])),
    ("despawn", |world, all| world.despawn(all[0]).map(|_| ())),
    ("despawn_slice", |world, all| world.batch(&all[1..3]).despawn().map(|_| ())),
    ("try_spawn", |world, _| {
        let refused = world.try_spawn(set(9, &Arc::new(()))).map(|_| ());
        refused.map_err(|refused| refused.error)
    }),
    ("instantiate", |world, all| world.instantiate(all[0]).map(|_| ())),
    ("instantiate_many", |world, all| world.instantiate_many(all[0], 9).map(|_| ())),
    ("set_enabled", |world, all| world.set_enabled(all[0], false).map(|_| ())),
    ("spawn_columns", |world, _| {
        let (a, text, link, owned) = set(9, &Arc::new(()));
        let new = world.spawn_columns(([a], [text], [link], [owned])).map(|_| ());
        new.map_err(|refused| refused.error)
    }),
    ("remap_references", |world, all| {
        let target = all[1];
        world.remap_references(|_| target)
    }),
    ("slice_mut", |world, _| {
        let mut result = Ok(());
        world.for_each_chunk_mut(|mut chunk| {
            if let Err(error) = chunk.slice_mut::<A>() {
                result = Err(error);
            }
        });
        result
    }),
];

/// Creates a world of three entities that refer to each other, and its fork, in one chunk: the arena's only one.
fn forked(owner: &Arc<()>) -> (World, World, Vec<Entity>, ChunkArena) {
    let (mut world, all, arena) = limited(3, 1, owner);
    for entity in &all {
        world.set(*entity, Link(all[0])).unwrap();
    }
    let fork = world.fork().unwrap();
    assert_eq!(arena.stats().used, CHUNK);
    (world, fork, all, arena)
}

#[test]
fn writing_is_refused_and_changes_nothing() {
    for (what, write) in WRITES {
        let owner = Arc::new(());
        let (mut world, mut fork, all, arena) = forked(&owner);
        let count = Arc::strong_count(&owner);
        refused(what, &mut fork, &arena, |fork| write(fork, &all));
        refused(what, &mut world, &arena, |world| write(world, &all));
        assert_eq!(Arc::strong_count(&owner), count, "{what}");
        assert_eq!(fork.state_hash(), world.state_hash(), "{what}");
    }
}

#[test]
fn writing_is_possible_when_the_other_world_is_dropped() {
    for (what, write) in WRITES {
        let owner = Arc::new(());
        let (world, mut fork, all, arena) = forked(&owner);
        refused(what, &mut fork, &arena, |fork| write(fork, &all));
        drop(world);
        // A move needs a chunk as its target.
        let moved = write(&mut fork, &all);
        let needs_another = ["add moves", "add replaces and", "add_types", "add_bytes moves"]
            .iter()
            .chain(&["remove", "take", "set_archetype", "instantiate_many", "set_enabled"])
            .any(|name| what.starts_with(name));
        assert_eq!(moved.is_err(), needs_another, "{what}");
        look(&fork, &arena);
        drop(fork);
        assert_eq!((Arc::strong_count(&owner), arena.stats().used), (1, 0), "{what}");
    }
}

#[test]
fn reading_and_dropping_need_no_memory() {
    let owner = Arc::new(());
    let (mut world, mut fork, all, arena) = forked(&owner);
    assert_eq!(fork.get(all[1]), Ok(&A(1)));
    let another = fork.fork().unwrap();
    fork.set_name(all[0], "named").unwrap();
    assert_eq!(fork.despawn(Entity::NULL), Ok(false));
    assert_eq!(fork.remove::<B>(all[0]), Ok(false));
    assert!(!fork.add(all[0], ()).unwrap());
    fork.set(all[0], ()).unwrap();
    assert_eq!(fork.despawn_all(), Ok(3));
    assert_eq!((fork.entity_count(), world.entity_count(), another.entity_count()), (0, 3, 3));
    assert_eq!(arena.stats().used, CHUNK);
    for world in [&world, &fork, &another] {
        world.check_invariants().unwrap();
    }
    drop(another);
    world.set(all[0], A(7)).unwrap();
    world.check_invariants().unwrap();
    fork.spawn_many(A(1), 0);
    assert!(fork.try_spawn(A(1)).is_err());
    world.despawn_all().unwrap();
    assert_eq!((Arc::strong_count(&owner), arena.stats().used), (1, 0));
    fork.spawn(A(1));
}

#[test]
fn creating_without_a_result_panics() {
    let owner = Arc::new(());
    let (_world, mut fork, _, arena) = forked(&owner);
    let count = Arc::strong_count(&owner);
    let before = look(&fork, &arena);
    let said = [
        panic_message(|| fork.spawn(set(9, &owner))),
        panic_message(|| fork.spawn_many(set(9, &owner), 1).len()),
        panic_message(|| fork.spawn_many(set(9, &owner), 20).len()),
        panic_message(|| fork.spawn_batch([set(9, &owner)]).len()),
    ];
    assert!(said.iter().all(|said| said.starts_with("A0056: ")));
    assert_eq!(look(&fork, &arena), before);
    assert_eq!(Arc::strong_count(&owner), count);
}

#[test]
fn references_are_replaced_in_all_chunks_or_in_none() {
    let owner = Arc::new(());
    // Three chunks are shared, and the arena has room for copies of two.
    let (mut world, all, arena) = limited(12, 5, &owner);
    for entity in &all {
        world.set(*entity, Link(all[0])).unwrap();
    }
    let fork = world.fork().unwrap();
    let before = world.state_hash();
    let target = all[1];
    let error = world.remap_references(|_| target).unwrap_err();
    assert!(matches!(error, EntityError::OutOfMemory(_)));
    assert_eq!(world.state_hash(), before);
    assert!(all.iter().all(|entity| world.get(*entity) == Ok(&Link(all[0]))));
    drop(fork);
    world.remap_references(|_| target).unwrap();
    assert!(all.iter().all(|entity| world.get(*entity) == Ok(&Link(target))));
    look(&world, &arena);
}

#[test]
fn a_slice_is_destroyed_up_to_where_memory_ends() {
    // As documented, this is the one call that may complete a part of its work.
    let owner = Arc::new(());
    let (mut world, all, arena) = limited(12, 4, &owner);
    let fork = world.fork().unwrap();
    let slice = [all[0], all[1], all[4], all[8]];
    let error = world.batch(&slice).despawn().unwrap_err();
    assert!(matches!(error, EntityError::OutOfMemory(_)));
    look(&world, &arena);
    let exist = slice.map(|entity| world.exists(entity));
    assert!(exist.is_sorted(), "those before it are destroyed, those after it are not: {exist:?}");
    assert_eq!(exist, [false, false, true, true]);
    assert!(slice.iter().all(|entity| fork.exists(*entity)));
    drop(fork);
    assert_eq!(world.batch(&slice).despawn(), Ok(2));
    assert_eq!(Arc::strong_count(&owner), 9);
    look(&world, &arena);
}

#[test]
fn both_chunks_of_a_move_may_be_shared() {
    let owner = Arc::new(());
    // The source and the target chunk are shared, and the arena has room for a copy of neither, or of one.
    for chunks in [2, 3] {
        let (mut world, all, arena) = limited(3, chunks, &owner);
        world.add(all[2], B(1)).unwrap();
        let target = world.archetype::<Set>();
        let fork = world.fork().unwrap();
        let before = (world.state_hash(), world.all_entities());
        let refused = [
            world.add(all[0], B(1)).map(|_| ()).map_err(|refused| refused.error),
            world.remove::<B>(all[2]).map(|_| ()),
            world.set_archetype(all[2], target),
            world.take::<B>(all[2]).map(|_| ()),
        ];
        for refused in refused {
            assert!(matches!(refused, Err(EntityError::OutOfMemory(_))), "{refused:?}");
        }
        // It is unspecified which chunks are still shared; their contents are unchanged.
        let after = (world.state_hash(), world.all_entities());
        assert_eq!(after, before);
        assert_eq!((fork.state_hash(), fork.entity_count()), (before.0, 3));
        look(&world, &arena);
        look(&fork, &arena);
        drop(fork);
        assert!(world.add(all[0], B(1)).unwrap());
        look(&world, &arena);
    }
}
