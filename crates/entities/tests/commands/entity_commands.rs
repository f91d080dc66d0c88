//! Commands for one entity.

use ancho_entities::{Buffer, ComponentType, Entity, EntityCommandBuffer};

use crate::common::{A, B, Item, Lamp, Link, Tag, Text, first_failure, world};

#[test]
fn methods_record_the_commands_of_the_recorder() {
    let mut world = world();
    let id = world.spawn((A(1), Buffer::from([Item(1)])));
    let archetype = world.archetype::<(A, Tag)>();
    let tag = ComponentType::of::<Tag>();
    let traces = [true, false].map(|by_entity| {
        let mut buffer = EntityCommandBuffer::new();
        let commands = buffer.commands().unwrap();
        if by_entity {
            let mut entity = commands.entity(id);
            assert_eq!(entity.id(), id);
            entity.add(B(1)).set(A(2)).remove::<B>().add_types(&[tag]).remove_types(&[tag]);
            entity.add_buffer([Item(2)]).set_buffer([Item(3)]).append(Item(4));
            entity.add(Lamp).set_component_enabled::<Lamp>(false);
            entity.set_type_enabled(ComponentType::of::<Lamp>(), true);
            entity.set_enabled(false).set_enabled(true).set_name("x").set_archetype(archetype);
            entity.commands().spawn(Tag);
            entity.despawn();
        } else {
            commands.add(id, B(1));
            commands.set(id, A(2));
            commands.remove::<B>(id);
            commands.add_types(id, &[tag]);
            commands.remove_types(id, &[tag]);
            commands.add_buffer(id, [Item(2)]);
            commands.set_buffer(id, [Item(3)]);
            commands.append(id, Item(4));
            commands.add(id, Lamp);
            commands.set_component_enabled::<Lamp>(id, false);
            commands.set_type_enabled(id, ComponentType::of::<Lamp>(), true);
            commands.set_enabled(id, false);
            commands.set_enabled(id, true);
            commands.set_name(id, "x");
            commands.set_archetype(id, archetype);
            commands.spawn(Tag);
            commands.despawn(id);
        }
        let trace = buffer.trace();
        let mut copy = world.fork().unwrap();
        copy.play(&mut buffer).unwrap();
        assert!(!copy.exists(id));
        trace.replace(|c: char| c.is_ascii_digit(), "")
    });
    assert_eq!(traces[0], traces[1]);
}

#[test]
fn chained_changes_are_one_move() {
    let mut world = world();
    let ids: Vec<_> = world.spawn_many((A(0), Text("a".into())), 10).collect();
    let archetypes = world.archetype_count();
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    for &id in &ids {
        commands.entity(id).remove::<Text>().add(B(1)).add(Tag).set(A(2)).remove::<Tag>().add(Lamp);
    }
    world.play(&mut buffer).unwrap();
    assert_eq!(world.archetype_count(), archetypes + 1, "no archetype in between");
    assert!(ids.iter().all(|&id| world.has::<(A, B, Lamp)>(id) && !world.has::<Text>(id)));
}

#[test]
fn an_entity_that_was_just_recorded_has_commands() {
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    let king = commands.spawn(A(1));
    let knight = commands.entity(king).add(Tag).id();
    assert_eq!(king, knight);
    let page = commands.spawn(());
    commands.entity(page).add(Link(king));
    world.play(&mut buffer).unwrap();
    let (king, page) = (buffer.resolve(king).unwrap(), buffer.resolve(page).unwrap());
    assert!(world.has::<(A, Tag)>(king));
    assert_eq!(world.get(page), Ok(&Link(king)));

    let mut buffer = EntityCommandBuffer::new();
    let mut commands = world.commands(&mut buffer).unwrap();
    let id = commands.spawn(A(5));
    assert!(!id.is_placeholder());
    commands.entity(id).add(B(6)).despawn();
    commands.spawn(A(7));
    world.play(&mut buffer).unwrap();
    assert!(!world.exists(id));
    assert_eq!(world.entity_count(), 3);
}

#[test]
fn nothing_is_looked_up_while_recording() {
    let mut world = world();
    let dead = world.spawn(A(1));
    world.despawn(dead).unwrap();
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    commands.entity(dead).add(B(1)).set(A(2)).despawn();
    let report = world.play(&mut buffer).unwrap();
    assert_eq!(report.skipped(), 2, "`despawn` of an entity that is gone does not count");
    buffer.clear().unwrap();
    buffer.commands().unwrap().entity(Entity::NULL).add(B(1));
    assert_eq!(first_failure(world.play(&mut buffer)).number(), 1);
}
