//! A separate value for each entity that a query finds.

use std::rc::Rc;
use std::sync::Arc;

use ancho_entities::{
    Buffer, Changed, Component, ComponentType, EntityError, Linked, LinkedEntityGroup, Managed,
    QueryDescriptor, Shared, With, World, WorldSettings,
};

use crate::common::*;

/// Spawns entities of several archetypes and chunks, some of them disabled, some already with text.
fn populate(world: &mut World) {
    world.spawn_batch((0..100).map(|at| (A(at), X(at))));
    world.spawn_batch((100..150).map(|at| (A(at), X(at), Text(format!("old {at}")))));
    world.spawn_batch((150..220).map(|at| (A(at), X(at), B(9), Shared::new(Team(at % 3)))));
    for entity in world.query::<&A>().to_entities().into_iter().step_by(7) {
        world.set_component_enabled::<X>(entity, false).unwrap();
    }
}

#[test]
fn each_entity_gets_the_value_at_its_index_in_the_query() {
    for limit in [10_000, 64, 7] {
        for forked in [false, true] {
            let mut world = chunks_of(limit);
            populate(&mut world);
            let fork = forked.then(|| world.fork().unwrap());
            let before = fork.as_ref().map(|fork| fork.state_hash());
            let found = world.query::<&X>().to_entities();
            let lacking = world.query_filtered::<&X, ancho_entities::Without<Text>>().count();
            let values = world.query::<(&A, &X)>().iter().map(|(a, _)| a.0).collect::<Vec<_>>();
            let sets = values.iter().map(|at| (Text(format!("new {at}")), T(*at), Tag));
            let since = world.version();
            world.advance_version();
            let added = world
                .batch(QueryDescriptor::of::<&X, ()>())
                .add_each(sets.collect::<Vec<_>>())
                .unwrap();
            assert_eq!(added, found.len(), "the tag was new for all");
            assert!(lacking < found.len());
            for (&entity, at) in found.iter().zip(values) {
                assert_eq!(world.get::<A>(entity), Ok(&A(at)));
                assert_eq!(world.get::<Text>(entity), Ok(&Text(format!("new {at}"))));
                assert_eq!(world.get::<T>(entity), Ok(&T(at)));
                assert!(world.has::<Tag>(entity));
            }
            assert_eq!(world.query_filtered::<(), With<Tag>>().count(), found.len());
            let changed = world.query_filtered::<(), Changed<T>>().since(since);
            assert_eq!(changed.count(), found.len());
            assert_eq!(fork.as_ref().map(|fork| fork.state_hash()), before);
        }
    }
}

#[test]
fn values_of_components_that_all_have_are_replaced_in_place() {
    let mut world = chunks_of(7);
    populate(&mut world);
    let found = world.query::<&X>().to_entities();
    let order = world.order_version();
    let sets: Vec<_> = (0..found.len() as u32).map(|at| A(1000 + at)).collect();
    assert_eq!(world.batch(QueryDescriptor::of::<&X, ()>()).add_each(sets).unwrap(), 0);
    assert_eq!(world.order_version(), order);
    assert_eq!(world.query::<&X>().to_entities(), found);
    for (at, &entity) in (1000..).zip(&found) {
        assert_eq!(world.get::<A>(entity), Ok(&A(at)));
    }
}

#[test]
fn tags_buffers_and_managed_components_can_be_added_to_each() {
    let mut world = chunks_of(7);
    let all: Vec<_> = world.spawn_batch((0..30).map(A)).collect();
    assert_eq!(world.batch(QueryDescriptor::of::<&A, ()>()).add_each(vec![Tag; 30]).unwrap(), 30);
    let script = Rc::new("script");
    let sets = (0..30).map(|at| {
        let items: Buffer<Item> = (0..at).map(Item).collect();
        (items, Managed::new(Script(format!("{script} {at}"))))
    });
    assert_eq!(world.batch(QueryDescriptor::of::<&A, ()>()).add_each(sets).unwrap(), 30);
    for (at, &entity) in all.iter().enumerate() {
        assert_eq!(world.buffer::<Item>(entity).unwrap().len(), at);
        assert_eq!(world.managed::<Script>(entity).unwrap().0, format!("script {at}"));
        assert!(world.has::<Tag>(entity));
    }
}

#[test]
fn a_wrong_number_of_values_is_refused_and_changes_nothing() {
    let mut world = chunks_of(7);
    populate(&mut world);
    let found = world.query::<&X>().count();
    let hash = world.state_hash();
    for count in [0, found - 1, found + 1] {
        let sets = vec![(B(1), Tag); count];
        let refused = world.batch(QueryDescriptor::of::<&X, ()>()).add_each(sets).unwrap_err();
        assert_eq!(refused.value.len(), count, "the sets are given back");
        let component = ComponentType::of::<B>();
        let error = EntityError::WrongCount { component, expected: found, found: count };
        assert_eq!(refused.error, error);
        let message = format!(
            "A0060: the query matches {found} entities, but {count} values of `queries::B` were passed; pass as many \
             as `count` returns, or the list of `to_components`"
        );
        assert_eq!(refused.error.to_string(), message);
    }
    assert_eq!(world.state_hash(), hash);
    let nothing = world.batch(QueryDescriptor::of::<&X, With<Y>>()).add_each(Vec::<B>::new());
    assert_eq!(nothing.unwrap(), 0);
}

/// A component with a destructor.
#[derive(Component)]
#[component(name = "queries::Kept")]
struct Kept(#[field(opaque)] Arc<u32>);

#[test]
fn each_value_is_dropped_once() {
    let value = Arc::new(7);
    let sets = |count: usize| (0..count).map(|_| Kept(Arc::clone(&value))).collect::<Vec<_>>();
    let settings = WorldSettings::new().strict(true).chunk_capacity_limit(7);
    let mut world = World::with_settings("Strict", settings);
    let all: Vec<_> = world.spawn_batch((0..20).map(A)).collect();
    drop(world.batch(QueryDescriptor::of::<&A, ()>()).add_each(sets(19)).unwrap_err());
    assert_eq!(Arc::strong_count(&value), 1);
    world.batch(QueryDescriptor::of::<&A, ()>()).add_each(sets(20)).unwrap();
    assert_eq!(Arc::strong_count(&value), 21);
    let refused = world.batch(QueryDescriptor::of::<&A, ()>()).add_each(sets(20)).unwrap_err();
    assert!(matches!(refused.error, EntityError::AlreadyPresent { .. }), "a strict world");
    assert_eq!(refused.value.len(), 20);
    drop(refused);
    assert_eq!(Arc::strong_count(&value), 21);
    assert_eq!(*world.get::<Kept>(all[3]).unwrap().0, 7);
    drop(world);
    assert_eq!(Arc::strong_count(&value), 1);
    // Replaced values are dropped.
    let mut world = chunks_of(7);
    world.spawn_batch((0..20).map(A));
    world.batch(QueryDescriptor::of::<&A, ()>()).add_each(sets(20)).unwrap();
    world.batch(QueryDescriptor::of::<&A, ()>()).add_each(sets(20)).unwrap();
    assert_eq!(Arc::strong_count(&value), 21);
}

#[test]
fn dynamic_queries_add_a_value_to_each_entity() {
    let mut world = chunks_of(7);
    populate(&mut world);
    let query = QueryDescriptor::new().all([ComponentType::of::<X>()]);
    let found = query.query(&world).to_entities();
    let sets: Vec<_> = (0..found.len() as u32).map(T).collect();
    assert_eq!(world.batch(&query).add_each(sets).unwrap(), found.len());
    for (at, &entity) in (0..).zip(&found) {
        assert_eq!(world.get::<T>(entity), Ok(&T(at)));
    }
    assert!(world.batch(&query).add_each([T(1)]).is_err());
}

/// A tag with a destructor.
#[derive(Component, Clone)]
#[component(name = "queries::Seal")]
struct Seal;

thread_local! {
    static SEALS_DROPPED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

impl Drop for Seal {
    fn drop(&mut self) {
        SEALS_DROPPED.set(SEALS_DROPPED.get() + 1);
    }
}

#[test]
fn each_tag_is_dropped_once() {
    // Whole chunks, and chunks that match in part.
    for count in [14, 20] {
        SEALS_DROPPED.set(0);
        let mut world = chunks_of(7);
        world.spawn_batch((0..count).map(|at| (A(at), X(at))));
        world.batch(QueryDescriptor::of::<&X, ()>()).add_each((0..count).map(|_| Seal)).unwrap();
        assert_eq!(SEALS_DROPPED.get(), 0);
        world
            .batch(QueryDescriptor::of::<&X, ()>())
            .add_each((0..count).map(|_| (Seal, Tag)))
            .unwrap();
        assert_eq!(SEALS_DROPPED.get(), count as usize, "the first ones are replaced");
        drop(world);
        assert_eq!(SEALS_DROPPED.get(), 2 * count as usize);
    }
}

#[test]
fn a_slice_gives_each_entity_the_set_at_its_place_in_the_slice() {
    for limit in [10_000, 7] {
        let mut world = chunks_of(limit);
        populate(&mut world);
        // Entities of several chunks and archetypes, neither in their order nor all of them.
        let mut entities = world.query::<&A>().to_entities();
        entities.reverse();
        let entities: Vec<_> = entities.into_iter().step_by(3).collect();
        let lacking = entities.iter().filter(|&&entity| !world.has::<Text>(entity)).count();
        let texts = (0..entities.len()).map(|at| Text(format!("slice {at}")));
        assert_eq!(world.batch(&entities).add_each(texts).unwrap(), lacking);
        assert!(0 < lacking && lacking < entities.len());
        for (at, &entity) in entities.iter().enumerate() {
            assert_eq!(world.get::<Text>(entity), Ok(&Text(format!("slice {at}"))));
        }
        let others = world.query::<&Text>().iter().filter(|text| text.0.starts_with("old")).count();
        assert_eq!(world.query::<&Text>().count(), entities.len() + others);
    }
}

#[test]
fn an_entity_that_a_slice_names_twice_keeps_the_last_set() {
    let mut world = chunks_of(7);
    let [one, other] = [world.spawn(A(1)), world.spawn(A(2))];
    let sets = [(B(1), Tag), (B(2), Tag), (B(3), Tag)];
    assert_eq!(world.batch(&[one, other, one]).add_each(sets).unwrap(), 2);
    assert_eq!((world.get::<B>(one), world.get::<B>(other)), (Ok(&B(3)), Ok(&B(2))));
    assert_eq!(world.batch(&[]).add_each(Vec::<B>::new()).unwrap(), 0);
}

#[test]
fn a_slice_that_is_refused_changes_nothing_and_returns_the_sets() {
    let mut world = chunks_of(7);
    let all: Vec<_> = world.spawn_batch((0..10).map(A)).collect();
    let texts = || (0..10).map(|at| Text(at.to_string())).collect::<Vec<_>>();
    let refused = world.batch(&all[1..]).add_each(texts()).unwrap_err();
    assert_eq!(refused.value, texts());
    let component = ComponentType::of::<Text>();
    let expected = EntityError::WrongCount { component, expected: 9, found: 10 };
    assert_eq!(refused.error, expected);
    world.despawn(all[9]).unwrap();
    let refused = world.batch(&all).add_each(texts()).unwrap_err();
    assert_eq!(refused.value, texts());
    assert!(matches!(refused.error, EntityError::NoSuchEntity { .. }), "{:?}", refused.error);
    assert!(world.query::<&Text>().is_empty());
}

#[test]
fn a_linked_group_gives_each_member_the_set_at_its_place_in_the_group() {
    let mut world = chunks_of(3);
    let all: Vec<_> = world.spawn_batch((0..8).map(A)).collect();
    // One member is named twice, and one does not exist any more.
    let group = [0, 5, 2, 5, 7, 1].map(|at| LinkedEntityGroup(all[at]));
    world.add(all[0], Buffer::from(group)).unwrap();
    world.despawn(all[7]).unwrap();
    let members = [0, 5, 2, 1].map(|at| all[at]);
    let texts = (0..4).map(|at| Text(at.to_string()));
    assert_eq!(world.batch(Linked(all[0])).add_each(texts).unwrap(), 4);
    for (at, member) in members.into_iter().enumerate() {
        assert_eq!(world.get::<Text>(member), Ok(&Text(at.to_string())));
    }
    assert_eq!(world.query::<&Text>().count(), 4);
    // An entity without a group is its only member.
    assert_eq!(world.batch(Linked(all[4])).add_each([Text("alone".into())]).unwrap(), 1);
    let refused = world.batch(Linked(all[0])).add_each([Tag; 5]).unwrap_err();
    assert!(matches!(refused.error, EntityError::WrongCount { expected: 4, found: 5, .. }));
    let refused = world.batch(Linked(all[7])).add_each([Tag]).unwrap_err();
    assert_eq!(refused.value, [Tag]);
    assert!(world.query::<&Tag>().is_empty());
}
