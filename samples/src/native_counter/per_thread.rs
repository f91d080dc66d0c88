//! A counter with a number for each thread, in its own cache line.

use std::sync::atomic::{AtomicI64, Ordering};

use ancho::collections::Container;
use ancho::jobs::{BatchInfo, ConcurrentWrite};

use super::{Count, Increment};

/// Number of parts. Additional threads share them.
const PARTS: usize = 128;

/// A number that several threads can increment at once, each in its own part.
///
/// Incrementing is cheap: no thread waits for another's cache line. Reading is expensive: it adds up all parts.
#[derive(Debug)]
pub(crate) struct PerThreadCounter {
    parts: Box<[Part]>,
}

/// A cache line, so that two threads never write to the same one.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Part {
    count: AtomicI64,
}

impl Default for PerThreadCounter {
    fn default() -> Self {
        Self { parts: std::iter::repeat_with(Part::default).take(PARTS).collect() }
    }
}

impl Count for PerThreadCounter {
    fn count(&self) -> i64 {
        self.parts.iter().map(|part| part.count.load(Ordering::Relaxed)).sum()
    }

    /// Sets the first part, and all others to zero.
    fn set_count(&mut self, count: i64) {
        let mut counts = self.parts.iter_mut().map(|part| part.count.get_mut());
        counts.by_ref().take(1).for_each(|first| *first = count);
        counts.for_each(|other| *other = 0);
    }

    fn increment(&mut self) {
        self.parts.iter_mut().take(1).for_each(|first| *first.count.get_mut() += 1);
    }
}

impl Container for PerThreadCounter {}

/// Write access of a batch to a counter: the part of its thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartWriter<'v> {
    part: &'v Part,
}

impl Increment for PartWriter<'_> {
    fn increment(&self) {
        // An atomic addition, since additional threads share a part. Without them the cache line is uncontended.
        self.part.count.fetch_add(1, Ordering::Relaxed);
    }
}

impl ConcurrentWrite for PerThreadCounter {
    type Writer<'v> = PartWriter<'v>;
    type Item<'b> = PartWriter<'b>;

    fn writer(&self, batch: &BatchInfo) -> PartWriter<'_> {
        PartWriter { part: &self.parts[batch.thread % PARTS] }
    }

    fn item<'b>(writer: &'b mut PartWriter<'_>, _: usize) -> PartWriter<'b> {
        *writer
    }
}
