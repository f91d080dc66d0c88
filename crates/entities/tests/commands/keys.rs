//! Sort keys.

use ancho_entities::{Buffer, EntityCommandBuffer};

use crate::common::*;

#[test]
fn descending_keys_10_000_times() {
    let mut world = world();
    let log = world.spawn(Buffer::<Item>::new());
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    for key in (0..10_000).rev() {
        commands.set_sort_key(Some(key));
        commands.append(log, Item(key));
        commands.spawn(A(key));
    }
    assert_eq!(buffer.len(), 20_000);
    world.play(&mut buffer).unwrap();
    assert!(items(&world, log).into_iter().eq(0..10_000));
    // Rows are filled in the order of playback.
    assert!(world.query::<&A>().iter().map(|a| a.0).eq(0..10_000));
}

#[test]
fn equal_keys_keep_the_order_of_recording_and_commands_without_a_key_are_last() {
    let mut world = world();
    let log = world.spawn(Buffer::<Item>::new());
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    let keys = [None, Some(3), Some(1), None, Some(3), Some(0), Some(1), Some(u32::MAX - 1), None];
    for (number, key) in (0..).zip(keys) {
        commands.set_sort_key(key);
        commands.append(log, Item(number * 10));
        commands.append(log, Item(number * 10 + 1));
    }
    world.play(&mut buffer).unwrap();
    let expected = [50, 51, 20, 21, 60, 61, 10, 11, 40, 41, 70, 71, 0, 1, 30, 31, 80, 81];
    assert_eq!(items(&world, log), expected);
}

#[test]
fn the_greatest_key_is_played_before_commands_without_a_key() {
    let mut world = world();
    let log = world.spawn(Buffer::<Item>::new());
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    commands.append(log, Item(2));
    commands.set_sort_key(Some(u32::MAX));
    commands.append(log, Item(1));
    commands.set_sort_key(Some(u32::MAX - 1));
    commands.append(log, Item(0));
    world.play(&mut buffer).unwrap();
    assert_eq!(items(&world, log), [0, 1, 2], "those without a key come last");
}

#[test]
fn a_key_does_not_stay_when_a_buffer_is_cleared() {
    let mut world = world();
    let log = world.spawn(Buffer::<Item>::new());
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    commands.set_sort_key(Some(1));
    commands.append(log, Item(9));
    buffer.clear().unwrap();
    let commands = buffer.commands().unwrap();
    commands.append(log, Item(1));
    commands.set_sort_key(Some(7));
    commands.append(log, Item(0));
    world.play(&mut buffer).unwrap();
    assert_eq!(items(&world, log), [0, 1]);
}
