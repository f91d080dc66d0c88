//! bevy_tasks: a pool of one thread, and the main thread, which runs tasks while it waits in a
//! scope.

use std::hint::black_box;

use bevy_tasks::{ParallelSliceMut, TaskPool, TaskPoolBuilder, block_on};

use super::work::{self, Counter, JOBS};
use crate::harness::{Cell, Reading};

/// Measures a scope, because the thread of a scope helps. A task that is spawned and blocked on
/// takes ten times as long.
pub(super) fn empty(cell: Cell) -> Reading {
    let count = Counter::default();
    let operation = |pool: &mut TaskPool| {
        pool.scope(|scope| scope.spawn(async { count.add() }));
    };
    cell.run(pool(), operation, |_| count.get())
}

/// Measures tasks that await each other. Spawning each task from the previous one, in a scope, is a
/// third slower.
pub(super) fn chain(cell: Cell) -> Reading {
    let count = Counter::leaked();
    let operation = |pool: &mut TaskPool| {
        let mut last = pool.spawn(async { count.step(0) });
        for job in 1..JOBS {
            last = pool.spawn(async move {
                last.await;
                count.step(job);
            });
        }
        block_on(last);
    };
    cell.run(pool(), operation, |_| count.get())
}

pub(super) fn fan(cell: Cell) -> Reading {
    let counters = Counter::leaked_fan();
    let operation = |pool: &mut TaskPool| {
        pool.scope(|scope| {
            for counter in counters {
                scope.spawn(async { counter.add() });
            }
        });
    };
    cell.run(pool(), operation, |_| work::fan_result(counters))
}

/// Measures one task per batch, which is the way that the crate offers for slices.
pub(super) fn parallel_for<const BATCH: usize>(cell: Cell) -> Reading {
    let pool = pool();
    let operation = |elements: &mut Vec<f32>| {
        elements.par_chunk_map_mut(&pool, black_box(BATCH), |_, batch| work::advance(batch));
    };
    cell.run(work::elements(), operation, |elements| work::elements_result(elements))
}

fn pool() -> TaskPool {
    TaskPoolBuilder::new().num_threads(1).build()
}
