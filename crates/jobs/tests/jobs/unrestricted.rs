//! Writing an array anywhere from any batch, without checks.
#![expect(unsafe_code, reason = "the call to make the promise is unsafe")]

use crate::common;

use ancho_jobs::{JobSlice, ScheduleError};
use common::{WORKERS, scheduler};

#[test]
fn any_index_writes_any_element() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut reversed = JobSlice::new(1000, 0);
        // SAFETY: each index writes one element of its own, and reads none.
        let token = unsafe { reversed.write_unrestricted() };
        let job = jobs.schedule_for_each(&[], token, 1000, 64, |reversed, i| {
            // SAFETY: only this index writes the element, and none reads it.
            unsafe { *reversed.get_mut(999 - i) = i };
        });
        jobs.complete(job.unwrap());
        assert!(reversed.as_slice().unwrap().iter().copied().eq((0..1000).rev()));
    }
}

#[test]
fn batches_and_single_jobs_see_the_whole_array() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut values = JobSlice::from((0..100).collect::<Vec<usize>>());
        // SAFETY: elements are read by the batches, and written by none.
        let token = unsafe { values.write_unrestricted() };
        let reads = jobs
            .schedule_parallel(&[], token, 100, 10, |values, _| {
                assert_eq!((values.len(), values.is_empty()), (100, false));
                // SAFETY: no batch writes an element.
                assert_eq!(unsafe { *values.get(99) }, 99);
            })
            .unwrap();
        // SAFETY: there is one batch.
        let token = unsafe { values.write_unrestricted() };
        let writes = jobs.schedule(&[reads], token, |values| {
            // SAFETY: there is one batch, so no other reference to the element is in use.
            unsafe { *values.get_mut(0) = 5 };
        });
        jobs.complete(writes.unwrap());
        assert_eq!(values.as_slice().unwrap()[0], 5);
    }
}

#[test]
fn the_count_may_exceed_the_length() {
    let jobs = scheduler(1);
    let mut values = JobSlice::new(2, 0);
    // SAFETY: only indices 0 and 1000 write, one element each.
    let token = unsafe { values.write_unrestricted() };
    let job = jobs.schedule_for_each(&[], token, 1001, 10, |values, i| {
        if i % 1000 == 0 {
            // SAFETY: only indices 0 and 1000 write, one element each.
            unsafe { *values.get_mut(i / 1000) = 1 };
        }
    });
    jobs.complete(job.unwrap());
    assert_eq!(values.as_slice().unwrap(), [1, 1]);
}

#[test]
fn an_element_outside_of_the_array_fails_the_job() {
    let jobs = scheduler(1);
    let mut values = JobSlice::new(2, 0);
    // SAFETY: no element is written.
    let token = unsafe { values.write_unrestricted() };
    let job = jobs.schedule(&[], token, |values| {
        // SAFETY: index 2 is out of bounds, so the call panics before it makes a reference.
        unsafe { *values.get_mut(2) = 1 };
    });
    let failed = jobs.try_complete(job.unwrap()).unwrap_err();
    assert_eq!(failed.message(), "element 2 of an array of 2");
}

#[test]
fn to_other_jobs_and_the_owner_it_is_writing() {
    let jobs = scheduler(1);
    let mut values = JobSlice::new(2, 0);
    // SAFETY: no element is written.
    let token = unsafe { values.write_unrestricted() };
    let job = jobs.schedule(&[], token, |_| {}).unwrap();
    values.as_slice().unwrap_err();
    let other = jobs.schedule(&[], values.read(), |_| {});
    assert!(matches!(other, Err(ScheduleError::Conflict { .. })));
    jobs.complete(job);
    values.as_mut_slice().unwrap();
}
