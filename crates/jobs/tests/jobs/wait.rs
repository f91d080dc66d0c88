//! Containers that complete the jobs that use them.

use crate::common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ancho_jobs::{AccessError, ContainerLabel, Epoch, Guarded, JobCell, JobSlice, current_job};
use common::{WORKERS, panic_message, scheduler};

#[test]
fn wait_completes_the_job_that_writes() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut cell = JobCell::new(1);
        assert_eq!(cell.wait(&jobs), Ok(&1), "no job uses it");
        assert_eq!(cell.wait_mut(&jobs), Ok(&mut 1));
        let first = jobs.schedule(&[], cell.write(), |value| *value += 1).unwrap();
        let second = jobs.schedule(&[first], cell.write(), |value| *value *= 10).unwrap();
        assert_eq!(cell.wait(&jobs), Ok(&20));
        assert!(jobs.is_forgotten(first) && jobs.is_forgotten(second));

        let mut slice = JobSlice::from(vec![0; 100]);
        let each = |value: &mut usize, index| *value = index;
        _ = jobs.schedule_for_each(&[], slice.write(), 100, 7, each).unwrap();
        assert_eq!(slice.wait(&jobs).unwrap()[99], 99);
        _ = jobs.schedule(&[], slice.write(), |slice| slice.reverse()).unwrap();
        slice.wait_mut(&jobs).unwrap()[0] += 1;
        assert_eq!(slice.as_slice().unwrap()[..2], [100, 98]);
    }
}

#[test]
fn other_jobs_are_not_completed() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let (mut cell, mut other) = (JobCell::new(1), JobCell::new(1));
        _ = jobs.schedule(&[], cell.write(), |value| *value = 2).unwrap();
        let unrelated = jobs.schedule(&[], other.write(), |value| *value = 2).unwrap();
        let reads = jobs.schedule(&[], other.read(), |_| {});
        assert!(reads.is_err(), "it is refused: {reads:?}");
        assert_eq!(cell.wait(&jobs), Ok(&2));
        assert!(other.get().is_err() && !jobs.is_forgotten(unrelated));
        // A reader does not conflict with reading.
        let reader = jobs.schedule(&[], cell.read(), |value| assert_eq!(*value, 2)).unwrap();
        assert_eq!(cell.wait(&jobs), Ok(&2));
        assert!(!jobs.is_forgotten(reader));
        assert_eq!(cell.wait_mut(&jobs), Ok(&mut 2));
        assert!(jobs.is_forgotten(reader));
        assert!(other.get().is_err(), "it is still in use");
    }
}

#[test]
fn wait_mut_completes_any_number_of_readers() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut cell = JobCell::new(7);
        let write = jobs.schedule(&[], cell.write(), |value| *value += 1).unwrap();
        let readers: Vec<_> = (0..100)
            .map(|_| jobs.schedule(&[write], cell.read(), |value| assert_eq!(*value, 8)).unwrap())
            .collect();
        *cell.wait_mut(&jobs).unwrap() = 9;
        assert!(readers.iter().all(|&reader| jobs.is_forgotten(reader)));
        assert_eq!(jobs.uncompleted(), 0);
    }
}

#[test]
fn a0169_the_failure_of_a_writer_is_reported_once() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut cell = JobCell::new(1).named("score");
        let label = cell.label();
        let bad = |value: &mut i32| {
            *value = 5;
            panic!("by zero");
        };
        let fails = jobs.named("Divide").schedule(&[], cell.write(), bad).unwrap();
        let error = cell.wait(&jobs).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "A0169: {label} may be incomplete, because a job that uses it failed: A0011: job `Divide` panicked: \
                 by zero; call `get` to use it as it is"
            )
        );
        assert_eq!(error.summary().to_string(), "incomplete, because job `Divide` failed");
        assert_eq!(error, error.clone());
        let AccessError::JobFailed { container, failed } = error else { panic!("{error}") };
        assert_eq!((container, failed.message()), (label, "by zero"));
        assert_eq!(cell.wait(&jobs), Ok(&5), "it was reported");
        assert!(jobs.try_complete(fails).is_ok() && !jobs.has_failures());

        // The next writer does not run.
        let fails = jobs.named("Divide").schedule(&[], cell.write(), bad).unwrap();
        _ = jobs.named("Next").schedule(&[fails], cell.write(), |_| unreachable!()).unwrap();
        let message = cell.wait_mut(&jobs).unwrap_err().to_string();
        let failed = "A0011: job `Next` did not run, because job `Divide` panicked: by zero";
        assert!(message.contains(failed), "{message}");
        assert_eq!(cell.wait_mut(&jobs), Ok(&mut 5));
        assert!(!jobs.has_failures());
    }
}

#[test]
fn a0169_a_failure_that_other_code_left_is_reported() {
    let jobs = scheduler(1);
    let mut cell = JobCell::new(1);
    let fails = jobs.named("Divide").schedule(&[], cell.write(), |_| panic!("by zero")).unwrap();
    let next = jobs.named("Next").schedule(&[fails], (), |()| {}).unwrap();
    jobs.complete_quietly(&[next]);
    assert!(cell.wait(&jobs).unwrap_err().to_string().starts_with("A0169: "));
    assert!(!jobs.has_failures(), "the same panic is not reported for `Next`");
    assert_eq!(cell.wait(&jobs), Ok(&1));
}

#[test]
fn the_failure_of_a_reader_is_left_to_its_handle() {
    let jobs = scheduler(1);
    let mut cell = JobCell::new(1);
    let fails = jobs.schedule(&[], cell.read(), |_| panic!("by zero")).unwrap();
    assert_eq!(cell.wait_mut(&jobs), Ok(&mut 1));
    assert_eq!(jobs.try_complete(fails).unwrap_err().message(), "by zero");
}

#[test]
fn jobs_of_another_scheduler_are_named_and_not_completed() {
    let (jobs, others) = (scheduler(1), scheduler(1));
    let mut cell = JobCell::new(1);
    let job = others.named("Other").schedule(&[], cell.write(), |value| *value = 2).unwrap();
    for message in
        [cell.wait(&jobs).unwrap_err().to_string(), cell.wait_mut(&jobs).unwrap_err().to_string()]
    {
        assert!(message.starts_with("A0003: ") && message.contains("job `Other`"), "{message}");
    }
    assert!(!others.is_forgotten(job));
    assert_eq!(cell.wait_mut(&others), Ok(&mut 2));
    let job = others.schedule(&[], cell.read(), |_| {}).unwrap();
    assert_eq!(cell.wait(&jobs), Ok(&2), "readers do not conflict");
    assert!(cell.wait_mut(&jobs).is_err());
    others.complete(job);
    assert_eq!(cell.wait_mut(&jobs), Ok(&mut 2));
}

#[test]
fn containers_in_rewound_memory_are_refused() {
    let jobs = scheduler(1);
    let epoch = Epoch::new("the frame's memory");
    let mut value = Guarded::new(1, ContainerLabel::of::<i32>()).stamped(epoch.stamp());
    _ = jobs.schedule(&[], value.write(), |value| *value = 2).unwrap();
    epoch.advance();
    assert!(value.wait(&jobs).unwrap_err().to_string().starts_with("A0013: "));
    assert!(value.wait_mut(&jobs).unwrap_err().to_string().starts_with("A0013: "));
    assert_eq!(jobs.uncompleted(), 0);
}

#[test]
fn a0006_jobs_wait_only_if_there_is_nothing_to_wait_for() {
    let (jobs, inner) = (scheduler(1), scheduler(1));
    let mut cell = JobCell::new(1);
    _ = inner.schedule(&[], cell.write(), |value| *value = 2).unwrap();
    let ran = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&ran);
    let job = jobs.named("Outer").schedule(&[], (), move |()| {
        assert_eq!(current_job(), Some("Outer"));
        let message = panic_message(|| _ = cell.wait(&inner));
        assert!(message.starts_with("A0006: job `Outer` tried to complete a job"), "{message}");
        let mut free = JobCell::new(3);
        assert_eq!(free.wait(&inner), Ok(&3));
        assert_eq!(free.wait_mut(&inner), Ok(&mut 3));
        told.store(true, Ordering::Relaxed);
    });
    jobs.complete(job.unwrap());
    assert!(ran.load(Ordering::Relaxed));
}
