//! Only the owner can schedule and complete, not jobs.
//!
//! A scheduler is not `Sync`, so a job cannot capture it by reference. Two ways remain: a scheduler that is moved
//! into a job, and one in a thread-local value that a job on the owner's thread finds.

use crate::common;

use std::thread;

use ancho_jobs::{
    BatchInfo, ConcurrentWrite, JobCell, JobHandle, JobScheduler, JobSlice, Kept, ScheduleError,
};
use common::{Drops, panic_message, pool, scheduler};

thread_local! {
    /// Without workers, so that jobs run on the scheduler's thread.
    static JOBS: JobScheduler = scheduler(0);
}

/// Runs the body in a job of the thread's scheduler, and fails if the job fails.
#[track_caller]
fn in_job(body: impl FnOnce(&JobScheduler) + Send + 'static) {
    JOBS.with(|jobs| {
        let job = jobs.named("Outer").schedule(&[], (), move |()| JOBS.with(body)).unwrap();
        jobs.complete(job);
        // Refused jobs were not scheduled.
        jobs.complete_everything();
    });
}

const REFUSED: ScheduleError = ScheduleError::InsideJob { inside: "Outer", job: "Inner" };

#[test]
fn every_way_to_schedule_is_refused() {
    in_job(|jobs| {
        let jobs = jobs.named("Inner");
        let ran = |()| panic!("ran");
        assert_eq!(jobs.schedule(&[], (), ran), Err(REFUSED));
        assert_eq!(jobs.schedule_parallel(&[], (), 1, 1, |(), _| panic!("ran")), Err(REFUSED));
        assert_eq!(jobs.schedule_for_each(&[], (), 1, 1, |(), _| panic!("ran")), Err(REFUSED));
        assert_eq!(jobs.schedule_work(&[], (), 1, 1, |_| panic!("ran")), Err(REFUSED));
        assert_eq!(
            jobs.schedule_deferred(&[], (), |()| panic!("asked"), 1, |(), _| panic!("ran")),
            Err(REFUSED)
        );
        let mut list = JobCell::new(Vec::<usize>::new());
        let append = jobs.schedule_append(&[], list.write(), (), 1, |(), _| panic!("ran"));
        assert_eq!(append, Err(REFUSED));
        let filter = jobs.schedule_filter(&[], list.write(), (), |(), _| panic!("ran"));
        assert_eq!(filter, Err(REFUSED));
        assert_eq!(jobs.run((), ran), Err(REFUSED));
        assert_eq!(jobs.run_parallel((), 1, 1, |(), _| panic!("ran")), Err(REFUSED));
        assert!(list.get_mut().is_ok());
    });
}

#[test]
fn combining_is_refused() {
    in_job(|jobs| {
        let refused = jobs.combine(&[JobHandle::COMPLETED]);
        assert!(matches!(refused, Err(ScheduleError::InsideJob { inside: "Outer", .. })));
    });
}

#[test]
fn disposing_after_a_job_is_refused_and_returns_the_container() {
    in_job(|jobs| {
        let Kept { container: cell, error } = JobCell::new(5).dispose_after(jobs, &[]).unwrap_err();
        assert!(matches!(error, ScheduleError::InsideJob { inside: "Outer", .. }));
        assert_eq!(cell.into_inner().unwrap(), 5);
    });
}

#[test]
fn completing_and_flushing_panic() {
    in_job(|jobs| {
        let told = "A0006: job `Outer` tried to ";
        let remedy = "; jobs are scheduled and completed by the scheduler's owner, outside of jobs";
        let handle = JobHandle::COMPLETED;
        let messages = [
            panic_message(|| jobs.complete(handle)),
            panic_message(|| jobs.try_complete(handle)),
            panic_message(|| jobs.complete_all(&[handle])),
            panic_message(|| jobs.try_complete_all(&[])),
            panic_message(|| jobs.complete_everything()),
            panic_message(|| jobs.complete_finished()),
            panic_message(|| jobs.flush()),
        ];
        for message in messages {
            assert!(message.starts_with(told), "{message}");
            assert!(message.ends_with(remedy), "{message}");
        }
    });
}

#[test]
fn the_message_names_both_jobs_and_the_remedy() {
    assert_eq!(
        REFUSED.to_string(),
        "A0006: job `Outer` tried to schedule job `Inner`; jobs are scheduled and completed by the \
         scheduler's owner, outside of jobs"
    );
}

#[test]
fn a_job_that_completes_fails_with_the_message() {
    JOBS.with(|jobs| {
        let job = jobs.named("Greedy").schedule(&[], (), |()| JOBS.with(JobScheduler::flush));
        let failed = jobs.try_complete(job.unwrap()).unwrap_err();
        assert!(failed.message().starts_with("A0006: job `Greedy` tried to flush"));
    });
}

#[test]
fn a_scheduler_that_was_moved_into_a_job_refuses_on_every_thread() {
    for workers in [0, 1, 2] {
        let jobs = scheduler(workers);
        let smuggled = JobScheduler::new(jobs.pool());
        let waiting = smuggled.schedule(&[], (), |()| {}).unwrap();
        let job = jobs.named("Outer").schedule_for_each(&[], (), 1, 1, |(), _| {}).unwrap();
        let job = jobs
            .named("Outer")
            .schedule(&[job], (), move |()| {
                assert_eq!(smuggled.named("Inner").schedule(&[], (), |()| {}), Err(REFUSED));
                let message = panic_message(|| smuggled.complete(waiting));
                assert!(message.starts_with("A0006: job `Outer`"), "{message}");
            })
            .unwrap();
        jobs.flush();
        jobs.complete(job);
    }
}

#[test]
fn a_scheduler_created_inside_a_job_refuses() {
    let jobs = scheduler(1);
    let pool = pool(1);
    let job = jobs.named("Outer").schedule(&[], (), move |()| {
        let own = JobScheduler::new(&pool);
        assert_eq!(own.named("Inner").schedule(&[], (), |()| {}), Err(REFUSED));
    });
    jobs.complete(job.unwrap());
}

#[test]
fn batches_counts_filters_and_writers_are_inside_their_job() {
    struct Writer;

    impl ConcurrentWrite for Writer {
        type Writer<'v> = ();
        type Item<'b> = ();

        fn writer(&self, _: &BatchInfo) {
            refused();
        }

        fn item((): &mut (), _: usize) {}
    }

    fn refused() {
        JOBS.with(|jobs| assert_eq!(jobs.named("Inner").schedule(&[], (), |()| {}), Err(REFUSED)));
    }

    JOBS.with(|jobs| {
        let jobs = jobs.named("Outer");
        let mut values = JobSlice::new(4, 0);
        let mut list = JobCell::new(Vec::<usize>::new());
        let mut writer = JobCell::new(Writer);
        let handles = [
            jobs.schedule_for_each(&[], values.write(), 4, 1, |_, _| refused()),
            jobs.schedule_work(&[], (), 4, 1, |_| refused()),
            jobs.schedule_deferred(
                &[],
                (),
                |()| {
                    refused();
                    1
                },
                1,
                |(), _| refused(),
            ),
            jobs.schedule_append(&[], list.write(), (), 2, |(), _| {
                refused();
                true
            }),
            jobs.schedule_parallel(&[], writer.concurrent(), 4, 1, |(), _| {}),
        ]
        .map(Result::unwrap);
        JOBS.with(|jobs| jobs.complete_all(&handles));
        jobs.run((), |()| refused()).unwrap();
        jobs.run_parallel((), 4, 1, |(), _| refused()).unwrap();
    });
}

#[test]
fn looking_whether_a_job_is_completed_is_allowed() {
    in_job(|jobs| assert!(jobs.is_completed(JobHandle::COMPLETED)));
}

#[test]
fn outside_of_the_job_scheduling_is_allowed_again() {
    in_job(|jobs| {
        jobs.schedule(&[], (), |()| {}).unwrap_err();
    });
    JOBS.with(|jobs| {
        let job = jobs.schedule(&[], (), |()| panic!("oh")).unwrap();
        jobs.try_complete(job).unwrap_err();
        let job = jobs.schedule(&[], (), |()| {}).unwrap();
        jobs.complete(job);
    });
}

#[test]
fn a_thread_that_a_job_starts_is_outside() {
    let jobs = scheduler(1);
    let inner = scheduler(1);
    let job = jobs.schedule(&[], (), move |()| {
        let thread =
            thread::spawn(move || inner.complete(inner.schedule(&[], (), |()| {}).unwrap()));
        thread.join().unwrap();
    });
    jobs.complete(job.unwrap());
}

/// Uses the thread's scheduler when it is dropped, and ignores the result.
struct SchedulesWhenDropped(common::Counted);

impl Drop for SchedulesWhenDropped {
    fn drop(&mut self) {
        let _ = &self.0;
        JOBS.with(|jobs| {
            if let Ok(job) = jobs.schedule(&[], (), |()| {}) {
                jobs.complete(job);
            }
            jobs.is_completed(JobHandle::COMPLETED);
        });
    }
}

#[test]
fn captures_may_use_the_scheduler_when_they_are_dropped() {
    let drops = Drops::default();
    let value = || SchedulesWhenDropped(drops.value());
    JOBS.with(|jobs| {
        let mut cell = JobCell::new(0);
        let first = jobs.schedule(&[], cell.write(), |_| {}).unwrap();
        // Refused: dropped when the call returns.
        let captured = value();
        jobs.schedule(&[], cell.read(), move |_| drop(captured)).unwrap_err();
        let captured = value();
        let refused = jobs.schedule_for_each(&[], cell.read(), 1, 0, move |_, _| {
            let _ = &captured;
        });
        refused.unwrap_err();
        jobs.complete(first);
        // Run: dropped with the job.
        let captured = value();
        let ran = jobs.schedule(&[], (), move |()| drop(captured)).unwrap();
        let captured = value();
        let batches = jobs
            .schedule_for_each(&[ran], (), 2, 1, move |(), _| {
                let _ = &captured;
            })
            .unwrap();
        jobs.complete(batches);
        // Not run: dropped instead.
        let bad = jobs.schedule(&[], (), |()| panic!("oh")).unwrap();
        let captured = value();
        let single = jobs.schedule(&[bad], (), move |()| drop(captured)).unwrap();
        let captured = value();
        let parallel = jobs
            .schedule_for_each(&[single], (), 2, 1, move |(), _| {
                let _ = &captured;
            })
            .unwrap();
        let failed = jobs.try_complete(parallel).unwrap_err();
        assert_eq!(failed.message(), "oh");
        // In a container: dropped with the last job that uses it.
        let mut cell = JobCell::new(value());
        let last = jobs.schedule(&[], cell.write(), |_| {}).unwrap();
        drop(cell);
        jobs.complete(last);
    });
    assert_eq!(drops.count(), 7);
}
