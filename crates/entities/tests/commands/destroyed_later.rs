//! Commands for entities that a later command destroys: the observable result is the same as one by one.

use ancho_entities::{
    Buffer, CommandFault, CommandRecorder, Entity, EntityCommandBuffer, EntityError,
    LinkedEntityGroup, QueryDescriptor, With, World, WorldSettings,
};

use crate::common::*;

/// Plays the buffer and checks the world. Returns the number of the failed command and its fault, if one failed.
fn outcome(world: &mut Checked, buffer: &mut EntityCommandBuffer) -> Option<(usize, CommandFault)> {
    let played = world.play(buffer);
    world.check_invariants().unwrap();
    played.is_err().then(|| {
        let stopped = first_failure(played);
        (stopped.number(), stopped.fault())
    })
}

/// Records a failing command, and destroys the entity afterwards: the failure is still reported.
#[track_caller]
fn fails_first(
    record: impl Fn(&mut CommandRecorder, Entity),
    is_expected: impl Fn(EntityError) -> bool,
) {
    for strict in [false, true] {
        let mut world = if strict { strict_world() } else { world() };
        let old = world.spawn(A(1));
        let mut buffer = EntityCommandBuffer::new();
        let commands = buffer.commands().unwrap();
        record(commands, old);
        commands.despawn(old);
        let Some((number, CommandFault::Entity(error))) = outcome(&mut world, &mut buffer) else {
            panic!("the command has not failed");
        };
        assert!(number == 1 && is_expected(error), "{number}: {error}");
        assert_eq!(world.exists(old), strict);
    }
}

#[test]
fn a_missing_component_is_an_error_even_if_the_entity_is_destroyed_later() {
    fails_first(
        |commands, old| commands.set(old, Text("b".into())),
        |error| matches!(error, EntityError::MissingComponent { .. }),
    );
}

#[test]
fn a_duplicate_component_is_an_error_even_if_the_entity_is_destroyed_later() {
    fails_first(
        |commands, old| commands.add(old, (A(1), A(2))),
        |error| matches!(error, EntityError::DuplicateComponent { .. }),
    );
}

#[test]
fn a_component_too_large_is_an_error_even_if_the_entity_is_destroyed_later() {
    fails_first(
        |commands, old| commands.add(old, crate::layouts::Huge([0; 20_000])),
        |error| matches!(error, EntityError::DoesNotFit { .. }),
    );
}

#[test]
fn adding_to_the_dead_is_an_error_of_strict_worlds_also_if_they_are_destroyed_later() {
    let mut world = strict_world();
    let dead = world.spawn(A(1));
    world.despawn(dead).unwrap();
    let (number, fault) = fails(&mut world, |commands| {
        commands.add(dead, A(1));
        commands.despawn(dead);
    });
    assert_eq!(number, 1);
    assert!(matches!(fault, CommandFault::Entity(EntityError::NoSuchEntity { .. })));
}

#[test]
fn adding_to_a_despawned_entity_with_cleanup_components_equals_the_method_of_the_world() {
    let mut world = world();
    let residue = world.spawn((A(1), Stays(1)));
    world.despawn(residue).unwrap();
    let mut expected = world.fork().unwrap();
    let said = expected.add(residue, A(2)).map_err(|rejected| rejected.error);
    let played = play(&mut world, |commands| {
        commands.add(residue, A(2));
        commands.despawn(residue);
    });
    assert_eq!(played.is_ok(), said.is_ok(), "{said:?}, and {played:?}");
    assert_eq!(world.get(residue), Ok(&Stays(1)));
}

#[test]
fn creating_with_a_duplicate_component_is_an_error_even_if_destroyed_later() {
    let mut world = world();
    let (number, fault) = fails(&mut world, |commands| {
        let brief = commands.spawn((A(1), A(2)));
        commands.despawn(brief);
    });
    assert_eq!(number, 1);
    assert!(matches!(fault, CommandFault::Entity(EntityError::DuplicateComponent { .. })));
}

#[test]
fn creating_an_entity_too_large_is_an_error_even_if_destroyed_later() {
    let mut world = world();
    let (number, fault) = fails(&mut world, |commands| {
        let brief = commands.spawn(crate::layouts::Huge([0; 20_000]));
        commands.despawn(brief);
    });
    assert_eq!(number, 1);
    assert!(matches!(fault, CommandFault::Entity(EntityError::DoesNotFit { .. })));
}

#[test]
fn a_failure_before_the_destruction_leaves_the_entity_in_a_strict_world() {
    let mut world = strict_world();
    let old = world.spawn(A(1));
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    let brief = commands.spawn(A(2));
    commands.add(brief, Text("brief".into()));
    commands.add(old, Text("old".into()));
    commands.set(Entity::NULL, A(1));
    commands.despawn(brief);
    commands.despawn(old);
    assert_eq!(outcome(&mut world, &mut buffer).unwrap().0, 4);
    let brief = buffer.resolve(brief).unwrap();
    assert_eq!(world.get(brief), Ok(&A(2)), "the earlier ones are applied");
    assert_eq!(world.get(brief), Ok(&Text("brief".into())));
    assert_eq!(world.get(old), Ok(&Text("old".into())));
}

#[test]
fn in_a_strict_world_errors_equal_those_of_single_commands() {
    let mut world = Checked(World::with_settings("Strict", WorldSettings::new().strict(true)));
    let old = world.spawn(A(1));
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    commands.add(old, A(2));
    commands.despawn(old);
    let (number, fault) = outcome(&mut world, &mut buffer).unwrap();
    assert_eq!(number, 1);
    assert!(matches!(fault, CommandFault::Entity(EntityError::AlreadyPresent { .. })));
    buffer.clear().unwrap();
    let commands = buffer.commands().unwrap();
    let brief = commands.spawn(A(1));
    commands.despawn(brief);
    commands.despawn(brief);
    let (number, fault) = outcome(&mut world, &mut buffer).unwrap();
    assert_eq!(number, 3);
    assert!(matches!(fault, CommandFault::Entity(EntityError::NoSuchEntity { .. })));
    buffer.clear().unwrap();
    let commands = buffer.commands().unwrap();
    commands.remove::<Text>(old);
    commands.despawn(old);
    assert_eq!(outcome(&mut world, &mut buffer).unwrap().0, 1);
    assert!(world.exists(old));
}

#[test]
fn using_an_entity_after_its_destruction_is_an_error_in_a_strict_world() {
    let mut world = strict_world();
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    let brief = commands.spawn(A(1));
    commands.despawn(brief);
    commands.add(brief, A(2));
    let (number, fault) = outcome(&mut world, &mut buffer).unwrap();
    assert_eq!(number, 3);
    assert!(matches!(fault, CommandFault::Entity(EntityError::NoSuchEntity { .. })), "{fault:?}");
    assert_eq!(world.entity_count(), 0);
}

#[test]
fn an_entity_destroyed_twice_is_destroyed_once() {
    let mut world = world();
    let old = world.spawn(A(1));
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    let brief = commands.spawn(A(1));
    commands.despawn(brief);
    commands.despawn(old);
    commands.despawn(brief);
    commands.batch(&[old, brief, old]).despawn();
    world.play(&mut buffer).unwrap();
    assert_eq!(world.entity_count(), 0);
}

#[test]
fn cleanup_components_of_destroyed_entities_remain() {
    let mut world = world();
    let old = world.spawn(A(1));
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    let brief = commands.spawn((A(1), Stays(1)));
    let later = commands.spawn(A(1));
    commands.add(later, Stays(2));
    commands.add(old, Stays(3));
    for entity in [brief, later, old] {
        commands.despawn(entity);
    }
    world.play(&mut buffer).unwrap();
    let all = [brief, later, old].map(|entity| buffer.resolve(entity).unwrap());
    assert_eq!(all.map(|entity| world.get::<Stays>(entity).unwrap().0), [1, 2, 3]);
    assert!(all.iter().all(|&entity| !world.has::<A>(entity)));
}

#[test]
fn members_of_a_group_that_is_destroyed_go_with_it() {
    let mut world = world();
    let (old, other) = (world.spawn(A(1)), world.spawn(A(2)));
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    let root = commands.spawn(());
    commands.add_buffer(root, [root, old].map(LinkedEntityGroup));
    commands.despawn(root);
    let second = commands.spawn(Buffer::<LinkedEntityGroup>::new());
    commands.append(second, LinkedEntityGroup(second));
    commands.append(second, LinkedEntityGroup(other));
    commands.despawn(second);
    world.play(&mut buffer).unwrap();
    assert!(!world.exists(old) && !world.exists(other));
    assert_eq!(world.entity_count(), 0);
}

#[test]
fn instances_of_an_entity_that_is_destroyed_later_exist() {
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    let brief = commands.spawn(A(1));
    commands.add(brief, Text("brief".into()));
    let copy = commands.instantiate(brief);
    commands.set(brief, A(2));
    commands.despawn(brief);
    world.play(&mut buffer).unwrap();
    let copy = buffer.resolve(copy).unwrap();
    assert_eq!((world.get(copy), world.get(copy)), (Ok(&A(1)), Ok(&Text("brief".into()))));
    assert_eq!(world.entity_count(), 1);
}

#[test]
fn functions_see_entities_that_are_destroyed_later() {
    let mut world = world();
    let old = world.spawn(A(1));
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    commands.set(old, A(2));
    let brief = commands.spawn(A(3));
    commands.run("look", move |entities| {
        assert_eq!(entities.get(old), Ok(&A(2)));
        assert_eq!(entities.entity_count(), 2);
        Ok(())
    });
    commands.despawn(old);
    commands.despawn(brief);
    world.play(&mut buffer).unwrap();
    assert_eq!(world.entity_count(), 0);
}

#[test]
fn the_sort_key_can_put_the_destruction_first() {
    let mut world = world();
    let old = world.spawn(A(1));
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    commands.set_sort_key(Some(2));
    commands.add(old, Text("b".into()));
    commands.set_sort_key(Some(1));
    commands.despawn(old);
    let report = world.play(&mut buffer).unwrap();
    assert_eq!(report.first_skipped().unwrap().number(), 2);
    assert!(!world.exists(old));
}

#[test]
fn foreign_placeholders_in_values_of_entities_destroyed_later_are_refused() {
    let mut world = world();
    let placeholder = foreign();
    let old = world.spawn(A(1));
    let (number, fault) = fails(&mut world, |commands| {
        commands.add(old, Link(placeholder));
        commands.despawn(old);
    });
    assert_eq!((number, fault), (1, CommandFault::ForeignPlaceholder { placeholder }));
    let (number, fault) = fails(&mut world, |commands| {
        let brief = commands.spawn(Link(placeholder));
        commands.despawn(brief);
    });
    assert_eq!((number, fault), (1, CommandFault::ForeignPlaceholder { placeholder }));
}

#[test]
fn values_of_skipped_commands_are_dropped_once() {
    let ledger = Ledger::new();
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    for at in 0..1000 {
        let brief = commands.spawn((ledger.value(at), A(at)));
        commands.add(brief, ledger.value(at));
        commands.set(brief, ledger.value(at));
        if at % 3 != 0 {
            commands.despawn(brief);
        }
    }
    world.play(&mut buffer).unwrap();
    assert_eq!((ledger.live(), world.entity_count()), (334, 334));
    assert!(world.query::<(&A, &Counted)>().iter().all(|(a, value)| a.0 == value.number));
    buffer.clear().unwrap();
    assert_eq!(ledger.live(), 334);
}

#[test]
fn an_entity_created_and_destroyed_takes_no_row() {
    let record = |despawn: bool| {
        let mut world = world();
        let mut buffer = EntityCommandBuffer::new();
        let commands = buffer.commands().unwrap();
        let brief = commands.spawn(A(1));
        commands.spawn(A(2));
        commands.spawn(A(3));
        if despawn {
            commands.despawn(brief);
            world.play(&mut buffer).unwrap();
        } else {
            world.play(&mut buffer).unwrap();
            world.despawn(buffer.resolve(brief).unwrap()).unwrap();
        }
        let all = world.query::<(Entity, &A)>();
        all.iter().map(|(entity, a)| (entity, a.0)).collect::<Vec<_>>()
    };
    let (together, mut one_by_one) = (record(true), record(false));
    // One by one, the last of three rows fills the row of the destroyed first.
    one_by_one.reverse();
    assert_eq!(together, one_by_one);
}

#[test]
fn a_command_that_fails_between_does_so_with_one_that_is_doomed() {
    let mut world = strict_world();
    let old = world.spawn(A(1));
    let (number, _) = fails(&mut world, |commands| {
        commands.add(old, Tag);
        commands.set(Entity::NULL, A(1));
        commands.despawn(old);
    });
    assert_eq!(number, 2);
    assert!(world.has::<Tag>(old));
}

#[test]
fn a_command_that_fails_before_the_last_does_so() {
    let mut world = world();
    let old = world.spawn(A(1));
    let (number, _) = fails(&mut world, |commands| {
        commands.set(Entity::NULL, A(1));
        commands.add(old, Tag);
        commands.despawn(old);
    });
    assert_eq!(number, 1);
    assert!(!world.has::<Tag>(old));
}

#[test]
fn a_command_that_fails_between_does_so_with_one_that_is_unborn() {
    let mut world = strict_world();
    let (number, _) = fails(&mut world, |commands| {
        let brief = commands.spawn(A(2));
        commands.set(Entity::NULL, A(1));
        commands.despawn(brief);
    });
    assert_eq!((number, world.entity_count()), (2, 1));
}

#[test]
fn a_command_that_fails_between_does_so_with_two_that_are_doomed() {
    let mut world = strict_world();
    let (one, other) = (world.spawn(A(1)), world.spawn(A(1)));
    let (number, _) = fails(&mut world, |commands| {
        commands.add(one, Tag);
        commands.add(other, Tag);
        commands.set(Entity::NULL, A(1));
        commands.despawn(one);
        commands.despawn(other);
    });
    assert_eq!(number, 3);
    assert!(world.has::<Tag>(one) && world.has::<Tag>(other));
}

/// Records an entity that a query destroys, an entity that refers to it, and a failing command. Returns the world, the
/// buffer, and both placeholders.
fn destroyed_before_the_failure() -> (Checked, EntityCommandBuffer, [Entity; 2]) {
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    let brief = commands.spawn(Glow(1));
    commands.batch(QueryDescriptor::of::<(), With<Glow>>()).despawn();
    let link = commands.spawn(Link(brief));
    commands.set(Entity::NULL, A(1));
    assert_eq!(first_failure(world.play(&mut buffer)).number(), 4);
    (world, buffer, [brief, link])
}

#[test]
fn an_entity_created_and_destroyed_before_a_failure_was_created() {
    let (world, buffer, [brief, link]) = destroyed_before_the_failure();
    let link = buffer.resolve(link).unwrap();
    assert_eq!(buffer.resolve(brief), Some(world.get::<Link>(link).unwrap().0));
}

#[test]
fn the_id_of_an_entity_destroyed_before_a_failure_is_not_reused() {
    let (mut world, mut buffer, [_, link]) = destroyed_before_the_failure();
    let dead = world.get::<Link>(buffer.resolve(link).unwrap()).unwrap().0;
    buffer.clear().unwrap();
    let more: Vec<_> = world.spawn_many(Tag, 20).collect();
    assert!(!more.contains(&dead) && !world.exists(dead));
    buffer.commands().unwrap().spawn_many(Tag, 20);
    world.play(&mut buffer).unwrap();
    assert!(!world.exists(dead));
}

#[test]
fn ids_of_entities_that_a_failure_prevented_are_reused_once() {
    let mut world = strict_world();
    let mut buffer = EntityCommandBuffer::new();
    for _ in 0..50 {
        let commands = buffer.commands().unwrap();
        let first = commands.spawn(A(1));
        commands.despawn(first);
        commands.spawn_many(A(2), 3);
        commands.set(Entity::NULL, A(1));
        commands.spawn_many(A(3), 5);
        assert_eq!(first_failure(world.play(&mut buffer)).number(), 4);
        buffer.clear().unwrap();
        world.check_invariants().unwrap();
        assert_eq!(world.batch(QueryDescriptor::of::<(), With<A>>()).despawn(), Ok(3));
    }
    let mut all: Vec<_> = world.spawn_many(Tag, 100).map(|entity| entity.index()).collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!((all.len(), all[99] < 120), (100, true), "{all:?}");
}
