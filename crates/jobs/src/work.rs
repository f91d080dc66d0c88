//! One participant's share of a parallel job.
#![expect(unsafe_code, reason = "opens each batch that was claimed, once")]

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::data::ParallelJobData;
use crate::mode::Permutation;
use crate::ranges::Ranges;

/// Which batch of a parallel job is at hand.
///
/// Concurrent writers get it: see [`ConcurrentWrite`](crate::ConcurrentWrite).
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
    /// Claimed and not yet started.
    claimed: Range<u32>,
    count: usize,
    batch: usize,
    order: Option<Permutation>,
    /// The most batches to claim at once, and where to begin stealing; drawn by lot when shuffling.
    claim_limit: u32,
    steal_first: usize,
    /// Where the batch at hand begins.
    current: usize,
    /// How many batches were started.
    started: usize,
}

impl Claims {
    /// For a job that has no batches.
    pub(crate) fn none(lane: usize) -> Self {
        Self::alone(lane, 0, 1, 0, None)
    }

    /// All the batches, for a job with one participant.
    pub(crate) fn alone(
        lane: usize,
        count: usize,
        batch: usize,
        batches: u32,
        shuffle: Option<u64>,
    ) -> Self {
        Self {
            ranges: None,
            lane,
            claimed: 0..batches,
            count,
            batch,
            order: shuffle.map(|seed| Permutation::new(batches, seed)),
            claim_limit: 1,
            steal_first: 0,
            current: 0,
            started: 0,
        }
    }

    /// A share of the batches in the lanes.
    pub(crate) fn shared(
        ranges: &Arc<Ranges>,
        lane: usize,
        count: usize,
        batch: usize,
        batches: u32,
        shuffle: Option<u64>,
    ) -> Self {
        let mut claims = Self::alone(lane, count, batch, batches, shuffle);
        claims.ranges = Some(Arc::clone(ranges));
        claims.claimed = 0..0;
        match shuffle {
            None => claims.claim_limit = u32::MAX,
            Some(seed) => claims.steal_first = (seed >> 7) as usize & 0xFFFF,
        }
        claims
    }

    /// Returns where the batch at hand begins.
    pub(crate) fn current(&self) -> usize {
        self.current
    }

    /// Returns how many batches were started.
    pub(crate) fn started(&self) -> usize {
        self.started
    }

    /// Passes over all batches that are left.
    pub(crate) fn abandon(&mut self) {
        while self.next().is_some() {}
    }

    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<BatchInfo> {
        if self.claimed.start >= self.claimed.end && !self.refill() {
            return None;
        }
        let position = self.claimed.start;
        self.claimed.start += 1;
        let index = match &self.order {
            None => position as usize,
            Some(order) => order.apply(position) as usize,
        };
        let start = index * self.batch;
        self.current = start;
        self.started += 1;
        let end = start + self.batch.min(self.count - start);
        Some(BatchInfo {
            index,
            range: start..end,
            thread: self.lane,
        })
    }

    #[inline(never)]
    fn refill(&mut self) -> bool {
        let Some(ranges) = &self.ranges else {
            return false;
        };
        loop {
            if let Some(claimed) = ranges.claim(self.lane, self.claim_limit) {
                self.claimed = claimed;
                return true;
            }
            if !ranges.steal(self.lane, self.steal_first) {
                return false;
            }
        }
    }
}

/// One thread's share of a parallel job: hands out batches until none is left.
///
/// This is what user-defined job kinds are made of (Unity's `GetWorkStealingRange`): the function
/// given to [`JobScheduler::schedule_work`](crate::JobScheduler::schedule_work) is called once by
/// every thread that takes part, and loops over [`next_batch`](Self::next_batch).
///
/// # Examples
///
/// A job kind that keeps a scratch buffer for all the batches of a thread:
///
/// ```
/// use ancho_jobs::{JobPool, JobScheduler, JobSlice};
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let mut values = JobSlice::from(vec![1_u32; 1000]);
/// let job = jobs.schedule_work(&[], values.write(), 1000, 64, |work| {
///     let mut scratch = Vec::new();
///     while let Some((values, _range)) = work.next_batch() {
///         scratch.clear();
///         scratch.extend(values.iter().map(|value| value + 1));
///         values.copy_from_slice(&scratch);
///     }
/// });
/// jobs.complete(job.unwrap());
/// assert!(values.as_slice().unwrap().iter().all(|&value| value == 2));
/// ```
pub struct Work<'v, D: ParallelJobData> {
    pub(crate) held: &'v D::Held,
    pub(crate) claims: &'v mut Claims,
}

impl<'v, D: ParallelJobData> Work<'v, D> {
    /// Returns the views of the next batch and its indices, or `None` when no batch is left.
    #[inline(always)]
    pub fn next_batch(&mut self) -> Option<(D::Batch<'v>, Range<usize>)> {
        let info = self.claims.next()?;
        // SAFETY: the claims gave this batch to this participant alone, once, and `Work` is made only
        // for jobs that are under way.
        let batch = unsafe { D::batch(self.held, &info) };
        Some((batch, info.range))
    }
}

impl<D: ParallelJobData> fmt::Debug for Work<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Work")
            .field("thread", &self.claims.lane)
            .finish_non_exhaustive()
    }
}
