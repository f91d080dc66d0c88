//! The effects of a job's panic on the job, on later jobs, and on everything else.

use crate::common;

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use ancho_jobs::{ExecutionMode, JobCell, JobHandle, JobPool, JobScheduler, JobSlice, note_panic};
use common::{Door, Drops, Flag, Log, WORKERS, eventually, must_end, panic_message, scheduler};

/// Panics when dropped, unless the thread is panicking.
#[derive(Debug)]
struct Bomb;

/// A zero-sized payload. Catching it may require forgetting it, which leak checkers would report otherwise.
struct Bang;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !thread::panicking() {
            panic::panic_any(Bang);
        }
    }
}

fn fails(jobs: &JobScheduler) -> JobHandle {
    jobs.named("Fails").schedule(&[], (), |()| panic!("oh")).unwrap()
}

/// Asserts that the owner and all workers still run jobs, at the same time.
fn assert_usable(jobs: &JobScheduler) {
    let threads = jobs.thread_count();
    let begun = Arc::new(AtomicUsize::new(0));
    let handles: Vec<_> = (0..threads)
        .map(|_| {
            let begun = Arc::clone(&begun);
            let job = move |()| {
                begun.fetch_add(1, Ordering::SeqCst);
                eventually(|| begun.load(Ordering::SeqCst) == threads);
            };
            jobs.schedule(&[], (), job).unwrap()
        })
        .collect();
    jobs.complete_all(&handles);

    let mut values = JobSlice::new(100, 0);
    let job = jobs.schedule_for_each(&[], values.write(), 100, 3, |value, i| *value = i);
    jobs.complete(job.unwrap());
    assert!(values.into_vec().unwrap().into_iter().eq(0..100));
}

#[test]
fn completing_a_job_that_panicked_reports_its_name_and_message() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let job = jobs.named("Divide").schedule(&[], (), |()| panic!("{} by zero", 1)).unwrap();
        let failed = jobs.try_complete(job).unwrap_err();
        assert_eq!((failed.job(), failed.panicked_job()), ("Divide", "Divide"));
        assert_eq!(failed.message(), "1 by zero");
        assert_eq!(failed.to_string(), "A0011: job `Divide` panicked: 1 by zero");
        assert_eq!(format!("{failed:?}"), failed.to_string(), "as `unwrap` shows it");

        let job = fails(&jobs);
        jobs.flush();
        let message = panic_message(|| jobs.complete(job));
        assert_eq!(message, "A0011: job `Fails` panicked: oh");
        assert_usable(&jobs);
    }
}

#[test]
fn a_failure_is_reported_once_and_the_job_is_complete() {
    let jobs = scheduler(1);
    let job = fails(&jobs);
    jobs.try_complete(job).unwrap_err();
    assert!(jobs.is_completed(job));
    jobs.try_complete(job).unwrap();
    jobs.complete(job);
    jobs.complete_everything();
}

#[test]
fn containers_of_a_job_that_panicked_keep_the_writes_before_the_panic() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut values = JobSlice::from(vec![0, 0]);
        let read = JobCell::new(7);
        let job = jobs.schedule(&[], (values.write(), read.read()), |(values, read)| {
            values[0] = *read;
            assert_eq!(values[0], 8, "half way");
            values[1] = 1;
        });
        jobs.try_complete(job.unwrap()).unwrap_err();
        assert_eq!(values.as_mut_slice().unwrap(), [7, 0]);
        assert_eq!(read.into_inner().unwrap(), 7);
        assert_eq!(values.into_vec().unwrap(), [7, 0]);
    }
}

#[test]
fn dependants_do_not_run_and_neither_do_theirs() {
    for workers in WORKERS {
        for flushed in [false, true] {
            let jobs = scheduler(workers);
            let log = Log::default();
            let bad = fails(&jobs);
            let a = jobs.named("A").schedule(&[bad], (), log.adds("a")).unwrap();
            let joined = jobs.combine(&[a, JobHandle::COMPLETED]).unwrap();
            let b = jobs.named("B").schedule(&[joined], (), log.adds("b")).unwrap();
            let c =
                jobs.named("C").schedule_for_each(&[b], (), 100, 1, |(), _| panic!("ran")).unwrap();
            let d = jobs
                .named("D")
                .schedule_deferred(&[c], (), |()| panic!("asked"), 1, |(), _| panic!("ran"))
                .unwrap();
            let free = jobs.schedule(&[], (), log.adds("free")).unwrap();
            if flushed {
                jobs.flush();
            }
            let failed = jobs.try_complete(d).unwrap_err();
            assert_eq!((failed.job(), failed.panicked_job()), ("D", "Fails"));
            assert_eq!(
                failed.to_string(),
                "A0011: job `D` did not run, because job `Fails` panicked: oh"
            );
            jobs.complete_all(&[bad, a, joined, b, c, free]);
            assert_eq!(log.entries(), ["free"]);
            assert_usable(&jobs);
        }
    }
}

#[test]
fn a_combination_with_a_job_that_failed_has_failed() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let fine = jobs.schedule(&[], (), |()| {}).unwrap();
        let both = jobs.combine(&[fine, fails(&jobs)]).unwrap();
        let failed = jobs.try_complete(both).unwrap_err();
        assert_eq!(failed.panicked_job(), "Fails");
    }
}

#[test]
fn jobs_that_are_only_ordered_after_run_and_so_do_their_dependants() {
    for workers in WORKERS {
        for flushed in [false, true] {
            let jobs = scheduler(workers);
            let log = Log::default();
            let bad = fails(&jobs);
            let before = [bad];
            let a = jobs.named("A").after(&before).schedule(&[], (), log.adds("a")).unwrap();
            let b = jobs.named("B").schedule(&[a], (), log.adds("b")).unwrap();
            let blocked =
                jobs.named("No").after(&[a]).schedule(&[bad], (), log.adds("no")).unwrap();
            if flushed {
                jobs.flush();
            }
            // The panic is reported here, since this call completes the job that panicked.
            let failed = jobs.try_complete(b).unwrap_err();
            assert_eq!((failed.job(), failed.panicked_job()), ("Fails", "Fails"));
            assert_eq!(log.entries(), ["a", "b"]);
            let failed = jobs.try_complete(blocked).unwrap_err();
            assert_eq!((failed.job(), failed.panicked_job()), ("No", "Fails"));
            assert_eq!(log.entries(), ["a", "b"]);
        }
    }
}

#[test]
fn a_job_ordered_after_one_that_was_completed_as_failed_succeeds() {
    let jobs = scheduler(1);
    let done = Flag::default();
    let bad = fails(&jobs);
    let next = jobs.named("Next").after(&[bad]).schedule(&[], (), done.raises()).unwrap();
    jobs.try_complete(bad).unwrap_err();
    jobs.try_complete(next).unwrap();
    assert!(done.is_up());
}

#[test]
fn a_dependant_that_was_held_while_its_dependency_failed_and_was_completed_does_not_run() {
    for workers in WORKERS {
        for flushed in [false, true] {
            let jobs = scheduler(workers);
            let ran = Flag::default();
            let bad = fails(&jobs);
            if flushed {
                jobs.flush();
                eventually(|| jobs.is_completed(bad));
            }
            let direct = jobs.named("Direct").schedule(&[bad], (), ran.raises()).unwrap();
            let joined = jobs.combine(&[bad]).unwrap();
            let through = jobs.named("Through").schedule(&[joined], (), ran.raises()).unwrap();
            jobs.try_complete(bad).unwrap_err();
            jobs.flush();
            let failed = jobs.try_complete(direct).unwrap_err();
            assert_eq!((failed.job(), failed.panicked_job()), ("Direct", "Fails"));
            let failed = jobs.try_complete(through).unwrap_err();
            assert_eq!((failed.job(), failed.panicked_job()), ("Through", "Fails"));
            assert!(!ran.is_up());
        }
    }
}

#[test]
fn a_job_scheduled_after_the_failure_was_completed_runs() {
    let jobs = scheduler(1);
    let ran = Flag::default();
    let bad = fails(&jobs);
    jobs.try_complete(bad).unwrap_err();
    let next = jobs.schedule(&[bad], (), ran.raises()).unwrap();
    jobs.complete(next);
    assert!(ran.is_up());
}

#[test]
fn a_job_scheduled_after_the_failure_and_before_its_completion_does_not_run() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let ran = Flag::default();
        let bad = fails(&jobs);
        jobs.flush();
        eventually(|| jobs.is_completed(bad));
        let next = jobs.named("Next").schedule(&[bad], (), ran.raises()).unwrap();
        let last = jobs.named("Last").schedule(&[next], (), ran.raises()).unwrap();
        jobs.flush();
        assert_eq!(jobs.try_complete(last).unwrap_err().job(), "Last");
        assert!(!ran.is_up());
    }
}

#[test]
fn of_several_failures_the_earliest_scheduled_is_reported() {
    let jobs = scheduler(2);
    let door = Door::default();
    let wait = door.waits();
    let slow = jobs
        .named("Slow")
        .schedule(&[], (), move |()| {
            wait();
            panic!("slow");
        })
        .unwrap();
    let quick = jobs.named("Quick").schedule(&[], (), |()| panic!("quick")).unwrap();
    let both = jobs.named("Both").schedule(&[quick, slow], (), |()| {}).unwrap();
    jobs.flush();
    eventually(|| jobs.is_completed(quick));
    door.open();
    let failed = jobs.try_complete(both).unwrap_err();
    assert_eq!((failed.job(), failed.panicked_job()), ("Both", "Slow"));
}

#[test]
fn complete_all_reports_the_first_of_its_jobs_that_failed_and_completes_all() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let names = ["A", "B", "C"];
        let [a, b, c] = names.map(|name| {
            jobs.named(name).schedule(&[], (), move |()| assert_eq!(name, "A")).unwrap()
        });
        let failed = jobs.try_complete_all(&[a, c, b]).unwrap_err();
        assert_eq!(failed.job(), "C");
        assert!([a, b, c].into_iter().all(|job| jobs.is_completed(job)));
        jobs.complete_everything();
    }
}

#[test]
fn complete_everything_reports_the_earliest_failure_and_completes_all() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut cell = JobCell::new(0);
        let fine = jobs.schedule(&[], cell.write(), |value| *value = 1).unwrap();
        let bad = jobs.named("First").schedule(&[fine], (), |()| panic!("one")).unwrap();
        let _ = jobs.named("Second").schedule(&[fine], (), |()| panic!("two")).unwrap();
        let message = panic_message(|| jobs.complete_everything());
        assert_eq!(message, "A0011: job `First` panicked: one");
        assert!(jobs.is_completed(bad));
        assert_eq!(cell.get(), Ok(&1));
        jobs.complete_everything();
    }
}

#[test]
fn complete_finished_reports_the_earliest_failure() {
    let jobs = scheduler(1);
    let first = jobs.named("First").schedule(&[], (), |()| panic!("one")).unwrap();
    let second = jobs.named("Second").schedule(&[], (), |()| panic!("two")).unwrap();
    let held = jobs.named("Held").schedule(&[second], (), |()| {}).unwrap();
    jobs.complete_finished().unwrap();
    jobs.flush();
    eventually(|| jobs.is_completed(first) && jobs.is_completed(second) && jobs.is_completed(held));
    assert_eq!(jobs.complete_finished().unwrap_err().panicked_job(), "First");
    jobs.complete_finished().unwrap();
    jobs.complete_all(&[first, second, held]);
}

#[test]
fn the_other_batches_of_a_job_that_panics_run_and_the_lowest_panic_is_reported() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        for mode in [
            ExecutionMode::Parallel,
            ExecutionMode::Serial,
            ExecutionMode::Shuffle { seed: 4 },
            ExecutionMode::Shuffle { seed: 5 },
        ] {
            jobs.set_mode(mode);
            let mut values = JobSlice::new(200, 0);
            let job = jobs
                .named("Batches")
                .schedule_parallel(&[], values.write(), 200, 10, |values, range| {
                    assert!(![30, 70, 190].contains(&range.start), "batch at {}", range.start);
                    values.fill(1);
                })
                .unwrap();
            let failed = jobs.try_complete(job).unwrap_err();
            assert_eq!(failed.message(), "batch at 30", "{workers} workers, {mode:?}");
            let values = values.into_vec().unwrap();
            for (i, batch) in values.chunks(10).enumerate() {
                let expected = i32::from(![3, 7, 19].contains(&i));
                assert_eq!(batch, [expected; 10], "batch {i}, {workers} workers, {mode:?}");
            }
        }
        assert_usable(&jobs);
    }
}

#[test]
fn a_panic_at_an_index_ends_its_batch_and_no_other() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut values = JobSlice::new(100, 0);
        let job = jobs.schedule_for_each(&[], values.write(), 100, 10, |value, i| {
            assert_ne!(i % 50, 35, "at {i}");
            *value = 1;
        });
        let failed = jobs.try_complete(job.unwrap()).unwrap_err();
        assert!(failed.message().contains("at 35"), "{}", failed.message());
        let values = values.into_vec().unwrap();
        let expected =
            (0..100).map(|i| i32::from(!(35..40).contains(&i) && !(85..90).contains(&i)));
        assert!(values.into_iter().eq(expected));
    }
}

#[test]
fn all_batches_may_panic() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let job = jobs.schedule_parallel(&[], (), 300, 1, |(), range| panic!("{}", range.start));
        assert_eq!(jobs.try_complete(job.unwrap()).unwrap_err().message(), "0");
        assert_usable(&jobs);
    }
}

#[test]
fn a_panic_in_a_parallel_job_that_runs_immediately_is_reported() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut values = JobSlice::new(100, 0);
        let ran = AtomicUsize::new(0);
        let message = panic_message(|| {
            jobs.named("Now").run_parallel(values.write(), 100, 10, |values, range| {
                assert_ne!(range.start, 50, "fifty");
                values.fill(1);
                ran.fetch_add(1, Ordering::Relaxed);
            })
        });
        assert!(message.starts_with("A0011: job `Now` panicked: "), "{message}");
        assert!(message.contains("fifty"));
        assert_eq!(ran.into_inner(), 9);
        assert_eq!(values.into_vec().unwrap().iter().sum::<i32>(), 90);
        assert_usable(&jobs);
    }
}

#[test]
fn a_panic_in_the_closure_that_counts_fails_the_job() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut values = JobSlice::new(10, 0);
        let count = |_: &mut [i32]| -> usize { panic!("uncountable") };
        let job = jobs
            .named("Deferred")
            .schedule_deferred(&[], values.write(), count, 1, |_, _| panic!("ran"))
            .unwrap();
        let ran = Flag::default();
        let next = jobs.named("Next").schedule(&[job], (), ran.raises()).unwrap();
        jobs.flush();
        let failed = jobs.try_complete(next).unwrap_err();
        assert_eq!((failed.job(), failed.panicked_job()), ("Next", "Deferred"));
        assert_eq!(failed.message(), "uncountable");
        assert!(!ran.is_up());
        assert_eq!(values.into_vec().unwrap(), [0; 10]);
        assert_usable(&jobs);
    }
}

#[test]
fn a_panic_in_a_batch_of_a_deferred_job_fails_it() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut values = JobSlice::new(10, 0);
        let job = jobs
            .named("Deferred")
            .schedule_deferred(
                &[],
                values.write(),
                |_| 10,
                2,
                |values, range| {
                    assert_ne!(range.start, 4, "four");
                    values.fill(1);
                },
            )
            .unwrap();
        let failed = jobs.try_complete(job).unwrap_err();
        assert!(failed.message().contains("four"));
        assert_eq!(values.into_vec().unwrap(), [1, 1, 1, 1, 0, 0, 1, 1, 1, 1]);
    }
}

#[test]
fn a_payload_that_is_no_string_is_kept() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let job = jobs.named("Any").schedule(&[], (), |()| panic::panic_any(42_i32)).unwrap();
        let failed = jobs.try_complete(job).unwrap_err();
        assert_eq!(
            failed.to_string(),
            "A0011: job `Any` panicked: (the panic's payload is not a string)"
        );
        let copy = failed.clone();
        let payload = failed.take_payload().unwrap();
        assert_eq!(payload.downcast_ref(), Some(&42));
        assert!(copy.take_payload().is_none(), "there is one payload");
    }
}

#[test]
fn the_captures_of_a_job_are_dropped_when_it_panics_and_when_it_does_not_run() {
    for workers in WORKERS {
        for flushed in [false, true] {
            let jobs = scheduler(workers);
            let drops = Drops::default();
            let [a, b, c, d] = [0; 4].map(|_| drops.value());
            let bad = jobs
                .schedule(&[], (), move |()| {
                    let _a = a;
                    panic!("oh");
                })
                .unwrap();
            let single = jobs.schedule(&[bad], (), move |()| drop(b)).unwrap();
            let parallel = jobs
                .schedule_for_each(&[single], (), 10, 1, move |(), _| {
                    let _ = &c;
                })
                .unwrap();
            let panics = jobs
                .schedule_for_each(&[], (), 10, 1, move |(), _| {
                    let _ = &d;
                    panic!("oh");
                })
                .unwrap();
            if flushed {
                jobs.flush();
            }
            jobs.try_complete_all(&[parallel, panics]).unwrap_err();
            assert_eq!(drops.count(), 4, "{workers} workers");
        }
    }
}

#[test]
fn a_panic_while_dropping_the_captures_of_a_single_job_fails_the_job() {
    must_end(|| {
        for workers in WORKERS {
            for flushed in [false, true] {
                let jobs = scheduler(workers);
                let bomb = Bomb;
                let mut cell = JobCell::new(0);
                let job = jobs
                    .named("Bomb")
                    .schedule(&[], cell.write(), move |cell| {
                        let _bomb = bomb;
                        *cell = 1;
                    })
                    .unwrap();
                if flushed {
                    jobs.flush();
                }
                let failed = jobs.try_complete(job).unwrap_err();
                assert_eq!(failed.panicked_job(), "Bomb");
                assert_eq!(cell.into_inner().unwrap(), 1);
                assert_usable(&jobs);
            }
        }
    });
}

#[test]
fn a_panic_while_dropping_the_captures_of_a_parallel_job_does_not_stop_other_jobs() {
    must_end(|| {
        for workers in WORKERS {
            for flushed in [false, true] {
                let jobs = scheduler(workers);
                let bomb = Bomb;
                let mut values = JobSlice::new(100, 0);
                let job = jobs
                    .schedule_for_each(&[], values.write(), 100, 1, move |value, i| {
                        let _ = &bomb;
                        *value = i;
                    })
                    .unwrap();
                if flushed {
                    jobs.flush();
                    eventually(|| jobs.is_completed(job));
                }
                // A failure of the job because of that is unspecified.
                let _ = jobs.try_complete(job);
                assert!(values.into_vec().unwrap().into_iter().eq(0..100));
                assert_usable(&jobs);
            }
        }
    });
}

#[test]
fn a_panic_while_dropping_the_captures_of_a_job_that_does_not_run_does_not_stop_other_jobs() {
    must_end(|| {
        for workers in WORKERS {
            for flushed in [false, true] {
                let jobs = scheduler(workers);
                let (single, parallel, deferred) = (Bomb, Bomb, Bomb);
                let bad = fails(&jobs);
                let a = jobs.schedule(&[bad], (), move |()| drop(single)).unwrap();
                let b = jobs
                    .schedule_for_each(&[a], (), 10, 1, move |(), _| {
                        let _ = &parallel;
                    })
                    .unwrap();
                let c = jobs
                    .named("Deferred")
                    .schedule_deferred(
                        &[b],
                        (),
                        |()| 1,
                        1,
                        move |(), _| {
                            let _ = &deferred;
                        },
                    )
                    .unwrap();
                if flushed {
                    jobs.flush();
                    eventually(|| jobs.is_completed(c));
                }
                jobs.try_complete(c).unwrap_err();
                jobs.complete_all(&[bad, a, b, c]);
                assert_usable(&jobs);
            }
        }
    });
}

#[test]
fn a_panic_while_a_job_frees_a_container_does_not_stop_other_jobs() {
    must_end(|| {
        for workers in WORKERS {
            let jobs = scheduler(workers);
            let mut cell = JobCell::new(Bomb);
            let job = jobs.schedule(&[], cell.write(), |_| {}).unwrap();
            drop(cell);
            jobs.flush();
            let _ = jobs.try_complete(job);

            let mut values = JobSlice::from(vec![Bomb]);
            let job = jobs.schedule_for_each(&[], values.write(), 1, 1, |_, _| {}).unwrap();
            drop(values);
            jobs.flush();
            let _ = jobs.try_complete(job);

            let job = JobCell::new(Bomb).dispose_after(&jobs, &[]).unwrap();
            jobs.flush();
            let _ = jobs.try_complete(job);
            assert_usable(&jobs);
        }
    });
}

#[test]
fn payloads_that_panic_when_they_are_dropped_do_not_stop_other_jobs() {
    must_end(|| {
        for workers in WORKERS {
            let jobs = scheduler(workers);
            // One payload is kept for the caller that completes the job; the others are dropped on any thread.
            let job =
                jobs.schedule_for_each(&[], (), 64, 1, |(), _| panic::panic_any(Bomb)).unwrap();
            jobs.flush();
            let failed = jobs.try_complete(job).unwrap_err();
            std::mem::forget(failed.take_payload());
            assert_usable(&jobs);

            // Two failures reach one job: one of them is reported.
            let pair = [0; 2].map(|_| jobs.schedule(&[], (), |()| panic::panic_any(Bomb)).unwrap());
            let both = jobs.schedule(&pair, (), |()| {}).unwrap();
            jobs.flush();
            let told = panic::catch_unwind(AssertUnwindSafe(|| jobs.try_complete(both)));
            if let Ok(told) = told {
                std::mem::forget(told.unwrap_err().take_payload());
            }
            assert_usable(&jobs);
        }
    });
}

#[test]
fn a_scheduler_with_failed_jobs_is_dropped_in_peace() {
    for workers in WORKERS {
        for flushed in [false, true] {
            let jobs = scheduler(workers);
            let ran = Flag::default();
            let bad = fails(&jobs);
            let _ = jobs.schedule(&[bad], (), ran.raises()).unwrap();
            let last = Flag::default();
            let _ = jobs.schedule(&[], (), last.raises()).unwrap();
            if flushed {
                jobs.flush();
            }
            drop(jobs);
            assert!(last.is_up() && !ran.is_up());
        }
    }
}

#[test]
fn a_scheduler_dropped_by_a_panic_completes_its_jobs_also_those_that_panic() {
    for workers in WORKERS {
        let done = Flag::default();
        let raises = done.raises();
        let message = panic_message(move || {
            let jobs = scheduler(workers);
            let bad = fails(&jobs);
            let _ = jobs.named("Last").after(&[bad]).schedule(&[], (), raises).unwrap();
            panic!("the owner's own");
        });
        assert_eq!(message, "the owner's own");
        assert!(done.is_up());
    }
}

#[test]
fn a_deep_chain_after_a_panic_does_not_run_and_completes_quickly() {
    const MANY: usize = 100_000;
    for workers in [0, 1] {
        for flushed in [false, true] {
            must_end(move || {
                let jobs = scheduler(workers);
                let ran = Flag::default();
                let mut last = fails(&jobs);
                for _ in 0..MANY {
                    last = jobs.schedule(&[last], (), ran.raises()).unwrap();
                }
                if flushed {
                    jobs.flush();
                }
                assert_eq!(jobs.try_complete(last).unwrap_err().panicked_job(), "Fails");
                assert!(!ran.is_up());
            });
        }
    }
}

#[test]
fn a_deep_chain_held_while_its_first_job_fails_does_not_run_and_completes_quickly() {
    must_end(|| {
        let jobs = scheduler(1);
        let ran = Flag::default();
        let bad = fails(&jobs);
        let mut last = bad;
        for _ in 0..100_000 {
            last = jobs.schedule(&[last], (), ran.raises()).unwrap();
        }
        jobs.try_complete(bad).unwrap_err();
        assert_eq!(jobs.try_complete(last).unwrap_err().panicked_job(), "Fails");
        assert!(!ran.is_up());
    });
}

#[test]
fn panics_in_many_frames_leave_no_trace() {
    for workers in [0, 2] {
        let jobs = scheduler(workers);
        let mut values = JobSlice::new(50, 0_usize);
        let told: Mutex<usize> = Mutex::default();
        for frame in 0..200 {
            let write = jobs
                .schedule_for_each(&[], values.write(), 50, 5, move |value, i| {
                    assert!(frame % 2 == 0 || i != 20, "now and then");
                    *value = frame;
                })
                .unwrap();
            let read = jobs.schedule(&[write], values.read(), |_| {}).unwrap();
            jobs.flush();
            *told.lock().unwrap() += usize::from(jobs.try_complete(read).is_err());
            assert_eq!(values.as_slice().unwrap()[0], frame);
        }
        assert_eq!(told.into_inner().unwrap(), 100);
    }
}

/// The closure of [`JobScheduler::run`] panics on the calling thread, and the panic is not reported as a failure.
#[test]
fn a_note_about_an_unreported_panic_is_not_reported_with_a_later_one() {
    struct Working;

    impl Drop for Working {
        fn drop(&mut self) {
            note_panic("at order 7".to_owned());
        }
    }

    let jobs = JobScheduler::new(&JobPool::builder().workers(0).build().unwrap());
    let run = || {
        jobs.run((), |()| {
            let _working = Working;
            panic!("no ship");
        })
    };
    assert!(panic::catch_unwind(AssertUnwindSafe(run)).is_err());
    let job = jobs.schedule(&[], (), |()| panic!("no orders")).unwrap();
    assert_eq!(jobs.try_complete(job).unwrap_err().place(), None);
}
