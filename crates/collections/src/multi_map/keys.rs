//! Parallel jobs over the keys of a multi-map.
//!
//! The batches are ranges of the buckets of the hash table. A key is in one bucket, so that one batch visits it, with all its values.
#![expect(
    unsafe_code,
    reason = "lends the values of different keys to different batches, to change them"
)]

use std::ops::Range;

use ancho_jobs::{
    Access, AccessList, BatchInfo, Guarded, Held, JobBuilder, JobData, JobHandle, ParallelJobData,
    ScheduleError,
};
use hashbrown::HashTable;

use super::iter::{MultiMapValues, MultiMapValuesMut};
use super::nodes::Node;
use super::{Head, MultiMap, NativeMultiHashMap};
use crate::allocator::Allocator;

/// Parallel jobs over keys. Unity's `IJobNativeMultiHashMapVisitKeyValue` and `IJobNativeMultiHashMapMergedSharedKeyIndices`.
impl<K, V, S> NativeMultiHashMap<K, V, S>
where
    K: Send + Sync + 'static,
    V: Send + Sync + 'static,
    S: Send + Sync + 'static,
{
    /// Schedules a parallel job that visits each key once, with all its values.
    ///
    /// `batch` is the number of buckets in a batch. A table has up to two buckets for each key. `data` are tokens of other containers,
    /// of which the function gets the parts of the batch: the whole of containers that are read, and the writers of
    /// [parallel writers](crate::Native::writer). Without other containers pass `()`.
    ///
    /// The keys are those that the map has when the job starts.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`JobBuilder::schedule_deferred`].
    ///
    /// # Determinism
    ///
    /// The batches depend on the operations on the map alone, and not on threads. With a [`writer`](crate::Native::writer), results have
    /// the same order for any number of threads.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{NativeList, NativeMultiHashMap};
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let cells: NativeMultiHashMap<_, _> = NativeMultiHashMap::from([(7, 10), (3, 5), (7, 20)]);
    /// let mut crowded = NativeList::with_capacity(2);
    /// let find = jobs.named("Find crowded cells");
    /// let job = cells.schedule_for_each_key(find, &[], crowded.writer(), 16, |cell, values, crowded| {
    ///     if values.len() > 1 {
    ///         crowded.push((*cell, values.sum::<i32>()));
    ///     }
    /// });
    /// jobs.complete(job?);
    /// assert_eq!(crowded.get()?[..], [(7, 30)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "IJobNativeMultiHashMapVisitKeyValue")]
    #[doc(alias = "IJobNativeMultiHashMapMergedSharedKeyIndices")]
    pub fn schedule_for_each_key<D, F>(
        &self,
        job: JobBuilder<'_>,
        dependencies: &[JobHandle],
        data: D,
        batch: usize,
        function: F,
    ) -> Result<JobHandle, ScheduleError>
    where
        D: ParallelJobData,
        F: for<'v> Fn(&'v K, MultiMapValues<'v, V>, &mut D::Batch<'v>) + Send + Sync + 'static,
    {
        job.schedule_deferred(
            dependencies,
            (self.read(), data),
            |(map, _)| map.buckets(),
            batch,
            #[inline(always)]
            move |(map, mut data), buckets| {
                for (key, head) in occupied(&map.heads.pairs, buckets) {
                    function(key, map.nodes.values(Some(head.chain)), &mut data);
                }
            },
        )
    }

    /// Schedules a parallel job that visits each key once, with all its values, and changes the values.
    ///
    /// The parameters, errors and the order of results are those of [`schedule_for_each_key`](Self::schedule_for_each_key).
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`JobBuilder::schedule_deferred`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::NativeMultiHashMap;
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut teams: NativeMultiHashMap<_, _> = NativeMultiHashMap::from([("red", 1), ("blue", 5), ("red", 3)]);
    /// let rank = jobs.named("Rank");
    /// let job = teams.schedule_for_each_key_mut(rank, &[], (), 16, |_, scores, ()| {
    ///     let mut sum = 0;
    ///     for score in scores {
    ///         sum += *score;
    ///         *score = sum;
    ///     }
    /// });
    /// jobs.complete(job?);
    /// assert!(teams.get()?.values_for("red").eq(&[1, 4]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn schedule_for_each_key_mut<D, F>(
        &mut self,
        job: JobBuilder<'_>,
        dependencies: &[JobHandle],
        data: D,
        batch: usize,
        function: F,
    ) -> Result<JobHandle, ScheduleError>
    where
        D: ParallelJobData,
        F: for<'v> Fn(&'v K, MultiMapValuesMut<'v, V>, &mut D::Batch<'v>) + Send + Sync + 'static,
    {
        job.schedule_deferred(
            dependencies,
            (ValuesWrite { map: self.guarded_mut() }, data),
            |(keys, _)| keys.buckets.len(),
            batch,
            #[inline(always)]
            move |(keys, mut data), _| {
                keys.for_each(
                    #[inline(always)]
                    |key, values| function(key, values, &mut data),
                );
            },
        )
    }
}

impl<K, V, S> MultiMap<K, V, S> {
    /// Returns the number of buckets of the table.
    fn buckets(&self) -> usize {
        self.heads.pairs.num_buckets()
    }
}

/// Iterates over the keys in a range of buckets. Buckets beyond the table have none.
#[inline(always)]
fn occupied<K>(
    table: &HashTable<(K, Head), Allocator>,
    buckets: Range<usize>,
) -> impl Iterator<Item = (&K, &Head)> {
    buckets.filter_map(|bucket| table.get_bucket(bucket)).map(|(key, head)| (key, head))
}

/// Token for jobs whose batches change the values of different keys.
struct ValuesWrite<'a, K, V, S> {
    map: &'a mut Guarded<MultiMap<K, V, S>>,
}

/// The keys in a range of buckets, with values that can be changed.
struct KeysMut<'v, K, V> {
    open: OpenMap<'v, K, V>,
    buckets: Range<usize>,
}

/// The table of a map, and the address of its nodes.
struct OpenMap<'v, K, V> {
    table: &'v HashTable<(K, Head), Allocator>,
    nodes: *mut Node<V>,
    length: usize,
}

impl<K, V> Clone for OpenMap<'_, K, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K, V> Copy for OpenMap<'_, K, V> {}

impl<'v, K, V> OpenMap<'v, K, V> {
    /// Opens the map that a job holds.
    ///
    /// # Safety
    ///
    /// - no code but this job uses the map for the lifetime, and this job only through values of this type
    #[inline(always)]
    unsafe fn of<S>(held: &'v Held<MultiMap<K, V, S>>) -> Self {
        let map = held.as_ptr();
        // SAFETY: the block is held for the lifetime. Only this job uses the map, and it never changes the table, nor the vector of
        // nodes: only values in the memory of the vector, to which these references do not lead.
        let (table, nodes) = unsafe { (&(*map).heads.pairs, &(*map).nodes) };
        let (nodes, length) = nodes.memory();
        Self { table, nodes, length }
    }
}

impl<'v, K, V: 'v> KeysMut<'v, K, V> {
    /// Calls the function for each key, with its values.
    #[inline(always)]
    fn for_each(self, mut function: impl FnMut(&'v K, MultiMapValuesMut<'v, V>)) {
        let Self { open: OpenMap { table, nodes, length }, buckets } = self;
        for (key, head) in occupied(table, buckets) {
            // SAFETY:
            // - the vector has `length` nodes at this address, as long as the job runs
            // - the key is in one bucket, which no other batch has, and this value is consumed: no other code uses the chain; no node
            //   is in the chains of two keys
            let values = unsafe { MultiMapValuesMut::at(nodes, length, head.chain) };
            function(key, values);
        }
    }
}

// SAFETY: the token declares that it writes the map, which it borrows mutably, and holds its block. The view leads to the map alone.
unsafe impl<K, V, S> JobData for ValuesWrite<'_, K, V, S>
where
    K: Send + Sync + 'static,
    V: Send + 'static,
    S: Send + 'static,
{
    type Held = Held<MultiMap<K, V, S>>;
    type Whole<'v> = KeysMut<'v, K, V>;

    fn declare(&self, accesses: &mut AccessList) {
        accesses.add(self.map, Access::Write);
    }

    fn hold(self) -> Self::Held {
        self.map.hold()
    }

    unsafe fn whole(held: &mut Self::Held) -> KeysMut<'_, K, V> {
        // SAFETY: no other code uses the map, because the declared access passed the check, and nothing else is opened.
        let open = unsafe { OpenMap::of(held) };
        KeysMut { open, buckets: 0..open.table.num_buckets() }
    }
}

// SAFETY: the views of two batches have the keys of different buckets, because batches have no index in common. They share the keys,
// which `K: Sync` allows. The values of different keys are different nodes, and are sent to the threads, which `V: Send` allows.
unsafe impl<K, V, S> ParallelJobData for ValuesWrite<'_, K, V, S>
where
    K: Send + Sync + 'static,
    V: Send + 'static,
    S: Send + 'static,
{
    type Batch<'v> = KeysMut<'v, K, V>;
    type Item<'b> = ();

    type Open<'v> = OpenMap<'v, K, V>;

    #[inline(always)]
    unsafe fn open(held: &Self::Held) -> OpenMap<'_, K, V> {
        // SAFETY: no other code uses the map, because the declared access passed the check.
        unsafe { OpenMap::of(held) }
    }

    #[inline(always)]
    unsafe fn batch<'v>(
        _: &'v Self::Held,
        open: &OpenMap<'v, K, V>,
        batch: &BatchInfo,
    ) -> KeysMut<'v, K, V> {
        KeysMut { open: *open, buckets: batch.range.clone() }
    }

    fn item(_: &mut KeysMut<'_, K, V>, _: usize) {}
}
