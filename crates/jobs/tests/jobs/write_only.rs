//! Arrays that a job writes and cannot read.

use crate::common;

use ancho_jobs::{JobSlice, ScheduleError};
use common::{WORKERS, scheduler};

#[test]
fn each_index_writes_its_own_element() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut values = JobSlice::new(1000, 0);
        let write = values.write_only();
        let job = jobs.schedule_for_each(&[], write, 1000, 64, |mut value, i| value.set(0, i * 3));
        jobs.complete(job.unwrap());
        assert!(values.as_slice().unwrap().iter().enumerate().all(|(i, value)| *value == i * 3));
    }
}

#[test]
fn each_batch_writes_its_own_part() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut values = JobSlice::new(100, 0);
        let job = jobs.schedule_parallel(&[], values.write_only(), 100, 32, |mut part, range| {
            assert_eq!(part.len(), range.len());
            part.fill_with(|offset| range.start + offset);
        });
        jobs.complete(job.unwrap());
        assert!(values.as_slice().unwrap().iter().copied().eq(0..100));
    }
}

#[test]
fn an_index_can_write_its_own_place_only() {
    let jobs = scheduler(0);
    let mut values = JobSlice::new(10, 0);
    let job =
        jobs.schedule_for_each(&[], values.write_only(), 10, 4, |mut value, _| value.set(1, 1));
    assert!(jobs.try_complete(job.unwrap()).is_err());
    assert_eq!(values.as_slice().unwrap(), [0; 10]);
}

#[test]
fn to_other_jobs_and_the_owner_it_is_writing() {
    let jobs = scheduler(1);
    let mut values = JobSlice::new(10, 0);
    let job = jobs.schedule(&[], values.write_only(), |mut values| values.fill(1)).unwrap();
    assert!(values.as_slice().is_err());
    let refused = jobs.schedule(&[], values.read(), |_| {}).unwrap_err();
    assert!(matches!(refused, ScheduleError::Conflict { .. }));
    jobs.complete(job);
    assert_eq!(values.as_slice().unwrap(), [1; 10]);
}

#[test]
fn a_count_beyond_the_array_is_refused() {
    let jobs = scheduler(0);
    let mut values = JobSlice::new(10, 0);
    let refused = jobs.schedule_for_each(&[], values.write_only(), 11, 4, |_, _| {}).unwrap_err();
    assert!(matches!(refused, ScheduleError::TooShort { length: 10, count: 11, .. }));
}
