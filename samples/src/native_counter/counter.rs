//! One number that all threads count with.

use std::sync::atomic::{AtomicI64, Ordering};

use ancho::collections::Container;
use ancho::jobs::{BatchInfo, ConcurrentWrite};

use super::{Count, Increment};

/// A number that can be counted up by several threads at once.
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

    /// By the only one who has it: no atomic operation is needed.
    fn increment(&mut self) {
        *self.count.get_mut() += 1;
    }
}

impl Container for Counter {}

/// What a batch has of a counter: it can count, and cannot look.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CounterWriter<'v> {
    count: &'v AtomicI64,
}

impl Increment for CounterWriter<'_> {
    fn increment(&self) {
        // Relaxed: whoever reads the counter has waited for the job, and sees all of it.
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
