//! ancho: a pool of one worker, and the scheduler's own thread, which runs jobs while it completes
//! them.
//!
//! All safety checks are on, as they are for users.

use std::hint::black_box;

use ancho_jobs::{JobCell, JobHandle, JobPool, JobScheduler, JobSlice};

use super::work::{self, Counter, JOBS};
use crate::harness::{Cell, Reading};

pub(super) fn empty(cell: Cell) -> Reading {
    let count = Counter::leaked();
    let operation = |jobs: &mut JobScheduler| {
        let job = jobs.schedule(&[], (), move |()| count.add()).expect("no conflict");
        jobs.complete(job);
    };
    cell.run(JobScheduler::new(&pool()), operation, |_| count.get())
}

/// Measures a chain of jobs that share a counter, as in every subject.
pub(super) fn chain(cell: Cell) -> Reading {
    let count = Counter::leaked();
    let operation = |jobs: &mut JobScheduler| {
        let mut last = JobHandle::COMPLETED;
        for job in 0..JOBS {
            last = jobs.schedule(&[last], (), move |()| count.step(job)).expect("no conflict");
        }
        jobs.complete(last);
    };
    cell.run(JobScheduler::new(&pool()), operation, |_| count.get())
}

/// Measures a chain of jobs that write the same cell, so that scheduling a job checks that it comes
/// after the previous one.
pub(super) fn chain_checked(cell: Cell) -> Reading {
    let jobs = JobScheduler::new(&pool());
    let operation = |count: &mut JobCell<u64>| {
        let mut last = JobHandle::COMPLETED;
        for job in 0..JOBS {
            let next = move |count: &mut u64| *count = work::step(*count, job);
            last = jobs.schedule(&[last], count.write(), next).expect("in order");
        }
        jobs.complete(last);
    };
    cell.run(JobCell::new(0), operation, |count| *count.get().expect("completed"))
}

pub(super) fn fan(cell: Cell) -> Reading {
    let jobs = JobScheduler::new(&pool());
    let counters = Counter::leaked_fan();
    let operation = |handles: &mut Vec<JobHandle>| {
        handles.clear();
        for counter in counters {
            let job = jobs.schedule(&[], (), move |()| counter.add());
            handles.push(job.expect("no conflict"));
        }
        jobs.complete_all(handles);
    };
    cell.run(Vec::with_capacity(JOBS), operation, |_| work::fan_result(counters))
}

pub(super) fn parallel_for<const BATCH: usize>(cell: Cell) -> Reading {
    let jobs = JobScheduler::new(&pool());
    let operation = |elements: &mut JobSlice<f32>| {
        let batch = black_box(BATCH);
        let job = jobs.schedule_parallel(
            &[],
            (elements.write(),),
            work::ELEMENTS,
            batch,
            |(batch,), _| work::advance(batch),
        );
        jobs.complete(job.expect("no conflict"));
    };
    let result = |elements: &mut JobSlice<f32>| {
        work::elements_result(elements.as_slice().expect("completed"))
    };
    cell.run(elements(), operation, result)
}

/// Returns the elements in a `JobSlice`, which starts at a cache line. A `Vec` is aligned as the
/// allocator chooses.
fn elements() -> JobSlice<f32> {
    let mut elements = JobSlice::new(work::ELEMENTS, 0.0);
    elements.as_mut_slice().expect("no job").copy_from_slice(&work::elements());
    elements
}

fn pool() -> JobPool {
    JobPool::builder().workers(1).build().expect("a worker")
}
