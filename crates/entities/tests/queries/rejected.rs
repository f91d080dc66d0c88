//! Queries that are refused when they are created.

use ancho_entities::{
    Any, Buffer, EnabledMut, EnabledRef, Entity, IgnoreEnabled, IsDisabled, QueryData,
    QueryDescriptor, With,
};

use crate::common::*;

#[track_caller]
fn refused<D: QueryData>(first: usize, second: usize, name: &str) {
    let mut world = world();
    let expected = format!(
        "accesses `{name}` as component {first} and again as component {second}, at least once mutably; remove one of them"
    );
    for said in [
        panic_message(|| QueryDescriptor::of::<D, ()>().query(&world).count()),
        panic_message(|| world.query_mut::<D>().for_each(|_| ())),
        panic_message(|| world.query_mut::<D>().count()),
        // It is refused the second time, too.
        panic_message(|| world.query_mut::<D>().count()),
    ] {
        assert!(said.starts_with("A0086: the query `") && said.ends_with(&expected), "{said}");
    }
}

#[test]
fn a_component_twice_is_refused_if_one_is_mutable() {
    refused::<(&mut A, &A)>(1, 2, "game::A");
    refused::<(&A, &B, &mut A)>(1, 3, "game::A");
    refused::<(&mut A, &mut A)>(1, 2, "game::A");
    refused::<(&mut A, Option<&A>)>(1, 2, "game::A");
    refused::<(Entity, (&B, (&A, ())), Option<(&X, &mut A)>)>(2, 4, "game::A");
    refused::<(&mut Buffer<Item>, &Buffer<Item>)>(1, 2, "Buffer<game::Item>");
    refused::<(EnabledMut<X>, EnabledRef<X>)>(1, 2, "queries::X");
}

#[test]
fn queries_without_overlap_are_accepted() {
    let mut world = world();
    world.spawn((A(1), X(2)));
    assert_eq!(world.query::<(&A, &A)>().single(), Ok((&A(1), &A(1))));
    let mut query = world.query_mut::<(&mut X, EnabledMut<X>)>();
    let (x, mut bit) = query.single_mut().unwrap();
    x.0 = 9;
    bit.set(false);
    assert_eq!(world.query_filtered::<(&A, &A), (With<A>, With<A>)>().count(), 1);
    assert_eq!(world.query_filtered::<&X, IgnoreEnabled>().single(), Ok(&X(9)));
}

#[test]
fn disabled_filters_of_types_that_are_not_enableable_are_refused() {
    let world = world();
    let expected = "A0070: `game::A` cannot be enabled or disabled; write `#[component(enableable)]` on the type";
    assert_eq!(
        panic_message(|| QueryDescriptor::of::<(), IsDisabled<A>>().query(&world).count()),
        expected
    );
    let query = || world.query_filtered::<(), (Any<(A, X)>, IsDisabled<(X, A)>)>();
    assert_eq!(panic_message(|| query().is_empty()), expected);
}
