//! Ranges of bits, a word at a time.

use std::ops::{Bound, Range, RangeBounds};

use super::BitArray;
use crate::error::range_outside;

impl BitArray {
    /// Changes all bits in the range (Unity's `SetBits` with one value).
    ///
    /// # Panics
    ///
    /// Panics with code A0014 if the range ends beyond the array, or before it starts.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut bits = ancho_collections::BitArray::new(200);
    /// bits.set_range(10..150, true);
    /// assert_eq!(bits.count_ones(..), 140);
    /// ```
    #[track_caller]
    pub fn set_range(&mut self, range: impl RangeBounds<usize>, value: bool) {
        let range = self.check_range(range);
        let Some((first, last)) = ends(&range) else { return };
        let fill = if value { u64::MAX } else { 0 };
        let mut set = |(word, mask): (usize, u64)| {
            self.words[word] = self.words[word] & !mask | fill & mask;
        };
        set(first);
        set(last);
        if last.0 > first.0 {
            self.words[first.0 + 1..last.0].fill(fill);
        }
    }

    /// Returns `count` bits as a number, the first bit lowest (Unity's `GetBits`).
    ///
    /// # Panics
    ///
    /// Panics with code A0014 if the bits are out of bounds, or more than 64.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut bits = ancho_collections::BitArray::new(200);
    /// bits.set_bits(60, 0b1011, 4);
    /// assert_eq!(bits.get_bits(61, 3), 0b101);
    /// ```
    #[inline]
    #[track_caller]
    pub fn get_bits(&self, start: usize, count: usize) -> u64 {
        self.check_bits(start, count);
        if count == 0 {
            return 0;
        }
        let (word, shift) = (start / 64, start % 64);
        let mut bits = self.words[word] >> shift;
        if shift + count > 64 {
            bits |= self.words[word + 1] << (64 - shift);
        }
        bits & low_bits(count)
    }

    /// Sets `count` bits from a number, its lowest first (Unity's `SetBits`).
    ///
    /// # Panics
    ///
    /// Panics with code A0014 if the bits are out of bounds, or more than 64.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut bits = ancho_collections::BitArray::new(200);
    /// bits.set_bits(60, 0b1011, 4);
    /// assert!(bits.iter_ones().eq([60, 61, 63]));
    /// ```
    #[inline]
    #[track_caller]
    pub fn set_bits(&mut self, start: usize, value: u64, count: usize) {
        self.check_bits(start, count);
        if count == 0 {
            return;
        }
        let (word, shift) = (start / 64, start % 64);
        let mask = low_bits(count);
        let value = value & mask;
        self.words[word] = self.words[word] & !(mask << shift) | value << shift;
        if shift + count > 64 {
            let up = 64 - shift;
            self.words[word + 1] = self.words[word + 1] & !(mask >> up) | value >> up;
        }
    }

    /// Finds the first `count` consecutive false bits in the range, and returns their start
    /// (Unity's `Find`).
    ///
    /// A `count` of zero is found at the start of any range.
    ///
    /// # Panics
    ///
    /// Panics with code A0014 if the range ends beyond the array, or before it starts.
    ///
    /// # Examples
    ///
    /// ```
    /// let bits = ancho_collections::BitArray::from([true, false, true, false, false, true]);
    /// assert_eq!(bits.find_zeros(.., 1), Some(1));
    /// assert_eq!(bits.find_zeros(.., 2), Some(3));
    /// assert_eq!(bits.find_zeros(2..4, 2), None);
    /// ```
    #[track_caller]
    pub fn find_zeros(&self, range: impl RangeBounds<usize>, count: usize) -> Option<usize> {
        let Range { mut start, end } = self.check_range(range);
        if count == 0 {
            return Some(start);
        }
        while count <= end - start {
            let zero = self.find(false, start..end);
            // Stops as soon as enough bits are found.
            let one = self.find(true, zero..end.min(zero.saturating_add(count)));
            if one - zero == count {
                return Some(zero);
            }
            start = one;
        }
        None
    }

    /// Returns the number of true bits in the range (Unity's `CountBits`).
    ///
    /// # Panics
    ///
    /// Panics with code A0014 if the range ends beyond the array, or before it starts.
    ///
    /// # Examples
    ///
    /// ```
    /// let bits = ancho_collections::BitArray::from([true, false, true]);
    /// assert_eq!(bits.count_ones(..), 2);
    /// assert_eq!(bits.count_ones(1..), 1);
    /// ```
    #[track_caller]
    pub fn count_ones(&self, range: impl RangeBounds<usize>) -> usize {
        let range = self.check_range(range);
        let Some((first, last)) = ends(&range) else { return 0 };
        let ones = |word: u64| word.count_ones() as usize;
        let at_first = ones(self.words[first.0] & first.1);
        if last.0 == first.0 {
            return at_first;
        }
        let between = self.words[first.0 + 1..last.0].iter().map(|&word| ones(word)).sum::<usize>();
        at_first + between + ones(self.words[last.0] & last.1)
    }

    /// Returns whether all bits in the range are true. Returns `true` for an empty range.
    ///
    /// # Panics
    ///
    /// Panics with code A0014 if the range ends beyond the array, or before it starts.
    ///
    /// # Examples
    ///
    /// ```
    /// let bits = ancho_collections::BitArray::from([true, true, false]);
    /// assert!(bits.test_all(..2) && !bits.test_all(..));
    /// ```
    #[track_caller]
    pub fn test_all(&self, range: impl RangeBounds<usize>) -> bool {
        let range = self.check_range(range);
        self.find(false, range.clone()) == range.end
    }

    /// Returns whether any bit in the range is true.
    ///
    /// # Panics
    ///
    /// Panics with code A0014 if the range ends beyond the array, or before it starts.
    ///
    /// # Examples
    ///
    /// ```
    /// let bits = ancho_collections::BitArray::from([true, false, false]);
    /// assert!(bits.test_any(..) && !bits.test_any(1..));
    /// ```
    #[track_caller]
    pub fn test_any(&self, range: impl RangeBounds<usize>) -> bool {
        !self.test_none(range)
    }

    /// Returns whether all bits in the range are false. Returns `true` for an empty range.
    ///
    /// # Panics
    ///
    /// Panics with code A0014 if the range ends beyond the array, or before it starts.
    ///
    /// # Examples
    ///
    /// ```
    /// let bits = ancho_collections::BitArray::from([true, false, false]);
    /// assert!(bits.test_none(1..) && !bits.test_none(..));
    /// ```
    #[track_caller]
    pub fn test_none(&self, range: impl RangeBounds<usize>) -> bool {
        let range = self.check_range(range);
        self.find(true, range.clone()) == range.end
    }

    /// Copies bits of another array to this one, from `start` on (Unity's `Copy`).
    ///
    /// # Panics
    ///
    /// Panics with code A0014 if the range is not in the other array, or does not fit here.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::BitArray;
    ///
    /// let mut bits = BitArray::new(5);
    /// bits.copy_from(1, &BitArray::from([true, false, true, false]), 0..3);
    /// assert_eq!(bits, BitArray::from([false, true, false, true, false]));
    /// ```
    #[track_caller]
    pub fn copy_from(&mut self, start: usize, other: &Self, range: impl RangeBounds<usize>) {
        let range = other.check_range(range);
        self.check_range(start..start.saturating_add(range.len()));
        let mut done = 0;
        if start.is_multiple_of(64) && range.start.is_multiple_of(64) {
            let whole = range.len() / 64;
            let from = &other.words[range.start / 64..][..whole];
            self.words[start / 64..][..whole].copy_from_slice(from);
            done = whole * 64;
        }
        while done < range.len() {
            let count = (range.len() - done).min(64);
            self.set_bits(start + done, other.get_bits(range.start + done, count), count);
            done += count;
        }
    }

    /// Copies bits within this array to `start`, as if all were read before any is written.
    ///
    /// # Panics
    ///
    /// Panics with code A0014 if the range is not in the array, or does not fit at `start`.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::BitArray;
    ///
    /// let mut bits = BitArray::from([true, false, true, true]);
    /// bits.copy_within(0..3, 1);
    /// assert_eq!(bits, BitArray::from([true, true, false, true]));
    /// ```
    #[track_caller]
    pub fn copy_within(&mut self, range: impl RangeBounds<usize>, start: usize) {
        let range = self.check_range(range);
        self.check_range(start..start.saturating_add(range.len()));
        let copy = |offset: usize| {
            let count = (range.len() - offset).min(64);
            self.set_bits(start + offset, self.get_bits(range.start + offset, count), count);
        };
        // Each word is read before it is overwritten.
        let offsets = (0..range.len()).step_by(64);
        if start <= range.start {
            offsets.for_each(copy);
        } else {
            offsets.rev().for_each(copy);
        }
    }

    /// Returns the first bit in the range that has the value, or the end of the range.
    fn find(&self, value: bool, range: Range<usize>) -> usize {
        let Range { start, end } = range;
        if start >= end {
            return end;
        }
        let flip = if value { 0 } else { u64::MAX };
        let mut word = start / 64;
        let mut found = (self.words[word] ^ flip) & (u64::MAX << (start % 64));
        while found == 0 {
            word += 1;
            if word * 64 >= end {
                return end;
            }
            found = self.words[word] ^ flip;
        }
        end.min(word * 64 + found.trailing_zeros() as usize)
    }

    /// Returns the start and the end of the range.
    #[track_caller]
    fn check_range(&self, range: impl RangeBounds<usize>) -> Range<usize> {
        let start = match range.start_bound() {
            Bound::Included(&start) => start,
            Bound::Excluded(&before) => before.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(&last) => last.saturating_add(1),
            Bound::Excluded(&end) => end,
            Bound::Unbounded => self.length,
        };
        if start > end || end > self.length {
            range_outside("a bit array", start, end, self.length);
        }
        start..end
    }

    #[inline]
    #[track_caller]
    fn check_bits(&self, start: usize, count: usize) {
        if count > 64 {
            too_many_bits(count);
        }
        if start > self.length || count > self.length - start {
            range_outside("a bit array", start, start.saturating_add(count), self.length);
        }
    }
}

/// Returns the first and the last word of the range, each with a mask of the range's bits, or
/// `None` if the range is empty. If both are the same word, the masks are equal.
fn ends(range: &Range<usize>) -> Option<((usize, u64), (usize, u64))> {
    if range.is_empty() {
        return None;
    }
    let (first, last) = (range.start / 64, (range.end - 1) / 64);
    let from_start = u64::MAX << (range.start % 64);
    let to_end = u64::MAX >> (63 - (range.end - 1) % 64);
    if first == last {
        let both = from_start & to_end;
        return Some(((first, both), (first, both)));
    }
    Some(((first, from_start), (last, to_end)))
}

/// Returns a number whose `count` lowest bits are ones, where `count` is 1 to 64.
#[inline]
fn low_bits(count: usize) -> u64 {
    u64::MAX >> (64 - count)
}

#[cold]
#[inline(never)]
#[track_caller]
fn too_many_bits(count: usize) -> ! {
    panic!("A0014: {count} bits are more than the 64 of a word; take them in several parts");
}
