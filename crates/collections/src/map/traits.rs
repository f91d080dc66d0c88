//! Traits of the standard library for maps.

use std::fmt;
use std::hash::{BuildHasher, Hash};

use super::{Map, MapIntoIter, MapIter, MapIterMut};
use crate::allocator::Allocator;
use crate::lanes::Lanes;
use crate::table::{self, unwrap};

impl<K, V, S: Default> Default for Map<K, V, S> {
    fn default() -> Self {
        Self::with_hasher_in(S::default(), &Allocator::PERSISTENT)
    }
}

impl<K: Clone, V: Clone, S: Clone> Clone for Map<K, V, S> {
    /// Copies the pairs, in the same order, into memory of the same allocator. The overflow of
    /// parallel writers is not copied.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory.
    #[track_caller]
    fn clone(&self) -> Self {
        Self {
            table: unwrap(table::try_clone(&self.table)),
            hasher: self.hasher.clone(),
            lanes: Lanes::new(),
            overflow: Vec::new(),
        }
    }
}

impl<K: Hash + Eq, V, const N: usize> From<[(K, V); N]> for Map<K, V> {
    #[track_caller]
    fn from(pairs: [(K, V); N]) -> Self {
        let mut map = Self::new();
        map.extend(pairs);
        map
    }
}

impl<K: Hash + Eq, V, S: BuildHasher + Default> FromIterator<(K, V)> for Map<K, V, S> {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let mut map = Self::default();
        map.extend(pairs);
        map
    }
}

/// [Inserts](Map::insert) the pairs: of those with the same key, the last one stays.
impl<K: Hash + Eq, V, S: BuildHasher> Extend<(K, V)> for Map<K, V, S> {
    #[track_caller]
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, pairs: I) {
        let pairs = pairs.into_iter();
        let (at_least, _) = pairs.size_hint();
        // Duplicate and existing keys need no room. Half of them is an estimate.
        self.reserve(if self.is_empty() { at_least } else { at_least.div_ceil(2) });
        pairs.for_each(|(key, value)| {
            self.insert(key, value);
        });
    }
}

impl<K, V, S> IntoIterator for Map<K, V, S> {
    type Item = (K, V);
    type IntoIter = MapIntoIter<K, V>;

    fn into_iter(self) -> MapIntoIter<K, V> {
        MapIntoIter(self.into_table().into_iter())
    }
}

impl<'a, K, V, S> IntoIterator for &'a Map<K, V, S> {
    type Item = (&'a K, &'a V);
    type IntoIter = MapIter<'a, K, V>;

    #[inline]
    fn into_iter(self) -> MapIter<'a, K, V> {
        self.iter()
    }
}

impl<'a, K, V, S> IntoIterator for &'a mut Map<K, V, S> {
    type Item = (&'a K, &'a mut V);
    type IntoIter = MapIterMut<'a, K, V>;

    #[inline]
    fn into_iter(self) -> MapIterMut<'a, K, V> {
        self.iter_mut()
    }
}

/// Two maps are equal if they have the same keys with the same values, in any order.
impl<K: Hash + Eq, V: PartialEq, S: BuildHasher> PartialEq for Map<K, V, S> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && self.iter().all(|(key, value)| other.get(key).is_some_and(|found| found == value))
    }
}

impl<K: Hash + Eq, V: Eq, S: BuildHasher> Eq for Map<K, V, S> {}

impl<K: fmt::Debug, V: fmt::Debug, S> fmt::Debug for Map<K, V, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}
