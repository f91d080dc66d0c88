//! A single job works on its own copy of plain values, and on the containers themselves.

use crate::common;

use std::thread;

use ancho_jobs::{JobCell, JobSlice, thread_index};
use common::{Drops, WORKERS, scheduler};

#[test]
fn plain_values_are_copied_and_changes_of_containers_are_seen() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut a = 5.0_f32;
        let mut b = JobSlice::new(1, 3.0_f32);
        let job = jobs
            .schedule(&[], b.write(), move |b| {
                a += b[0];
                b[0] = a;
            })
            .unwrap();
        jobs.complete(job);
        assert_eq!((a, b.as_slice().unwrap()[0]), (5.0, 8.0));
    }
}

#[test]
fn a_job_gets_its_views_in_the_order_of_its_tokens() {
    let jobs = scheduler(1);
    let mut sums = JobSlice::new(2, 0);
    let left = JobSlice::from(vec![1, 2]);
    let right = JobCell::new(10);
    let mut label = JobCell::new(String::new());
    let data = (sums.write(), left.read(), right.read(), label.write());
    let job = jobs
        .schedule(&[], data, |(sums, left, right, label)| {
            sums[0] = left[0] + right;
            sums[1] = left[1] + right;
            label.push_str("done");
        })
        .unwrap();
    jobs.complete(job);
    assert_eq!(sums.as_slice().unwrap(), [11, 12]);
    assert_eq!(label.get().unwrap(), "done");
}

#[test]
fn tuples_of_tuples_are_job_data() {
    let jobs = scheduler(1);
    let (mut a, mut b, mut c) = (JobCell::new(1), JobCell::new(2), JobCell::new(3));
    let data = ((a.write(), b.write()), (c.write(),));
    let job = jobs.schedule(&[], data, |((a, b), (c,))| (*a, *b, *c) = (*c, *a, *b));
    jobs.complete(job.unwrap());
    let values = (*a.get().unwrap(), *b.get().unwrap(), *c.get().unwrap());
    assert_eq!(values, (3, 1, 2));
}

#[test]
fn a_job_runs_once_and_drops_its_captures_once() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let drops = Drops::default();
        let captured = drops.value();
        let mut runs = JobCell::new(0);
        let job = jobs
            .schedule(&[], runs.write(), move |runs| {
                let _ = &captured;
                *runs += 1;
            })
            .unwrap();
        assert_eq!(drops.count(), 0);
        jobs.flush();
        jobs.complete(job);
        jobs.complete_everything();
        assert_eq!((*runs.get().unwrap(), drops.count()), (1, 1));
    }
}

#[test]
fn the_captures_of_a_refused_job_are_dropped() {
    let jobs = scheduler(0);
    let drops = Drops::default();
    let captured = drops.value();
    let mut cell = JobCell::new(0);
    let first = jobs.schedule(&[], cell.write(), |_| {}).unwrap();
    jobs.schedule(&[], cell.write(), move |_| drop(captured)).unwrap_err();
    assert_eq!(drops.count(), 1);
    jobs.complete(first);
}

#[test]
fn captures_of_any_size_and_alignment_arrive_whole() {
    #[repr(align(128))]
    #[derive(Clone, Copy)]
    struct Wide([u64; 32]);

    let jobs = scheduler(1);
    let mut total = JobCell::new(0);
    let wide = Wide([3; 32]);
    let large = [1_u64; 5000];
    let nothing = ();
    let job = jobs
        .schedule(&[], total.write(), move |total| {
            assert_eq!((&raw const wide).addr() % 128, 0);
            let () = nothing;
            *total = wide.0.iter().sum::<u64>() + large.iter().sum::<u64>();
        })
        .unwrap();
    jobs.complete(job);
    assert_eq!(*total.get().unwrap(), 96 + 5000);
}

#[test]
fn containers_of_zero_sized_values_and_of_no_values_work() {
    let jobs = scheduler(1);
    let mut units = JobSlice::new(5, ());
    let mut empty = JobSlice::<u64>::from(Vec::new());
    assert!(empty.is_empty());
    let data = (units.write(), empty.write());
    let job = jobs.schedule(&[], data, |(units, empty)| {
        assert_eq!((units.len(), empty.len()), (5, 0));
    });
    jobs.complete(job.unwrap());
    assert_eq!(units.into_vec().unwrap(), [(); 5]);
    assert_eq!(empty.into_vec().unwrap(), [0; 0]);
}

#[test]
fn a_job_that_runs_inline_borrows_and_returns() {
    let jobs = scheduler(2);
    let mut values = JobSlice::from(vec![1, 2, 3]);
    let factor = 2;
    let here = thread::current().id();
    let sum = jobs.run(values.write(), |values| {
        assert_eq!((thread::current().id(), thread_index()), (here, Some(0)));
        values.iter_mut().for_each(|value| *value *= &factor);
        values.iter().sum::<i32>()
    });
    assert_eq!(sum, Ok(12));
    assert_eq!(values.as_slice().unwrap(), [2, 4, 6]);
    assert_eq!(thread_index(), None);
}

#[test]
fn a_job_that_runs_inline_cannot_use_containers_of_a_scheduled_job() {
    let jobs = scheduler(1);
    let mut values = JobSlice::from(vec![1, 2, 3]);
    let reads = jobs.schedule(&[], values.read(), |values| assert_eq!(values, [1, 2, 3])).unwrap();
    assert_eq!(jobs.run(values.read(), |values| values.len()), Ok(3));
    jobs.run(values.write(), |values| values[0] = 9).unwrap_err();
    jobs.complete(reads);
    assert_eq!(jobs.run(values.write(), |values| values[0]), Ok(1));
}

#[test]
fn a_panic_in_a_job_that_runs_inline_is_the_callers() {
    let jobs = scheduler(1);
    let mut value = JobCell::new(1);
    let message = common::panic_message(|| {
        jobs.run(value.write(), |value| {
            *value = 2;
            panic!("by hand");
        })
    });
    assert_eq!(message, "by hand");
    assert_eq!(thread_index(), None, "the thread is no longer in a job");
    assert_eq!(value.into_inner().unwrap(), 2);
    jobs.complete(jobs.schedule(&[], (), |()| {}).unwrap());
}
