//! Which components of a chunk's entities are switched on.

#![expect(unsafe_code, reason = "memory at an address that stays")]

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;
use std::slice;

/// A mask for each enableable type of a chunk: a bit for each row that has room, one if it is enabled.
///
/// ```text
/// mask 0: word 0 (rows 0 to 63), word 1 (rows 64 to 127), …
/// mask 1: word 0, word 1, …
/// ```
///
/// **Invariant:** bits of rows that are not there are zero.
pub(crate) struct EnabledMasks {
    words: NonNull<u64>,
    masks: u32,
    words_each: u32,
}

// SAFETY: it owns its memory, as a box does.
unsafe impl Send for EnabledMasks {}

impl EnabledMasks {
    /// So many masks, for rows that are not there yet.
    pub(crate) fn new(masks: usize, capacity: u32) -> Self {
        let masks = u32::try_from(masks).expect("a chunk has room for fewer columns");
        let words_each = capacity.div_ceil(u64::BITS);
        let words = match Self::layout(masks, words_each) {
            Some(layout) => {
                // SAFETY: the layout has a size.
                let memory = unsafe { alloc_zeroed(layout) };
                NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(layout)).cast()
            }
            None => NonNull::dangling(),
        };
        Self { words, masks, words_each }
    }

    /// `None` if nothing has to be allocated.
    fn layout(masks: u32, words_each: u32) -> Option<Layout> {
        let words = masks as usize * words_each as usize;
        (words > 0).then(|| Layout::array::<u64>(words).expect("a bit for each row and column"))
    }

    /// Whether there is no enableable type.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.masks == 0
    }

    /// The words of a mask.
    #[inline]
    pub(crate) fn words(&self, mask: u32) -> &[u64] {
        assert!(mask < self.masks);
        let each = self.words_each as usize;
        // SAFETY: each mask has so many words, all initialised.
        unsafe { slice::from_raw_parts(self.words.add(mask as usize * each).as_ptr(), each) }
    }

    /// Where the words of a mask are, which stay there, or null if there is no such mask.
    #[inline]
    pub(crate) fn address(&self, mask: u32) -> *mut u64 {
        if mask >= self.masks {
            return std::ptr::null_mut();
        }
        self.words.as_ptr().wrapping_add(mask as usize * self.words_each as usize)
    }

    #[inline]
    pub(super) fn words_mut(&mut self, mask: u32) -> &mut [u64] {
        assert!(mask < self.masks);
        let each = self.words_each as usize;
        // SAFETY: each mask has so many words, all initialised, and is borrowed mutably.
        unsafe { slice::from_raw_parts_mut(self.words.add(mask as usize * each).as_ptr(), each) }
    }

    #[inline]
    pub(crate) fn get(&self, mask: u32, row: u32) -> bool {
        self.words(mask)[(row / u64::BITS) as usize] >> (row % u64::BITS) & 1 != 0
    }

    #[inline]
    pub(crate) fn set(&mut self, mask: u32, row: u32, enabled: bool) {
        let word = row / u64::BITS;
        assert!(mask < self.masks && word < self.words_each);
        let at = mask as usize * self.words_each as usize + word as usize;
        // SAFETY: each mask has so many words, all initialised, and is borrowed mutably.
        let word = unsafe { &mut *self.words.add(at).as_ptr() };
        let shift = row % u64::BITS;
        *word = *word & !(1 << shift) | u64::from(enabled) << shift;
    }

    /// How many rows are enabled.
    pub(crate) fn count(&self, mask: u32) -> u32 {
        self.words(mask).iter().map(|word| word.count_ones()).sum()
    }

    /// Enables rows that are new, for all types.
    pub(crate) fn enable_rows(&mut self, first: u32, rows: u32) {
        for mask in 0..self.masks {
            fill(self.words_mut(mask), first, rows);
        }
    }

    /// Lets a row be as another, which is gone then. They may be the same.
    pub(crate) fn move_row(&mut self, from: u32, to: u32) {
        for mask in 0..self.masks {
            let enabled = self.get(mask, from);
            self.set(mask, to, enabled);
            if from != to {
                self.set(mask, from, false);
            }
        }
    }

    /// Clears rows that are gone, for all types.
    pub(crate) fn clear_rows(&mut self, first: u32, rows: u32) {
        for mask in 0..self.masks {
            (first..first + rows).for_each(|row| self.set(mask, row, false));
        }
    }

    /// Lets a new row be as one of another chunk, as far as both have a type, in pairs of theirs and ours; what is new
    /// is enabled.
    pub(crate) fn follow(
        &mut self,
        row: u32,
        from: &Self,
        from_row: u32,
        kept: &[(u32, u32)],
        new: &[u32],
    ) {
        for &(theirs, ours) in kept {
            self.set(ours, row, from.get(theirs, from_row));
        }
        for &mask in new {
            self.set(mask, row, true);
        }
    }
}

/// Sets bits that lie side by side.
pub(super) fn fill(words: &mut [u64], first: u32, count: u32) {
    let (mut bit, end) = (first as usize, (first + count) as usize);
    while bit < end {
        let (word, low) = (bit / 64, bit % 64);
        let next = ((word + 1) * 64).min(end);
        let ones = u64::MAX >> (64 - (next - bit));
        words[word] |= ones << low;
        bit = next;
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
        if let Some(layout) = Self::layout(self.masks, self.words_each) {
            // SAFETY: it was allocated with this layout.
            unsafe { dealloc(self.words.cast().as_ptr(), layout) };
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
                masks.enable_rows(first, rows);
                for row in 0..300 {
                    let expected = (first..first + rows).contains(&row);
                    assert_eq!(
                        (masks.get(0, row), masks.get(1, row)),
                        (expected, expected),
                        "{row}"
                    );
                }
                assert_eq!(masks.count(1), rows);
            }
        }
    }
}
