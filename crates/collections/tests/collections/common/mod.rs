//! Helpers of the behaviour tests.
#![allow(dead_code, reason = "each test file uses its own part")]

pub(crate) mod model;
pub(crate) mod panics;
pub(crate) mod source;

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, Once};
use std::thread;
use std::time::{Duration, Instant};

use ancho_jobs::{ExecutionMode, JobPool, JobScheduler};

/// Numbers of workers for which results must be the same.
pub(crate) const WORKERS: [usize; 4] = [0, 1, 2, 4];

/// Time after which an event counts as missing.
const DEADLINE: Duration = Duration::from_secs(60);

/// Makes a scheduler on a pool of its own.
pub(crate) fn scheduler(workers: usize) -> JobScheduler {
    quiet_workers();
    JobScheduler::new(&JobPool::builder().workers(workers).build().unwrap())
}

/// Makes schedulers with all numbers of workers, and with batches in other orders.
pub(crate) fn schedulers() -> impl Iterator<Item = (String, JobScheduler)> {
    let modes = [
        ExecutionMode::default(),
        ExecutionMode::Serial,
        ExecutionMode::Shuffle { seed: 1 },
        ExecutionMode::Shuffle { seed: 2 },
        ExecutionMode::Shuffle { seed: 3 },
    ];
    WORKERS.into_iter().flat_map(move |workers| {
        modes.map(|mode| {
            let jobs = scheduler(workers);
            jobs.set_mode(mode);
            (format!("{workers} workers, {mode:?}"), jobs)
        })
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

/// Returns the message of the panic in `body`.
#[track_caller]
pub(crate) fn panic_message<R>(body: impl FnOnce() -> R) -> String {
    let Err(payload) = panic::catch_unwind(AssertUnwindSafe(body)) else {
        panic!("this did not panic");
    };
    match payload.downcast_ref::<&str>() {
        Some(literal) => (*literal).to_owned(),
        None => payload.downcast_ref::<String>().expect("a message").clone(),
    }
}

/// Expects a panic whose message begins with the code.
#[track_caller]
pub(crate) fn assert_refused<R>(code: &str, body: impl FnOnce() -> R) {
    let message = panic_message(body);
    assert!(message.starts_with(&format!("{code}: ")), "{message}");
}

/// Hides panics of worker threads, which tests cause on purpose, from the test report.
fn quiet_workers() {
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

/// Forgets a value as `mem::forget` does, but keeps it visible to leak checkers.
pub(crate) fn forget(value: impl Send + 'static) {
    static FORGOTTEN: Mutex<Vec<&'static mut (dyn Any + Send)>> = Mutex::new(Vec::new());
    FORGOTTEN.lock().unwrap().push(Box::leak(Box::new(value)));
}

/// A door at which jobs wait until the test opens it. Opens when dropped, so that a failing test
/// does not hang.
#[derive(Default)]
pub(crate) struct Door {
    open: Arc<AtomicBool>,
    waiting: Arc<AtomicUsize>,
}

impl Door {
    /// Returns a job that waits at the door.
    pub(crate) fn waits(&self) -> impl Fn() + Send + Sync + 'static {
        let (open, waiting) = (Arc::clone(&self.open), Arc::clone(&self.waiting));
        move || {
            waiting.fetch_add(1, SeqCst);
            eventually(|| open.load(SeqCst));
        }
    }

    pub(crate) fn open(&self) {
        self.open.store(true, SeqCst);
    }

    /// Returns the number of arrivals so far.
    pub(crate) fn arrived(&self) -> usize {
        self.waiting.load(SeqCst)
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.open();
    }
}

/// Counts live and dropped values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Drops(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    made: AtomicUsize,
    dropped: AtomicUsize,
}

/// A value that is counted when it is made, cloned and dropped. Its number identifies it.
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) number: usize,
    drops: Drops,
}

impl Drops {
    pub(crate) fn value(&self, number: usize) -> Counted {
        self.0.made.fetch_add(1, SeqCst);
        Counted { number, drops: self.clone() }
    }

    /// Makes `count` values, numbered from 0.
    pub(crate) fn values<C: FromIterator<Counted>>(&self, count: usize) -> C {
        (0..count).map(|number| self.value(number)).collect()
    }

    /// Returns the number of dropped values.
    pub(crate) fn count(&self) -> usize {
        self.0.dropped.load(SeqCst)
    }

    /// Returns the number of live values. A double drop makes it wrong.
    pub(crate) fn alive(&self) -> usize {
        self.0.made.load(SeqCst).checked_sub(self.count()).expect("dropped twice")
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        self.drops.value(self.number)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.drops.0.dropped.fetch_add(1, SeqCst);
    }
}

/// Returns the numbers of counted values.
pub(crate) fn numbers<'a>(values: impl IntoIterator<Item = &'a Counted>) -> Vec<usize> {
    values.into_iter().map(|value| value.number).collect()
}
