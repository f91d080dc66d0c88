//! The contents of the containers, and the expected results: the same for every subject.

use std::hint::black_box;
use std::ops::Range;
use std::slice;
use std::thread;

/// Operations of a case.
pub(super) const OPERATIONS: u64 = 1_000_000;
/// Bytes of a block of scratch memory.
pub(super) const BLOCK: usize = 1 << 10;
/// Blocks of scratch memory in a frame, which are all freed at its end. They are not quite a mebibyte.
pub(super) const FRAME: u64 = 1_000;
/// Number of frames.
pub(super) const FRAMES: u64 = OPERATIONS / FRAME;

/// Returns the key of an element. Keys are unique, and in no order (the finaliser of SplitMix64).
#[inline]
pub(super) fn key(index: u64) -> u64 {
    let mixed = (index ^ (index >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Returns the sum of the elements of a list.
///
/// Both lists are read as slices, so they share this loop. Two copies of the loop would differ: an iteration takes one or two
/// cycles, depending on the position of the loop in a cache line.
#[inline(never)]
pub(super) fn sum(elements: slice::Iter<'_, u64>) -> u64 {
    elements.sum()
}

/// Returns the keys and values of a map, in the order of insertion.
#[inline]
pub(super) fn pairs() -> impl Iterator<Item = (u64, u64)> {
    (0..OPERATIONS).map(|index| (key(index), index))
}

/// Returns all keys in another, unpredictable order.
pub(super) fn shuffled_keys() -> Vec<u64> {
    let mut keys: Vec<u64> = (0..OPERATIONS).map(key).collect();
    for last in (1..keys.len()).rev() {
        let chosen = key(OPERATIONS + last as u64) % (last as u64 + 1);
        keys.swap(last, chosen as usize);
    }
    keys
}

/// Processes one half of the indices on another thread, and the other half on this one.
pub(super) fn on_two_threads(work: impl Fn(Range<u64>) + Sync) {
    let middle = OPERATIONS / 2;
    thread::scope(|scope| {
        scope.spawn(|| work(middle..OPERATIONS));
        work(0..middle);
    });
}

/// Returns the key whose value the owner reads after two threads have written.
pub(super) fn read_back() -> u64 {
    black_box(key(OPERATIONS / 3))
}

/// Returns a hash of the elements that depends on their order.
pub(super) fn in_order(elements: impl Iterator<Item = u64>) -> u64 {
    elements.fold(0xcbf2_9ce4_8422_2325, |hash, word| (hash ^ word).wrapping_mul(0x100_0000_01b3))
}

/// Returns a hash of the elements that does not depend on their order.
pub(super) fn in_any_order(elements: impl Iterator<Item = u64>) -> u64 {
    elements.fold(0, |sum, element| sum.wrapping_add(key(element + 1)))
}

/// Returns a hash of the pairs of a map that does not depend on their order.
pub(super) fn map_result(pairs: impl Iterator<Item = (u64, u64)>) -> u64 {
    pairs.fold(0, |sum, (key, value)| sum.wrapping_add(self::key(key ^ self::key(value + 1))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_differ() {
        let mut keys: Vec<u64> = (0..OPERATIONS).map(key).collect();
        let mut shuffled = shuffled_keys();
        assert_ne!(keys, shuffled);
        keys.sort_unstable();
        shuffled.sort_unstable();
        assert_eq!(keys, shuffled);
        keys.dedup();
        assert_eq!(keys.len(), OPERATIONS as usize);
    }
}
