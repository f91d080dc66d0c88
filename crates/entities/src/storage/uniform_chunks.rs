//! Which chunks may have one version for all columns.

use std::cell::Cell;

/// Which chunks may have one version for all columns, by their numbers.
///
/// Before a job is scheduled, such versions are [written out](super::chunk_state::ChunkState::write_out), one for each column. To
/// ask each chunk whether it needs that takes as long as a job needs for some hundred entities of it, since what is known of
/// chunks is rarely in the caches that are close to a core. So it is noted here once more, where there are many in one line.
///
/// **Invariant:** a chunk that has one version for all columns has a bit. Others may have one too.
#[derive(Clone, Default)]
pub(crate) struct UniformChunks {
    /// They change through a shared reference, as the versions do: jobs that only read are made of a world that is shared.
    words: Vec<Cell<u64>>,
}

impl UniformChunks {
    /// Makes room for the bit of a chunk with this number, which is the next one.
    pub(super) fn expect(&mut self, number: u32) {
        if number as usize / 64 >= self.words.len() {
            self.words.push(Cell::new(0));
        }
    }

    /// Notes that a chunk has one version for all columns.
    #[cold]
    pub(super) fn note(&mut self, number: u32) {
        *self.words[number as usize / 64].get_mut() |= 1 << (number % 64);
    }

    /// Whether a chunk may have one version for all columns.
    pub(super) fn has(&self, number: u32) -> bool {
        self.words[number as usize / 64].get() >> (number % 64) & 1 != 0
    }

    /// Calls a function for those of these chunks that may have one version for all columns, and takes their bits.
    pub(super) fn take(&self, numbers: &[u32], mut function: impl FnMut(u32)) {
        // Mostly jobs go through all chunks again and again, and nothing has come since.
        if self.words.iter().all(|word| word.get() == 0) {
            return;
        }
        for &number in numbers {
            let (word, bit) = (&self.words[number as usize / 64], 1 << (number % 64));
            if word.get() & bit != 0 {
                word.set(word.get() & !bit);
                function(number);
            }
        }
    }

    pub(super) fn clear(&mut self) {
        self.words.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::UniformChunks;

    #[test]
    fn bits_are_taken_once_and_those_of_others_stay() {
        let mut chunks = UniformChunks::default();
        (0..130).for_each(|number| chunks.expect(number));
        [0, 63, 64, 129].into_iter().for_each(|number| chunks.note(number));
        let take = |numbers: &[u32]| {
            let mut taken = Vec::new();
            chunks.take(numbers, |number| taken.push(number));
            taken
        };
        assert_eq!(take(&[129, 1, 0]), [129, 0]);
        assert_eq!(take(&[129, 1, 0]), []);
        assert!(chunks.has(63) && chunks.has(64) && !chunks.has(129));
        assert_eq!(take(&[63, 64]), [63, 64]);
        assert_eq!(take(&[63, 64]), []);
    }
}
