//! The hash table of maps, multi-maps and sets.
//!
//! It is `hashbrown`'s table with a hash function, growth that reports a lack of memory, and a
//! capacity that removing does not lower.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};
use std::vec::Drain;

use hashbrown::HashTable;
use hashbrown::hash_table::{Entry, OccupiedEntry};

use crate::allocator::Allocator;
use crate::error::{AllocationError, CapacityError, expect_memory};

/// A table from keys to values.
pub(crate) struct KeyTable<K, V, S> {
    pub(crate) pairs: HashTable<(K, V), Allocator>,
    pub(crate) hasher: S,
}

impl<K, V, S> KeyTable<K, V, S> {
    pub(crate) const fn new_in(hasher: S, allocator: Allocator) -> Self {
        Self { pairs: HashTable::new_in(allocator), hasher }
    }

    /// Returns the number of keys for which there are buckets, including the existing ones.
    ///
    /// The capacity of `hashbrown`'s table excludes the tombstones of removed keys, until it is
    /// rebuilt.
    pub(crate) fn capacity(&self) -> usize {
        // The maximum load: all buckets but one if they are few, seven of eight otherwise.
        let buckets = self.pairs.num_buckets();
        let full = if buckets <= 8 { buckets - 1 } else { buckets / 8 * 7 };
        self.pairs.capacity().max(full)
    }

    /// Returns whether the next new key requires a rehash.
    #[inline(always)]
    pub(crate) fn is_full(&self) -> bool {
        self.pairs.len() == self.pairs.capacity()
    }

    /// Reserves room for `capacity` keys in an empty table.
    pub(crate) fn try_reserve_empty(&mut self, capacity: usize) -> Result<(), AllocationError> {
        self.try_reserve_with(capacity, |_, _| unreachable!("there is nothing to hash"))
    }

    fn try_reserve_with(
        &mut self,
        additional: usize,
        hash: impl Fn(&S, &K) -> u64,
    ) -> Result<(), AllocationError> {
        let Self { pairs, hasher } = self;
        pairs.try_reserve(additional, |(key, _)| hash(hasher, key)).map_err(|_| {
            let elements = pairs.len().saturating_add(additional);
            AllocationError::of::<(K, V)>(pairs.allocator().name(), elements)
        })
    }

    /// Copies the table, with pairs in the same places.
    ///
    /// `Clone` would abort if the allocator refuses. Copying into a table with the same number of
    /// buckets does not allocate.
    pub(crate) fn try_clone(&self) -> Result<Self, AllocationError>
    where
        K: Clone,
        V: Clone,
        S: Clone,
    {
        let mut copy = Self::new_in(self.hasher.clone(), self.pairs.allocator().clone());
        copy.try_reserve_empty(self.capacity())?;
        debug_assert_eq!(copy.pairs.num_buckets(), self.pairs.num_buckets(), "or it allocates");
        copy.pairs.clone_from(&self.pairs);
        Ok(copy)
    }
}

impl<K: Hash + Eq, V, S: BuildHasher> KeyTable<K, V, S> {
    #[inline(always)]
    pub(crate) fn hash<Q: Hash + ?Sized>(&self, key: &Q) -> u64 {
        self.hasher.hash_one(key)
    }

    /// Returns the value of a key, if it exists.
    #[inline(always)]
    pub(crate) fn find<Q>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.find_hashed(self.hash(key), key)
    }

    /// Returns the value of a key with this hash, if the key exists.
    #[inline(always)]
    pub(crate) fn find_hashed<Q>(&self, hash: u64, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        self.pairs.find(hash, is_pair_of(key)).map(|(_, value)| value)
    }

    /// Returns a mutable reference to the value of a key, if it exists.
    #[inline(always)]
    pub(crate) fn find_mut<Q>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = self.hash(key);
        self.pairs.find_mut(hash, is_pair_of(key)).map(|(_, value)| value)
    }

    /// Returns the entry of a key, if it exists.
    #[inline(always)]
    pub(crate) fn find_entry<Q>(&mut self, key: &Q) -> Option<OccupiedEntry<'_, (K, V), Allocator>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = self.hash(key);
        self.pairs.find_entry(hash, is_pair_of(key)).ok()
    }

    /// Finds a key, or the place for a new one. Reserves room only for a new one.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if the table has to grow and there is no memory.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn entry(&mut self, key: &K) -> Entry<'_, (K, V), Allocator> {
        let hash = self.hash(key);
        if self.is_full() {
            return expect_memory(self.entry_when_full(hash, key));
        }
        self.entry_hashed(hash, key)
    }

    /// Finds a key with this hash, or the place for a new one, for which the caller made room.
    #[inline(always)]
    pub(crate) fn entry_hashed(&mut self, hash: u64, key: &K) -> Entry<'_, (K, V), Allocator> {
        self.pairs.entry(hash, is_pair_of(key), hash_with(&self.hasher))
    }

    #[cold]
    #[inline(never)]
    fn entry_when_full(
        &mut self,
        hash: u64,
        key: &K,
    ) -> Result<Entry<'_, (K, V), Allocator>, AllocationError> {
        if self.find_hashed(hash, key).is_none() {
            self.try_reserve(1)?;
            return Ok(self.entry_hashed(hash, key));
        }
        match self.pairs.find_entry(hash, is_pair_of(key)) {
            Ok(occupied) => Ok(Entry::Occupied(occupied)),
            Err(_) => unreachable!("a key that was found is found again"),
        }
    }

    /// Returns the value of a key with this hash. Adds the key with `new`, for which the caller
    /// made room, if it is missing.
    ///
    /// Most keys exist, so those are searched first.
    #[inline(always)]
    pub(crate) fn find_or_insert(&mut self, hash: u64, key: K, new: V) -> &mut V {
        let pair = match self.pairs.find_entry(hash, is_pair_of(&key)) {
            Ok(pair) => pair,
            Err(absent) => {
                absent.into_table().insert_unique(hash, (key, new), hash_with(&self.hasher))
            }
        };
        &mut pair.into_mut().1
    }

    /// Reserves room for `additional` more keys.
    pub(crate) fn try_reserve(&mut self, additional: usize) -> Result<(), AllocationError> {
        let needed = self.pairs.len().saturating_add(additional);
        if needed > self.pairs.capacity() && needed <= self.capacity() / 2 {
            // The table is rehashed in place. A hasher that panics then would lose pairs, so it is
            // called here first.
            self.pairs.iter().for_each(|(key, _)| _ = self.hash(key));
        }
        self.try_reserve_with(additional, |hasher, key| hasher.hash_one(key))
    }

    /// Sets the capacity to `wanted` keys, rounded up to the next number of buckets, and frees the
    /// memory beyond that.
    pub(crate) fn set_capacity(&mut self, wanted: usize) -> Result<(), CapacityError> {
        let length = self.pairs.len();
        if wanted < length {
            return Err(CapacityError::BelowLength { capacity: wanted, length });
        }
        let now = self.capacity();
        if wanted > now {
            self.try_reserve(wanted - length)?;
        } else if wanted <= now / 2 {
            // The number of buckets is a power of two, so this may save memory.
            let mut smaller = KeyTable::new_in((), self.pairs.allocator().clone());
            smaller.try_reserve_empty(wanted)?;
            self.rebuild(Some(smaller.pairs));
        }
        Ok(())
    }

    /// Removes the tombstones of removed keys in place, so that the whole capacity can be used.
    pub(crate) fn purge(&mut self) {
        self.rebuild(None);
    }

    /// Moves all pairs to an empty table with room for them, or to the same table again. All hashes
    /// are computed first, so that a panic loses no pair.
    fn rebuild(&mut self, other: Option<HashTable<(K, V), Allocator>>) {
        let hashes: Vec<u64> = self.pairs.iter().map(|(key, _)| self.hash(key)).collect();
        let pairs: Vec<(K, V)> = self.pairs.drain().collect();
        if let Some(other) = other {
            self.pairs = other;
        }
        for (hash, pair) in hashes.into_iter().zip(pairs) {
            self.pairs.insert_unique(hash, pair, hash_with(&self.hasher));
        }
    }
}

/// Returns a function from a pair to its hash.
#[inline(always)]
fn hash_with<K: Hash, V, S: BuildHasher>(hasher: &S) -> impl Fn(&(K, V)) -> u64 {
    move |(key, _)| hasher.hash_one(key)
}

/// Returns a predicate for the pair of a key.
#[inline(always)]
fn is_pair_of<K: Borrow<Q>, V, Q: Eq + ?Sized>(key: &Q) -> impl Fn(&(K, V)) -> bool {
    move |(other, _)| key == other.borrow()
}

/// Pairs that one batch of a parallel job writes to a map, hashed on the batch's own thread.
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
    /// Sets the hasher of the map, so that pairs can be added.
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
        let hasher = self.hasher.as_ref().expect("a map sets the hasher when it opens a lane");
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
