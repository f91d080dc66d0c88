//! Invalid and excessive counts and sizes.

use crate::common;

use std::sync::{Arc, Mutex};

use ancho_jobs::{ExecutionMode, JobHandle, JobScheduler, JobSlice, ScheduleError};
use common::{WORKERS, scheduler};

#[test]
fn a_batch_size_of_zero_is_refused() {
    let jobs = scheduler(1);
    let mut values = JobSlice::new(10, 0);
    let refused = ScheduleError::ZeroBatch { job: "Job" };
    let job = jobs.named("Job");
    for count in [0, 1, 10] {
        let scheduled = job.schedule_parallel(&[], values.write(), count, 0, |_, _| {});
        assert_eq!(scheduled, Err(refused));
        let scheduled = job.schedule_for_each(&[], values.write(), count, 0, |_, _| {});
        assert_eq!(scheduled, Err(refused));
        let scheduled = job.schedule_work(&[], values.write(), count, 0, |_| {});
        assert_eq!(scheduled, Err(refused));
        let run = job.run_parallel(values.write(), count, 0, |_, _| {});
        assert_eq!(run, Err(refused));
    }
    values.as_mut_slice().unwrap();
    assert_eq!(
        refused.to_string(),
        "A0007: the batch size of job `Job` is zero; pass the number of indices per batch, 1 or more"
    );
}

#[test]
fn a_count_larger_than_a_container_that_is_written_is_refused() {
    let jobs = scheduler(1);
    let mut values = JobSlice::new(10, 0).named("values");
    let long = JobSlice::new(20, 0);
    let label = values.label();
    let refused = ScheduleError::TooShort { container: label, job: "Job", length: 10, count: 11 };
    let job = jobs.named("Job");
    let scheduled = job.schedule_parallel(&[], (long.read(), values.write()), 11, 4, |_, _| {});
    assert_eq!(scheduled, Err(refused));
    let scheduled = job.schedule_for_each(&[], values.write(), 11, 4, |_, _| {});
    assert_eq!(scheduled, Err(refused));
    let scheduled = job.schedule_work(&[], values.write(), 11, 4, |_| {});
    assert_eq!(scheduled, Err(refused));
    let run = job.run_parallel(values.write(), 11, 4, |_, _| {});
    assert_eq!(run, Err(refused));
    values.as_mut_slice().unwrap();
    assert_eq!(
        refused.to_string(),
        format!(
            "A0010: job `Job` has 11 indices, but `values` (JobSlice<i32> made at {}) has 10 elements; \
             pass a smaller count",
            label.made()
        )
    );
    let job = job.schedule_for_each(&[], values.write(), 10, 4, |value, _| *value = 1).unwrap();
    jobs.complete(job);
    assert_eq!(values.into_vec().unwrap(), [1; 10]);
}

#[test]
fn a_container_that_is_only_read_may_be_shorter_than_the_count() {
    let jobs = scheduler(1);
    let values = JobSlice::new(3, 1);
    let job = jobs.schedule_for_each(&[], values.read(), 100, 8, |values, _| {
        assert_eq!(values.len(), 3);
    });
    jobs.complete(job.unwrap());
}

/// Returns the handle of a job that will fail, so that its dependents never run.
fn doomed(jobs: &JobScheduler) -> JobHandle {
    jobs.schedule(&[], (), |()| panic!("on purpose")).unwrap()
}

#[test]
#[cfg(target_pointer_width = "64")]
fn more_batches_than_can_be_numbered_are_refused() {
    const MOST: usize = u32::MAX as usize;
    for workers in [0, 1] {
        let jobs = scheduler(workers);
        let bad = doomed(&jobs);
        let schedule = |count, batch| {
            jobs.named("Vast").schedule_parallel(&[bad], (), count, batch, |(), _| panic!("ran"))
        };
        let refused =
            |count, batch| Err(ScheduleError::TooManyBatches { job: "Vast", count, batch });
        assert_eq!(schedule(MOST + 1, 1), refused(MOST + 1, 1));
        assert_eq!(schedule(usize::MAX, 1), refused(usize::MAX, 1));
        assert_eq!(schedule(MOST * 2 + 1, 2), refused(MOST * 2 + 1, 2));
        assert_eq!(schedule(usize::MAX, 1 << 32), refused(usize::MAX, 1 << 32));
        let taken = [schedule(MOST, 1), schedule(MOST * 2, 2), schedule(usize::MAX, (1 << 32) + 2)];
        let taken = taken.map(Result::unwrap);
        jobs.flush();
        for job in taken {
            jobs.try_complete(job).unwrap_err();
        }
        assert_eq!(
            refused(MOST + 1, 1).unwrap_err().to_string(),
            "A0009: job `Vast` has 4294967296 indices in batches of 1, more than 4294967295 batches; \
             pass a larger batch size"
        );
    }
}

#[test]
fn the_largest_counts_are_cut_like_small_ones() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        for mode in [ExecutionMode::Parallel, ExecutionMode::Shuffle { seed: 1 }] {
            jobs.set_mode(mode);
            let cut = |count, batch| {
                let seen: Arc<Mutex<Vec<_>>> = Arc::default();
                let ranges = Arc::clone(&seen);
                let job = jobs.schedule_parallel(&[], (), count, batch, move |(), range| {
                    ranges.lock().unwrap().push(range);
                });
                jobs.complete(job.unwrap());
                let mut seen = seen.lock().unwrap().clone();
                seen.sort_unstable_by_key(|range| range.start);
                seen
            };
            const MAX: usize = usize::MAX;
            let whole = 0..MAX;
            assert_eq!(cut(MAX, MAX), [whole]);
            assert_eq!(cut(MAX, MAX - 1), [0..MAX - 1, MAX - 1..MAX]);
            let half = MAX / 2;
            assert_eq!(cut(MAX, half), [0..half, half..2 * half, 2 * half..MAX]);
            let three = 0..3;
            assert_eq!(cut(3, MAX), [three]);
        }
    }
}

#[test]
fn a_slice_can_have_usize_max_zero_sized_elements() {
    let jobs = scheduler(1);
    let mut units = JobSlice::new(usize::MAX, ());
    let job = jobs.schedule_parallel(&[], units.write(), usize::MAX, usize::MAX, |units, range| {
        assert_eq!((units.len(), range.len()), (usize::MAX, usize::MAX));
    });
    jobs.complete(job.unwrap());
    assert_eq!(units.len(), usize::MAX);
}

#[test]
fn of_several_mistakes_one_is_reported_and_nothing_is_scheduled() {
    let jobs = scheduler(1);
    let other = scheduler(0);
    let foreign = other.schedule(&[], (), |()| {}).unwrap();
    let mut values = JobSlice::new(10, 0);
    let first = jobs.schedule(&[], values.write(), |_| {}).unwrap();
    // A conflict, too many indices, a batch size of zero, and a dependency of another scheduler.
    jobs.schedule_for_each(&[foreign], values.write(), 11, 0, |_, _| panic!("ran")).unwrap_err();
    jobs.complete(first);
    assert_eq!(values.as_mut_slice().unwrap(), [0; 10]);
    other.complete(foreign);
}
