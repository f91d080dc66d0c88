//! The batches that a participant of a parallel job takes.

use std::ops::Range;
use std::sync::Arc;

use crate::mode::Permutation;
use crate::ranges::Ranges;

/// A batch of a parallel job: its index, its range, and the thread that runs it.
///
/// Passed to concurrent writers: see [`ConcurrentWrite`](crate::ConcurrentWrite).
///
/// # Examples
///
/// The last batch of a thousand indices in batches of 64, as the scheduler's owner would run it:
///
/// ```
/// use ancho_jobs::BatchInfo;
///
/// let batch = BatchInfo { index: 15, range: 960..1000, thread: 0 };
/// assert_eq!(batch.range.start, batch.index * 64);
/// assert_eq!(batch.range.len(), 40);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchInfo {
    /// The number of the batch, counted from zero in index order. Sort results by it if they must not depend on threads.
    pub index: usize,
    /// The indices of the batch.
    pub range: Range<usize>,
    /// The index of the thread that runs the batch, as returned by [`thread_index`](crate::thread_index).
    pub thread: usize,
}

/// The batches that one thread takes from a parallel job, one after another.
pub(crate) struct Claims {
    /// The lanes shared with the other participants; `None` if there is only one participant.
    ranges: Option<Arc<Ranges>>,
    lane: usize,
    /// Batches that are claimed, but not yet in `run`.
    claimed: Range<u32>,
    /// The batches that are taken next.
    run: Run,
    /// The number of batches that were started before those in `run`.
    started: usize,
    order: Option<Permutation>,
    /// The maximum number of batches to claim at once. `steal_first` is the first lane to steal from. Both are random when
    /// shuffling.
    claim_limit: u32,
    steal_first: usize,
}

/// A run of consecutive batches.
#[derive(Clone)]
struct Run {
    first: usize,
    next: usize,
    end: usize,
    /// The first index of the next batch. It is stored, because a multiplication per batch costs more.
    start: usize,
    /// The number of indices per batch. `count` is the total number of indices.
    batch: usize,
    count: usize,
    thread: usize,
}

impl Run {
    #[inline(always)]
    fn next(&mut self) -> Option<BatchInfo> {
        if self.next >= self.end {
            return None;
        }
        let (index, start) = (self.next, self.start);
        let end = start + self.batch.min(self.count - start);
        self.next += 1;
        self.start = end;
        Some(BatchInfo { index, range: start..end, thread: self.thread })
    }
}

impl Claims {
    /// Creates claims on all batches, for a job with one participant.
    pub(crate) fn alone(
        thread: usize,
        count: usize,
        batch: usize,
        batches: u32,
        shuffle: Option<u64>,
    ) -> Self {
        Self {
            ranges: None,
            lane: thread,
            claimed: 0..batches,
            run: Run { first: 0, next: 0, end: 0, start: 0, batch, count, thread },
            started: 0,
            order: shuffle.map(|seed| Permutation::new(batches, seed)),
            claim_limit: u32::MAX,
            steal_first: 0,
        }
    }

    /// Creates claims on a share of the batches in the lanes.
    pub(crate) fn shared(
        ranges: &Arc<Ranges>,
        thread: usize,
        count: usize,
        batch: usize,
        batches: u32,
        shuffle: Option<u64>,
    ) -> Self {
        let mut claims = Self::alone(thread, count, batch, batches, shuffle);
        claims.ranges = Some(Arc::clone(ranges));
        claims.claimed = 0..0;
        if let Some(seed) = shuffle {
            claims.claim_limit = 1;
            claims.steal_first = (seed >> 7) as usize & 0xFFFF;
        }
        claims
    }

    /// Returns the index of the thread that holds the claims.
    pub(crate) fn thread(&self) -> usize {
        self.run.thread
    }

    /// Returns the first index of the batch that was started last.
    pub(crate) fn current(&self) -> usize {
        self.run.next.saturating_sub(1) * self.run.batch
    }

    /// Returns the number of batches that were started.
    pub(crate) fn started(&self) -> usize {
        self.started + (self.run.next - self.run.first)
    }

    /// Skips all remaining batches.
    pub(crate) fn abandon(&mut self) {
        while self.next().is_some() {}
    }

    /// Starts the next batch.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<BatchInfo> {
        self.run.next().or_else(|| if self.refill() { self.run.next() } else { None })
    }

    /// Calls `work` for every remaining batch.
    ///
    /// Equivalent to a loop over `next`, but the position stays in registers. It is written back when the loop ends
    /// or `work` unwinds. With batches of a few dozen additions, this halves the cost.
    #[inline(always)]
    pub(crate) fn for_each(&mut self, mut work: impl FnMut(BatchInfo)) {
        struct WriteBack<'c> {
            run: Run,
            place: &'c mut Run,
        }

        impl Drop for WriteBack<'_> {
            #[inline(always)]
            fn drop(&mut self) {
                self.place.next = self.run.next;
                self.place.start = self.run.start;
            }
        }

        loop {
            let mut at_hand = WriteBack { run: self.run.clone(), place: &mut self.run };
            while let Some(batch) = at_hand.run.next() {
                work(batch);
            }
            drop(at_hand);
            if !self.refill() {
                return;
            }
        }
    }

    /// Refills the empty `run`. Returns false when no batch is left.
    #[inline(never)]
    fn refill(&mut self) -> bool {
        while self.claimed.is_empty() {
            let Some(ranges) = &self.ranges else { return false };
            match ranges.claim(self.lane, self.claim_limit) {
                Some(claimed) => self.claimed = claimed,
                None if ranges.steal(self.lane, self.steal_first) => {}
                None => return false,
            }
        }
        self.started += self.run.next - self.run.first;
        let Range { start, end } = self.claimed;
        let (first, end) = match &self.order {
            None => {
                self.claimed.start = end;
                (start as usize, end as usize)
            }
            Some(order) => {
                self.claimed.start += 1;
                let drawn = order.apply(start) as usize;
                (drawn, drawn + 1)
            }
        };
        (self.run.first, self.run.next, self.run.end) = (first, first, end);
        self.run.start = first * self.run.batch;
        true
    }
}
