//! Execution order of jobs and batches where the graph leaves it open.

/// The order in which a scheduler starts jobs and batches where the graph leaves it open.
///
/// A correct program computes the same results in every mode. `Serial` and `Shuffle` exist to verify that.
///
/// # Examples
///
/// ```
/// use ancho_jobs::{ExecutionMode, JobPool, JobScheduler};
///
/// let pool = JobPool::new();
/// let order = |mode| {
///     let jobs = JobScheduler::new(&pool);
///     jobs.set_mode(mode);
///     let mut squares = ancho_jobs::JobSlice::from(vec![0; 100]);
///     jobs.schedule_for_each(&[], squares.write(), 100, 8, |square, i| *square = i * i).unwrap();
///     jobs.complete_everything();
///     squares.into_vec().unwrap()
/// };
/// assert_eq!(order(ExecutionMode::Serial), order(ExecutionMode::Shuffle { seed: 7 }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ExecutionMode {
    /// Runs jobs on all threads, in the fastest order.
    #[default]
    Parallel,
    /// Runs jobs only on the owner's thread: jobs in the order in which they were scheduled, batches in ascending order.
    Serial,
    /// Runs jobs on all threads, with jobs and batches in a random order that depends on the seed.
    Shuffle {
        /// The seed of the order.
        seed: u64,
    },
}

/// A small random number generator for shuffling (SplitMix64; Steele, Lea and Flood, 2014).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// Shuffles the items (Fisher and Yates).
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, (self.next() % (i as u64 + 1)) as usize);
        }
    }
}

fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ bits >> 31
}

/// A random permutation of `0..length` that needs no memory: a Feistel cipher on just enough bits, repeated until the
/// result is below `length`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Permutation {
    seed: u64,
    length: u32,
    half_bits: u32,
}

impl Permutation {
    pub(crate) fn new(length: u32, seed: u64) -> Self {
        let bits = u32::BITS - length.saturating_sub(1).leading_zeros();
        Self { seed, length, half_bits: bits.div_ceil(2).max(1) }
    }

    /// Returns the image of `position`. Each value of `0..length` is the image of one position.
    pub(crate) fn apply(&self, position: u32) -> u32 {
        let mut value = u64::from(position);
        loop {
            value = self.encrypt(value);
            if value < u64::from(self.length) {
                return value as u32;
            }
        }
    }

    fn encrypt(&self, value: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        let (mut left, mut right) = (value >> self.half_bits, value & mask);
        for round in 0..4 {
            let key = mix(self.seed ^ right.wrapping_add(round << 40)) & mask;
            (left, right) = (right, left ^ key);
        }
        left << self.half_bits | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permutation_reaches_every_number_once() {
        for length in [1, 2, 3, 7, 64, 100, 1000] {
            let permutation = Permutation::new(length, 42);
            let mut reached: Vec<u32> = (0..length).map(|i| permutation.apply(i)).collect();
            reached.sort_unstable();
            assert!(reached.into_iter().eq(0..length), "length {length}");
        }
    }

    #[test]
    fn seeds_give_different_orders() {
        let order = |seed| {
            let permutation = Permutation::new(100, seed);
            (0..100).map(|i| permutation.apply(i)).collect::<Vec<_>>()
        };
        assert_ne!(order(1), order(2));
        assert_ne!(order(1), (0..100).collect::<Vec<_>>());
    }
}
