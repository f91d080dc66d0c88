//! Moving the matches of a query, or a slice of entities, to another world.

use ancho_entities::{
    Changed, ComponentType, Entity, EntityError, EntityMap, IgnoreEnabled, QueryDescriptor, With,
    World,
};

use crate::common::*;

/// Checks that exactly the chosen entities have moved, each with its components.
#[track_caller]
fn check(
    before: &[(Entity, Portrait)],
    chosen: &[Entity],
    source: &World,
    destination: &World,
    moved: &EntityMap,
) {
    assert_eq!(moved.len(), chosen.len());
    for (old, portrait) in before {
        assert_eq!(source.exists(*old), !chosen.contains(old));
        match moved.get(*old) {
            Some(new) => {
                assert!(chosen.contains(old));
                let expected = portrait.clone().in_other_world(moved);
                assert_eq!(Portrait::of(destination, new), expected);
            }
            None => assert_eq!(Portrait::of(source, *old), *portrait),
        }
    }
}

#[test]
fn only_matches_move() {
    for (from, to) in [(4, 4), (1, 1), (4, 7), (1000, 3)] {
        let (mut source, mut destination) = (chunks_of(from), chunks_of(to));
        populate(&mut source, 20);
        populate(&mut destination, 2);
        let before = portraits(&source);
        let chosen = source.query::<&Lamp>().to_entities();
        assert!(chosen.len() < source.query_filtered::<&Lamp, IgnoreEnabled>().count());
        let moved =
            source.batch(QueryDescriptor::of::<&Lamp, ()>()).move_to(&mut destination).unwrap();
        check(&before, &chosen, &source, &destination, &moved);
    }
}

#[test]
fn matches_of_a_dynamic_query_are_moved_or_copied() {
    let (mut source, mut destination) = (chunks_of(4), chunks_of(7));
    populate(&mut source, 20);
    let before = portraits(&source);
    let lamps = QueryDescriptor::new().all([ComponentType::of::<Lamp>()]);
    let chosen = lamps.query(&source).to_entities();
    assert!(!chosen.is_empty() && chosen.len() < before.len());
    let copied = lamps.copy_to(&source, &mut destination).unwrap();
    assert_eq!((copied.len(), destination.entity_count()), (chosen.len(), chosen.len()));
    assert_eq!(portraits(&source), before);
    let moved = source.batch(&lamps).move_to(&mut destination).unwrap();
    check(&before, &chosen, &source, &destination, &moved);
    assert_eq!(lamps.query(&source).count(), 0);
}

#[test]
fn fully_matching_chunks_move_as_a_whole() {
    let (mut source, mut destination) = (chunks_of(10), chunks_of(10));
    let all: Vec<_> = source.spawn_many((A(1), Tag), 25).collect();
    source.spawn_many(A(2), 25);
    let address =
        |world: &World, entity| std::ptr::from_ref(world.get::<A>(entity).unwrap()).addr();
    let before: Vec<_> = all.iter().map(|&entity| address(&source, entity)).collect();
    let moved =
        source.batch(QueryDescriptor::of::<(), With<Tag>>()).move_to(&mut destination).unwrap();
    let after = all.iter().map(|&old| address(&destination, moved.get(old).unwrap()));
    assert!(after.eq(before));
    assert_eq!((source.entity_count(), destination.entity_count()), (25, 25));
}

#[test]
fn parts_of_chunks_move_to_chunks_with_room() {
    let (mut source, mut destination) = (chunks_of(10), chunks_of(10));
    destination.spawn_many((Lamp(1), A(1)), 8);
    let all: Vec<_> = source.spawn_many((Lamp(2), A(2)), 10).collect();
    for &entity in &all[3..7] {
        source.set_component_enabled::<Lamp>(entity, false).unwrap();
    }
    let moved = source.batch(QueryDescriptor::of::<&Lamp, ()>()).move_to(&mut destination).unwrap();
    assert_eq!(moved.len(), 6);
    let lengths: Vec<_> = destination.chunks().map(|chunk| chunk.len()).collect();
    assert_eq!(lengths, [10, 4]);
    let mut left = source.all_entities();
    left.sort_unstable();
    assert_eq!(left, all[3..7]);
}

#[test]
fn a_slice_moves_in_any_order() {
    for (from, to) in [(4, 4), (4, 7), (1000, 1000)] {
        let (mut source, mut destination) = (chunks_of(from), chunks_of(to));
        populate(&mut source, 12);
        let before = portraits(&source);
        let mut chosen: Vec<_> = before.iter().map(|(entity, _)| *entity).collect();
        chosen.sort_unstable_by_key(|entity| entity.index() * 37 % 101);
        chosen.truncate(40);
        let mut named = chosen.clone();
        named.extend_from_slice(&chosen[10..20]);
        let moved = source.batch(&named).move_to(&mut destination).unwrap();
        check(&before, &chosen, &source, &destination, &moved);
    }
}

#[test]
fn a_slice_with_a_missing_entity_is_refused() {
    let (mut source, mut destination) = (world(), world());
    let mut all = populate(&mut source, 3);
    let gone = source.spawn(());
    source.despawn(gone).unwrap();
    all.push(gone);
    let before = (source.state_hash(), destination.state_hash());
    let refused = source.batch(&all).move_to(&mut destination).unwrap_err();
    assert!(matches!(refused, EntityError::NoSuchEntity { .. }));
    assert_eq!((source.state_hash(), destination.state_hash()), before);
    assert!(source.batch(&[]).move_to(&mut destination).unwrap().is_empty());
}

#[test]
fn freed_ids_are_reused() {
    let (mut source, mut destination) = (world(), world());
    let all: Vec<_> = source.spawn_many(A(1), 5).collect();
    source.batch(&all[1..3]).move_to(&mut destination).unwrap();
    let new = [source.spawn(()), source.spawn(()), source.spawn(())];
    let mut indices = new.map(Entity::index);
    indices.sort_unstable();
    assert_eq!(indices, [1, 2, 5]);
    assert!(new.iter().all(|entity| !all.contains(entity)));
}

#[test]
fn names_and_shared_values_of_other_entities_stay() {
    let (mut source, mut destination) = (world(), world());
    let stays = source.spawn((A(1), team("red")));
    let goes = source.spawn((A(2), team("red")));
    source.set_name(stays, "stays").unwrap();
    source.set_name(goes, "goes").unwrap();
    let moved = source.batch(&[goes]).move_to(&mut destination).unwrap();
    let new = moved.get(goes).unwrap();
    assert_eq!(source.entity_name(stays), Some("stays"));
    assert_eq!(destination.entity_name(new), Some("goes"));
    assert_eq!(source.shared::<Team>(stays), destination.shared::<Team>(new));
    let reused = source.spawn(());
    assert_eq!(source.entity_name(reused), None);
}

#[test]
fn only_moved_entities_count_as_changed() {
    let (mut source, mut destination) = (chunks_of(10), chunks_of(10));
    let all: Vec<_> = source.spawn_many((A(1), Lamp(0)), 30).collect();
    destination.spawn_many((A(1), Lamp(0)), 30);
    let before = destination.version();
    destination.advance_version();
    // A whole chunk, and half of another.
    source.batch(&all[..15]).move_to(&mut destination).unwrap();
    let changed = destination.query_filtered::<&Lamp, Changed<Lamp>>().since(before).count();
    assert_eq!(changed, 15);
}
