//! A map that jobs share.

use std::hash::{BuildHasher, Hash};

use ancho_jobs::ContainerLabel;

use super::{FixedState, Map};
use crate::allocator::Allocator;
use crate::native::{Container, Native};

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
pub type NativeHashMap<K, V, S = FixedState> = Native<Map<K, V, S>>;

mod alias {
    /// Used only for its name.
    pub(super) struct NativeHashMap<K, V>(std::marker::PhantomData<(K, V)>);
}

impl<K, V, S> Container for Map<K, V, S>
where
    K: Send + 'static,
    V: Send + 'static,
    S: Send + 'static,
{
    #[track_caller]
    fn label() -> ContainerLabel {
        ContainerLabel::of::<alias::NativeHashMap<K, V>>()
    }
}

impl<K: Send + 'static, V: Send + 'static> Native<Map<K, V>> {
    /// Makes an empty map, without allocating.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(ancho_collections::NativeHashMap::<u32, u32>::new().get().unwrap().is_empty());
    /// ```
    #[track_caller]
    pub fn new() -> Self {
        Self::of(Map::new())
    }

    /// Makes an empty map that uses the allocator.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{Allocator, NativeHashMap};
    /// assert!(NativeHashMap::<u32, u32>::new_in(&Allocator::PERSISTENT).get().unwrap().is_empty());
    /// ```
    #[track_caller]
    pub fn new_in(allocator: &Allocator) -> Self {
        Self::of_in(Map::new_in(allocator), allocator)
    }

    /// Makes an empty map with room for at least `capacity` keys. See [`Map::with_capacity`].
    ///
    /// # Examples
    ///
    /// ```
    /// let map = ancho_collections::NativeHashMap::<u32, u32>::with_capacity(100);
    /// assert!(map.get().unwrap().capacity() >= 100);
    /// ```
    #[track_caller]
    pub fn with_capacity(capacity: usize) -> Self {
        Self::of(Map::with_capacity(capacity))
    }

    /// Makes an empty map with room for at least `capacity` keys, in the allocator's memory. See
    /// [`Map::with_capacity_in`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{Allocator, NativeHashMap};
    /// let map = NativeHashMap::<u32, u32>::with_capacity_in(100, &Allocator::PERSISTENT);
    /// assert!(map.get().unwrap().capacity() >= 100);
    /// ```
    #[track_caller]
    pub fn with_capacity_in(capacity: usize, allocator: &Allocator) -> Self {
        Self::of_in(Map::with_capacity_in(capacity, allocator), allocator)
    }
}

impl<K, V, const N: usize> From<[(K, V); N]> for Native<Map<K, V>>
where
    K: Hash + Eq + Send + 'static,
    V: Send + 'static,
{
    #[track_caller]
    fn from(pairs: [(K, V); N]) -> Self {
        Self::of(Map::from(pairs))
    }
}

impl<K, V, S> FromIterator<(K, V)> for Native<Map<K, V, S>>
where
    K: Hash + Eq + Send + 'static,
    V: Send + 'static,
    S: BuildHasher + Default + Send + 'static,
{
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        Self::of(Map::from_iter(pairs))
    }
}

impl<K, V, S> Default for Native<Map<K, V, S>>
where
    K: Send + 'static,
    V: Send + 'static,
    S: Default + Send + 'static,
{
    #[track_caller]
    fn default() -> Self {
        Self::of(Map::default())
    }
}
