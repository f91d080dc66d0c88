//! The batches of a parallel job, split between its participants.
//!
//! Each participant has a lane: a range of unclaimed batches, packed in one word on a cache line of its own (`begin`
//! in the high half, `end` in the low half). A participant takes batches from the front of its own lane, several at a
//! time while many are left ("guided" self-scheduling). When its lane is empty, it takes the back half of another
//! lane.
//!
//! One shared counter would be simpler, but slower than a serial loop at small batches: every batch would fetch the
//! same cache line from another core.
//!
//! All accesses are relaxed. The word of a lane only contains the unclaimed batches. The gate orders the reads and writes of the
//! batches. A word that returns to an old value (ABA) is harmless, because it has the same meaning as before.

use std::ops::Range;

use crossbeam_utils::CachePadded;

use crate::primitive::{AtomicU64, Ordering};

/// The maximum number of batches that are claimed at once, so that other threads can steal the rest.
const CLAIM_LIMIT: u32 = 64;

/// The lanes of all participants.
#[derive(Debug)]
pub(crate) struct Ranges {
    lanes: Box<[CachePadded<AtomicU64>]>,
}

impl Ranges {
    /// Creates empty lanes for `participants` threads.
    pub(crate) fn new(participants: usize) -> Self {
        Self { lanes: (0..participants).map(|_| CachePadded::new(AtomicU64::new(0))).collect() }
    }

    /// Assigns all batches to one lane, and clears the other lanes, in which an abandoned job may have left batches. No other
    /// thread may work on the job during the call.
    pub(crate) fn start(&self, lane: usize, batches: u32) {
        for (other, word) in self.lanes.iter().enumerate() {
            let range = if other == lane { 0..batches } else { 0..0 };
            word.store(pack(range), Ordering::Relaxed);
        }
    }

    /// Claims batches from the front of the lane: a quarter of the remaining ones, within `1..=limit`.
    pub(crate) fn claim(&self, lane: usize, limit: u32) -> Option<Range<u32>> {
        let word = &self.lanes[lane];
        let mut packed = word.load(Ordering::Relaxed);
        loop {
            let left = unpack(packed);
            if left.is_empty() {
                return None;
            }
            let size = (left.len() as u32 / 4).clamp(1, limit.clamp(1, CLAIM_LIMIT));
            let split = left.start + size;
            let rest = pack(split..left.end);
            match word.compare_exchange_weak(packed, rest, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some(left.start..split),
                Err(found) => packed = found,
            }
        }
    }

    /// Moves the back half of another lane into this one, which must be empty. Tries the other lanes in turn, starting `first`
    /// lanes after this one. Returns false if all lanes are empty.
    pub(crate) fn steal(&self, lane: usize, first: usize) -> bool {
        let count = self.lanes.len();
        let steps = (0..count - 1).map(|step| 1 + (first + step) % (count - 1));
        steps.map(|step| (lane + step) % count).any(|victim| self.steal_from(lane, victim))
    }

    fn steal_from(&self, lane: usize, victim: usize) -> bool {
        let word = &self.lanes[victim];
        let mut packed = word.load(Ordering::Relaxed);
        loop {
            let left = unpack(packed);
            if left.is_empty() {
                return false;
            }
            let split = left.start + left.len() as u32 / 2;
            let rest = pack(left.start..split);
            match word.compare_exchange_weak(packed, rest, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => {
                    self.lanes[lane].store(pack(split..left.end), Ordering::Relaxed);
                    return true;
                }
                Err(found) => packed = found,
            }
        }
    }
}

fn pack(range: Range<u32>) -> u64 {
    u64::from(range.start) << 32 | u64::from(range.end)
}

fn unpack(packed: u64) -> Range<u32> {
    (packed >> 32) as u32..packed as u32
}
