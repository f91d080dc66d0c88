//! `is_completed` starts nothing and waits for nothing.

use crate::common;

use std::panic::{self, AssertUnwindSafe};

use ancho_jobs::{JobHandle, JobScheduler};
use common::{Door, eventually, must_end, occupy_workers, pool, scheduler};

/// Returns a job that has finished and was not completed.
fn finished(jobs: &JobScheduler) -> JobHandle {
    let job = jobs.schedule(&[], (), |()| {}).unwrap();
    jobs.flush();
    eventually(|| jobs.is_completed(job));
    job
}

#[test]
fn a_running_job_and_its_dependents_are_not_completed() {
    let jobs = scheduler(1);
    let door = Door::default();
    let busy = occupy_workers(&jobs, &door)[0];
    let next = jobs.schedule(&[busy], (), |()| {}).unwrap();
    let both = jobs.combine(&[busy, next]).unwrap();
    assert!([busy, next, both].iter().all(|&job| !jobs.is_completed(job)));
    jobs.flush();
    assert!([busy, next, both].iter().all(|&job| !jobs.is_completed(job)));
    door.open();
    eventually(|| jobs.is_completed(both));
    assert!(jobs.is_completed(busy) && jobs.is_completed(next));
}

#[test]
fn a_job_that_failed_is_completed() {
    let jobs = scheduler(1);
    let job = jobs.schedule(&[], (), |()| panic!("oh")).unwrap();
    jobs.flush();
    eventually(|| jobs.is_completed(job));
    jobs.try_complete(job).unwrap_err();
    assert!(jobs.is_completed(job));
}

#[test]
fn a_deep_combination_of_combinations_needs_no_deep_stack() {
    let jobs = scheduler(1);
    let mut all = finished(&jobs);
    for _ in 0..100_000 {
        all = jobs.combine(&[all]).unwrap();
    }
    assert!(jobs.is_completed(all));
    jobs.complete(all);
}

#[test]
fn layers_of_combinations_are_visited_once() {
    must_end(|| {
        let jobs = scheduler(1);
        // Each layer has two handles, but there are 2^60 paths through them.
        let (mut a, mut b) = (finished(&jobs), finished(&jobs));
        for _ in 0..60 {
            let before = [a, b];
            a = jobs.combine(&before).unwrap();
            b = jobs.combine(&before).unwrap();
        }
        assert!(jobs.is_completed(a));
        jobs.complete_all(&[a, b]);
    });
}

#[test]
fn a_job_of_another_scheduler_is_not_said_to_be_completed() {
    let pool = pool(1);
    let (here, there) = (JobScheduler::new(&pool), JobScheduler::new(&pool));
    let job = there.schedule(&[], (), |()| {}).unwrap();
    let said = panic::catch_unwind(AssertUnwindSafe(|| here.is_completed(job)));
    assert!(!matches!(said, Ok(true)), "others refuse a handle, or know nothing of it");
    there.complete(job);
}
