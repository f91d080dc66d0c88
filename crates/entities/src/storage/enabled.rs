//! The enabled bits of a chunk, which determine the rows whose enableable components are enabled.

#![expect(unsafe_code, reason = "memory whose address jobs keep")]

use std::ptr::NonNull;
use std::{mem, slice};

use super::row_moves::RowMove;
use super::versions::{MetadataPool, allocate, free};

/// The enabled bits of a chunk: for each enableable type a mask with one bit per row, which is one if the component is enabled.
///
/// ```text
/// mask 0: word 0 (rows 0 to 63), word 1 (rows 64 to 127), …
/// mask 1: word 0, word 1, …
/// ```
///
/// **Invariant:** bits after the last row are zero.
pub(crate) struct EnabledMasks {
    words: NonNull<u64>,
    masks: u32,
    words_each: u32,
}

// SAFETY: `EnabledMasks` owns its memory, as a box does.
unsafe impl Send for EnabledMasks {}

impl EnabledMasks {
    /// Creates masks for a chunk without rows.
    pub(crate) fn new(masks: usize, capacity: u32) -> Self {
        Self::with(masks, capacity, allocate)
    }

    /// Creates masks for a chunk without rows, in recycled memory.
    pub(super) fn new_in(masks: usize, capacity: u32, memory: &mut MetadataPool) -> Self {
        Self::with(masks, capacity, |bytes| memory.take(bytes))
    }

    fn with(masks: usize, capacity: u32, allocate: impl FnOnce(usize) -> NonNull<u8>) -> Self {
        let masks = u32::try_from(masks).expect("a chunk has room for fewer columns");
        let mut all =
            Self { words: NonNull::dangling(), masks, words_each: capacity.div_ceil(u64::BITS) };
        if let Some(bytes) = all.bytes() {
            let memory = allocate(bytes);
            // SAFETY: the memory was allocated with `bytes` bytes.
            unsafe { memory.write_bytes(0, bytes) };
            all.words = memory.cast();
        }
        all
    }

    /// Returns the size of the memory in bytes, or `None` if there are no masks.
    fn bytes(&self) -> Option<usize> {
        let words = self.masks as usize * self.words_each as usize;
        (words > 0).then_some(words * size_of::<u64>())
    }

    /// Returns the memory to the pool, which keeps up to `most` pieces of a size. Afterwards there are no masks.
    pub(super) fn recycle(&mut self, memory: &mut MetadataPool, most: usize) {
        let none = Self { words: NonNull::dangling(), masks: 0, words_each: 0 };
        let gone = mem::ManuallyDrop::new(mem::replace(self, none));
        if let Some(bytes) = gone.bytes() {
            // SAFETY: the memory was allocated with `bytes` bytes, and is not used afterwards.
            unsafe { memory.give_back(gone.words.cast(), bytes, most) };
        }
    }

    /// Returns whether there are no enableable types.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.masks == 0
    }

    /// Returns whether the memory has the size for this number of masks and this capacity.
    pub(crate) fn is_for(&self, masks: usize, capacity: u32) -> bool {
        self.masks as usize == masks && self.words_each == capacity.div_ceil(u64::BITS)
    }

    /// Returns the words of a mask.
    #[inline]
    pub(crate) fn words(&self, mask: u32) -> &[u64] {
        assert!(mask < self.masks);
        let each = self.words_each as usize;
        // SAFETY: the mask exists, with `words_each` initialised words.
        unsafe { slice::from_raw_parts(self.words.add(mask as usize * each).as_ptr(), each) }
    }

    /// Reads one word of a mask, without borrowing other words, which jobs may be changing.
    #[inline]
    pub(crate) fn word(&self, mask: u32, at: usize) -> u64 {
        assert!(mask < self.masks && at < self.words_each as usize);
        // SAFETY: the mask exists and has this word, which is initialised.
        unsafe { self.words.add(mask as usize * self.words_each as usize + at).read() }
    }

    /// Returns the address of the words of a mask, or null if there is no such mask. The address never changes.
    #[inline]
    pub(crate) fn address(&self, mask: u32) -> *mut u64 {
        if mask >= self.masks {
            return std::ptr::null_mut();
        }
        self.words.as_ptr().wrapping_add(mask as usize * self.words_each as usize)
    }

    #[inline]
    pub(super) fn words_mut(&mut self, mask: u32) -> &mut [u64] {
        // SAFETY: `self` is borrowed mutably, so nothing else uses the mask.
        unsafe { self.words_alone(mask) }
    }

    /// Returns the words of a mask mutably, while jobs may be using other masks.
    ///
    /// # Safety
    ///
    /// - nothing else uses the mask while the result lives
    #[inline]
    #[expect(
        clippy::mut_from_ref,
        reason = "the contract requires that nothing else uses the mask"
    )]
    unsafe fn words_alone(&self, mask: u32) -> &mut [u64] {
        assert!(mask < self.masks);
        let each = self.words_each as usize;
        // SAFETY: the mask exists and has `words_each` initialised words. The caller ensures that nothing else uses them.
        unsafe { slice::from_raw_parts_mut(self.words.add(mask as usize * each).as_ptr(), each) }
    }

    #[inline]
    pub(crate) fn get(&self, mask: u32, row: u32) -> bool {
        self.words(mask)[(row / u64::BITS) as usize] >> (row % u64::BITS) & 1 != 0
    }

    #[inline]
    pub(crate) fn set(&mut self, mask: u32, row: u32, enabled: bool) {
        assert!(mask < self.masks && row / u64::BITS < self.words_each);
        // SAFETY: the mask exists and has a word for the row. `self` is borrowed mutably, so nothing else uses the mask.
        unsafe { self.set_from(mask * self.words_each, row, enabled) };
    }

    /// Returns the index of the first word of a mask, in a chunk of this capacity.
    pub(crate) fn first_word(mask: u32, capacity: u32) -> u32 {
        mask * capacity.div_ceil(u64::BITS)
    }

    /// Sets a bit of the mask that begins with `first_word`, while jobs may be using other masks.
    ///
    /// # Safety
    ///
    /// - a mask begins with this word, and the row is within the capacity
    /// - nothing else uses the mask
    #[inline]
    pub(crate) unsafe fn set_from(&self, first_word: u32, row: u32, enabled: bool) {
        let at = first_word as usize + (row / u64::BITS) as usize;
        debug_assert!(at < self.masks as usize * self.words_each as usize);
        // SAFETY: the word belongs to the mask, so it is initialised, and nothing else uses it.
        let word = unsafe { &mut *self.words.add(at).as_ptr() };
        let shift = row % u64::BITS;
        *word = *word & !(1 << shift) | u64::from(enabled) << shift;
    }

    /// Returns the number of enabled rows in a mask.
    pub(crate) fn count(&self, mask: u32) -> u32 {
        self.words(mask).iter().map(|word| word.count_ones()).sum()
    }

    /// Enables or disables all rows of a chunk in one mask, while jobs may be using other masks.
    ///
    /// # Safety
    ///
    /// - nothing else uses the mask
    #[inline]
    pub(crate) unsafe fn set_every_row(&self, mask: u32, rows: u32, enabled: bool) {
        // SAFETY: nothing else uses the mask.
        let words = unsafe { self.words_alone(mask) };
        // The bits beyond the last row are zero before and after.
        let (full, rest) = words.split_at_mut((rows / 64) as usize);
        full.fill(if enabled { u64::MAX } else { 0 });
        if let Some(last) = rest.first_mut() {
            *last = if enabled { !(u64::MAX << (rows % 64)) } else { 0 };
        }
    }

    /// Enables or disables the rows with a bit in `rows`, among the 64 rows of a word of one mask. Jobs may be using other masks.
    ///
    /// # Safety
    ///
    /// - nothing else uses the mask
    #[inline]
    pub(crate) unsafe fn set_bits(&self, mask: u32, word: u32, rows: u64, enabled: bool) {
        // SAFETY: nothing else uses the mask.
        let word = unsafe { &mut self.words_alone(mask)[word as usize] };
        if enabled { *word |= rows } else { *word &= !rows }
    }

    /// Copies the bits of contiguous rows to other rows, in all masks. The two ranges are disjoint or equal.
    pub(crate) fn copy_rows(&mut self, from: u32, to: u32, rows: u32) {
        for mask in 0..self.masks {
            let words = self.words_mut(mask);
            for (at, count) in words_of(rows) {
                let bits = read_bits(words, from + at, count);
                write_bits(words, to + at, count, bits);
            }
        }
    }

    /// Enables contiguous rows, or clears their bits, in all masks.
    pub(crate) fn set_all_rows(&mut self, first: u32, rows: u32, enabled: bool) {
        for mask in 0..self.masks {
            set_bits(self.words_mut(mask), first, rows, enabled);
        }
    }

    /// Copies the bits of contiguous rows that arrive from another chunk. `kept` pairs the masks of the other chunk with those of
    /// this chunk. In the masks of `new`, the rows are enabled.
    pub(crate) fn follow_rows(
        &mut self,
        moved: RowMove,
        from: &Self,
        kept: &[(u32, u32)],
        new: &[u32],
    ) {
        let RowMove { from: from_first, to: first, rows } = moved;
        for &(theirs, ours) in kept {
            let (theirs, ours) = (from.words(theirs), self.words_mut(ours));
            for (at, count) in words_of(rows) {
                write_bits(ours, first + at, count, read_bits(theirs, from_first + at, count));
            }
        }
        for &mask in new {
            set_bits(self.words_mut(mask), first, rows, true);
        }
    }

    /// Adapts the masks to another archetype, with this number of masks and this capacity. `kept` pairs the old and the new masks
    /// of a type. In the masks of `new`, all rows are enabled.
    pub(super) fn rearrange(
        &mut self,
        (masks, capacity): (usize, u32),
        rows: u32,
        kept: &[(u32, u32)],
        new: &[u32],
        memory: &mut MetadataPool,
    ) {
        let is_same = kept.len() == masks && kept.iter().all(|(old, new)| old == new);
        if is_same && self.is_for(masks, capacity) {
            return;
        }
        let mut all = Self::new_in(masks, capacity, memory);
        for &(old, ours) in kept {
            // The other archetype may have a smaller or larger capacity.
            all.words_mut(ours).iter_mut().zip(self.words(old)).for_each(|(new, old)| *new = *old);
        }
        for &mask in new {
            set_bits(all.words_mut(mask), 0, rows, true);
        }
        // No limit is needed: there are at most as many pieces of a size as there were chunks with it.
        self.recycle(memory, usize::MAX);
        *self = all;
    }
}

/// Sets or clears contiguous bits.
#[inline]
pub(super) fn set_bits(words: &mut [u64], first: u32, count: u32, on: bool) {
    let mut set = |word: usize, bits: u64| {
        if on { words[word] |= bits } else { words[word] &= !bits }
    };
    let end = first + count;
    let (first_word, last_word) = ((first / 64) as usize, (end / 64) as usize);
    let (low, high) = (u64::MAX << (first % 64), !(u64::MAX << (end % 64)));
    if first_word == last_word {
        if count > 0 {
            set(first_word, low & high);
        }
        return;
    }
    set(first_word, low);
    if high != 0 {
        set(last_word, high);
    }
    words[first_word + 1..last_word].fill(if on { u64::MAX } else { 0 });
}

/// Splits `count` bits into pieces of up to 64 bits. Yields the start and the length of each.
fn words_of(count: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..count).step_by(64).map(move |at| (at, (count - at).min(64)))
}

/// Reads up to 64 bits, which may begin in the middle of a word. The remaining bits of the result are zero.
fn read_bits(words: &[u64], first: u32, count: u32) -> u64 {
    debug_assert!((1..=64).contains(&count));
    let (word, low) = ((first / 64) as usize, first % 64);
    let mut bits = words[word] >> low;
    if low + count > 64 {
        bits |= words[word + 1] << (64 - low);
    }
    bits & (u64::MAX >> (64 - count))
}

/// Writes up to 64 bits, which may begin in the middle of a word. The remaining bits of `bits` are zero.
fn write_bits(words: &mut [u64], first: u32, count: u32, bits: u64) {
    debug_assert!((1..=64).contains(&count));
    let (word, low) = ((first / 64) as usize, first % 64);
    let ones = u64::MAX >> (64 - count);
    words[word] = words[word] & !(ones << low) | bits << low;
    if low + count > 64 {
        let high = 64 - low;
        words[word + 1] = words[word + 1] & !(ones >> high) | bits >> high;
    }
}

impl Clone for EnabledMasks {
    fn clone(&self) -> Self {
        let mut copy = Self::new(self.masks as usize, self.words_each * u64::BITS);
        for mask in 0..self.masks {
            copy.words_mut(mask).copy_from_slice(self.words(mask));
        }
        copy
    }
}

impl Drop for EnabledMasks {
    fn drop(&mut self) {
        if let Some(bytes) = self.bytes() {
            // SAFETY: the memory was allocated with `bytes` bytes, and is not used afterwards.
            unsafe { free(self.words.cast(), bytes) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_filled_across_words() {
        for first in [0, 1, 63, 64, 65, 100] {
            for rows in [0, 1, 2, 63, 64, 65, 128] {
                let mut masks = EnabledMasks::new(2, 300);
                masks.set_all_rows(first, rows, true);
                for row in 0..300 {
                    let expected = (first..first + rows).contains(&row);
                    assert_eq!(
                        (masks.get(0, row), masks.get(1, row)),
                        (expected, expected),
                        "{row}"
                    );
                }
                assert_eq!(masks.count(1), rows);
                masks.set_all_rows(first, rows, false);
                assert_eq!((masks.count(0), masks.count(1)), (0, 0));
            }
        }
    }

    #[test]
    fn all_rows_of_one_mask_are_set_and_cleared() {
        for rows in [0, 1, 63, 64, 65, 128, 300] {
            let mut masks = EnabledMasks::new(2, 300);
            masks.set_all_rows(0, rows, true);
            // SAFETY: nothing else uses the masks.
            unsafe { masks.set_every_row(0, rows, false) };
            assert_eq!((masks.count(0), masks.count(1)), (0, rows));
            // SAFETY: nothing else uses the masks.
            unsafe { masks.set_every_row(0, rows, true) };
            assert_eq!(masks.words(0), masks.words(1));
        }
    }

    #[test]
    fn ranges_are_copied_across_words() {
        let is_on = |row: u32| row * row % 7 < 3;
        for from in [0, 1, 31, 63, 64, 100] {
            for to in [300, 301, 319, 320, 383] {
                for rows in [0, 1, 2, 63, 64, 65, 130, 200] {
                    let mut masks = EnabledMasks::new(1, 640);
                    (0..300).for_each(|row| masks.set(0, row, is_on(row)));
                    masks.set_all_rows(300, 340, true);
                    let mut other = masks.clone();
                    other.follow_rows(RowMove { from, to, rows }, &masks, &[(0, 0)], &[]);
                    masks.copy_rows(from, to, rows);
                    for row in 0..640 {
                        let expected = match row {
                            _ if (to..to + rows).contains(&row) => is_on(row - to + from),
                            0..300 => is_on(row),
                            _ => true,
                        };
                        let found = (masks.get(0, row), other.get(0, row));
                        assert_eq!(found, (expected, expected), "{from} {to} {rows} {row}");
                    }
                }
            }
        }
    }
}
