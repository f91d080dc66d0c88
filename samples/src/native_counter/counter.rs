//! A counter of one number, shared by all threads.

use std::sync::atomic::{AtomicI64, Ordering};

use ancho::collections::Container;
use ancho::jobs::{BatchInfo, ConcurrentWrite};

use super::{Count, Increment};

/// A number that several threads can increment at once.
#[derive(Debug, Default)]
pub(crate) struct Counter {
    count: AtomicI64,
}

impl Count for Counter {
    fn count(&self) -> i64 {
        self.count.load(Ordering::Relaxed)
    }

    fn set_count(&mut self, count: i64) {
        *self.count.get_mut() = count;
    }

    /// Increments with exclusive access: no atomic operation is needed.
    fn increment(&mut self) {
        *self.count.get_mut() += 1;
    }
}

impl Container for Counter {}

/// Write access of a batch to a counter: it can increment, but not read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CounterWriter<'v> {
    count: &'v AtomicI64,
}

impl Increment for CounterWriter<'_> {
    fn increment(&self) {
        // Relaxed: readers have completed the job first, which makes all increments visible.
        self.count.fetch_add(1, Ordering::Relaxed);
    }
}

impl ConcurrentWrite for Counter {
    type Writer<'v> = CounterWriter<'v>;
    type Item<'b> = CounterWriter<'b>;

    fn writer(&self, _: &BatchInfo) -> CounterWriter<'_> {
        CounterWriter { count: &self.count }
    }

    fn item<'b>(writer: &'b mut CounterWriter<'_>, _: usize) -> CounterWriter<'b> {
        *writer
    }
}
