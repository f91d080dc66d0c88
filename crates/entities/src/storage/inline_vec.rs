//! Vectors that store a few elements inline.

use std::ops::Deref;
use std::{array, iter, vec};

/// A vector whose first `N` elements need no allocation.
pub(crate) struct InlineVec<T, const N: usize> {
    /// The first `N` elements.
    first: [Option<T>; N],
    len: usize,
    /// The elements after the first `N`.
    more: Vec<T>,
}

impl<T, const N: usize> InlineVec<T, N> {
    pub(crate) fn new() -> Self {
        Self { first: [const { None }; N], len: 0, more: Vec::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn push(&mut self, value: T) {
        match self.first.get_mut(self.len) {
            Some(place) => *place = Some(value),
            None => self.more.push(value),
        }
        self.len += 1;
    }

    #[inline]
    pub(crate) fn get(&self, at: usize) -> Option<&T> {
        match self.first.get(at) {
            Some(value) => value.as_ref(),
            None => self.more.get(at - N),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().flatten().chain(&self.more)
    }
}

impl<T, const N: usize> FromIterator<T> for InlineVec<T, N> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut vec = Self::new();
        values.into_iter().for_each(|value| vec.push(value));
        vec
    }
}

impl<T, const N: usize> IntoIterator for InlineVec<T, N> {
    type Item = T;
    type IntoIter = iter::Chain<iter::Flatten<array::IntoIter<Option<T>, N>>, vec::IntoIter<T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.first.into_iter().flatten().chain(self.more)
    }
}

/// A contiguous vector of indices that needs no allocation while it is short.
#[derive(Default)]
pub(crate) struct InlineIndices {
    /// All elements, while they fit.
    inline: [u32; Self::INLINE],
    len: usize,
    /// All elements, when they do not fit inline.
    heap: Vec<u32>,
}

impl InlineIndices {
    const INLINE: usize = 12;

    pub(crate) fn push(&mut self, number: u32) {
        match self.inline.get_mut(self.len) {
            Some(place) => *place = number,
            None => {
                if self.len == Self::INLINE {
                    self.heap.extend_from_slice(&self.inline);
                }
                self.heap.push(number);
            }
        }
        self.len += 1;
    }

    pub(crate) fn clear(&mut self) {
        self.len = 0;
        self.heap.clear();
    }
}

impl Deref for InlineIndices {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        if self.len > Self::INLINE { &self.heap } else { &self.inline[..self.len] }
    }
}

impl FromIterator<u32> for InlineIndices {
    fn from_iter<I: IntoIterator<Item = u32>>(numbers: I) -> Self {
        let mut vec = Self::default();
        numbers.into_iter().for_each(|number| vec.push(number));
        vec
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inline_and_heap_elements_are_one_list() {
        for count in 0..10 {
            let mut vec: InlineVec<String, 3> = (0..count).map(|at| at.to_string()).collect();
            let mut list: Vec<_> = (0..count).map(|at| at.to_string()).collect();
            for last in ["next", "last"] {
                assert_eq!(vec.len(), list.len());
                assert!(vec.iter().eq(&list));
                assert!((0..12).all(|at| vec.get(at) == list.get(at)));
                vec.push(last.into());
                list.push(last.into());
            }
            assert!(vec.into_iter().eq(list));
        }
    }

    #[test]
    fn indices_are_contiguous() {
        let mut numbers = InlineIndices::default();
        for round in [30, 5, 12, 13] {
            (0..round).for_each(|number| numbers.push(number));
            assert!(numbers.iter().copied().eq(0..round));
            [7, 8].into_iter().for_each(|number| numbers.push(number));
            assert_eq!(numbers[round as usize..], [7, 8]);
            numbers.clear();
            assert!(numbers.is_empty());
        }
    }
}
