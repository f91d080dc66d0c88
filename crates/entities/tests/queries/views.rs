//! Views offer the same queries as the whole world.

use ancho_entities::{
    Buffer, Changed, EnabledMut, Entity, EntityError, Query, Version, With, Without, World,
};

use crate::common::*;

#[test]
fn counts_with_and_without_filters() {
    let mut world = chunks_of(7);
    fill(&mut world);
    let (some, none) = world.split::<(Query<&X>, Query<&B>)>();
    assert_eq!((some.count(), some.count_unfiltered()), (37, 50));
    assert!(!some.is_empty_unfiltered() && none.is_empty_unfiltered());
    let (off,) = world.split::<(Query<&X, With<B>>,)>();
    assert_eq!(off.count_unfiltered(), 0);
}

#[test]
fn lists_equal_those_of_the_world() {
    let mut world = chunks_of(7);
    fill(&mut world);
    let expected = world.query::<(&A, &X)>().to_components::<A>().unwrap();
    let entities = world.query::<(&A, &X)>().to_entities();
    let (read,) = world.split::<(Query<(&A, &X)>,)>();
    assert_eq!((read.to_components(), read.to_entities()), (Ok(expected.clone()), entities));
    let (write,) = world.split::<(Query<(&mut A, &X)>,)>();
    assert_eq!(write.to_components(), Ok(expected));
}

#[test]
fn components_that_another_view_can_write_are_not_listed() {
    let mut world = chunks_of(7);
    fill(&mut world);
    let (mut values, found, optional) =
        world.split::<(Query<&mut A>, Query<Entity, With<A>>, Query<Option<&X>>)>();
    let first = values.iter_mut().next().unwrap();
    let refused = found.to_components::<A>().unwrap_err();
    first.0 += 1;
    assert_eq!(
        refused.to_string(),
        "A0135: the query does not fetch `game::A`, and another query may access it at the same time; add \
         `&game::A` to the data of the query"
    );
    assert!(matches!(optional.to_components::<X>(), Err(EntityError::NotGiven { .. })));
    let (mut read,) = world.split::<(Query<&A>,)>();
    assert_eq!(
        read.copy_from(&[A(1); 50]).unwrap_err().to_string(),
        "A0135: the query does not fetch `game::A` mutably, and another query may access it at the same time; add \
         `&mut game::A` to the data of the query"
    );
}

#[test]
fn values_are_written_back() {
    let mut world = chunks_of(7);
    let all = fill(&mut world);
    let seen = world.version();
    world.advance_version();
    let state = world.state_hash();
    let (mut some,) = world.split::<(Query<(&mut A, &X)>,)>();
    let few = some.copy_from(&[A(0); 36]);
    assert_eq!(
        few.unwrap_err().to_string(),
        "A0060: the query matches 37 entities, but 36 values of `game::A` were passed; pass as many as `count` \
         returns, or the list of `to_components`"
    );
    assert_eq!(world.state_hash(), state);
    let changed = |world: &World| world.query_filtered::<(), Changed<A>>().since(seen).count();
    assert_eq!(changed(&world), 0);
    let values: Vec<A> = (100..137).map(A).collect();
    let (mut some,) = world.split::<(Query<(&mut A, &X)>,)>();
    some.copy_from(&values).unwrap();
    assert_eq!(some.to_components(), Ok(values));
    assert_eq!(world.get(all[0]), Ok(&A(0)), "disabled");
    assert!(changed(&world) > 0);
}

#[test]
fn values_are_written_to_unshared_memory() {
    let mut world = chunks_of(7);
    fill(&mut world);
    let fork = world.fork().unwrap();
    let state = fork.state_hash();
    let (mut all,) = world.split::<(Query<&mut A>,)>();
    all.copy_from(&[A(9); 50]).unwrap();
    assert_eq!(fork.state_hash(), state);
    assert_eq!(world.query::<&A>().to_components(), Ok(vec![A(9); 50]));
}

#[test]
fn a_view_can_find_changes_since_another_version() {
    let mut world = chunks_of(7);
    world.spawn_many(A(1), 5);
    let seen = world.version();
    world.advance_version();
    world.spawn_many((A(1), Tag), 3);
    let mut changed = world.split::<Query<&A, Changed<A>>>().since(seen);
    assert_eq!((changed.count(), changed.reborrow().since(Version::NEVER).count()), (3, 8));
}

#[test]
fn read_only_views_can_be_cloned_and_used_together() {
    let mut world = chunks_of(7);
    world.spawn_batch((1..=4).map(A));
    world.spawn(B(0));
    let (numbers, mut sum) = world.split::<(Query<&A>, Query<&mut B, Without<A>>)>();
    for one in &numbers {
        let mut others = numbers.clone();
        others.for_each(|other| sum.single_mut().unwrap().0 += u64::from(one.0 * other.0));
        others.for_each_pair(|left, right| assert!(left.0 < right.0));
    }
    assert_eq!(sum.single_mut().unwrap().0, 100);
}

#[test]
fn a_read_only_look_at_a_mutable_view_marks_nothing() {
    let mut world = chunks_of(7);
    let all = fill(&mut world);
    world.add(all[1], Buffer::from([Item(3)])).unwrap();
    let seen = world.version();
    world.advance_version();
    let expected: Vec<u32> = world.query::<(&A, &X)>().iter().map(|(a, _)| a.0).collect();
    let (mut some, lists) =
        world.split::<(Query<(&mut A, EnabledMut<X>)>, Query<Option<&mut Buffer<Item>>>)>();
    let read = some.as_read_only();
    let on = read.iter().filter(|(_, x)| x.get()).map(|(a, _)| a.0);
    assert_eq!(on.collect::<Vec<_>>(), expected);
    // Loops nest, even with read-only loops of another view.
    let (first, _) = read.get(all[0]).unwrap();
    assert!(some.as_read_only().iter().all(|(a, _)| a.0 >= first.0));
    assert_eq!(lists.as_read_only().iter().flatten().flatten().collect::<Vec<_>>(), [&Item(3)]);
    some.for_each(|(a, _)| a.0 += 1);
    let changed = world.query_filtered::<(), Changed<A>>().since(seen).count();
    assert_eq!(changed, 50, "by the loop that could");
}
