//! Writing and reading messages.

use std::sync::Arc;

use ancho_entities::{
    Commands, CommandsAt, EndSimulation, IntoSystem, Message, MessageReader, MessageWriter,
    ParamSet, ResMut, Time, World,
};

use super::{Note, read};
use crate::common::{A, Log, take, world};
use crate::fixtures::panic_message;

fn update(world: &mut World) -> Vec<String> {
    world.try_update(0.1).unwrap();
    take(world)
}

#[test]
fn later_systems_read_at_once_and_earlier_ones_in_the_next_update() {
    let mut world = world();
    world.add_system(read);
    world.add_system(|mut notes: MessageWriter<Note>, time: Time| {
        notes.write(Note(time.frame() as u32 * 10));
        notes.write_batch([Note(1), Note(2)]);
    });
    world.add_system(read.named("later"));
    assert_eq!(update(&mut world), ["", "10 1 2"]);
    assert_eq!(update(&mut world), ["10 1 2", "20 1 2"]);
}

#[test]
fn two_readers_of_a_system_have_separate_positions() {
    let mut world = world();
    world.add_system(
        |mut one: MessageReader<Note>, mut other: MessageReader<Note>, mut log: ResMut<Log>| {
            let first = one.read().next().map(|note| note.0);
            log.0.push(format!("{first:?} {} {}", one.len(), other.read().count()));
        },
    );
    world.write_message(Note(1));
    world.write_message(Note(2));
    assert_eq!(update(&mut world), ["Some(1) 1 2"]);
    assert_eq!(update(&mut world), ["Some(2) 0 0"]);
}

#[test]
fn only_yielded_messages_count_as_read() {
    let mut world = world();
    (0..6).for_each(|number| world.write_message(Note(number)));
    world.add_system(|mut notes: MessageReader<Note>| {
        assert_eq!((notes.len(), notes.is_empty()), (6, false));
        assert_eq!(notes.read().next(), Some(&Note(0)));
        assert_eq!(notes.read().take(2).map(|note| note.0).collect::<Vec<_>>(), [1, 2]);
        for note in notes.read() {
            if note.0 == 3 {
                break;
            }
        }
        assert_eq!(notes.read().len(), 2);
        assert_eq!(notes.slices().flatten().map(|note| note.0).collect::<Vec<_>>(), [4, 5]);
        assert!(notes.is_empty());
    });
    world.try_update(0.1).unwrap();
}

#[test]
fn clear_marks_all_messages_as_read() {
    let mut world = world();
    world.write_message(Note(1));
    world.add_system((|mut notes: MessageReader<Note>| notes.clear()).before(read));
    world.add_system(read);
    assert_eq!(update(&mut world), ["1"], "other readers are not affected");
    world.write_message(Note(2));
    assert_eq!(update(&mut world), ["2"]);
}

#[test]
fn a_message_without_size_is_counted() {
    #[derive(Message, Clone)]
    struct Tick;

    let mut world = world();
    world.add_system(|mut ticks: MessageWriter<Tick>| ticks.write_batch([Tick, Tick, Tick]));
    world.add_system(|mut ticks: MessageReader<Tick>, mut log: ResMut<Log>| {
        log.0.push(ticks.read().count().to_string());
    });
    assert_eq!(update(&mut world), ["3"]);
    assert_eq!(update(&mut world), ["3"]);
}

#[test]
fn commands_write_messages_at_their_place() {
    let mut world = world();
    world.add_system(|mut commands: Commands, mut late: CommandsAt<EndSimulation>| {
        commands.write_message(Note(1));
        commands.run("look", |world: &mut World| {
            assert_eq!(world.read_messages::<Note>().count(), 1);
            Ok(())
        });
        commands.write_message(Note(2));
        late.commands().write_message(Note(3));
    });
    world.add_system(read);
    assert_eq!(update(&mut world), ["1 2"]);
    assert_eq!(world.read_messages::<Note>().map(|note| note.0).collect::<Vec<_>>(), [2, 3]);
}

#[test]
fn messages_of_a_failed_system_are_dropped() {
    let token = Arc::new(());

    #[derive(Message, Clone)]
    #[message(local)]
    #[expect(dead_code, reason = "its drops are counted")]
    struct Counted(Arc<()>);

    let mut world = world();
    let own = Arc::clone(&token);
    world.add_system(
        move |mut notes: MessageWriter<Note>, mut other: MessageWriter<Counted>, time: Time| {
            notes.write(Note(time.frame() as u32));
            other.write(Counted(Arc::clone(&own)));
            match time.frame() {
                1 => Err("no fuel"),
                2 => panic!("no air"),
                _ => Ok(()),
            }
        },
    );
    world.add_system(read);
    assert!(world.try_update(0.1).is_err());
    assert!(world.try_update(0.1).is_err());
    world.try_update(0.1).unwrap();
    assert_eq!(take(&mut world), ["", "", "3"]);
    assert_eq!(world.read_messages::<Counted>().count(), 1);
    drop(world);
    assert_eq!(Arc::strong_count(&token), 1);
}

#[test]
fn what_a_panicking_reader_was_given_counts_as_read() {
    let mut world = world();
    let stumble = |mut notes: MessageReader<Note>, mut log: ResMut<Log>| {
        for note in notes.read() {
            log.0.push(note.0.to_string());
            assert_ne!(note.0, 2, "stumbled");
        }
    };
    world.add_system(stumble);
    (1..=3).for_each(|number| world.write_message(Note(number)));
    assert!(world.try_update(0.1).is_err());
    world.try_update(0.1).unwrap();
    assert_eq!(take(&mut world), ["1", "2", "3"]);
}

#[test]
fn a_world_without_readers_keeps_few_messages() {
    let token = Arc::new(());

    #[derive(Message, Clone)]
    #[message(local)]
    #[expect(dead_code, reason = "its drops are counted")]
    struct Counted(Arc<()>);

    let mut world = world();
    let own = Arc::clone(&token);
    world.add_system(move |mut all: MessageWriter<Counted>| all.write(Counted(Arc::clone(&own))));
    (0..50).for_each(|_| world.update(0.1));
    assert!(Arc::strong_count(&token) <= 6, "{}", Arc::strong_count(&token));
}

#[test]
fn a_reader_that_is_added_later_begins_at_the_oldest_kept_message() {
    let mut world = world();
    world.write_message(Note(1));
    world.update(0.1);
    world.add_system(read);
    assert_eq!(update(&mut world), ["1"]);
    assert_eq!(update(&mut world), [""]);
}

#[test]
fn a_world_transfer_leaves_messages_where_they_are() {
    let (mut one, mut other) = (world(), world());
    one.spawn(A(1));
    one.write_message(Note(1));
    other.move_entities_from(&mut one).unwrap();
    assert_eq!(
        (one.read_messages::<Note>().count(), other.read_messages::<Note>().count()),
        (1, 0)
    );
}

#[test]
fn a_reader_and_a_writer_can_be_in_one_system() {
    let mut world = world();
    world.add_system(
        |mut set: ParamSet<(MessageReader<Note>, MessageWriter<Note>)>,
         mut writer: MessageWriter<Note>,
         mut log: ResMut<Log>| {
            log.0.push(set.p0().read().count().to_string());
            set.p1().write(Note(1));
            writer.write(Note(2));
        },
    );
    assert_eq!(update(&mut world), ["0"]);
    assert_eq!(update(&mut world), ["2"]);
}

#[test]
fn a0184_two_state_messages_with_one_stable_name_are_refused() {
    mod elsewhere {
        #[derive(ancho_entities::Message, Clone)]
        pub(super) struct Note;
    }

    let mut world = World::new("test");
    world.write_message(Note(1));
    let message = panic_message(|| world.write_message(elsewhere::Note));
    assert!(
        message.starts_with("A0184: the messages `systems::messages::Note` and `"),
        "{message}"
    );
    assert!(message.ends_with("with `#[message(name = \"…\")]`"), "{message}");
}
