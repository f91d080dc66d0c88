//! Pools: building, shutdown, and capacity.

use crate::common;
use crate::panic_place::panics_of;

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use ancho_jobs::{JobCell, JobHandle, JobPool, JobScheduler, JobSlice, ScheduleError};
use common::{Door, Flag, must_end, occupy_workers, panic_message, pool, scheduler};

#[test]
fn a_pool_has_the_requested_workers() {
    for workers in [0, 1, 2, 4, 9] {
        let pool = pool(workers);
        assert_eq!(pool.workers(), workers);
        assert_eq!(format!("{pool:?}"), format!("JobPool {{ workers: {workers}, .. }}"));
        assert_eq!(JobScheduler::new(&pool).thread_count(), workers + 1);
    }
}

#[test]
fn by_default_a_core_is_left_to_the_owner() {
    let cores = thread::available_parallelism().unwrap().get();
    assert_eq!(JobPool::new().workers(), cores - 1);
    assert_eq!(JobPool::default().workers(), cores - 1);
}

#[test]
fn without_workers_everything_runs_on_the_owners_thread() {
    let jobs = scheduler(0);
    let here = thread::current().id();
    let mut values = JobSlice::new(100, 0);
    let single =
        jobs.schedule(&[], (), move |()| assert_eq!(thread::current().id(), here)).unwrap();
    let parallel = jobs
        .schedule_for_each(&[single], values.write(), 100, 3, move |value, i| {
            assert_eq!(thread::current().id(), here);
            *value = i;
        })
        .unwrap();
    jobs.complete(parallel);
    assert!(values.as_slice().unwrap().iter().copied().eq(0..100));
}

#[test]
fn workers_run_jobs_without_the_owners_help() {
    let jobs = scheduler(4);
    let door = Door::default();
    // Returns when each worker runs one of the jobs.
    let busy = occupy_workers(&jobs, &door);
    assert_eq!(door.arrived(), 4);
    door.open();
    jobs.complete_all(&busy);
}

#[test]
fn workers_are_woken_from_sleep_again_and_again() {
    for spin in [0, 1, 2000] {
        let pool = JobPool::builder().workers(2).spin(spin).build().unwrap();
        let jobs = JobScheduler::new(&pool);
        let mut count = JobCell::new(0);
        for _ in 0..20 {
            thread::sleep(std::time::Duration::from_millis(1));
            let job = jobs.schedule(&[], count.write(), |count| *count += 1).unwrap();
            jobs.flush();
            common::eventually(|| jobs.is_completed(job));
            jobs.complete(job);
        }
        assert_eq!(count.get(), Ok(&20));
    }
}

#[test]
fn a_pool_that_never_spins_computes_the_same_results() {
    must_end(|| {
        let pool = JobPool::builder().workers(2).spin(0).build().unwrap();
        let jobs = JobScheduler::new(&pool);
        let mut values = JobSlice::new(1000, 0);
        for round in 0..200 {
            let job = jobs
                .schedule_for_each(&[], values.write(), 1000, 10, move |value, i| {
                    *value = i + round;
                })
                .unwrap();
            let next = jobs.schedule(&[job], (), |()| {}).unwrap();
            jobs.flush();
            jobs.complete(next);
            assert_eq!(values.as_slice().unwrap()[999], 999 + round);
        }
    });
}

#[test]
fn several_pools_stand_side_by_side() {
    let pools = [pool(0), pool(1), pool(2)];
    let schedulers = pools.each_ref().map(JobScheduler::new);
    let mut cells = [0; 3].map(JobCell::new);
    for (jobs, cell) in schedulers.iter().zip(&mut cells) {
        let _ = jobs.schedule(&[], cell.write(), |value| *value += 1).unwrap();
        jobs.flush();
    }
    for jobs in &schedulers {
        jobs.complete_everything();
    }
    // A container may move from one scheduler to the next, job by job.
    let cell = &mut cells[0];
    for jobs in &schedulers {
        let job = jobs.schedule(&[], cell.write(), |value| *value += 1).unwrap();
        jobs.complete(job);
    }
    assert_eq!(cells[0].get(), Ok(&4));
}

#[test]
fn a_container_outlives_the_pool_that_used_it() {
    let mut cell = JobCell::new(1);
    for workers in [0, 1, 2] {
        let jobs = scheduler(workers);
        let job = jobs.schedule(&[], cell.write(), |value| *value *= 2).unwrap();
        jobs.complete(job);
        let _ = jobs.schedule(&[], cell.write(), |value| *value += 1).unwrap();
    }
    assert_eq!(cell.into_inner().unwrap(), 15);
}

#[test]
fn dropping_a_pools_handles_with_jobs_pending_loses_no_job() {
    for workers in [0, 1, 2] {
        for flushed in [false, true] {
            let pool = pool(workers);
            let jobs = JobScheduler::new(&pool);
            let ran = Arc::new(AtomicUsize::new(0));
            let mut last = JobHandle::COMPLETED;
            for _ in 0..100 {
                let ran = Arc::clone(&ran);
                let job = move |()| {
                    ran.fetch_add(1, Ordering::SeqCst);
                };
                last = jobs.schedule(&[last], (), job).unwrap();
            }
            if flushed {
                jobs.flush();
            }
            drop(pool);
            let still = jobs.schedule(&[last], (), |()| {}).unwrap();
            jobs.complete(still);
            assert_eq!(ran.load(Ordering::SeqCst), 100);
        }
    }
}

#[test]
fn dropping_a_scheduler_completes_its_jobs() {
    for workers in [0, 1, 2] {
        let jobs = scheduler(workers);
        let (flushed, held) = (Flag::default(), Flag::default());
        let first = jobs.schedule(&[], (), flushed.raises()).unwrap();
        jobs.flush();
        let _ = jobs.schedule(&[first], (), held.raises()).unwrap();
        drop(jobs);
        assert!(flushed.is_up() && held.is_up());
    }
}

#[test]
fn pools_can_be_created_and_dropped_repeatedly() {
    must_end(|| {
        for round in 0..50 {
            let jobs = scheduler(round % 4);
            let _ = jobs.schedule_for_each(&[], (), 100, 1, |(), _| {}).unwrap();
            if round % 2 == 0 {
                jobs.flush();
            }
        }
    });
}

#[test]
fn threads_that_cannot_be_made_are_an_error() {
    let build = || JobPool::builder().workers(2).stack_size(1 << 60).build();
    let error = build().unwrap_err();
    let message = error.to_string();
    assert!(message.starts_with("A0012: the system refused worker thread 1 of 2 ("), "{message}");
    assert!(message.ends_with("); ask for fewer workers, or a smaller stack"), "{message}");
    assert!(error.source().unwrap().is::<std::io::Error>());
    // Nothing is left behind that would prevent another pool.
    let jobs =
        JobScheduler::new(&JobPool::builder().workers(2).stack_size(1 << 20).build().unwrap());
    jobs.complete(jobs.schedule(&[], (), |()| {}).unwrap());
}

#[test]
fn more_workers_than_a_pool_can_have_are_an_error() {
    for workers in [1025, 4_000_000_000, usize::MAX] {
        let error = JobPool::builder().workers(workers).build().unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("A0147: a pool cannot have {workers} workers; the maximum is 1024")
        );
        assert!(error.source().is_none());
    }
}

/// A separate process requests stacks that are too large for any system, and so gets no threads.
#[test]
fn a_refused_thread_is_reported_for_each_request_of_the_shared_pool() {
    const ROLE: &str = "ANCHO_TEST_REFUSED_THREADS";
    if std::env::var_os(ROLE).is_some() {
        let place = panics_of(|| drop(JobPool::shared())).remove(0);
        assert_eq!(place.file, file!(), "{place:?}");
        let shared = || panic_message(JobPool::shared);
        let (first, second) = (shared(), shared());
        assert!(first.starts_with("A0012: the system refused worker thread 1 of "), "{first}");
        assert_eq!(second, first);
        return;
    }
    if thread::available_parallelism().unwrap().get() == 1 {
        // The pool has no workers, so nothing can be refused.
        return;
    }
    let this = "pool::a_refused_thread_is_reported_for_each_request_of_the_shared_pool";
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        // With one test thread, tests run on the main thread of the process.
        .args(["--exact", this, "--test-threads=1"])
        .env(ROLE, "1")
        .env("RUST_MIN_STACK", (1_u64 << 60).to_string())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && told.contains("1 passed"), "{told}");
}

#[test]
fn a_full_pool_refuses_and_takes_jobs_again_after_some_are_completed() {
    for workers in [0, 1] {
        let pool = JobPool::builder().workers(workers).max_jobs(100).build().unwrap();
        let jobs = JobScheduler::new(&pool);
        let mut cell = JobCell::new(0);
        let mut last = JobHandle::COMPLETED;
        let mut taken = 0;
        let refused = loop {
            let name = jobs.named("One more");
            match name.schedule(&[last], cell.write(), |value| *value += 1) {
                Ok(job) => (taken, last) = (taken + 1, job),
                Err(error) => break error,
            }
            assert!(taken < 1_000_000, "there is no end to it");
        };
        let ScheduleError::TooManyJobs { job, limit } = refused else {
            panic!("{refused}");
        };
        assert_eq!((job, limit), ("One more", taken));
        assert!(taken >= 100, "at least as many as were asked for");
        assert_eq!(
            refused.to_string(),
            format!(
                "A0008: job `One more` cannot be scheduled: the pool is full, with {taken} uncompleted jobs; complete \
                 some, or raise `JobPoolBuilder::max_jobs`"
            )
        );
        // Refused jobs left no trace, and accepted jobs run.
        jobs.complete(last);
        assert_eq!(cell.get(), Ok(&taken));
        for _ in 0..taken {
            last = jobs.schedule(&[last], cell.write(), |value| *value -= 1).unwrap();
        }
        jobs.complete(last);
        assert_eq!(cell.get(), Ok(&0));
    }
}

#[test]
fn schedulers_share_the_capacity_of_their_pool_and_return_it() {
    let pool = JobPool::builder().workers(0).max_jobs(100).build().unwrap();
    let fill = |jobs: &JobScheduler| {
        let schedule = || jobs.schedule(&[], (), |()| {});
        std::iter::repeat_with(schedule).take_while(Result::is_ok).take(1_000_000).count()
    };
    let all = fill(&JobScheduler::new(&pool));
    assert!((100..1_000_000).contains(&all));
    for _ in 0..5 {
        let first = JobScheduler::new(&pool);
        assert_eq!(fill(&first), all);
        let second = JobScheduler::new(&pool);
        assert_eq!(fill(&second), 0);
        drop(first);
        assert_eq!(fill(&second), all);
    }
}

#[test]
fn room_for_no_job_refuses_every_job_or_has_room_for_a_few() {
    let pool = JobPool::builder().workers(1).max_jobs(0).build().unwrap();
    let jobs = JobScheduler::new(&pool);
    match jobs.schedule(&[], (), |()| {}) {
        Ok(job) => jobs.complete(job),
        Err(error) => assert!(matches!(error, ScheduleError::TooManyJobs { .. })),
    }
}

#[test]
fn a_capacity_beyond_the_limit_is_clamped() {
    let pool = JobPool::builder().workers(1).max_jobs(usize::MAX).build().unwrap();
    let jobs = JobScheduler::new(&pool);
    jobs.complete(jobs.schedule(&[], (), |()| {}).unwrap());
}
