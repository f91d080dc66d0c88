//! The batches that a participant of a parallel job takes.

use std::ops::Range;
use std::sync::Arc;

use crate::mode::Permutation;
use crate::ranges::Ranges;

/// Which batch of a parallel job is at hand.
///
/// Concurrent writers get it: see [`ConcurrentWrite`](crate::ConcurrentWrite).
///
/// # Examples
///
/// The last of a thousand indices in batches of 64, as the owner would run it:
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
    /// Which batch, counted from zero in the order of the indices: the key to sort by where results
    /// must not depend on threads.
    pub index: usize,
    /// The indices of the batch.
    pub range: Range<usize>,
    /// The index of the thread that runs it, as [`thread_index`](crate::thread_index) gives it.
    pub thread: usize,
}

/// The batches that one thread takes from a parallel job, one after the other.
pub(crate) struct Claims {
    /// The lanes shared with the other participants; `None` where there is only this one.
    ranges: Option<Arc<Ranges>>,
    lane: usize,
    /// Claimed, and not yet in `run`.
    claimed: Range<u32>,
    /// The batches at hand.
    run: Run,
    /// How many batches were started before those.
    started: usize,
    order: Option<Permutation>,
    /// The most batches to claim at once, and where to begin stealing; drawn by lot when shuffling.
    claim_limit: u32,
    steal_first: usize,
}

/// Batches in a row.
#[derive(Clone)]
struct Run {
    first: usize,
    next: usize,
    end: usize,
    /// Where the next one begins: kept beside its number, since a multiplication for each is dearer.
    start: usize,
    /// How many indices to a batch, and how many in all.
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
    /// All the batches, for a job with one participant.
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

    /// A share of the batches in the lanes.
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

    /// Returns the index of the thread that they are for.
    pub(crate) fn thread(&self) -> usize {
        self.run.thread
    }

    /// Returns where the batch that was started last begins.
    pub(crate) fn current(&self) -> usize {
        self.run.next.saturating_sub(1) * self.run.batch
    }

    /// Returns how many batches were started.
    pub(crate) fn started(&self) -> usize {
        self.started + (self.run.next - self.run.first)
    }

    /// Passes over all batches that are left.
    pub(crate) fn abandon(&mut self) {
        while self.next().is_some() {}
    }

    /// Starts the next batch.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<BatchInfo> {
        self.run.next().or_else(|| if self.refill() { self.run.next() } else { None })
    }

    /// Calls `work` for every batch that is left.
    ///
    /// As a loop over `next`, but the place in the run is in registers meanwhile, and written back
    /// when it ends or `work` unwinds. With batches of a few dozen additions that is half of the cost.
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

    /// Puts more batches in `run`, which is used up. Returns false when none is left.
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
