//! A number for each thread, in a cache line of its own.

use std::sync::atomic::{AtomicI64, Ordering};

use ancho::collections::Container;
use ancho::jobs::{BatchInfo, ConcurrentWrite};

use super::{Count, Increment};

/// How many numbers there are. Threads beyond share them.
const PARTS: usize = 128;

/// A number that can be counted up by several threads at once, each of which has its own part of it.
///
/// Counting is cheap: no thread waits for another's cache line. Asking is dear: it adds up all parts.
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

/// What a batch has of a counter: its thread's part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartWriter<'v> {
    part: &'v Part,
}

impl Increment for PartWriter<'_> {
    fn increment(&self) {
        // An atomic addition, since threads beyond the last part share one; nobody else has the line.
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
