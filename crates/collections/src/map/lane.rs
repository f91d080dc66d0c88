//! Parallel writers of maps.

use std::fmt;
use std::hash::{BuildHasher, Hash};

use ancho_jobs::{BatchInfo, ConcurrentWrite, ContainerLabel};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::{FixedState, Map};
use crate::lanes::{Lane, ParallelWriter};
use crate::table::{HashedPair, HashedPairs, KeyTable};

/// Pairs that one batch adds to a map.
///
/// # Examples
///
/// See [`NativeHashMap`](crate::NativeHashMap).
pub struct MapLane<K, V, S = FixedState>(HashedPairs<K, V, S>);

impl<K: Hash, V, S: BuildHasher> MapLane<K, V, S> {
    /// Adds a key if it is new (Unity's `TryAdd`).
    ///
    /// It does not return whether the key was added, because that is decided after the job's last
    /// batch. A key that was in the map before the job keeps its value. Of several writers of one
    /// key, the one in the lowest batch wins, and within a batch the first, on any number of
    /// threads. The pairs of the others are dropped.
    ///
    /// The map does not grow. If it has no room for all new keys, the job fails with code A0015.
    /// The first ones are then in the map, and the others are in its
    /// [overflow](Map::take_overflow). If comparing keys panics, the job fails with that panic. The
    /// pairs added before are in the map, and the other pairs of the job are dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::NativeHashMap;
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut first = NativeHashMap::with_capacity(10);
    /// let job = jobs.schedule_for_each(&[], first.writer(), 1000, 64, |first, i| first.try_add(i % 10, i));
    /// jobs.complete(job.unwrap());
    /// assert_eq!(first.get().unwrap()[&7], 7, "the first value of the key, not 17 or 27");
    /// ```
    #[inline]
    pub fn try_add(&mut self, key: K, value: V) {
        self.0.push(key, value);
    }
}

impl<K, V, S> Default for MapLane<K, V, S> {
    fn default() -> Self {
        Self(HashedPairs::default())
    }
}

impl<K, V, S> Lane for MapLane<K, V, S> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<K, V, S> fmt::Debug for MapLane<K, V, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MapLane").field("written", &self.0.len()).finish_non_exhaustive()
    }
}

impl<K, V, S> ConcurrentWrite for Map<K, V, S>
where
    K: Hash + Eq + Send + Sync + 'static,
    V: Send + Sync + 'static,
    S: BuildHasher + Clone + Send + Sync + 'static,
{
    type Writer<'v> = ParallelWriter<'v, MapLane<K, V, S>>;
    type Item<'b> = &'b mut MapLane<K, V, S>;

    #[inline]
    fn writer(&self, batch: &BatchInfo) -> ParallelWriter<'_, MapLane<K, V, S>> {
        let mut writer = self.lanes.open(batch.index);
        writer.0.open(&self.table.hasher);
        writer
    }

    #[inline(always)]
    fn item<'b>(
        writer: &'b mut ParallelWriter<'_, MapLane<K, V, S>>,
        _: usize,
    ) -> &'b mut MapLane<K, V, S> {
        writer
    }

    fn settle(&mut self, container: ContainerLabel) {
        self.settle_lanes(container, "new keys");
    }
}

impl<K: Hash + Eq, V, S: BuildHasher> Map<K, V, S> {
    /// Adds the pairs of all batches to the map. `what` is the name of the pairs in messages.
    pub(crate) fn settle_lanes(&mut self, container: ContainerLabel, what: &str) {
        let before = self.table.pairs.len();
        let room = self.table.capacity() - before;
        let Self { table, lanes, overflow } = self;
        let mut late = Late { pairs: overflow, kept: 0, hashes: HashTable::new() };
        lanes.settle(|MapLane(lane)| {
            let mut written = lane.drain_from(0);
            settle_lane(table, &mut written);
            written.for_each(|pair| late.add(table, pair));
        });
        if late.kept > 0 {
            let written = table.pairs.len() - before + late.kept;
            panic!(
                "A0015: parallel writers wrote {written} {what} to {container}, which had room for \
                 {room} more; raise its capacity before the job is scheduled"
            );
        }
    }
}

/// Adds the pairs of a lane until the table is full.
fn settle_lane<K: Hash + Eq, V, S: BuildHasher>(
    table: &mut KeyTable<K, V, S>,
    written: &mut impl Iterator<Item = HashedPair<K, V>>,
) {
    loop {
        if table.is_full() {
            if table.pairs.len() == table.capacity() {
                return;
            }
            table.purge();
        }
        let Some(HashedPair { hash, key, value }) = written.next() else { return };
        if let Entry::Vacant(room) = table.entry_hashed(hash, &key) {
            room.insert((key, value));
        }
    }
}

/// The pairs of a job that are added after the table is full.
struct Late<'m, K, V> {
    /// The overflow, which may hold pairs of earlier jobs.
    pairs: &'m mut Vec<(K, V)>,
    /// Number of pairs from this job.
    kept: usize,
    /// The hashes of the pairs from this job, and their indices in `pairs`.
    hashes: HashTable<(u64, usize)>,
}

impl<K: Hash + Eq, V> Late<'_, K, V> {
    /// Keeps a pair if its key is neither in the table nor among the kept pairs.
    #[cold]
    #[inline(never)]
    fn add<S: BuildHasher>(&mut self, table: &KeyTable<K, V, S>, pair: HashedPair<K, V>) {
        let HashedPair { hash, key, value } = pair;
        if table.find_hashed(hash, &key).is_some() {
            return;
        }
        let place = self.pairs.len();
        let is_same = |&(other, at): &(u64, usize)| other == hash && self.pairs[at].0 == key;
        if let Entry::Vacant(room) = self.hashes.entry(hash, is_same, |&(hash, _)| hash) {
            room.insert((hash, place));
            self.pairs.push((key, value));
            self.kept += 1;
        }
    }
}
