//! Traits of the standard library for multi-maps.

use std::fmt;
use std::hash::{BuildHasher, Hash};

use super::grouping::Waiting;
use super::{MultiMap, MultiMapIter};
use crate::allocator::Allocator;
use crate::lanes::Lanes;
use crate::table::{self, unwrap};

impl<K, V, S: Default> Default for MultiMap<K, V, S> {
    fn default() -> Self {
        Self::with_hasher_in(S::default(), &Allocator::PERSISTENT)
    }
}

impl<K: Clone, V: Clone, S: Clone> Clone for MultiMap<K, V, S> {
    /// Copies the keys and values, in the same order, into memory of the same allocator. The
    /// overflow of parallel writers is not copied.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory.
    #[track_caller]
    fn clone(&self) -> Self {
        Self {
            heads: unwrap(table::try_clone(&self.heads)),
            nodes: unwrap(self.nodes.try_clone()),
            hasher: self.hasher.clone(),
            lanes: Lanes::new(),
            waiting: Waiting::new(),
            overflow: Vec::new(),
        }
    }
}

impl<K: Hash + Eq, V, const N: usize> From<[(K, V); N]> for MultiMap<K, V> {
    #[track_caller]
    fn from(pairs: [(K, V); N]) -> Self {
        let mut map = Self::new();
        map.extend(pairs);
        map
    }
}

impl<K: Hash + Eq, V, S: BuildHasher + Default> FromIterator<(K, V)> for MultiMap<K, V, S> {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let mut map = Self::default();
        map.extend(pairs);
        map
    }
}

impl<K: Hash + Eq, V, S: BuildHasher> Extend<(K, V)> for MultiMap<K, V, S> {
    #[track_caller]
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, pairs: I) {
        let pairs = pairs.into_iter();
        let (at_least, _) = pairs.size_hint();
        // The table grows by itself, since the number of new keys is unknown.
        unwrap(self.nodes.try_reserve(at_least));
        pairs.for_each(|(key, value)| self.add(key, value));
    }
}

impl<'a, K, V, S> IntoIterator for &'a MultiMap<K, V, S> {
    type Item = (&'a K, &'a V);
    type IntoIter = MultiMapIter<'a, K, V>;

    #[inline]
    fn into_iter(self) -> MultiMapIter<'a, K, V> {
        self.iter()
    }
}

/// Two maps are equal if they have the same keys, and each has the same values in the same order.
impl<K: Hash + Eq, V: PartialEq, S: BuildHasher> PartialEq for MultiMap<K, V, S> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && self.keys().all(|key| self.values_for(key).eq(other.values_for(key)))
    }
}

impl<K: Hash + Eq, V: Eq, S: BuildHasher> Eq for MultiMap<K, V, S> {}

impl<K: fmt::Debug, V: fmt::Debug, S> fmt::Debug for MultiMap<K, V, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values = self.heads.iter().map(|head| (&head.key, self.nodes.values(Some(head.chain))));
        f.debug_map().entries(values).finish()
    }
}
