//! Jobs that depend on the jobs that use their containers, without passing handles.

use crate::common;

use ancho_jobs::{JobCell, JobHandle, JobScheduler, JobSlice, ScheduleError};
use common::{Flag, WORKERS, a_while, eventually, panic_message, scheduler, schedulers};

fn push(jobs: &JobScheduler, list: &mut JobCell<Vec<u32>>, value: u32) -> JobHandle {
    let job = jobs.named("Push").in_turn();
    job.schedule(&[], list.write(), move |list| list.push(value)).unwrap()
}

#[test]
fn jobs_have_their_turn_in_the_order_in_which_they_were_scheduled() {
    for jobs in schedulers() {
        let mut list = JobCell::new(Vec::new());
        for value in 0..100 {
            _ = push(&jobs, &mut list, value);
        }
        let read = jobs.named("Read").in_turn();
        let read = read.schedule(&[], list.read(), |list| assert!(list.iter().copied().eq(0..100)));
        _ = push(&jobs, &mut list, 100);
        jobs.complete(read.unwrap());
        assert!(list.get().is_err(), "the last one writes, and was not completed");
        let last = push(&jobs, &mut list, 101);
        jobs.complete(last);
        assert!(list.get().unwrap().iter().copied().eq(0..102));
    }
}

#[test]
fn each_container_has_its_own_turns() {
    for jobs in schedulers() {
        let (mut left, mut right) = (JobCell::new(Vec::new()), JobCell::new(Vec::new()));
        _ = push(&jobs, &mut left, 1);
        _ = push(&jobs, &mut right, 2);
        let both = jobs.named("Both").in_turn();
        let both = both.schedule(&[], (left.write(), right.read()), |(left, right)| {
            left.extend(right);
        });
        _ = push(&jobs, &mut right, 3);
        let last = push(&jobs, &mut left, 4);
        jobs.complete_all(&[both.unwrap(), last]);
        assert_eq!(left.get(), Ok(&vec![1, 2, 4]));
        let right = jobs.named("Look").in_turn().run(right.read(), Vec::clone);
        assert_eq!(right, Ok(vec![2, 3]), "who runs now has others completed");
    }
}

#[test]
fn readers_run_at_the_same_time() {
    for workers in [2, 4] {
        let jobs = scheduler(workers);
        let mut value = JobCell::new(0);
        let first = jobs.named("Write").in_turn();
        _ = first.schedule(&[], value.write(), |value| *value = 7).unwrap();
        let (left, right) = (Flag::default(), Flag::default());
        let meet = |own: &Flag, other: &Flag| {
            let (own, other) = (own.clone(), other.clone());
            let read = jobs.named("Read").in_turn();
            read.schedule(&[], value.read(), move |value| {
                assert_eq!(*value, 7);
                own.raise();
                eventually(|| other.is_up());
            })
        };
        let both = [meet(&left, &right).unwrap(), meet(&right, &left).unwrap()];
        jobs.complete_all(&both);
    }
}

#[test]
fn a_parallel_job_waits_for_its_turn() {
    for jobs in schedulers() {
        let mut values = JobSlice::new(1000, 1_u32);
        for _ in 0..3 {
            let double = jobs.named("Double").in_turn();
            let job = double
                .schedule_for_each(&[], values.write(), 1000, 10, |value, index| {
                    *value = *value * 2 + index as u32;
                })
                .unwrap();
            assert!(!jobs.is_completed(job));
        }
        let check = jobs.named("Check").in_turn();
        let check = check.run_parallel(values.read(), 1000, 100, |values, range| {
            for (at, &value) in range.clone().zip(&values[range]) {
                assert_eq!(value, 8 + 7 * at as u32);
            }
        });
        assert_eq!(check, Ok(()));
    }
}

#[test]
fn a_job_in_turn_does_not_run_after_a_failed_writer() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let (mut value, ran) = (JobCell::new(0), Flag::default());
        let fails = jobs.named("Fails").schedule(&[], value.write(), |_| panic!("no value"));
        let raise = ran.clone();
        let reads = jobs.named("Reads").in_turn();
        let reads = reads.schedule(&[], value.read(), move |_| raise.raise()).unwrap();
        let failed = jobs.try_complete(reads).unwrap_err().to_string();
        assert!(failed.contains("`Fails`") && failed.contains("no value"), "{failed}");
        assert!(!ran.is_up());
        assert!(jobs.is_completed(fails.unwrap()));

        let fails = jobs.schedule(&[], value.write(), |_| panic!("no value")).unwrap();
        let raise = ran.clone();
        let after = [fails];
        let reads = jobs.named("Reads").in_turn().after(&after);
        let reads = reads.schedule(&[], value.read(), move |_| raise.raise()).unwrap();
        assert!(jobs.try_complete(reads).is_err(), "the failure is reported");
        assert!(ran.is_up(), "but only an order was asked for");
    }
}

#[test]
fn running_now_reports_a_failed_job() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let (mut value, ran) = (JobCell::new(0), Flag::default());
        let fails =
            jobs.named("Fails").schedule(&[], value.write(), |_| panic!("no value")).unwrap();
        let raise = ran.clone();
        let look = || jobs.named("Looks").in_turn().run(value.read(), |_| raise.raise());
        let message = panic_message(look);
        assert!(message.starts_with("A0011") && message.contains("no value"), "{message}");
        assert!(!ran.is_up() && jobs.is_completed(fails));
        let again = jobs.named("Looks").in_turn().run(value.read(), |_| raise.raise());
        assert!(
            again.is_ok() && ran.is_up(),
            "the failure was reported, and no job uses the value"
        );
    }
}

#[test]
fn a_failed_reader_does_not_stop_later_jobs() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let (mut value, mut other) = (JobCell::new(0), JobCell::new(0));
        let reads = jobs.named("Reads").schedule(&[], value.read(), |_| panic!("no ink")).unwrap();
        let writes = jobs.named("Writes").in_turn();
        let written = writes.schedule(&[], value.write(), |value| *value = 5).unwrap();
        assert!(jobs.try_complete(written).is_err(), "the failure is reported");
        assert!(jobs.is_completed(reads));
        assert_eq!(value.get(), Ok(&5), "but what it was to read was there");

        // It reads one container and writes the other. A job that needs the other must not run, whichever is checked
        // first.
        let both = (value.read(), other.write());
        let fails = jobs.named("Fails").schedule(&[], both, |_| panic!("no value")).unwrap();
        let both = (value.write(), other.read());
        let stopped = jobs.named("Stopped").in_turn().schedule(&[], both, |(value, _)| *value = 6);
        assert!(jobs.try_complete(stopped.unwrap()).is_err());
        assert!(jobs.is_completed(fails));
        assert_eq!(value.get(), Ok(&5));
    }
}

#[test]
fn a_conflicting_job_without_in_turn_is_refused() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut value = JobCell::new(0);
        let turn = jobs.named("Turn").in_turn().schedule(&[], value.write(), |_| {}).unwrap();
        let refused = jobs.named("Blunt").schedule(&[], value.read(), |_| {}).unwrap_err();
        assert!(matches!(refused, ScheduleError::Conflict { .. }), "{refused}");
        assert!(refused.to_string().contains("`in_turn`"), "{refused}");
        jobs.complete(turn);
    }
}

#[test]
fn a_turn_is_among_jobs_of_one_scheduler() {
    let (jobs, others) = (scheduler(1), scheduler(1));
    let mut value = JobCell::new(0);
    let theirs = others.schedule(&[], value.write(), |value| *value = 1).unwrap();
    let refused = jobs.named("Turn").in_turn().schedule(&[], value.write(), |_| {});
    assert!(matches!(refused, Err(ScheduleError::ForeignContainer { .. })), "{refused:?}");
    let refused = jobs.named("Turn").in_turn().run(value.read(), |_| {});
    assert!(matches!(refused, Err(ScheduleError::ForeignContainer { .. })), "{refused:?}");
    others.complete(theirs);
    assert_eq!(value.get(), Ok(&1));
}

#[test]
fn nothing_starts_before_its_turn() {
    let jobs = scheduler(2);
    let (gate, started) = (Flag::default(), Flag::default());
    let mut value = JobCell::new(0);
    let open = gate.clone();
    _ = jobs.schedule(&[], value.write(), move |_| eventually(|| open.is_up())).unwrap();
    let raise = started.clone();
    let next = jobs.named("Next").in_turn().schedule(&[], value.write(), move |_| raise.raise());
    jobs.flush();
    a_while();
    assert!(!started.is_up());
    gate.raise();
    eventually(|| started.is_up());
    jobs.complete(next.unwrap());
}
