//! User-defined job kinds, built on the public call that all parallel kinds use.

use crate::common;

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use ancho_jobs::{
    ExecutionMode, JobHandle, JobScheduler, JobSlice, ParallelJobData, ScheduleError, SliceWrite,
    Work,
};
use common::{WORKERS, scheduler};

/// A job that makes a value once for each participating thread, and uses it in all its batches.
trait ScratchJob<D: ParallelJobData>: Send + Sync + 'static {
    type Scratch;

    fn scratch(&self) -> Self::Scratch;

    fn execute(&self, scratch: &mut Self::Scratch, batch: D::Batch<'_>, range: Range<usize>);
}

/// The job kind, as an extension of the scheduler.
trait ScheduleScratch {
    fn schedule_scratch<D: ParallelJobData>(
        &self,
        dependencies: &[JobHandle],
        data: D,
        count: usize,
        batch: usize,
        job: impl ScratchJob<D>,
    ) -> Result<JobHandle, ScheduleError>;
}

impl ScheduleScratch for JobScheduler {
    fn schedule_scratch<D: ParallelJobData>(
        &self,
        dependencies: &[JobHandle],
        data: D,
        count: usize,
        batch: usize,
        job: impl ScratchJob<D>,
    ) -> Result<JobHandle, ScheduleError> {
        let work = move |work: &mut Work<'_, D>| {
            let mut scratch = job.scratch();
            while let Some((views, range)) = work.next_batch() {
                job.execute(&mut scratch, views, range);
            }
        };
        self.named("Work").schedule_work(dependencies, data, count, batch, work)
    }
}

/// Sorts each batch through a buffer.
struct SortBatches {
    buffers: Arc<AtomicUsize>,
}

impl ScratchJob<SliceWrite<'_, u32>> for SortBatches {
    type Scratch = Vec<u32>;

    fn scratch(&self) -> Vec<u32> {
        self.buffers.fetch_add(1, Ordering::Relaxed);
        Vec::new()
    }

    fn execute(&self, scratch: &mut Vec<u32>, values: &mut [u32], range: Range<usize>) {
        assert_eq!(values.len(), range.len());
        scratch.clear();
        scratch.extend_from_slice(values);
        scratch.sort_unstable();
        values.copy_from_slice(scratch);
    }
}

#[test]
fn a_kind_with_scratch_memory_for_each_thread() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut values = JobSlice::from((0..1000_u32).rev().collect::<Vec<_>>());
        let buffers = Arc::new(AtomicUsize::new(0));
        let sort = SortBatches { buffers: Arc::clone(&buffers) };
        let first = jobs.schedule(&[], values.write(), |values| values[999] = 5000).unwrap();
        let sorted = jobs.schedule_scratch(&[first], values.write(), 1000, 10, sort).unwrap();
        jobs.complete(sorted);
        let values = values.into_vec().unwrap();
        assert!(values.chunks(10).all(<[u32]>::is_sorted));
        assert_eq!(values[999], 5000);
        let buffers = buffers.load(Ordering::Relaxed);
        assert!((1..=workers + 1).contains(&buffers), "{buffers} buffers");
    }
}

#[test]
fn a_kind_of_the_users_is_checked_like_any_other() {
    let jobs = scheduler(1);
    let mut values = JobSlice::new(100, 0_u32).named("values");
    let sort = || SortBatches { buffers: Arc::default() };
    let first = jobs.schedule_scratch(&[], values.write(), 100, 10, sort()).unwrap();
    let refused = jobs.schedule_scratch(&[], values.write(), 100, 10, sort());
    assert!(matches!(refused, Err(ScheduleError::Conflict { .. })));
    let refused = jobs.schedule_scratch(&[first], values.write(), 101, 10, sort());
    assert!(matches!(refused, Err(ScheduleError::TooShort { .. })));
    let refused = jobs.schedule_scratch(&[first], values.write(), 100, 0, sort());
    assert!(matches!(refused, Err(ScheduleError::ZeroBatch { .. })));
    jobs.complete(first);
}

#[test]
fn a_job_that_leaves_batches_unfinished_ends() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut values = JobSlice::new(1000, 0);
        let taken = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&taken);
        let job = jobs.named("Work").schedule_work(&[], values.write(), 1000, 10, move |work| {
            // Each thread takes one batch and returns.
            if let Some((values, _)) = work.next_batch() {
                values.fill(1);
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
        jobs.complete(job.unwrap());
        let taken = taken.load(Ordering::Relaxed);
        assert!((1..=workers + 1).contains(&taken), "{taken} batches");
        let values = values.into_vec().unwrap();
        assert_eq!(values.iter().sum::<usize>(), taken * 10);
    }
}

#[test]
fn a_job_that_takes_no_batch_ends() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut values = JobSlice::new(1000, 0);
        let job = jobs.named("Work").schedule_work(&[], values.write(), 1000, 10, |_| {});
        jobs.complete(job.unwrap());
        assert_eq!(values.into_vec().unwrap(), [0; 1000]);
    }
}

#[test]
fn a_job_without_batches_is_not_called() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let job = jobs.named("Work").schedule_work(&[], (), 0, 10, |_| panic!("called"));
        jobs.complete(job.unwrap());
    }
}

#[test]
fn views_of_several_batches_can_be_used_side_by_side() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        for mode in [ExecutionMode::Parallel, ExecutionMode::Shuffle { seed: 5 }] {
            jobs.set_mode(mode);
            let mut values = JobSlice::new(100, 0);
            let job = jobs.named("Work").schedule_work(&[], values.write(), 100, 10, |work| {
                let mut mine = vec![];
                while let Some(batch) = work.next_batch() {
                    mine.push(batch);
                }
                assert!(work.next_batch().is_none(), "there are no more");
                for (values, range) in &mut mine {
                    for (value, i) in values.iter_mut().zip(range) {
                        *value += i;
                    }
                }
            });
            jobs.complete(job.unwrap());
            assert!(values.as_slice().unwrap().iter().copied().eq(0..100));
        }
    }
}

#[test]
fn no_thread_takes_part_twice_at_the_same_time() {
    let jobs = scheduler(3);
    let indices: Arc<Mutex<Vec<usize>>> = Arc::default();
    let seen = Arc::clone(&indices);
    let job = jobs.named("Work").schedule_work(&[], (), 10_000, 1, move |work| {
        let index = ancho_jobs::thread_index().unwrap();
        let mut held = seen.lock().unwrap();
        assert!(!held.contains(&index));
        held.push(index);
        drop(held);
        while work.next_batch().is_some() {}
        seen.lock().unwrap().retain(|&other| other != index);
    });
    jobs.complete(job.unwrap());
    assert!(indices.lock().unwrap().is_empty());
}
