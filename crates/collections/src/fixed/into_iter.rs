//! Iterator of the elements of a list, by value.

use std::fmt;
use std::iter::FusedIterator;

use super::list::FixedList;

/// Iterator of the elements of a [`FixedList`], by value.
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
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T: Copy, const N: usize> IntoIterator for &'a mut FixedList<T, N> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}
