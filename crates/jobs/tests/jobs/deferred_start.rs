//! No job starts before a flush, or a complete that needs it.

use crate::common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ancho_jobs::{ExecutionMode, JobHandle, JobSlice};
use common::{Door, Flag, Log, WORKERS, a_while, eventually, scheduler};

#[test]
fn a_job_starts_at_the_flush_and_not_before() {
    let jobs = scheduler(2);
    let started = Flag::default();
    let job = jobs.schedule(&[], (), started.raises()).unwrap();
    a_while();
    assert!(!started.is_up());
    jobs.flush();
    eventually(|| started.is_up());
    eventually(|| jobs.is_completed(job));
}

#[test]
fn looking_whether_a_job_is_completed_starts_nothing() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let started = Flag::default();
        let job = jobs.schedule(&[], (), started.raises()).unwrap();
        let both = jobs.combine(&[job, JobHandle::COMPLETED]).unwrap();
        for _ in 0..100 {
            assert!(!jobs.is_completed(job));
            assert!(!jobs.is_completed(both));
        }
        a_while();
        assert!(!started.is_up());
    }
}

#[test]
fn complete_starts_the_job_and_its_ancestors_and_nothing_else() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let log = Log::default();
        let run = |name, before: &[JobHandle]| jobs.schedule(before, (), log.adds(name)).unwrap();
        let a = run("a", &[]);
        let b = run("b", &[]);
        let unrelated = run("unrelated", &[]);
        let sibling = run("sibling", &[a]);
        let c = run("c", &[a, b]);
        let target = run("target", &[c]);
        let later = run("later", &[target]);
        jobs.complete(target);
        a_while();
        assert_eq!(log.sorted(), ["a", "b", "c", "target"], "{workers} workers");
        for other in [unrelated, sibling, later] {
            assert!(!jobs.is_completed(other));
        }
        jobs.complete_all(&[unrelated, sibling, later]);
        assert_eq!(log.entries().len(), 7);
    }
}

#[test]
fn complete_does_not_start_the_other_jobs_of_a_parallel_target() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let (before, other) = (Flag::default(), Flag::default());
        let mut values = JobSlice::new(64, 0);
        let first = jobs.schedule(&[], (), before.raises()).unwrap();
        let unrelated = jobs.schedule(&[], (), other.raises()).unwrap();
        let target =
            jobs.schedule_for_each(&[first], values.write(), 64, 1, |value, i| *value = i).unwrap();
        jobs.complete(target);
        a_while();
        assert!(before.is_up() && !other.is_up());
        assert!(values.as_slice().unwrap().iter().copied().eq(0..64));
        jobs.complete(unrelated);
    }
}

#[test]
fn flush_starts_every_job_once() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        jobs.flush();
        let runs = Arc::new(AtomicUsize::new(0));
        let mut last = JobHandle::COMPLETED;
        for i in 0..100 {
            let runs = Arc::clone(&runs);
            let before = if i % 3 == 0 { vec![] } else { vec![last] };
            last = jobs
                .schedule(&before, (), move |()| {
                    runs.fetch_add(1, Ordering::SeqCst);
                })
                .unwrap();
        }
        jobs.flush();
        jobs.flush();
        eventually(|| runs.load(Ordering::SeqCst) == 100);
        jobs.complete_everything();
        jobs.flush();
        assert_eq!(runs.load(Ordering::SeqCst), 100);
    }
}

#[test]
fn a_job_scheduled_after_a_flush_waits_for_the_next() {
    let jobs = scheduler(2);
    let (first, second) = (Flag::default(), Flag::default());
    let before = jobs.schedule(&[], (), first.raises()).unwrap();
    jobs.flush();
    eventually(|| jobs.is_completed(before));
    let after = jobs.schedule(&[before], (), second.raises()).unwrap();
    a_while();
    assert!(!second.is_up());
    assert!(!jobs.is_completed(after));
    jobs.flush();
    eventually(|| second.is_up());
}

#[test]
fn a_flushed_job_starts_after_a_job_that_was_under_way() {
    let jobs = scheduler(2);
    let door = Door::default();
    let wait = door.waits();
    let slow = jobs.schedule(&[], (), move |()| wait()).unwrap();
    jobs.flush();
    eventually(|| door.arrived() == 1);
    let done = Flag::default();
    let next = jobs.schedule(&[slow], (), done.raises()).unwrap();
    jobs.flush();
    a_while();
    assert!(!done.is_up());
    assert!(!jobs.is_completed(slow) && !jobs.is_completed(next));
    door.open();
    eventually(|| jobs.is_completed(next));
    assert!(done.is_up());
}

#[test]
fn flush_runs_the_jobs_here_and_now_without_workers_and_in_serial_mode() {
    let serial = scheduler(2);
    serial.set_mode(ExecutionMode::Serial);
    for jobs in [scheduler(0), serial] {
        let log = Log::default();
        let a = jobs.schedule(&[], (), log.adds("a")).unwrap();
        let b = jobs.schedule(&[a], (), log.adds("b")).unwrap();
        jobs.flush();
        assert_eq!(log.entries(), ["a", "b"]);
        assert!(jobs.is_completed(a) && jobs.is_completed(b));
    }
}

#[test]
fn a_held_combination_of_finished_jobs_is_completed() {
    let jobs = scheduler(1);
    let a = jobs.schedule(&[], (), |()| {}).unwrap();
    let b = jobs.schedule(&[], (), |()| {}).unwrap();
    jobs.flush();
    eventually(|| jobs.is_completed(a) && jobs.is_completed(b));
    let both = jobs.combine(&[a, b]).unwrap();
    assert!(jobs.is_completed(both));
    jobs.complete(both);
}
