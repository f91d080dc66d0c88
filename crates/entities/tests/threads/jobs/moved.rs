//! Worlds that are moved, sent to other threads and dropped while jobs run.

use std::mem;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use ancho_entities::{Entity, Lookup, Query, World};

use crate::jobs::common::*;

/// Creates a world whose entities each have a goal, and a job at the gate that looks the goals up.
fn busy(gate: &Gate) -> (Checked, Vec<Entity>) {
    let mut world = world_of(2, 10);
    let all: Vec<_> = world.spawn_batch((0..50).map(|at| (A(at), B(0)))).collect();
    let goals = all.clone();
    let stand = gate.stand();
    let (query, lookup) = world.split::<(Query<&mut B>, Lookup<&A>)>();
    let mut next = 0;
    let job = query.job().named("Busy").with(lookup.into_job()).schedule(move |b, a| {
        stand();
        b.0 = u64::from(a.get(goals[next]).unwrap().0) + 1;
        next += 1;
    });
    let _ = job;
    gate.await_job(&world);
    (world, all)
}

fn is_done(world: &World) -> bool {
    world.query::<(&A, &B)>().iter().all(|(a, b)| u64::from(a.0) + 1 == b.0)
}

#[test]
fn a_world_moves_while_jobs_run() {
    let gate = Gate::default();
    let (world, all) = busy(&gate);
    let mut list = Vec::new();
    gate.beside("moving", || {
        list.push(Box::new(world));
        // The list reallocates, too.
        (0..10).for_each(|_| list.push(Box::new(world_with(0))));
    });
    let mut world = *list.swap_remove(0);
    gate.beside("get", || assert_eq!(world.get::<A>(all[7]), Ok(&A(7))));
    gate.open();
    assert!(is_done(&world));
    world.spawn(A(1));
}

#[test]
fn a_world_is_sent_to_another_thread_while_jobs_run() {
    let gate = Gate::default();
    let (world, all) = busy(&gate);
    let stand = gate.stand();
    let world = thread::scope(|scope| {
        let other = scope.spawn(|| {
            let mut world = world;
            gate.beside("get_mut", || assert_eq!(world.get::<A>(all[7]), Ok(&A(7))));
            let _ = world.query_mut::<&mut B>().schedule(move |b| {
                stand();
                b.0 += 1;
            });
            gate.open();
            world
        });
        other.join().unwrap()
    });
    assert!(world.query::<(&A, &B)>().iter().all(|(a, b)| u64::from(a.0) + 2 == b.0));
}

#[test]
fn worlds_are_swapped_while_jobs_run() {
    let (one, two) = (Gate::default(), Gate::default());
    let (mut first, _) = busy(&one);
    let (mut second, all) = busy(&two);
    one.beside("swapping", || two.beside("swapping", || mem::swap(&mut first.0, &mut second.0)));
    // The job of the swapped world waits for its own gate only.
    two.open();
    one.beside("the other", || {
        assert!(is_done(&first));
        first.despawn(all[0]).unwrap();
    });
    one.open();
    assert!(is_done(&second));
}

#[test]
fn a_world_that_ends_waits_for_its_jobs() {
    let gate = Gate::default();
    let (world, _) = busy(&gate);
    gate.after("drop", || drop(into_world(world)));
}

#[test]
fn a_world_that_is_replaced_waits_for_its_jobs() {
    let gate = Gate::default();
    let (mut world, _) = busy(&gate);
    gate.after("replacing", || world.0 = World::new("Another"));
    world.spawn(A(1));
}

#[test]
fn a_dropped_world_completes_its_jobs() {
    for workers in WORKERS {
        let mut world = world_of(workers, 10);
        world.spawn_batch((0..50).map(A));
        let sum = Arc::new(Mutex::new(0));
        let kept = Arc::clone(&sum);
        let _ = world.query_mut::<&mut A>().schedule_parallel(|a| a.0 += 1);
        let _ = world.query::<&A>().schedule(move |a| *kept.lock().unwrap() += a.0);
        drop(into_world(world));
        assert_eq!(*sum.lock().unwrap(), 49 * 50 / 2 + 50, "{workers} workers");
    }
}

#[test]
fn a_world_is_dropped_inside_one_of_its_own_jobs() {
    for workers in [1, 2, 4] {
        must_end(move || {
            let mut world = world_of(workers, 10);
            world.spawn_batch((0..50).map(|at| (A(at), Text(at.to_string()))));
            let (send, receive) = mpsc::channel::<World>();
            let (told, hear) = mpsc::channel();
            let receive = Mutex::new(receive);
            let mut is_first = true;
            let job = world.query_mut::<(&mut A, &mut Text)>().schedule(move |(a, text)| {
                if mem::take(&mut is_first) {
                    // The job drops its own world, with the memory that it is about to write.
                    drop(receive.lock().unwrap().recv().unwrap());
                }
                a.0 += 1;
                text.0.push('x');
                if a.0 == 50 {
                    told.send(text.0.clone()).unwrap();
                }
            });
            let _ = job;
            world.jobs().flush();
            send.send(into_world(world)).unwrap();
            assert_eq!(hear.recv().unwrap(), "49x");
        });
    }
}

#[test]
fn a_world_ends_inside_a_job_of_another() {
    for workers in WORKERS {
        must_end(move || {
            let pool = pool(workers);
            let settings = ancho_entities::WorldSettings::new().job_pool(&pool);
            let mut one = World::with_settings("One", settings.clone());
            let two = World::with_settings("Two", settings);
            one.spawn_batch((0..50).map(A));
            let sum = Arc::new(Mutex::new(0));
            let kept = Arc::clone(&sum);
            let _ = one.query_mut::<&mut A>().schedule_parallel(|a| a.0 += 1);
            let _ = one.query::<&A>().schedule(move |a| *kept.lock().unwrap() += a.0);
            let job = two.jobs().schedule(&[], (), move |()| drop(one)).unwrap();
            two.jobs().complete(job);
            assert_eq!(*sum.lock().unwrap(), 49 * 50 / 2 + 50, "{workers} workers");
        });
    }
}

#[test]
fn many_worlds_on_many_threads_share_a_pool() {
    let pool = pool(3);
    thread::scope(|scope| {
        for number in 0..4 {
            let pool = &pool;
            scope.spawn(move || {
                let settings =
                    ancho_entities::WorldSettings::new().chunk_capacity_limit(16).job_pool(pool);
                let mut world = World::with_settings("Server", settings);
                world.spawn_batch((0..200).map(|at| (A(at), B(0), X(at))));
                for round in 0..50 {
                    let _ = world.query_mut::<&mut A>().schedule_parallel(|a| a.0 += 1);
                    let mut query = world.query_mut::<(&A, &mut B)>();
                    let _ = query.schedule_parallel(|(a, b)| b.0 += u64::from(a.0));
                    if round % 10 == number {
                        world.spawn((A(round), B(0), X(0)));
                        let mut fork = world.fork().unwrap();
                        let _ = fork.query_mut::<&mut A>().schedule(|a| a.0 = 0);
                    }
                }
                assert!(world.query::<(&A, &X)>().iter().take(200).all(|(a, x)| a.0 == x.0 + 50));
                world.check_invariants().unwrap();
            });
        }
    });
}
