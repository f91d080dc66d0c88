//! Change filters.

use ancho_entities::{Changed, OrderChanged, Present, Version, With, World};

use crate::common::*;

#[test]
fn only_written_chunks_match() {
    let mut world = chunks_of(4);
    let all: Vec<_> = world.spawn_batch((0..12).map(|at| (A(at), B(0)))).collect();
    let seen = world.version();
    world.advance_version();
    let changed =
        |world: &World| world.query_filtered::<&A, Changed<A>>().since(seen).to_entities();
    assert!(changed(&world).is_empty());
    world.get_mut::<A>(all[5]).unwrap().0 = 50;
    // The rest of the chunk passes too, other chunks do not.
    assert_eq!(changed(&world), all[4..8]);
    world.get_mut::<B>(all[0]).unwrap().0 = 50;
    assert_eq!(changed(&world), all[4..8]);
    let any = world.query_filtered::<(), Changed<(A, B)>>().since(seen);
    assert_eq!(any.to_entities(), all[..8]);
    assert!(any.matches(all[0]) && !any.matches(all[8]));
    let both = world.query_filtered::<(), (Changed<A>, Changed<B>)>().since(seen);
    assert!(both.is_empty());
    assert_eq!(world.query_filtered::<&A, Changed<A>>().count(), 12, "unless it is said");
}

#[test]
fn reading_marks_nothing_and_own_writes_are_not_seen() {
    let mut world = chunks_of(4);
    world.spawn_batch((0..12).map(|at| (A(at), B(0))));
    let seen = world.version();
    let now = world.advance_version();
    world.query_mut::<(&A, Option<&B>)>().for_each(|_| ());
    assert_eq!(world.query_filtered::<(), Changed<(A, B)>>().since(seen).count(), 0);
    // Mutable access counts as a change, even without a write.
    world.query_mut::<(&mut A, &B)>().for_each(|_| ());
    assert_eq!(world.query_filtered::<(), Changed<A>>().since(seen).count(), 12);
    assert_eq!(world.query_filtered::<(), Changed<B>>().since(seen).count(), 0);
    assert_eq!(world.query_filtered::<(), Changed<A>>().since(now).count(), 0);
}

#[test]
fn chunks_without_matching_rows_are_not_marked() {
    let mut world = chunks_of(4);
    let all: Vec<_> = world.spawn_many(X(0), 8).collect();
    for &entity in &all[..4] {
        world.set_component_enabled::<X>(entity, false).unwrap();
    }
    let seen = world.version();
    world.advance_version();
    world.query_mut::<&mut X>().for_each(|x| x.0 = 1);
    let changed = world.query_filtered::<(), (Changed<X>, Present<X>)>();
    assert_eq!(changed.since(seen).to_entities(), all[4..]);
}

#[test]
fn chunks_that_a_filter_excludes_are_not_marked() {
    let mut world = chunks_of(4);
    let all: Vec<_> = world.spawn_many(A(0), 8).collect();
    let (first, second) = (world.version(), world.advance_version());
    world.get_mut::<A>(all[0]).unwrap().0 = 1;
    let third = world.advance_version();
    world.query_filtered_mut::<&mut A, Changed<A>>().since(first).for_each(|a| a.0 += 1);
    assert_eq!(world.query_filtered::<(), Changed<A>>().since(second).to_entities(), all[..4]);
    assert!(world.query_filtered::<(), Changed<A>>().since(third).is_empty());
}

#[test]
fn chunks_with_added_or_removed_entities_are_found() {
    let mut world = chunks_of(128);
    let all: Vec<_> = world.spawn_many(A(0), 384).collect();
    let seen = world.version();
    world.advance_version();
    let moved = |world: &World| {
        let chunks = world.query_filtered::<(), (OrderChanged, With<A>)>().since(seen);
        chunks.count()
    };
    world.query_mut::<&mut A>().for_each(|a| a.0 = 1);
    assert_eq!(moved(&world), 0);
    // Every second entity of a chunk moves: two chunks pass.
    for &entity in all[128..256].iter().step_by(2) {
        world.add(entity, Tag).unwrap();
    }
    assert_eq!(moved(&world), 128);
    let tagged = world.query_filtered::<(), (OrderChanged, With<Tag>)>().since(seen);
    assert_eq!(tagged.count(), 64);
}

#[test]
fn versions_that_wrap_around() {
    let mut world = world();
    world.set_version(Version::from_number(u32::MAX));
    world.spawn(A(0));
    let seen = world.version();
    world.advance_version();
    assert!(world.query_filtered::<&A, Changed<A>>().since(seen).is_empty());
    world.query_mut::<&mut A>().for_each(|a| a.0 = 1);
    assert_eq!(world.query_filtered::<&A, Changed<A>>().since(seen).count(), 1);
}

#[test]
fn no_access_marks_chunks_without_the_whole_optional_tuple() {
    let ways: [fn(&mut World); 4] = [
        |world| world.query_mut::<Option<(&A, &mut B)>>().for_each(|_| ()),
        |world| world.query_mut::<Option<(&A, &mut B)>>().into_iter().for_each(|_| ()),
        |world| world.query_mut::<Option<(&A, &mut B)>>().for_each_chunk(|_| ()),
        |world| drop(world.query_mut::<Option<(&A, &mut B)>>().single_mut()),
    ];
    for (at, way) in ways.into_iter().enumerate() {
        for with_a in [false, true] {
            let mut world = world();
            let one = world.spawn(B(1));
            if with_a {
                world.add(one, A(1)).unwrap();
            }
            let seen = world.version();
            world.advance_version();
            way(&mut world);
            let marked = world.query_filtered::<(), Changed<B>>().since(seen).count();
            assert_eq!(marked, usize::from(with_a), "way {at}, with A: {with_a}");
        }
    }
}
