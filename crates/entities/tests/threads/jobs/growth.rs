//! The records of jobs do not grow.

use ancho_entities::World;

use crate::jobs::common::*;

/// The maximum number of uncompleted jobs, if no call ever waits.
const MOST: usize = 2048;

#[test]
fn never_waiting_does_not_fill_memory() {
    for workers in [0, 2] {
        let mut world = world_with(workers);
        let entity = world.spawn((A(0), B(0)));
        for round in 0..25_000 {
            let _ = world.query_mut::<&mut A>().schedule(|a| a.0 += 1);
            let _ = world.query_mut::<(&A, &mut B)>().schedule_parallel(|(_, b)| b.0 += 1);
            if round % 100 == 0 {
                let uncompleted = world.jobs().uncompleted();
                assert!(uncompleted <= MOST, "{uncompleted} after {round} rounds");
            }
        }
        assert_eq!(world.get::<A>(entity), Ok(&A(25_000)));
        assert_eq!(world.get::<B>(entity), Ok(&B(25_000)));
        assert!(world.jobs().uncompleted() <= MOST);
    }
}

#[test]
fn readers_alone_do_not_pile_up() {
    for workers in [0, 2] {
        let mut world = world_with(workers);
        world.spawn((A(1), B(0)));
        for round in 0..20_000 {
            let _ = world.query::<&A>().schedule(|a| assert_eq!(a.0, 1));
            if round % 100 == 0 {
                assert!(world.jobs().uncompleted() <= MOST);
            }
        }
        assert!(world.jobs().take_failures().is_empty());
    }
}

#[test]
fn unread_failures_do_not_accumulate() {
    let mut world = world_with(0);
    world.spawn(A(1));
    for _ in 0..2000 {
        let _ = world.query_mut::<&mut A>().schedule(|_| panic!("again"));
    }
    world.query_mut::<&mut A>().for_each(|a| a.0 += 1);
    let failures = world.jobs().take_failures();
    assert!((1..=256).contains(&failures.len()));
    assert_eq!(world.jobs().uncompleted(), 0);
}

#[test]
fn a_blocked_job_blocks_only_its_dependents() {
    // The maximum number of uncompleted jobs waits behind it. Then scheduling blocks, until the gate is opened.
    let mut world = world_with(2);
    world.spawn((A(0), B(0)));
    let gate = Gate::default();
    let _ = stand_at!(gate, world.query_mut::<&mut A>().job());
    gate.await_job(&world);
    let schedule = |world: &mut World, count: u32| {
        for _ in 0..count {
            let _ = world.query_mut::<&mut A>().schedule(|a| a.0 += 1);
        }
    };
    gate.beside("some", || schedule(&mut world, 500));
    gate.after("too many", || schedule(&mut world, 5000));
    assert_eq!(world.query::<&A>().single(), Ok(&A(5500)));
}
