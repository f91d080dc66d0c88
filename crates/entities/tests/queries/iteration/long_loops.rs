//! Loops over enough chunks to trigger prefetching yield the same as short ones.

use ancho_entities::{Changed, EnabledMut, Entity, Query, Without};

use crate::common::*;

/// A function that returns whether a component is enabled, by the number of its entity.
type Pattern = fn(u32) -> bool;

const PATTERNS: [Pattern; 7] = [
    |_| true,
    |_| false,
    |at| at % 2 == 0,
    |at| at % 7 != 0,
    |at| at / 100 % 2 == 0,
    |at| at / 1000 % 3 == 1,
    |at| at.wrapping_mul(0x9e37_79b9).rotate_left(15) % 4 < 2,
];

/// Creates more than 128 chunks of these entities, the last of them not full.
fn long(pattern: Pattern, rows: usize) -> (Checked, Vec<Entity>) {
    let mut world = chunks_of(rows);
    let count = rows as u32 * 150 + 1;
    let all: Vec<_> = world.spawn_batch((0..count).map(|at| (A(at), X(at)))).collect();
    for (at, &entity) in (0..).zip(&all) {
        world.set_component_enabled::<X>(entity, pattern(at)).unwrap();
    }
    (world, all)
}

#[test]
fn each_match_is_yielded_once_in_order() {
    for pattern in PATTERNS {
        for rows in [1, 20, 64, 100, 130] {
            let (mut world, all) = long(pattern, rows);
            let numbers = 0..all.len() as u32;
            let on: Vec<u32> = numbers.clone().filter(|&at| pattern(at)).collect();
            let off: Vec<u32> = numbers.clone().filter(|&at| !pattern(at)).collect();

            let mut given = Vec::new();
            world.query_mut::<(&mut A, &X)>().for_each(|(a, x)| {
                assert_eq!(a.0, x.0);
                given.push(a.0);
                a.0 += 1;
            });
            assert_eq!(given, on);
            let mut by_chunk = Vec::new();
            world.query::<(&X, Entity)>().for_each_chunk(|(x, entities)| {
                assert_eq!(x.len(), entities.len());
                by_chunk.extend(x.iter().map(|x| x.0));
            });
            assert_eq!(by_chunk, on);
            given.clear();
            let mut query = world.query_filtered_mut::<&mut A, Without<X>>();
            query.for_each(|a| given.push(a.0));
            assert_eq!(given, off);
            // All entities; those with `X` enabled were incremented before.
            given.clear();
            world.query_mut::<(&A, Option<&X>)>().for_each(|(a, x)| {
                given.push(a.0 - u32::from(x.is_some()));
            });
            assert_eq!(given, numbers.collect::<Vec<_>>());
        }
    }
}

#[test]
fn only_changed_chunks_are_visited() {
    let (mut world, all) = long(|at| at % 3 != 0, 20);
    let seen = world.version();
    world.advance_version();
    for at in [45, 46, 1000, 1500, 3000] {
        world.get_mut::<A>(all[at]).unwrap();
    }
    let mut given = Vec::new();
    let mut query = world.query_filtered_mut::<(&mut A, &X), Changed<A>>().since(seen);
    query.for_each(|(a, _)| given.push(a.0));
    let chunks = [40..60, 1000..1020, 1500..1520, 3000..3001];
    let expected = chunks.into_iter().flatten().filter(|at| at % 3 != 0);
    assert_eq!(given, expected.collect::<Vec<_>>());
}

#[test]
fn a_fork_keeps_its_values() {
    for pattern in PATTERNS {
        let (mut world, _) = long(pattern, 20);
        let fork = world.fork().unwrap();
        let before = fork.state_hash();
        world.query_mut::<(&mut A, &X)>().for_each(|(a, _)| a.0 += 1);
        assert_eq!(fork.state_hash(), before);
        let changed = world.query::<(&A, &X)>().iter().filter(|(a, x)| a.0 == x.0 + 1).count();
        assert_eq!(changed, world.query::<&X>().count());
        fork.check_invariants().unwrap();
    }
}

#[test]
fn short_archetypes_after_a_long_one_are_visited() {
    let (mut world, all) = long(|_| true, 20);
    let more: Vec<_> = world.spawn_batch((0..30).map(|at| (A(at), B(at.into())))).collect();
    let mut given = Vec::new();
    world.query_mut::<(&mut A, Entity)>().for_each(|(_, entity)| given.push(entity));
    assert_eq!(given, [all, more].concat());
}

#[test]
fn rows_that_another_view_enables_later_are_found() {
    for chunks in [100, 200] {
        let mut world = chunks_of(1);
        let all: Vec<_> = world.spawn_batch((0..chunks).map(X)).collect();
        for &entity in &all[1..] {
            world.set_component_enabled::<X>(entity, false).unwrap();
        }
        let (mut on, mut switches) = world.split::<(Query<&X>, Query<EnabledMut<X>>)>();
        let mut given = 0;
        on.for_each(|_| {
            if given == 0 {
                switches.for_each(|mut switch| switch.set(true));
            }
            given += 1;
        });
        assert_eq!(given, chunks);
    }
}
