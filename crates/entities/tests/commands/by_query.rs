//! Commands for all that a query finds when they are played.

use ancho_entities::{CommandFault, EntityCommandBuffer, Present, Shared, With, Without};

use crate::common::*;

#[test]
fn cb9_queries_find_what_is_there_when_they_are_played() {
    let mut world = world();
    let early = world.spawn(A(1));
    let changed = world.spawn(A(2));
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    commands.for_query::<&A, Without<Lamp>>().add(Tag);
    // After recording, and before playback.
    let late = world.spawn(A(3));
    world.add(changed, Lamp).unwrap();
    world.despawn(early).unwrap();
    world.play(&mut buffer).unwrap();
    assert!(world.has::<Tag>(late) && !world.has::<Tag>(changed));
}

#[test]
fn cb9_queries_see_what_the_commands_before_them_did_and_not_what_comes_after() {
    let mut world = world();
    let old = world.spawn(A(1));
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    let before = commands.spawn(A(2));
    commands.remove::<A>(old);
    commands.for_query::<&A, ()>().add(Tag);
    let after = commands.spawn(A(3));
    commands.add(old, A(4));
    commands.for_query::<(), With<Tag>>().add(B("tagged".into()));
    world.play(&mut buffer).unwrap();
    let id = |placeholder| buffer.resolve(placeholder).unwrap();
    assert!(world.has::<(Tag, B)>(id(before)));
    assert!(!world.has::<Tag>(id(after)) && !world.has::<Tag>(old));
}

#[test]
fn cb9_by_key_a_query_comes_where_its_key_says() {
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    commands.set_sort_key(Some(5));
    commands.spawn_many(3, A(1));
    commands.set_sort_key(Some(4));
    commands.for_query::<&A, ()>().despawn();
    commands.set_sort_key(Some(3));
    commands.spawn_many(7, A(2));
    world.play(&mut buffer).unwrap();
    assert!(world.query::<&A>().iter().map(|a| a.0).eq([1, 1, 1]));
}

#[test]
fn cb9_a_query_sees_what_is_destroyed_later() {
    // What is destroyed in the end is not left out, if somebody might see it in between.
    let mut world = world();
    let old = world.spawn(A(1));
    let ledger = Ledger::new();
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    let brief = commands.spawn((A(2), ledger.value(1)));
    commands.add(old, Lamp);
    commands.for_query::<&A, With<Lamp>>().add(Stays(1));
    commands.for_query::<&A, With<Counted>>().add(Stays(2));
    commands.despawn(brief);
    commands.despawn(old);
    world.play(&mut buffer).unwrap();
    let brief = buffer.resolve(brief).unwrap();
    assert_eq!((world.get(old), world.get(brief)), (Ok(&Stays(1)), Ok(&Stays(2))));
    assert!(!world.has::<A>(old) && !world.has::<A>(brief));
    assert_eq!(ledger.live(), 0);
}

#[test]
fn cb9_a_query_that_finds_nobody_changes_nothing() {
    let mut world = world();
    world.spawn(A(1));
    let before = world.state_hash();
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    commands.for_query::<&B, ()>().despawn();
    commands.for_query::<&B, ()>().add(A(1));
    commands.for_query::<&B, ()>().remove::<A>();
    commands.for_query::<&B, ()>().set_enabled(false);
    world.play(&mut buffer).unwrap();
    assert_eq!((world.state_hash(), world.entity_count()), (before, 1));
}

#[test]
fn cb9_errors_of_queries_are_those_of_the_world() {
    let mut world = world();
    world.spawn(A(1));
    let direct = world.query_mut::<&A>().set_shared(Team("red")).unwrap_err();
    let (number, fault) = fails(&mut world, |commands| {
        commands.for_query::<&A, ()>().set_shared(Team("red"));
    });
    assert_eq!((number, fault), (1, CommandFault::Entity(direct)));
    let direct = world.query_mut::<&A>().set_component_enabled::<Lamp>(false).unwrap_err();
    let (_, fault) = fails(&mut world, |commands| {
        commands.for_query::<&A, ()>().set_component_enabled::<Lamp>(false);
    });
    assert_eq!(fault, CommandFault::Entity(direct));
}

#[test]
fn cb9_values_are_cloned_for_all_that_are_found() {
    let ledger = Ledger::new();
    let mut world = chunks_of(10);
    world.spawn_many(25, (A(1), Shared::new(Team("red"))));
    let mut buffer = EntityCommandBuffer::new();
    buffer.commands().unwrap().for_query::<&A, Present<Shared<Team>>>().add(ledger.value(5));
    assert_eq!(ledger.live(), 1);
    world.play(&mut buffer).unwrap();
    assert_eq!(ledger.live(), 25);
    assert!(world.query::<&Counted>().iter().all(|value| value.number == 5));
    buffer.clear().unwrap();
    buffer.commands().unwrap().for_query::<&Counted, ()>().despawn();
    world.play(&mut buffer).unwrap();
    assert_eq!(ledger.live(), 0);
}
