//! Iterators of sets.

use std::fmt;
use std::iter::FusedIterator;

use crate::map::{MapIntoIter, MapIter};

/// Iterator of the values of a [`Set`](crate::Set).
///
/// # Examples
///
/// ```
/// assert_eq!(ancho_collections::Set::from([5]).iter().next(), Some(&5));
/// ```
#[must_use = "iterators are lazy and do nothing unless consumed"]
pub struct SetIter<'a, T>(pub(super) MapIter<'a, T, ()>);

/// Iterator of the values of a [`Set`](crate::Set), by value.
///
/// # Examples
///
/// ```
/// assert_eq!(ancho_collections::Set::from([5]).into_iter().next(), Some(5));
/// ```
#[must_use = "the values are dropped unless the iterator is used"]
pub struct SetIntoIter<T>(pub(super) MapIntoIter<T, ()>);

impl<T> Clone for SetIter<'_, T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<'a, T> Iterator for SetIter<'a, T> {
    type Item = &'a T;

    #[inline]
    fn next(&mut self) -> Option<&'a T> {
        self.0.next().map(|(value, ())| value)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }

    #[inline]
    fn fold<B, F: FnMut(B, &'a T) -> B>(self, start: B, mut add: F) -> B {
        self.0.fold(start, |sum, (value, ())| add(sum, value))
    }
}

impl<T> Iterator for SetIntoIter<T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        self.0.next().map(|(value, ())| value)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }

    #[inline]
    fn fold<B, F: FnMut(B, T) -> B>(self, start: B, mut add: F) -> B {
        self.0.fold(start, |sum, (value, ())| add(sum, value))
    }
}

impl<T> ExactSizeIterator for SetIter<'_, T> {}
impl<T> ExactSizeIterator for SetIntoIter<T> {}
impl<T> FusedIterator for SetIter<'_, T> {}
impl<T> FusedIterator for SetIntoIter<T> {}

impl<T: fmt::Debug> fmt::Debug for SetIter<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.clone()).finish()
    }
}

impl<T: fmt::Debug> fmt::Debug for SetIntoIter<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SetIntoIter").field("left", &self.0.len()).finish_non_exhaustive()
    }
}
