//! A set of values.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::iter::FusedIterator;

use ancho_jobs::{BatchInfo, ConcurrentWrite, ContainerLabel};
use foldhash::fast::FixedState;

use crate::allocator::Allocator;
use crate::error::{AllocationError, CapacityError};
use crate::lanes::ParallelWriter;
use crate::list::List;
use crate::map::{Map, MapIntoIter, MapIter, MapLane};
use crate::native::{Growable, Native, labelled_as};

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
/// assert!(!seen.add("Ada"), "the value exists already");
/// assert!(seen.contains("Ada"));
/// ```
pub struct Set<T, S = FixedState> {
    map: Map<T, (), S>,
}

/// A [`Set`] that jobs share.
///
/// # Examples
///
/// ```
/// use ancho_collections::NativeHashSet;
/// use ancho_jobs::{JobPool, JobScheduler};
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let mut seen = NativeHashSet::new();
/// let look = jobs.schedule(&[], seen.write(), |seen| seen.extend("hello".chars()))?;
/// jobs.complete(look);
/// assert_eq!(seen.get()?.len(), 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "NativeParallelHashSet")]
pub type NativeHashSet<T, S = FixedState> = Native<Set<T, S>>;

labelled_as!(Set<T; S>, NativeHashSet);

impl<T> Set<T> {
    /// Creates an empty set, without allocating.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(ancho_collections::Set::<u32>::new().is_empty());
    /// ```
    pub const fn new() -> Self {
        Self { map: Map::new() }
    }

    /// Creates an empty set that uses the allocator.
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

    /// Creates an empty set with room for at least `capacity` values.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory.
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

    /// Creates an empty set with room for at least `capacity` values, in the allocator's memory.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory.
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
    /// Creates an empty set with the given hasher, without allocating.
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

    /// Creates an empty set with the given hasher, that uses the allocator.
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

    /// Returns whether there are no values.
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

    /// Returns the number of values that fit without reallocation, including the existing values. See [`Map::capacity`].
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

    /// Removes and returns the elements of parallel writers that did not fit, in order.
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
    /// Panics with code A0017 if the set has to grow and there is no memory.
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

    /// Sets the capacity to `capacity` values, rounded up to the next table size, and frees the memory beyond that.
    ///
    /// # Errors
    ///
    /// Returns an error, and changes nothing, if there are more values already (A0016), or if there is no memory (A0017).
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
    /// The values are moved to smaller memory. If the allocator has no memory for that, nothing
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

    /// Reserves room for `additional` more values.
    ///
    /// # Errors
    ///
    /// Returns an error, and changes nothing, if there is no memory.
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

    /// Reserves room for `additional` more values.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory.
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

/// Set algebra with the values of another collection.
impl<T: Hash + Eq, S: BuildHasher> Set<T, S> {
    /// Adds copies of all the given values: of another set, a slice, or any iterator.
    ///
    /// To move values instead, use [`extend`](Extend::extend).
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if the set has to grow and there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::Set;
    ///
    /// let mut set = Set::from([1, 2]);
    /// set.union_with(&Set::from([2, 3]));
    /// set.union_with([4]);
    /// assert_eq!(set, [1, 2, 3, 4].into());
    /// ```
    #[track_caller]
    pub fn union_with<I>(&mut self, values: I)
    where
        I: IntoIterator<Item: Borrow<T>>,
        T: Clone,
    {
        for value in values {
            let value = value.borrow();
            if !self.contains(value) {
                self.add(value.clone());
            }
        }
    }

    /// Removes all values except the given ones.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::Set;
    ///
    /// let mut set = Set::from([1, 2, 3]);
    /// set.intersect_with(&Set::from([2, 3, 4]));
    /// assert_eq!(set, [2, 3].into());
    /// ```
    pub fn intersect_with<I>(&mut self, values: I)
    where
        I: IntoIterator<Item: Borrow<T>>,
    {
        // Marked first, so that a panic removes nothing.
        let mut given = vec![false; self.map.table.pairs.num_buckets()];
        for value in values {
            let value = value.borrow();
            let hash = self.map.table.hash(value);
            let found = self.map.table.pairs.find_bucket_index(hash, |(other, ())| other == value);
            if let Some(bucket) = found {
                given[bucket] = true;
            }
        }
        let buckets: Vec<usize> = self.map.table.pairs.iter_buckets().collect();
        for bucket in buckets.into_iter().filter(|&bucket| !given[bucket]) {
            if let Ok(value) = self.map.table.pairs.get_bucket_entry(bucket) {
                value.remove();
            }
        }
    }

    /// Removes all the given values.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::Set;
    ///
    /// let mut set = Set::from([1, 2, 3]);
    /// set.except_with(&Set::from([2, 3, 4]));
    /// assert_eq!(set, [1].into());
    /// ```
    pub fn except_with<I>(&mut self, values: I)
    where
        I: IntoIterator<Item: Borrow<T>>,
    {
        for value in values {
            self.remove(value.borrow());
        }
    }
}

impl<T: Send + 'static> Growable for Set<T> {
    fn new_in(allocator: &Allocator) -> Self {
        Self::new_in(allocator)
    }

    fn with_capacity_in(capacity: usize, allocator: &Allocator) -> Self {
        Self::with_capacity_in(capacity, allocator)
    }
}

impl<T, S: Default> Default for Set<T, S> {
    fn default() -> Self {
        Self { map: Map::default() }
    }
}

impl<T: Clone, S: Clone> Clone for Set<T, S> {
    /// Copies the values, in the same order, into memory of the same allocator. The overflow of
    /// parallel writers is not copied.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory.
    #[track_caller]
    fn clone(&self) -> Self {
        Self { map: self.map.clone() }
    }
}

impl<T: Hash + Eq, const N: usize> From<[T; N]> for Set<T> {
    #[track_caller]
    fn from(values: [T; N]) -> Self {
        let mut set = Self::new();
        set.extend(values);
        set
    }
}

impl<T: Hash + Eq, S: BuildHasher + Default> FromIterator<T> for Set<T, S> {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut set = Self::default();
        set.extend(values);
        set
    }
}

impl<T: Hash + Eq, S: BuildHasher> Extend<T> for Set<T, S> {
    #[track_caller]
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        self.map.extend(values.into_iter().map(|value| (value, ())));
    }
}

impl<T, S> IntoIterator for Set<T, S> {
    type Item = T;
    type IntoIter = SetIntoIter<T>;

    fn into_iter(self) -> SetIntoIter<T> {
        SetIntoIter(self.map.into_iter())
    }
}

impl<'a, T, S> IntoIterator for &'a Set<T, S> {
    type Item = &'a T;
    type IntoIter = SetIter<'a, T>;

    #[inline]
    fn into_iter(self) -> SetIter<'a, T> {
        self.iter()
    }
}

/// Two sets are equal if they have the same values, in any order.
impl<T: Hash + Eq, S: BuildHasher> PartialEq for Set<T, S> {
    fn eq(&self, other: &Self) -> bool {
        self.map == other.map
    }
}

impl<T: Hash + Eq, S: BuildHasher> Eq for Set<T, S> {}

impl<T: fmt::Debug, S> fmt::Debug for Set<T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self).finish()
    }
}

/// Iterator over the values of a [`Set`](crate::Set).
///
/// # Examples
///
/// ```
/// assert_eq!(ancho_collections::Set::from([5]).iter().next(), Some(&5));
/// ```
#[must_use = "iterators are lazy and do nothing unless consumed"]
pub struct SetIter<'a, T>(MapIter<'a, T, ()>);

/// Iterator over the values of a [`Set`](crate::Set), by value.
///
/// # Examples
///
/// ```
/// assert_eq!(ancho_collections::Set::from([5]).into_iter().next(), Some(5));
/// ```
#[must_use = "the values are dropped unless the iterator is used"]
pub struct SetIntoIter<T>(MapIntoIter<T, ()>);

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

/// Values that one batch adds to a set: the lane of a map without values.
///
/// # Examples
///
/// ```
/// use ancho_collections::NativeHashSet;
/// use ancho_jobs::{JobPool, JobScheduler};
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let mut digits = NativeHashSet::with_capacity(10);
/// let job = jobs.schedule_for_each(&[], digits.writer(), 1000, 64, |digits, i| digits.add(i % 10));
/// jobs.complete(job.unwrap());
/// assert_eq!(digits.get().unwrap().len(), 10);
/// ```
pub type SetLane<T, S = FixedState> = MapLane<T, (), S>;

impl<T: Hash, S: BuildHasher> MapLane<T, (), S> {
    /// Adds a value to a set, if it is new.
    ///
    /// The values become part of the set when the job's last batch is done, as the keys of a map do: see
    /// [`try_add`](Self::try_add), and [`SetLane`] for an example.
    #[inline]
    pub fn add(&mut self, value: T) {
        self.try_add(value, ());
    }
}

impl<T, S> ConcurrentWrite for Set<T, S>
where
    T: Hash + Eq + Send + Sync + 'static,
    S: BuildHasher + Clone + Send + Sync + 'static,
{
    type Writer<'v> = ParallelWriter<'v, SetLane<T, S>>;
    type Item<'b> = &'b mut SetLane<T, S>;

    #[inline]
    fn writer(&self, batch: &BatchInfo) -> ParallelWriter<'_, SetLane<T, S>> {
        self.map.writer(batch)
    }

    #[inline(always)]
    fn item<'b>(
        writer: &'b mut ParallelWriter<'_, SetLane<T, S>>,
        _: usize,
    ) -> &'b mut SetLane<T, S> {
        writer
    }

    fn settle(&mut self, container: ContainerLabel) {
        self.map.settle_lanes(container, "new values");
    }
}
