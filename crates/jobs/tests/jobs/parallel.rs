//! Parallel jobs: their batches, and the views of each batch.

use crate::common;

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use ancho_jobs::{ExecutionMode, JobCell, JobScheduler, JobSlice};
use common::{WORKERS, scheduler};

/// Returns the batches that a job of `count` indices was called for, in rising order.
fn batches(jobs: &JobScheduler, count: usize, batch: usize) -> Vec<Range<usize>> {
    let seen: Arc<Mutex<Vec<Range<usize>>>> = Arc::default();
    let ranges = Arc::clone(&seen);
    let job = jobs.schedule_parallel(&[], (), count, batch, move |(), range| {
        ranges.lock().unwrap().push(range);
    });
    jobs.complete(job.unwrap());
    let mut seen = seen.lock().unwrap().clone();
    seen.sort_unstable_by_key(|range| range.start);
    seen
}

#[test]
fn a_thousand_indices_in_batches_of_64_are_15_whole_ones_and_one_of_40() {
    for workers in WORKERS {
        let seen = batches(&scheduler(workers), 1000, 64);
        assert_eq!(seen.len(), 16);
        for (i, range) in seen[..15].iter().enumerate() {
            assert_eq!(*range, i * 64..(i + 1) * 64);
        }
        assert_eq!(seen[15], 960..1000);
    }
}

#[test]
fn batches_cover_the_indices_once_and_begin_at_multiples_of_the_batch_size() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        for mode in
            [ExecutionMode::Parallel, ExecutionMode::Serial, ExecutionMode::Shuffle { seed: 3 }]
        {
            jobs.set_mode(mode);
            for count in [1, 2, 63, 64, 65, 128, 1000] {
                for batch in [1, 2, 3, 7, 64, 999, 1000, 1001, usize::MAX] {
                    let mut next = 0;
                    for range in batches(&jobs, count, batch) {
                        assert_eq!(range.start, next);
                        assert_eq!(range.end, count.min(next.saturating_add(batch)));
                        next = range.end;
                    }
                    assert_eq!(next, count, "{count} in {batch}s, {workers} workers, {mode:?}");
                }
            }
        }
    }
}

#[test]
fn a_job_without_indices_is_not_called_and_completes() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut values = JobSlice::from(vec![1, 2]);
        assert_eq!(batches(&jobs, 0, 64), []);
        let none =
            jobs.schedule_for_each(&[], values.write(), 0, 1, |_, _| panic!("called")).unwrap();
        let next = jobs.schedule(&[none], values.write(), |values| values[0] = 7).unwrap();
        jobs.flush();
        jobs.complete(next);
        assert_eq!(values.as_slice().unwrap(), [7, 2]);
    }
}

#[test]
fn a_job_smaller_than_its_batch_size_is_one_batch() {
    for workers in WORKERS {
        let whole = 0..5;
        assert_eq!(batches(&scheduler(workers), 5, 64), [whole]);
    }
}

#[test]
fn a_batch_sees_its_part_of_written_containers_and_all_of_read_ones() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut own = JobSlice::from((0..1000).collect::<Vec<usize>>());
        let all = JobSlice::from((0..500).collect::<Vec<usize>>());
        let one = JobCell::new(9);
        let data = (own.write(), all.read(), one.read());
        let job = jobs.schedule_parallel(&[], data, 1000, 64, |(own, all, one), range| {
            assert_eq!(own.len(), range.len());
            assert!(own.iter().copied().eq(range), "the part is the batch's");
            assert_eq!((all.len(), *one), (500, 9));
            own.fill(all[499]);
        });
        jobs.complete(job.unwrap());
        assert!(own.as_slice().unwrap().iter().all(|&value| value == 499));
    }
}

#[test]
fn an_index_outside_of_the_batch_is_out_of_bounds() {
    let jobs = scheduler(0);
    let mut values = JobSlice::new(10, 0);
    let job = jobs.named("Stray").schedule_parallel(
        &[],
        values.write(),
        10,
        5,
        // Each batch's part has the indices 0 to 4.
        |values, range| values[range.start] = 1,
    );
    let failed = jobs.try_complete(job.unwrap()).unwrap_err();
    assert_eq!(failed.panicked_job(), "Stray");
    assert_eq!(failed.message(), "index out of bounds: the len is 5 but the index is 5");
    assert_eq!(values.as_slice().unwrap()[0], 1);
    assert_eq!(values.as_slice().unwrap()[5], 0);
}

#[test]
fn elements_beyond_the_count_stay_as_they_are() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut values = JobSlice::new(100, 1);
        let job = jobs.schedule_parallel(&[], values.write(), 70, 32, |values, _| values.fill(2));
        jobs.complete(job.unwrap());
        let values = values.into_vec().unwrap();
        assert!(values[..70].iter().all(|&value| value == 2));
        assert!(values[70..].iter().all(|&value| value == 1));
    }
}

#[test]
fn each_index_sees_its_own_element() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut sums = JobSlice::from((0..1000).collect::<Vec<usize>>());
        let shifted = JobSlice::from((0..1000).rev().collect::<Vec<usize>>());
        let data = (sums.write(), shifted.read());
        let job = jobs.schedule_for_each(&[], data, 1000, 64, |(sum, shifted), i| {
            assert_eq!(*sum, i);
            *sum += shifted[i];
        });
        jobs.complete(job.unwrap());
        assert_eq!(sums.as_slice().unwrap(), [999; 1000]);
    }
}

#[test]
fn each_index_is_called_once() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let calls: Arc<Vec<AtomicUsize>> =
            Arc::new((0..5000).map(|_| AtomicUsize::new(0)).collect());
        let counts = Arc::clone(&calls);
        let job = jobs.schedule_for_each(&[], (), 5000, 3, move |(), i| {
            counts[i].fetch_add(1, Ordering::Relaxed);
        });
        jobs.flush();
        jobs.complete(job.unwrap());
        assert!(calls.iter().all(|calls| calls.load(Ordering::Relaxed) == 1));
    }
}

#[test]
fn indices_of_a_batch_are_called_in_rising_order() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut stamps = JobSlice::new(1000, 0);
        let clock = AtomicUsize::new(1);
        let job = jobs.schedule_for_each(&[], stamps.write(), 1000, 50, move |stamp, _| {
            *stamp = clock.fetch_add(1, Ordering::Relaxed);
        });
        jobs.complete(job.unwrap());
        for batch in stamps.as_slice().unwrap().chunks(50) {
            assert!(batch.is_sorted());
        }
    }
}

#[test]
fn results_are_the_same_for_any_number_of_workers() {
    let results = WORKERS.map(|workers| {
        let jobs = scheduler(workers);
        let mut values = JobSlice::from((0..10_000).map(|i| i as f32).collect::<Vec<_>>());
        let mut sums = JobSlice::new(10_000_usize.div_ceil(64), 0.0_f32);
        let mut last = jobs.schedule(&[], (), |()| {}).unwrap();
        for round in 0..5 {
            last = jobs
                .schedule_for_each(&[last], values.write(), 10_000, 64, move |value, i| {
                    *value = (*value * 0.99 + round as f32).sin() + i as f32 * 0.125;
                })
                .unwrap();
            last = jobs
                .schedule_for_each(
                    &[last],
                    (sums.write(), values.read()),
                    10_000_usize.div_ceil(64),
                    1,
                    |(sum, values), i| {
                        *sum += values.chunks(64).nth(i).unwrap().iter().sum::<f32>();
                    },
                )
                .unwrap();
        }
        jobs.complete(last);
        let bits = |values: JobSlice<f32>| {
            let values = values.into_vec().unwrap();
            values.into_iter().map(f32::to_bits).collect::<Vec<_>>()
        };
        (bits(values), bits(sums))
    });
    assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn a_parallel_job_that_runs_immediately_can_borrow() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut values = JobSlice::new(1000, 1);
        let total = AtomicUsize::new(0);
        let factor = 7;
        jobs.run_parallel(values.write(), 1000, 64, |values, range| {
            values.iter_mut().for_each(|value| *value *= &factor);
            total.fetch_add(range.len(), Ordering::Relaxed);
        })
        .unwrap();
        assert_eq!(total.into_inner(), 1000);
        assert_eq!(values.as_slice().unwrap(), [7; 1000]);
    }
}

#[test]
fn a_parallel_job_that_runs_immediately_cannot_use_containers_of_a_scheduled_job() {
    let jobs = scheduler(1);
    let mut values = JobSlice::new(10, 1);
    let job = jobs.schedule(&[], values.write(), |_| {}).unwrap();
    jobs.run_parallel(values.write(), 10, 1, |_, _| {}).unwrap_err();
    jobs.run_parallel(values.read(), 10, 1, |_, _| {}).unwrap_err();
    jobs.complete(job);
    jobs.run_parallel(values.write(), 10, 1, |_, _| {}).unwrap();
}

#[test]
fn several_threads_take_part_in_one_job() {
    // Each batch waits until another thread has begun one.
    let jobs = scheduler(1);
    let begun = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&begun);
    let job = jobs.schedule_parallel(&[], (), 2, 1, move |(), _| {
        count.fetch_add(1, Ordering::SeqCst);
        common::eventually(|| count.load(Ordering::SeqCst) == 2);
    });
    jobs.complete(job.unwrap());
    assert_eq!(begun.load(Ordering::SeqCst), 2);
}

#[test]
fn a_finished_thread_steals_batches_from_a_slow_one() {
    // One batch waits until 48 others are done, more than the half that belongs to the other thread. (Not until all
    // 63 are: a thread may have claimed the next few together with the slow one.)
    for slow in [0, 31, 63] {
        let jobs = scheduler(1);
        let done = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&done);
        let job = jobs.schedule_parallel(&[], (), 64, 1, move |(), range| {
            if range.start == slow {
                common::eventually(|| count.load(Ordering::SeqCst) >= 48);
            } else {
                count.fetch_add(1, Ordering::SeqCst);
            }
        });
        jobs.complete(job.unwrap());
        assert_eq!(done.load(Ordering::SeqCst), 63);
    }
}
