//! Moving entities without enough memory.

use std::sync::Arc;

use ancho_entities::{ChunkArena, EntityError, World, WorldSettings};

use crate::common::*;

const CHUNK: usize = 16 * 1024;

fn limited(chunks: usize, capacity: usize) -> (Checked, ChunkArena) {
    let arena = ChunkArena::with_limit(chunks * CHUNK);
    let settings = WorldSettings::new().chunk_capacity_limit(capacity).arena(arena.clone());
    (Checked(World::with_settings("Limited", settings)), arena)
}

fn seen(world: &World) -> (u64, Vec<(ancho_entities::Entity, Portrait)>) {
    world.check_invariants().unwrap();
    (world.state_hash(), portraits(world))
}

#[test]
fn whole_chunks_move_without_memory() {
    // Chunks keep the arena they are of
    let mut source = chunks_of(5);
    let count = populate(&mut source, 11).len();
    let (mut destination, arena) = limited(0, 5);
    let moved = destination.move_entities_from(&mut source).unwrap();
    assert_eq!((moved.len(), arena.stats().used), (count, 0));
    assert!(
        destination.try_spawn((A(1), Link::default())).is_ok(),
        "there is room in a chunk of the other arena"
    );
}

#[test]
fn nothing_moves_if_rows_find_no_room() {
    let owner = Arc::new(());
    let mut source = chunks_of(5);
    populate(&mut source, 10);
    source.spawn_many((A(1), Owned(owner.clone())), 20);
    for chunks in 0.. {
        let (mut destination, arena) = limited(chunks, 6);
        if chunks > 0 {
            destination.spawn((A(1), team("here")));
        }
        let (there, here, used) = (seen(&source), seen(&destination), arena.stats().used);
        let result = destination.move_entities_from(&mut source);
        if let Ok(moved) = result {
            assert!(chunks > 10 && moved.len() == there.1.len());
            assert_eq!((source.entity_count(), Arc::strong_count(&owner)), (0, 21));
            break;
        }
        assert!(matches!(result, Err(EntityError::OutOfMemory(_))));
        assert_eq!((seen(&source), seen(&destination)), (there, here));
        assert_eq!(arena.stats().used, used);
        assert_eq!(destination.shared_values::<Team>().count(), 1 + usize::from(chunks > 0));
        assert_eq!(Arc::strong_count(&owner), 21);
    }
    assert_eq!(Arc::strong_count(&owner), 1);
}

#[test]
fn nothing_moves_if_memory_shared_with_forks_cannot_be_copied() {
    let (mut source, arena) = limited(10, 4);
    source.spawn_many((A(1), Text("one".into())), 32);
    let mut fork = source.fork().unwrap();
    let mut destination = chunks_of(4);
    let (there, here) = (seen(&source), seen(&destination));
    let refused = destination.move_entities_from(&mut source).unwrap_err();
    assert!(matches!(refused, EntityError::OutOfMemory(_)));
    assert_eq!((seen(&source), seen(&destination)), (there.clone(), here));
    assert_eq!(seen(&fork), there);
    // Without another owner, nothing has to be copied.
    fork.despawn_all().unwrap();
    destination.move_entities_from(&mut source).unwrap();
    assert_eq!((destination.entity_count(), arena.stats().used), (32, 8 * CHUNK));
}

#[test]
fn nothing_is_copied_if_there_is_no_room_for_all() {
    let owner = Arc::new(());
    let mut source = chunks_of(5);
    populate(&mut source, 10);
    source.spawn_many((A(1), Owned(owner.clone())), 20);
    for capacity in [5, 6] {
        for chunks in 0.. {
            let (mut destination, arena) = limited(chunks, capacity);
            let there = seen(&source);
            let result = destination.copy_entities_from(&source);
            if let Ok(copied) = result {
                assert!(chunks > 10 && copied.len() == there.1.len());
                break;
            }
            assert!(matches!(result, Err(EntityError::OutOfMemory(_))));
            assert_eq!((seen(&source), destination.entity_count()), (there, 0));
            assert_eq!((arena.stats().used, Arc::strong_count(&owner)), (0, 21));
            destination.check_invariants().unwrap();
        }
    }
}
