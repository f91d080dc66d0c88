//! Jobs in worlds that share memory with forks.

use ancho_entities::{ChunkArena, EnabledMut, Entity, Lookup, Query, With, World, WorldSettings};

use crate::jobs::common::*;

fn forked() -> (Checked, Checked, Vec<Entity>) {
    let mut world = world_of(3, 10);
    let all = world.spawn_batch((0..50).map(|at| (A(at), B(1), X(at)))).collect();
    let fork = Checked(world.fork().unwrap());
    (world, fork, all)
}

fn sum(world: &World) -> u32 {
    world.query::<&A>().iter().map(|a| a.0).sum()
}

const SUM: u32 = 50 * 49 / 2;

#[test]
fn a_job_that_writes_leaves_a_fork_as_it_was() {
    let (mut world, mut fork, _) = forked();
    let before = fork.state_hash();
    let _ = world.query_mut::<&mut A>().schedule_parallel(|a| a.0 += 1);
    assert_eq!(sum(&fork), SUM);
    assert_eq!(sum(&world), SUM + 50);
    let _ = fork.query_mut::<&mut A>().schedule(|a| a.0 += 2);
    assert_eq!(sum(&world), SUM + 50);
    assert_eq!(sum(&fork), SUM + 100);
    assert_ne!(fork.state_hash(), before);
}

#[test]
fn all_kinds_of_jobs_leave_a_fork_as_it_was() {
    let (mut world, fork, all) = forked();
    let before = fork.state_hash();
    let (first, last) = (all[0], all[49]);
    let _ = world.query_mut::<EnabledMut<X>>().schedule_parallel(|mut on| on.set(false));
    let array = world.query_mut::<&mut B>().job().into_array();
    let _ = array.jobs().schedule_for_each(&[], array, 50, 8, |b, _| b.0 += 1).unwrap();
    let (marks, lookup) = world.split::<(Query<(Entity, &B)>, Lookup<&mut A>)>();
    let job = marks.job().with(lookup.into_job()).schedule(move |(entity, _), a| {
        if entity == first {
            a.get_mut(last).unwrap().0 = 1000;
        }
    });
    let _ = job;
    let job = world.query_mut::<&mut A>().job();
    let _ = job.schedule_chunks_parallel(|all| all.iter_mut().for_each(|a| a.0 += 1));
    assert_eq!(world.query::<&X>().count(), 0);
    assert_eq!(sum(&world), SUM + 50 + 1000 - 49);
    assert_eq!(fork.state_hash(), before);
    assert_eq!(fork.query::<&X>().count(), 50);
}

#[test]
fn forking_waits_for_jobs() {
    let (mut world, _, _) = forked();
    let gate = Gate::default();
    let stand = gate.stand();
    let _ = world.query_mut::<&mut A>().schedule(move |a| {
        stand();
        a.0 += 1;
    });
    gate.await_job(&world);
    let fork = gate.after("fork", || world.fork().unwrap());
    assert_eq!(sum(&fork), SUM + 50);
}

#[test]
fn a_fork_is_dropped_while_a_job_reads_shared_memory() {
    let (mut world, fork, all) = forked();
    let gate = Gate::default();
    let stand = gate.stand();
    let total = std::sync::Arc::new(std::sync::Mutex::new(0));
    let kept = total.clone();
    let _ = world.query::<&A>().schedule(move |a| {
        stand();
        *kept.lock().unwrap() += a.0;
    });
    gate.await_job(&world);
    gate.beside("drop", || drop(fork));
    // The chunks still count as shared, and a write would copy them under the job; a read need not wait.
    gate.beside("get", || assert_eq!(world.get::<B>(all[3]), Ok(&B(1))));
    gate.open();
    world.get_mut::<A>(all[0]).unwrap().0 = 7;
    assert_eq!(*total.lock().unwrap(), SUM);
}

#[test]
fn a_fork_writes_while_a_job_of_its_parent_reads_shared_memory() {
    let (world, mut fork, all) = forked();
    let gate = Gate::default();
    let stand = gate.stand();
    let total = std::sync::Arc::new(std::sync::Mutex::new(0));
    let kept = total.clone();
    let read = world.query::<&A>().schedule(move |a| {
        stand();
        *kept.lock().unwrap() += a.0;
    });
    gate.await_job(&world);
    gate.beside("a fork that writes", || {
        fork.query_mut::<&mut A>().for_each(|a| a.0 = 0);
        let job = fork.query_mut::<&mut A>().schedule_parallel(|a| a.0 += 1);
        fork.jobs().complete(job);
        fork.batch(&all[..20]).despawn().unwrap();
        assert_eq!(sum(&fork), 30);
    });
    gate.open();
    world.jobs().complete(read);
    assert_eq!(*total.lock().unwrap(), SUM);
}

#[test]
fn a_copy_of_shared_memory_waits_for_jobs_that_read_it() {
    // No job uses `B`. But writing it copies the chunk, and jobs read the old memory.
    let (mut world, fork, all) = forked();
    let gate = Gate::default();
    let _ = stand_at!(gate, world.query::<&A>().job());
    gate.await_job(&world);
    gate.after("get_mut", || world.get_mut::<B>(all[0]).unwrap().0 = 9);
    assert_eq!(fork.get::<B>(all[0]), Ok(&B(1)));
    // The same for a job that writes.
    let mut fork = fork;
    let gate = Gate::default();
    let _ = stand_at!(gate, fork.query::<&A>().job());
    gate.await_job(&fork);
    let write = gate.after("schedule", || fork.query_mut::<&mut B>().schedule(|b| b.0 = 8));
    fork.jobs().complete(write);
    assert_eq!(world.get::<B>(all[1]), Ok(&B(1)));
    assert!(fork.query::<&B>().iter().all(|b| b.0 == 8));
}

#[test]
fn a_parent_is_dropped_while_a_job_of_its_fork_reads_shared_memory() {
    let (world, fork, _) = forked();
    let gate = Gate::default();
    let _ = stand_at!(gate, fork.query::<&A>().job());
    gate.await_job(&fork);
    gate.beside("drop", || drop(world));
    gate.open();
    assert_eq!(sum(&fork), SUM);
}

/// Creates a world with three chunks and a fork, and room for `more` chunks.
fn limited(more: usize) -> (World, World, ChunkArena) {
    let arena = ChunkArena::with_limit((3 + more) * 16 * 1024);
    let settings = WorldSettings::new().chunk_capacity_limit(4).arena(arena.clone());
    let mut world = World::with_settings("Simulation", settings.job_pool(&pool(2)));
    world.spawn_batch((0..12).map(|at| (A(at), B(1), X(at))));
    let fork = world.fork().unwrap();
    (world, fork, arena)
}

type Schedule = (&'static str, fn(&mut World));

const SCHEDULES: [Schedule; 6] = [
    ("schedule", |world| _ = world.query_mut::<&mut A>().schedule(|a| a.0 += 1)),
    ("schedule_parallel", |world| {
        world.query_mut::<&mut A>().schedule_parallel(|a| a.0 += 1);
    }),
    ("filtered", |world| {
        let mut query = world.query_filtered_mut::<(&mut A, &mut B), With<X>>();
        query.schedule_parallel(|(a, _)| a.0 += 1);
    }),
    ("chunks", |world| {
        let job = world.query_mut::<&mut A>().job();
        job.schedule_chunks_parallel(|all| all.iter_mut().for_each(|a| a.0 += 1));
    }),
    ("run", |world| world.query_mut::<&mut A>().job().run(|a| a.0 += 1)),
    ("array", |world| {
        let array = world.query_mut::<&mut A>().job().into_array();
        array.jobs().schedule_for_each(&[], array, 12, 4, |a, _| a.0 += 1).unwrap();
    }),
];

#[test]
fn without_memory_for_a_copy_nothing_is_scheduled() {
    for (name, schedule) in SCHEDULES {
        for more in 0..3 {
            let (mut world, fork, arena) = limited(more);
            let before = (world.state_hash(), world.version());
            let versions = |world: &World| -> Vec<_> {
                world.chunks().map(|chunk| chunk.change_version::<A>()).collect()
            };
            let marks = versions(&world);
            world.advance_version();
            let refused = panic_message(|| schedule(&mut world));
            assert!(refused.starts_with("A0056: "), "{name}: {refused}");
            assert_eq!(world.jobs().uncompleted(), 0, "{name}");
            assert_eq!(world.state_hash(), before.0, "{name}");
            assert_eq!(versions(&world), marks, "{name}: nothing counts as changed");
            assert_eq!(fork.state_hash(), before.0);
            world.check_invariants().unwrap();
            // With enough memory, it succeeds.
            drop(fork);
            schedule(&mut world);
            assert_eq!(world.query::<&A>().iter().map(|a| a.0).sum::<u32>(), 66 + 12, "{name}");
            assert!(arena.stats().used <= (3 + more) * 16 * 1024);
            world.check_invariants().unwrap();
        }
    }
}
