//! Worlds whose arena has no free chunk.

use std::sync::Arc;

use ancho_entities::{
    ChunkArena, ComponentType, Entity, EntityError, RuntimeType, World, WorldSettings,
};

use crate::common::{A, B, Link, Owned, Tag, Text, panic_message};
use crate::fixtures::limited_memory::{CHUNK, Set, limited, look, refused, set};

#[test]
fn creating_is_refused() {
    let owner = Arc::new(());
    let (mut world, _, arena) = limited(4, 1, &owner);
    let archetype = world.archetype::<(A, Text)>();
    let count = Arc::strong_count(&owner);
    refused("try_spawn", &mut world, &arena, |world| {
        let refused = world.try_spawn(set(9, &owner)).unwrap_err();
        assert_eq!((&refused.value.0, &refused.value.1), (&A(9), &Text("9".into())));
        assert_eq!(Arc::strong_count(&refused.value.3.0), count + 1);
        Err::<(), _>(refused.error)
    });
    refused("try_spawn of another archetype", &mut world, &arena, |world| {
        world.try_spawn((A(1), B(2))).map_err(|refused| refused.error)
    });
    refused("try_spawn of nothing", &mut world, &arena, |world| {
        world.try_spawn(()).map_err(|refused| refused.error)
    });
    refused("create", &mut world, &arena, |world| world.create(archetype));
    let source = world.all_entities()[1];
    refused("instantiate", &mut world, &arena, |world| world.instantiate(source));
    for many in [1, 4, 5, 1000] {
        refused("instantiate_many", &mut world, &arena, |world| {
            world.instantiate_many(source, many).map(|new| new.len())
        });
        refused("create_many", &mut world, &arena, |world| {
            world.create_many(archetype, many).map(|new| new.len())
        });
        refused("spawn_columns", &mut world, &arena, |world| {
            let columns = (vec![A(7); many], vec![Owned(owner.clone()); many]);
            let refused = world.spawn_columns(columns).unwrap_err();
            assert_eq!((refused.value.0.len(), refused.value.1.len()), (many, many));
            Err::<(), _>(refused.error)
        });
    }
    assert_eq!(Arc::strong_count(&owner), count);
}

#[test]
fn creating_without_a_result_panics() {
    let owner = Arc::new(());
    let (mut world, _, arena) = limited(4, 1, &owner);
    let count = Arc::strong_count(&owner);
    let before = look(&world, &arena);
    let expected = "A0056: cannot allocate a chunk of 16384 bytes: the arena is limited to 16384 bytes in use; despawn \
                    entities, or give the world an arena with a higher limit";
    assert_eq!(panic_message(|| world.spawn(set(9, &owner))), expected);
    assert_eq!(look(&world, &arena), before);
    for many in [1, 4, 5, 1000] {
        let said = panic_message(|| world.spawn_many(set(9, &owner), many).len());
        assert_eq!(said, expected);
        assert_eq!(look(&world, &arena), before);
    }
    let said = panic_message(|| world.spawn_batch((0..9).map(|n| set(n, &owner))).len());
    assert_eq!(said, expected);
    assert_eq!(look(&world, &arena), before);
    assert_eq!(Arc::strong_count(&owner), count);
}

#[test]
fn room_for_some_is_not_enough() {
    let owner = Arc::new(());
    // Two fit into the chunk, and four more into another.
    let (mut world, _, arena) = limited(2, 2, &owner);
    let archetype = world.archetype::<(A, Text)>();
    let count = Arc::strong_count(&owner);
    for many in [7, 8, 100] {
        refused("spawn_columns", &mut world, &arena, |world| {
            let texts = vec![Text("x".into()); many];
            let columns = (vec![A(7); many], texts, vec![Link(Entity::NULL); many]);
            let columns = (columns.0, columns.1, columns.2, vec![Owned(owner.clone()); many]);
            let new = world.spawn_columns(columns).map(|new| new.len());
            new.map_err(|refused| refused.error)
        });
        let before = look(&world, &arena);
        let said = panic_message(|| world.spawn_many(set(9, &owner), many).len());
        assert!(said.starts_with("A0056: "));
        assert_eq!(look(&world, &arena), before);
    }
    refused("create_many", &mut world, &arena, |world| {
        world.create_many(archetype, 5).map(|new| new.len())
    });
    assert_eq!(Arc::strong_count(&owner), count);
    assert_eq!(world.spawn_many(set(9, &owner), 6).len(), 6);
    assert_eq!(look(&world, &arena).entities.len(), 8);
}

#[test]
fn a_batch_keeps_the_entities_that_fit_or_none() {
    let owner = Arc::new(());
    let (mut world, _, arena) = limited(2, 2, &owner);
    let said = panic_message(|| world.spawn_batch((0..9).map(|n| set(n, &owner))).len());
    assert!(said.starts_with("A0056: "));
    let count = look(&world, &arena).entities.len();
    assert!(count == 8 || count == 2, "{count}");
    assert_eq!(Arc::strong_count(&owner), 1 + count);
    drop(world);
    assert_eq!((Arc::strong_count(&owner), arena.stats().used), (1, 0));
}

#[test]
fn moving_is_refused() {
    let owner = Arc::new(());
    let (mut world, all, arena) = limited(4, 1, &owner);
    let fuel = ComponentType::register(RuntimeType::new("game::memory", 4, 4)).unwrap();
    let [b, a] = [ComponentType::of::<B>(), ComponentType::of::<A>()];
    let archetype = world.archetype::<(A, Tag)>();
    let count = Arc::strong_count(&owner);
    for entity in [all[0], all[3]] {
        refused("add", &mut world, &arena, |world| {
            let refused = world.add(entity, (B(1), Text("mine".into()))).unwrap_err();
            assert_eq!(refused.value, (B(1), Text("mine".into())));
            Err::<(), _>(refused.error)
        });
        refused("add of a tag", &mut world, &arena, |world| {
            world.add(entity, Tag).map_err(|refused| refused.error)
        });
        refused("add_types", &mut world, &arena, |world| world.add_types(entity, &[a, b]));
        refused("add_bytes", &mut world, &arena, |world| world.add_bytes(entity, fuel, &[1; 4]));
        refused("remove", &mut world, &arena, |world| world.remove::<(A, B)>(entity));
        refused("remove of all", &mut world, &arena, |world| world.remove::<Set>(entity));
        refused("remove_types", &mut world, &arena, |world| world.remove_types(entity, &[a]));
        refused("take", &mut world, &arena, |world| world.take::<Owned>(entity).map(drop));
        refused("set_archetype", &mut world, &arena, |world| {
            world.set_archetype(entity, archetype)
        });
    }
    assert_eq!(Arc::strong_count(&owner), count);
}

#[test]
fn duplicating_is_refused() {
    let owner = Arc::new(());
    let (mut world, _, arena) = limited(12, 5, &owner);
    let count = Arc::strong_count(&owner);
    refused("duplicate", &mut world, &arena, |world| world.duplicate().map(drop));
    assert_eq!(Arc::strong_count(&owner), count);
}

#[test]
fn operations_that_need_no_chunk_succeed() {
    let owner = Arc::new(());
    let (mut world, all, arena) = limited(4, 1, &owner);
    world.set(all[0], A(7)).unwrap();
    world.get_mut::<Text>(all[0]).unwrap().0.push('!');
    assert!(!world.add(all[1], A(8)).unwrap());
    world.swap_components(all[0], all[1]).unwrap();
    world.remap_references(|entity| entity).unwrap();
    world.set_name(all[0], "named").unwrap();
    world.spawn_many(set(1, &owner), 0);
    assert_eq!(world.despawn(all[3]), Ok(true));
    let again = world.spawn(set(3, &owner));
    assert_eq!(again.index(), all[3].index());
    world.batch(&[all[0], all[1], all[2], again]).despawn().unwrap();
    assert_eq!(arena.stats().used, 0);
    // Now another archetype can use the room.
    let other = world.spawn((A(1), B(2)));
    world.set(other, B(3)).unwrap();
    world.despawn_all().unwrap();
    world.check_invariants().unwrap();
}

#[test]
fn the_only_entity_of_a_chunk_cannot_move_to_a_new_chunk() {
    // The chunk that the entity leaves is freed only after the move.
    let owner = Arc::new(());
    let (mut world, all, arena) = limited(1, 1, &owner);
    refused("add", &mut world, &arena, |world| {
        world.add(all[0], B(1)).map_err(|refused| refused.error)
    });
}

#[test]
fn worlds_of_one_arena_share_its_limit() {
    let arena = ChunkArena::with_limit(2 * CHUNK);
    let settings = WorldSettings::new().arena(arena.clone());
    let mut one = World::with_settings("One", settings.clone());
    let mut other = World::with_settings("Other", settings.clone());
    one.spawn(A(1));
    other.spawn(A(1));
    refused("the third", &mut one, &arena, |world| {
        world.try_spawn(B(1)).map_err(|refused| refused.error)
    });
    drop(other);
    one.spawn(B(1));
    one.check_invariants().unwrap();
    let mut none = World::with_settings("None", settings.arena(ChunkArena::with_limit(0)));
    let refused = none.try_spawn(A(1)).unwrap_err();
    assert!(matches!(refused.error, EntityError::OutOfMemory(_)));
    assert_eq!(none.spawn_many(A(1), 0).len(), 0);
    none.check_invariants().unwrap();
}
