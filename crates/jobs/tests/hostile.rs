//! What code that means harm, without `unsafe`, does not achieve: each test is named for the cause of a
//! bug that such code could once bring about.
#![forbid(unsafe_code)]

mod common;

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
fn batches_that_a_job_left_are_not_handed_to_the_next() {
    let jobs = scheduler(1);
    let leaves_all = jobs.schedule_work(&[], (), 64, 1, |_| {}).unwrap();
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
    // The batches come in any order, so that a payload is dropped for that of an earlier batch.
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
    // What failed first is told, so that B's panic is let go of in the middle of this.
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

    // Runs where `two` is dropped: inside of the other job.
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
