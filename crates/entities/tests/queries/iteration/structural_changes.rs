//! Loops that create, destroy and change entities.

use ancho_entities::{
    Buffer, Changed, Entity, Linked, LinkedEntityGroup, QueryDescriptor, Shared, With, Without,
};

use crate::common::*;

#[test]
fn the_loop_visits_the_entities_of_its_start() {
    let mut world = chunks_of(3);
    let all: Vec<_> = world.spawn_batch((0..10).map(A)).collect();
    let mut visited = Vec::new();
    world.batch(QueryDescriptor::of::<&A, ()>()).for_each(|entities, entity| {
        visited.push(entity);
        let value = entities.get::<A>(entity).unwrap().0;
        entities.spawn(A(value + 100));
        entities.add(entity, Tag).unwrap();
    });
    assert_eq!(visited, all);
    assert_eq!(world.query::<&A>().count(), 20);
    assert_eq!(world.query_filtered::<&A, With<Tag>>().count(), 10);
}

#[test]
fn entities_despawned_meanwhile_are_skipped() {
    let mut world = chunks_of(3);
    let all: Vec<_> = world.spawn_batch((0..10).map(A)).collect();
    let mut visited = Vec::new();
    world.batch(QueryDescriptor::of::<&A, ()>()).for_each(|entities, entity| {
        visited.push(entity);
        let at = all.iter().position(|&other| other == entity).unwrap();
        entities.despawn(all[9 - at]).unwrap();
        // It reuses the freed slot, but is not one of the listed entities.
        entities.spawn(A(1000));
    });
    assert_eq!(visited, all[..5]);
    assert_eq!(world.entity_count(), 10);
}

#[test]
fn entities_that_no_longer_match_are_skipped() {
    let mut world = chunks_of(3);
    let all: Vec<_> =
        world.spawn_batch((0..12).map(|at| (A(at), X(at), Shared::new(Team(0))))).collect();
    let mut visited: Vec<Entity> = Vec::new();
    let query = world.batch(QueryDescriptor::of::<(&A, &X), Without<Tag>>().with_shared(Team(0)));
    query.for_each(|entities, entity| {
        visited.push(entity);
        if entity == all[0] {
            entities.add(all[1], Tag).unwrap();
            entities.remove::<A>(all[2]).unwrap();
            entities.set_component_enabled::<X>(all[3], false).unwrap();
            entities.set_shared(all[4], Team(1)).unwrap();
            entities.set_enabled(all[5], false).unwrap();
            // An entity that moves and still matches is visited.
            entities.add(all[6], B(1)).unwrap();
            // An entity that matches again in time is visited, too.
            entities.remove::<X>(all[11]).unwrap();
        }
        if entity == all[10] {
            entities.add(all[11], X(1)).unwrap();
        }
    });
    assert_eq!(visited, [0, 6, 7, 8, 9, 10, 11].map(|at| all[at]));
}

#[test]
fn changed_entities_are_visited_if_they_still_count_as_changed() {
    let mut world = chunks_of(1);
    let all: Vec<_> = world.spawn_batch((0..3).map(A)).collect();
    let seen = world.version();
    world.advance_version();
    world.get_mut::<A>(all[1]).unwrap().0 += 1;
    let mut visited = Vec::new();
    let changed = world.batch(QueryDescriptor::of::<&A, Changed<A>>().since(seen));
    changed.for_each(|entities, entity| {
        visited.push(entity);
        entities.get_mut::<A>(all[2]).unwrap().0 += 1;
    });
    assert_eq!(visited, [all[1]]);
}

#[test]
fn a_panic_keeps_earlier_changes() {
    let mut world = chunks_of(3);
    world.spawn_batch((0..10).map(A));
    let said = panic_message(|| {
        world.batch(QueryDescriptor::of::<&A, ()>()).for_each(|entities, entity| {
            assert!(entities.entity_count() > 6, "enough");
            entities.despawn(entity).unwrap();
        });
    });
    assert_eq!((said.as_str(), world.entity_count()), ("enough", 6));
}

#[test]
fn the_entities_of_a_slice_come_in_its_order() {
    let mut world = chunks_of(3);
    let all: Vec<_> = world.spawn_batch((0..10).map(A)).collect();
    let listed = [7, 2, 9, 2, 0].map(|at| all[at]);
    let mut visited = Vec::new();
    world.batch(&listed).for_each(|entities, entity| {
        visited.push(entity);
        entities.spawn(A(100));
        match entities.has::<Tag>(entity) {
            // It is named twice, and exists the first time only.
            true => assert!(entities.despawn(entity).is_ok()),
            false => assert!(entities.add(entity, Tag).is_ok_and(|is_new| is_new)),
        }
        if entity == all[7] {
            entities.despawn(all[9]).unwrap();
        }
    });
    assert_eq!(visited, [7, 2, 2, 0].map(|at| all[at]), "one died before its turn");
    assert_eq!(world.query_filtered::<Entity, With<Tag>>().count(), 2);
    assert_eq!(world.entity_count(), 10 - 2 + 4);
    world.batch(&[]).for_each(|_, _| unreachable!());
}

#[test]
fn the_members_of_a_linked_group_come_once_each() {
    let mut world = chunks_of(3);
    let all: Vec<_> = world.spawn_batch((0..6).map(A)).collect();
    let group = [0, 4, 1, 4, 5].map(|at| LinkedEntityGroup(all[at]));
    world.add(all[0], Buffer::from(group)).unwrap();
    let mut visited = Vec::new();
    world.batch(Linked(all[0])).for_each(|entities, member| {
        visited.push(member);
        // Members were listed before: removing the group changes nothing, and dead members are skipped.
        if member == all[0] {
            entities.remove::<Buffer<LinkedEntityGroup>>(member).unwrap();
            entities.despawn(all[1]).unwrap();
        }
        entities.add(member, Tag).unwrap();
    });
    assert_eq!(visited, [0, 4, 5].map(|at| all[at]));
    assert_eq!(world.query_filtered::<(), With<Tag>>().count(), 3);
    visited.clear();
    world.batch(Linked(all[2])).for_each(|_, member| visited.push(member));
    assert_eq!(visited, [all[2]], "an entity without a group");
    world.batch(Linked(all[1])).for_each(|_, _| unreachable!("it does not exist"));
}
