//! The error messages of refused commands, word for word.

use std::panic::Location;

use ancho_entities::{Entity, EntityCommandBuffer, Prefab};

use crate::common::*;

/// Returns the caller's location.
#[track_caller]
fn here() -> &'static Location<'static> {
    Location::caller()
}

#[test]
fn a0078_names_buffer_world_place_command_and_reason() {
    let mut world = world();
    let stone = world.spawn(());
    let mut buffer = EntityCommandBuffer::new().named("fight");
    let made = here();
    let commands = buffer.commands().unwrap();
    commands.spawn(A(1));
    commands.set(stone, A(1));
    commands.spawn(A(1));
    let label =
        format!("`fight` (EntityCommandBuffer made at {}:{}:", made.file(), made.line() - 1);
    assert!(buffer.label().to_string().starts_with(&label), "{}", buffer.label());
    reads(
        &mut world,
        buffer,
        "A0078: BUFFER, played in world `Simulation` at AT, failed at command 2 of 3, `set `game::A` of 0v1`; the other commands were applied: A0051: entity 0v1 has no `game::A`; add it first, \
         or check with `has`",
    );
}

#[test]
fn a0078_of_several_commands_describes_the_first_and_counts_the_others() {
    let mut world = world();
    let (stone, dead) = (world.spawn(()), world.spawn(()));
    world.despawn(dead).unwrap();
    let mut buffer = EntityCommandBuffer::new().named("fight");
    let commands = buffer.commands().unwrap();
    commands.set(stone, A(1));
    commands.set(Entity::NULL, A(1));
    commands.set(dead, A(1));
    (0..5).for_each(|at| commands.set(stone, A(at)));
    commands.spawn(A(1));
    let fault = "A0051: entity 0v1 has no `game::A`; add it first, or check with `has`";
    reads(
        &mut world,
        buffer,
        &format!(
            "A0078: BUFFER, played in world `Simulation` at AT, failed at 7 of 9 commands; the other commands were applied, \
             except 1 for entities that no longer exist:\n  command 1, `set `game::A` of 0v1`: {fault}\n  command 2, `set \
             `game::A` of null`: A0050: the null entity never exists; check for a reference that was never set\n  command 4, \
             `set `game::A` of 0v1`: {fault}\n  command 5, `set `game::A` of 0v1`: {fault}\n  command 6, `set `game::A` of \
             0v1`: {fault}\n  and 2 more"
        ),
    );
}

#[test]
fn a0078_in_a_strict_world_says_that_playback_stopped() {
    let mut world = strict_world();
    let stone = world.spawn(());
    let mut buffer = EntityCommandBuffer::new().named("fight");
    let commands = buffer.commands().unwrap();
    commands.spawn(A(1));
    commands.set(stone, A(1));
    commands.spawn(A(1));
    reads(
        &mut world,
        buffer,
        "A0078: BUFFER, played in world `Simulation` at AT, failed at command 2 of 3, `set `game::A` of 0v1`; the \
         commands before it were applied, those after it were not: A0051: entity 0v1 has no `game::A`; add it first, \
         or check with `has`",
    );
    assert_eq!(world.entity_count(), 2);
}

#[test]
fn a0160_a_report_of_skipped_commands() {
    let mut world = world();
    let dead = world.spawn(());
    world.despawn(dead).unwrap();
    let mut buffer = EntityCommandBuffer::new().named("fire");
    let commands = buffer.commands().unwrap();
    commands.batch(&[dead]).add(Tag);
    commands.add(dead, Tag);
    let report = world.play(&mut buffer).unwrap();
    let (label, at) = (report.buffer(), report.at());
    assert_eq!(
        report.to_string(),
        format!(
            "A0160: 2 of 2 commands of {label}, played at {at}, were skipped, because their entities no longer exist; the \
             first is `add `game::Tag` to 1 entities` for 0v1; check entities with `exists` before commands are recorded"
        )
    );
}

#[test]
fn a0078_names_the_place_of_the_call_of_play() {
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new();
    buffer.commands().unwrap().set(Entity::NULL, A(1));
    let (played, at) = (world.play(&mut buffer), here());
    let error = played.unwrap_err();
    let played_at = error.report().unwrap().at();
    assert_eq!((played_at.file(), played_at.line()), (at.file(), at.line()));
}

#[test]
fn a0079_placeholders() {
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new().named("fight");
    buffer.commands().unwrap().set(foreign(), A(1));
    reads(
        &mut world,
        buffer,
        "A0078: BUFFER, played in world `Simulation` at AT, failed at command 1 of 1, `set `game::A` of placeholder \
         0.0`; the other commands were applied: A0079: placeholder 0.0 was created by \
         another command buffer, or before this one was cleared; use placeholders in the buffer that returned them, or \
         `resolve` them first",
    );
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    commands.set_sort_key(Some(2));
    let later = commands.spawn(A(1));
    commands.set_sort_key(Some(1));
    commands.set(later, A(2));
    reads(
        &mut world,
        buffer,
        "A0078: BUFFER, played in world `Simulation` at AT, failed at command 1 of 2, `set `game::A` of placeholder \
         0.0`; the other commands were applied: A0079: placeholder 0.0 is created by a \
         later command, or by no command; record the command that creates it first, with a lower sort key if sort keys \
         are used",
    );
}

#[test]
fn a0080_played() {
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new().named("fight");
    buffer.commands().unwrap().spawn(A(1));
    world.play(&mut buffer).unwrap();
    let message = format!(
        "A0080: {} was already played; `clear` it before it is used again, or make it `reusable` to play it again",
        buffer.label()
    );
    assert_eq!(world.play(&mut buffer).unwrap_err().to_string(), message);
    assert_eq!(buffer.commands().unwrap_err().to_string(), message);
    assert_eq!(world.commands(&mut buffer).unwrap_err().to_string(), message);
}

#[test]
fn a0081_not_duplicable() {
    let mut world = world();
    let mut buffer = EntityCommandBuffer::reusable().named("wave");
    buffer.commands().unwrap().spawn(Only(1));
    reads(
        &mut world,
        buffer,
        "A0078: BUFFER, played in world `Simulation` at AT, failed at command 1 of 1, `spawn placeholder 0.0 with \
         `game::Only``; the other commands were applied: A0081: `game::Only` cannot be \
         cloned, and a reusable buffer keeps it for the next playback; derive `Clone` for it, or use a buffer that is \
         played once",
    );
}

#[test]
fn a0082_ids_of_another_world() {
    let [world, mut other] = [(); 2].map(|()| world());
    let mut buffer = EntityCommandBuffer::new().named("fight");
    world.commands(&mut buffer).unwrap().spawn(A(1));
    let message = format!(
        "A0082: {} has entity ids that another world reserved; play it in that world, or record without a world, which \
         returns placeholders",
        buffer.label()
    );
    assert_eq!(other.play(&mut buffer).unwrap_err().to_string(), message);
    assert_eq!(other.commands(&mut buffer).unwrap_err().to_string(), message);
}

#[test]
fn a0082_a_promise_that_is_broken() {
    let mut world = world();
    world.spawn(A(1));
    let mut buffer = EntityCommandBuffer::new();
    let id = world.commands(&mut buffer).unwrap().spawn(A(1));
    world.despawn_all().unwrap();
    reads(
        &mut world,
        buffer,
        &format!(
            "A0078: BUFFER, played in world `Simulation` at AT, failed at command 1 of 1, `spawn {id} with `game::A``; \
             the other commands were applied: A0082: the reserved id {id} is no longer \
             valid, because all entities were despawned in the meantime; clear the buffer and record again"
        ),
    );
}

#[test]
fn a0083_too_many_entities() {
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    // They take no memory before they are played.
    commands.spawn_many((), (1 << 24) - 2);
    let said = panic_message(|| commands.spawn_many((), 2));
    assert_eq!(
        said,
        "A0083: at most 16777215 entities are created by the commands of one batch or thread before they are played; play them, \
         or use several buffers"
    );
    // The size of a batch may be known only at its end.
    let too_large = panic_message(|| commands.spawn_batch([(); 2]));
    assert_eq!(too_large, said);
    let too_large = panic_message(|| commands.spawn_batch((0..9).filter(|at| at % 3 == 0).map(A)));
    assert_eq!((too_large, commands.len()), (said, 1));
    // The limit itself is allowed.
    commands.spawn(());
    assert!(panic_message(|| commands.spawn(())).starts_with("A0083: "));
    assert_eq!(commands.len(), 2);
}

#[test]
fn a0083_a_batch_that_is_too_large_is_dropped() {
    let ledger = Ledger::new();
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    commands.spawn_many((), (1 << 24) - 3);
    let sets = (0..9).filter(|at| at % 3 == 0).map(|at| ledger.value(at));
    assert!(panic_message(|| commands.spawn_batch(sets)).starts_with("A0083: "));
    assert_eq!((ledger.live(), commands.len()), (0, 1));
}

#[test]
fn messages_show_the_reserved_id_of_a_created_entity() {
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new();
    let mut commands = world.commands(&mut buffer).unwrap();
    let new = commands.spawn((A(1), Link(foreign())));
    assert_eq!(buffer.trace(), format!("1: spawn {new} with `game::A`, `game::Link`\n"));
    let said = first_failure(world.play(&mut buffer));
    assert_eq!(said.command(), format!("spawn {new} with `game::A`, `game::Link`"));
}

#[test]
fn a0084_prefabs() {
    let mut world = world();
    let prefab = world.spawn((A(1), Prefab));
    let mut buffer = EntityCommandBuffer::new().named("fight");
    buffer.commands().unwrap().set(prefab, A(2));
    let error = world.check_commands(&buffer).unwrap_err();
    assert_eq!(
        error.report().unwrap().failures()[0].fault().to_string(),
        "A0084: entity 0v1 is a prefab, and the change would affect all later instances; instantiate it, and change \
         the instance"
    );
    assert!(error.to_string().contains("; no command was applied: A0084: "), "{error}");
}

#[test]
fn a0085_reusable() {
    let world = world();
    let mut buffer = EntityCommandBuffer::reusable().named("wave");
    let label = buffer.label();
    let refused = world.commands(&mut buffer).unwrap_err().to_string();
    assert_eq!(
        refused,
        format!(
            "A0085: {label} is reusable, so its entities have no ids before playback; record with its own `commands`, \
             which returns placeholders"
        )
    );
}

#[test]
fn a0050_explains_placeholders() {
    let world = world();
    assert_eq!(
        world.get::<A>(foreign()).unwrap_err().to_string(),
        "A0050: placeholder 0.0 is the placeholder of an entity that commands create; play the commands, and call \
         `resolve` of their buffer"
    );
}
