//! Hostile code without `unsafe`. Each test is named after the cause of a bug that such code used to trigger.
#![forbid(unsafe_code)]

use crate::common;

use std::cell::RefCell;
use std::panic;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use ancho_jobs::{ExecutionMode, JobHandle, JobScheduler, JobSlice};

use common::{eventually, scheduler};

/// A payload that panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "the payload was dropped");
    }
}

#[test]
fn unfinished_batches_of_a_job_are_not_given_to_the_next() {
    let jobs = scheduler(1);
    let leaves_all = jobs.named("Work").schedule_work(&[], (), 64, 1, |_| {}).unwrap();
    jobs.complete(leaves_all);

    let runs: Arc<[AtomicU32; 64]> = Arc::new([const { AtomicU32::new(0) }; 64]);
    let worker_is_inside = Arc::new(AtomicBool::new(false));
    let mut values = JobSlice::new(64, 0);
    let job = {
        let (runs, worker_is_inside) = (Arc::clone(&runs), Arc::clone(&worker_is_inside));
        jobs.schedule_parallel(&[], values.write(), 64, 1, move |_, range| {
            runs[range.start].fetch_add(1, Ordering::Relaxed);
            worker_is_inside.store(true, Ordering::Release);
            std::thread::yield_now();
        })
    };
    jobs.flush();
    eventually(|| worker_is_inside.load(Ordering::Acquire));
    jobs.complete(job.unwrap());
    assert!(runs.iter().all(|runs| runs.load(Ordering::Relaxed) == 1));
}

#[test]
fn a_payload_that_panics_when_dropped_does_not_leave_a_chain_half_completed() {
    let jobs = scheduler(0);
    let runs = Arc::new(AtomicU32::new(0));
    let a = {
        let runs = Arc::clone(&runs);
        jobs.schedule(&[], (), move |()| {
            runs.fetch_add(1, Ordering::Relaxed);
            panic::panic_any(Bomb);
        })
    };
    let before = [a.unwrap()];
    let b = jobs.named("B").after(&before).schedule(&[], (), |()| panic::panic_any(Bomb));
    let before = [b.unwrap()];
    let c = jobs.named("C").after(&before).schedule(&[], (), |()| {}).unwrap();
    assert!(jobs.try_complete(c).is_err());
    assert!(jobs.try_complete(c).is_ok());
    assert_eq!(runs.load(Ordering::Relaxed), 1);
}

#[test]
fn a_payload_that_panics_when_dropped_does_not_end_a_worker() {
    let jobs = scheduler(1);
    // The batches run in any order, so that a payload is dropped in favour of an earlier batch's.
    jobs.set_mode(ExecutionMode::Shuffle { seed: 3 });
    let job = jobs.schedule_for_each(&[], (), 16, 1, |(), _| panic::panic_any(Bomb)).unwrap();
    jobs.flush();
    eventually(|| jobs.is_completed(job));
    assert!(jobs.try_complete(job).is_err());
}

thread_local! {
    static SMUGGLED: RefCell<Option<(Rc<JobScheduler>, JobHandle)>> = const { RefCell::new(None) };
    static REFUSED: RefCell<bool> = const { RefCell::new(false) };
}

/// A payload that completes a job when it is dropped.
struct Completes;

impl Drop for Completes {
    fn drop(&mut self) {
        if let Some((jobs, job)) = SMUGGLED.take() {
            let complete = panic::AssertUnwindSafe(|| jobs.try_complete(job).is_ok());
            REFUSED.set(panic::catch_unwind(complete).is_err());
        }
    }
}

#[test]
fn a_payload_that_completes_a_job_when_dropped_is_refused() {
    let jobs = Rc::new(scheduler(0));
    let a = jobs.named("A").schedule(&[], (), |()| panic!("A")).unwrap();
    let b = jobs.named("B").schedule(&[], (), |()| panic::panic_any(Completes)).unwrap();
    let d = jobs.named("D").schedule(&[a, b], (), |()| {}).unwrap();
    drop(jobs.try_complete(b));
    SMUGGLED.set(Some((Rc::clone(&jobs), a)));
    // The first failure is reported, so B's panic is released in the middle of this call.
    assert_eq!(jobs.try_complete(d).unwrap_err().panicked_job(), "A");
    assert!(REFUSED.take());

    let runs = Arc::new(Mutex::new(Vec::new()));
    let log = |name: &'static str, after: &[JobHandle]| {
        let runs = Arc::clone(&runs);
        jobs.schedule(after, (), move |()| runs.lock().unwrap().push(name)).unwrap()
    };
    let first = log("first", &[]);
    let second = log("second", &[first]);
    let third = log("third", &[second]);
    jobs.complete(third);
    assert_eq!(*runs.lock().unwrap(), ["first", "second", "third"]);
}

#[test]
fn a_scheduler_dropped_by_its_own_job_by_way_of_another_does_not_wait_for_itself() {
    type Place = Arc<Mutex<Option<JobScheduler>>>;
    let (one, two) = (scheduler(1), scheduler(0));
    let (place_one, place_two) = (Place::default(), Place::default());
    let (go, wait) = mpsc::channel();
    let (done, is_done) = mpsc::channel();

    // Runs where `two` is dropped: inside the other job.
    let place = Arc::clone(&place_one);
    let _drops_one = two.schedule(&[], (), move |()| drop(place.lock().unwrap().take())).unwrap();
    let place = Arc::clone(&place_two);
    let _drops_two = one.schedule(&[], (), move |()| {
        let () = wait.recv().unwrap();
        drop(place.lock().unwrap().take());
        done.send(()).unwrap();
    });
    one.flush();
    *place_two.lock().unwrap() = Some(two);
    *place_one.lock().unwrap() = Some(one);
    go.send(()).unwrap();
    is_done.recv_timeout(std::time::Duration::from_secs(60)).unwrap();
}

#[test]
fn a_second_scheduler_on_the_same_nodes_is_not_misled_by_the_first_ones_marks() {
    let pool = ancho_jobs::JobPool::builder().workers(1).build().unwrap();
    for _ in 0..3 {
        let jobs = JobScheduler::new(&pool);
        let mut value = ancho_jobs::JobCell::new(0);
        let job = jobs.schedule(&[], value.write(), |value| *value += 1).unwrap();
        jobs.complete_everything();
        assert!(jobs.is_completed(job));
        assert_eq!(value.into_inner().unwrap(), 1);
    }
}

type Place = Arc<Mutex<Option<JobScheduler>>>;

/// Drops a scheduler, and reports it.
struct DropsScheduler {
    place: Place,
    index: usize,
    done: mpsc::Sender<usize>,
}

impl Drop for DropsScheduler {
    fn drop(&mut self) {
        let scheduler = self.place.lock().unwrap().take();
        assert!(scheduler.is_some());
        drop(scheduler);
        self.done.send(self.index).unwrap();
    }
}

/// Each scheduler is dropped by a job of the previous one, or by the payload of its panic; the first is dropped by
/// the last.
#[test]
fn schedulers_dropped_inside_of_each_other_end_at_any_depth() {
    let depths = [2, 5, 6, 7, 40];
    for (depth, by_payload) in depths.into_iter().flat_map(|depth| [(depth, false), (depth, true)])
    {
        common::must_end(move || {
            let (done, is_done) = mpsc::channel();
            let (go, wait) = mpsc::channel();
            let places: Vec<Place> = (0..depth).map(|_| Place::default()).collect();
            let drops_next = |index: usize| DropsScheduler {
                place: Arc::clone(&places[(index + 1) % depth]),
                index,
                done: done.clone(),
            };
            // The first has a worker for its job. The others run their jobs on the thread that drops them.
            let first = scheduler(1);
            let next = drops_next(0);
            let _ = first.schedule(&[], (), move |()| {
                let () = wait.recv().unwrap();
                drop(next);
            });
            first.flush();
            *places[0].lock().unwrap() = Some(first);
            for (index, place) in places.iter().enumerate().skip(1) {
                let jobs = scheduler(0);
                let next = drops_next(index);
                let _ = jobs.schedule(&[], (), move |()| {
                    if by_payload {
                        panic::panic_any(next);
                    }
                    drop(next);
                });
                *place.lock().unwrap() = Some(jobs);
            }
            go.send(()).unwrap();
            assert!(is_done.iter().take(depth).eq((0..depth).rev()));
        });
    }
}

thread_local! {
    static OF_THE_THREAD: RefCell<Option<JobScheduler>> = const { RefCell::new(None) };
}

/// Thread-local values are dropped one by one, and those of this crate may be gone already.
#[test]
fn a_scheduler_of_a_thread_that_ends_survives_jobs_that_panic() {
    for workers in [0, 1] {
        let ran = Arc::new(AtomicU32::new(0));
        let counts = Arc::clone(&ran);
        let ended = std::thread::spawn(move || {
            OF_THE_THREAD.set(Some(scheduler(workers)));
            OF_THE_THREAD.with_borrow(|jobs| {
                let jobs = jobs.as_ref().unwrap();
                // A place recorded for a panic on the thread itself is kept in a thread-local value.
                let first = jobs.schedule(&[], (), |()| panic!("first")).unwrap();
                assert!(jobs.try_complete(first).is_err());
                for _ in 0..2 {
                    let ran = Arc::clone(&counts);
                    let _last = jobs.schedule(&[], (), move |()| {
                        let _noted = Noted;
                        ran.fetch_add(1, Ordering::Relaxed);
                        panic!("last");
                    });
                }
            });
        });
        ended.join().unwrap();
        assert_eq!(ran.load(Ordering::Relaxed), 2);
    }
}

/// Records the place where a job panicked.
struct Noted;

impl Drop for Noted {
    fn drop(&mut self) {
        ancho_jobs::note_panic("at the end".to_owned());
    }
}
