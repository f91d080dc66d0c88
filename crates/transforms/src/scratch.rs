//! Working memory of updates: reused values, marks on entities, and bit sets of rows.

use std::ops::{Deref, DerefMut};

use ancho_entities::Entity;

/// A value that is kept to reuse its memory. Its contents are only valid during one update, so a clone is empty.
#[derive(Debug, Default)]
pub(crate) struct Reused<T>(T);

impl<T: Default> Clone for Reused<T> {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl<T> Deref for Reused<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Reused<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

/// The last mark of each entity, by index. Marks are never cleared: each use takes a [new mark](Self::new_mark), which no entity
/// has.
#[derive(Debug, Default)]
pub(crate) struct EntityMarks {
    marks: Vec<u64>,
    /// The mark that was returned last.
    last: u64,
}

impl EntityMarks {
    /// Returns a new mark, which no entity has.
    pub(crate) fn new_mark(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Tests whether the last mark of an entity is this one.
    pub(crate) fn has_mark(&self, entity: Entity, mark: u64) -> bool {
        self.marks.get(entity.index() as usize) == Some(&mark)
    }

    /// Marks an entity. Returns its previous mark.
    pub(crate) fn mark(&mut self, entity: Entity, mark: u64) -> u64 {
        let index = entity.index() as usize;
        if index >= self.marks.len() {
            self.marks.resize((index + 1).next_power_of_two(), 0);
        }
        std::mem::replace(&mut self.marks[index], mark)
    }
}

pub(crate) mod bits {
    //! Bits of ranges in slices of words.

    use std::ops::Range;

    /// Returns the range of words that contain a range of bits.
    pub(crate) fn words(bits: &Range<usize>) -> Range<usize> {
        bits.start / 64..bits.end.div_ceil(64)
    }

    /// Returns the bits of a word that are in a range. The range must overlap the word.
    pub(crate) fn mask(word: usize, bits: &Range<usize>) -> u64 {
        let low = bits.start.saturating_sub(word * 64);
        let high = (bits.end - word * 64).min(64);
        (u64::MAX << low) & (u64::MAX >> (64 - high))
    }

    /// Sets the bits of a range.
    pub(crate) fn set(all: &mut [u64], bits: &Range<usize>) {
        for word in words(bits) {
            all[word] |= mask(word, bits);
        }
    }

    /// Counts the set bits of a range.
    pub(crate) fn count(all: &[u64], bits: &Range<usize>) -> usize {
        words(bits).map(|word| (all[word] & mask(word, bits)).count_ones() as usize).sum()
    }

    /// Calls a function for each set bit.
    pub(crate) fn for_each(words: &[u64], mut function: impl FnMut(usize)) {
        for (number, &word) in words.iter().enumerate() {
            let mut word = word;
            while word != 0 {
                function(number * 64 + word.trailing_zeros() as usize);
                word &= word - 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::bits::{count, for_each, set};

    #[test]
    fn bits_of_a_range_are_set_and_counted() {
        let mut words = [0; 3];
        set(&mut words, &(3..5));
        assert_eq!(words, [0b11000, 0, 0]);
        set(&mut words, &(63..129));
        assert_eq!(words, [1 << 63 | 0b11000, u64::MAX, 1]);
        assert_eq!(count(&words, &(0..192)), 2 + 1 + 64 + 1);
        assert_eq!(count(&words, &(4..64)), 2);
        assert_eq!(count(&words, &(64..70)), 6);
        assert_eq!(count(&words, &(5..5)), 0);
        set(&mut words, &(128..192));
        assert_eq!(words[2], u64::MAX);
    }

    #[test]
    fn every_bit_is_found_in_order() {
        let mut found = Vec::new();
        for_each(&[1 << 63 | 1, 0, 0b110], |bit| found.push(bit));
        assert_eq!(found, [0, 63, 129, 130]);
    }
}
