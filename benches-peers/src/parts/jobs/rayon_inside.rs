//! rayon with the main thread made one of the pool's two threads.
//!
//! `use_current_thread` is documented but little used: the pool can never be freed, only the thread
//! that built it is inside, and jobs spawned outside a scope wait until that thread yields to rayon.
//! A program that accepts this never blocks on, and seldom wakes, another thread. So its figures are listed beside those of the
//! usual pool.

use ::rayon::{ThreadPool, ThreadPoolBuilder};

use super::rayon;
use super::work::Counter;
use crate::harness::{Cell, Reading};

/// Measures a scope with one job. `install` would only call its closure, since the caller is a thread of the pool.
pub(super) fn empty(cell: Cell) -> Reading {
    let count = Counter::default();
    let operation = |pool: &mut ThreadPool| pool.scope(|scope| scope.spawn(|_| count.add()));
    cell.run(pool(), operation, |_| count.get())
}

pub(super) fn chain(cell: Cell) -> Reading {
    rayon::chain_on(cell, &pool())
}

pub(super) fn fan(cell: Cell) -> Reading {
    rayon::fan_on(cell, &pool())
}

pub(super) fn parallel_for<const BATCH: usize>(cell: Cell) -> Reading {
    rayon::parallel_for_on::<BATCH>(cell, &pool())
}

fn pool() -> ThreadPool {
    ThreadPoolBuilder::new()
        .num_threads(2)
        .use_current_thread()
        .build()
        .expect("a thread beside this one")
}
