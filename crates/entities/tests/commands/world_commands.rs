//! Commands that need the world: resources and functions.

use std::sync::Arc;

use ancho_entities::{CommandFault, Entity, EntityCommandBuffer, EntityManager, Resource, World};

use crate::common::{A, Link, Tag, Wrapped, first_failure, panic_message, strict_world, world};

#[derive(Resource, Clone, Debug, PartialEq)]
struct Score(u32);

#[derive(Resource, Clone)]
struct Text(String);

#[test]
fn resources_are_inserted_and_removed_at_their_place_in_the_buffer() {
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    commands.spawn(A(1));
    commands.insert_resource(Score(1));
    commands.run("count", |world| {
        assert_eq!(world.entity_count(), 1);
        world.resource_mut::<Score>().0 += 10;
        Ok(())
    });
    commands.insert_resource(Text(String::new()));
    commands.spawn(A(2));
    commands.remove_resource::<Text>();
    commands.remove_resource::<Wrapped<u32>>();
    let trace = buffer.trace();
    assert!(trace.contains("2: insert resource `commands::world_commands::Score`"), "{trace}");
    assert!(trace.contains("3: count\n"), "{trace}");
    world.play(&mut buffer).unwrap();
    assert_eq!(world.resource::<Score>(), &Score(11));
    assert!(!world.has_resource::<Text>());
    assert_eq!(world.entity_count(), 2);
}

#[test]
fn short_runs_are_coalesced_around_commands_for_the_world() {
    let mut world = world();
    let old: Vec<_> = world.spawn_many(A(0), 20).collect();
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    let seen = old.clone();
    for &entity in &old {
        commands.add(entity, Tag);
        commands.set(entity, A(1));
    }
    commands.run("look", move |world| {
        assert!(
            seen.iter().all(|&entity| world.get(entity) == Ok(&A(1)) && world.has::<Tag>(entity))
        );
        Ok(())
    });
    commands.insert_resource(Score(1));
    for &entity in &old {
        commands.remove::<Tag>(entity);
        commands.set(entity, A(2));
    }
    commands.insert_resource(Score(2));
    world.play(&mut buffer).unwrap();
    assert!(old.iter().all(|&entity| world.get(entity) == Ok(&A(2)) && !world.has::<Tag>(entity)));
    assert_eq!(world.resource::<Score>(), &Score(2));
}

#[test]
fn a_manager_refuses_commands_for_the_world_and_applies_the_others() {
    let mut world = world();
    let count = Arc::new(());
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    commands.spawn(A(1));
    commands.insert_resource(Wrapped(count.clone()));
    commands.spawn(A(2));
    let entities: &mut EntityManager = &mut world;
    let error = entities.play(&mut buffer).unwrap_err();
    let report = error.report().unwrap();
    assert_eq!((report.failed(), report.skipped()), (1, 0));
    assert_eq!(report.failures()[0].fault(), CommandFault::NeedsWorld);
    assert_eq!(
        report.failures()[0].fault().to_string(),
        "A0240: the command needs the world, but an `EntityManager` plays the buffer; play it with `World::play`, or record it in \
         a system"
    );
    assert_eq!((world.entity_count(), Arc::strong_count(&count)), (2, 1));
}

#[test]
fn a_strict_world_stops_at_a_function_that_fails() {
    let mut world = strict_world();
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    commands.spawn(A(1));
    commands.run("fail", |_| Err("no fuel".into()));
    commands.spawn(A(2));
    let failed = first_failure(world.play(&mut buffer));
    assert_eq!((failed.number(), failed.command()), (2, "fail"));
    assert_eq!(failed.fault(), CommandFault::Function { message: "no fuel".into() });
    assert_eq!(world.entity_count(), 1);
    world.check_invariants().unwrap();
}

#[test]
fn placeholders_are_created_before_and_after_a_function() {
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    let king = commands.spawn(A(1));
    commands.run("spawn others", |world| {
        world.spawn_many(Tag, 5);
        Ok(())
    });
    let knight = commands.spawn(Link(king));
    commands.add(king, Link(knight));
    world.play(&mut buffer).unwrap();
    let (king, knight) = (buffer.resolve(king).unwrap(), buffer.resolve(knight).unwrap());
    assert_eq!((world.get(king), world.get(knight)), (Ok(&Link(knight)), Ok(&Link(king))));
}

#[test]
fn a_reusable_buffer_clones_functions_and_refuses_resources() {
    let (mut one, mut other) = (world(), world());
    let mut buffer = EntityCommandBuffer::reusable();
    let commands = buffer.commands().unwrap();
    let name = String::from("x");
    commands.run("insert", move |world| {
        world.insert_resource(Text(name));
        Ok(())
    });
    commands.remove_resource::<Score>();
    one.insert_resource(Score(1));
    one.play(&mut buffer).unwrap();
    other.play(&mut buffer).unwrap();
    assert_eq!((&*one.resource::<Text>().0, &*other.resource::<Text>().0), ("x", "x"));
    assert!(!one.has_resource::<Score>());
    let mut buffer = EntityCommandBuffer::reusable();
    buffer.commands().unwrap().insert_resource(Score(1));
    let said = first_failure(one.play(&mut buffer)).fault().to_string();
    assert!(said.starts_with("A0081: the value of `insert resource`, a `"), "{said}");
}

#[test]
fn a_function_that_replaces_the_entities_ends_the_playback() {
    let mut world = world();
    world.spawn_many(A(0), 3);
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    let created = commands.spawn(A(1));
    commands.run("exchange", |world| {
        *world = World::new("other");
        world.spawn(Tag);
        Ok(())
    });
    let lost = commands.spawn(A(2));
    commands.add(Entity::NULL, Tag);
    let error = world.play(&mut buffer).unwrap_err();
    let report = error.report().unwrap();
    assert_eq!((report.failed(), report.failures()[0].number()), (1, 2));
    assert_eq!(report.failures()[0].fault(), CommandFault::EntitiesReplaced);
    assert_eq!((world.name(), world.entity_count()), ("other", 1));
    assert!(!world.exists(buffer.resolve(created).unwrap_or(Entity::NULL)));
    assert!(!world.exists(buffer.resolve(lost).unwrap_or(Entity::NULL)));
    world.check_invariants().unwrap();
}

#[test]
fn a_panic_keeps_the_commands_before_it_and_drops_the_others() {
    let mut world = world();
    let count = Arc::new(());
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    commands.insert_resource(Score(3));
    commands.run("panic", |_| panic!("a function that panics"));
    commands.insert_resource(Wrapped(count.clone()));
    commands.insert_resource(Score(4));
    assert_eq!(panic_message(|| world.play(&mut buffer)), "a function that panics");
    assert_eq!((world.resource::<Score>(), Arc::strong_count(&count)), (&Score(3), 1));
    world.check_invariants().unwrap();
}

#[test]
fn sort_keys_apply_to_commands_for_the_world() {
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    commands.set_sort_key(Some(2));
    commands.insert_resource(Score(2));
    commands.set_sort_key(Some(1));
    commands.insert_resource(Score(1));
    world.play(&mut buffer).unwrap();
    assert_eq!(world.resource::<Score>(), &Score(2));
}
