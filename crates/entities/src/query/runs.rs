//! Rows of a chunk that match, in runs of such that lie side by side.

use std::ops::Range;

use super::matched::{Bit, Masks, matching_rows};
use crate::storage::Chunk;

/// Rows side by side that match, one run after another.
///
/// Who takes a run has a new value, so that it stays in registers.
#[derive(Clone, Copy)]
pub(crate) struct Runs<'w> {
    /// None if all rows match.
    bits: &'w [Bit],
    rows: u32,
    /// Which word of the masks it has got to.
    at: u32,
    /// The rows of that word which match and are left.
    word: u64,
}

impl<'w> Runs<'w> {
    pub(crate) const NONE: Self = Self { bits: &[], rows: 0, at: 0, word: 0 };

    /// The rows of a chunk that fulfil these conditions.
    #[inline(always)]
    pub(crate) fn new(bits: &'w [Bit], chunk: &Chunk) -> Self {
        Self { bits, rows: chunk.len, at: u32::MAX, word: 0 }
    }

    /// Whether all rows match.
    #[inline(always)]
    pub(crate) fn is_whole(&self) -> bool {
        self.bits.is_empty()
    }

    /// All rows, which match.
    #[inline(always)]
    pub(crate) fn whole(self) -> (Range<u32>, Self) {
        (0..self.rows, Self { rows: 0, ..self })
    }

    /// Goes to the next word of the masks with rows that match, if there is one.
    #[inline(never)]
    pub(crate) fn find_word(self, masks: &Masks<'_>) -> Option<Self> {
        let words = self.rows.div_ceil(u64::BITS);
        let (mut at, mut word) = (self.at, self.word);
        while word == 0 {
            at = at.wrapping_add(1);
            if at >= words {
                return None;
            }
            word = matching_rows(self.bits, masks, at, self.rows);
        }
        Some(Self { at, word, ..self })
    }

    /// The next run, which is empty if there is none.
    #[inline(always)]
    pub(crate) fn next(self, masks: &Masks<'_>) -> (Range<u32>, Self) {
        if self.is_whole() {
            return self.whole();
        }
        // Mostly it ends in the word at hand, if there is one at all: then nothing is called.
        let low = self.word.trailing_zeros();
        let ones = (self.word | self.word.wrapping_sub(1)).trailing_ones();
        if self.word == 0 || ones == u64::BITS {
            return self.next_across_words(masks);
        }
        let first = self.at * u64::BITS;
        (first + low..first + ones, Self { word: self.word & (u64::MAX << ones), ..self })
    }

    /// The run that comes when a word is over, or goes on in the next one.
    #[inline(always)]
    fn next_across_words(self, masks: &Masks<'_>) -> (Range<u32>, Self) {
        let Self { bits, rows, at, word } = self;
        let (run, word) = run_across_words(bits, masks, rows, at, word);
        let run = (run >> u32::BITS) as u32..run as u32;
        let at = run.end / u64::BITS;
        (run, Self { bits, rows, at, word })
    }

    /// How many rows are left.
    pub(crate) fn count(mut self, masks: &Masks<'_>) -> usize {
        let mut count = 0;
        while let Some(found) = self.find_word(masks) {
            count += found.word.count_ones() as usize;
            self = Self { word: 0, ..found };
        }
        count
    }
}

/// The next run from a word of masks on, of which this is left: its first row in the upper half of the number, the one after
/// its last in the lower half. And what is left of the word that it ends in.
///
/// Everything is a number, so that it is in registers. If there is no run, it is an empty one behind all words.
#[inline(never)]
fn run_across_words(bits: &[Bit], masks: &Masks<'_>, rows: u32, at: u32, word: u64) -> (u64, u64) {
    let words = rows.div_ceil(u64::BITS);
    let Some(Runs { mut at, word, .. }) = (Runs { bits, rows, at, word }).find_word(masks) else {
        let end = u64::from(words * u64::BITS);
        return (end << u32::BITS | end, 0);
    };
    let low = word.trailing_zeros();
    let first = at * u64::BITS + low;
    // Rows below the first count as matching, so that the run ends at the first that does not.
    let mut ones = (word | ((1 << low) - 1)).trailing_ones();
    let mut left = word;
    // Whole words are passed at one look each.
    while ones == u64::BITS {
        at += 1;
        left = if at < words { matching_rows(bits, masks, at, rows) } else { 0 };
        ones = left.trailing_ones();
    }
    let end = at * u64::BITS + ones;
    (u64::from(first) << u32::BITS | u64::from(end), left & u64::MAX.unbounded_shl(ones))
}
