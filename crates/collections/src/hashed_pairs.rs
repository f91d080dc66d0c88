//! Pairs that one batch of a parallel job writes to a map, hashed on the batch's own thread.

use std::hash::{BuildHasher, Hash};
use std::vec::Drain;

pub(crate) struct HashedPairs<K, V, S> {
    /// The map's hasher, set when a lane is first opened for it.
    hasher: Option<S>,
    pairs: Vec<HashedPair<K, V>>,
}

pub(crate) struct HashedPair<K, V> {
    pub(crate) hash: u64,
    pub(crate) key: K,
    pub(crate) value: V,
}

impl<K, V, S> HashedPairs<K, V, S> {
    /// Prepares for writing.
    #[inline]
    pub(crate) fn open(&mut self, hasher: &S)
    where
        S: Clone,
    {
        self.hasher.get_or_insert_with(|| hasher.clone());
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, key: K, value: V)
    where
        K: Hash,
        S: BuildHasher,
    {
        let hasher =
            self.hasher.as_ref().expect("lanes are opened by a map, which gives its hasher");
        let hash = hasher.hash_one(&key);
        self.pairs.push(HashedPair { hash, key, value });
    }

    /// Takes out all pairs from `start` on.
    pub(crate) fn drain_from(&mut self, start: usize) -> Drain<'_, HashedPair<K, V>> {
        self.pairs.drain(start..)
    }

    pub(crate) fn len(&self) -> usize {
        self.pairs.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }
}

impl<K, V, S> Default for HashedPairs<K, V, S> {
    fn default() -> Self {
        Self { hasher: None, pairs: Vec::new() }
    }
}
