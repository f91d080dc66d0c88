//! Queries by types that are known only at run time (A12, Q1, Q3, Q4).

use ancho_entities::{
    Absent, Any, ComponentType, DynamicQuery, IsDisabled, Present, QueryFilter, RuntimeType, With,
    Without, World,
};

use crate::common::*;

fn x() -> ComponentType {
    ComponentType::of::<X>()
}

fn y() -> ComponentType {
    ComponentType::of::<Y>()
}

fn a() -> ComponentType {
    ComponentType::of::<A>()
}

#[track_caller]
fn same<F: QueryFilter>(world: &World, query: &DynamicQuery) {
    let typed = world.query::<()>().filter::<F>();
    assert_eq!(query.to_entities(world), typed.to_entities());
    assert_eq!(query.count(world), typed.count());
    let all = typed.clone().include_disabled().include_prefabs();
    let dynamic = query.clone().include_disabled().include_prefabs();
    assert_eq!(dynamic.to_entities(world), all.to_entities());
    assert!(all.count() > typed.count());
    let dynamic = query.clone().ignore_enabled();
    assert_eq!(dynamic.to_entities(world), typed.ignore_enabled().to_entities());
}

#[test]
fn a12_both_kinds_of_queries_find_the_same() {
    for limit in [1, 10, 70, 1000] {
        let world = crowd(limit);
        let query = DynamicQuery::new;
        same::<()>(&world, &query());
        same::<With<X>>(&world, &query().all([x()]));
        same::<With<(X, A)>>(&world, &query().all([x(), a()]));
        same::<Without<(X, Y)>>(&world, &query().none([x(), y()]));
        same::<(With<A>, Any<(X, Y)>)>(&world, &query().all([a()]).any([x(), y()]));
        same::<(Absent<Y>, Present<X>)>(&world, &query().absent([y()]).present([x()]));
        same::<(IsDisabled<X>, With<Y>)>(&world, &query().disabled([x()]).all([y()]));
    }
}

#[test]
fn a12_chunks_say_which_rows_are_found() {
    let world = crowd(70);
    let mut found = 0;
    for chunk in DynamicQuery::new().all([x()]).chunks(&*world) {
        assert!(chunk.count() > 0 && chunk.rows().count() == chunk.count());
        let values = chunk.chunk().slice::<X>().unwrap();
        assert!(chunk.rows().all(|row| values[row].0 % 5 != 0));
        assert!(chunk.entities().all(|entity| world.query::<&X>().matches(entity)));
        found += chunk.count();
        assert!(format!("{chunk:?}").starts_with("FoundChunk"));
    }
    assert_eq!(found, world.query::<&X>().count());
}

#[test]
fn q1_types_of_the_run_time_and_archetypes_that_come_later() {
    let name = "queries::dynamic::Mana";
    let mana = ComponentType::register(RuntimeType::new(name, 4, 4)).unwrap();
    let mut world = world();
    let query = DynamicQuery::new().all([mana]);
    assert_eq!(query.count(&*world), 0);
    let entity = world.spawn(A(1));
    world.entities_mut().add_types(entity, &[mana]).unwrap();
    assert_eq!(query.to_entities(&*world), [entity]);
    assert!(format!("{query:?}").contains(name));
    let fork = Checked(world.fork().unwrap());
    assert_eq!(query.to_entities(fork.entities()), [entity]);
}

#[test]
fn q4_what_cannot_be_off_is_refused() {
    let said = panic_message(|| DynamicQuery::new().disabled([x(), a()]));
    assert!(said.starts_with("A0070: `queries::A` cannot be"), "{said}");
}
