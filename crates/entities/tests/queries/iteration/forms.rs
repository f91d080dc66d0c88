//! The forms of iteration over entities.

use ancho_entities::{Entity, QueryDescriptor, With};

use crate::common::*;

#[test]
fn all_forms_yield_the_same() {
    let mut world = chunks_of(100);
    let all: Vec<_> = world.spawn_batch((0..1000).map(|at| (A(at), X(at)))).collect();
    for (at, &entity) in all.iter().enumerate() {
        let off = at % 7 == 0 || (200..330).contains(&at);
        world.set_component_enabled::<X>(entity, !off).unwrap();
    }
    let mut expected = Vec::new();
    world.query::<(&A, &X)>().for_each(|(a, x)| {
        assert_eq!(a.0, x.0);
        expected.push(a.0);
    });
    let scan = (0..1000).filter(|at| !(at % 7 == 0 || (200..330).contains(at)));
    assert_eq!(expected, scan.collect::<Vec<_>>());
    let by_next: Vec<u32> = {
        let mut iter = world.query::<(&A, &X)>().iter();
        std::iter::from_fn(|| iter.next()).map(|(a, _)| a.0).collect()
    };
    let by_fold = world.query::<(&A, &X)>().iter().fold(Vec::new(), |mut all, (a, _)| {
        all.push(a.0);
        all
    });
    let mut half = world.query::<(&A, &X)>().iter();
    let mut by_both: Vec<u32> = half.by_ref().take(333).map(|(a, _)| a.0).collect();
    half.for_each(|(a, _)| by_both.push(a.0));
    let mut by_slices = Vec::new();
    world.query::<(&A, &X, Entity)>().for_each_chunk(|(a, x, entities)| {
        assert!(a.len() == x.len() && a.len() == entities.len() && !a.is_empty());
        by_slices.extend(a.iter().map(|a| a.0));
    });
    assert_eq!(by_next, expected);
    assert_eq!(by_fold, expected);
    assert_eq!(by_both, expected);
    assert_eq!(by_slices, expected);
}

#[test]
fn writes_persist() {
    let mut world = chunks_of(100);
    world.spawn_batch((0..1000).map(|at| (A(at), B(u64::from(at)))));
    world.query_mut::<(&mut A, &B)>().for_each(|(a, b)| a.0 += b.0 as u32);
    for (a, b) in world.query_mut::<(&mut A, &mut B)>() {
        (a.0, b.0) = (b.0 as u32, u64::from(a.0));
    }
    world.query_mut::<(&mut A, &B)>().for_each_chunk(|(a, b)| {
        a.iter_mut().zip(b).for_each(|(a, b)| a.0 += b.0 as u32);
    });
    let right = (0..1000).map(|at| A(at * 3));
    assert!(world.query::<&A>().iter().copied().eq(right));
}

#[test]
fn an_iterator_that_is_done_stays_done() {
    let mut world = chunks_of(3);
    let all: Vec<_> = world.spawn_batch((0..7).map(X)).collect();
    for &entity in &all {
        world.set_component_enabled::<X>(entity, false).unwrap();
    }
    // No chunk has a matching row.
    let mut iter = world.query::<&X>().iter();
    assert!((0..3).all(|_| iter.next().is_none()));
    // The first chunk has a match, and those after it do not.
    world.set_component_enabled::<X>(all[1], true).unwrap();
    let mut iter = world.query_mut::<&mut X>().into_iter();
    assert_eq!(iter.next(), Some(&mut X(1)));
    assert!((0..3).all(|_| iter.next().is_none()));
}

#[test]
fn loops_can_be_nested() {
    let mut world = chunks_of(3);
    world.spawn_batch((0..10).map(A));
    world.spawn_batch((0..10).map(|at| (A(at), Tag)));
    let mut pairs = 0;
    let query = world.query::<&A>();
    for one in &query {
        for other in &query {
            pairs += u32::from(one == other);
        }
        // The world creates and caches a new query during the loop.
        assert_eq!(world.query_filtered::<&A, With<Tag>>().iter().count(), 10);
        assert_eq!(world.query::<(&A, &Tag)>().count(), 10);
    }
    assert_eq!(pairs, 40);
}

#[test]
fn items_outlive_the_loop_and_are_disjoint() {
    let mut world = chunks_of(3);
    world.spawn_batch((0..10).map(|at| (A(at), X(at))));
    let mut all: Vec<&mut A> = world.query_mut::<&mut A>().into_iter().collect();
    all.reverse();
    for (at, a) in (0..).zip(all) {
        a.0 = at;
    }
    assert!(world.query::<&A>().iter().map(|a| a.0).eq((0..10).rev()));
}

#[test]
fn nothing_is_found_in_an_empty_world() {
    let mut world = world();
    world.query_mut::<&mut A>().for_each(|_| panic!("there is none"));
    world.query_mut::<&mut A>().for_each_chunk(|_| panic!("there is none"));
    assert!(world.query::<Entity>().iter().next().is_none());
    let nothing = world.spawn(());
    assert_eq!(world.query::<Entity>().to_entities(), [nothing]);
    let mut iter = world.query::<Entity>().iter();
    assert_eq!((iter.next(), iter.next(), iter.next()), (Some(nothing), None, None));
}

#[test]
fn queries_have_readable_debug_output() {
    let mut world = world();
    let query = QueryDescriptor::of::<&A, With<B>>();
    assert!(format!("{query:?}").starts_with("QueryDescriptor(the query of `&"));
    assert!(format!("{:?}", world.query_filtered::<&A, With<B>>()).contains("components::A"));
    assert!(format!("{:?}", world.query_mut::<&mut A>()).starts_with("Query<&mut"));
    assert!(format!("{:?}", world.query::<&A>().iter()).contains("QueryIter"));
    assert!(format!("{:?}", world.query::<&A>().mask()).contains("QueryMask"));
}
