//! Messages in forks, hashes and rollbacks.

use ancho_entities::{
    FixedStep, IntoSystem, Message, MessageReader, MessageWriter, ResMut, Time, World,
    assert_replays,
};

use super::{Note, read};
use crate::common::{Log, Number, take, world};

#[test]
fn a_fork_has_messages_and_no_local_ones() {
    #[derive(Message, Clone)]
    #[message(local)]
    struct Input;

    let mut world = world();
    world.write_message(Note(1));
    world.write_message(Input);
    let mut fork = world.fork().unwrap();
    world.write_message(Note(2));
    fork.write_message(Note(3));
    assert_eq!(fork.read_messages::<Note>().map(|note| note.0).collect::<Vec<_>>(), [1, 3]);
    assert_eq!(world.read_messages::<Note>().map(|note| note.0).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(
        (fork.read_messages::<Input>().count(), world.read_messages::<Input>().count()),
        (0, 1)
    );
}

#[test]
fn the_state_hash_has_messages_and_positions() {
    let make = |numbers: &[u32], read: usize| {
        let mut world = World::new("test");
        numbers.iter().for_each(|&number| world.write_message(Note(number)));
        world.read_messages::<Note>().take(read).for_each(drop);
        world
    };
    assert_eq!(make(&[1, 2], 0).state_hash(), make(&[1, 2], 0).fork().unwrap().state_hash());
    assert_ne!(make(&[1, 2], 0).state_hash(), make(&[1, 3], 0).state_hash());
    assert_ne!(make(&[1, 2], 0).state_hash(), make(&[1, 2], 1).state_hash());
    assert_ne!(make(&[1], 0).state_hash(), World::new("test").state_hash());
}

#[test]
fn a_rollback_delivers_the_same_messages_again() {
    let mut world = world();
    world.add_system(read);
    world.add_system(|mut notes: MessageWriter<Note>, time: Time| {
        notes.write(Note(time.frame() as u32));
    });
    world.add_system(read.named("later"));
    world.update(0.1);
    let mut snapshot = world.fork().unwrap();
    take(&mut world);
    for _ in 0..3 {
        world.update(0.1);
        world.update(0.1);
        assert_eq!(take(&mut world), ["1", "2", "2", "3"]);
        world.restore(&mut snapshot).unwrap();
        assert_eq!(world.state_hash(), snapshot.state_hash());
    }
}

#[test]
fn expiry_is_the_same_after_a_rollback() {
    let mut world = world();
    let id = world.add_system(|mut notes: MessageReader<Note>, mut log: ResMut<Log>| {
        let missed = notes.missed();
        log.0.push(format!("{} {missed}", notes.read().count()));
    });
    world.update(0.1);
    world.set_system_enabled(id, false).unwrap();
    world.write_message(Note(1));
    world.update(0.1);
    let mut snapshot = world.fork().unwrap();
    take(&mut world);
    for skipped in [0, 1, 0, 1, 5] {
        (0..skipped).for_each(|_| world.update(0.1));
        world.set_system_enabled(id, true).unwrap();
        world.update(0.1);
        let expected = if skipped == 0 { "1 0" } else { "0 1" };
        assert_eq!(take(&mut world), [expected], "{skipped}");
        world.set_system_enabled(id, false).unwrap();
        world.restore(&mut snapshot).unwrap();
    }
}

#[test]
fn a_reader_that_the_snapshot_does_not_know_begins_at_the_oldest_message() {
    let mut world = world();
    world.write_message(Note(1));
    let mut snapshot = world.fork().unwrap();
    world.add_system(read);
    world.update(0.1);
    world.restore(&mut snapshot).unwrap();
    world.update(0.1);
    assert_eq!(take(&mut world), ["1", "1"]);
}

#[test]
fn a_system_that_is_added_to_a_fork_continues_at_its_position() {
    let mut world = world();
    world.add_system(read);
    world.write_message(Note(1));
    world.update(0.1);
    world.write_message(Note(2));
    let mut fork = world.fork().unwrap();
    fork.insert_resource(Log::default());
    fork.add_system(read);
    fork.add_system(read.named("other"));
    fork.update(0.1);
    assert_eq!(take(&mut fork), ["2", "1 2"]);
}

#[test]
fn a_rollback_to_a_world_without_messages_removes_them() {
    let mut world = world();
    world.add_system(read);
    let mut snapshot = world.fork().unwrap();
    world.write_message(Note(1));
    let other = &mut World::new("other");
    world.restore(&mut snapshot).unwrap();
    world.update(0.1);
    world.write_message(Note(2));
    world.copy_and_replace_from(other).unwrap();
    world.write_message(Note(3));
    world.update(0.1);
    assert_eq!(take(&mut world), ["", "3"]);
}

#[test]
fn replays_with_messages_are_equal() {
    let mut world = world();
    world.insert_resource(Number(0));
    world.add_system(
        (|mut notes: MessageReader<Note>, mut number: ResMut<Number>| {
            // One message per step, so that some expire.
            let missed = notes.missed() as u32;
            if let Some(note) = notes.read().next() {
                number.0 = number.0.wrapping_mul(31) + note.0 + missed;
            }
        })
        .in_group(FixedStep),
    );
    world.add_system(|mut notes: MessageWriter<Note>, time: Time| {
        notes.write_batch((0..time.frame() as u32 % 4).map(Note));
    });
    world.update(0.2);
    assert_replays(&mut world, 20);
}
