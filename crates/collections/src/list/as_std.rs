//! Traits of the standard library for lists.

use std::fmt;
use std::ops::{Deref, DerefMut};

use ancho_jobs::IndexList;

use super::List;

impl<T> Default for List<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Deref for List<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.items
    }
}

impl<T> DerefMut for List<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items
    }
}

impl<T: Clone> Clone for List<T> {
    /// Copies the elements, into memory of the same allocator. The overflow of parallel writers is
    /// not copied.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory for them.
    fn clone(&self) -> Self {
        // Not by cloning the vector, which aborts if the allocator refuses.
        let mut clone = Self::with_capacity_in(self.len(), self.allocator());
        clone.items.extend_from_slice(self);
        clone
    }
}

impl<T, const N: usize> From<[T; N]> for List<T> {
    fn from(values: [T; N]) -> Self {
        values.into_iter().collect()
    }
}

impl<T> FromIterator<T> for List<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut list = Self::new();
        list.extend(values);
        list
    }
}

impl<T> Extend<T> for List<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        let values = values.into_iter();
        let (at_least, _) = values.size_hint();
        self.reserve(at_least);
        values.for_each(|value| self.push(value));
    }
}

impl<'a, T> IntoIterator for &'a List<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T> IntoIterator for &'a mut List<T> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<T: PartialEq> PartialEq for List<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Eq> Eq for List<T> {}

impl<T: fmt::Debug> fmt::Debug for List<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Lists of indices, for [`schedule_append`](ancho_jobs::JobScheduler::schedule_append) and
/// [`schedule_filter`](ancho_jobs::JobScheduler::schedule_filter).
impl IndexList for &mut List<usize> {
    fn append(&mut self, index: usize) {
        self.push(index);
    }

    fn keep(&mut self, mut accept: impl FnMut(usize) -> bool) {
        self.retain(|&index| accept(index));
    }
}

impl IndexList for &mut List<u32> {
    fn append(&mut self, index: usize) {
        self.push(u32::try_from(index).expect("a list of `u32` holds indices up to 4294967295"));
    }

    fn keep(&mut self, mut accept: impl FnMut(usize) -> bool) {
        self.retain(|&index| accept(index as usize));
    }
}
