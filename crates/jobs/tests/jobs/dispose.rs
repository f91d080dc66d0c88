//! Freeing the memory of containers.

use crate::common;

use std::thread;

use ancho_jobs::{JobCell, JobSlice, Kept, ScheduleError};
use common::{Door, Drops, WORKERS, eventually, occupy_workers, scheduler};

#[test]
fn a_container_that_no_job_uses_is_freed_when_it_is_dropped() {
    let drops = Drops::default();
    let jobs = scheduler(1);
    let mut cell = JobCell::new(drops.value());
    let job = jobs.schedule(&[], cell.write(), |_| {}).unwrap();
    jobs.complete(job);
    assert_eq!(drops.count(), 0);
    drop(cell);
    assert_eq!(drops.count(), 1);
}

#[test]
fn a_container_dropped_with_jobs_pending_is_freed_with_the_last_job() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let drops = Drops::default();
        let mut cell = JobCell::new(drops.value());
        let first = jobs.schedule(&[], cell.write(), |_| {}).unwrap();
        let second = jobs.schedule(&[first], cell.read(), |_| {}).unwrap();
        drop(cell);
        jobs.complete(first);
        assert_eq!(drops.count(), 0, "{workers} workers: a job still uses it");
        jobs.complete(second);
        assert_eq!(drops.count(), 1);
    }
}

#[test]
fn the_elements_of_an_array_dropped_with_parallel_jobs_pending_are_freed_once() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let drops = Drops::default();
        let mut values = JobSlice::from((0..100).map(|_| drops.value()).collect::<Vec<_>>());
        let job = jobs
            .schedule_parallel(&[], values.write(), 100, 3, |values, range| {
                assert_eq!(values.len(), range.len());
            })
            .unwrap();
        drop(values);
        assert_eq!(drops.count(), 0);
        jobs.flush();
        jobs.complete(job);
        assert_eq!(drops.count(), 100);
    }
}

#[test]
fn dropping_a_container_never_waits_for_its_jobs() {
    let jobs = scheduler(1);
    let drops = Drops::default();
    let door = Door::default();
    let wait = door.waits();
    let mut cell = JobCell::new(drops.value());
    let job = jobs.schedule(&[], cell.write(), move |_| wait()).unwrap();
    jobs.flush();
    eventually(|| door.arrived() == 1);
    // Waiting here would never end, since the door opens only later.
    drop(cell);
    assert_eq!(drops.count(), 0);
    door.open();
    jobs.complete(job);
    assert_eq!(drops.count(), 1);
}

#[test]
fn a_value_is_freed_in_the_background_without_being_completed() {
    let jobs = scheduler(1);
    let drops = Drops::default();
    let mut cell = JobCell::new(drops.value());
    let job = jobs.schedule(&[], cell.write(), |_| {}).unwrap();
    drop(cell);
    jobs.flush();
    eventually(|| drops.count() == 1);
    jobs.complete(job);
}

#[test]
fn jobs_that_do_not_run_release_their_containers_too() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let drops = Drops::default();
        let fails = jobs.schedule(&[], (), |()| panic!("oh")).unwrap();
        let mut cell = JobCell::new(drops.value());
        let mut values = JobSlice::from(vec![drops.value(), drops.value()]);
        let a = jobs.schedule(&[fails], cell.write(), |_| {}).unwrap();
        let b = jobs.schedule_for_each(&[fails], values.write(), 2, 1, |_, _| {}).unwrap();
        drop((cell, values));
        assert_eq!(drops.count(), 0);
        jobs.try_complete_all(&[a, b]).unwrap_err();
        assert_eq!(drops.count(), 3);
    }
}

#[test]
fn taking_the_value_out_does_not_free_it() {
    let jobs = scheduler(1);
    let drops = Drops::default();
    let mut values = JobSlice::from(vec![drops.value(), drops.value()]);
    let job = jobs.schedule_for_each(&[], values.write(), 2, 1, |_, _| {}).unwrap();
    let Kept { container: values, .. } = values.into_vec().unwrap_err();
    jobs.complete(job);
    let vec = values.into_vec().unwrap();
    assert_eq!((vec.len(), drops.count()), (2, 0));
    drop(vec);
    assert_eq!(drops.count(), 2);
}

#[test]
fn dispose_after_frees_when_the_jobs_have_finished() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let drops = Drops::default();
        let mut cell = JobCell::new(drops.value());
        let values = JobSlice::from(vec![drops.value()]);
        let before = jobs.schedule(&[], (), |()| {}).unwrap();
        let uses = jobs.schedule(&[before], cell.write(), |_| {}).unwrap();
        let freed = cell.dispose_after(&jobs, &[uses]).unwrap();
        let also = values.dispose_after(&jobs, &[freed]).unwrap();
        jobs.complete(uses);
        assert_eq!(drops.count(), 0);
        jobs.complete(freed);
        assert_eq!(drops.count(), 1);
        jobs.complete(also);
        assert_eq!(drops.count(), 2);
    }
}

#[test]
fn dispose_after_waits_for_jobs_that_do_not_use_the_container() {
    let jobs = scheduler(1);
    let drops = Drops::default();
    let door = Door::default();
    let busy = occupy_workers(&jobs, &door);
    let cell = JobCell::new(drops.value());
    let freed = cell.dispose_after(&jobs, &busy).unwrap();
    jobs.flush();
    common::a_while();
    assert_eq!(drops.count(), 0);
    door.open();
    eventually(|| drops.count() == 1);
    jobs.complete(freed);
}

#[test]
fn dispose_after_the_wrong_jobs_returns_the_container() {
    let jobs = scheduler(1);
    let cell = JobCell::new(7).named("cell");
    let uses = jobs.named("Uses").schedule(&[], cell.read(), |_| {}).unwrap();
    let other = jobs.schedule(&[], (), |()| {}).unwrap();
    let Kept { container: cell, error } = cell.dispose_after(&jobs, &[other]).unwrap_err();
    let ScheduleError::Conflict { container, other, .. } = error else {
        panic!("{error}");
    };
    assert_eq!((container, other), (cell.label(), "Uses"));
    assert_eq!(cell.get(), Ok(&7));

    let values = JobSlice::from(vec![1, 2]);
    let reads = jobs.schedule(&[], values.read(), |_| {}).unwrap();
    let Kept { container: values, .. } = values.dispose_after(&jobs, &[]).unwrap_err();
    assert_eq!(values.as_slice(), Ok(&[1, 2][..]));
    jobs.complete_all(&[uses, reads]);
    assert_eq!(cell.into_inner().unwrap(), 7);
    assert_eq!(values.into_vec().unwrap(), [1, 2]);
}

#[test]
fn dispose_after_a_job_that_fails_frees_all_the_same() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let drops = Drops::default();
        let mut cell = JobCell::new(drops.value());
        let fails = jobs.schedule(&[], cell.write(), |_| panic!("oh")).unwrap();
        let freed = cell.dispose_after(&jobs, &[fails]).unwrap();
        jobs.try_complete(freed).unwrap_err();
        assert_eq!(drops.count(), 1);
    }
}

#[test]
fn a_value_may_be_freed_on_another_thread() {
    let jobs = scheduler(1);
    let door = Door::default();
    let busy = occupy_workers(&jobs, &door);
    let drops = Drops::default();
    let mut cell = JobCell::new(drops.value());
    let job = jobs.schedule(&busy, cell.write(), |_| {}).unwrap();
    jobs.flush();
    thread::spawn(move || drop(cell)).join().unwrap();
    assert_eq!(drops.count(), 0);
    door.open();
    jobs.complete(job);
    assert_eq!(drops.count(), 1);
}
