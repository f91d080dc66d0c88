//! Unions of queries.

use ancho_entities::{
    Absent, ComponentType, Disabled, Entity, IgnoreEnabled, IncludeDisabled, IsDisabled, Or,
    Prefab, Present, QueryDescriptor, QueryFilter, With, Without, World,
};

use crate::common::*;

fn of<T: ancho_entities::Component>() -> ComponentType {
    ComponentType::of::<T>()
}

fn found<F: QueryFilter>(world: &World) -> Vec<Entity> {
    world.query_filtered::<(), F>().to_entities()
}

/// Returns the entities that one of two queries finds, in the order of all entities.
fn union<F: QueryFilter, G: QueryFilter>(world: &World) -> Vec<Entity> {
    let (left, right) = (found::<F>(world), found::<G>(world));
    let mut all = world.all_entities();
    all.retain(|entity| left.contains(entity) || right.contains(entity));
    all
}

#[track_caller]
fn is_union<F: QueryFilter, G: QueryFilter>(world: &World) {
    let expected = union::<F, G>(world);
    assert!(!expected.is_empty());
    assert_eq!(found::<Or<(F, G)>>(world), expected);
    assert_eq!(found::<Or<(G, F)>>(world), expected);
    assert_eq!(found::<Or<(G, Or<(F, G)>)>>(world), expected);
    let query = world.query_filtered::<(), Or<(F, G)>>();
    assert_eq!(query.count(), expected.len());
    assert!(expected.iter().all(|&entity| query.matches(entity)));
    let ignoring = world.query_filtered::<(), (Or<(F, G)>, IgnoreEnabled)>();
    let mut count = 0;
    for entity in world.all_entities() {
        let left = world.query_filtered::<(), (F, IgnoreEnabled)>().matches(entity);
        let right = world.query_filtered::<(), (G, IgnoreEnabled)>().matches(entity);
        assert_eq!(ignoring.matches(entity), left || right);
        count += usize::from(left || right);
    }
    assert_eq!(ignoring.count(), count);
}

#[test]
fn a_union_finds_each_match_of_its_parts_once() {
    for limit in [1, 10, 70, 1000] {
        let world = crowd(limit);
        is_union::<With<A>, With<Tag>>(&world);
        is_union::<With<X>, With<Y>>(&world);
        is_union::<With<A>, With<X>>(&world);
        is_union::<(With<X>, Without<Y>), (With<Y>, Without<X>)>(&world);
        is_union::<IsDisabled<X>, (Present<Y>, Absent<A>)>(&world);
        is_union::<Without<X>, With<(A, Y)>>(&world);
        is_union::<With<Disabled>, With<A>>(&world);
        is_union::<(With<Disabled>, With<Prefab>), With<X>>(&world);
        is_union::<With<Prefab>, (Present<Disabled>, With<Y>)>(&world);
        is_union::<(), With<Disabled>>(&world);
    }
}

#[test]
fn other_conditions_hold_beside_a_union() {
    let mut world = crowd(70);
    type Either = Or<(With<X>, With<Tag>)>;
    let query = world.query_filtered::<(&A, Option<&Y>), (Either, Without<Y>)>();
    let expected = |world: &World| {
        let mut all = found::<(With<A>, Without<Y>)>(world);
        let either = found::<Either>(world);
        all.retain(|entity| either.contains(entity));
        all
    };
    assert_eq!(query.to_entities(), expected(&world));
    assert!(query.iter().all(|(_, y)| y.is_none()));
    let count = query.count();
    let mut changed = 0;
    world.query_filtered_mut::<&mut A, (Either, Without<Y>)>().for_each(|_| changed += 1);
    assert_eq!(changed, count);
    // Archetypes created later are found, too.
    let late = world.spawn((A(1), Tag, B(3)));
    assert!(found::<Either>(&world).contains(&late));
    assert_eq!(found::<Or<(With<B>,)>>(&world), [late]);
}

#[test]
fn dynamic_unions_find_the_same() {
    for limit in [1, 70, 1000] {
        let world = crowd(limit);
        let query = QueryDescriptor::new;
        let both = query().all([of::<X>()]).or(query().all([of::<Y>()]).absent([of::<A>()]));
        assert_eq!(
            both.query(&world).to_entities(),
            union::<With<X>, (With<Y>, Absent<A>)>(&world)
        );
        assert_eq!(both.query(&world).count(), both.query(&world).to_entities().len());
        // Later conditions apply to both alternatives.
        let tagged = both.clone().all([of::<Tag>()]);
        assert_eq!(
            tagged.query(&world).to_entities(),
            union::<With<(X, Tag)>, (With<(Y, Tag)>, Absent<A>)>(&world)
        );
        let any = both.clone().any([of::<Tag>(), of::<A>()]).include_disabled();
        type Either = Or<(With<X>, (With<Y>, Absent<A>))>;
        type Typed = (Either, ancho_entities::Any<(Tag, A)>, IncludeDisabled);
        let typed = world.query_filtered::<(), Typed>();
        assert_eq!(any.query(&world).to_entities(), typed.to_entities());
        // `include_disabled` applies to its own alternative.
        let disabled = query().all([of::<X>()]).include_disabled().or(query().all([of::<A>()]));
        let mut all = world.all_entities();
        let of_x = world.query_filtered::<&X, IncludeDisabled>();
        let of_a = world.query::<&A>();
        all.retain(|&entity| of_x.matches(entity) || of_a.matches(entity));
        assert_eq!(disabled.query(&world).to_entities(), all);
        assert_eq!(
            query().all([of::<X>()]).or(query().all([of::<X>()])).query(&world).to_entities(),
            found::<With<X>>(&world)
        );
        let ignoring = both.ignore_enabled();
        assert_eq!(
            ignoring.query(&world).to_entities(),
            union::<Present<X>, (Present<Y>, Absent<A>)>(&world)
        );
    }
}

#[test]
fn all_parts_must_agree_on_ignoring_enabled_state() {
    let one = || QueryDescriptor::new().all([of::<X>()]);
    let said = panic_message(|| one().or(one().ignore_enabled()));
    assert!(said.starts_with("A0094: ") && said.contains("second"), "{said}");
    let said = panic_message(|| one().ignore_enabled().or(one()));
    assert!(said.starts_with("A0094: ") && said.contains("first"), "{said}");
    assert!(format!("{:?}", one().or(one())).contains("queries::X"));
}

#[test]
fn a_union_refuses_disabled_filters_of_types_that_are_not_enableable() {
    let world = world();
    let said = panic_message(|| found::<Or<(With<A>, IsDisabled<B>)>>(&world));
    assert!(said.starts_with("A0070: "), "{said}");
}
