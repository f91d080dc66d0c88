//! crossbeam's unbounded queue, to which any thread may push, and two threads that each push half of
//! the elements.

use std::iter;

use crossbeam_queue::SegQueue;

use super::work;
use crate::harness::{Cell, Reading};

pub(super) fn queue_push_2t(cell: Cell) -> Reading {
    let make = || (SegQueue::new(), 0);
    let operation = |(queue, first): &mut (SegQueue<u64>, u64)| {
        let shared = &*queue;
        work::on_two_threads(|half| {
            for value in half {
                shared.push(value);
            }
        });
        *first = queue.pop().expect("it was filled");
    };
    let result = |(queue, first): &mut (SegQueue<u64>, u64)| {
        work::in_any_order(iter::from_fn(|| queue.pop()).chain([*first]))
    };
    cell.run_afresh(make, operation, result)
}
