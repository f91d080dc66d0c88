//! Jobs that append indices to a list, and that filter one.

use crate::common;

use ancho_jobs::{JobCell, JobSlice, ScheduleError};
use common::{WORKERS, scheduler};

#[test]
fn append_then_filter_then_append() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut list = JobCell::new(Vec::<usize>::new());
        let multiples = jobs
            .named("Append")
            .schedule_append(&[], list.write(), (), 10, |(), i| i % 7 == 0)
            .unwrap();
        jobs.complete(multiples);
        assert_eq!(list.get().unwrap(), &[0, 7]);

        let all =
            jobs.named("Append").schedule_append(&[], list.write(), (), 2, |(), _| true).unwrap();
        let kept =
            jobs.named("Filter").schedule_filter(&[all], list.write(), (), |(), i| i != 0).unwrap();
        jobs.complete(kept);
        assert_eq!(list.get().unwrap(), &[7, 1]);
    }
}

#[test]
fn append_tests_each_index_once_in_rising_order_and_keeps_existing_elements() {
    let jobs = scheduler(1);
    let mut list = JobCell::new(vec![99_u32, 3]);
    let mut asked = JobCell::new(Vec::new());
    let job =
        jobs.named("Append").schedule_append(&[], list.write(), asked.write(), 5, |asked, i| {
            asked.push(i);
            i % 2 == 1
        });
    jobs.complete(job.unwrap());
    assert_eq!(asked.get().unwrap(), &[0, 1, 2, 3, 4]);
    assert_eq!(list.get().unwrap(), &[99, 3, 1, 3]);
}

#[test]
fn filter_tests_each_index_of_the_list_once_and_keeps_the_order() {
    let jobs = scheduler(1);
    let mut list = JobCell::new(vec![5_usize, 1, 4, 1, 3]);
    let values = JobSlice::from(vec![0, 10, 20, 30, 40, 50]);
    let mut asked = JobCell::new(Vec::new());
    let data = (values.read(), asked.write());
    let job =
        jobs.named("Filter").schedule_filter(&[], list.write(), data, |(values, asked), i| {
            asked.push(i);
            values[i] <= 30
        });
    jobs.complete(job.unwrap());
    assert_eq!(asked.get().unwrap(), &[5, 1, 4, 1, 3]);
    assert_eq!(list.get().unwrap(), &[1, 1, 3]);
}

#[test]
fn a_count_of_zero_and_an_empty_list_ask_for_nothing() {
    let jobs = scheduler(1);
    let mut list = JobCell::new(Vec::<usize>::new());
    let append = jobs
        .named("Append")
        .schedule_append(&[], list.write(), (), 0, |(), _| panic!("asked"))
        .unwrap();
    let filter = jobs
        .named("Filter")
        .schedule_filter(&[append], list.write(), (), |(), _| panic!("asked"))
        .unwrap();
    jobs.complete(filter);
    assert!(list.get().unwrap().is_empty());
}

#[test]
fn list_and_data_are_checked_for_conflicts() {
    let jobs = scheduler(1);
    let mut list = JobCell::new(Vec::<usize>::new());
    let values = JobSlice::from(vec![1]);
    let job = jobs
        .named("Append")
        .schedule_append(&[], list.write(), values.read(), 1, |values, i| values[i] > 0)
        .unwrap();
    let unordered =
        jobs.named("Filter").schedule_filter(&[], list.write(), values.read(), |_, _| true);
    assert!(matches!(unordered, Err(ScheduleError::Conflict { .. })));
    list.get().unwrap_err();
    jobs.complete(job);
    assert_eq!(list.get().unwrap(), &[0]);
}

#[test]
fn a_panic_while_filtering_leaves_a_usable_list() {
    let jobs = scheduler(1);
    let mut list = JobCell::new(vec![0_usize, 1, 2, 3]);
    let job = jobs.named("Filter").schedule_filter(&[], list.write(), (), |(), i| {
        assert!(i < 2, "too large");
        i == 1
    });
    let failed = jobs.try_complete(job.unwrap()).unwrap_err();
    assert_eq!(failed.message(), "too large");
    let list = list.get_mut().unwrap();
    assert!(list.contains(&1));
    list.push(4);
}
