//! Layout of the values that a job has added: those of one key are contiguous.
//!
//! A spatial hash is read far more often than it is written, and a long chain of contiguous nodes
//! is read twice as fast as a scattered one. So the values wait until all of them have been
//! written. Meanwhile they are counted by key, and then each goes to its place.

use std::hash::{BuildHasher, Hash};
use std::mem;

use super::nodes::{NIL, Nodes};
use super::{Head, hash_with, head};
use crate::error::AllocationError;
use crate::hashed_pairs::HashedPair;
use crate::table::{self, Table};

/// Memory that is kept between jobs.
pub(super) struct Waiting<V> {
    groups: Vec<Group>,
    /// The values, with the number of their group.
    values: Vec<(u32, V)>,
}

/// The values of one key that a job has added.
pub(super) struct Group {
    /// Place of the next value; `NIL` while they are counted, and after that if the key is gone.
    pub(super) next: u32,
    /// End of the places of the group, exclusive. While they are counted, it is their number.
    pub(super) end: u32,
}

impl<V> Waiting<V> {
    pub(super) const fn new() -> Self {
        Self { groups: Vec::new(), values: Vec::new() }
    }

    pub(super) fn shrink_to_fit(&mut self) {
        self.groups.shrink_to_fit();
        self.values.shrink_to_fit();
    }
}

/// Adds values: some to the places of removed ones, and the others on drop, also during a panic.
pub(super) struct Grouping<'m, K, V> {
    pub(super) heads: &'m mut Table<Head<K>>,
    pub(super) nodes: &'m mut Nodes<V>,
    pub(super) waiting: &'m mut Waiting<V>,
}

impl<K: Hash + Eq, V> Grouping<'_, K, V> {
    /// Returns the number of values that still fit.
    pub(super) fn room(&self) -> usize {
        self.nodes.capacity() - self.nodes.len() - self.waiting.values.len()
    }

    /// Makes room for `additional` new keys.
    pub(super) fn try_reserve_keys(
        &mut self,
        additional: usize,
        hasher: &impl BuildHasher,
    ) -> Result<(), AllocationError> {
        table::try_reserve(self.heads, additional, hash_with(hasher))
    }

    /// Takes values, for which the caller made room.
    pub(super) fn extend(
        &mut self,
        mut pairs: impl ExactSizeIterator<Item = HashedPair<K, V>>,
        hasher: &impl BuildHasher,
    ) {
        while self.nodes.has_gaps()
            && let Some(HashedPair { hash, key, value }) = pairs.next()
        {
            let head = head(self.heads, hash, key, hasher);
            self.nodes.append(&mut head.chain, value);
        }
        let Waiting { groups, values } = &mut *self.waiting;
        values.extend(pairs.map(|HashedPair { hash, key, value }| {
            let head = head(self.heads, hash, key, hasher);
            if head.group == NIL {
                head.group = groups.len() as u32;
                groups.push(Group { next: NIL, end: 0 });
            }
            groups[head.group as usize].end += 1;
            (head.group, value)
        }));
    }
}

impl<K, V> Drop for Grouping<'_, K, V> {
    fn drop(&mut self) {
        let Waiting { groups, values } = &mut *self.waiting;
        if values.is_empty() {
            return;
        }
        let mut start = self.nodes.len() as u32;
        for head in self.heads.iter_mut() {
            let group = mem::replace(&mut head.group, NIL);
            if let Some(group) = groups.get_mut(group as usize) {
                let end = start + group.end;
                *group = Group { next: start, end };
                self.nodes.lengthen(&mut head.chain, start..end);
                start = end;
            }
        }
        // If hashing a key panicked during a rehash, other keys were lost with it. Their groups
        // have no place.
        self.nodes.fill(start, groups, values.drain(..));
        groups.clear();
    }
}
