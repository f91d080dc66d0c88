//! A map from keys to any number of values.

mod access;
mod iter;
mod keys;
mod lane;
mod nodes;

pub use iter::{MultiMapIter, MultiMapValues, MultiMapValuesMut};
pub use lane::MultiMapLane;

use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::mem;

use foldhash::fast::FixedState;

use crate::allocator::Allocator;
use crate::error::{AllocationError, CapacityError, expect_memory};
use crate::lanes::Lanes;
use crate::native::{Growable, Native, labelled_as};
use crate::table::KeyTable;
use lane::Waiting;
use nodes::{Chain, NIL, Nodes};

/// A map from keys to any number of values each, for jobs.
///
/// Jobs access a [`NativeMultiHashMap`] as this type. It is designed to be filled by all batches of
/// a job, read by the next, and cleared for the next frame: for example, the entities in each cell
/// of a grid.
///
/// All values are in one vector, linked to those of the same key; a table leads from each key to
/// its first value and its last. So a key has no memory of its own, and clearing keeps the memory.
/// The values that one job adds to a key are contiguous.
///
/// # Determinism
///
/// The values of a key are in the order in which they were added. The order of the keys depends on the
/// operations alone, as for a [`Map`](crate::Map).
///
/// # Examples
///
/// ```
/// let mut cells = ancho_collections::MultiMap::new();
/// cells.add((0, 0), "Ada");
/// cells.add((3, 1), "Bob");
/// cells.add((0, 0), "Eve");
/// assert!(cells.values_for(&(0, 0)).eq(&["Ada", "Eve"]));
/// assert_eq!(cells.count_for_key(&(3, 1)), 1);
/// ```
#[doc(alias = "UnsafeParallelMultiHashMap")]
pub struct MultiMap<K, V, S = FixedState> {
    heads: KeyTable<K, Head, S>,
    nodes: Nodes<V>,
    lanes: Lanes<MultiMapLane<K, V, S>>,
    waiting: Waiting<V>,
    /// Elements of parallel writers that did not fit.
    overflow: Vec<(K, V)>,
}

/// The values of a key.
#[derive(Clone)]
struct Head {
    /// The chain of the key's values. It is never empty, except while a job's values are added.
    chain: Chain,
    /// The number of the key among those to which a job is adding values, or [`NIL`].
    group: u32,
}

impl Head {
    /// The head of a new key, whose chain gets a value next.
    const NEW: Self = Self { chain: Chain::EMPTY, group: NIL };
}

/// A [`MultiMap`] that jobs share.
///
/// # Examples
///
/// Neighbours by the cells of a grid:
///
/// ```
/// use ancho_collections::{NativeArray, NativeMultiHashMap};
/// use ancho_jobs::{JobPool, JobScheduler};
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let positions: NativeArray<f32> = NativeArray::from(vec![0.5, 7.2, 0.1, 7.9, 3.3]);
/// let mut cells = NativeMultiHashMap::with_capacity(5);
/// let tokens = (positions.read(), cells.writer());
/// let sort = jobs.schedule_for_each(&[], tokens, 5, 2, |(positions, cells), i| {
///     cells.add(positions[i] as i32, i);
/// })?;
/// jobs.complete(sort);
/// assert!(cells.get()?.values_for(&7).eq(&[1, 3]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "NativeParallelMultiHashMap")]
pub type NativeMultiHashMap<K, V, S = FixedState> = Native<MultiMap<K, V, S>>;

labelled_as!(MultiMap<K, V; S>, NativeMultiHashMap);

impl<K, V> MultiMap<K, V> {
    /// Creates an empty map, without allocating.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(ancho_collections::MultiMap::<u32, u32>::new().is_empty());
    /// ```
    pub const fn new() -> Self {
        Self::with(
            KeyTable::new_in(FixedState::with_seed(0), Allocator::PERSISTENT),
            Nodes::new_in(Allocator::PERSISTENT),
        )
    }

    /// Creates an empty map that uses the allocator.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{Allocator, MultiMap};
    /// assert_eq!(MultiMap::<u32, u32>::new_in(&Allocator::PERSISTENT).capacity(), 0);
    /// ```
    pub fn new_in(allocator: &Allocator) -> Self {
        Self::with_hasher_in(FixedState::default(), allocator)
    }

    /// Creates an empty map with room for `capacity` values, each of a different key.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::MultiMap::<u32, u32>::with_capacity(100).capacity(), 100);
    /// ```
    #[track_caller]
    pub fn with_capacity(capacity: usize) -> Self {
        Self::with_capacity_in(capacity, &Allocator::PERSISTENT)
    }

    /// Creates an empty map with room for `capacity` values, each of a different key, in the allocator's memory.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{Allocator, MultiMap};
    /// assert_eq!(MultiMap::<u32, u32>::with_capacity_in(100, &Allocator::PERSISTENT).capacity(), 100);
    /// ```
    #[track_caller]
    pub fn with_capacity_in(capacity: usize, allocator: &Allocator) -> Self {
        let mut map = Self::new_in(allocator);
        expect_memory(map.heads.try_reserve_empty(capacity));
        expect_memory(map.nodes.try_reserve_exact(capacity));
        map
    }
}

impl<K, V, S> MultiMap<K, V, S> {
    /// Creates an empty map with the given hasher, without allocating.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::hash::RandomState;
    ///
    /// let mut words = ancho_collections::MultiMap::with_hasher(RandomState::new());
    /// words.add("from the network", 1);
    /// assert_eq!(words.len(), 1);
    /// ```
    pub fn with_hasher(hasher: S) -> Self {
        Self::with_hasher_in(hasher, &Allocator::PERSISTENT)
    }

    /// Creates an empty map with the given hasher, that uses the allocator.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{Allocator, FixedState, MultiMap};
    ///
    /// let seed = FixedState::with_seed(7);
    /// assert!(MultiMap::<u32, u32>::with_hasher_in(seed, &Allocator::PERSISTENT).is_empty());
    /// ```
    pub fn with_hasher_in(hasher: S, allocator: &Allocator) -> Self {
        Self::with(KeyTable::new_in(hasher, allocator.clone()), Nodes::new_in(allocator.clone()))
    }

    /// Returns the number of values of all keys (Unity's `Count`).
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::MultiMap::from([(1, 'a'), (1, 'b'), (2, 'c')]).len(), 3);
    /// ```
    #[inline]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns whether there are no values.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(!ancho_collections::MultiMap::from([(1, 'a')]).is_empty());
    /// ```
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of values that fit without reallocation, including the existing values.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::MultiMap::<u32, u32>::with_capacity(100).capacity(), 100);
    /// ```
    #[inline]
    pub fn capacity(&self) -> usize {
        self.nodes.capacity()
    }

    /// Returns the allocator that the memory is from.
    ///
    /// # Examples
    ///
    /// ```
    /// let map = ancho_collections::MultiMap::<u32, u32>::new();
    /// assert_eq!(map.allocator().name(), "Persistent");
    /// ```
    pub fn allocator(&self) -> &Allocator {
        self.heads.pairs.allocator()
    }

    /// Removes all keys and values, and keeps the memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut map = ancho_collections::MultiMap::from([(1, 'a'), (1, 'b')]);
    /// map.clear();
    /// assert!(map.is_empty() && map.capacity() >= 2);
    /// ```
    pub fn clear(&mut self) {
        /// Clears the values even if dropping a key panics.
        struct Rest<'m, V>(&'m mut Nodes<V>);

        impl<V> Drop for Rest<'_, V> {
            fn drop(&mut self) {
                self.0.clear();
            }
        }

        let _rest = Rest(&mut self.nodes);
        self.heads.pairs.clear();
    }

    /// Removes and returns the elements of parallel writers that did not fit, in order.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::NativeMultiHashMap;
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut map = NativeMultiHashMap::with_capacity(3);
    /// let job = jobs.schedule_for_each(&[], map.writer(), 5, 1, |map, i| map.add(i % 2, i)).unwrap();
    /// assert!(jobs.try_complete(job).unwrap_err().to_string().contains("A0015: "));
    /// let map = map.get_mut().unwrap();
    /// assert!(map.values_for(&0).eq(&[0, 2]));
    /// assert_eq!(map.take_overflow(), [(1, 3), (0, 4)]);
    /// ```
    pub fn take_overflow(&mut self) -> Vec<(K, V)> {
        mem::take(&mut self.overflow)
    }

    const fn with(heads: KeyTable<K, Head, S>, nodes: Nodes<V>) -> Self {
        Self { heads, nodes, lanes: Lanes::new(), waiting: Waiting::new(), overflow: Vec::new() }
    }
}

impl<K: Hash + Eq, V, S: BuildHasher> MultiMap<K, V, S> {
    /// Sets the capacity to exactly `capacity` values, each of a different key. The values of each key are then contiguous, if
    /// the capacity decreased.
    ///
    /// # Errors
    ///
    /// Returns an error, and changes nothing, if there are more values already (A0016), or if there is no memory (A0017).
    ///
    /// # Examples
    ///
    /// ```
    /// let mut map = ancho_collections::MultiMap::from([(1, 'a'), (1, 'b')]);
    /// map.set_capacity(10).unwrap();
    /// assert_eq!(map.capacity(), 10);
    /// assert!(map.set_capacity(1).unwrap_err().to_string().starts_with("A0016: "));
    /// ```
    pub fn set_capacity(&mut self, capacity: usize) -> Result<(), CapacityError> {
        let length = self.len();
        if capacity < length {
            return Err(CapacityError::BelowLength { capacity, length });
        }
        // There are no more keys than values. If there is no memory for the values, the larger
        // table has no visible effect.
        self.heads.set_capacity(capacity)?;
        if capacity >= self.capacity() {
            self.nodes.try_reserve_exact(capacity - length)?;
        } else {
            let chains = self.heads.pairs.iter_mut().map(|(_, head)| &mut head.chain);
            self.nodes.compact(capacity, chains)?;
        }
        Ok(())
    }

    /// Frees the capacity that the keys and values do not need (Unity's `TrimExcess`). The memory
    /// of parallel writers is freed too. The values of each key are then contiguous.
    ///
    /// The pairs are moved to smaller memory. If the allocator has no memory for that, nothing
    /// changes.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut map = ancho_collections::MultiMap::from([(1, 'a'), (1, 'b')]);
    /// map.reserve(100);
    /// map.shrink_to_fit();
    /// assert_eq!(map.capacity(), 2);
    /// ```
    #[doc(alias = "TrimExcess")]
    #[doc(alias = "trim")]
    pub fn shrink_to_fit(&mut self) {
        // If there is no memory for one of the two, the other still shrinks.
        let _ = self.heads.set_capacity(self.heads.pairs.len());
        if self.len() < self.capacity() {
            let chains = self.heads.pairs.iter_mut().map(|(_, head)| &mut head.chain);
            let _ = self.nodes.compact(self.nodes.len(), chains);
        }
        self.lanes.shrink_to_fit();
        self.waiting.shrink_to_fit();
        self.overflow.shrink_to_fit();
    }

    /// Reserves room for `additional` more values, each of a new key.
    ///
    /// # Errors
    ///
    /// Returns an error, and changes nothing, if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut map = ancho_collections::MultiMap::<u32, u32>::new();
    /// map.try_reserve(100).unwrap();
    /// assert!(map.capacity() >= 100);
    /// assert!(map.try_reserve(usize::MAX).is_err());
    /// ```
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), AllocationError> {
        self.heads.try_reserve(additional)?;
        self.nodes.try_reserve(additional)
    }

    /// Reserves room for `additional` more values, each of a new key.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut map = ancho_collections::MultiMap::<u32, u32>::new();
    /// map.reserve(100);
    /// assert!(map.capacity() >= 100);
    /// ```
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        expect_memory(self.try_reserve(additional));
    }
}

impl<K: Send + 'static, V: Send + 'static> Growable for MultiMap<K, V> {
    fn new_in(allocator: &Allocator) -> Self {
        Self::new_in(allocator)
    }

    fn with_capacity_in(capacity: usize, allocator: &Allocator) -> Self {
        Self::with_capacity_in(capacity, allocator)
    }
}

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
        Self::with(expect_memory(self.heads.try_clone()), expect_memory(self.nodes.try_clone()))
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
        expect_memory(self.nodes.try_reserve(at_least));
        // Not `for_each`: a closure would hide the caller's location from the panic.
        for (key, value) in pairs {
            self.add(key, value);
        }
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
        let heads = self.heads.pairs.iter();
        let values = heads.map(|(key, head)| (key, self.nodes.values(Some(head.chain))));
        f.debug_map().entries(values).finish()
    }
}
