//! Jobs that an owner waits for run before jobs that were flushed earlier.

use crate::common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use common::{eventually, scheduler};

#[test]
fn completing_runs_its_jobs_before_jobs_flushed_earlier() {
    let jobs = scheduler(1);
    let flag = || Arc::new(AtomicBool::new(false));
    let (is_inside, may_leave, has_started) = (flag(), flag(), flag());
    let ordinary_runs = Arc::new(AtomicU32::new(0));

    // The worker is busy with a long job.
    let door = {
        let (is_inside, may_leave) = (Arc::clone(&is_inside), Arc::clone(&may_leave));
        jobs.schedule(&[], (), move |()| {
            is_inside.store(true, Ordering::Release);
            eventually(|| may_leave.load(Ordering::Acquire));
        })
    };
    jobs.flush();
    eventually(|| is_inside.load(Ordering::Acquire));

    // Many jobs are flushed, and then two more, which need two threads: this one and the worker.
    for _ in 0..100 {
        let ordinary_runs = Arc::clone(&ordinary_runs);
        let _ = jobs.schedule(&[], (), move |()| {
            ordinary_runs.fetch_add(1, Ordering::Relaxed);
        });
    }
    let runs_before = Arc::new(AtomicU32::new(u32::MAX));
    let for_the_worker = {
        let (has_started, runs_before) = (Arc::clone(&has_started), Arc::clone(&runs_before));
        let ordinary_runs = Arc::clone(&ordinary_runs);
        jobs.schedule(&[], (), move |()| {
            runs_before.store(ordinary_runs.load(Ordering::Relaxed), Ordering::Relaxed);
            has_started.store(true, Ordering::Release);
        })
    };
    let for_the_owner = {
        let (may_leave, has_started) = (Arc::clone(&may_leave), Arc::clone(&has_started));
        jobs.schedule(&[], (), move |()| {
            may_leave.store(true, Ordering::Release);
            eventually(|| has_started.load(Ordering::Acquire));
        })
    };
    jobs.flush();
    jobs.complete_all(&[for_the_worker.unwrap(), for_the_owner.unwrap()]);
    assert_eq!(runs_before.load(Ordering::Relaxed), 0);
    jobs.complete(door.unwrap());
    jobs.complete_everything();
    assert_eq!(ordinary_runs.load(Ordering::Relaxed), 100);
}
