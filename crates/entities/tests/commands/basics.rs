//! Playback applies the recorded commands.

use std::sync::Arc;

use ancho_entities::{
    Buffer, CommandError, CommandFault, Entity, EntityCommandBuffer, EntityError, Linked,
    LinkedEntityGroup, QueryDescriptor, Shared, With,
};

use crate::common::*;

#[test]
fn each_command_equals_the_method_of_the_world() {
    let mut world = world();
    let old = world.spawn((A(1), Lamp));
    let gone = world.spawn(A(2));
    let archetype = world.archetype::<A>();
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    let spawned = commands.spawn((A(3), Text("three".into())));
    let many = commands.spawn_many(A(4), 3);
    let batch = commands.spawn_batch((5..8).map(A));
    let created = commands.create(archetype);
    let copy = commands.instantiate(old);
    let copies = commands.instantiate_many(old, 2);
    commands.despawn(gone);
    commands.add(old, Text("old".into()));
    commands.set(old, A(10));
    commands.remove::<A>(spawned);
    commands.add(old, Shared::new(Team("red")));
    commands.set(old, Shared::new(Team("blue")));
    commands.add_buffer(old, [Item(1), Item(2)]);
    commands.append(old, Item(3));
    commands.set_component_enabled::<Lamp>(old, false);
    commands.set_enabled(created, false);
    commands.set_name(old, "Methuselah");
    assert_eq!(buffer.len(), 17);
    assert_eq!(world.entity_count(), 2, "nothing happens before it is played");
    world.play(&mut buffer).unwrap();

    let id = |placeholder| buffer.resolve(placeholder).unwrap();
    assert!(!world.exists(gone));
    assert_eq!(world.get(old), Ok(&A(10)));
    assert_eq!(world.get(old), Ok(&Text("old".into())));
    assert_eq!(world.shared(old), Ok(&Team("blue")));
    assert_eq!(world.buffer(old), Ok(&[Item(1), Item(2), Item(3)][..]));
    assert!(!world.is_component_enabled::<Lamp>(old).unwrap());
    assert_eq!(world.entity_name(old), Some("Methuselah"));
    assert!(!world.has::<A>(id(spawned)) && world.has::<Text>(id(spawned)));
    assert!(many.iter().all(|entity| world.get(id(entity)) == Ok(&A(4))));
    let values: Vec<_> = batch.iter().map(|entity| *world.get::<A>(id(entity)).unwrap()).collect();
    assert_eq!(values, [A(5), A(6), A(7)]);
    assert_eq!(world.get(id(created)), Ok(&A(0)));
    assert!(!world.is_enabled(id(created)));
    assert_eq!(world.get(id(copy)), Ok(&A(1)));
    assert!(copies.iter().all(|entity| world.get(id(entity)) == Ok(&A(1))));
    world.check_invariants().unwrap();
}

#[test]
fn placeholders_are_resolved_in_values() {
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    // The references form a circle; the first entity precedes the second.
    let first = commands.spawn(());
    let second = commands.spawn(Link(first));
    commands.add(first, Link(second));
    commands.add(first, Buffer::from([Friend(second), Friend(Entity::NULL)]));
    commands.append(first, Friend(first));
    world.play(&mut buffer).unwrap();
    let (first, second) = (buffer.resolve(first).unwrap(), buffer.resolve(second).unwrap());
    assert_eq!(world.get(first), Ok(&Link(second)));
    assert_eq!(world.get(second), Ok(&Link(first)));
    let friends = [Friend(second), Friend(Entity::NULL), Friend(first)];
    assert_eq!(world.buffer(first), Ok(&friends[..]));
}

#[test]
fn recording_with_the_world_returns_real_ids() {
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new();
    let recycled: Vec<_> = world.spawn_many((), 3).collect();
    world.batch(&recycled[..2]).despawn().unwrap();
    let mut commands = world.commands(&mut buffer).unwrap();
    let first = commands.spawn(A(1));
    let rest = commands.spawn_many(A(2), 3).to_vec();
    commands.add(first, Link(rest[2]));
    // Another entity takes the next id before playback.
    let between = world.spawn(A(9));
    world.check_invariants().unwrap();
    assert!(!world.exists(first) && rest.iter().all(|&id| !world.exists(id) && id != between));
    world.play(&mut buffer).unwrap();
    assert_eq!(world.get(first), Ok(&A(1)));
    assert_eq!(world.get(first), Ok(&Link(rest[2])));
    assert!(rest.iter().all(|&id| world.get(id) == Ok(&A(2))));
    assert_eq!(world.get(between), Ok(&A(9)));
    world.check_invariants().unwrap();
}

#[test]
fn a_buffer_is_played_once_unless_it_is_reusable() {
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new();
    let entity = buffer.commands().unwrap().spawn((A(1), Text("b".into())));
    world.play(&mut buffer).unwrap();
    let refused = world.play(&mut buffer).unwrap_err();
    assert!(matches!(refused, CommandError::AlreadyPlayed { .. }), "{refused}");
    assert!(buffer.commands().unwrap_err().to_string().starts_with("A0080: "));
    let before = buffer.resolve(entity).unwrap();
    buffer.clear().unwrap();
    assert_eq!(buffer.resolve(entity), None);
    buffer.commands().unwrap().spawn(A(2));
    world.play(&mut buffer).unwrap();
    assert_eq!((world.get(before), world.entity_count()), (Ok(&A(1)), 2));

    let mut wave = EntityCommandBuffer::reusable();
    let commands = wave.commands().unwrap();
    let king = commands.spawn((A(1), Text("king".into())));
    commands.spawn(Link(king));
    for round in 1..4 {
        world.play(&mut wave).unwrap();
        let king = wave.resolve(king).unwrap();
        assert_eq!(world.query::<&Link>().iter().filter(|link| link.0 == king).count(), 1);
        assert_eq!(world.entity_count(), 2 + 2 * round);
    }
    assert!(world.commands(&mut EntityCommandBuffer::reusable()).is_err());
}

#[test]
fn the_first_command_that_fails_stops_the_buffer_in_a_strict_world() {
    let mut world = strict_world();
    let (stone, orc) = (world.spawn(A(1)), world.spawn(A(2)));
    let count = Arc::new(());
    let mut buffer = EntityCommandBuffer::new().named("fight");
    let commands = buffer.commands().unwrap();
    let early = commands.spawn(Owned(count.clone()));
    commands.despawn(orc);
    commands.set(stone, Owned(count.clone()));
    let late = commands.spawn(Owned(count.clone()));
    commands.despawn(stone);
    let error = world.play(&mut buffer).unwrap_err();
    let CommandError::Failed(report) = &error else { panic!("{error}") };
    assert_eq!((report.failed(), report.skipped(), report.failures()[0].number()), (1, 0, 3));
    assert!(matches!(
        report.failures()[0].fault(),
        CommandFault::Entity(EntityError::MissingComponent { entity, .. }) if entity == stone
    ));
    assert!(world.exists(buffer.resolve(early).unwrap()) && !world.exists(orc));
    assert!(world.exists(stone));
    assert_eq!(buffer.resolve(late), None);
    assert_eq!(Arc::strong_count(&count), 2, "commands that were not applied are dropped");
    world.check_invariants().unwrap();
}

#[test]
fn values_of_a_buffer_that_is_dropped_are_dropped() {
    let count = Arc::new(());
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    let entity = commands.spawn(Owned(count.clone()));
    commands.add(entity, Owned(count.clone()));
    commands.spawn_batch((0..5).map(|_| Owned(count.clone())));
    commands.spawn_many(Owned(count.clone()), 5);
    let kept = count.clone();
    commands.run("keep", move |_| {
        drop(kept.clone());
        Ok(())
    });
    assert_eq!(Arc::strong_count(&count), 10);
    drop(buffer);
    assert_eq!(Arc::strong_count(&count), 1);
}

#[test]
fn groups_and_queries() {
    let mut world = world();
    let (root, member) = (world.spawn(A(1)), world.spawn(A(2)));
    world.add(root, Buffer::from([LinkedEntityGroup(root), LinkedEntityGroup(member)])).unwrap();
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    let copy = commands.instantiate(root);
    commands.batch(Linked(copy)).add(Text("b".into()));
    commands.batch(Linked(root)).set(A(7));
    commands.batch(QueryDescriptor::of::<&A, With<Buffer<LinkedEntityGroup>>>()).add(Lamp);
    world.play(&mut buffer).unwrap();
    let copy = buffer.resolve(copy).unwrap();
    let group: Vec<_> = world.buffer::<LinkedEntityGroup>(copy).unwrap().to_vec();
    assert_eq!((group.len(), group[0].0), (2, copy));
    assert!(group.iter().all(|member| world.get(member.0) == Ok(&Text("b".into()))));
    assert_eq!((world.get(root), world.get(member)), (Ok(&A(7)), Ok(&A(7))));
    assert!(world.has::<Lamp>(copy) && world.has::<Lamp>(root) && !world.has::<Lamp>(member));
    let _ = Shared::new(Team("x"));
}
