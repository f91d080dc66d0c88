//! Parallel writers of multi-maps.

use std::fmt;
use std::hash::{BuildHasher, Hash};

use ancho_jobs::{BatchInfo, ConcurrentWrite, ContainerLabel};
use foldhash::fast::FixedState;

use super::MultiMap;
use super::grouping::Grouping;
use crate::hashed_pairs::{HashedPair, HashedPairs};
use crate::lanes::{Lane, ParallelWriter};

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
        writer.0.open(&self.hasher);
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
        let Self { heads, nodes, hasher, lanes, waiting, overflow } = self;
        let mut grouping = Grouping { heads, nodes, waiting };
        lanes.settle(|MultiMapLane(lane)| {
            written += lane.len();
            let mut fit = lane.len().min(grouping.room());
            if no_memory.is_none() {
                no_memory = grouping.try_reserve_keys(fit, hasher).err();
            }
            if no_memory.is_some() {
                fit = 0;
            }
            let late = lane.drain_from(fit).map(|HashedPair { key, value, .. }| (key, value));
            overflow.extend(late);
            grouping.extend(lane.drain_from(0), hasher);
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
