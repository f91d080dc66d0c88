//! Sort keys.

use ancho_entities::{Buffer, Entity, EntityCommandBuffer};

use crate::common::*;

/// Returns the appended items, in the order of playback.
fn items(world: &Checked, entity: Entity) -> Vec<u32> {
    world.buffer::<Item>(entity).unwrap().iter().map(|item| item.0).collect()
}

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
fn equal_keys_are_played_in_the_order_of_recording_and_no_key_comes_last() {
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
fn the_greatest_key_comes_before_none() {
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

#[test]
fn keys_across_lanes_of_jobs_and_the_main_thread() {
    let mut world = world();
    let log = world.spawn(Buffer::<Item>::new());
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    commands.set_sort_key(Some(50));
    commands.append(log, Item(1000));
    commands.set_sort_key(None);
    commands.append(log, Item(1001));
    let jobs = world.jobs();
    let job = jobs.schedule_for_each(&[], buffer.writer(), 100, 7, move |commands, index| {
        commands.set_sort_key(Some(99 - index as u32));
        commands.append(log, Item(index as u32));
    });
    jobs.complete(job.unwrap());
    let commands = buffer.commands().unwrap();
    commands.set_sort_key(Some(50));
    commands.append(log, Item(1002));
    commands.set_sort_key(None);
    commands.append(log, Item(1003));
    world.play(&mut buffer).unwrap();
    let mut expected: Vec<_> = (0..100).rev().collect();
    // Key 50 is the key of index 49: what the main thread recorded earlier is played before it, the rest after it.
    let at = expected.iter().position(|&index| index == 49).unwrap();
    expected.insert(at, 1000);
    expected.insert(at + 2, 1002);
    expected.extend([1001, 1003]);
    assert_eq!(items(&world, log), expected);
}

#[test]
fn a_parallel_job_is_played_in_the_order_of_its_indices() {
    for batch in [1, 3, 64, 1000] {
        let mut world = world();
        let log = world.spawn(Buffer::<Item>::new());
        let mut buffer = EntityCommandBuffer::new();
        let jobs = world.jobs();
        let job =
            jobs.schedule_for_each(&[], buffer.writer(), 500, batch, move |commands, index| {
                commands.append(log, Item(index as u32));
            });
        jobs.complete(job.unwrap());
        assert_eq!(buffer.len(), 500);
        world.play(&mut buffer).unwrap();
        assert!(items(&world, log).into_iter().eq(0..500));
    }
}

#[test]
fn jobs_one_after_the_other_are_played_in_that_order_with_what_the_main_thread_records() {
    let mut world = world();
    let log = world.spawn(Buffer::<Item>::new());
    let mut buffer = EntityCommandBuffer::new();
    buffer.commands().unwrap().append(log, Item(0));
    let jobs = world.jobs();
    // The second job is scheduled before the first is completed.
    let first = jobs.schedule_for_each(&[], buffer.writer(), 10, 3, move |commands, index| {
        commands.append(log, Item(100 + index as u32));
    });
    let first = first.unwrap();
    let second = jobs.schedule(&[first], buffer.writer(), move |mut commands| {
        commands.append(log, Item(200));
        commands.append(log, Item(201));
    });
    let second = second.unwrap();
    let third =
        jobs.schedule_for_each(&[second], buffer.writer(), 10, 4, move |commands, index| {
            commands.append(log, Item(300 + index as u32));
        });
    jobs.complete(third.unwrap());
    buffer.commands().unwrap().append(log, Item(400));
    world.play(&mut buffer).unwrap();
    let expected = std::iter::once(0).chain(100..110).chain(200..202).chain(300..310).chain([400]);
    assert!(items(&world, log).into_iter().eq(expected), "{:?}", items(&world, log));
}

#[test]
fn placeholders_of_jobs_one_after_the_other_are_different() {
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new();
    let (send, all) = std::sync::mpsc::channel();
    let main = buffer.commands().unwrap().spawn(A(0));
    let jobs = world.jobs();
    let mut last = None;
    for job in 1..5 {
        let send = std::sync::Mutex::new(send.clone());
        let before: Vec<_> = last.into_iter().collect();
        let handle =
            jobs.schedule_for_each(&before, buffer.writer(), 6, 2, move |commands, index| {
                let number = job * 100 + index as u32;
                let entity = commands.spawn(A(number));
                commands.add(entity, Link(main));
                send.lock().unwrap().send((number, entity)).unwrap();
            });
        last = Some(handle.unwrap());
    }
    jobs.complete(last.unwrap());
    drop(send);
    let all: Vec<_> = all.iter().collect();
    assert_eq!(all.len(), 24);
    world.play(&mut buffer).unwrap();
    let main = buffer.resolve(main).unwrap();
    for (number, placeholder) in all {
        let entity = buffer.resolve(placeholder).unwrap();
        assert_eq!(world.get(entity), Ok(&A(number)), "{placeholder}");
        assert_eq!(world.get(entity), Ok(&Link(main)));
    }
    assert_eq!(world.entity_count(), 25);
}
