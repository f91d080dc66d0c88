//! A hand-written lower bound: one worker that never sleeps, and no queue, only two counters.
//!
//! The main thread increments `asked`. The worker reads it, works, and sets `done` to it. Jobs that may run in parallel are split
//! in fixed halves between the two threads. No scheduler can pass work to another thread sooner. A scheduler that runs a job in
//! place can be faster still.

use std::hint::{black_box, spin_loop};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::work::{self, Counter, JOBS};
use crate::harness::{Cell, Reading};

/// A separate cache line for each side's counter.
#[derive(Default)]
#[repr(align(128))]
struct Line<T>(T);

#[derive(Default)]
struct Worker {
    asked: Line<AtomicU64>,
    done: Line<AtomicU64>,
    stop: AtomicBool,
}

impl Worker {
    /// Runs `main` with a worker that does `job` on each request.
    fn with<R>(job: impl Fn() + Send + Sync, main: impl FnOnce(&Worker) -> R) -> R {
        let worker = Worker::default();
        std::thread::scope(|scope| {
            scope.spawn(|| worker.serve(job));
            let result = main(&worker);
            worker.stop.store(true, Ordering::Relaxed);
            result
        })
    }

    fn serve(&self, job: impl Fn()) {
        let mut done = 0;
        while !self.stop.load(Ordering::Relaxed) {
            // Acquire: sees the main thread's writes before the request.
            if self.asked.0.load(Ordering::Acquire) == done {
                spin_loop();
                continue;
            }
            job();
            done += 1;
            // Release: pairs with the main thread's wait.
            self.done.0.store(done, Ordering::Release);
        }
    }

    /// Starts the worker, and returns the count to wait for.
    fn ask(&self) -> u64 {
        let asked = self.asked.0.load(Ordering::Relaxed) + 1;
        self.asked.0.store(asked, Ordering::Release);
        asked
    }

    fn wait(&self, asked: u64) {
        while self.done.0.load(Ordering::Acquire) != asked {
            spin_loop();
        }
    }
}

pub(super) fn empty(cell: Cell) -> Reading {
    let count = Counter::default();
    let job = || count.add();
    Worker::with(job, |worker| cell.run((), |()| worker.wait(worker.ask()), |()| count.get()))
}

/// Measures a chain whose jobs are passed to the worker one by one.
pub(super) fn chain(cell: Cell) -> Reading {
    let count = Counter::default();
    let job = || count.step((count.get() % JOBS as u64) as usize);
    let operation = |worker: &Worker| {
        for _ in 0..JOBS {
            worker.wait(worker.ask());
        }
    };
    Worker::with(job, |worker| cell.run((), |()| operation(worker), |()| count.get()))
}

pub(super) fn fan(cell: Cell) -> Reading {
    let counters = Counter::leaked_fan();
    let (ours, theirs) = counters.split_at(JOBS / 2);
    let all = |counters: &[Counter]| {
        for counter in counters {
            black_box(counter).add();
        }
    };
    Worker::with(
        || all(theirs),
        |worker| {
            let operation = |(): &mut ()| {
                let asked = worker.ask();
                all(ours);
                worker.wait(asked);
            };
            cell.run((), operation, |()| work::fan_result(counters))
        },
    )
}

/// Measures a loop in fixed halves. The worker's half is behind a lock without contention.
pub(super) fn parallel_for<const BATCH: usize>(cell: Cell) -> Reading {
    let mut elements = work::elements();
    let (ours, theirs) = elements.split_at_mut(work::ELEMENTS / 2);
    let theirs = Mutex::new(theirs);
    let all = |elements: &mut [f32]| {
        for batch in elements.chunks_mut(black_box(BATCH)) {
            work::advance(batch);
        }
    };
    Worker::with(
        || all(&mut theirs.lock().expect("no panic")),
        |worker| {
            let operation = |ours: &mut &mut [f32]| {
                let asked = worker.ask();
                all(ours);
                worker.wait(asked);
            };
            cell.run(ours, operation, |ours| {
                let theirs = theirs.lock().expect("no panic");
                work::elements_result(&[&**ours, &**theirs].concat())
            })
        },
    )
}
