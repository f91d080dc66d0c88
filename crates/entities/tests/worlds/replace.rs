//! Replacing the contents of a world by those of another.

use ancho_entities::{
    Changed, ChunkArena, EntityError, EntityTracker, Managed, OrderChanged, Shared, World,
    WorldSettings,
};

use crate::common::*;

const CHUNK: usize = 16 * 1024;

/// Creates two worlds with at most `limit` entities in a chunk, and their arena.
fn two(limit: usize) -> (Checked, Checked, ChunkArena) {
    let arena = ChunkArena::new();
    let settings = WorldSettings::new().chunk_capacity_limit(limit).arena(arena.clone());
    let world = |name: &str| Checked(World::with_settings(name, settings.clone()));
    (world("Source"), world("Destination"), arena)
}

#[test]
fn the_world_equals_the_other_with_the_same_ids() {
    let (mut source, mut destination, _) = two(4);
    populate(&mut destination, 10);
    populate(&mut source, 20);
    destination.copy_and_replace_from(&mut source).unwrap();
    assert_eq!(destination.state_hash(), source.state_hash());
    assert_eq!(portraits(&destination), portraits(&source));
    // Later operations have the same results.
    assert_eq!(populate(&mut destination, 5), populate(&mut source, 5));
    assert_eq!(destination.state_hash(), source.state_hash());
}

#[test]
fn writes_of_one_world_are_not_seen_by_the_other() {
    let (mut source, mut destination, _) = two(4);
    let all: Vec<_> = source.spawn_many((A(1), Text("old".into())), 10).collect();
    destination.copy_and_replace_from(&mut source).unwrap();
    source.get_mut::<Text>(all[0]).unwrap().0 = "new".into();
    destination.despawn(all[5]).unwrap();
    assert_eq!(destination.get::<Text>(all[0]).unwrap().0, "old");
    assert_eq!(source.get::<Text>(all[5]).unwrap().0, "old");
    drop(source);
    assert_eq!(destination.query::<&Text>().iter().filter(|text| text.0 == "old").count(), 9);
}

#[test]
fn only_different_chunks_are_copied() {
    // Only chunks whose versions differ are touched.
    let (mut source, mut destination, arena) = two(10);
    let all: Vec<_> = source.spawn_batch((0..1000).map(A)).collect();
    let used = || arena.stats().used / CHUNK;
    assert_eq!(used(), 100);
    destination.copy_and_replace_from(&mut source).unwrap();
    assert_eq!(used(), 100, "all memory is shared");
    for round in 1..5 {
        // Three chunks are written, each of which is then copied, and no other.
        for at in [5, 333, 999] {
            source.get_mut::<A>(all[at]).unwrap().0 += round;
        }
        assert_eq!(used(), 103);
        destination.copy_and_replace_from(&mut source).unwrap();
        assert_eq!(used(), 100, "the old ones are given back");
        assert_eq!(destination.state_hash(), source.state_hash());
    }
}

#[test]
fn only_different_chunks_count_as_changed() {
    let (mut source, mut destination, _) = two(10);
    let all: Vec<_> = source.spawn_batch((0..100).map(|n| (A(n), Lamp(1), team("red")))).collect();
    // The clocks of the worlds differ.
    for _ in 0..20 {
        source.advance_version();
    }
    let replace = |source: &mut World, destination: &mut World| {
        let since = destination.version();
        destination.advance_version();
        destination.copy_and_replace_from(source).unwrap();
        let changed = destination.query_filtered::<&A, Changed<A>>().since(since).count();
        (changed, destination.query_filtered::<&A, OrderChanged>().since(since).count())
    };
    assert_eq!(replace(&mut source, &mut destination), (100, 100));
    assert_eq!(replace(&mut source, &mut destination), (0, 0));
    source.get_mut::<A>(all[15]).unwrap().0 = 7;
    assert_eq!(replace(&mut source, &mut destination), (10, 10));
    source.set_component_enabled::<Lamp>(all[25], false).unwrap();
    assert_eq!(replace(&mut source, &mut destination), (10, 10));
    // One chunk gets another shared value, and keeps its memory.
    source.batch(&all[30..40]).set_shared(Team("blue".into())).unwrap();
    assert_eq!(replace(&mut source, &mut destination), (10, 10));
    // Or a tag.
    for &entity in &all[40..50] {
        source.add(entity, Tag).unwrap();
    }
    assert_eq!(replace(&mut source, &mut destination), (10, 10));
    // Changes in the destination are reverted.
    let since = destination.version();
    destination.advance_version();
    destination.get_mut::<A>(all[99]).unwrap().0 = 0;
    destination.copy_and_replace_from(&mut source).unwrap();
    assert_eq!(destination.get::<A>(all[99]), Ok(&A(99)));
    assert_eq!(destination.query_filtered::<&A, Changed<A>>().since(since).count(), 10);
}

#[test]
fn order_versions_continue_to_count() {
    let (mut source, mut destination, _) = two(10);
    source.spawn_many(A(1), 30);
    destination.spawn_many(A(2), 40);
    let count = |world: &World| world.component_order_version::<A>();
    let mut seen = vec![count(&destination)];
    destination.copy_and_replace_from(&mut source).unwrap();
    seen.push(count(&destination));
    destination.copy_and_replace_from(&mut source).unwrap();
    assert_eq!(seen.last(), Some(&count(&destination)), "nothing came or went");
    source.despawn_all().unwrap();
    destination.copy_and_replace_from(&mut source).unwrap();
    seen.push(count(&destination));
    assert!(seen.is_sorted_by(|one, other| one < other), "{seen:?}");
}

#[test]
fn the_order_versions_of_shared_values_never_decrease() {
    let (mut source, mut destination, _) = two(10);
    let teams = ["red", "blue", "green"].map(|team| Team(team.into()));
    let of = |team: usize| Shared::new(teams[team].clone());
    let counts = |world: &World| -> Vec<u32> {
        teams.iter().map(|team| world.shared_order_version(team)).collect()
    };
    for round in 0..20 {
        (0..round).for_each(|_| _ = destination.spawn((A(1), of(0))));
        destination.spawn_many((A(1), of(2)), 30);
    }
    let mut before = counts(&destination);
    // The source has never used the type, or has other values, or the same.
    for round in 0..4 {
        destination.copy_and_replace_from(&mut source).unwrap();
        let after = counts(&destination);
        assert!(before.iter().zip(&after).all(|(before, after)| before <= after), "{round}");
        destination.copy_and_replace_from(&mut source).unwrap();
        assert_eq!(counts(&destination), after, "nothing came or went");
        let entity = destination.spawn((A(1), of(0)));
        before = counts(&destination);
        assert!(before[0] > after[0]);
        if round > 1 {
            destination.despawn(entity).unwrap();
        }
        source.spawn_many((A(1), of(round % 2)), 15);
    }
}

#[test]
fn queries_and_archetypes_equal_those_of_the_other() {
    let (mut source, mut destination, _) = two(10);
    destination.spawn_many((Tag, A(1)), 5);
    destination.spawn_many((Text::default(), A(1)), 5);
    assert_eq!(destination.query::<&A>().count(), 10);
    let foreign = destination.archetype::<(Tag, A)>();
    let entity = source.spawn(A(3));
    let known = source.archetype::<A>();
    destination.copy_and_replace_from(&mut source).unwrap();
    assert_eq!(destination.query::<&A>().iter().copied().collect::<Vec<_>>(), [A(3)]);
    let entities = &destination;
    assert_eq!(entities.entity_archetype(entity), Ok(known));
    assert_eq!(entities.component_types(foreign), Err(EntityError::ForeignArchetype));
    destination.add(entity, (Tag, Text("new".into()))).unwrap();
    destination.remove::<A>(entity).unwrap();
    assert_eq!(destination.query::<&A>().count(), 0);
}

#[test]
fn trackers_report_the_replaced_entities() {
    let (mut source, mut destination, _) = two(10);
    let old: Vec<_> = destination.spawn_many((), 3).collect();
    let mut tracker = EntityTracker::new();
    destination.entity_changes(&mut tracker);
    let new: Vec<_> = source.spawn_many((), 5).collect();
    source.despawn(new[0]).unwrap();
    destination.copy_and_replace_from(&mut source).unwrap();
    let changes = destination.entity_changes(&mut tracker);
    assert_eq!((changes.created, changes.destroyed), (new[3..].to_vec(), vec![old[0]]));
}

#[test]
fn names_are_replaced() {
    let (mut source, mut destination, _) = two(10);
    let (here, there) = (destination.spawn(()), source.spawn(()));
    assert_eq!(here, there);
    destination.set_name(here, "old").unwrap();
    source.set_name(there, "new").unwrap();
    destination.copy_and_replace_from(&mut source).unwrap();
    assert_eq!(destination.entity_name(here), Some("new"));
}

#[test]
fn impossible_replacements_are_refused() {
    let (mut source, mut destination, _) = two(10);
    populate(&mut destination, 2);
    let before = destination.state_hash();
    source.spawn(Ticket(1));
    let refused = destination.copy_and_replace_from(&mut source).unwrap_err();
    assert!(matches!(refused, EntityError::NotDuplicable { .. }));
    let mut other = chunks_of(11);
    let refused = destination.copy_and_replace_from(&mut other).unwrap_err();
    assert_eq!(refused, EntityError::DifferentChunks);
    assert_eq!(
        refused.to_string(),
        "A0130: the two worlds have different chunk settings, so chunks cannot move between them; create both with the \
         same `chunk_size` and `chunk_capacity_limit`, or use `copy_entities_from`"
    );
    assert_eq!(destination.state_hash(), before);
}

#[test]
fn components_of_one_thread_are_copied_each_time() {
    let (mut source, mut destination, arena) = two(10);
    let entity = source.spawn(Managed::new(Script("one".into())));
    let used = || arena.stats().used / CHUNK;
    for _ in 0..3 {
        destination.copy_and_replace_from(&mut source).unwrap();
        assert_eq!(used(), 2);
    }
    source.managed_mut::<Script>(entity).unwrap().0 = "two".into();
    assert_eq!(destination.managed::<Script>(entity).unwrap().0, "one");
}
