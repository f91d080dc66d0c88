//! A map from keys to values.

mod access;
mod iter;
mod lane;

pub use access::DuplicateKey;
pub use foldhash::fast::FixedState;
pub use iter::{MapIntoIter, MapIter, MapIterMut};
pub use lane::MapLane;

use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::mem;

use crate::allocator::Allocator;
use crate::error::{AllocationError, CapacityError, expect_memory};
use crate::lanes::Lanes;
use crate::native::{Growable, Native, labelled_as};
use crate::table::KeyTable;

/// A map from keys to values: a hash map with an allocator, for jobs.
///
/// Jobs access a [`NativeHashMap`] as this type.
///
/// The table is that of the crate `hashbrown`, and the hash function that of `foldhash`. Another
/// one can be set [in the constructor](Self::with_hasher).
///
/// # Determinism
///
/// The hash function has a fixed seed, so the order of iteration depends on the operations alone:
/// it is the same in every run, for any number of threads. It may differ on another processor
/// architecture. Untrusted keys may be chosen to collide: use a hasher with a random seed for
/// those.
///
/// # Examples
///
/// ```
/// let mut scores = ancho_collections::Map::new();
/// scores.insert("Ada", 10);
/// assert!(!scores.try_add("Ada", 20), "the key exists already");
/// assert_eq!(scores["Ada"], 10);
/// assert_eq!(scores.get("Bob"), None);
/// ```
///
/// A map cannot be changed during iteration, which Unity checks at run time:
///
/// ```compile_fail,E0499
/// let mut scores = ancho_collections::Map::from([("Ada", 10)]);
/// for (name, score) in &mut scores {
///     scores.remove(name);
/// }
/// ```
#[doc(alias = "UnsafeHashMap")]
#[doc(alias = "UnsafeParallelHashMap")]
pub struct Map<K, V, S = FixedState> {
    pub(crate) table: KeyTable<K, V, S>,
    lanes: Lanes<MapLane<K, V, S>>,
    /// Elements of parallel writers that did not fit.
    overflow: Vec<(K, V)>,
}

/// A [`Map`] that jobs share.
///
/// # Examples
///
/// ```
/// use ancho_collections::NativeHashMap;
/// use ancho_jobs::{JobPool, JobScheduler};
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let mut squares = NativeHashMap::with_capacity(1000);
/// let fill = jobs.schedule_for_each(&[], squares.writer(), 1000, 64, |squares, i| {
///     squares.try_add(i, i * i);
/// })?;
/// let look = jobs.schedule(&[fill], squares.read(), |squares| assert_eq!(squares[&12], 144))?;
/// jobs.complete(look);
/// assert_eq!(squares.get()?.len(), 1000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "NativeParallelHashMap")]
pub type NativeHashMap<K, V, S = FixedState> = Native<Map<K, V, S>>;

labelled_as!(Map<K, V; S>, NativeHashMap);

impl<K, V> Map<K, V> {
    /// Creates an empty map, without allocating.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(ancho_collections::Map::<u32, u32>::new().is_empty());
    /// ```
    pub const fn new() -> Self {
        Self::with(KeyTable::new_in(FixedState::with_seed(0), Allocator::PERSISTENT))
    }

    /// Creates an empty map that uses the allocator.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{Allocator, Map};
    /// assert_eq!(Map::<u32, u32>::new_in(&Allocator::PERSISTENT).capacity(), 0);
    /// ```
    pub fn new_in(allocator: &Allocator) -> Self {
        Self::with_hasher_in(FixedState::default(), allocator)
    }

    /// Creates an empty map with room for at least `capacity` keys.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(ancho_collections::Map::<u32, u32>::with_capacity(100).capacity() >= 100);
    /// ```
    #[track_caller]
    pub fn with_capacity(capacity: usize) -> Self {
        Self::with_capacity_in(capacity, &Allocator::PERSISTENT)
    }

    /// Creates an empty map with room for at least `capacity` keys, in the allocator's memory.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{Allocator, Map};
    /// assert!(Map::<u32, u32>::with_capacity_in(100, &Allocator::PERSISTENT).capacity() >= 100);
    /// ```
    #[track_caller]
    pub fn with_capacity_in(capacity: usize, allocator: &Allocator) -> Self {
        let mut map = Self::new_in(allocator);
        expect_memory(map.table.try_reserve_empty(capacity));
        map
    }
}

impl<K, V, S> Map<K, V, S> {
    /// Creates an empty map with the given hasher, without allocating.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::hash::RandomState;
    ///
    /// let mut names = ancho_collections::Map::with_hasher(RandomState::new());
    /// names.insert("from the network", 1);
    /// assert_eq!(names.len(), 1);
    /// ```
    pub fn with_hasher(hasher: S) -> Self {
        Self::with_hasher_in(hasher, &Allocator::PERSISTENT)
    }

    /// Creates an empty map with the given hasher, that uses the allocator.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{Allocator, FixedState, Map};
    ///
    /// let map = Map::<u32, u32>::with_hasher_in(FixedState::with_seed(7), &Allocator::PERSISTENT);
    /// assert!(map.is_empty());
    /// ```
    pub fn with_hasher_in(hasher: S, allocator: &Allocator) -> Self {
        Self::with(KeyTable::new_in(hasher, allocator.clone()))
    }

    /// Returns the number of keys (Unity's `Count`).
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::Map::from([(1, "one"), (2, "two")]).len(), 2);
    /// ```
    #[inline]
    pub fn len(&self) -> usize {
        self.table.pairs.len()
    }

    /// Returns whether there are no keys.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(!ancho_collections::Map::from([(1, "one")]).is_empty());
    /// ```
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.table.pairs.is_empty()
    }

    /// Returns the number of keys that fit without reallocation, including the existing keys.
    ///
    /// It is the requested capacity rounded up to the next table size, and removing does not lower
    /// it.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::Map::<u32, u32>::with_capacity(100).capacity(), 112);
    /// ```
    pub fn capacity(&self) -> usize {
        self.table.capacity()
    }

    /// Returns the allocator that the memory is from.
    ///
    /// # Examples
    ///
    /// ```
    /// let map = ancho_collections::Map::<u32, u32>::new();
    /// assert_eq!(map.allocator().name(), "Persistent");
    /// ```
    pub fn allocator(&self) -> &Allocator {
        self.table.pairs.allocator()
    }

    /// Returns the hash function.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::hash::BuildHasher;
    ///
    /// let map = ancho_collections::Map::<u32, u32>::new();
    /// assert_eq!(map.hasher().hash_one(5), map.hasher().hash_one(5));
    /// ```
    pub fn hasher(&self) -> &S {
        &self.table.hasher
    }

    /// Removes all keys and values, and keeps the memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut map = ancho_collections::Map::from([(1, "one")]);
    /// map.clear();
    /// assert!(map.is_empty() && map.capacity() >= 1);
    /// ```
    pub fn clear(&mut self) {
        self.table.pairs.clear();
    }

    /// Removes and returns the elements of parallel writers that did not fit, in order.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::NativeHashMap;
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut map = NativeHashMap::with_capacity(3);
    /// let job = jobs.schedule_for_each(&[], map.writer(), 5, 1, |map, i| map.try_add(i, i * i)).unwrap();
    /// assert!(jobs.try_complete(job).unwrap_err().to_string().contains("A0015: "));
    /// let map = map.get_mut().unwrap();
    /// assert_eq!(map.len(), 3);
    /// assert_eq!(map.take_overflow(), [(3, 9), (4, 16)]);
    /// ```
    pub fn take_overflow(&mut self) -> Vec<(K, V)> {
        mem::take(&mut self.overflow)
    }

    const fn with(table: KeyTable<K, V, S>) -> Self {
        Self { table, lanes: Lanes::new(), overflow: Vec::new() }
    }
}

impl<K: Hash + Eq, V, S: BuildHasher> Map<K, V, S> {
    /// Sets the capacity to `capacity` keys, rounded up to the next table size, and frees the memory beyond that.
    ///
    /// # Errors
    ///
    /// Returns an error, and changes nothing, if there are more keys already (A0016), or if there is no memory (A0017).
    ///
    /// # Examples
    ///
    /// ```
    /// let mut map = ancho_collections::Map::from([(1, "one"), (2, "two")]);
    /// map.set_capacity(10).unwrap();
    /// assert_eq!(map.capacity(), 14);
    /// assert!(map.set_capacity(1).unwrap_err().to_string().starts_with("A0016: "));
    /// ```
    pub fn set_capacity(&mut self, capacity: usize) -> Result<(), CapacityError> {
        self.table.set_capacity(capacity)
    }

    /// Frees the capacity that the keys do not need (Unity's `TrimExcess`). The memory of parallel
    /// writers is freed too.
    ///
    /// The pairs are moved to smaller memory. If the allocator has no memory for that, nothing
    /// changes.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut map = ancho_collections::Map::from([(1, "one"), (2, "two")]);
    /// map.reserve(100);
    /// map.shrink_to_fit();
    /// assert!(map.capacity() < 100);
    /// ```
    #[doc(alias = "TrimExcess")]
    #[doc(alias = "trim")]
    pub fn shrink_to_fit(&mut self) {
        let _ = self.set_capacity(self.len());
        self.lanes.shrink_to_fit();
        self.overflow.shrink_to_fit();
    }

    /// Reserves room for `additional` more keys.
    ///
    /// # Errors
    ///
    /// Returns an error, and changes nothing, if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut map = ancho_collections::Map::<u32, u32>::new();
    /// map.try_reserve(100).unwrap();
    /// assert!(map.capacity() >= 100);
    /// assert!(map.try_reserve(usize::MAX).is_err());
    /// ```
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), AllocationError> {
        self.table.try_reserve(additional)
    }

    /// Reserves room for `additional` more keys.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut map = ancho_collections::Map::<u32, u32>::new();
    /// map.reserve(100);
    /// assert!(map.capacity() >= 100);
    /// ```
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        expect_memory(self.try_reserve(additional));
    }
}

impl<K: Send + 'static, V: Send + 'static> Growable for Map<K, V> {
    fn new_in(allocator: &Allocator) -> Self {
        Self::new_in(allocator)
    }

    fn with_capacity_in(capacity: usize, allocator: &Allocator) -> Self {
        Self::with_capacity_in(capacity, allocator)
    }
}

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
        Self::with(expect_memory(self.table.try_clone()))
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
        // Not `for_each`: a closure would hide the caller's location from the panic.
        for (key, value) in pairs {
            self.insert(key, value);
        }
    }
}

impl<K, V, S> IntoIterator for Map<K, V, S> {
    type Item = (K, V);
    type IntoIter = MapIntoIter<K, V>;

    fn into_iter(self) -> MapIntoIter<K, V> {
        MapIntoIter(self.table.pairs.into_iter())
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
