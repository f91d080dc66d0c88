//! The time for which messages are kept.

use ancho_entities::{
    FixedRateCatchUp, FixedStep, Initialization, IntoSystem, Message, MessageReader, MessageWriter,
    RateManager, RateTurn, Res, ResMut, Resource, SystemGroup, Time, World,
};

use super::{Note, read};
use crate::common::{Log, take, world};

/// A group that makes as many steps in each update as a list says.
struct Stepped;

impl SystemGroup for Stepped {}

struct Counts(Vec<u32>);

impl RateManager for Counts {
    fn next_update(&mut self, turn: RateTurn) -> Option<Time> {
        let count = self.0.get(turn.time.frame() as usize - 1).copied().unwrap_or(1);
        (turn.updates < count).then_some(turn.time)
    }
}

fn write(mut notes: MessageWriter<Note>, time: Time) {
    notes.write(Note(time.frame() as u32));
}

fn read_with_missed(mut notes: MessageReader<Note>, mut log: ResMut<Log>) {
    let missed = notes.missed();
    let line: Vec<_> = notes.read().map(|note| note.0.to_string()).collect();
    log.0.push(format!("{} missed {missed}", line.join(" ")));
}

#[test]
fn a_group_without_a_step_loses_nothing_and_three_steps_read_once() {
    let mut world = world();
    world.add_system(Stepped.rate(Counts(vec![0, 0, 0, 0, 3, 1])));
    world.add_system(write.before(Stepped));
    world.add_system(read_with_missed.in_group(Stepped));
    (0..4).for_each(|_| world.update(0.1));
    assert_eq!(take(&mut world), [""; 0]);
    world.update(0.1);
    assert_eq!(take(&mut world), ["1 2 3 4 5 missed 0", " missed 0", " missed 0"]);
    world.update(0.1);
    assert_eq!(take(&mut world), ["6 missed 0"]);
}

#[test]
fn messages_of_several_steps_are_read_by_the_world_outside() {
    let mut world = world();
    world.add_system(Stepped.rate(Counts(vec![3, 0, 2])));
    world.add_system(write.in_group(Stepped));
    world.add_system(read.after(Stepped));
    for expected in ["1 1 1", "", "3 3"] {
        world.update(0.1);
        assert_eq!(take(&mut world), [expected]);
    }
}

#[test]
fn a_disabled_reader_misses_messages_after_two_chances() {
    for (is_first, expected) in [(false, "3 4 missed 2"), (true, "3 missed 2")] {
        let mut world = world();
        let reader = world.add_system(read_with_missed);
        world.add_system(if is_first { write.after(reader) } else { write.before(reader) });
        world.set_system_enabled(reader, false).unwrap();
        (0..3).for_each(|_| world.update(0.1));
        world.set_system_enabled(reader, true).unwrap();
        world.update(0.1);
        assert_eq!(take(&mut world), [expected]);
        world.update(0.1);
        assert!(take(&mut world)[0].ends_with("missed 0"), "reported once");
    }
}

#[test]
fn a_reader_that_does_not_read_misses_messages_after_two_runs() {
    let mut world = world();
    world.add_system(|notes: MessageReader<Note>, mut log: ResMut<Log>| {
        log.0.push(format!("{} {}", notes.len(), notes.missed()));
    });
    world.write_message(Note(1));
    (0..4).for_each(|_| world.update(0.1));
    assert_eq!(take(&mut world), ["1 0", "1 0", "0 1", "0 0"]);
}

#[test]
fn keep_sets_the_number_of_chances() {
    #[derive(Message, Clone)]
    #[message(keep = 1)]
    struct Short;

    #[derive(Message, Clone)]
    #[message(keep = all)]
    struct Long;

    let mut world = world();
    let reader = |short: MessageReader<Short>, long: MessageReader<Long>, mut log: ResMut<Log>| {
        log.0.push(format!("{} {}", short.len(), long.len()));
    };
    world.add_system(reader);
    world.write_message(Short);
    for _ in 0..20 {
        world.write_message(Long);
        world.update(0.1);
    }
    let log = take(&mut world);
    assert_eq!((&*log[0], &*log[1], &*log[19]), ("1 1", "0 2", "0 20"));
}

#[test]
fn a_limit_drops_the_oldest_messages() {
    #[derive(Message, Clone)]
    #[message(keep = all, limit = 3)]
    struct Limited(u32);

    let mut world = world();
    let id = world.add_system(|mut all: MessageReader<Limited>, mut log: ResMut<Log>| {
        let missed = all.missed();
        log.0.push(format!("{:?} {missed}", all.read().map(|it| it.0).collect::<Vec<_>>()));
    });
    world.set_system_enabled(id, false).unwrap();
    (0..5).for_each(|number| world.write_message(Limited(number)));
    world.update(0.1);
    (5..7).for_each(|number| world.write_message(Limited(number)));
    world.set_system_enabled(id, true).unwrap();
    world.update(0.1);
    world.update(0.1);
    assert_eq!(take(&mut world), ["[4, 5, 6] 4", "[] 0"]);
}

#[test]
fn a_removed_reader_keeps_nothing() {
    let token = std::sync::Arc::new(());

    #[derive(Message, Clone)]
    #[message(local, keep = all)]
    #[expect(dead_code, reason = "its drops are counted")]
    struct Counted(std::sync::Arc<()>);

    let mut world = world();
    let id = world.add_system(|_: MessageReader<Counted>| ());
    let other = world.add_system(|mut all: MessageReader<Counted>| all.clear());
    (0..10).for_each(|_| world.write_message(Counted(token.clone())));
    world.read_messages::<Counted>().for_each(drop);
    world.update(0.1);
    assert_eq!(std::sync::Arc::strong_count(&token), 11);
    world.remove_system(id).unwrap();
    world.write_message(Counted(token.clone()));
    world.update(0.1);
    world.read_messages::<Counted>().for_each(drop);
    world.write_message(Counted(token.clone()));
    assert!(std::sync::Arc::strong_count(&token) <= 3);
    world.remove_system(other).unwrap();
}

#[test]
fn fixed_steps_read_each_message_once() {
    let mut world = world();
    world.set_rate(FixedStep, FixedRateCatchUp::new(0.25)).unwrap();
    world.add_system(write.in_group(Initialization));
    world.add_system(read.in_group(FixedStep));
    for dt in [0.0, 0.1, 0.1, 0.8, 0.3] {
        world.update(dt);
    }
    assert_eq!(take(&mut world), ["1", "2 3 4", "", "", "", "5"]);
}

#[test]
fn a0183_very_many_messages_are_reported_once() {
    #[derive(Message, Clone)]
    #[message(local, keep = all)]
    struct Tick;

    let mut world = World::new("test");
    let (sender, warnings) = std::sync::mpsc::channel();
    world.set_error_handler(move |error| sender.send(error.to_string()).unwrap());
    world.add_system(|_: MessageReader<Tick>| ());
    world.add_system(|mut ticks: MessageWriter<Tick>| {
        ticks.write_batch(std::iter::repeat_n(Tick, 600_000));
    });
    (0..4).for_each(|_| world.update(0.1));
    let all: Vec<_> = warnings.try_iter().collect();
    assert_eq!(all.len(), 1, "{all:?}");
    assert!(all[0].starts_with("A0183: world `test` keeps 1000000 messages `"), "{all:?}");
}

#[test]
fn messages_that_expire_while_a_parameter_is_missing_are_counted() {
    #[derive(Resource, Clone)]
    struct Late;

    let mut world = world();
    let reader = |notes: MessageReader<Note>, _: Res<Late>, mut log: ResMut<Log>| {
        log.0.push(format!("{} {}", notes.len(), notes.missed()));
    };
    world.add_system(reader);
    world.write_message(Note(1));
    world.write_message(Note(2));
    (0..4).for_each(|_| _ = world.try_update(0.1).unwrap_err());
    world.insert_resource(Late);
    (0..2).for_each(|_| world.update(0.1));
    assert_eq!(take(&mut world), ["0 2", "0 0"]);
}
