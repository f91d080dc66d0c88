//! Counts, lists and single entities.

use ancho_entities::{Entity, EntityError, IgnoreEnabled, With};

use crate::common::*;

#[test]
fn counts_with_and_without_filters() {
    let mut world = chunks_of(10);
    let all: Vec<_> = world.spawn_many(X(0), 100).collect();
    for &entity in all.iter().step_by(3) {
        world.set_component_enabled::<X>(entity, false).unwrap();
    }
    let query = world.query::<&X>();
    assert_eq!((query.count(), query.count_unfiltered()), (66, 100));
    assert_eq!(query.to_entities().len(), 66);
    for &entity in &all {
        world.set_component_enabled::<X>(entity, false).unwrap();
    }
    let query = world.query::<&X>();
    assert!(query.is_empty() && !query.is_empty_unfiltered());
    assert!(world.query::<&A>().is_empty_unfiltered());
    assert_eq!(world.query_filtered::<&X, IgnoreEnabled>().count(), 100);
}

#[test]
fn lists_of_entities_and_components_correspond() {
    let mut world = chunks_of(7);
    let all: Vec<Entity> = (0..50_u32)
        .map(|at| {
            if at % 3 == 0 { world.spawn((A(at), X(at))) } else { world.spawn((A(at), X(at), Tag)) }
        })
        .collect();
    for &entity in all.iter().step_by(4) {
        world.set_component_enabled::<X>(entity, false).unwrap();
    }
    let query = world.query_filtered::<&X, With<A>>();
    let entities = query.to_entities();
    let values = query.to_components::<A>().unwrap();
    assert_eq!(entities.len(), values.len());
    for (&entity, value) in entities.iter().zip(&values) {
        assert_eq!(world.get(entity), Ok(value));
    }
    let refused = query.to_components::<B>();
    assert!(matches!(refused, Err(EntityError::NotInQuery { .. })));
}

#[test]
fn values_are_written_back() {
    let mut world = chunks_of(7);
    let all: Vec<_> = world.spawn_batch((0..50).map(|at| (A(at), X(0)))).collect();
    for &entity in all.iter().step_by(4) {
        world.set_component_enabled::<X>(entity, false).unwrap();
    }
    let seen = world.version();
    world.advance_version();
    let state = world.state_hash();
    let few = world.query_mut::<(&X, &mut A)>().copy_from(&[A(0); 36]);
    assert_eq!(
        few.unwrap_err().to_string(),
        "A0060: the query matches 37 entities, but 36 values of `game::A` were passed; pass as many as `count` \
         returns, or the list of `to_components`"
    );
    let foreign = world.query_mut::<&X>().copy_from(&[A(0); 37]);
    assert!(matches!(foreign, Err(EntityError::NotGiven { .. })));
    assert_eq!(world.state_hash(), state);
    let changed = |world: &ancho_entities::World| {
        world.query_filtered::<(), ancho_entities::Changed<(A, X)>>().since(seen).count()
    };
    assert_eq!(changed(&world), 0);
    let values: Vec<A> = (100..137).map(A).collect();
    world.query_mut::<(&X, &mut A)>().copy_from(&values).unwrap();
    assert_eq!(world.query_filtered::<&X, With<A>>().to_components::<A>(), Ok(values));
    assert_eq!(world.get(all[0]), Ok(&A(0)), "disabled");
    assert_eq!(changed(&world), 50);
    let only = world.query_filtered::<(), ancho_entities::Changed<X>>().since(seen);
    assert_eq!(only.count(), 0);
}

#[test]
fn a_mask_tests_archetypes_and_matches_tests_everything() {
    let mut world = world();
    let (on, off, without) = (world.spawn(X(0)), world.spawn(X(0)), world.spawn(A(0)));
    world.set_component_enabled::<X>(off, false).unwrap();
    let query = world.query::<&X>();
    let mask = query.mask();
    assert_eq!([on, off, without].map(|entity| mask.matches(entity)), [true, true, false]);
    assert_eq!([on, off, without].map(|entity| query.matches(entity)), [true, false, false]);
    world.despawn(on).unwrap();
    assert!(!world.query::<&X>().mask().matches(on) && !world.query::<&X>().matches(Entity::NULL));
}

#[test]
fn single_is_one_or_an_error() {
    let mut world = world();
    let (query, found) = (std::any::type_name::<&A>(), 0);
    assert_eq!(world.query::<&A>().single(), Err(EntityError::NotSingle { query, found }));
    let entity = world.spawn(A(1));
    world.query_mut::<&mut A>().single_mut().unwrap().0 = 2;
    assert_eq!(world.query::<(Entity, &A)>().single(), Ok((entity, &A(2))));
    world.spawn((A(1), Tag));
    let seen = world.version();
    world.advance_version();
    let (query, found) = (std::any::type_name::<&mut A>(), 2);
    assert_eq!(
        world.query_mut::<&mut A>().single_mut(),
        Err(EntityError::NotSingle { query, found })
    );
    let changed = world.query_filtered::<(), ancho_entities::Changed<A>>().since(seen);
    assert!(changed.is_empty(), "nothing was given");
}

#[test]
fn one_entity_is_found_by_its_id() {
    let mut world = chunks_of(5);
    let all: Vec<_> = world.spawn_batch((0..20).map(|at| (A(at), X(at)))).collect();
    world.set_component_enabled::<X>(all[7], false).unwrap();
    let seen = world.version();
    world.advance_version();
    let mut query = world.query_mut::<(&mut A, &X)>();
    let (a, x) = query.get_mut(all[12]).unwrap();
    a.0 += x.0;
    assert_eq!(world.get(all[12]), Ok(&A(24)));
    assert!(world.query_mut::<(&mut A, &X)>().get_mut(all[7]).is_none());
    world.despawn(all[3]).unwrap();
    assert!(world.query_mut::<&mut A>().get_mut(all[3]).is_none());
    let changed = world.query_filtered::<(), (ancho_entities::Changed<A>, With<X>)>().since(seen);
    assert!(!changed.matches(all[7]) && changed.matches(all[12]));
}
