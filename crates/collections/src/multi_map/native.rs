//! A multi-map that jobs share.

use std::hash::{BuildHasher, Hash};

use ancho_jobs::ContainerLabel;
use foldhash::fast::FixedState;

use super::MultiMap;
use crate::allocator::Allocator;
use crate::native::{Container, Native};

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
pub type NativeMultiHashMap<K, V, S = FixedState> = Native<MultiMap<K, V, S>>;

mod alias {
    /// Used only for its name.
    pub(super) struct NativeMultiHashMap<K, V>(std::marker::PhantomData<(K, V)>);
}

impl<K, V, S> Container for MultiMap<K, V, S>
where
    K: Send + 'static,
    V: Send + 'static,
    S: Send + 'static,
{
    #[track_caller]
    fn label() -> ContainerLabel {
        ContainerLabel::of::<alias::NativeMultiHashMap<K, V>>()
    }
}

impl<K: Send + 'static, V: Send + 'static> Native<MultiMap<K, V>> {
    /// Makes an empty map, without allocating.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(ancho_collections::NativeMultiHashMap::<u32, u32>::new().get().unwrap().is_empty());
    /// ```
    #[track_caller]
    pub fn new() -> Self {
        Self::of(MultiMap::new())
    }

    /// Makes an empty map that uses the allocator.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{Allocator, NativeMultiHashMap};
    /// assert!(NativeMultiHashMap::<u32, u32>::new_in(&Allocator::PERSISTENT).get().unwrap().is_empty());
    /// ```
    #[track_caller]
    pub fn new_in(allocator: &Allocator) -> Self {
        Self::of_in(MultiMap::new_in(allocator), allocator)
    }

    /// Makes an empty map with room for `capacity` values. See [`MultiMap::with_capacity`].
    ///
    /// # Examples
    ///
    /// ```
    /// let map = ancho_collections::NativeMultiHashMap::<u32, u32>::with_capacity(100);
    /// assert!(map.get().unwrap().capacity() == 100);
    /// ```
    #[track_caller]
    pub fn with_capacity(capacity: usize) -> Self {
        Self::of(MultiMap::with_capacity(capacity))
    }

    /// Makes an empty map with room for `capacity` values, in the allocator's memory. See
    /// [`MultiMap::with_capacity_in`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{Allocator, NativeMultiHashMap};
    /// let map = NativeMultiHashMap::<u32, u32>::with_capacity_in(100, &Allocator::PERSISTENT);
    /// assert!(map.get().unwrap().capacity() == 100);
    /// ```
    #[track_caller]
    pub fn with_capacity_in(capacity: usize, allocator: &Allocator) -> Self {
        Self::of_in(MultiMap::with_capacity_in(capacity, allocator), allocator)
    }
}

impl<K, V, const N: usize> From<[(K, V); N]> for Native<MultiMap<K, V>>
where
    K: Hash + Eq + Send + 'static,
    V: Send + 'static,
{
    #[track_caller]
    fn from(pairs: [(K, V); N]) -> Self {
        Self::of(MultiMap::from(pairs))
    }
}

impl<K, V, S> FromIterator<(K, V)> for Native<MultiMap<K, V, S>>
where
    K: Hash + Eq + Send + 'static,
    V: Send + 'static,
    S: BuildHasher + Default + Send + 'static,
{
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        Self::of(MultiMap::from_iter(pairs))
    }
}

impl<K, V, S> Default for Native<MultiMap<K, V, S>>
where
    K: Send + 'static,
    V: Send + 'static,
    S: Default + Send + 'static,
{
    #[track_caller]
    fn default() -> Self {
        Self::of(MultiMap::default())
    }
}
