//! Each command alone does what the method of the world with that name does.

use ancho_entities::EntityCommandBuffer;

use crate::common::*;
use crate::every_command::{CHANGE, CREATE, Old, before, seen};

#[test]
fn each_command_equals_the_method_of_the_world() {
    for &(name, record, direct) in CREATE.iter().chain(CHANGE) {
        let (mut world, old) = before(0);
        let (mut expected, same) = before(0);
        assert_eq!(seen(&world), seen(&expected));
        direct(&mut expected, &same);
        let mut buffer = EntityCommandBuffer::new();
        record(buffer.commands().unwrap(), &old);
        assert_eq!(seen(&world), seen(&before(0).0), "{name} does nothing before it is played");
        world.play(&mut buffer).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(seen(&world), seen(&expected), "{name}");
        world.check_invariants().unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn each_command_of_a_reusable_buffer_equals_the_method_of_the_world() {
    for &(name, record, direct) in CREATE.iter().chain(CHANGE) {
        let mut buffer = EntityCommandBuffer::reusable();
        record(buffer.commands().unwrap(), &before(0).1);
        for _ in 0..3 {
            let (mut world, old) = before(0);
            let mut expected = before(0).0;
            // An archetype belongs to one world.
            if name.starts_with("create") || name == "set_archetype" {
                continue;
            }
            direct(&mut expected, &old);
            world.play(&mut buffer).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(seen(&world), seen(&expected), "{name}");
        }
    }
}

#[test]
fn each_change_of_an_entity_that_the_buffer_creates_equals_the_method_of_the_world() {
    // The targets are copies that the buffer has created.
    for &(name, record, direct) in CHANGE {
        let (mut world, old) = before(0);
        let (mut expected, same) = before(0);
        let mut buffer = EntityCommandBuffer::new();
        let commands = buffer.commands().unwrap();
        let copies = Old {
            plain: commands.instantiate(old.plain),
            text: commands.instantiate(old.text),
            empty: commands.instantiate(old.empty),
            shared: commands.instantiate(old.shared),
            items: commands.instantiate(old.items),
            ..old
        };
        record(commands, &copies);
        // A function cannot take placeholders: it has no way to resolve them.
        if name == "run" {
            continue;
        }
        let mut copy = |entity| expected.instantiate(entity).unwrap();
        let copies = Old {
            plain: copy(old.plain),
            text: copy(old.text),
            empty: copy(old.empty),
            shared: copy(old.shared),
            items: copy(old.items),
            ..same
        };
        direct(&mut expected, &copies);
        world.play(&mut buffer).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(seen(&world), seen(&expected), "{name}");
    }
}

#[test]
fn each_change_recorded_with_the_world_equals_the_method_of_the_world() {
    for &(name, record, direct) in CHANGE {
        let (mut world, old) = before(0);
        let (mut expected, same) = before(0);
        direct(&mut expected, &same);
        let mut buffer = EntityCommandBuffer::new();
        record(&mut world.commands(&mut buffer).unwrap(), &old);
        world.play(&mut buffer).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(seen(&world), seen(&expected), "{name}");
    }
}

#[test]
fn entities_recorded_with_the_world_have_the_ids_of_direct_calls() {
    let (mut world, old) = before(0);
    let (mut expected, same) = before(0);
    let mut buffer = EntityCommandBuffer::new();
    let mut ids = Vec::new();
    let mut commands = world.commands(&mut buffer).unwrap();
    ids.push(commands.spawn((A(1), Tag)));
    ids.extend(commands.spawn_many(A(2), 4));
    ids.extend(commands.spawn_batch((0..5).map(A)));
    ids.push(commands.create(old.archetype));
    ids.extend(commands.create_many(old.archetype, 3));
    ids.push(commands.instantiate(old.plain));
    ids.extend(commands.instantiate_many(old.items, 3));
    assert!(commands.spawn_many(A(2), 0).is_empty());
    assert!(commands.instantiate_many(old.items, 0).is_empty());
    let mut direct = vec![expected.spawn((A(1), Tag))];
    direct.extend(expected.spawn_many(A(2), 4));
    direct.extend(expected.spawn_batch((0..5).map(A)));
    let entities = &mut expected;
    direct.push(entities.create(same.archetype).unwrap());
    direct.extend(entities.create_many(same.archetype, 3).unwrap());
    direct.push(entities.instantiate(old.plain).unwrap());
    direct.extend(entities.instantiate_many(old.items, 3).unwrap());
    assert_eq!(ids, direct);
    world.check_invariants().unwrap();
    world.play(&mut buffer).unwrap();
    assert_eq!(seen(&world), seen(&expected));
    assert!(ids.iter().all(|&id| buffer.resolve(id) == Some(id)));
}
