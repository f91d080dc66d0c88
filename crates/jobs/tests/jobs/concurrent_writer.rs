//! Containers that all batches of a job write at once, each through its own writer.

use crate::common;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use ancho_jobs::{
    Access, AccessError, BatchInfo, ConcurrentWrite, ContainerLabel, ExecutionMode, JobCell,
    JobScheduler, JobSlice, ScheduleError,
};
use common::{WORKERS, scheduler};

#[derive(Debug, Default)]
struct Counter(AtomicU64);

impl ConcurrentWrite for Counter {
    type Writer<'v> = &'v AtomicU64;
    type Item<'b> = &'b AtomicU64;

    fn writer(&self, _: &BatchInfo) -> &AtomicU64 {
        &self.0
    }

    fn item<'b>(writer: &'b mut &AtomicU64, _: usize) -> &'b AtomicU64 {
        writer
    }
}

/// Collects values from all batches in batch order, independent of threads and timing.
#[derive(Debug, Default)]
struct Collect {
    parts: Mutex<Vec<(usize, Vec<usize>)>>,
}

/// The values that one batch collects. Delivered when it is dropped.
enum Part<'v> {
    Own { collect: &'v Collect, batch: usize, values: Vec<usize> },
    Lent(&'v mut Vec<usize>),
}

impl Part<'_> {
    fn values(&mut self) -> &mut Vec<usize> {
        match self {
            Self::Own { values, .. } => values,
            Self::Lent(values) => values,
        }
    }

    fn push(&mut self, value: usize) {
        self.values().push(value);
    }
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        if let Self::Own { collect, batch, values } = self {
            let part = (*batch, std::mem::take(values));
            collect.parts.lock().unwrap().push(part);
        }
    }
}

impl ConcurrentWrite for Collect {
    type Writer<'v> = Part<'v>;
    type Item<'b> = Part<'b>;

    fn writer(&self, batch: &BatchInfo) -> Part<'_> {
        Part::Own { collect: self, batch: batch.index, values: Vec::new() }
    }

    fn item<'b>(writer: &'b mut Part<'_>, _: usize) -> Part<'b> {
        Part::Lent(writer.values())
    }
}

impl Collect {
    fn finish(self) -> Vec<usize> {
        let mut parts = self.parts.into_inner().unwrap();
        parts.sort_unstable_by_key(|&(batch, _)| batch);
        parts.into_iter().flat_map(|(_, values)| values).collect()
    }
}

/// Returns the multiples of three below 1000, collected by a parallel job.
fn multiples(jobs: &JobScheduler) -> Vec<usize> {
    let mut found = JobCell::new(Collect::default());
    let job = jobs.schedule_for_each(&[], found.concurrent(), 1000, 16, |mut found, i| {
        if i % 3 == 0 {
            found.push(i);
        }
    });
    jobs.complete(job.unwrap());
    found.into_inner().unwrap().finish()
}

#[test]
fn all_batches_write_one_container() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut even = JobCell::new(Counter::default());
        let job = jobs.schedule_for_each(&[], even.concurrent(), 1000, 7, |even, i| {
            even.fetch_add(u64::from(i % 2 == 0), Ordering::Relaxed);
        });
        jobs.complete(job.unwrap());
        assert_eq!(even.get().unwrap().0.load(Ordering::Relaxed), 500);
    }
}

#[test]
fn a_writer_that_separates_batches_has_the_same_order_on_any_threads() {
    let expected: Vec<_> = (0..1000).step_by(3).collect();
    for workers in WORKERS {
        let jobs = scheduler(workers);
        assert_eq!(multiples(&jobs), expected);
        for seed in 0..5 {
            jobs.set_mode(ExecutionMode::Shuffle { seed });
            assert_eq!(multiples(&jobs), expected, "{workers} workers, seed {seed}");
        }
    }
}

#[test]
fn batches_use_a_writer_as_a_whole() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut found = JobCell::new(Collect::default());
        let job = jobs.schedule_parallel(&[], found.concurrent(), 100, 8, |mut found, range| {
            found.push(range.start);
            found.push(range.end);
        });
        jobs.complete(job.unwrap());
        let found = found.into_inner().unwrap().finish();
        assert_eq!(found[..4], [0, 8, 8, 16]);
        assert_eq!(found[found.len() - 2..], [96, 100]);
    }
}

#[test]
fn writers_get_the_batch_its_range_and_its_thread() {
    #[derive(Debug, Default)]
    struct Infos(Mutex<Vec<BatchInfo>>);

    impl ConcurrentWrite for Infos {
        type Writer<'v> = BatchInfo;
        type Item<'b> = BatchInfo;

        fn writer(&self, batch: &BatchInfo) -> BatchInfo {
            self.0.lock().unwrap().push(batch.clone());
            batch.clone()
        }

        fn item(writer: &mut BatchInfo, _: usize) -> BatchInfo {
            writer.clone()
        }
    }

    for workers in WORKERS {
        let jobs = scheduler(workers);
        let threads = jobs.thread_count();
        let mut infos = JobCell::new(Infos::default());
        let job = jobs.schedule_parallel(&[], infos.concurrent(), 100, 30, move |info, range| {
            assert_eq!((info.range.clone(), info.index), (range.clone(), range.start / 30));
            assert_eq!(Some(info.thread), ancho_jobs::thread_index());
            assert!(info.thread < threads);
        });
        jobs.complete(job.unwrap());
        let mut infos = infos.into_inner().unwrap().0.into_inner().unwrap();
        infos.sort_unstable_by_key(|info| info.index);
        let ranges: Vec<_> = infos.into_iter().map(|info| info.range).collect();
        assert_eq!(ranges, [0..30, 30..60, 60..90, 90..100], "one writer for each batch");
    }
}

#[test]
fn the_container_can_be_neither_read_nor_written_meanwhile() {
    let jobs = scheduler(1);
    let mut count = JobCell::new(Counter::default());
    let label = count.label();
    let job =
        jobs.named("First").schedule_for_each(&[], count.concurrent(), 10, 1, |_, _| {}).unwrap();
    let error = count.get().unwrap_err();
    assert!(matches!(
        error,
        AccessError::InUse { job: "First", job_access: Access::Concurrent, .. }
    ));
    assert!(count.get_mut().is_err());
    let conflict = |access| {
        Err(ScheduleError::Conflict {
            container: label,
            job: "Second",
            access,
            other: "First",
            other_access: Access::Concurrent,
        })
    };
    let second = jobs.named("Second").schedule(&[], count.read(), |_| {});
    assert_eq!(second, conflict(Access::Read));
    let second = jobs.named("Second").schedule(&[], count.write(), |_| {});
    assert_eq!(second, conflict(Access::Write));
    let second = jobs.named("Second").schedule_for_each(&[], count.concurrent(), 10, 1, |_, _| {});
    assert_eq!(second, conflict(Access::Concurrent));
    assert_eq!(
        second.unwrap_err().to_string(),
        format!(
            "A0001: job `Second` writes concurrently the JobCell<Counter> made at {}, which job `First` writes \
             concurrently and which was not completed; pass the handle of `First` as a dependency, complete it first, \
             for example with `wait`, \
             or use `in_turn`, which waits for earlier users",
            label.made()
        )
    );
    jobs.complete(job);
    assert!(count.get().is_ok());
}

#[test]
fn jobs_in_order_may_mix_their_ways_of_writing() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut count = JobCell::new(Counter::default());
        let values = JobSlice::new(100, 2_u64);
        let a = jobs
            .schedule_for_each(&[], (count.concurrent(), values.read()), 100, 8, |(count, v), i| {
                count.fetch_add(v[i], Ordering::Relaxed);
            })
            .unwrap();
        let b = jobs.schedule(&[a], count.write(), |count| *count.0.get_mut() *= 10).unwrap();
        let c = jobs
            .schedule_for_each(&[b], count.concurrent(), 100, 8, |count, _| {
                count.fetch_add(1, Ordering::Relaxed);
            })
            .unwrap();
        jobs.complete(c);
        assert_eq!(count.into_inner().unwrap().0.into_inner(), 2100);
    }
}

#[test]
fn a_single_job_can_write_concurrently() {
    let jobs = scheduler(1);
    let mut found = JobCell::new(Collect::default());
    let job = jobs.schedule(&[], found.concurrent(), |mut found| {
        found.push(4);
        found.push(2);
    });
    jobs.complete(job.unwrap());
    assert_eq!(found.into_inner().unwrap().finish(), [4, 2]);
}

#[test]
fn a_panic_while_a_writer_is_made_fails_the_job() {
    #[derive(Debug)]
    struct Broken;

    impl ConcurrentWrite for Broken {
        type Writer<'v> = ();
        type Item<'b> = ();

        fn writer(&self, batch: &BatchInfo) {
            assert_ne!(batch.index, 2, "no writer");
        }

        fn item((): &mut (), _: usize) {}
    }

    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut broken = JobCell::new(Broken);
        let job =
            jobs.named("Write").schedule_for_each(&[], broken.concurrent(), 10, 1, |(), _| {});
        let failed = jobs.try_complete(job.unwrap()).unwrap_err();
        assert_eq!(failed.panicked_job(), "Write");
        assert!(failed.message().contains("no writer"));
        assert!(broken.get_mut().is_ok());
    }
}

/// Keeps the values that were added by jobs that did not fail.
#[derive(Debug, Default)]
struct Committed {
    open: AtomicU64,
    kept: u64,
    settled: u64,
}

impl ConcurrentWrite for Committed {
    type Writer<'v> = &'v AtomicU64;
    type Item<'b> = &'b AtomicU64;

    fn writer(&self, _: &BatchInfo) -> &AtomicU64 {
        &self.open
    }

    fn item<'b>(writer: &'b mut &AtomicU64, _: usize) -> &'b AtomicU64 {
        writer
    }

    fn settle(&mut self, _: ContainerLabel) {
        self.settled += 1;
    }

    fn conclude(&mut self, failed: bool) {
        let written = std::mem::take(self.open.get_mut());
        self.kept += if failed { 0 } else { written };
    }
}

/// Fails when it is settled.
#[derive(Debug)]
struct Unsettled;

impl ConcurrentWrite for Unsettled {
    type Writer<'v> = ();
    type Item<'b> = ();

    fn writer(&self, _: &BatchInfo) {}

    fn item((): &mut (), _: usize) {}

    fn settle(&mut self, _: ContainerLabel) {
        panic!("when it is settled");
    }
}

#[test]
fn the_writes_of_a_failed_job_can_be_discarded() {
    struct Fails(bool);

    impl Drop for Fails {
        fn drop(&mut self) {
            assert!(!self.0, "when it is dropped");
        }
    }

    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut sum = JobCell::new(Committed::default());
        let mut other = JobCell::new(Unsettled);
        let add = |sum: &AtomicU64| _ = sum.fetch_add(1, Ordering::Relaxed);
        for (fails, kept) in [(true, 0), (false, 100), (true, 100)] {
            let each = move |sum: &AtomicU64, index| {
                add(sum);
                assert!(!fails || index != 42, "at an index");
            };
            let job = jobs.schedule_for_each(&[], sum.concurrent(), 100, 7, each).unwrap();
            assert_eq!(jobs.try_complete(job).is_err(), fails);
            assert_eq!(sum.get().unwrap().kept, kept);
        }
        let capture = Fails(true);
        let each = move |sum: &AtomicU64, _| {
            let _ = &capture;
            add(sum);
        };
        let job = jobs.schedule_for_each(&[], sum.concurrent(), 100, 7, each).unwrap();
        assert_eq!(jobs.try_complete(job).unwrap_err().message(), "when it is dropped");
        assert_eq!(sum.get().unwrap().kept, 100);

        let data = (sum.concurrent(), other.concurrent());
        let job = jobs.schedule_for_each(&[], data, 100, 7, move |(sum, ()), _| add(sum)).unwrap();
        assert_eq!(jobs.try_complete(job).unwrap_err().message(), "when it is settled");
        let data = (sum.concurrent(), other.concurrent());
        let job = jobs.schedule(&[], data, move |(sum, ())| add(sum)).unwrap();
        assert_eq!(jobs.try_complete(job).unwrap_err().message(), "when it is settled");
        let job = jobs.schedule(&[], sum.concurrent(), move |sum| add(sum)).unwrap();
        jobs.complete(job);
        let Committed { kept, settled, .. } = sum.get().unwrap();
        assert_eq!((*kept, *settled), (101, 7), "settled in any case");
    }
}
