//! rayon as most programs have it: a pool of two threads, and the main thread outside, asleep
//! while they work.
//!
//! The functions that end in `_on` are shared with [`rayon_inside`](super::rayon_inside).

use std::hint::black_box;

use rayon::prelude::*;
use rayon::{Scope, ThreadPool, ThreadPoolBuilder};

use super::work::{self, Counter, JOBS};
use crate::harness::{Cell, Reading};

/// Measures `install`, which passes one closure to the pool and waits for it. A scope with one `spawn` needs a second job, and
/// takes 1 to 2 µs more.
pub(super) fn empty(cell: Cell) -> Reading {
    let count = Counter::default();
    let operation = |pool: &mut ThreadPool| pool.install(|| count.add());
    cell.run(pool(), operation, |_| count.get())
}

pub(super) fn chain(cell: Cell) -> Reading {
    chain_on(cell, &pool())
}

pub(super) fn fan(cell: Cell) -> Reading {
    fan_on(cell, &pool())
}

pub(super) fn parallel_for<const BATCH: usize>(cell: Cell) -> Reading {
    parallel_for_on::<BATCH>(cell, &pool())
}

/// Measures jobs that are spawned by the jobs on which they depend, because rayon has no graph.
pub(super) fn chain_on(cell: Cell, pool: &ThreadPool) -> Reading {
    fn link<'scope>(scope: &Scope<'scope>, count: &'scope Counter, job: usize) {
        scope.spawn(move |scope| {
            count.step(job);
            if job + 1 < JOBS {
                link(scope, count, job + 1);
            }
        });
    }
    let count = Counter::default();
    let operation = |(): &mut ()| pool.scope(|scope| link(scope, &count, 0));
    cell.run((), operation, |()| count.get())
}

pub(super) fn fan_on(cell: Cell, pool: &ThreadPool) -> Reading {
    let counters = Counter::leaked_fan();
    let operation = |(): &mut ()| {
        pool.scope(|scope| {
            for counter in counters {
                scope.spawn(|_| counter.add());
            }
        });
    };
    cell.run((), operation, |()| work::fan_result(counters))
}

/// Measures a parallel loop. Small batches are faster as the minimum length of a parallel iterator over the elements, and larger
/// ones as chunks. Both forms are in rayon's documentation, so each case uses the faster one.
pub(super) fn parallel_for_on<const BATCH: usize>(cell: Cell, pool: &ThreadPool) -> Reading {
    let operation = |elements: &mut Vec<f32>| {
        pool.install(|| {
            if BATCH < 1_024 {
                let elements = elements.par_iter_mut().with_min_len(black_box(BATCH));
                elements.for_each(work::advance_one);
            } else {
                elements.par_chunks_mut(black_box(BATCH)).for_each(work::advance);
            }
        });
    };
    cell.run(work::elements(), operation, |elements| work::elements_result(elements))
}

fn pool() -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(2).build().expect("two threads")
}
