//! An array of bits.

mod native;
mod ranges;

pub use native::NativeBitArray;

use std::fmt;
use std::iter;

use crate::allocator::Allocator;
use crate::error::{AllocationError, expect_memory, index_outside};
use crate::list::List;
use crate::native::labelled_as;

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
pub struct BitArray {
    /// Exactly the words that the bits need. The bits of the last word beyond the length are zero.
    words: List<u64>,
    length: usize,
}

labelled_as!(BitArray, NativeBitArray);

impl BitArray {
    /// Makes an array of `length` bits, all of them false.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory for them.
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

    /// Makes an array of `length` bits, all of them false, in the allocator's memory.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory for them.
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

    /// Returns the capacity, in bits, including the existing ones.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::BitArray::new(100).capacity(), 128);
    /// ```
    pub fn capacity(&self) -> usize {
        self.words.capacity().saturating_mul(64)
    }

    /// Makes room for `additional` more bits.
    ///
    /// # Errors
    ///
    /// Returns an error, and changes nothing, if there is no memory for them.
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

    /// Makes room for `additional` more bits.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory for them.
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

    /// Makes all bits false.
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
    /// Panics with code A0017 if there is no memory for them.
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
