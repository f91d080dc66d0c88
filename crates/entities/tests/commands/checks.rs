//! The check before playback, and the trace.

use ancho_entities::{
    Archetype, Buffer, BufferElement, CommandFault, CommandRecorder, ComponentType, Entity,
    EntityCommandBuffer, EntityError, Linked, LinkedEntityGroup, Prefab, QueryDescriptor, With,
    World, WorldSettings,
};

use crate::common::*;

#[test]
fn a_check_finds_targets_that_are_not_there_and_changes_nothing() {
    let mut world = world();
    let (old, dead) = (world.spawn(A(1)), world.spawn(A(1)));
    world.despawn(dead).unwrap();
    let before = world.state_hash();
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    let new = commands.spawn(A(2));
    commands.add(new, Text("new".into()));
    commands.set(old, A(3));
    world.check_commands(&buffer).unwrap();
    buffer.commands().unwrap().set(dead, A(4));
    let said = first_failure(world.check_commands(&buffer));
    assert_eq!(said.number(), 4);
    let CommandFault::Entity(EntityError::NoSuchEntity { entity, .. }) = said.fault() else {
        panic!("{said}");
    };
    assert_eq!((entity, world.state_hash()), (dead, before));
    // The check changes nothing, and the buffer can be played, which skips the command.
    let report = world.play(&mut buffer).unwrap();
    assert_eq!((report.skipped(), report.first_skipped().unwrap().number()), (1, 4));
    assert_eq!(world.get(old), Ok(&A(3)));
}

#[test]
fn a_check_minds_prefabs_and_playback_does_not() {
    let mut world = world();
    let prefab = world.spawn((A(1), Prefab));
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    let copy = commands.instantiate(prefab);
    commands.set(copy, A(2));
    world.check_commands(&buffer).unwrap();
    buffer.commands().unwrap().set(prefab, A(3));
    let said = first_failure(world.check_commands(&buffer));
    assert_eq!((said.number(), said.fault()), (3, CommandFault::TouchesPrefab { entity: prefab }));
    world.play(&mut buffer).unwrap();
    assert_eq!(world.get(prefab), Ok(&A(3)));
}

#[test]
fn a_check_finds_placeholders_of_others() {
    let world = world();
    let placeholder = foreign();
    let mut buffer = EntityCommandBuffer::new();
    buffer.commands().unwrap().despawn(placeholder);
    let said = first_failure(world.check_commands(&buffer));
    assert_eq!(said.fault(), CommandFault::ForeignPlaceholder { placeholder });
}

#[test]
fn a_check_accepts_commands_that_lenient_worlds_accept() {
    let mut world = world();
    let dead = world.spawn(A(1));
    world.despawn(dead).unwrap();
    let mut buffer = EntityCommandBuffer::new();
    buffer.commands().unwrap().despawn(dead);
    buffer.commands().unwrap().batch(&[dead]).despawn();
    let checked = world.check_commands(&buffer);
    world.play(&mut buffer).unwrap();
    assert!(checked.is_ok(), "playing it is no error: {checked:?}");
}

#[test]
fn a_check_of_ids_that_the_world_has_promised_passes() {
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new();
    let mut commands = world.commands(&mut buffer).unwrap();
    let first = commands.spawn(A(1));
    let second = commands.instantiate(first);
    commands.set(second, A(2));
    commands.add(first, Link(second));
    world.check_commands(&buffer).unwrap();
    world.play(&mut buffer).unwrap();
    assert_eq!(world.get(first), Ok(&Link(second)));
}

#[test]
fn the_trace_has_a_line_for_each_command_in_the_order_of_playback() {
    let mut world = world();
    let old = world.spawn(A(1));
    let mut buffer = EntityCommandBuffer::new();
    assert_eq!(buffer.trace(), "");
    let commands = buffer.commands().unwrap();
    commands.set_sort_key(Some(2));
    let new = commands.spawn((A(1), Text("b".into())));
    commands.set_sort_key(Some(1));
    commands.add(old, (A(1), Link(new)));
    commands.remove::<A>(old);
    commands.set_sort_key(None);
    commands.spawn_many(A(1), 3);
    commands.spawn_batch((0..2).map(A));
    commands.instantiate(old);
    commands.batch(&[old, old]).despawn();
    commands.append(old, Item(1));
    commands.set_component_enabled::<Lamp>(old, false);
    commands.set_enabled(old, false);
    commands.set_name(old, "x");
    commands.add_buffer(old, [LinkedEntityGroup(old)]);
    commands.batch(QueryDescriptor::of::<&A, With<Text>>()).despawn();
    commands.run("something else", |_| Ok(()));
    let trace = buffer.trace();
    let lines: Vec<_> = trace.lines().collect();
    assert_eq!(lines.len(), buffer.len(), "{trace}");
    for (number, line) in lines.iter().enumerate() {
        assert!(line.starts_with(&format!("{}: ", number + 1)), "{line}");
    }
    assert_eq!(lines[0], "1: add `game::A`, `game::Link` to 0v1");
    assert_eq!(lines[1], "2: remove `game::A` from 0v1");
    assert!(lines[2].starts_with("3: spawn placeholder 0.0"), "{}", lines[2]);
    assert!(lines[2].contains("`game::A`, `game::Text`"), "{}", lines[2]);
    assert!(lines[13].contains("something else"), "{}", lines[13]);
    let again = buffer.trace();
    assert_eq!(trace, again, "looking changes nothing");
}

#[test]
fn a_command_is_called_the_same_in_the_trace_and_in_the_error() {
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    commands.spawn(A(1));
    commands.add(Entity::NULL, (A(1), Buffer::<Item>::new()));
    let line = buffer.trace().lines().nth(1).unwrap().to_owned();
    let stopped = first_failure(world.play(&mut buffer));
    assert_eq!(line, format!("2: {}", stopped.command()));
}

#[test]
fn a_check_respects_enabled_state_and_group_roots() {
    let records: [fn(&mut CommandRecorder, Entity); 4] = [
        |commands, entity| commands.set_enabled(entity, false),
        |commands, root| commands.batch(Linked(root)).add(A(1)),
        |commands, root| commands.batch(Linked(root)).set(A(1)),
        |commands, root| commands.batch(Linked(root)).remove::<A>(),
    ];
    for record in records {
        let mut world = world();
        let dead = world.spawn(A(1));
        world.despawn(dead).unwrap();
        let mut buffer = EntityCommandBuffer::new();
        record(buffer.commands().unwrap(), dead);
        let checked = first_failure(world.check_commands(&buffer));
        let report = world.play(&mut buffer).unwrap();
        let skipped = report.first_skipped().unwrap();
        assert_eq!((checked.number(), checked.fault()), (1, skipped.fault()));
    }
}

#[test]
fn of_a_played_buffer_there_is_nothing_left_to_trace_or_check() {
    for fails in [false, true] {
        let mut world = world();
        let old = world.spawn(A(1));
        let mut buffer = EntityCommandBuffer::new();
        let commands = buffer.commands().unwrap();
        for key in [2, 1] {
            commands.set_sort_key(Some(key));
            commands.set(old, A(key));
        }
        if fails {
            commands.set(Entity::NULL, A(1));
        }
        assert!(format!("{buffer:?}").contains(if fails { "commands: 3" } else { "commands: 2" }));
        assert_eq!(world.play(&mut buffer).is_err(), fails);
        assert_eq!((buffer.trace().as_str(), buffer.len()), ("", 0));
        world.check_commands(&buffer).unwrap();
        assert!(format!("{buffer:?}").contains("commands: 0"), "{buffer:?}");
    }
}

#[test]
fn a_check_accepts_changes_of_cleanup_components() {
    let mut world = world();
    let (stays, old) = (world.spawn((A(1), Stays(1))), world.spawn(A(1)));
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    commands.despawn(stays);
    commands.set(stays, Stays(2));
    commands.remove::<Stays>(stays);
    commands.add(old, Stays(1));
    commands.despawn(old);
    commands.set(old, Stays(3));
    let new = commands.spawn((A(1), Stays(1)));
    commands.despawn(new);
    commands.set(new, Stays(4));
    let checked = world.check_commands(&buffer);
    world.play(&mut buffer).unwrap();
    assert!(checked.is_ok(), "playing it is no error: {checked:?}");
    assert!(!world.exists(stays));
    assert_eq!(world.get(old), Ok(&Stays(3)));
}

#[derive(BufferElement, Clone, Copy, PartialEq, Debug)]
#[buffer(cleanup)]
struct Log(u32);

#[test]
fn a_check_accepts_changes_of_cleanup_buffers() {
    let mut world = world();
    let old = world.spawn(A(1));
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    commands.add_buffer(old, [Log(1)]);
    commands.despawn(old);
    commands.set_buffer(old, [Log(2)]);
    world.check_commands(&buffer).unwrap();
    world.play(&mut buffer).unwrap();
    assert_eq!(*world.buffer::<Log>(old).unwrap(), [Log(2)]);
}

#[test]
fn a_check_lets_pass_batches_of_none() {
    let mut world = world();
    let archetype = world.archetype::<A>();
    let records: [&dyn Fn(&mut CommandRecorder); 3] = [
        &|commands| _ = commands.spawn_many(A(1), 0),
        &|commands| _ = commands.spawn_batch([A(1); 0]),
        &|commands| _ = commands.create_many(archetype, 0),
    ];
    for record in records {
        let mut buffer = EntityCommandBuffer::new();
        record(buffer.commands().unwrap());
        world.check_commands(&buffer).unwrap();
        world.play(&mut buffer).unwrap();
        assert_eq!(world.entity_count(), 0);
    }
}

#[test]
fn a_check_reports_targets_that_an_earlier_command_despawns() {
    let mut world = world();
    let (old, other) = (world.spawn(A(1)), world.spawn(A(1)));
    let records: [fn(&mut CommandRecorder, Entity); 2] =
        [|c, gone| c.despawn(gone), |c, gone| c.batch(&[gone]).despawn()];
    for record in records {
        let mut buffer = EntityCommandBuffer::new();
        let commands = buffer.commands().unwrap();
        commands.set(other, A(2));
        record(commands, old);
        commands.remove::<A>(old);
        commands.batch(&[other, old]).set(A(3));
        let said = first_failure(world.check_commands(&buffer));
        assert_eq!(said.number(), 4);
        assert!(matches!(said.fault(), CommandFault::Entity(EntityError::NoSuchEntity { .. })));
    }
}

#[test]
fn a0151_a_check_in_a_strict_world_refuses_commands_that_make_prefabs() {
    type Record = fn(&mut CommandRecorder, Entity, [Archetype; 2]);
    let making: [Record; 9] = [
        |commands, _, _| _ = commands.spawn((A(1), Prefab)),
        |commands, _, _| _ = commands.spawn_many((A(1), Prefab), 3),
        |commands, _, _| _ = commands.spawn_batch([(A(1), Prefab), (A(2), Prefab)]),
        |commands, _, [_, prefab]| _ = commands.create(prefab),
        |commands, entity, _| commands.add(entity, Prefab),
        |commands, entity, _| commands.batch(&[entity]).add(Prefab),
        |commands, entity, _| commands.add_types(entity, &[ComponentType::of::<Prefab>()]),
        |commands, entity, [_, prefab]| commands.set_archetype(entity, prefab),
        |commands, _, _| commands.batch(QueryDescriptor::of::<&A, ()>()).add(Prefab),
    ];
    let others: [Record; 3] = [
        |commands, _, _| _ = commands.spawn(A(1)),
        |commands, _, [plain, _]| _ = commands.create(plain),
        |commands, entity, _| commands.remove::<A>(entity),
    ];
    for (strict, makes, record) in [false, true].into_iter().flat_map(|strict| {
        let making = making.into_iter().map(move |record| (strict, true, record));
        making.chain(others.into_iter().map(move |record| (strict, false, record)))
    }) {
        let settings = WorldSettings::new().strict(strict);
        let mut world = World::with_settings("test", settings);
        let entity = world.spawn(A(1));
        let archetypes = [world.archetype::<A>(), world.archetype::<(A, Prefab)>()];
        let mut buffer = EntityCommandBuffer::new();
        record(buffer.commands().unwrap(), entity, archetypes);
        let checked = world.check_commands(&buffer);
        if strict && makes {
            let said = first_failure(checked);
            assert_eq!((said.number(), said.fault()), (1, CommandFault::CreatesPrefab));
            let message = said.to_string();
            assert!(
                message.ends_with(
                    "A0151: the command creates a prefab, and the world is strict; create prefabs with the world \
                     itself, before commands use them"
                ),
                "{message}"
            );
        } else {
            checked.unwrap();
        }
        world.play(&mut buffer).unwrap();
    }
}
