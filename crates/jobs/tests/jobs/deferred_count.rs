//! Parallel jobs whose count is computed when they start.

use crate::common;

use std::ops::Range;
use std::sync::{Arc, Mutex};

use ancho_jobs::{JobCell, JobSlice, ScheduleError};
use common::{Door, WORKERS, eventually, occupy_workers, scheduler};

#[test]
fn the_count_is_the_length_that_an_earlier_job_left() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut list = JobCell::new(Vec::new());
        let mut doubled = JobSlice::new(1100, 0);
        for length in (0..16).chain([63, 64, 65, 1023]) {
            doubled.as_mut_slice().unwrap().fill(0);
            let fill = jobs
                .schedule(&[], list.write(), move |list| {
                    list.clear();
                    list.extend(1..=length);
                })
                .unwrap();
            let double = jobs.named("Deferred").schedule_deferred(
                &[fill],
                (list.read(), doubled.write()),
                |(list, _)| list.len(),
                16,
                |(list, doubled), range| {
                    assert_eq!(doubled.len(), range.len());
                    for (out, value) in doubled.iter_mut().zip(&list[range]) {
                        *out = value * 2;
                    }
                },
            );
            jobs.flush();
            jobs.complete(double.unwrap());
            let doubled = doubled.as_slice().unwrap();
            assert!(doubled[..length].iter().copied().eq((1..=length).map(|i| i * 2)));
            assert!(doubled[length..].iter().all(|&value| value == 0));
        }
    }
}

#[test]
fn batches_are_cut_as_for_a_known_count() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let seen: Arc<Mutex<Vec<Range<usize>>>> = Arc::default();
        let ranges = Arc::clone(&seen);
        let job = jobs.named("Deferred").schedule_deferred(
            &[],
            (),
            |()| 1000,
            64,
            move |(), range| {
                ranges.lock().unwrap().push(range);
            },
        );
        jobs.complete(job.unwrap());
        let mut seen = seen.lock().unwrap().clone();
        seen.sort_unstable_by_key(|range| range.start);
        assert_eq!(seen.len(), 16);
        assert!(seen.iter().enumerate().all(|(i, range)| range.start == i * 64));
        assert_eq!(seen[15], 960..1000);
    }
}

#[test]
fn the_count_is_not_computed_before_the_dependencies_have_finished() {
    let jobs = scheduler(1);
    let door = Door::default();
    let busy = occupy_workers(&jobs, &door);
    let asked = common::Flag::default();
    let ask = asked.clone();
    let count = move |()| {
        ask.raise();
        1
    };
    let job = jobs.named("Deferred").schedule_deferred(&busy, (), count, 1, |(), _| {}).unwrap();
    jobs.flush();
    common::a_while();
    assert!(!asked.is_up());
    door.open();
    eventually(|| jobs.is_completed(job));
    assert!(asked.is_up());
}

#[test]
fn the_list_cannot_be_touched_or_resized_while_the_job_is_scheduled() {
    let jobs = scheduler(1);
    let mut list = JobCell::new(vec![1, 2, 3]);
    let job = jobs
        .named("Deferred")
        .schedule_deferred(&[], list.read(), |list| list.len(), 1, |_, _| {})
        .unwrap();
    list.get_mut().unwrap_err();
    assert_eq!(list.get().unwrap().len(), 3);
    let list = list.into_inner().unwrap_err().container;
    jobs.complete(job);
    assert_eq!(list.into_inner().unwrap(), [1, 2, 3]);
}

#[test]
fn the_list_is_checked_for_conflicts_like_any_container() {
    let jobs = scheduler(1);
    let mut list = JobCell::new(vec![1]).named("list");
    let fill = jobs.schedule(&[], list.write(), |list| list.push(2)).unwrap();
    let refused =
        jobs.named("Deferred").schedule_deferred(&[], list.read(), |list| list.len(), 1, |_, _| {});
    assert!(matches!(refused, Err(ScheduleError::Conflict { .. })));
    jobs.complete(fill);
}

#[test]
fn a_count_beyond_the_end_of_a_written_container_fails_the_job() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut values = JobSlice::new(10, 0);
        let job = jobs
            .named("Long")
            .schedule_deferred(&[], values.write(), |_| 11, 4, |values, _| values.fill(1))
            .unwrap();
        let failed = jobs.try_complete(job).unwrap_err();
        assert_eq!((failed.job(), failed.panicked_job()), ("Long", "Long"));
        assert!(failed.message().contains("A0010"), "{}", failed.message());
        // The set of batches that ran is unspecified; the container and the scheduler are usable.
        values.as_mut_slice().unwrap().fill(3);
        let job = jobs.named("Deferred").schedule_deferred(
            &[],
            values.write(),
            |_| 10,
            4,
            |values, _| values.fill(4),
        );
        jobs.complete(job.unwrap());
        assert_eq!(values.as_slice().unwrap(), [4; 10]);
    }
}

#[test]
fn a_count_of_more_batches_than_can_be_numbered_fails_the_job() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let job =
            jobs.named("Vast").schedule_deferred(&[], (), |()| usize::MAX, 1, |(), _| {}).unwrap();
        let failed = jobs.try_complete(job).unwrap_err();
        assert_eq!(failed.panicked_job(), "Vast");
        assert!(failed.message().contains("A0009"), "{}", failed.message());
    }
}

#[test]
fn a_batch_size_of_zero_is_refused_immediately() {
    let jobs = scheduler(1);
    let refused = jobs.named("None").schedule_deferred(&[], (), |()| 5, 0, |(), _| {});
    assert_eq!(refused, Err(ScheduleError::ZeroBatch { job: "None" }));
}

#[test]
fn the_count_closure_may_read_the_containers_that_the_batches_write() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut values = JobSlice::new(100, 1);
        let shrink = jobs.schedule(&[], values.write(), |values| values[40] = 0).unwrap();
        let count = |values: &mut [i32]| values.iter().position(|&value| value == 0).unwrap();
        let job = jobs.named("Deferred").schedule_deferred(
            &[shrink],
            values.write(),
            count,
            7,
            |values, _| {
                values.fill(5);
            },
        );
        jobs.complete(job.unwrap());
        let values = values.into_vec().unwrap();
        assert!(values[..40].iter().all(|&value| value == 5));
        assert_eq!(values[40], 0);
    }
}
