//! No scheduler at all: the main thread calls the jobs one after the other.

use std::hint::black_box;

use super::work::{self, Counter, JOBS};
use crate::harness::{Cell, Reading};

pub(super) fn empty(cell: Cell) -> Reading {
    let count = Counter::leaked();
    cell.run((), |()| black_box(count).add(), |()| count.get())
}

pub(super) fn chain(cell: Cell) -> Reading {
    let count = Counter::leaked();
    let operation = |(): &mut ()| {
        for job in 0..JOBS {
            black_box(count).step(job);
        }
    };
    cell.run((), operation, |()| count.get())
}

pub(super) fn fan(cell: Cell) -> Reading {
    let counters = Counter::leaked_fan();
    let operation = |(): &mut ()| {
        for counter in counters {
            black_box(counter).add();
        }
    };
    cell.run((), operation, |()| work::fan_result(counters))
}

pub(super) fn parallel_for<const BATCH: usize>(cell: Cell) -> Reading {
    let operation = |elements: &mut Vec<f32>| {
        for batch in elements.chunks_mut(black_box(BATCH)) {
            work::advance(batch);
        }
    };
    cell.run(work::elements(), operation, |elements| work::elements_result(elements))
}
