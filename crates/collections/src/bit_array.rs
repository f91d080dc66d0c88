//! An array of bits.

use std::fmt;
use std::iter;
use std::ops::{Range, RangeBounds};

use crate::allocator::Allocator;
use crate::error::{AllocationError, bounds, expect_memory, index_outside, range_outside};
use crate::list::List;
use crate::native::{Native, labelled_as};

/// An array of bits, 64 of them in a word.
///
/// Jobs access a [`NativeBitArray`] as this type. Ranges of bits are set, counted and searched a
/// word at a time.
///
/// # Examples
///
/// ```
/// let mut taken = ancho_collections::BitArray::new(1000);
/// taken.set_range(0..70, true);
/// taken.set(75, true);
/// assert_eq!(taken.count_ones(..), 71);
/// assert_eq!(taken.find_zeros(.., 10), Some(76));
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
#[doc(alias = "UnsafeBitArray")]
pub struct BitArray {
    /// Exactly the words that the bits need. The bits of the last word beyond the length are zero.
    words: List<u64>,
    length: usize,
}

/// A [`BitArray`] that jobs share.
///
/// # Examples
///
/// ```
/// use ancho_collections::NativeBitArray;
/// use ancho_jobs::{JobPool, JobScheduler};
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let mut composite = NativeBitArray::new(100);
/// let sieve = jobs.schedule(&[], composite.write(), |composite| {
///     for i in 2..10 {
///         (i * i..100).step_by(i).for_each(|multiple| composite.set(multiple, true));
///     }
/// })?;
/// jobs.complete(sieve);
/// assert_eq!(composite.get()?.find_zeros(90.., 1), Some(97));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type NativeBitArray = Native<BitArray>;

labelled_as!(BitArray, NativeBitArray);

impl BitArray {
    /// Creates an array of `length` bits, all of them false.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(ancho_collections::BitArray::new(100).test_none(..));
    /// ```
    #[track_caller]
    pub fn new(length: usize) -> Self {
        Self::new_in(length, &Allocator::PERSISTENT)
    }

    /// Creates an array of `length` bits, all of them false, in the allocator's memory.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{Allocator, BitArray};
    /// assert_eq!(BitArray::new_in(100, &Allocator::PERSISTENT).len(), 100);
    /// ```
    #[track_caller]
    pub fn new_in(length: usize, allocator: &Allocator) -> Self {
        let count = length.div_ceil(64);
        let mut words = List::with_capacity_in(count, allocator);
        words.resize(count, 0);
        Self { words, length }
    }

    /// Returns the number of bits.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::BitArray::new(100).len(), 100);
    /// ```
    #[inline]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Returns whether there are no bits at all. [`test_none`](Self::test_none) returns whether no
    /// bit is true.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(ancho_collections::BitArray::new(0).is_empty());
    /// ```
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns the allocator that the memory is from.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::BitArray::new(1).allocator().name(), "Persistent");
    /// ```
    pub fn allocator(&self) -> &Allocator {
        self.words.allocator()
    }

    /// Returns the number of bits that fit without reallocation, including the existing bits.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::BitArray::new(100).capacity(), 128);
    /// ```
    pub fn capacity(&self) -> usize {
        self.words.capacity().saturating_mul(64)
    }

    /// Reserves room for `additional` more bits.
    ///
    /// # Errors
    ///
    /// Returns an error, and changes nothing, if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut bits = ancho_collections::BitArray::new(100);
    /// bits.try_reserve(1000).unwrap();
    /// assert!(bits.capacity() >= 1100);
    /// assert!(bits.try_reserve(usize::MAX).is_err());
    /// ```
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), AllocationError> {
        let needed = self.length.checked_add(additional);
        let words = needed.map_or(usize::MAX, |bits| bits.div_ceil(64) - self.words.len());
        self.words.try_reserve(words)
    }

    /// Reserves room for `additional` more bits.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut bits = ancho_collections::BitArray::new(100);
    /// bits.reserve(1000);
    /// assert!(bits.capacity() >= 1100);
    /// ```
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        expect_memory(self.try_reserve(additional));
    }

    /// Frees the capacity that the bits do not need (Unity's `TrimExcess`).
    ///
    /// The bits are moved to smaller memory. If the allocator has no memory for that, nothing
    /// changes.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut bits = ancho_collections::BitArray::new(1000);
    /// bits.resize(10, false);
    /// bits.shrink_to_fit();
    /// assert_eq!(bits.capacity(), 64);
    /// ```
    #[doc(alias = "TrimExcess")]
    #[doc(alias = "trim")]
    pub fn shrink_to_fit(&mut self) {
        self.words.shrink_to_fit();
    }

    /// Returns a bit (Unity's `IsSet`).
    ///
    /// # Panics
    ///
    /// Panics with code A0014 if the bit's index is out of bounds.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(!ancho_collections::BitArray::new(100).get(99));
    /// ```
    #[inline]
    #[track_caller]
    pub fn get(&self, index: usize) -> bool {
        self.check_index(index);
        self.words[index / 64] >> (index % 64) & 1 == 1
    }

    /// Changes a bit.
    ///
    /// # Panics
    ///
    /// Panics with code A0014 if the bit's index is out of bounds.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut bits = ancho_collections::BitArray::new(100);
    /// bits.set(99, true);
    /// assert!(bits.get(99));
    /// ```
    #[inline]
    #[track_caller]
    pub fn set(&mut self, index: usize, value: bool) {
        self.check_index(index);
        let word = &mut self.words[index / 64];
        *word = *word & !(1 << (index % 64)) | u64::from(value) << (index % 64);
    }

    #[inline]
    #[track_caller]
    fn check_index(&self, index: usize) {
        if index >= self.length {
            index_outside("a bit array", index, self.length);
        }
    }

    /// Sets all bits to false.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut bits = ancho_collections::BitArray::from([true, false, true]);
    /// bits.clear();
    /// assert_eq!(bits.count_ones(..), 0);
    /// ```
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Changes the length to `length`: shortens the array, or fills it up with a value.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut bits = ancho_collections::BitArray::new(100);
    /// bits.resize(150, true);
    /// assert_eq!(bits.count_ones(..), 50);
    /// bits.resize(10, false);
    /// assert_eq!(bits.len(), 10);
    /// ```
    #[track_caller]
    pub fn resize(&mut self, length: usize, value: bool) {
        let before = self.length;
        self.words.resize(length.div_ceil(64), 0);
        self.length = length;
        if length > before {
            self.set_range(before.., value);
        } else if let Some(last) = self.words.last_mut().filter(|_| !length.is_multiple_of(64)) {
            *last &= (1 << (length % 64)) - 1;
        }
    }

    /// Returns the indices of the bits that are true, in ascending order.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut bits = ancho_collections::BitArray::new(100);
    /// bits.set_range(63..66, true);
    /// assert!(bits.iter_ones().eq([63, 64, 65]));
    /// ```
    pub fn iter_ones(&self) -> impl Iterator<Item = usize> {
        self.words.iter().enumerate().flat_map(|(index, &word)| {
            let mut left = word;
            iter::from_fn(move || {
                let bit = left.trailing_zeros();
                left &= left.checked_sub(1)?;
                Some(index * 64 + bit as usize)
            })
        })
    }

    /// Returns the words of the bits: bit `i` is the bit `i % 64` of word `i / 64`, counted from
    /// the lowest. Bits beyond the length are zero.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::BitArray::from([true, false, true]).as_words(), [0b101]);
    /// ```
    #[inline]
    pub fn as_words(&self) -> &[u64] {
        &self.words
    }
}

impl<const N: usize> From<[bool; N]> for BitArray {
    fn from(values: [bool; N]) -> Self {
        values.into_iter().collect()
    }
}

impl FromIterator<bool> for BitArray {
    fn from_iter<I: IntoIterator<Item = bool>>(values: I) -> Self {
        let mut bits = Self::default();
        for value in values {
            if bits.length.is_multiple_of(64) {
                bits.words.push(0);
            }
            bits.length += 1;
            bits.set(bits.length - 1, value);
        }
        bits
    }
}

/// The bits as zeros and ones, first bit first.
impl fmt::Debug for BitArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BitArray(")?;
        (0..self.length)
            .try_for_each(|index| f.write_str(if self.get(index) { "1" } else { "0" }))?;
        f.write_str(")")
    }
}

impl Native<BitArray> {
    /// Creates an array of `length` bits, all of them false. See [`BitArray::new`].
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::NativeBitArray::new(100).get().unwrap().len(), 100);
    /// ```
    #[track_caller]
    pub fn new(length: usize) -> Self {
        Self::of(BitArray::new(length))
    }

    /// Creates an array of `length` bits, all of them false, in the allocator's memory. See
    /// [`BitArray::new_in`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{Allocator, NativeBitArray};
    /// let bits = NativeBitArray::new_in(100, &Allocator::PERSISTENT);
    /// assert_eq!(bits.get().unwrap().len(), 100);
    /// ```
    #[track_caller]
    pub fn new_in(length: usize, allocator: &Allocator) -> Self {
        Self::of_in(BitArray::new_in(length, allocator), allocator)
    }
}

/// Ranges of bits, a word at a time.
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
    /// Panics with code A0014 if the range is not in the other array, or does not fit in this
    /// array.
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
        let (start, end) = bounds(range, self.length);
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
