//! Query options as filters.

use ancho_entities::{
    Component, Entity, FilterWriteGroups, IgnoreEnabled, IncludeDisabled, IncludePrefabs, Lookup,
    Query, QueryDescriptor, QueryFilter, ResMut, Resource, With, Without,
};

use crate::common::*;

#[derive(Component, Clone, Copy)]
#[component(name = "queries::Weight")]
struct Weight(u32);

/// A write group member of `X`.
#[derive(Component, Clone, Copy)]
#[component(name = "queries::Floating", write_group(Weight))]
struct Floating;

type Say = fn(QueryDescriptor) -> QueryDescriptor;

/// Checks that a filter has the same effect as the descriptor's method.
fn is_the_same_as<F: QueryFilter>(say: Say) {
    let mut world = crowd(20);
    let expected = say(QueryDescriptor::of::<(Entity, &X), ()>()).query(&world).to_entities();
    assert_eq!(world.query_filtered::<(Entity, &X), F>().to_entities(), expected);
    let given = world.query_filtered_mut::<(Entity, &X), F>().into_iter();
    assert_eq!(given.map(|(entity, _)| entity).collect::<Vec<_>>(), expected);
    // Before and after other filters, and twice.
    assert_eq!(world.query_filtered::<&X, ((), (F, With<X>), F)>().to_entities(), expected);
    let (found, _) = world.split::<(Query<&X, F>, Lookup<&A, F>)>();
    assert_eq!(found.to_entities(), expected);
}

#[test]
fn options_are_filters() {
    is_the_same_as::<()>(|query| query);
    is_the_same_as::<IncludeDisabled>(|query| query.include_disabled());
    is_the_same_as::<IncludePrefabs>(|query| query.include_prefabs());
    is_the_same_as::<IgnoreEnabled>(|query| query.ignore_enabled());
    is_the_same_as::<(IncludeDisabled, (IgnoreEnabled, IncludePrefabs))>(|query| {
        query.include_disabled().include_prefabs().ignore_enabled()
    });
}

#[test]
fn options_decide_which_queries_can_be_split() {
    let mut world = crowd(20);
    // Enabled state is ignored, so an enableable component makes the queries disjoint.
    let (with, without) = world.split::<(
        Query<&mut A, (With<X>, IgnoreEnabled)>,
        Query<&mut A, (Without<X>, IgnoreEnabled)>,
    )>();
    assert!(with.count() > 0 && without.count() > 0);
}

/// The counts that a system has seen.
#[derive(Resource, Default)]
#[resource(local)]
struct Seen(Vec<usize>);

fn count(
    mut seen: ResMut<Seen>,
    plain: Query<&X>,
    disabled: Query<&X, IncludeDisabled>,
    prefabs: Query<&X, (With<X>, IncludePrefabs)>,
    all: Query<&X, (IncludeDisabled, IncludePrefabs, IgnoreEnabled)>,
) {
    seen.0 = vec![plain.count(), disabled.count(), prefabs.count(), all.count()];
}

fn sink(mut weights: Query<&mut Weight, FilterWriteGroups>) {
    weights.for_each(|weight| weight.0 += 1);
}

#[test]
fn systems_set_options_of_their_queries() {
    let mut world = crowd(20);
    world.insert_resource(Seen::default());
    world.add_system(count);
    world.update(0.1);
    let expected = [
        world.query::<&X>().count(),
        world.query_filtered::<&X, IncludeDisabled>().count(),
        world.query_filtered::<&X, IncludePrefabs>().count(),
        world.query_filtered::<&X, (IncludeDisabled, IncludePrefabs, IgnoreEnabled)>().count(),
    ];
    assert_eq!(world.resource::<Seen>().0, expected);
    assert!(expected[1..].iter().all(|&count| count > expected[0]), "they make a difference");
}

#[test]
fn write_groups_apply_to_queries_of_systems() {
    let mut world = world();
    let (stone, cloud) = (world.spawn(Weight(1)), world.spawn((Weight(1), Floating)));
    world.add_system(sink);
    world.update(0.1);
    assert_eq!(world.get::<Weight>(stone).unwrap().0, 2);
    assert_eq!(world.get::<Weight>(cloud).unwrap().0, 1);
}
