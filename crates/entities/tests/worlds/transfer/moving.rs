//! Moving all entities of a world to another.

use std::sync::Arc;

use ancho_entities::{
    Buffer, Changed, ChunkArena, Component, Entity, EntityCommandBuffer, EntityError, EntityMap,
    LinkedEntityGroup, OrderChanged, PerChunk, QueryDescriptor, World, WorldSettings,
};

use crate::common::*;

/// Returns the expected entities in the other world.
fn expected(before: &[(Entity, Portrait)], moved: &EntityMap) -> Vec<(Entity, Portrait)> {
    let new = before.iter().map(|(old, portrait)| {
        (moved.get(*old).expect("it has moved"), portrait.clone().in_other_world(moved))
    });
    new.collect()
}

fn sorted(mut all: Vec<(Entity, Portrait)>) -> Vec<(Entity, Portrait)> {
    all.sort_unstable_by_key(|(entity, _)| *entity);
    all
}

#[test]
fn all_entities_move_with_their_components() {
    for limit in [1, 3, 1000] {
        let (mut source, mut destination) = (chunks_of(limit), chunks_of(limit));
        populate(&mut destination, 3);
        populate(&mut source, 20);
        let (there, here) = (portraits(&source), portraits(&destination));
        let moved = destination.move_entities_from(&mut source).unwrap();
        assert_eq!((source.entity_count(), moved.len()), (0, there.len()));
        let mut all = expected(&there, &moved);
        all.extend(here);
        assert_eq!(sorted(portraits(&destination)), sorted(all));
    }
}

#[test]
fn worlds_can_have_different_chunk_capacities() {
    for (from, to) in [(1, 3), (3, 1), (7, 1000), (1000, 7)] {
        let (mut source, mut destination) = (chunks_of(from), chunks_of(to));
        populate(&mut destination, 3);
        populate(&mut source, 20);
        let (there, here) = (portraits(&source), portraits(&destination));
        let moved = destination.move_entities_from(&mut source).unwrap();
        assert_eq!((source.entity_count(), moved.len()), (0, there.len()));
        let mut all = expected(&there, &moved);
        all.extend(here);
        assert_eq!(sorted(portraits(&destination)), sorted(all));
    }
    let (mut source, mut destination) = (chunk_bytes(4096), chunk_bytes(65_536));
    populate(&mut source, 300);
    let there = portraits(&source);
    let moved = destination.move_entities_from(&mut source).unwrap();
    assert_eq!(sorted(portraits(&destination)), sorted(expected(&there, &moved)));
}

#[test]
fn chunks_of_another_size_are_not_taken_even_if_they_have_room_for_as_many() {
    #[derive(Component, Clone, Copy)]
    #[component(name = "worlds::Wide")]
    struct Wide([u64; 500]);
    for (from, to) in [(4096, 65_536), (65_536, 4096)] {
        let [mut source, mut destination] = [from, to].map(|bytes| {
            let settings = WorldSettings::new().chunk_size(bytes).chunk_capacity_limit(1);
            Checked(World::with_settings("Simulation", settings))
        });
        source.spawn_batch((0..10).map(A));
        destination.move_entities_from(&mut source).unwrap();
        // Freed chunk memory is reused.
        destination.batch(QueryDescriptor::of::<&A, ()>()).add(Wide([7; 500])).unwrap();
        let wide = destination.query::<(&A, &Wide)>();
        assert_eq!(wide.iter().filter(|(_, wide)| wide.0 == [7; 500]).count(), 10);
    }
}

#[test]
fn components_stay_where_they_are_in_memory() {
    // Chunks adopted whole
    let (mut source, mut destination) = (world(), world());
    let all: Vec<_> = source.spawn_batch((0..5000).map(|n| (A(n), Text(n.to_string())))).collect();
    let address = |world: &World, entity| std::ptr::from_ref(world.get::<Text>(entity).unwrap());
    let before: Vec<_> = all.iter().map(|&entity| address(&source, entity).addr()).collect();
    let chunks = source.chunks().count();
    let moved = destination.move_entities_from(&mut source).unwrap();
    let after = all.iter().map(|&old| address(&destination, moved.get(old).unwrap()).addr());
    assert!(after.eq(before));
    assert_eq!(destination.chunks().count(), chunks);
}

#[test]
fn chunks_are_not_merged() {
    let (mut source, mut destination) = (chunks_of(10), chunks_of(10));
    destination.spawn_many(A(1), 4);
    source.spawn_many(A(2), 3);
    destination.move_entities_from(&mut source).unwrap();
    let lengths: Vec<_> = destination.chunks().map(|chunk| chunk.len()).collect();
    assert_eq!(lengths, [4, 3]);
    // Both have room, and the last is filled first.
    destination.spawn_many(A(3), 9);
    let lengths: Vec<_> = destination.chunks().map(|chunk| chunk.len()).collect();
    assert_eq!(lengths, [6, 10]);
}

#[test]
fn references_to_entities_that_do_not_move_become_null() {
    let (mut source, mut destination) = (world(), world());
    destination.spawn_many((), 2);
    let there = source.spawn(());
    let gone = source.spawn(());
    let both = source.spawn((
        Link(gone),
        [Friend(there), Friend(gone), Friend(Entity::NULL)].into_iter().collect::<Buffer<_>>(),
    ));
    source.despawn(gone).unwrap();
    let moved = destination.move_entities_from(&mut source).unwrap();
    let (both, there) = (moved.get(both).unwrap(), moved.get(there).unwrap());
    assert_eq!(destination.get(both), Ok(&Link(Entity::NULL)));
    let friends = [Friend(there), Friend(Entity::NULL), Friend(Entity::NULL)];
    assert_eq!(destination.buffer(both), Ok(&friends[..]));
    assert_eq!(moved.get(gone), None);
    assert_eq!(moved.get(Entity::NULL), None);
}

#[test]
fn groups_stay_together() {
    let (mut source, mut destination) = (world(), world());
    destination.spawn_many((), 7);
    let (root, member) = (source.spawn(A(1)), source.spawn(A(2)));
    let group: Buffer<_> = [root, member].into_iter().map(LinkedEntityGroup).collect();
    source.add(root, group).unwrap();
    let moved = destination.move_entities_from(&mut source).unwrap();
    assert_eq!(destination.entity_count(), 9);
    destination.despawn(moved.get(root).unwrap()).unwrap();
    assert_eq!(destination.entity_count(), 7);
}

#[test]
fn shared_values_belong_to_the_other_world() {
    // Shared values re-registered
    let (mut source, mut destination) = (world(), world());
    let here = destination.spawn((A(1), team("red")));
    let there: Vec<_> =
        ["blue", "red", "green"].map(|name| source.spawn((A(2), team(name)))).into();
    let moved = destination.move_entities_from(&mut source).unwrap();
    let at = |at: usize| moved.get(there[at]).unwrap();
    assert_eq!(destination.shared::<Team>(at(0)).unwrap().0, "blue");
    // The existing equal value is used.
    let address = |entity| std::ptr::from_ref(destination.shared::<Team>(entity).unwrap());
    assert_eq!(address(here), address(at(1)));
    let mut names: Vec<_> =
        destination.shared_values::<Team>().map(|team| team.0.clone()).collect();
    names.sort_unstable();
    assert_eq!(names, ["", "blue", "green", "red"]);
    let left: Vec<_> = source.shared_values::<Team>().map(|team| team.0.clone()).collect();
    assert_eq!(left, [""]);
}

#[test]
fn chunk_components_move_with_their_chunks() {
    // Chunk components
    let (mut source, mut destination) = (chunks_of(2), chunks_of(2));
    let all: Vec<_> = source.spawn_many((A(0), PerChunk::<Focus>::new()), 4).collect();
    source.set_chunk_component(all[0], Focus(all[3])).unwrap();
    destination.spawn_many((), 5);
    let moved = destination.move_entities_from(&mut source).unwrap();
    let at = |at: usize| moved.get(all[at]).unwrap();
    assert_eq!(destination.chunk_component::<Focus>(at(1)), Ok(&Focus(at(3))));
    assert_eq!(destination.chunk_component::<Focus>(at(2)), Ok(&Focus(Entity::NULL)));
}

#[test]
fn chunk_components_of_chunks_that_do_not_move_are_dropped() {
    let (mut source, mut destination) = (chunks_of(2), chunks_of(3));
    let all: Vec<_> = source.spawn_many((A(0), PerChunk::<Focus>::new()), 4).collect();
    source.set_chunk_component(all[0], Focus(all[3])).unwrap();
    let moved = destination.move_entities_from(&mut source).unwrap();
    let first = moved.get(all[0]).unwrap();
    assert_eq!(destination.chunk_component::<Focus>(first), Ok(&Focus(Entity::NULL)));
}

#[test]
fn arrived_entities_count_as_changed_once() {
    // "changed" exactly once
    let (mut source, mut destination) = (world(), world());
    for _ in 0..50 {
        source.advance_version();
    }
    source.spawn_many((A(1), Lamp(1)), 10);
    destination.spawn_many(A(2), 10);
    let before = destination.version();
    destination.advance_version();
    destination.move_entities_from(&mut source).unwrap();
    let changed =
        |world: &World, since| world.query_filtered::<&A, Changed<A>>().since(since).count();
    let rows =
        |world: &World, since| world.query_filtered::<&Lamp, Changed<Lamp>>().since(since).count();
    let order =
        |world: &World, since| world.query_filtered::<&A, OrderChanged>().since(since).count();
    assert_eq!(changed(&destination, before), 10);
    assert_eq!((rows(&destination, before), order(&destination, before)), (10, 10));
    let now = destination.version();
    destination.advance_version();
    assert_eq!((changed(&destination, now), rows(&destination, now)), (0, 0));
    assert_eq!(order(&destination, now), 0);
}

#[test]
fn both_worlds_count_moved_entities_in_their_order_versions() {
    // Both order versions bump
    let (mut source, mut destination) = (chunks_of(4), chunks_of(4));
    source.spawn_many((A(1), team("red")), 10);
    destination.spawn_many((A(1), team("red")), 10);
    let count = |world: &World| {
        let entities = world;
        let red = entities.shared_order_version(&Team("red".into()));
        (entities.component_order_version::<A>(), red)
    };
    let (there, here) = (count(&source), count(&destination));
    destination.move_entities_from(&mut source).unwrap();
    assert_eq!(count(&source).0, there.0 + 3);
    assert_eq!(count(&destination), (here.0 + 3, here.1 + 3));
    let there = count(&source);
    source.spawn((A(1), team("red")));
    assert!(count(&source).1 > there.1, "what comes again does not count backwards");
}

#[test]
fn ids_depend_on_the_calls_alone() {
    let run = || {
        let (mut source, mut destination) = (chunks_of(3), chunks_of(3));
        populate(&mut destination, 4);
        let all = populate(&mut source, 9);
        let some = destination.all_entities()[3..9].to_vec();
        destination.batch(&some).despawn().unwrap();
        source.batch(&all[10..15]).despawn().unwrap();
        destination.move_entities_from(&mut source).unwrap();
        let again = populate(&mut source, 2);
        (destination.state_hash(), source.state_hash(), again)
    };
    assert_eq!(run(), run());
}

#[test]
fn new_ids_are_in_the_order_of_chunks() {
    let (mut source, mut destination) = (chunks_of(3), chunks_of(3));
    populate(&mut source, 5);
    let order = source.all_entities();
    let moved = destination.move_entities_from(&mut source).unwrap();
    let new: Vec<_> = order.iter().map(|&old| moved.get(old).unwrap()).collect();
    let expected: Vec<_> = (0..order.len() as u32).map(|at| Entity::from_parts(at, 1)).collect();
    assert_eq!(new, expected);
    assert_eq!(destination.all_entities(), new);
}

#[test]
fn the_source_is_empty_and_usable() {
    let (mut source, mut destination) = (world(), world());
    let old = populate(&mut source, 5);
    let count = source.entity_count();
    destination.move_entities_from(&mut source).unwrap();
    assert!(old.iter().all(|&entity| !source.exists(entity)));
    assert!(source.query::<&A>().is_empty());
    let first = source.spawn(A(1));
    assert_eq!(first.index(), 0);
    assert!(first.version() > 1, "an old name is not that of a new entity");
    assert_eq!(source.query::<&A>().iter().copied().collect::<Vec<_>>(), [A(1)]);
    // There and back again.
    source.move_entities_from(&mut destination).unwrap();
    assert_eq!((source.entity_count(), destination.entity_count()), (count + 1, 0));
}

#[test]
fn a_world_without_entities_moves_nothing() {
    let (mut source, mut destination) = (world(), world());
    destination.spawn_many(A(1), 5);
    let before = destination.state_hash();
    let moved = destination.move_entities_from(&mut source).unwrap();
    assert!(moved.is_empty() && moved.iter().next().is_none());
    assert_eq!(destination.state_hash(), before);
}

#[test]
fn the_source_may_be_dropped_with_its_arena() {
    let owner = Arc::new(());
    let mut destination = world();
    let arena = ChunkArena::with_limit(64 << 20);
    {
        let settings = WorldSettings::new().arena(arena.clone());
        let mut source = World::with_settings("Source", settings);
        source.spawn_many((A(7), Owned(owner.clone())), 50_000);
        populate(&mut source, 40);
        drop(arena);
        destination.move_entities_from(&mut source).unwrap();
    }
    assert_eq!(Arc::strong_count(&owner), 50_001);
    let sum: u64 = destination.query::<(&A, &Owned)>().iter().map(|(a, _)| u64::from(a.0)).sum();
    assert_eq!(sum, 350_000);
    // Chunks of another arena are written, emptied and freed.
    destination.query_mut::<&mut A>().for_each(|a| a.0 += 1);
    destination.batch(QueryDescriptor::of::<&Owned, ()>()).despawn().unwrap();
    assert_eq!(Arc::strong_count(&owner), 1);
}

#[test]
fn each_value_is_dropped_once() {
    for (from, to) in [(5, 5), (5, 3), (2, 9)] {
        let owner = Arc::new(());
        let (mut source, mut destination) = (chunks_of(from), chunks_of(to));
        source.spawn_many((A(1), Owned(owner.clone())), 23);
        destination.spawn_many((A(1), Owned(owner.clone())), 4);
        destination.move_entities_from(&mut source).unwrap();
        assert_eq!(Arc::strong_count(&owner), 28);
        drop(source);
        assert_eq!(Arc::strong_count(&owner), 28);
        drop(destination);
        assert_eq!(Arc::strong_count(&owner), 1);
    }
}

#[test]
fn forks_of_both_worlds_stay_as_they_are() {
    // Copy on write
    for (from, to) in [(4, 4), (4, 7)] {
        let (mut source, mut destination) = (chunks_of(from), chunks_of(to));
        populate(&mut source, 10);
        populate(&mut destination, 10);
        let mut forks = [source.fork().unwrap(), destination.fork().unwrap()];
        let before = forks.each_ref().map(|fork| (portraits(fork), fork.state_hash()));
        let there = portraits(&source);
        let moved = destination.move_entities_from(&mut source).unwrap();
        for (fork, before) in forks.iter().zip(before) {
            fork.check_invariants().unwrap();
            assert_eq!((portraits(fork), fork.state_hash()), before);
        }
        for (old, portrait) in there {
            let new = moved.get(old).unwrap();
            assert_eq!(Portrait::of(&destination, new), portrait.in_other_world(&moved));
        }
        // A world cannot be moved into itself, but its fork can.
        let [fork, _] = &mut forks;
        source.move_entities_from(fork).unwrap();
        assert_eq!((source.entity_count(), fork.entity_count()), (moved.len(), 0));
    }
}

#[test]
fn components_that_cannot_be_duplicated_move() {
    let (mut source, mut destination) = (chunks_of(4), chunks_of(3));
    let all: Vec<_> = source.spawn_batch((0..10).map(Ticket)).collect();
    let moved = destination.move_entities_from(&mut source).unwrap();
    for (number, old) in (0..).zip(all) {
        assert_eq!(destination.get(moved.get(old).unwrap()), Ok(&Ticket(number)));
    }
}

#[test]
fn an_entity_that_is_too_large_for_the_other_world_is_refused() {
    let (mut source, mut destination) = (chunk_bytes(65_536), chunk_bytes(4096));
    #[derive(Component, Clone, Copy)]
    #[component(name = "worlds::Large")]
    struct Large([u64; 1000]);
    source.spawn_many(A(1), 3);
    source.spawn(Large([1; 1000]));
    let before = (source.state_hash(), destination.state_hash());
    let refused = destination.move_entities_from(&mut source).unwrap_err();
    assert!(matches!(refused, EntityError::DoesNotFit { .. }), "{refused}");
    assert_eq!((source.state_hash(), destination.state_hash()), before);
}

#[test]
fn commands_of_the_source_with_reserved_ids_are_refused() {
    // Command buffers.
    let (mut source, mut destination) = (world(), world());
    source.spawn_many(A(1), 3);
    let mut buffer = EntityCommandBuffer::new();
    let promised = source.commands(&mut buffer).unwrap().spawn(A(2));
    let moved = destination.move_entities_from(&mut source).unwrap();
    assert_eq!((moved.len(), moved.get(promised)), (3, None));
    assert!(source.play(&mut buffer).is_err());
    source.spawn_many(A(3), 5);
}

#[test]
fn names_move_with_their_entities() {
    let (mut source, mut destination) = (world(), world());
    destination.spawn_many((), 3);
    let (orc, elf) = (source.spawn(()), source.spawn(()));
    source.set_name(orc, "Grishnákh").unwrap();
    let moved = destination.move_entities_from(&mut source).unwrap();
    let name = |old| destination.entity_name(moved.get(old).unwrap());
    assert_eq!((name(orc), name(elf)), (Some("Grishnákh"), None));
    let next = source.spawn(());
    assert_eq!(source.entity_name(next), None);
}

#[test]
fn only_transfers_of_entities_that_may_refer_to_others_are_counted() {
    let (mut here, mut there) = (chunks_of(3), chunks_of(3));
    let counts =
        |here: &World, there: &World| (here.world_transfer_count(), there.world_transfer_count());
    let plain = there.spawn(A(1));
    let linked = there.spawn((A(1), Link(plain)));
    // No entities, or none with references.
    there.batch(&[]).move_to(&mut here).unwrap();
    there.batch(&[]).copy_to(&mut here).unwrap();
    there.batch(&[plain]).copy_to(&mut here).unwrap();
    there.batch(&[plain]).move_to(&mut here).unwrap();
    assert_eq!(counts(&here, &there), (0, 0));
    // A copy leaves the source unchanged.
    there.batch(&[linked]).copy_to(&mut here).unwrap();
    assert_eq!(counts(&here, &there), (1, 0));
    here.move_entities_from(&mut there).unwrap();
    assert_eq!(counts(&here, &there), (2, 1));
    here.move_entities_from(&mut there).unwrap();
    assert_eq!(counts(&here, &there), (2, 1));
}
