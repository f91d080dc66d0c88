//! A map from keys to any number of values.

mod access;
mod grouping;
mod iter;
mod lane;
mod native;
mod nodes;
mod traits;

pub use iter::{MultiMapIter, MultiMapValues, MultiMapValuesMut};
pub use lane::MultiMapLane;
pub use native::NativeMultiHashMap;

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};
use std::mem;

use foldhash::fast::FixedState;

use crate::allocator::Allocator;
use crate::error::{AllocationError, CapacityError};
use crate::lanes::Lanes;
use crate::table::{self, Table, unwrap};

use grouping::Waiting;
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
pub struct MultiMap<K, V, S = FixedState> {
    heads: Table<Head<K>>,
    nodes: Nodes<V>,
    hasher: S,
    lanes: Lanes<MultiMapLane<K, V, S>>,
    waiting: Waiting<V>,
    /// Elements of parallel writers that did not fit.
    overflow: Vec<(K, V)>,
}

/// A key that has values.
#[derive(Clone)]
struct Head<K> {
    key: K,
    /// Never empty, except while a job's values are added.
    chain: Chain,
    /// Its number among the keys to which a job is adding values, or [`NIL`].
    group: u32,
}

impl<K, V> MultiMap<K, V> {
    /// Makes an empty map, without allocating.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(ancho_collections::MultiMap::<u32, u32>::new().is_empty());
    /// ```
    pub const fn new() -> Self {
        Self {
            heads: Table::new_in(Allocator::PERSISTENT),
            nodes: Nodes::new_in(Allocator::PERSISTENT),
            hasher: FixedState::with_seed(0),
            lanes: Lanes::new(),
            waiting: Waiting::new(),
            overflow: Vec::new(),
        }
    }

    /// Makes an empty map that uses the allocator.
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

    /// Makes an empty map with room for `capacity` values, each of a different key.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory for them.
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

    /// Makes an empty map with room for `capacity` values, each of a different key, in the
    /// allocator's memory.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory for them.
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
        unwrap(table::try_reserve(&mut map.heads, capacity, |_| {
            unreachable!("there is nothing to hash")
        }));
        unwrap(map.nodes.try_reserve_exact(capacity));
        map
    }
}

impl<K, V, S> MultiMap<K, V, S> {
    /// Makes an empty map with the given hasher, without allocating.
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

    /// Makes an empty map with the given hasher, that uses the allocator.
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
        Self {
            heads: Table::new_in(allocator.clone()),
            nodes: Nodes::new_in(allocator.clone()),
            hasher,
            lanes: Lanes::new(),
            waiting: Waiting::new(),
            overflow: Vec::new(),
        }
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

    /// Returns whether the pointer is null.
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

    /// Returns the capacity, in values, including the existing ones.
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
        self.heads.allocator()
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
        self.heads.clear();
    }

    /// Takes out the elements of parallel writers that did not fit, in order.
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
}

impl<K: Hash + Eq, V, S: BuildHasher> MultiMap<K, V, S> {
    /// Makes room for exactly `capacity` values, each of a different key. The values of each key
    /// are then contiguous, if the capacity decreased.
    ///
    /// # Errors
    ///
    /// Returns an error, and changes nothing, if there are more values already (A0016), or if there
    /// is no memory for that (A0017).
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
        table::set_capacity(&mut self.heads, capacity, hash_with(&self.hasher))?;
        if capacity >= self.capacity() {
            self.nodes.try_reserve_exact(capacity - length)?;
        } else {
            self.nodes.compact(capacity, self.heads.iter_mut().map(|head| &mut head.chain))?;
        }
        Ok(())
    }

    /// Frees the capacity that the keys and values do not need (Unity's `TrimExcess`). The memory
    /// of parallel writers is freed too. The values of each key are then contiguous.
    ///
    /// The bits are moved to smaller memory. If the allocator has no memory for that, nothing
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
        let keys = self.heads.len();
        let _ = table::set_capacity(&mut self.heads, keys, hash_with(&self.hasher));
        if self.len() < self.capacity() {
            let chains = self.heads.iter_mut().map(|head| &mut head.chain);
            let _ = self.nodes.compact(self.nodes.len(), chains);
        }
        self.lanes.shrink_to_fit();
        self.waiting.shrink_to_fit();
        self.overflow.shrink_to_fit();
    }

    /// Makes room for `additional` more values, each of a new key.
    ///
    /// # Errors
    ///
    /// Returns an error, and changes nothing, if there is no memory for them.
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
        table::try_reserve(&mut self.heads, additional, hash_with(&self.hasher))?;
        self.nodes.try_reserve(additional)
    }

    /// Makes room for `additional` more values, each of a new key.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory for them.
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
        unwrap(self.try_reserve(additional));
    }
}

/// Finds the head of a key, or adds one, for which the caller made room: its chain gets a value
/// next.
///
/// Most values are of existing keys, so those are searched first.
#[inline(always)]
fn head<'m, K: Hash + Eq>(
    heads: &'m mut Table<Head<K>>,
    hash: u64,
    key: K,
    hasher: &impl BuildHasher,
) -> &'m mut Head<K> {
    match heads.find_entry(hash, is_head_of(&key)) {
        Ok(head) => head.into_mut(),
        Err(absent) => {
            let head = Head { key, chain: Chain::EMPTY, group: NIL };
            absent.into_table().insert_unique(hash, head, hash_with(hasher)).into_mut()
        }
    }
}

/// Returns a function from a key to its hash.
#[inline(always)]
fn hash_with<K: Hash, S: BuildHasher>(hasher: &S) -> impl Fn(&Head<K>) -> u64 {
    move |head| hasher.hash_one(&head.key)
}

/// Returns a predicate for a key.
#[inline(always)]
fn is_head_of<K: Borrow<Q>, Q: Eq + ?Sized>(key: &Q) -> impl Fn(&Head<K>) -> bool {
    move |head| key == head.key.borrow()
}
