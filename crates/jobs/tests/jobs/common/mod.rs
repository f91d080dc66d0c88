//! Utilities shared by the behaviour tests.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Once, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use ancho_jobs::{ExecutionMode, JobHandle, JobPool, JobScheduler};

/// The numbers of workers for which results must be equal.
pub(crate) const WORKERS: [usize; 4] = [0, 1, 2, 4];

/// The time after which an event counts as never happening. Sanitizers and a busy machine are slow; no test waits
/// this long unless it fails.
const DEADLINE: Duration = Duration::from_secs(60);

pub(crate) fn pool(workers: usize) -> JobPool {
    quiet_workers();
    JobPool::builder().workers(workers).build().unwrap()
}

/// Returns a scheduler on its own pool.
pub(crate) fn scheduler(workers: usize) -> JobScheduler {
    JobScheduler::new(&pool(workers))
}

/// The modes in which results must be equal.
const MODES: [ExecutionMode; 4] = [
    ExecutionMode::Parallel,
    ExecutionMode::Serial,
    ExecutionMode::Shuffle { seed: 1 },
    ExecutionMode::Shuffle { seed: 7 },
];

/// Returns a scheduler for each number of workers in each mode, on separate pools.
pub(crate) fn schedulers() -> impl Iterator<Item = JobScheduler> {
    let all = WORKERS.into_iter().flat_map(|workers| MODES.map(|mode| (workers, mode)));
    all.map(|(workers, mode)| {
        let jobs = scheduler(workers);
        jobs.set_mode(mode);
        jobs
    })
}

/// Waits until the condition holds.
#[track_caller]
pub(crate) fn eventually(mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < DEADLINE, "this never happened");
        thread::sleep(Duration::from_micros(100));
    }
}

/// Waits long enough for an unwanted event to happen.
pub(crate) fn a_while() {
    thread::sleep(Duration::from_millis(20));
}

/// Runs the body on its own thread, and fails if it does not end.
#[track_caller]
pub(crate) fn must_end<R: Send + 'static>(body: impl FnOnce() -> R + Send + 'static) -> R {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let _ = sender.send(panic::catch_unwind(AssertUnwindSafe(body)));
    });
    match receiver.recv_timeout(DEADLINE / 2) {
        Ok(Ok(result)) => result,
        Ok(Err(payload)) => panic::resume_unwind(payload),
        Err(_) => panic!("this never ended"),
    }
}

/// Returns the message of the panic in `body`.
#[track_caller]
pub(crate) fn panic_message<R>(body: impl FnOnce() -> R) -> String {
    match panic::catch_unwind(AssertUnwindSafe(body)) {
        Ok(_) => panic!("this did not panic"),
        Err(payload) => text(payload.as_ref()),
    }
}

pub(crate) fn text(payload: &(dyn Any + Send)) -> String {
    payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "(not a string)".to_owned())
}

/// Keeps panics on worker threads, which tests cause on purpose, out of the test report.
pub(crate) fn quiet_workers() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let report = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            let is_worker =
                thread::current().name().is_some_and(|name| name.starts_with("ancho worker"));
            if !is_worker {
                report(panic);
            }
        }));
    });
}

/// A list to which jobs write, to check their execution and order.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<&'static str>>>);

impl Log {
    pub(crate) fn add(&self, entry: &'static str) {
        self.0.lock().unwrap().push(entry);
    }

    pub(crate) fn entries(&self) -> Vec<&'static str> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn sorted(&self) -> Vec<&'static str> {
        let mut entries = self.entries();
        entries.sort_unstable();
        entries
    }

    pub(crate) fn has(&self, entry: &str) -> bool {
        self.0.lock().unwrap().contains(&entry)
    }

    /// Returns a job that adds an entry.
    pub(crate) fn adds(&self, entry: &'static str) -> impl FnOnce(()) + Send + 'static {
        let log = self.clone();
        move |()| log.add(entry)
    }
}

/// A door at which jobs wait until the test lets them continue. Opens when dropped, so that a failing test does not
/// hang.
#[derive(Default)]
pub(crate) struct Door {
    open: Arc<AtomicBool>,
    waiting: Arc<AtomicUsize>,
}

impl Door {
    /// Returns a closure that waits at the door.
    pub(crate) fn waits(&self) -> impl Fn() + Send + Sync + 'static {
        let (open, waiting) = (Arc::clone(&self.open), Arc::clone(&self.waiting));
        move || {
            waiting.fetch_add(1, Ordering::SeqCst);
            eventually(|| open.load(Ordering::SeqCst));
        }
    }

    pub(crate) fn open(&self) {
        self.open.store(true, Ordering::SeqCst);
    }

    /// Returns the number of jobs that have reached the door.
    pub(crate) fn arrived(&self) -> usize {
        self.waiting.load(Ordering::SeqCst)
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.open();
    }
}

/// Keeps all the workers of the scheduler's pool busy until the door opens.
pub(crate) fn occupy_workers(jobs: &JobScheduler, door: &Door) -> Vec<JobHandle> {
    let workers = jobs.pool().workers();
    let busy = (0..workers)
        .map(|_| {
            let wait = door.waits();
            jobs.named("Busy").schedule(&[], (), move |()| wait())
        })
        .collect::<Result<_, _>>()
        .unwrap();
    jobs.flush();
    eventually(|| door.arrived() == workers);
    busy
}

/// A counter of dropped values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Drops(Arc<AtomicUsize>);

/// A value that is counted when it is dropped.
#[derive(Debug)]
pub(crate) struct Counted(Drops);

impl Drops {
    pub(crate) fn value(&self) -> Counted {
        Counted(self.clone())
    }

    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A flag that a job raises.
#[derive(Clone, Default)]
pub(crate) struct Flag(Arc<AtomicBool>);

impl Flag {
    pub(crate) fn raise(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    pub(crate) fn is_up(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    /// Returns a job that raises the flag.
    pub(crate) fn raises(&self) -> impl FnOnce(()) + Send + 'static {
        let flag = self.clone();
        move |()| flag.raise()
    }
}
