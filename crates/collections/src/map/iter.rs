//! Iterators of maps.

use std::fmt;
use std::iter::FusedIterator;

use hashbrown::hash_table;

use crate::allocator::Allocator;

/// Iterator over the pairs of a [`Map`](crate::Map).
///
/// # Examples
///
/// ```
/// let map = ancho_collections::Map::from([(1, "one")]);
/// assert_eq!(map.iter().next(), Some((&1, &"one")));
/// ```
#[must_use = "iterators are lazy and do nothing unless consumed"]
pub struct MapIter<'a, K, V>(pub(super) hash_table::Iter<'a, (K, V)>);

/// Iterator over the pairs of a [`Map`](crate::Map), with mutable values.
///
/// # Examples
///
/// ```
/// let mut map = ancho_collections::Map::from([(1, "one")]);
/// assert_eq!(map.iter_mut().next(), Some((&1, &mut "one")));
/// ```
#[must_use = "iterators are lazy and do nothing unless consumed"]
pub struct MapIterMut<'a, K, V>(pub(super) hash_table::IterMut<'a, (K, V)>);

/// Iterator over the pairs of a [`Map`](crate::Map), by value.
///
/// # Examples
///
/// ```
/// let map = ancho_collections::Map::from([(1, "one")]);
/// assert_eq!(map.into_iter().next(), Some((1, "one")));
/// ```
#[must_use = "the pairs are dropped unless the iterator is used"]
pub struct MapIntoIter<K, V>(pub(super) hash_table::IntoIter<(K, V), Allocator>);

impl<K, V> Clone for MapIter<'_, K, V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<'a, K, V> Iterator for MapIter<'a, K, V> {
    type Item = (&'a K, &'a V);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(key, value)| (key, value))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }

    #[inline]
    fn fold<B, F: FnMut(B, Self::Item) -> B>(self, start: B, mut add: F) -> B {
        self.0.fold(start, |sum, (key, value)| add(sum, (key, value)))
    }
}

impl<'a, K, V> Iterator for MapIterMut<'a, K, V> {
    type Item = (&'a K, &'a mut V);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(key, value)| (&*key, value))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }

    #[inline]
    fn fold<B, F: FnMut(B, Self::Item) -> B>(self, start: B, mut add: F) -> B {
        self.0.fold(start, |sum, (key, value)| add(sum, (&*key, value)))
    }
}

impl<K, V> Iterator for MapIntoIter<K, V> {
    type Item = (K, V);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }

    #[inline]
    fn fold<B, F: FnMut(B, Self::Item) -> B>(self, start: B, add: F) -> B {
        self.0.fold(start, add)
    }
}

impl<K, V> ExactSizeIterator for MapIter<'_, K, V> {}
impl<K, V> ExactSizeIterator for MapIterMut<'_, K, V> {}
impl<K, V> ExactSizeIterator for MapIntoIter<K, V> {}
impl<K, V> FusedIterator for MapIter<'_, K, V> {}
impl<K, V> FusedIterator for MapIterMut<'_, K, V> {}
impl<K, V> FusedIterator for MapIntoIter<K, V> {}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for MapIter<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.clone()).finish()
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for MapIterMut<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(MapIter(self.0.iter())).finish()
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for MapIntoIter<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(MapIter(self.0.iter())).finish()
    }
}
