//! Pairs of entities of a query.

use ancho_entities::{Buffer, Changed, EnabledMut, Entity, PerChunk, Present, Shared};

use crate::common::*;

#[test]
fn each_pair_is_yielded_once_in_order() {
    for limit in [1, 3, 100] {
        let mut world = chunks_of(limit);
        world.spawn_batch((0..5).map(|at| (A(at), B(0))));
        world.spawn_batch((5..9).map(|at| (A(at), Tag)));
        let mut expected = Vec::new();
        for left in 0..9 {
            expected.extend((left + 1..9).map(|right| (left, right)));
        }
        let mut read = Vec::new();
        world.query::<&A>().for_each_pair(|a, b| read.push((a.0, b.0)));
        assert_eq!(read, expected);
        let mut written = Vec::new();
        world.query_mut::<(Entity, &mut A)>().for_each_pair(|(left, a), (right, b)| {
            assert_ne!(left, right);
            written.push((a.0 % 100, b.0 % 100));
            a.0 += 100;
            b.0 += 100;
        });
        assert_eq!(written, expected);
        assert!(world.query::<&A>().iter().map(|a| a.0).eq((0..9).map(|at| at + 800)));
    }
}

#[test]
fn disabled_rows_are_not_yielded() {
    let mut world = chunks_of(4);
    let all: Vec<_> = world.spawn_batch((0..6).map(|at| (A(at), E(0)))).collect();
    for &entity in &all[1..5] {
        world.set_component_enabled::<E>(entity, false).unwrap();
    }
    let seen = world.version();
    world.advance_version();
    world.query_mut::<(&A, Option<&mut E>)>().for_each_pair(|_, _| ());
    let changed = world.query_filtered::<(), (Changed<E>, Present<E>)>().since(seen);
    assert_eq!(changed.to_entities(), [all[0], all[5]]);
}

#[test]
fn zero_or_one_entity_makes_no_pair() {
    let mut world = world();
    world.query_mut::<&mut A>().for_each_pair(|_, _| panic!("there are none"));
    world.spawn(A(1));
    world.query_mut::<&mut A>().for_each_pair(|_, _| panic!("there is one"));
    world.query::<&A>().for_each_pair(|_, _| panic!("there is one"));
}

#[test]
fn only_enabled_rows_are_paired_even_if_the_loop_disables_some() {
    let mut world = chunks_of(200);
    let all: Vec<_> = world.spawn_batch((0..150).map(|at| (X(at), Y))).collect();
    for (at, &entity) in all.iter().enumerate() {
        world.set_component_enabled::<X>(entity, at % 50 < 2).unwrap();
    }
    let mut pairs = Vec::new();
    world.query_mut::<(&X, EnabledMut<Y>, EnabledMut<X>)>().for_each_pair(
        |(a, mut y, mut on), (b, mut other, _)| {
            pairs.push((a.0, b.0));
            // Both bits are mostly in one word.
            y.set(false);
            other.set(true);
            assert!(!y.get() && other.get());
            on.set(false);
        },
    );
    let on = [0, 1, 50, 51, 100, 101];
    let mut expected = Vec::new();
    for (at, &left) in on.iter().enumerate() {
        expected.extend(on[at + 1..].iter().map(|&right| (left, right)));
    }
    assert_eq!(pairs, expected);
    assert_eq!(world.query::<&X>().single(), Ok(&X(101)));
    assert_eq!(world.query::<&Y>().count(), 145);
}

#[test]
fn pairs_share_chunk_components_and_shared_values() {
    let mut world = chunks_of(2);
    world.spawn_batch(
        (0..5).map(|at| (Buffer::from([Item(at)]), Shared::new(Team(7)), PerChunk::<A>::default())),
    );
    let mut query = 0;
    world.query_mut::<(&mut Buffer<Item>, &Shared<Team>, &PerChunk<A>)>().for_each_pair(
        |(mut a, team, chunk), (mut b, other, _)| {
            assert!(std::ptr::eq(team, other));
            assert_eq!(chunk, &A(0));
            a.push(b[0]);
            b.push(a[0]);
            query += 1;
        },
    );
    assert_eq!(query, 10);
    let items = world.query::<&Buffer<Item>>();
    assert!(items.iter().all(|items| items.len() == 5));
    assert_eq!(items.iter().nth(1).unwrap(), [1, 0, 2, 3, 4].map(Item));
}

#[test]
fn pairs_of_a_fork_are_separate() {
    let mut world = chunks_of(2);
    world.spawn_batch((0..4).map(|at| Text(at.to_string())));
    let fork = Checked(world.fork().unwrap());
    world.query_mut::<&mut Text>().for_each_pair(|a, b| {
        a.0.push('a');
        b.0.push('b');
    });
    assert!(fork.query::<&Text>().iter().map(|text| &*text.0).eq(["0", "1", "2", "3"]));
    assert!(
        world.query::<&Text>().iter().map(|text| &*text.0).eq(["0aaa", "1baa", "2bba", "3bbb"])
    );
    let said = panic_message(|| {
        world.query_mut::<&mut Text>().for_each_pair(|a, _| assert!(a.0.is_empty(), "enough"));
    });
    assert_eq!(said, "enough");
}
