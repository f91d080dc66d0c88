//! Iterators of the values of one key, and of all values.
#![expect(
    unsafe_code,
    reason = "lends several nodes of one vector at a time, to change their values"
)]

use std::fmt;
use std::iter::FusedIterator;
use std::marker::PhantomData;

use hashbrown::hash_table;

use super::Head;
use super::nodes::{Chain, NIL, Node, Nodes};

/// Iterator over the values of one key of a [`MultiMap`](crate::MultiMap), in the order in which
/// they were added.
///
/// # Examples
///
/// ```
/// let map = ancho_collections::MultiMap::from([(1, 'a'), (2, 'b'), (1, 'c')]);
/// let mut values = map.values_for(&1);
/// assert_eq!(values.len(), 2);
/// assert_eq!([values.next(), values.next(), values.next()], [Some(&'a'), Some(&'c'), None]);
/// ```
#[must_use = "iterators are lazy and do nothing unless consumed"]
pub struct MultiMapValues<'a, V> {
    nodes: &'a [Node<V>],
    next: u32,
    left: u32,
}

/// Iterator over the values of one key of a [`MultiMap`](crate::MultiMap), mutably.
///
/// # Examples
///
/// ```
/// let mut map = ancho_collections::MultiMap::from([(1, 5), (2, 6), (1, 7)]);
/// map.values_for_mut(&1).for_each(|value| *value += 10);
/// assert!(map.values_for(&1).eq(&[15, 17]));
/// ```
#[must_use = "iterators are lazy and do nothing unless consumed"]
pub struct MultiMapValuesMut<'a, V> {
    nodes: *mut Node<V>,
    /// Number of nodes.
    length: usize,
    next: u32,
    left: u32,
    /// The mutable borrow of the nodes of the chain.
    lifetime: PhantomData<&'a mut [Node<V>]>,
}

/// Iterator over all values of a [`MultiMap`](crate::MultiMap), key by key.
///
/// # Examples
///
/// ```
/// let map = ancho_collections::MultiMap::from([(1, 'a'), (1, 'b')]);
/// assert!(map.iter().eq([(&1, &'a'), (&1, &'b')]));
/// ```
#[must_use = "iterators are lazy and do nothing unless consumed"]
pub struct MultiMapIter<'a, K, V> {
    heads: hash_table::Iter<'a, (K, Head)>,
    nodes: &'a Nodes<V>,
    key: Option<&'a K>,
    values: MultiMapValues<'a, V>,
    left: usize,
}

impl<'a, V> MultiMapValues<'a, V> {
    #[inline]
    pub(super) fn new(nodes: &'a [Node<V>], chain: Option<Chain>) -> Self {
        let (next, left) = chain.map_or((NIL, 0), |chain| (chain.first, chain.count));
        Self { nodes, next, left }
    }
}

impl<'a, V> Iterator for MultiMapValues<'a, V> {
    type Item = &'a V;

    #[inline]
    fn next(&mut self) -> Option<&'a V> {
        // The link of the last node is out of bounds.
        let node = self.nodes.get(self.next as usize)?;
        self.next = node.next;
        self.left -= 1;
        node.value.as_ref()
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl<'a, V> MultiMapValuesMut<'a, V> {
    #[inline]
    pub(super) fn new(nodes: &'a mut [Node<V>], chain: Option<Chain>) -> Self {
        let (next, left) = chain.map_or((NIL, 0), |chain| (chain.first, chain.count));
        let length = nodes.len();
        Self { nodes: nodes.as_mut_ptr(), length, next, left, lifetime: PhantomData }
    }

    /// Iterates over a chain in the vector of nodes at an address.
    ///
    /// # Safety
    ///
    /// - there are `length` nodes at the address, for the lifetime
    /// - no other code uses the nodes of the chain for the lifetime
    #[inline(always)]
    pub(super) unsafe fn at(nodes: *mut Node<V>, length: usize, chain: Chain) -> Self {
        Self { nodes, length, next: chain.first, left: chain.count, lifetime: PhantomData }
    }
}

impl<'a, V> Iterator for MultiMapValuesMut<'a, V> {
    type Item = &'a mut V;

    #[inline]
    fn next(&mut self) -> Option<&'a mut V> {
        if self.next as usize >= self.length {
            return None;
        }
        // SAFETY: the place is within the vector, of which at least this chain is borrowed mutably for
        // `'a`. Each node is linked to once, and the last of a chain to no other, so this is the only
        // reference to it, and no other is made later.
        let node = unsafe { &mut *self.nodes.add(self.next as usize) };
        self.next = node.next;
        self.left -= 1;
        node.value.as_mut()
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

// SAFETY: a `MultiMapValuesMut` is a mutable borrow of the nodes, which are `Send` if the values
// are.
unsafe impl<V: Send> Send for MultiMapValuesMut<'_, V> {}

// SAFETY: a `MultiMapValuesMut` is a mutable borrow of the nodes, and a shared reference to it
// provides no access to a value.
unsafe impl<V: Sync> Sync for MultiMapValuesMut<'_, V> {}

impl<'a, K, V> MultiMapIter<'a, K, V> {
    #[inline]
    pub(super) fn new(heads: hash_table::Iter<'a, (K, Head)>, nodes: &'a Nodes<V>) -> Self {
        Self { heads, nodes, key: None, values: nodes.values(None), left: nodes.len() }
    }
}

impl<'a, K, V> Iterator for MultiMapIter<'a, K, V> {
    type Item = (&'a K, &'a V);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let (Some(key), Some(value)) = (self.key, self.values.next()) {
                self.left -= 1;
                return Some((key, value));
            }
            let (key, head) = self.heads.next()?;
            self.key = Some(key);
            self.values = self.nodes.values(Some(head.chain));
        }
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<V> ExactSizeIterator for MultiMapValues<'_, V> {}
impl<V> ExactSizeIterator for MultiMapValuesMut<'_, V> {}
impl<K, V> ExactSizeIterator for MultiMapIter<'_, K, V> {}
impl<V> FusedIterator for MultiMapValues<'_, V> {}
impl<V> FusedIterator for MultiMapValuesMut<'_, V> {}
impl<K, V> FusedIterator for MultiMapIter<'_, K, V> {}

impl<V> Clone for MultiMapValues<'_, V> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

impl<K, V> Clone for MultiMapIter<'_, K, V> {
    fn clone(&self) -> Self {
        Self { heads: self.heads.clone(), values: self.values.clone(), ..*self }
    }
}

impl<V: fmt::Debug> fmt::Debug for MultiMapValues<'_, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

impl<V> fmt::Debug for MultiMapValuesMut<'_, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MultiMapValuesMut").field("left", &self.left).finish_non_exhaustive()
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for MultiMapIter<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}
