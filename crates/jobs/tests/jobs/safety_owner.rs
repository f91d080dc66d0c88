//! Access of the owner to containers that scheduled jobs use.

use crate::common;

use ancho_jobs::{Access, AccessError, ContainerLabel, Guarded, JobCell, JobSlice, Kept};
use common::{WORKERS, eventually, scheduler};

#[test]
fn a_container_that_a_job_writes_can_be_neither_read_nor_written() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut cell = JobCell::new(1);
        let job = jobs.named("Job").schedule(&[], cell.write(), |v| *v = 2).unwrap();
        let refused = |access, container| AccessError::InUse {
            container,
            access,
            job: "Job",
            job_access: Access::Write,
        };
        let label = cell.label();
        assert_eq!(cell.get(), Err(refused(Access::Read, label)));
        assert_eq!(cell.get_mut(), Err(refused(Access::Write, label)));
        let Kept { container: mut cell, error } = cell.into_inner().unwrap_err();
        assert_eq!(error, refused(Access::Write, label));
        jobs.complete(job);
        assert_eq!(cell.get(), Ok(&2));
        assert_eq!(cell.get_mut(), Ok(&mut 2));
        assert_eq!(cell.into_inner().unwrap(), 2);
    }
}

#[test]
fn a_container_that_jobs_read_can_be_read_and_not_written() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut values = JobSlice::from(vec![1, 2]);
        let job = jobs.named("Job").schedule(&[], values.read(), |_| {}).unwrap();
        assert_eq!(values.as_slice(), Ok(&[1, 2][..]));
        let error = values.as_mut_slice().unwrap_err();
        assert!(matches!(
            error,
            AccessError::InUse { job_access: Access::Read, access: Access::Write, .. }
        ));
        let Kept { container: mut values, .. } = values.into_vec().unwrap_err();
        jobs.complete(job);
        values.as_mut_slice().unwrap()[0] = 5;
        assert_eq!(values.into_vec().unwrap(), [5, 2]);
    }
}

#[test]
fn a_job_that_has_finished_keeps_its_containers_until_it_is_completed() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut cell = JobCell::new(1);
        let job = jobs.schedule(&[], cell.write(), |v| *v = 2).unwrap();
        jobs.flush();
        eventually(|| jobs.is_completed(job));
        cell.get().unwrap_err();
        cell.get_mut().unwrap_err();
        jobs.complete(job);
        assert_eq!(cell.get(), Ok(&2));
    }
}

#[test]
fn all_jobs_that_use_a_container_must_have_been_completed() {
    let jobs = scheduler(1);
    let mut cell = JobCell::new(1);
    let readers = [0; 3].map(|_| jobs.schedule(&[], cell.read(), |_| {}).unwrap());
    for reader in readers {
        cell.get_mut().unwrap_err();
        jobs.complete(reader);
    }
    *cell.get_mut().unwrap() = 4;
    let first = jobs.schedule(&[], cell.write(), |v| *v += 1).unwrap();
    let second = jobs.schedule(&[first], cell.write(), |v| *v += 1).unwrap();
    jobs.complete(first);
    cell.get().unwrap_err();
    jobs.complete(second);
    assert_eq!(cell.get(), Ok(&6));
}

#[test]
fn completing_an_unrelated_job_releases_no_container() {
    let jobs = scheduler(1);
    let mut cell = JobCell::new(1);
    let job = jobs.schedule(&[], cell.write(), |_| {}).unwrap();
    let other = jobs.schedule(&[], (), |()| {}).unwrap();
    jobs.complete(other);
    cell.get().unwrap_err();
    jobs.complete(job);
    cell.get().unwrap();
}

#[test]
fn dropping_the_scheduler_releases_all_containers() {
    let jobs = scheduler(1);
    let mut cell = JobCell::new(1);
    let _ = jobs.schedule(&[], cell.write(), |v| *v = 9).unwrap();
    drop(jobs);
    assert_eq!(cell.get_mut(), Ok(&mut 9));
    assert_eq!(cell.into_inner().unwrap(), 9);
}

#[test]
fn length_label_and_debug_are_available_at_any_time() {
    let jobs = scheduler(1);
    let mut values = JobSlice::new(3, 1).named("values");
    let mut cell = JobCell::new(5);
    assert_eq!(format!("{values:?} {cell:?}"), "[1, 1, 1] JobCell(5)");
    let data = (values.write(), cell.write());
    let job = jobs.named("Job").schedule(&[], data, |_| {}).unwrap();
    assert_eq!((values.len(), values.is_empty()), (3, false));
    assert!(values.label().to_string().starts_with("`values` (JobSlice<i32> made at "));
    assert_eq!(
        format!("{values:?} {cell:?}"),
        "JobSlice(in use by job `Job`) JobCell(in use by job `Job`)"
    );
    jobs.complete(job);
}

#[test]
fn the_message_names_the_container_the_job_and_the_remedy() {
    let jobs = scheduler(1);
    let mut score = JobCell::new(0).named("score");
    let place = score.label().made();
    let writes = jobs.named("Count").schedule(&[], score.write(), |_| {}).unwrap();
    assert_eq!(
        score.get().unwrap_err().to_string(),
        format!(
            "A0003: `score` (JobCell<i32> made at {place}) cannot be read now, because job `Count` writes \
             it and was not completed; complete `Count` first, by its handle or, \
             for containers, by `wait`"
        )
    );
    jobs.complete(writes);
    let reads = jobs.named("Show").schedule(&[], score.read(), |_| {}).unwrap();
    assert_eq!(
        score.get_mut().unwrap_err().to_string(),
        format!(
            "A0003: `score` (JobCell<i32> made at {place}) cannot be written now, because job `Show` reads \
             it and was not completed; complete `Show` first, by its handle or, \
             for containers, by `wait_mut`"
        )
    );
    jobs.complete(reads);
}

#[test]
fn the_part_that_containers_are_made_of_lends_its_value() {
    let jobs = scheduler(1);
    let mut names = Guarded::new(vec!["Ada"], ContainerLabel::of::<Vec<&str>>().named("names"));
    names.get_mut().unwrap().push("Grace");
    let held = names.hold();
    assert_eq!(held.as_ptr(), names.as_ptr());
    drop(held);
    assert_eq!(names.get().unwrap(), &["Ada", "Grace"]);
    assert!(names.label().to_string().starts_with("`names` (Vec<&str> made at "));
    assert_eq!(format!("{names:?}"), r#"Guarded(["Ada", "Grace"])"#);
    let done = names.dispose_after(&jobs, &[]).unwrap();
    jobs.complete(done);
}
