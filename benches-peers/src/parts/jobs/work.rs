//! The work of the jobs: the same for every subject, and small enough not to dominate.

use std::sync::atomic::{AtomicU64, Ordering};

/// Jobs in a chain or a fan.
pub(super) const JOBS: usize = 1_000;
/// Elements of the parallel loops: 4 MB of `f32`.
pub(super) const ELEMENTS: usize = 1_000_000;

/// A count that one job at a time adds to.
///
/// It is atomic because most APIs require closures that are `Sync`. The subject orders the jobs, so a plain load and a plain store
/// suffice.
#[derive(Debug, Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    /// Creates a counter that lives as long as the process, for APIs that require `'static` closures.
    pub(super) fn leaked() -> &'static Counter {
        Box::leak(Box::default())
    }

    /// Creates a [leaked](Self::leaked) counter for each job of a fan. Only that job uses it.
    pub(super) fn leaked_fan() -> &'static [Counter] {
        std::iter::repeat_with(Counter::default).take(JOBS).collect::<Vec<_>>().leak()
    }

    /// Adds one.
    #[inline]
    pub(super) fn add(&self) {
        self.0.store(self.get() + 1, Ordering::Relaxed);
    }

    /// Adds one if the jobs of the chain ran in order. Otherwise makes the count wrong permanently.
    #[inline]
    pub(super) fn step(&self, job: usize) {
        self.0.store(step(self.get(), job), Ordering::Relaxed);
    }

    /// Reads the count.
    #[inline]
    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Returns the next state of a chain: one higher if `job` is next in order.
#[inline]
pub(super) fn step(count: u64, job: usize) -> u64 {
    const SPOILT: u64 = u64::MAX;
    if count != SPOILT && count % JOBS as u64 == job as u64 { count + 1 } else { SPOILT }
}

/// Condenses the counters of a fan.
pub(super) fn fan_result(counters: &[Counter]) -> u64 {
    hash(counters.iter().map(Counter::get))
}

/// Returns the data of a parallel loop.
pub(super) fn elements() -> Vec<f32> {
    (0..ELEMENTS).map(|index| (index % 1_000) as f32).collect()
}

/// The body of a parallel loop, for one batch.
#[inline]
pub(super) fn advance(batch: &mut [f32]) {
    batch.iter_mut().for_each(advance_one);
}

/// The body of a parallel loop, for one element.
#[inline]
pub(super) fn advance_one(x: &mut f32) {
    *x = *x * 1.0001 + 0.5;
}

/// Condenses the data of a parallel loop, to the bit.
pub(super) fn elements_result(elements: &[f32]) -> u64 {
    hash(elements.iter().map(|element| u64::from(element.to_bits())))
}

/// Returns an FNV-1a hash of words.
fn hash(words: impl Iterator<Item = u64>) -> u64 {
    words.fold(0xcbf2_9ce4_8422_2325, |hash, word| (hash ^ word).wrapping_mul(0x100_0000_01b3))
}
