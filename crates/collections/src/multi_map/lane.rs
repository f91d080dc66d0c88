//! Parallel writers of multi-maps.
//!
//! The values of one key that a job has added are contiguous. A spatial hash is read far more often
//! than it is written, and a long chain of contiguous nodes is read twice as fast as a scattered
//! one. So the values wait until all of them have been written. Meanwhile they are counted by key,
//! and then each goes to its place.

use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::mem;

use ancho_jobs::{BatchInfo, ConcurrentWrite, ContainerLabel};
use foldhash::fast::FixedState;

use super::nodes::{NIL, Nodes};
use super::{Head, MultiMap};
use crate::lanes::{Lane, ParallelWriter};
use crate::table::{HashedPair, HashedPairs, KeyTable};

/// Pairs that one batch adds to a multi-map.
///
/// # Examples
///
/// See [`NativeMultiHashMap`](crate::NativeMultiHashMap).
pub struct MultiMapLane<K, V, S = FixedState>(HashedPairs<K, V, S>);

impl<K: Hash, V, S: BuildHasher> MultiMapLane<K, V, S> {
    /// Adds a value to a key.
    ///
    /// The values become part of the map when the job's last batch is done: those of each key in the order
    /// of the batches, and of the calls in each.
    ///
    /// The map's [capacity](MultiMap::capacity) does not grow. If it has no room for all of them,
    /// the job fails with code A0015. The first ones are then in the map, and the others are in its
    /// [overflow](MultiMap::take_overflow). The job fails with code A0017 if the capacity was never
    /// requested, but grew with the values of few keys, and there is no memory for many new keys.
    ///
    /// If comparing keys panics, the job fails with that panic. The pairs added before are in the
    /// map, and the other pairs of the job are dropped.
    #[inline]
    pub fn add(&mut self, key: K, value: V) {
        self.0.push(key, value);
    }
}

impl<K, V, S> Default for MultiMapLane<K, V, S> {
    fn default() -> Self {
        Self(HashedPairs::default())
    }
}

impl<K, V, S> Lane for MultiMapLane<K, V, S> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<K, V, S> fmt::Debug for MultiMapLane<K, V, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MultiMapLane").field("written", &self.0.len()).finish_non_exhaustive()
    }
}

impl<K, V, S> ConcurrentWrite for MultiMap<K, V, S>
where
    K: Hash + Eq + Send + Sync + 'static,
    V: Send + Sync + 'static,
    S: BuildHasher + Clone + Send + Sync + 'static,
{
    type Writer<'v> = ParallelWriter<'v, MultiMapLane<K, V, S>>;
    type Item<'b> = &'b mut MultiMapLane<K, V, S>;

    #[inline]
    fn writer(&self, batch: &BatchInfo) -> ParallelWriter<'_, MultiMapLane<K, V, S>> {
        let mut writer = self.lanes.open(batch.index);
        writer.0.open(&self.heads.hasher);
        writer
    }

    #[inline(always)]
    fn item<'b>(
        writer: &'b mut ParallelWriter<'_, MultiMapLane<K, V, S>>,
        _: usize,
    ) -> &'b mut MultiMapLane<K, V, S> {
        writer
    }

    fn settle(&mut self, container: ContainerLabel) {
        let room = self.capacity() - self.len();
        let before = self.overflow.len();
        let mut written = 0;
        let mut no_memory = None;
        let Self { heads, nodes, lanes, waiting, overflow } = self;
        let mut grouping = Grouping { heads, nodes, waiting };
        lanes.settle(|MultiMapLane(lane)| {
            written += lane.len();
            let mut fit = lane.len().min(grouping.room());
            if no_memory.is_none() {
                no_memory = grouping.heads.try_reserve(fit).err();
            }
            if no_memory.is_some() {
                fit = 0;
            }
            let late = lane.drain_from(fit).map(|HashedPair { key, value, .. }| (key, value));
            overflow.extend(late);
            grouping.extend(lane.drain_from(0));
        });
        drop(grouping);
        if let Some(error) = no_memory {
            panic!("{error}");
        }
        if self.overflow.len() > before {
            panic!(
                "A0015: parallel writers wrote {written} values to {container}, which had room for \
                 {room} more; raise its capacity before the job is scheduled"
            );
        }
    }
}

/// Memory that is kept between jobs.
pub(super) struct Waiting<V> {
    groups: Vec<Group>,
    /// The values, each with the number of its group.
    values: Vec<(u32, V)>,
}

/// The values of one key that a job has added.
pub(super) struct Group {
    /// Place of the next value of the group. `NIL` while the values are counted, and afterwards if the key was lost.
    pub(super) next: u32,
    /// End of the group's places, exclusive. While the values are counted, their number.
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

/// Adds the values of a job. The first ones get the places of removed values. The others are added on drop, even during a panic.
struct Grouping<'m, K, V, S> {
    heads: &'m mut KeyTable<K, Head, S>,
    nodes: &'m mut Nodes<V>,
    waiting: &'m mut Waiting<V>,
}

impl<K: Hash + Eq, V, S: BuildHasher> Grouping<'_, K, V, S> {
    /// Returns the number of values that still fit.
    fn room(&self) -> usize {
        self.nodes.capacity() - self.nodes.len() - self.waiting.values.len()
    }

    /// Adds values, for which the caller has reserved room.
    fn extend(&mut self, mut pairs: impl ExactSizeIterator<Item = HashedPair<K, V>>) {
        while self.nodes.has_gaps()
            && let Some(HashedPair { hash, key, value }) = pairs.next()
        {
            let head = self.heads.find_or_insert(hash, key, Head::NEW);
            self.nodes.append(&mut head.chain, value);
        }
        let Waiting { groups, values } = &mut *self.waiting;
        values.extend(pairs.map(|HashedPair { hash, key, value }| {
            let head = self.heads.find_or_insert(hash, key, Head::NEW);
            if head.group == NIL {
                head.group = groups.len() as u32;
                groups.push(Group { next: NIL, end: 0 });
            }
            groups[head.group as usize].end += 1;
            (head.group, value)
        }));
    }
}

impl<K, V, S> Drop for Grouping<'_, K, V, S> {
    fn drop(&mut self) {
        let Waiting { groups, values } = &mut *self.waiting;
        if values.is_empty() {
            return;
        }
        let mut start = self.nodes.len() as u32;
        for (_, head) in self.heads.pairs.iter_mut() {
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
