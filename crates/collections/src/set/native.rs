//! A set that jobs share.

use std::hash::{BuildHasher, Hash};

use ancho_jobs::ContainerLabel;
use foldhash::fast::FixedState;

use super::Set;
use crate::allocator::Allocator;
use crate::native::{Container, Native};

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
pub type NativeHashSet<T, S = FixedState> = Native<Set<T, S>>;

mod alias {
    /// Used only for its name.
    pub(super) struct NativeHashSet<T>(std::marker::PhantomData<T>);
}

impl<T: Send + 'static, S: Send + 'static> Container for Set<T, S> {
    #[track_caller]
    fn label() -> ContainerLabel {
        ContainerLabel::of::<alias::NativeHashSet<T>>()
    }
}

impl<T: Send + 'static> Native<Set<T>> {
    /// Makes an empty set, without allocating.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(ancho_collections::NativeHashSet::<u32>::new().get().unwrap().is_empty());
    /// ```
    #[track_caller]
    pub fn new() -> Self {
        Self::of(Set::new())
    }

    /// Makes an empty set that uses the allocator.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{Allocator, NativeHashSet};
    /// assert!(NativeHashSet::<u32>::new_in(&Allocator::PERSISTENT).get().unwrap().is_empty());
    /// ```
    #[track_caller]
    pub fn new_in(allocator: &Allocator) -> Self {
        Self::of_in(Set::new_in(allocator), allocator)
    }

    /// Makes an empty set with room for at least `capacity` values. See [`Set::with_capacity`].
    ///
    /// # Examples
    ///
    /// ```
    /// let set = ancho_collections::NativeHashSet::<u32>::with_capacity(100);
    /// assert!(set.get().unwrap().capacity() >= 100);
    /// ```
    #[track_caller]
    pub fn with_capacity(capacity: usize) -> Self {
        Self::of(Set::with_capacity(capacity))
    }

    /// Makes an empty set with room for at least `capacity` values, in the allocator's memory. See
    /// [`Set::with_capacity_in`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{Allocator, NativeHashSet};
    /// let set = NativeHashSet::<u32>::with_capacity_in(100, &Allocator::PERSISTENT);
    /// assert!(set.get().unwrap().capacity() >= 100);
    /// ```
    #[track_caller]
    pub fn with_capacity_in(capacity: usize, allocator: &Allocator) -> Self {
        Self::of_in(Set::with_capacity_in(capacity, allocator), allocator)
    }
}

impl<T: Hash + Eq + Send + 'static, const N: usize> From<[T; N]> for Native<Set<T>> {
    #[track_caller]
    fn from(values: [T; N]) -> Self {
        Self::of(Set::from(values))
    }
}

impl<T, S> FromIterator<T> for Native<Set<T, S>>
where
    T: Hash + Eq + Send + 'static,
    S: BuildHasher + Default + Send + 'static,
{
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Self::of(Set::from_iter(values))
    }
}

impl<T: Send + 'static, S: Default + Send + 'static> Default for Native<Set<T, S>> {
    #[track_caller]
    fn default() -> Self {
        Self::of(Set::default())
    }
}
