//! Filling, emptying and listing of chunks.

use ancho_entities::{Entity, World};

use crate::common::{A, B, Tag, Text, chunk_entities, chunks_of, ignore, world};

fn lengths(world: &World) -> Vec<usize> {
    world.chunks().map(|chunk| chunk.len()).collect()
}

fn sequence(world: &World) -> Vec<u64> {
    world.chunks().map(|chunk| chunk.sequence_number()).collect()
}

#[test]
fn a_chunk_is_filled_before_another_is_created() {
    let mut world = chunks_of(10);
    for count in 1..=35_usize {
        let entity = world.spawn(A(1));
        let chunks = chunk_entities(&world);
        assert_eq!(chunks.len(), count.div_ceil(10));
        // At the end of the chunk with room.
        assert_eq!(chunks.last().unwrap().last(), Some(&entity));
    }
    assert_eq!(lengths(&world), [10, 10, 10, 5]);
    world.spawn_many(A(1), 7);
    assert_eq!(lengths(&world), [10, 10, 10, 10, 2]);
    world.spawn(B(1));
    assert_eq!(lengths(&world), [10, 10, 10, 10, 2, 1]);
}

#[test]
fn room_in_any_chunk_is_used() {
    let mut world = chunks_of(10);
    let all: Vec<_> = world.spawn_many(A(1), 30).collect();
    world.batch(&[all[0], all[1], all[15]]).despawn().unwrap();
    assert_eq!(lengths(&world), [8, 9, 10]);
    world.spawn_many(A(2), 3);
    assert_eq!(lengths(&world), [10, 10, 10]);
    world.spawn(A(2));
    assert_eq!(lengths(&world), [10, 10, 10, 1]);
}

#[test]
fn the_last_row_of_a_chunk_fills_the_gap() {
    let mut world = chunks_of(100);
    let sets = (0..150).map(|number| (A(number), Text(number.to_string())));
    let all: Vec<_> = world.spawn_batch(sets).collect();
    world.despawn(all[37]).unwrap();
    let mut expected = all[..99].to_vec();
    expected[37] = all[99];
    assert_eq!(chunk_entities(&world), [expected, all[100..].to_vec()]);
    for (number, entity) in (0..).zip(&all).filter(|(number, _)| *number != 37) {
        assert_eq!(world.get(*entity), Ok(&A(number)));
        assert_eq!(world.get(*entity), Ok(&Text(number.to_string())));
    }
    // The last row leaves no hole.
    world.despawn(all[98]).unwrap();
    assert_eq!(chunk_entities(&world)[0][..37], all[..37]);
    assert_eq!(chunk_entities(&world)[0].len(), 98);
}

#[test]
fn a_moved_entity_leaves_its_chunk_like_a_despawned_one() {
    let mut world = chunks_of(100);
    let all: Vec<_> = world.spawn_batch((0..100).map(A)).collect();
    world.add(all[37], B(1)).unwrap();
    let mut expected = all[..99].to_vec();
    expected[37] = all[99];
    assert_eq!(chunk_entities(&world), [expected, vec![all[37]]]);
    world.remove::<B>(all[37]).unwrap();
    assert_eq!(chunk_entities(&world)[0][99], all[37]);
    assert_eq!(world.chunks().count(), 1);
}

#[test]
fn a_removed_block_of_rows_is_filled_from_the_end() {
    let mut world = chunks_of(100);
    let all: Vec<_> = world.spawn_batch((0..100).map(A)).collect();
    world.batch(&all[10..20]).despawn().unwrap();
    let now = chunk_entities(&world).concat();
    assert_eq!(now[..10], all[..10]);
    assert_eq!(now[20..], all[20..90]);
    assert_eq!(now[10..20], all[90..]);
    for (number, entity) in (0..).zip(&all).filter(|(_, entity)| now.contains(entity)) {
        assert_eq!(world.get(*entity), Ok(&A(number)));
    }
}

#[test]
fn a_chunk_is_freed_when_its_last_entity_leaves() {
    let mut world = chunks_of(4);
    let all: Vec<_> = world.spawn_many(A(1), 12).collect();
    for entity in &all[4..7] {
        world.despawn(*entity).unwrap();
    }
    assert_eq!(lengths(&world), [4, 1, 4]);
    world.despawn(all[7]).unwrap();
    assert_eq!(lengths(&world), [4, 4]);
    // Moving to another archetype frees rows as well.
    for entity in &all[..4] {
        world.add(*entity, Tag).unwrap();
    }
    assert_eq!(lengths(&world), [4, 4]);
    world.despawn_all().unwrap();
    assert_eq!(lengths(&world), []);
}

#[test]
fn chunks_are_not_compacted() {
    let mut world = chunks_of(10);
    let all: Vec<_> = world.spawn_many(A(1), 50).collect();
    let most: Vec<_> =
        all.iter().enumerate().filter(|(i, _)| i % 10 != 0).map(|(_, e)| *e).collect();
    world.batch(&most).despawn().unwrap();
    assert_eq!(lengths(&world), [1; 5]);
}

#[test]
fn entities_are_listed_by_archetype_chunk_and_index() {
    let mut world = chunks_of(3);
    world.archetype::<B>();
    let a: Vec<_> = world.spawn_many(A(1), 4).collect();
    let ab: Vec<_> = world.spawn_many((A(1), B(1)), 2).collect();
    let b: Vec<_> = world.spawn_many(B(1), 4).collect();
    let a_again = world.spawn(A(2));
    // The archetype of `B` alone was created first.
    let expected = [&b[..], &a[..], &[a_again], &ab[..]].concat();
    assert_eq!(world.all_entities(), expected);
    let expected: [&[Entity]; 5] = [&b[..3], &b[3..], &a[..3], &[a[3], a_again], &ab[..]];
    assert_eq!(chunk_entities(&world), expected);
}

#[test]
fn the_last_chunk_takes_the_place_of_a_freed_one() {
    let mut world = chunks_of(2);
    let all: Vec<_> = world.spawn_many(A(1), 10).collect();
    let before = sequence(&world);
    world.batch(&all[2..4]).despawn().unwrap();
    assert_eq!(sequence(&world), [before[0], before[4], before[2], before[3]]);
    assert_eq!(chunk_entities(&world), [&all[..2], &all[8..], &all[4..6], &all[6..8]]);
    // The last chunk of the list leaves the others in place.
    world.batch(&all[6..8]).despawn().unwrap();
    assert_eq!(sequence(&world), [before[0], before[4], before[2]]);
}

#[test]
fn the_order_follows_from_the_operations_alone() {
    let run = || {
        let mut world = world();
        let all: Vec<_> = world.spawn_batch((0..5000).map(A)).collect();
        for (number, entity) in all.iter().enumerate() {
            match number % 5 {
                0 => ignore(world.despawn(*entity).unwrap()),
                1 => ignore(world.add(*entity, B(1)).unwrap()),
                2 => ignore(world.add(*entity, (B(1), Tag)).unwrap()),
                3 => ignore(world.remove::<A>(*entity).unwrap()),
                _ => world.set(*entity, A(0)).unwrap(),
            }
        }
        (world.all_entities(), world.state_hash(), sequence(&world))
    };
    assert_eq!(run(), run());
}
