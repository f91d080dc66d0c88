//! The order of work where the graph leaves it open: serial, shuffled, or parallel.

use crate::common;

use std::sync::{Arc, Mutex};
use std::thread;

use ancho_jobs::{ExecutionMode, JobCell, JobHandle, JobScheduler, JobSlice};
use common::{Log, WORKERS, scheduler};

/// Returns the order in which the batches of a job began.
fn batch_order(jobs: &JobScheduler, count: usize) -> Vec<usize> {
    let order: Arc<Mutex<Vec<usize>>> = Arc::default();
    let begun = Arc::clone(&order);
    let job = jobs.schedule_parallel(&[], (), count, 1, move |(), range| {
        begun.lock().unwrap().push(range.start);
    });
    jobs.complete(job.unwrap());
    Arc::into_inner(order).unwrap().into_inner().unwrap()
}

/// Returns the order in which jobs without dependencies began.
fn job_order(jobs: &JobScheduler) -> Vec<&'static str> {
    let log = Log::default();
    for name in ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"] {
        let _ = jobs.schedule(&[], (), log.adds(name)).unwrap();
    }
    jobs.flush();
    jobs.complete_everything();
    log.entries()
}

#[test]
fn a_scheduler_begins_in_parallel_mode_and_keeps_the_mode_that_is_set() {
    let jobs = scheduler(1);
    assert_eq!(jobs.mode(), ExecutionMode::Parallel);
    assert_eq!(ExecutionMode::default(), ExecutionMode::Parallel);
    for mode in [ExecutionMode::Serial, ExecutionMode::Shuffle { seed: 9 }] {
        jobs.set_mode(mode);
        assert_eq!(jobs.mode(), mode);
    }
    assert_eq!(JobScheduler::new(jobs.pool()).mode(), ExecutionMode::Parallel);
}

#[test]
fn serial_mode_runs_jobs_as_scheduled_and_batches_as_numbered_on_this_thread() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        jobs.set_mode(ExecutionMode::Serial);
        assert_eq!(job_order(&jobs), ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]);
        assert!(batch_order(&jobs, 500).into_iter().eq(0..500));
        let here = thread::current().id();
        let job = jobs.schedule_for_each(&[], (), 500, 1, move |(), _| {
            assert_eq!(thread::current().id(), here);
        });
        jobs.flush();
        jobs.complete(job.unwrap());
    }
}

#[test]
fn serial_mode_keeps_the_order_of_scheduling_under_one_complete() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        jobs.set_mode(ExecutionMode::Serial);
        let log = Log::default();
        let names = ["a", "b", "c", "d", "e"];
        let handles = names.map(|name| jobs.schedule(&[], (), log.adds(name)).unwrap());
        // Neither the order of the handles nor that of the dependencies matters.
        let [a, b, c, d, e] = handles;
        let last = jobs.schedule(&[d, a, e], (), log.adds("last")).unwrap();
        jobs.complete_all(&[c, last, b]);
        assert_eq!(log.entries(), ["a", "b", "c", "d", "e", "last"], "{workers} workers");
    }
}

#[test]
fn without_workers_parallel_mode_is_deterministic() {
    let order = || (job_order(&scheduler(0)), batch_order(&scheduler(0), 100));
    assert_eq!(order(), order());
}

#[test]
fn different_seeds_have_different_orders_of_batches_and_equal_seeds_the_same() {
    let order = |seed| {
        let jobs = scheduler(0);
        jobs.set_mode(ExecutionMode::Shuffle { seed });
        batch_order(&jobs, 100)
    };
    let (one, two) = (order(1), order(2));
    assert_eq!(order(1), one);
    assert_ne!(one, two);
    for order in [one, two] {
        assert!(!order.is_sorted());
        let mut sorted = order;
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..100));
    }
}

#[test]
fn different_seeds_have_different_orders_of_jobs() {
    let order = |seed| {
        let jobs = scheduler(0);
        jobs.set_mode(ExecutionMode::Shuffle { seed });
        job_order(&jobs)
    };
    assert_eq!(order(1), order(1));
    assert!((2..10).any(|seed| order(seed) != order(1)));
}

#[test]
fn the_jobs_of_one_scheduler_are_not_all_shuffled_alike() {
    let jobs = scheduler(0);
    jobs.set_mode(ExecutionMode::Shuffle { seed: 1 });
    assert_ne!(batch_order(&jobs, 100), batch_order(&jobs, 100));
}

#[test]
fn a_shuffled_order_respects_dependencies() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        for seed in 0..20 {
            jobs.set_mode(ExecutionMode::Shuffle { seed });
            let mut value = JobCell::new(0);
            let mut last = JobHandle::COMPLETED;
            for i in 0..20 {
                let _ = jobs.schedule(&[last], (), |()| {}).unwrap();
                last = jobs
                    .schedule(&[last], value.write(), move |value| *value = *value * 3 % 1009 + i)
                    .unwrap();
            }
            jobs.flush();
            jobs.complete_everything();
            let expected = (0..20).fold(0, |value, i| value * 3 % 1009 + i);
            assert_eq!(value.get(), Ok(&expected));
        }
    }
}

#[test]
fn every_mode_computes_the_same_results() {
    let results = |workers, mode| {
        let jobs = scheduler(workers);
        jobs.set_mode(mode);
        let mut values = JobSlice::from((0..500_u64).collect::<Vec<_>>());
        let mut sum = JobCell::new(0_u64);
        for _ in 0..3 {
            let step = jobs
                .schedule_for_each(&[], values.write(), 500, 7, |value, i| {
                    *value = value.wrapping_mul(6_364_136_223_846_793_005) ^ i as u64;
                })
                .unwrap();
            let data = (values.read(), sum.write());
            let add = jobs
                .schedule(&[step], data, |(values, sum)| {
                    *sum = values.iter().fold(*sum, |sum, value| sum.rotate_left(5) ^ value);
                })
                .unwrap();
            jobs.complete(add);
        }
        (values.into_vec().unwrap(), sum.into_inner().unwrap())
    };
    let expected = results(0, ExecutionMode::Serial);
    for workers in WORKERS {
        assert_eq!(results(workers, ExecutionMode::Parallel), expected);
        assert_eq!(results(workers, ExecutionMode::Serial), expected);
        for seed in 0..4 {
            assert_eq!(results(workers, ExecutionMode::Shuffle { seed }), expected);
        }
    }
}

#[test]
fn the_mode_may_change_while_jobs_are_pending() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut value = JobCell::new(0);
        let mut last = JobHandle::COMPLETED;
        for round in 0..30 {
            jobs.set_mode(match round % 3 {
                0 => ExecutionMode::Parallel,
                1 => ExecutionMode::Serial,
                _ => ExecutionMode::Shuffle { seed: round },
            });
            last = jobs.schedule(&[last], value.write(), |value| *value += 1).unwrap();
            if round % 4 == 0 {
                jobs.flush();
            }
        }
        jobs.complete(last);
        assert_eq!(value.get(), Ok(&30));
    }
}
