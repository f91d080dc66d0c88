//! Worlds and transactions that change their thread.

use std::sync::mpsc;
use std::thread;

use ancho_entities::{Entity, ExclusiveEntityTransaction, Managed, World};

use crate::common::{A, Script, Text, world};

fn add_one(world: &mut World) {
    _ = world.query_mut::<&mut A>().schedule_parallel(|number| number.0 += 1);
    world.jobs().flush();
}

#[test]
fn a_world_with_jobs_under_way_is_sent_updated_and_dropped() {
    let world = thread::spawn(|| {
        let mut world = World::new("Made here");
        world.spawn_batch((0..5000).map(|n| (A(n), Text(n.to_string()))));
        world.spawn((A(0), Managed::new(Script("one".into()))));
        add_one(&mut world);
        world
    });
    let mut world = world.join().unwrap();
    add_one(&mut world);
    let other = thread::spawn(move || {
        for _ in 0..3 {
            add_one(&mut world);
        }
        let sum = world.query::<&A>().iter().map(|number| u64::from(number.0)).sum::<u64>();
        world.check_invariants().unwrap();
        // Once more, and the world is dropped while jobs may run.
        add_one(&mut world);
        sum
    });
    assert_eq!(other.join().unwrap(), 5000 * 4999 / 2 + 5 * 5001);
}

#[test]
fn worlds_of_other_threads_arrive_one_after_another() {
    let (send, receive) = mpsc::channel();
    for loader in 0..4 {
        let send = send.clone();
        thread::spawn(move || {
            let mut world = World::new("Loading");
            let first = world.spawn(A(loader));
            world.spawn_batch((0..2000).map(|n| (A(n), Text(n.to_string()))));
            world.add(first, Text(loader.to_string())).unwrap();
            add_one(&mut world);
            send.send((loader, first, world)).unwrap();
        });
    }
    drop(send);
    let mut game = World::new("Game");
    // Sorted, so that the order of arrival does not matter.
    let mut loaded: Vec<(u32, Entity, World)> = receive.iter().collect();
    loaded.sort_unstable_by_key(|(loader, ..)| *loader);
    for (loader, first, mut world) in loaded {
        add_one(&mut game);
        let moved = game.move_entities_from(&mut world).unwrap();
        drop(world);
        let first = moved.get(first).unwrap();
        assert_eq!(game.get(first), Ok(&A(loader + 1)));
        assert_eq!(game.get(first), Ok(&Text(loader.to_string())));
    }
    assert_eq!(game.entity_count(), 4 * 2001);
    game.check_invariants().unwrap();
}

#[test]
fn a_transaction_is_sent_and_ends_elsewhere() {
    let mut transaction = World::new("Loading").begin_transaction();
    let job = transaction.schedule(&[], |entities| {
        entities.spawn_batch((0..1000).map(A));
    });
    transaction.jobs().flush();
    let world = thread::spawn(move || {
        let after = transaction.schedule(&[job.unwrap()], |entities| {
            entities.query_mut::<&mut A>().for_each(|number| number.0 += 1);
        });
        _ = after.unwrap();
        transaction.end().unwrap()
    });
    let world = world.join().unwrap();
    let sum = world.query::<&A>().iter().map(|number| u64::from(number.0)).sum::<u64>();
    assert_eq!(sum, 1000 * 1001 / 2);
}

#[test]
fn transactions_of_several_worlds_run_side_by_side() {
    let mut all: Vec<ExclusiveEntityTransaction> = Vec::new();
    for _ in 0..4 {
        let mut transaction = World::new("Loading").begin_transaction();
        let mut last = None;
        for round in 0..5 {
            let job = transaction.schedule(last.as_slice(), move |entities| {
                let batch = (0..500).map(|n| (A(n * round), Text(n.to_string())));
                let all: Vec<_> = entities.spawn_batch(batch).collect();
                all.iter().step_by(7).for_each(|&entity| _ = entities.despawn(entity).unwrap());
            });
            last = Some(job.unwrap());
        }
        transaction.jobs().flush();
        all.push(transaction);
    }
    let hashes: Vec<_> = all.into_iter().map(|one| one.end().unwrap().state_hash()).collect();
    assert!(hashes.iter().all(|hash| *hash == hashes[0]));
}

#[test]
fn ids_depend_on_the_operations_alone() {
    let run = || {
        let mut world = world();
        let mut all: Vec<_> = world.spawn_many(A(0), 500).collect();
        world.batch(&all.split_off(250)).despawn().unwrap();
        for entity in all.iter().step_by(3) {
            world.despawn(*entity).unwrap();
        }
        world.spawn_batch((0..300).map(A));
        let archetype = world.archetype::<Text>();
        world.create_many(archetype, 100).unwrap();
        for entity in all.iter().skip(1).step_by(3) {
            world.add(*entity, Text("moved".into())).unwrap();
        }
        world.all_entities()
    };
    let first = run();
    assert_eq!(first, run());
    let other_thread = thread::spawn(move || assert_eq!(first, run()));
    other_thread.join().unwrap();
}
