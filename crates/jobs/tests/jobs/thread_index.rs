//! The index of the thread that a job runs on.

use crate::common;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use ancho_jobs::{ExecutionMode, JobScheduler, thread_index};
use common::{WORKERS, eventually, pool, scheduler};

#[test]
fn there_is_none_outside_of_jobs() {
    assert_eq!(thread_index(), None);
    let jobs = scheduler(1);
    jobs.complete(jobs.schedule(&[], (), |()| {}).unwrap());
    assert_eq!(thread_index(), None);
    thread::spawn(|| assert_eq!(thread_index(), None)).join().unwrap();
}

#[test]
fn it_is_below_the_thread_count() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let threads = jobs.thread_count();
        assert_eq!(threads, workers + 1);
        for mode in [ExecutionMode::Parallel, ExecutionMode::Shuffle { seed: 1 }] {
            jobs.set_mode(mode);
            let job = jobs.schedule_parallel(&[], (), 1000, 1, move |(), _| {
                assert!(thread_index().unwrap() < threads);
            });
            jobs.complete(job.unwrap());
        }
    }
}

#[test]
fn the_owner_is_zero_and_workers_are_not() {
    let jobs = scheduler(1);
    let owner = thread::current().id();
    for _ in 0..20 {
        let job = jobs.schedule_parallel(&[], (), 100, 1, move |(), _| {
            let is_owner = thread::current().id() == owner;
            assert_eq!(thread_index(), Some(usize::from(!is_owner)));
        });
        jobs.flush();
        jobs.complete(job.unwrap());
    }
}

#[test]
fn in_serial_mode_and_without_workers_it_is_zero() {
    let serial = scheduler(2);
    serial.set_mode(ExecutionMode::Serial);
    for jobs in [serial, scheduler(0)] {
        let job = jobs.schedule_parallel(&[], (), 100, 1, |(), _| {
            assert_eq!(thread_index(), Some(0));
        });
        jobs.flush();
        jobs.complete(job.unwrap());
    }
}

#[test]
fn a_thread_keeps_its_index() {
    let jobs = scheduler(3);
    let seen: Arc<Mutex<HashMap<thread::ThreadId, usize>>> = Arc::default();
    for _ in 0..50 {
        let seen = Arc::clone(&seen);
        let job = jobs.schedule_parallel(&[], (), 64, 1, move |(), _| {
            let index = thread_index().unwrap();
            let first = *seen.lock().unwrap().entry(thread::current().id()).or_insert(index);
            assert_eq!(first, index);
        });
        jobs.complete(job.unwrap());
    }
    let mut indices: Vec<_> = seen.lock().unwrap().values().copied().collect();
    let threads = indices.len();
    indices.sort_unstable();
    indices.dedup();
    assert_eq!(indices.len(), threads, "no two threads have the same");
}

#[test]
fn no_two_jobs_that_run_at_the_same_time_have_the_same() {
    // All four run at once; each has taken its index by then.
    let jobs = scheduler(3);
    let taken: Arc<Mutex<Vec<usize>>> = Arc::default();
    let count = Arc::new(AtomicUsize::new(0));
    let handles = [0; 4].map(|_| {
        let (taken, count) = (Arc::clone(&taken), Arc::clone(&count));
        let job = move |()| {
            taken.lock().unwrap().push(thread_index().unwrap());
            count.fetch_add(1, Ordering::SeqCst);
            eventually(|| count.load(Ordering::SeqCst) == 4);
        };
        jobs.schedule(&[], (), job).unwrap()
    });
    jobs.complete_all(&handles);
    let mut taken = taken.lock().unwrap().clone();
    taken.sort_unstable();
    assert_eq!(taken, [0, 1, 2, 3]);
}

#[test]
fn no_two_batches_that_run_at_the_same_time_have_the_same() {
    let jobs = scheduler(3);
    let busy: Arc<Vec<AtomicUsize>> = Arc::new((0..4).map(|_| AtomicUsize::new(0)).collect());
    let job = jobs.schedule_parallel(&[], (), 2000, 1, move |(), _| {
        let slot = &busy[thread_index().unwrap()];
        assert_eq!(slot.fetch_add(1, Ordering::SeqCst), 0);
        thread::yield_now();
        slot.fetch_sub(1, Ordering::SeqCst);
    });
    jobs.complete(job.unwrap());
}

#[test]
fn the_index_is_restored_when_a_job_drops_its_scheduler() {
    let pool = pool(1);
    let jobs = JobScheduler::new(&pool);
    let inner = JobScheduler::new(&pool);
    let _ = inner.schedule(&[], (), |()| {}).unwrap();
    let job = jobs.schedule(&[], (), move |()| {
        let before = thread_index();
        assert!(before.is_some());
        drop(inner);
        assert_eq!(thread_index(), before);
    });
    jobs.complete(job.unwrap());
    assert_eq!(thread_index(), None);
}
