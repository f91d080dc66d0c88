//! The order in which commands of jobs are played.

use ancho_entities::{Buffer, Entity, EntityCommandBuffer, World, WorldSettings};
use ancho_jobs::JobPool;

use crate::commands::common::*;

#[test]
fn jobs_record_in_the_order_of_indices_for_any_number_of_threads() {
    let hashes: Vec<_> = [0, 1, 2, 4]
        .into_iter()
        .map(|workers| {
            let pool = JobPool::builder().workers(workers).build().unwrap();
            let settings = WorldSettings::new().job_pool(&pool);
            let mut world = World::with_settings("Simulation", settings);
            world.spawn_batch((0..10_001).map(A));
            let mut buffer = EntityCommandBuffer::new();
            let query = world.query::<(Entity, &A)>();
            let job =
                query.job().with(buffer.writer()).schedule_parallel(|(entity, a), commands| {
                    let new = commands.spawn((A(a.0 + 1), Link(entity)));
                    commands.add(entity, Link(new));
                    if a.0 % 3 == 0 {
                        commands.despawn(entity);
                    }
                });
            world.jobs().complete(job);
            world.play(&mut buffer).unwrap();
            world.check_invariants().unwrap();
            assert_eq!(world.entity_count(), 10_001 * 2 - 3334);
            world.state_hash()
        })
        .collect();
    assert!(hashes.iter().all(|&hash| hash == hashes[0]), "{hashes:?}");
}

#[test]
fn sort_keys_order_commands_of_jobs_and_the_main_thread() {
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
fn successive_jobs_and_the_main_thread_are_played_in_their_order() {
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
fn placeholders_of_successive_jobs_are_different() {
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

#[test]
fn placeholders_of_many_entities_and_of_many_batches_are_resolved() {
    const MANY: usize = 70_000;
    const BATCHES: usize = 3_000;
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new();
    let mut other = EntityCommandBuffer::new();
    let foreign = other.commands().unwrap().spawn_many((), MANY).get(MANY - 1).unwrap();
    let commands = buffer.commands().unwrap();
    let many = commands.spawn_many(A(0), MANY);
    for at in [0, 65_535, 65_536, MANY - 1] {
        let one = many.get(at).unwrap();
        assert_eq!(one.to_string(), format!("placeholder 0.{at}"));
        commands.set(one, A(at as u32));
    }
    let jobs = world.jobs();
    let job = jobs.schedule_parallel(&[], buffer.writer(), BATCHES, 1, |mut commands, range| {
        let one = commands.spawn(A(0));
        commands.set(one, A((MANY + range.start) as u32));
    });
    jobs.complete(job.unwrap());
    world.play(&mut buffer).unwrap();
    for at in [0, 65_535, 65_536, MANY - 1] {
        let one = buffer.resolve(many.get(at).unwrap()).unwrap();
        assert_eq!(world.get(one), Ok(&A(at as u32)));
    }
    assert_eq!(buffer.resolve(foreign), None);
    buffer.clear().unwrap();
    let commands = buffer.commands().unwrap();
    commands.spawn_many((), 65_536);
    let batch = commands.spawn_batch([A(8), A(9)]);
    world.play(&mut buffer).unwrap();
    let last = buffer.resolve(batch.get(1).unwrap()).unwrap();
    assert_eq!(world.get(last), Ok(&A(9)));
    world.despawn(last).unwrap();
    world.despawn(buffer.resolve(batch.get(0).unwrap()).unwrap()).unwrap();
    let by_batches = world.query::<&A>().iter().map(|a| a.0).skip(MANY).collect::<Vec<_>>();
    assert_eq!(by_batches, (MANY as u32..(MANY + BATCHES) as u32).collect::<Vec<_>>());
}
