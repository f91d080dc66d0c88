//! Forgetting a handle, a token, a container or a scheduler is harmless.
//!
//! Soundness does not depend on destructors: a forgotten value is leaked, with no other effect.

use crate::common;

use std::any::Any;
use std::mem;
use std::sync::Mutex;

use ancho_jobs::{JobCell, JobHandle, JobScheduler, JobSlice};
use common::{Drops, Flag, Log, eventually, pool, scheduler};

/// Forgets a value like `mem::forget`, but keeps it reachable for leak checkers.
fn forget(value: impl Send + 'static) {
    static FORGOTTEN: Mutex<Vec<&'static mut (dyn Any + Send)>> = Mutex::new(Vec::new());
    FORGOTTEN.lock().unwrap().push(Box::leak(Box::new(value)));
}

#[test]
#[expect(forgetting_copy_types, reason = "that there is nothing to drop is the point")]
fn a_handle_that_is_forgotten_changes_nothing() {
    let jobs = scheduler(1);
    let mut cell = JobCell::new(0);
    mem::forget(jobs.schedule(&[], cell.write(), |value| *value = 1).unwrap());
    cell.get().unwrap_err();
    jobs.complete_everything();
    assert_eq!(cell.get(), Ok(&1));
}

#[test]
#[expect(clippy::forget_non_drop, reason = "that there is nothing to drop is the point")]
fn a_token_that_is_forgotten_changes_nothing() {
    let jobs = scheduler(1);
    let mut cell = JobCell::new(1);
    let mut values = JobSlice::from(vec![1]);
    mem::forget((cell.write(), values.write()));
    mem::forget((cell.read(), values.read()));
    *cell.get_mut().unwrap() = 2;
    let data = (cell.write(), values.write());
    let job = jobs.schedule(&[], data, |(cell, values)| values[0] += *cell).unwrap();
    jobs.complete(job);
    assert_eq!(values.into_vec().unwrap(), [3]);
}

#[test]
fn a_container_that_is_forgotten_while_jobs_use_it_keeps_its_memory() {
    for workers in [0, 2] {
        let jobs = scheduler(workers);
        let drops = Drops::default();
        let mut cell = JobCell::new((drops.value(), 0));
        let mut values = JobSlice::new(100, 0);
        let mut seen = JobCell::new(0);
        let first = jobs.schedule(&[], cell.write(), |value| value.1 = 5).unwrap();
        let fill =
            jobs.schedule_for_each(&[], values.write(), 100, 7, |value, _| *value = 1).unwrap();
        let data = (cell.read(), values.read(), seen.write());
        let sum = jobs
            .schedule(&[first, fill], data, |(cell, values, seen)| {
                *seen = cell.1 + values.iter().sum::<i32>();
            })
            .unwrap();
        forget((cell, values));
        jobs.complete(sum);
        assert_eq!(seen.get(), Ok(&105));
        assert_eq!(drops.count(), 0);
    }
}

#[test]
fn a_forgotten_scheduler_never_starts_unflushed_jobs() {
    let pool = pool(1);
    let jobs = JobScheduler::new(&pool);
    let (flushed, held) = (Flag::default(), Flag::default());
    let (mut used, mut waiting) = (JobCell::new(0), JobCell::new(0));
    let raise = flushed.clone();
    let first = jobs
        .schedule(&[], used.write(), move |value| {
            *value = 1;
            raise.raise();
        })
        .unwrap();
    jobs.flush();
    let raise = held.clone();
    let _ = jobs.schedule(&[first], waiting.write(), move |_| raise.raise()).unwrap();
    forget(jobs);
    eventually(|| flushed.is_up());
    common::a_while();
    assert!(!held.is_up());

    // The jobs cannot be completed any more, so the owner and other jobs have lost access to their containers.
    used.get().unwrap_err();
    waiting.get_mut().unwrap_err();
    let other = JobScheduler::new(&pool);
    other.schedule(&[], used.read(), |_| {}).unwrap_err();

    // The pool still works.
    let log = Log::default();
    let job = other.schedule(&[], (), log.adds("done")).unwrap();
    other.complete(job);
    assert_eq!(log.entries(), ["done"]);
    drop((used, waiting));
}

#[test]
fn forgotten_containers_and_schedulers_block_nothing() {
    let pool = pool(2);
    for round in 0..10 {
        let jobs = JobScheduler::new(&pool);
        let mut values = JobSlice::new(64, 0);
        let mut last = JobHandle::COMPLETED;
        for _ in 0..10 {
            last = jobs
                .schedule_for_each(&[last], values.write(), 64, 4, |value, i| *value += i)
                .unwrap();
        }
        jobs.flush();
        if round % 2 == 0 {
            forget((values, jobs));
        } else {
            forget(values);
        }
    }
    let jobs = JobScheduler::new(&pool);
    jobs.complete(jobs.schedule(&[], (), |()| {}).unwrap());
}
