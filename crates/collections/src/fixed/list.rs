//! A list of fixed size.

use std::any::type_name;
use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::iter::FusedIterator;
use std::ops::{Deref, DerefMut, Range};
use std::slice;

use zerocopy::{Immutable, IntoBytes};

use super::error::FixedListFull;
use super::raw::RawList;

/// A list in a value of 32 bytes.
#[doc(alias = "FixedList32Bytes")]
pub type FixedList32<T> = FixedList<T, 32>;
/// A list in a value of 64 bytes.
#[doc(alias = "FixedList64Bytes")]
pub type FixedList64<T> = FixedList<T, 64>;
/// A list in a value of 128 bytes.
#[doc(alias = "FixedList128Bytes")]
pub type FixedList128<T> = FixedList<T, 128>;
/// A list in a value of 512 bytes.
#[doc(alias = "FixedList512Bytes")]
pub type FixedList512<T> = FixedList<T, 512>;
/// A list in a value of 4096 bytes.
#[doc(alias = "FixedList4096Bytes")]
pub type FixedList4096<T> = FixedList<T, 4096>;

/// A list of `Copy` values that is stored in the value itself, of `N` bytes.
///
/// It is `Copy` and owns no memory elsewhere, so a component or a job can hold it. It dereferences
/// to a slice. For a list of any length, use `Vec`.
///
/// Unity's five sizes have names: [`FixedList32`] is its `FixedList32Bytes`. Any other size that is
/// a multiple of the alignment of `T` can be used too.
///
/// # Layout
///
/// The length is a `u16` in little-endian order. The elements follow at the first aligned byte: at
/// byte 2 if their alignment is 1 or 2, otherwise at the byte equal to their alignment. The list is
/// aligned like its elements, and is exactly `N` bytes large.
///
/// ```text
/// FixedList32<u32>: 7 elements, of which there are 2
///
/// byte   0     2     4           8           12                    32
///      ┌─────┬─────┬───────────┬───────────┬────────────────────────┐
///      │  2  │  0  │     a     │     b     │ 0   0   0   0     …    │
///      └─────┴─────┴───────────┴───────────┴────────────────────────┘
///       length       elements                zeros
/// ```
///
/// So the elements share `N` minus 2, 4, 8, 16… bytes:
///
/// | alignment and size of `T` | 32 | 64 | 128 | 512 | 4096 |
/// |---|---|---|---|---|---|
/// | 1 (`u8`) | 30 | 62 | 126 | 510 | 4094 |
/// | 2 (`u16`) | 15 | 31 | 63 | 255 | 2047 |
/// | 4 (`u32`, `f32`) | 7 | 15 | 31 | 127 | 1023 |
/// | 8 (`u64`, `f64`) | 3 | 7 | 15 | 63 | 511 |
/// | 16 (`u128`) | 1 | 3 | 7 | 31 | 255 |
///
/// The length is at most 65535, which is also the capacity for zero-sized elements. A list without
/// room for one element does not compile.
///
/// # Determinism
///
/// All bytes after the elements are zero, and so is the gap before them. If `T` has no padding, and
/// compares like its bytes, then equal lists have equal bytes.
///
/// # Examples
///
/// ```
/// use ancho_collections::FixedList32;
///
/// let mut path = FixedList32::from([4_u32, 8]);
/// path.push(15);
/// assert_eq!(path, [4, 8, 15]);
/// assert_eq!((path.len(), path.capacity(), size_of_val(&path)), (3, 7, 32));
/// assert!(path.contains(&8));
/// ```
///
/// ```compile_fail,E0080
/// // The element has 32 bytes, and the length two.
/// let list = ancho_collections::FixedList32::<[u8; 32]>::new();
/// ```
#[derive(Clone, Copy)]
pub struct FixedList<T: Copy, const N: usize> {
    raw: RawList<T, N>,
}

impl<T: Copy, const N: usize> FixedList<T, N> {
    /// Maximum number of elements.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::FixedList64;
    ///
    /// assert_eq!(FixedList64::<f32>::CAPACITY, 15);
    /// ```
    pub const CAPACITY: usize = RawList::<T, N>::CAPACITY;

    /// Creates an empty list.
    ///
    /// # Examples
    ///
    /// ```
    /// let list = ancho_collections::FixedList32::<u32>::new();
    /// assert!(list.is_empty());
    /// ```
    #[must_use]
    pub const fn new() -> Self {
        Self { raw: RawList::new() }
    }

    /// Returns the maximum number of elements, which is [`CAPACITY`](Self::CAPACITY).
    ///
    /// # Examples
    ///
    /// ```
    /// let list = ancho_collections::FixedList32::from([1_u32, 2]);
    /// assert_eq!(list.capacity() - list.len(), 5);
    /// ```
    #[must_use]
    pub const fn capacity(&self) -> usize {
        Self::CAPACITY
    }

    /// Returns whether the list is full.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(ancho_collections::FixedList32::from([1_u64, 2, 3]).is_full());
    /// ```
    #[must_use]
    pub const fn is_full(&self) -> bool {
        self.raw.len() == Self::CAPACITY
    }

    /// Returns the elements.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::FixedList32::from([1, 2]).as_slice(), [1, 2]);
    /// ```
    #[must_use]
    pub const fn as_slice(&self) -> &[T] {
        self.raw.as_slice()
    }

    /// Returns the elements, mutably.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut list = ancho_collections::FixedList32::from([2, 1]);
    /// list.as_mut_slice().sort();
    /// assert_eq!(list, [1, 2]);
    /// ```
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        self.raw.as_mut_slice()
    }

    /// Returns all bytes of the list: the length, the elements, and the zeros around them.
    ///
    /// # Examples
    ///
    /// ```
    /// let list = ancho_collections::FixedList::<u8, 8>::from([7, 9]);
    /// assert_eq!(list.raw_bytes(), &[2, 0, 7, 9, 0, 0, 0, 0]);
    /// ```
    #[must_use]
    pub fn raw_bytes(&self) -> &[u8; N]
    where
        T: IntoBytes + Immutable,
    {
        self.raw.bytes()
    }

    /// Appends an element.
    ///
    /// # Panics
    ///
    /// Panics with code A0032 if the list is full. [`try_push`](Self::try_push) returns an error instead.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut list = ancho_collections::FixedList32::from([1, 2]);
    /// list.push(3);
    /// assert_eq!(list, [1, 2, 3]);
    /// ```
    #[track_caller]
    pub fn push(&mut self, value: T) {
        if self.try_push(value).is_err() {
            over_capacity::<T, N>(self.len(), 1);
        }
    }

    /// Appends an element, or returns it in the error.
    ///
    /// # Errors
    ///
    /// Returns [`FixedListFull`] if the list is full.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut list = ancho_collections::FixedList32::from([1_u64, 2]);
    /// assert!(list.try_push(3).is_ok());
    /// assert_eq!(list.try_push(4).unwrap_err().value, 4);
    /// ```
    pub fn try_push(&mut self, value: T) -> Result<(), FixedListFull<T>> {
        if self.raw.push_all(slice::from_ref(&value)) {
            Ok(())
        } else {
            Err(full::<T, N, _>(value))
        }
    }

    /// Appends the elements of a slice.
    ///
    /// # Panics
    ///
    /// Panics with code A0032 if there is no room for all of them. Then no element is appended.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut list = ancho_collections::FixedList32::from([1]);
    /// list.extend_from_slice(&[2, 3]);
    /// assert_eq!(list, [1, 2, 3]);
    /// ```
    #[track_caller]
    pub fn extend_from_slice(&mut self, values: &[T]) {
        if self.try_extend_from_slice(values).is_err() {
            over_capacity::<T, N>(self.len(), values.len());
        }
    }

    /// Appends all elements of a slice, or none.
    ///
    /// # Errors
    ///
    /// Returns [`FixedListFull`] if there is no room for all of them.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut list = ancho_collections::FixedList32::from([1_u64]);
    /// assert!(list.try_extend_from_slice(&[2, 3, 4]).is_err());
    /// assert_eq!(list, [1]);
    /// ```
    pub fn try_extend_from_slice<'a>(
        &mut self,
        values: &'a [T],
    ) -> Result<(), FixedListFull<&'a [T]>> {
        if self.raw.push_all(values) { Ok(()) } else { Err(full::<T, N, _>(values)) }
    }

    /// Removes the last element, and returns it.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut list = ancho_collections::FixedList32::from([1]);
    /// assert_eq!((list.pop(), list.pop()), (Some(1), None));
    /// ```
    pub fn pop(&mut self) -> Option<T> {
        let last = self.last().copied()?;
        self.raw.shorten(self.len() - 1);
        Some(last)
    }

    /// Inserts an element before the one at `index`, and keeps the order of the others.
    ///
    /// # Panics
    ///
    /// Panics with code A0033 if `index` is beyond the end, and with code A0032 if the list is full.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut list = ancho_collections::FixedList32::from([1, 3]);
    /// list.insert(1, 2);
    /// assert_eq!(list, [1, 2, 3]);
    /// ```
    #[track_caller]
    pub fn insert(&mut self, index: usize, value: T) {
        self.insert_slice(index, slice::from_ref(&value));
    }

    /// Inserts the elements of a slice before the element at `index` (Unity's `InsertRange`), and keeps the order of
    /// the others.
    ///
    /// # Panics
    ///
    /// Panics with code A0033 if `index` is beyond the end, and with code A0032 if there is no room for all of them. Then nothing is
    /// changed.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut list = ancho_collections::FixedList32::from([1, 4]);
    /// list.insert_slice(1, &[2, 3]);
    /// assert_eq!(list, [1, 2, 3, 4]);
    /// ```
    #[doc(alias = "InsertRange")]
    #[track_caller]
    pub fn insert_slice(&mut self, index: usize, values: &[T]) {
        if self.try_insert_slice(index, values).is_err() {
            over_capacity::<T, N>(self.len(), values.len());
        }
    }

    /// Inserts all elements of a slice, or none, before the element at `index`.
    ///
    /// # Errors
    ///
    /// Returns [`FixedListFull`] if there is no room for all of them.
    ///
    /// # Panics
    ///
    /// Panics with code A0033 if `index` is beyond the end.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut list = ancho_collections::FixedList32::from([1_u64, 3]);
    /// assert!(list.try_insert_slice(1, &[2]).is_ok());
    /// assert_eq!(list.try_insert_slice(0, &[4]).unwrap_err().value, [4]);
    /// assert_eq!(list, [1, 2, 3]);
    /// ```
    #[track_caller]
    pub fn try_insert_slice<'a>(
        &mut self,
        index: usize,
        values: &'a [T],
    ) -> Result<(), FixedListFull<&'a [T]>> {
        let len = self.len();
        if index > len {
            bad_index::<T, N>("insert at", index, len);
        }
        self.try_extend_from_slice(values)?;
        self[index..].rotate_right(values.len());
        Ok(())
    }

    /// Removes the element at `index`, returns it, and keeps the order of the others.
    ///
    /// Unity calls it `RemoveAt`.
    ///
    /// # Panics
    ///
    /// Panics with code A0033 if `index` is out of bounds.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut list = ancho_collections::FixedList32::from([1, 2, 3]);
    /// assert_eq!(list.remove(0), 1);
    /// assert_eq!(list, [2, 3]);
    /// ```
    #[track_caller]
    pub fn remove(&mut self, index: usize) -> T {
        let len = self.len();
        if index >= len {
            bad_index::<T, N>("remove", index, len);
        }
        let value = self[index];
        self.copy_within(index + 1.., index);
        self.raw.shorten(len - 1);
        value
    }

    /// Removes the element at `index`, returns it, and puts the last one in its place.
    ///
    /// Unity calls it `RemoveAtSwapBack`.
    ///
    /// # Panics
    ///
    /// Panics with code A0033 if `index` is out of bounds.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut list = ancho_collections::FixedList32::from([1, 2, 3]);
    /// assert_eq!(list.swap_remove(0), 1);
    /// assert_eq!(list, [3, 2]);
    /// ```
    #[track_caller]
    pub fn swap_remove(&mut self, index: usize) -> T {
        let len = self.len();
        if index >= len {
            bad_index::<T, N>("remove", index, len);
        }
        let value = self[index];
        self[index] = self[len - 1];
        self.raw.shorten(len - 1);
        value
    }

    /// Removes the elements in the range, and keeps the order of the others.
    ///
    /// # Panics
    ///
    /// Panics with code A0033 if the range ends beyond the list, or before it starts.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut list = ancho_collections::FixedList32::from([1, 2, 3, 4]);
    /// list.remove_range(1..3);
    /// assert_eq!(list, [1, 4]);
    /// ```
    #[track_caller]
    pub fn remove_range(&mut self, range: Range<usize>) {
        let len = self.len();
        check_range::<T, N>(&range, len);
        let count = range.len();
        self.copy_within(range.end.., range.start);
        self.raw.shorten(len - count);
    }

    /// Removes the elements in the range. Elements from the end take their places (Unity's
    /// `RemoveRangeSwapBack`).
    ///
    /// # Panics
    ///
    /// Panics with code A0033 if the range ends beyond the list, or before it starts.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut list = ancho_collections::FixedList32::from([1, 2, 3, 4, 5]);
    /// list.swap_remove_range(0..2);
    /// assert_eq!(list, [4, 5, 3]);
    /// ```
    #[doc(alias = "RemoveRangeSwapBack")]
    #[track_caller]
    pub fn swap_remove_range(&mut self, range: Range<usize>) {
        check_range::<T, N>(&range, self.len());
        let kept = swap_range_to_end(self, range);
        self.raw.shorten(kept);
    }

    /// Removes the elements for which `keep` returns `false`, and keeps the order of the others.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut list = ancho_collections::FixedList32::from([1, 2, 3, 4]);
    /// list.retain(|value| value % 2 == 0);
    /// assert_eq!(list, [2, 4]);
    /// ```
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        /// Closes the gap after the kept elements, even if `keep` panics.
        struct Gap<'l, T: Copy, const N: usize> {
            list: &'l mut FixedList<T, N>,
            kept: usize,
            next: usize,
        }

        impl<T: Copy, const N: usize> Drop for Gap<'_, T, N> {
            fn drop(&mut self) {
                self.list.remove_range(self.kept..self.next);
            }
        }

        let mut gap = Gap { list: self, kept: 0, next: 0 };
        while let Some(&value) = gap.list.get(gap.next) {
            if keep(&value) {
                gap.list[gap.kept] = value;
                gap.kept += 1;
            }
            gap.next += 1;
        }
    }

    /// Changes the length to `len`: removes elements at the end, or appends copies of `value`.
    ///
    /// # Panics
    ///
    /// Panics with code A0032 if `len` is larger than [`CAPACITY`](Self::CAPACITY). Then nothing is changed.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut list = ancho_collections::FixedList32::from([1]);
    /// list.resize(3, 0);
    /// assert_eq!(list, [1, 0, 0]);
    /// ```
    #[track_caller]
    pub fn resize(&mut self, len: usize, value: T) {
        if self.try_resize(len, value).is_err() {
            over_capacity::<T, N>(self.len(), len - self.len());
        }
    }

    /// Changes the length to `len`, or changes nothing: removes elements at the end, or appends
    /// copies of `value`.
    ///
    /// # Errors
    ///
    /// Returns [`FixedListFull`] if `len` is larger than [`CAPACITY`](Self::CAPACITY).
    ///
    /// # Examples
    ///
    /// ```
    /// let mut list = ancho_collections::FixedList32::from([1_u64]);
    /// assert!(list.try_resize(4, 0).is_err());
    /// assert_eq!(list, [1]);
    /// ```
    pub fn try_resize(&mut self, len: usize, value: T) -> Result<(), FixedListFull<T>> {
        if len > Self::CAPACITY {
            return Err(full::<T, N, _>(value));
        }
        self.truncate(len);
        for _ in self.len()..len {
            self.try_push(value)?;
        }
        Ok(())
    }

    /// Appends `count` copies of a value (Unity's `AddReplicate`).
    ///
    /// # Panics
    ///
    /// Panics with code A0032 if there is no room for all of them. Then nothing is changed.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut list = ancho_collections::FixedList32::from([1]);
    /// list.push_repeated(7, 3);
    /// assert_eq!(list, [1, 7, 7, 7]);
    /// ```
    #[doc(alias = "AddReplicate")]
    #[track_caller]
    pub fn push_repeated(&mut self, value: T, count: usize) {
        if self.try_push_repeated(value, count).is_err() {
            over_capacity::<T, N>(self.len(), count);
        }
    }

    /// Appends `count` copies of a value, or none.
    ///
    /// # Errors
    ///
    /// Returns [`FixedListFull`] if there is no room for all of them.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut list = ancho_collections::FixedList32::from([1_u64]);
    /// assert!(list.try_push_repeated(7, 3).is_err());
    /// assert_eq!(list, [1]);
    /// ```
    pub fn try_push_repeated(&mut self, value: T, count: usize) -> Result<(), FixedListFull<T>> {
        self.try_resize(self.len().saturating_add(count), value)
    }

    /// Removes all elements after the first `len`, if any.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut list = ancho_collections::FixedList32::from([1, 2, 3]);
    /// list.truncate(1);
    /// assert_eq!(list, [1]);
    /// ```
    pub fn truncate(&mut self, len: usize) {
        if len < self.len() {
            self.raw.shorten(len);
        }
    }

    /// Removes all elements.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut list = ancho_collections::FixedList32::from([1, 2, 3]);
    /// list.clear();
    /// assert!(list.is_empty());
    /// ```
    pub fn clear(&mut self) {
        self.raw.shorten(0);
    }
}

impl<T: Copy, const N: usize> Default for FixedList<T, N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Copy, const N: usize> Deref for FixedList<T, N> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.as_slice()
    }
}

impl<T: Copy, const N: usize> DerefMut for FixedList<T, N> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.as_mut_slice()
    }
}

impl<T: Copy + fmt::Debug, const N: usize> fmt::Debug for FixedList<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}

/// Swaps the elements in the range, which is within bounds, with the last elements, and returns the
/// remaining length.
pub(crate) fn swap_range_to_end<T>(items: &mut [T], range: Range<usize>) -> usize {
    let length = items.len();
    // At most the elements after the range, and at most those in it.
    let moved = range.len().min(length - range.end);
    for offset in 0..moved {
        items.swap(range.start + offset, length - moved + offset);
    }
    length - range.len()
}

#[track_caller]
fn check_range<T: Copy, const N: usize>(range: &Range<usize>, len: usize) {
    if range.start > range.end || range.end > len {
        bad_range::<T, N>(range, len);
    }
}

fn full<T: Copy, const N: usize, V>(value: V) -> FixedListFull<V> {
    FixedListFull { value, capacity: FixedList::<T, N>::CAPACITY }
}

#[cold]
#[track_caller]
fn over_capacity<T: Copy, const N: usize>(len: usize, more: usize) -> ! {
    panic!(
        "A0032: a FixedList<{}, {N}> with {len} elements has no room for {more} more, since it holds {}; take a larger \
         size, or use `try_push`, which returns the element",
        type_name::<T>(),
        FixedList::<T, N>::CAPACITY,
    )
}

#[cold]
#[track_caller]
fn bad_index<T: Copy, const N: usize>(what: &str, index: usize, len: usize) -> ! {
    panic!(
        "A0033: cannot {what} index {index} of a FixedList<{}, {N}> with {len} elements; compare the index \
         with `len()` first",
        type_name::<T>(),
    )
}

#[cold]
#[track_caller]
fn bad_range<T: Copy, const N: usize>(range: &Range<usize>, len: usize) -> ! {
    panic!(
        "A0033: cannot remove the range {range:?} of a FixedList<{}, {N}> with {len} elements; compare the \
         range with `len()` first",
        type_name::<T>(),
    )
}

/// Iterator over the elements of a [`FixedList`], by value.
///
/// # Examples
///
/// ```
/// use ancho_collections::FixedList32;
///
/// let mut elements = FixedList32::from([1, 2, 3]).into_iter();
/// assert_eq!(elements.next_back(), Some(3));
/// assert_eq!(elements.as_slice(), [1, 2]);
/// ```
#[derive(Clone)]
#[must_use = "iterators are lazy and do nothing unless consumed"]
pub struct FixedListIntoIter<T: Copy, const N: usize> {
    list: FixedList<T, N>,
    /// At most the length of the list.
    next: usize,
}

impl<T: Copy, const N: usize> FixedListIntoIter<T, N> {
    /// Returns the remaining elements.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut elements = ancho_collections::FixedList32::from([1, 2, 3]).into_iter();
    /// elements.next();
    /// assert_eq!(elements.as_slice(), [2, 3]);
    /// ```
    pub fn as_slice(&self) -> &[T] {
        &self.list[self.next..]
    }
}

impl<T: Copy, const N: usize> Iterator for FixedListIntoIter<T, N> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        let value = self.list.get(self.next).copied()?;
        self.next += 1;
        Some(value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.list.len() - self.next;
        (left, Some(left))
    }
}

impl<T: Copy, const N: usize> DoubleEndedIterator for FixedListIntoIter<T, N> {
    fn next_back(&mut self) -> Option<T> {
        if self.next == self.list.len() { None } else { self.list.pop() }
    }
}

impl<T: Copy, const N: usize> ExactSizeIterator for FixedListIntoIter<T, N> {}

impl<T: Copy, const N: usize> FusedIterator for FixedListIntoIter<T, N> {}

impl<T: Copy + fmt::Debug, const N: usize> fmt::Debug for FixedListIntoIter<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FixedListIntoIter").field(&self.as_slice()).finish()
    }
}

impl<T: Copy, const N: usize> IntoIterator for FixedList<T, N> {
    type Item = T;
    type IntoIter = FixedListIntoIter<T, N>;

    fn into_iter(self) -> FixedListIntoIter<T, N> {
        FixedListIntoIter { list: self, next: 0 }
    }
}

impl<'a, T: Copy, const N: usize> IntoIterator for &'a FixedList<T, N> {
    type Item = &'a T;
    type IntoIter = slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T: Copy, const N: usize> IntoIterator for &'a mut FixedList<T, N> {
    type Item = &'a mut T;
    type IntoIter = slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<T: Copy + PartialEq, const N: usize, const M: usize> PartialEq<FixedList<T, M>>
    for FixedList<T, N>
{
    fn eq(&self, other: &FixedList<T, M>) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl<T: Copy + Eq, const N: usize> Eq for FixedList<T, N> {}

impl<T: Copy + PartialOrd, const N: usize, const M: usize> PartialOrd<FixedList<T, M>>
    for FixedList<T, N>
{
    fn partial_cmp(&self, other: &FixedList<T, M>) -> Option<Ordering> {
        self.as_slice().partial_cmp(other.as_slice())
    }
}

impl<T: Copy + Ord, const N: usize> Ord for FixedList<T, N> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_slice().cmp(other.as_slice())
    }
}

impl<T: Copy + Hash, const N: usize> Hash for FixedList<T, N> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state);
    }
}

impl<T: Copy, const N: usize> Borrow<[T]> for FixedList<T, N> {
    fn borrow(&self) -> &[T] {
        self
    }
}

impl<T: Copy + PartialEq, const N: usize> PartialEq<[T]> for FixedList<T, N> {
    fn eq(&self, other: &[T]) -> bool {
        self.as_slice() == other
    }
}

impl<T: Copy + PartialEq, const N: usize> PartialEq<&[T]> for FixedList<T, N> {
    fn eq(&self, other: &&[T]) -> bool {
        self.as_slice() == *other
    }
}

impl<T: Copy + PartialEq, const N: usize, const K: usize> PartialEq<[T; K]> for FixedList<T, N> {
    fn eq(&self, other: &[T; K]) -> bool {
        self.as_slice() == other
    }
}

/// An array that does not fit is a compile error.
///
/// ```compile_fail,E0080
/// // The list holds three elements.
/// let list = ancho_collections::FixedList32::from([1_u64, 2, 3, 4]);
/// ```
impl<T: Copy, const N: usize, const K: usize> From<[T; K]> for FixedList<T, N> {
    fn from(values: [T; K]) -> Self {
        const { assert!(K <= Self::CAPACITY, "the array has more elements than the FixedList holds") };
        let mut list = Self::new();
        list.extend_from_slice(&values);
        list
    }
}

impl<'a, T: Copy, const N: usize> TryFrom<&'a [T]> for FixedList<T, N> {
    type Error = FixedListFull<&'a [T]>;

    fn try_from(values: &'a [T]) -> Result<Self, FixedListFull<&'a [T]>> {
        let mut list = Self::new();
        list.try_extend_from_slice(values)?;
        Ok(list)
    }
}

impl<T: Copy, const N: usize> From<FixedList<T, N>> for Vec<T> {
    fn from(list: FixedList<T, N>) -> Self {
        list.to_vec()
    }
}

impl<T: Copy, const N: usize> AsRef<[T]> for FixedList<T, N> {
    fn as_ref(&self) -> &[T] {
        self
    }
}

/// # Panics
///
/// Panics with code A0032 if there are more elements than the list holds.
impl<T: Copy, const N: usize> FromIterator<T> for FixedList<T, N> {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        let mut list = Self::new();
        list.extend(elements);
        list
    }
}

/// # Panics
///
/// Panics with code A0032 when the list is full. The elements before that are in the list.
impl<T: Copy, const N: usize> Extend<T> for FixedList<T, N> {
    #[track_caller]
    fn extend<I: IntoIterator<Item = T>>(&mut self, elements: I) {
        // Not `for_each`: a closure would hide the caller's location from the panic.
        for element in elements {
            self.push(element);
        }
    }
}
