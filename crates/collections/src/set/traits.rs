//! Traits of the standard library for sets.

use std::fmt;
use std::hash::{BuildHasher, Hash};

use super::{Set, SetIntoIter, SetIter};
use crate::map::Map;

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
