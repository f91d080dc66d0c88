//! A set of values.

mod algebra;
mod iter;
mod lane;
mod native;
mod traits;

pub use iter::{SetIntoIter, SetIter};
pub use lane::SetLane;
pub use native::NativeHashSet;

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};

use foldhash::fast::FixedState;

use crate::allocator::Allocator;
use crate::error::{AllocationError, CapacityError};
use crate::list::List;
use crate::map::Map;

/// A set of values: a hash set with an allocator, for jobs.
///
/// Jobs access a [`NativeHashSet`] as this type. It is a [`Map`] without values, with the same
/// order.
///
/// # Determinism
///
/// As for a [`Map`], the order of iteration depends on the operations alone.
///
/// # Examples
///
/// ```
/// let mut seen = ancho_collections::Set::new();
/// assert!(seen.add("Ada"));
/// assert!(!seen.add("Ada"), "there already");
/// assert!(seen.contains("Ada"));
/// ```
pub struct Set<T, S = FixedState> {
    map: Map<T, (), S>,
}

impl<T> Set<T> {
    /// Makes an empty set, without allocating.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(ancho_collections::Set::<u32>::new().is_empty());
    /// ```
    pub const fn new() -> Self {
        Self { map: Map::new() }
    }

    /// Makes an empty set that uses the allocator.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{Allocator, Set};
    /// assert_eq!(Set::<u32>::new_in(&Allocator::PERSISTENT).capacity(), 0);
    /// ```
    pub fn new_in(allocator: &Allocator) -> Self {
        Self { map: Map::new_in(allocator) }
    }

    /// Makes an empty set with room for at least `capacity` values.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory for them.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(ancho_collections::Set::<u32>::with_capacity(100).capacity() >= 100);
    /// ```
    #[track_caller]
    pub fn with_capacity(capacity: usize) -> Self {
        Self { map: Map::with_capacity(capacity) }
    }

    /// Makes an empty set with room for at least `capacity` values, in the allocator's memory.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory for them.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{Allocator, Set};
    /// assert!(Set::<u32>::with_capacity_in(100, &Allocator::PERSISTENT).capacity() >= 100);
    /// ```
    #[track_caller]
    pub fn with_capacity_in(capacity: usize, allocator: &Allocator) -> Self {
        Self { map: Map::with_capacity_in(capacity, allocator) }
    }
}

impl<T, S> Set<T, S> {
    /// Makes an empty set with the given hasher, without allocating.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::hash::RandomState;
    ///
    /// let mut names = ancho_collections::Set::with_hasher(RandomState::new());
    /// assert!(names.add("from the network"));
    /// ```
    pub fn with_hasher(hasher: S) -> Self {
        Self { map: Map::with_hasher(hasher) }
    }

    /// Makes an empty set with the given hasher, that uses the allocator.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{Allocator, FixedState, Set};
    ///
    /// let set = Set::<u32>::with_hasher_in(FixedState::with_seed(7), &Allocator::PERSISTENT);
    /// assert!(set.is_empty());
    /// ```
    pub fn with_hasher_in(hasher: S, allocator: &Allocator) -> Self {
        Self { map: Map::with_hasher_in(hasher, allocator) }
    }

    /// Returns the number of values (Unity's `Count`).
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::Set::from([1, 2, 2]).len(), 2);
    /// ```
    #[inline]
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// Returns whether the pointer is null.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(!ancho_collections::Set::from([1]).is_empty());
    /// ```
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// Returns the capacity, in values, including the existing ones. See [`Map::capacity`].
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::Set::<u32>::with_capacity(100).capacity(), 112);
    /// ```
    pub fn capacity(&self) -> usize {
        self.map.capacity()
    }

    /// Returns the allocator that the memory is from.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::Set::<u32>::new().allocator().name(), "Persistent");
    /// ```
    pub fn allocator(&self) -> &Allocator {
        self.map.allocator()
    }

    /// Iterates over the values. See [`Map`] for the order.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::Set::from([1, 2, 3]).iter().sum::<i32>(), 6);
    /// ```
    #[inline]
    pub fn iter(&self) -> SetIter<'_, T> {
        SetIter(self.map.iter())
    }

    /// Returns a list of the values (Unity's `ToNativeArray`).
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::Set::from([5]).to_list()[..], [5]);
    /// ```
    pub fn to_list(&self) -> List<T>
    where
        T: Clone,
    {
        self.map.to_key_list()
    }

    /// Keeps the values for which the function returns `true`.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut set = ancho_collections::Set::from([1, 2, 3, 4]);
    /// set.retain(|value| value % 2 == 0);
    /// assert_eq!(set, [2, 4].into());
    /// ```
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.map.retain(|value, ()| keep(value));
    }

    /// Removes all values, and keeps the memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut set = ancho_collections::Set::from([1, 2]);
    /// set.clear();
    /// assert!(set.is_empty() && set.capacity() >= 2);
    /// ```
    pub fn clear(&mut self) {
        self.map.clear();
    }

    /// Takes out the elements of parallel writers that did not fit, in order.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::NativeHashSet;
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut set = NativeHashSet::<u64>::with_capacity(3);
    /// let job = jobs.schedule_for_each(&[], set.writer(), 5, 1, |set, i| set.add(i as u64)).unwrap();
    /// assert!(jobs.try_complete(job).unwrap_err().to_string().contains("A0015: "));
    /// assert_eq!(set.get_mut().unwrap().take_overflow(), [3, 4]);
    /// ```
    pub fn take_overflow(&mut self) -> Vec<T> {
        self.map.take_overflow().into_iter().map(|(value, ())| value).collect()
    }
}

impl<T: Hash + Eq, S: BuildHasher> Set<T, S> {
    /// Adds a value if it is new, and returns whether it was added.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if the set has to grow and there is no memory for it.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut set = ancho_collections::Set::new();
    /// assert_eq!([set.add(5), set.add(5)], [true, false]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn add(&mut self, value: T) -> bool {
        self.map.try_add(value, ())
    }

    /// Returns whether the set has a value.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(ancho_collections::Set::from(["Ada"]).contains("Ada"));
    /// ```
    #[inline]
    pub fn contains<Q>(&self, value: &Q) -> bool
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.map.contains_key(value)
    }

    /// Removes a value, and returns whether it existed.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut set = ancho_collections::Set::from([5]);
    /// assert_eq!([set.remove(&5), set.remove(&5)], [true, false]);
    /// ```
    #[inline]
    pub fn remove<Q>(&mut self, value: &Q) -> bool
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.map.remove(value).is_some()
    }

    /// Makes room for at least `capacity` values, and frees the memory beyond that.
    ///
    /// # Errors
    ///
    /// Returns an error, and changes nothing, if there are more values already (A0016), or if there
    /// is no memory for that (A0017).
    ///
    /// # Examples
    ///
    /// ```
    /// let mut set = ancho_collections::Set::from([1, 2]);
    /// set.set_capacity(10).unwrap();
    /// assert_eq!(set.capacity(), 14);
    /// assert!(set.set_capacity(1).unwrap_err().to_string().starts_with("A0016: "));
    /// ```
    pub fn set_capacity(&mut self, capacity: usize) -> Result<(), CapacityError> {
        self.map.set_capacity(capacity)
    }

    /// Frees the capacity that the values do not need (Unity's `TrimExcess`). The memory of
    /// parallel writers is freed too.
    ///
    /// The bits are moved to smaller memory. If the allocator has no memory for that, nothing
    /// changes.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut set = ancho_collections::Set::from([1, 2]);
    /// set.reserve(100);
    /// set.shrink_to_fit();
    /// assert!(set.capacity() < 100);
    /// ```
    #[doc(alias = "TrimExcess")]
    #[doc(alias = "trim")]
    pub fn shrink_to_fit(&mut self) {
        self.map.shrink_to_fit();
    }

    /// Makes room for `additional` more values.
    ///
    /// # Errors
    ///
    /// Returns an error, and changes nothing, if there is no memory for them.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut set = ancho_collections::Set::<u32>::new();
    /// assert!(set.try_reserve(100).is_ok() && set.capacity() >= 100);
    /// assert!(set.try_reserve(usize::MAX).is_err());
    /// ```
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), AllocationError> {
        self.map.try_reserve(additional)
    }

    /// Makes room for `additional` more values.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory for them.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut set = ancho_collections::Set::<u32>::new();
    /// set.reserve(100);
    /// assert!(set.capacity() >= 100);
    /// ```
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        self.map.reserve(additional);
    }
}
