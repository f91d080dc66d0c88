//! paralight: a pool of two threads, to which the main thread lends a range. The main thread sleeps meanwhile.

use std::hint::black_box;

use paralight::prelude::*;

use super::work::{self, Counter, JOBS};
use crate::harness::{Cell, Reading};

pub(super) fn empty(cell: Cell) -> Reading {
    let count = Counter::default();
    let operation = |pool: &mut ThreadPool| {
        (0..1_usize).into_par_iter().with_thread_pool(pool).for_each(|_| count.add());
    };
    cell.run(pool(RangeStrategy::Fixed), operation, |_| count.get())
}

/// Measures one call per step, because paralight has neither a graph nor jobs that start others.
pub(super) fn chain(cell: Cell) -> Reading {
    let count = Counter::default();
    let operation = |pool: &mut ThreadPool| {
        for job in 0..JOBS {
            (job..job + 1)
                .into_par_iter()
                .with_thread_pool(&mut *pool)
                .for_each(|job| count.step(job));
        }
    };
    cell.run(pool(RangeStrategy::Fixed), operation, |_| count.get())
}

/// Measures the items of one parallel iterator, since there are no jobs. An item is cheaper than a job can be.
pub(super) fn fan(cell: Cell) -> Reading {
    let counters = Counter::leaked_fan();
    let operation = |pool: &mut ThreadPool| {
        counters.par_iter().with_thread_pool(pool).for_each(Counter::add);
    };
    cell.run(pool(RangeStrategy::Fixed), operation, |_| work::fan_result(counters))
}

/// Measures a loop over batches, which are divided before the timer starts, since there is no parallel `chunks_mut`. One item per
/// element is not vectorised and takes three times as long. Small batches are faster in fixed halves, and larger ones with
/// stealing.
pub(super) fn parallel_for<const BATCH: usize>(cell: Cell) -> Reading {
    let mut pool =
        pool(if BATCH < 1_024 { RangeStrategy::Fixed } else { RangeStrategy::WorkStealing });
    let mut elements = work::elements();
    let batches: Vec<&mut [f32]> = elements.chunks_mut(black_box(BATCH)).collect();
    let operation = |batches: &mut Vec<&mut [f32]>| {
        let batches = batches.par_iter_mut().with_thread_pool(&mut pool);
        batches.for_each(|batch| work::advance(batch));
    };
    cell.run(batches, operation, |batches| work::elements_result(&batches.concat()))
}

fn pool(range_strategy: RangeStrategy) -> ThreadPool {
    ThreadPoolBuilder {
        num_threads: ThreadCount::try_from(2).expect("not zero"),
        range_strategy,
        cpu_pinning: CpuPinningPolicy::No,
    }
    .build()
}
