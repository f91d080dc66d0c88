//! Completing a job, and the jobs that this completes.

use crate::common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use ancho_jobs::{JobCell, JobHandle, JobPool, JobScheduler, JobSlice, thread_index};
use common::{Door, Flag, Log, WORKERS, a_while, eventually, must_end, occupy_workers, scheduler};

/// The length of the chains and the width of the fans.
const MANY: usize = 100_000;

/// Schedules a chain of jobs that each add one, after `first`.
fn chain(jobs: &JobScheduler, length: usize, total: &Arc<AtomicUsize>) -> Vec<JobHandle> {
    let mut handles = vec![];
    let mut last = JobHandle::COMPLETED;
    for i in 0..length {
        let total = Arc::clone(total);
        last = jobs
            .schedule(&[last], (), move |()| {
                // Out of order, one of the jobs would see another number.
                assert_eq!(total.fetch_add(1, Ordering::Relaxed), i);
            })
            .unwrap();
        handles.push(last);
    }
    handles
}

#[test]
fn complete_completes_the_dependencies_of_the_job_first() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let log = Log::default();
        let a = jobs.schedule(&[], (), log.adds("a")).unwrap();
        let b = jobs.schedule(&[a], (), log.adds("b")).unwrap();
        let c = jobs.schedule(&[b], (), log.adds("c")).unwrap();
        jobs.complete(c);
        assert_eq!(log.entries(), ["a", "b", "c"]);
        assert!([a, b, c].into_iter().all(|job| jobs.is_completed(job)));
    }
}

#[test]
fn complete_releases_the_containers_of_ancestors_too() {
    let jobs = scheduler(1);
    let (mut first, mut second) = (JobCell::new(0), JobCell::new(0));
    let a = jobs.schedule(&[], first.write(), |v| *v = 1).unwrap();
    let b = jobs.schedule(&[a], second.write(), |v| *v = 2).unwrap();
    jobs.complete(b);
    assert_eq!((first.get(), second.get()), (Ok(&1), Ok(&2)));
}

#[test]
fn completing_again_does_nothing() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let log = Log::default();
        let job = jobs.schedule(&[], (), log.adds("once")).unwrap();
        for _ in 0..3 {
            jobs.complete(job);
            assert!(jobs.is_completed(job));
        }
        jobs.complete_all(&[job, job]);
        assert_eq!(log.entries(), ["once"]);
    }
}

#[test]
fn the_default_handle_is_complete() {
    let jobs = scheduler(1);
    assert_eq!(JobHandle::default(), JobHandle::COMPLETED);
    assert!(jobs.is_completed(JobHandle::default()));
    jobs.complete(JobHandle::default());
    jobs.complete_all(&[]);
    jobs.complete_all(&[JobHandle::COMPLETED; 3]);
    let job = jobs.schedule(&[JobHandle::COMPLETED], (), |()| {}).unwrap();
    assert!(!jobs.is_completed(job));
    jobs.complete(job);
}

#[test]
fn a_stale_handle_stays_complete_while_its_place_is_used_again() {
    let jobs = scheduler(0);
    let stale: Vec<_> = (0..1000)
        .map(|_| {
            let job = jobs.schedule(&[], (), |()| {}).unwrap();
            jobs.complete(job);
            job
        })
        .collect();
    let started = Flag::default();
    let fresh = jobs.schedule(&[], (), started.raises()).unwrap();
    jobs.complete_all(&stale);
    assert!(stale.iter().all(|&job| jobs.is_completed(job)));
    assert!(stale.iter().all(|&job| job != fresh));
    assert!(!started.is_up() && !jobs.is_completed(fresh));

    // A stale handle orders nothing.
    let next = jobs.schedule(&stale, (), |()| {}).unwrap();
    jobs.complete(next);
    assert!(!started.is_up());
    jobs.complete(fresh);
}

#[test]
fn complete_all_completes_each_and_no_other() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let log = Log::default();
        let handles = ["a", "b", "c"].map(|name| jobs.schedule(&[], (), log.adds(name)).unwrap());
        let other = jobs.schedule(&[], (), log.adds("other")).unwrap();
        jobs.complete_all(&handles);
        assert_eq!(log.sorted(), ["a", "b", "c"]);
        assert!(!jobs.is_completed(other));
        jobs.complete_everything();
        assert_eq!(log.entries().len(), 4);
        assert!(jobs.is_completed(other));
    }
}

#[test]
fn complete_finished_waits_for_none_and_completes_the_others() {
    let jobs = scheduler(1);
    let door = Door::default();
    let wait = door.waits();
    let (mut quick, mut slow) = (JobCell::new(0), JobCell::new(0));
    let quick_job = jobs.schedule(&[], quick.write(), |v| *v = 1).unwrap();
    let slow_job = jobs
        .schedule(&[quick_job], slow.write(), move |v| {
            wait();
            *v = 2;
        })
        .unwrap();
    jobs.flush();
    let unflushed = jobs.schedule(&[], (), |()| {}).unwrap();
    eventually(|| door.arrived() == 1);
    jobs.complete_finished().unwrap();
    assert_eq!(quick.get(), Ok(&1));
    slow.get().unwrap_err();
    assert!(!jobs.is_completed(slow_job) && !jobs.is_completed(unflushed));
    door.open();
    eventually(|| jobs.is_completed(slow_job));
    slow.get().unwrap_err();
    jobs.complete_finished().unwrap();
    assert_eq!(slow.get(), Ok(&2));
    jobs.complete(unflushed);
}

#[test]
fn combinations_of_none_one_two_three_and_many() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        for width in [0, 1, 2, 3, 1000] {
            let runs = Arc::new(AtomicUsize::new(0));
            let handles: Vec<_> = (0..width)
                .map(|_| {
                    let runs = Arc::clone(&runs);
                    let job = move |()| {
                        runs.fetch_add(1, Ordering::Relaxed);
                    };
                    jobs.schedule(&[], (), job).unwrap()
                })
                .collect();
            let all = jobs.combine(&handles).unwrap();
            assert_eq!(jobs.is_completed(all), width == 0);
            jobs.complete(all);
            assert_eq!(runs.load(Ordering::Relaxed), width);
            assert!(handles.iter().all(|&job| jobs.is_completed(job)));
        }
    }
}

#[test]
fn a_combination_is_itself_a_dependency() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let log = Log::default();
        let a = jobs.schedule(&[], (), log.adds("a")).unwrap();
        let b = jobs.schedule(&[], (), log.adds("b")).unwrap();
        let both = jobs.combine(&[a, b]).unwrap();
        let c = jobs.schedule(&[both], (), log.adds("c")).unwrap();
        jobs.flush();
        jobs.complete(c);
        assert_eq!(log.entries()[2], "c");
    }
}

#[test]
fn a_combination_of_completed_jobs_is_complete() {
    let jobs = scheduler(1);
    let job = jobs.schedule(&[], (), |()| {}).unwrap();
    jobs.complete(job);
    let all = jobs.combine(&[job, JobHandle::COMPLETED, job]).unwrap();
    assert!(jobs.is_completed(all));
}

#[test]
fn the_same_handle_can_be_passed_several_times() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let log = Log::default();
        let a = jobs.schedule(&[], (), log.adds("a")).unwrap();
        let twice = jobs.combine(&[a, a, a]).unwrap();
        let b = jobs
            .named("B")
            .after(&[a, twice, a])
            .schedule(&[a, twice, a, a], (), log.adds("b"))
            .unwrap();
        jobs.complete_all(&[b, b, a]);
        assert_eq!(log.entries(), ["a", "b"]);
    }
}

#[test]
fn a_diamond_runs_each_job_once_in_order() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let log = Log::default();
        let top = jobs.schedule(&[], (), log.adds("top")).unwrap();
        let left = jobs.schedule(&[top], (), log.adds("left")).unwrap();
        let right = jobs.schedule(&[top], (), log.adds("right")).unwrap();
        let bottom = jobs.schedule(&[left, right], (), log.adds("bottom"));
        jobs.complete(bottom.unwrap());
        let entries = log.entries();
        assert_eq!(entries.len(), 4);
        assert_eq!((entries[0], entries[3]), ("top", "bottom"));
    }
}

#[test]
fn a_deep_chain_completes_from_its_end() {
    for workers in [0, 2] {
        for flushed in [false, true] {
            let jobs = scheduler(workers);
            let total = Arc::new(AtomicUsize::new(0));
            let handles = chain(&jobs, MANY, &total);
            if flushed {
                jobs.flush();
            }
            jobs.complete(handles[MANY - 1]);
            assert_eq!(total.load(Ordering::Relaxed), MANY);
            assert!(handles.iter().all(|&job| jobs.is_completed(job)));
        }
    }
}

#[test]
fn a_deep_chain_runs_in_the_background() {
    let jobs = scheduler(1);
    let total = Arc::new(AtomicUsize::new(0));
    let handles = chain(&jobs, MANY, &total);
    jobs.flush();
    eventually(|| jobs.is_completed(handles[MANY - 1]));
    assert_eq!(total.load(Ordering::Relaxed), MANY);
}

#[test]
fn a_deep_chain_is_completed_when_the_scheduler_is_dropped() {
    let total = Arc::new(AtomicUsize::new(0));
    let jobs = scheduler(1);
    chain(&jobs, MANY, &total);
    drop(jobs);
    assert_eq!(total.load(Ordering::Relaxed), MANY);
}

#[test]
fn a_wide_fan_opens_and_closes() {
    for workers in [0, 2] {
        let jobs = scheduler(workers);
        let total = Arc::new(AtomicUsize::new(0));
        let first = jobs.schedule(&[], (), |()| {}).unwrap();
        let fan: Vec<_> = (0..MANY)
            .map(|_| {
                let total = Arc::clone(&total);
                let job = move |()| {
                    total.fetch_add(1, Ordering::Relaxed);
                };
                jobs.schedule(&[first], (), job).unwrap()
            })
            .collect();
        let mut seen = JobCell::new(0);
        let counted = Arc::clone(&total);
        let last = jobs
            .schedule(&fan, seen.write(), move |seen| {
                *seen = counted.load(Ordering::Relaxed);
            })
            .unwrap();
        jobs.complete(last);
        assert_eq!(*seen.get().unwrap(), MANY);
    }
}

#[test]
fn combinations_of_combinations_of_arrays_complete() {
    const DEPTH: usize = 200;
    const WIDTH: usize = 20;
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let total = Arc::new(AtomicUsize::new(0));
        let mut last = JobHandle::COMPLETED;
        for depth in 0..DEPTH {
            let handles: Vec<_> = (0..WIDTH)
                .map(|_| {
                    let total = Arc::clone(&total);
                    let job = move |()| {
                        let before = total.fetch_add(1, Ordering::Relaxed);
                        assert_eq!(before / WIDTH, depth, "a layer is over before the next begins");
                    };
                    jobs.schedule(&[last], (), job).unwrap()
                })
                .collect();
            last = jobs.combine(&handles).unwrap();
        }
        jobs.complete(last);
        assert_eq!(total.load(Ordering::Relaxed), DEPTH * WIDTH);
    }
}

#[test]
fn completing_layers_of_jobs_visits_each_job_once() {
    must_end(|| {
        for workers in [0, 1] {
            let jobs = scheduler(workers);
            let mut cell = JobCell::new(0);
            let first = jobs.schedule(&[], cell.write(), |v| *v = 1).unwrap();
            let (mut a, mut b) = (first, first);
            for _ in 0..60 {
                let before = [a, b];
                a = jobs.schedule(&before, (), |()| {}).unwrap();
                b = jobs.schedule(&before, (), |()| {}).unwrap();
            }
            // The check for conflicts walks the same graph.
            let last = jobs.schedule(&[a, b], cell.write(), |v| *v += 1).unwrap();
            jobs.complete(last);
            assert_eq!(cell.get(), Ok(&2));
        }
    });
}

#[test]
fn a_job_completed_immediately_runs_on_the_calling_thread() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut ran_on = JobCell::new(None);
        let job = jobs
            .schedule(&[], ran_on.write(), |ran_on| {
                *ran_on = Some((thread::current().id(), thread_index()));
            })
            .unwrap();
        jobs.complete(job);
        let here = Some((thread::current().id(), Some(0)));
        assert_eq!(*ran_on.get().unwrap(), here, "{workers} workers");
    }
}

#[test]
fn while_the_workers_are_busy_the_calling_thread_runs_target_and_ancestors_only() {
    let jobs = scheduler(1);
    let door = Door::default();
    let busy = occupy_workers(&jobs, &door);
    let ran: Arc<Mutex<Vec<(&str, _)>>> = Arc::default();
    let run = |name, before: &[JobHandle]| {
        let ran = Arc::clone(&ran);
        let job = move |()| {
            ran.lock().unwrap().push((name, thread::current().id()));
        };
        jobs.schedule(before, (), job).unwrap()
    };
    let _ = run("before", &[]);
    let a = run("a", &[]);
    let _ = run("sibling", &[a]);
    let b = run("b", &[a]);
    let target = run("target", &[b]);
    let _ = run("later", &[target]);
    let _ = run("after", &[]);
    // All jobs are published, and the workers are busy.
    jobs.flush();
    jobs.complete(target);
    let here = thread::current().id();
    assert_eq!(*ran.lock().unwrap(), [("a", here), ("b", here), ("target", here)]);
    door.open();
    jobs.complete_all(&busy);
    eventually(|| ran.lock().unwrap().len() == 7);
}

#[test]
fn while_the_workers_are_busy_the_calling_thread_runs_all_batches_of_the_target() {
    let jobs = scheduler(2);
    let door = Door::default();
    let busy = occupy_workers(&jobs, &door);
    let other = Flag::default();
    let mut values = JobSlice::new(1000, 0);
    let unrelated = jobs.schedule(&[], (), other.raises()).unwrap();
    let target = jobs
        .schedule_for_each(&[], values.write(), 1000, 10, |value, i| {
            assert_eq!(thread_index(), Some(0));
            *value = i;
        })
        .unwrap();
    jobs.flush();
    jobs.complete(target);
    assert!(values.as_slice().unwrap().iter().copied().eq(0..1000));
    assert!(!other.is_up());
    door.open();
    jobs.complete_all(&busy);
    jobs.complete(unrelated);
}

#[test]
fn complete_waits_for_a_job_that_a_worker_is_at() {
    let jobs = scheduler(1);
    let door = Door::default();
    let busy = occupy_workers(&jobs, &door);
    let done = Flag::default();
    let next = jobs.schedule(&busy, (), done.raises()).unwrap();
    let opener = thread::spawn(move || {
        a_while();
        door.open();
    });
    jobs.complete(next);
    assert!(done.is_up());
    opener.join().unwrap();
}

#[test]
fn jobs_that_are_completed_together_may_run_at_the_same_time() {
    // Each job waits until the other has begun: run one after the other, they would wait forever.
    let jobs = scheduler(1);
    let begun = Arc::new(AtomicUsize::new(0));
    let pair = [0; 2].map(|_| {
        let begun = Arc::clone(&begun);
        let job = move |()| {
            begun.fetch_add(1, Ordering::SeqCst);
            eventually(|| begun.load(Ordering::SeqCst) == 2);
        };
        jobs.schedule(&[], (), job).unwrap()
    });
    jobs.complete_all(&pair);
    assert_eq!(begun.load(Ordering::SeqCst), 2);
}

#[test]
fn debug_output_of_handles_names_the_job() {
    let jobs = scheduler(0);
    let job = jobs.schedule(&[], (), |()| {}).unwrap();
    assert_eq!(format!("{:?}", JobHandle::COMPLETED), "JobHandle(completed)");
    let shown = format!("{job:?}");
    assert!(shown.starts_with("JobHandle(job "), "{shown}");
    assert!(size_of::<JobHandle>() <= 24);
    jobs.complete(job);
}

#[test]
fn ready_jobs_run_while_another_job_is_awaited() {
    must_end(|| {
        let jobs = JobScheduler::new(&JobPool::builder().workers(1).build().unwrap());
        let met = Arc::new(Barrier::new(2));
        // Each job waits for the other, so that two threads have to run them.
        let meet = || {
            let met = Arc::clone(&met);
            jobs.schedule(&[], (), move |()| _ = met.wait()).unwrap()
        };
        let both = [meet(), meet()];
        jobs.flush();
        jobs.finish_all(&both);
        assert_eq!(both.map(|job| jobs.is_completed(job)), [true, true]);
        assert!(both.iter().all(|&job| jobs.try_complete(job).is_ok()));
    });
}

#[test]
fn jobs_that_were_finished_together_are_reported_one_by_one() {
    let jobs = scheduler(1);
    let bad = jobs.named("Bad").schedule(&[], (), |()| panic!("by zero")).unwrap();
    let after = jobs.named("After").schedule(&[bad], (), |()| {}).unwrap();
    let good = jobs.schedule(&[], (), |()| {}).unwrap();
    jobs.finish_all(&[bad, after, good, JobHandle::COMPLETED]);
    assert!(jobs.try_complete(good).is_ok());
    assert_eq!(jobs.try_complete(bad).unwrap_err().job(), "Bad");
    assert!(jobs.try_complete(after).unwrap_err().to_string().contains("did not run"));
}
