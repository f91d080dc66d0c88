//! Parallel writers of sets.

use std::hash::{BuildHasher, Hash};

use ancho_jobs::{BatchInfo, ConcurrentWrite, ContainerLabel};
use foldhash::fast::FixedState;

use super::Set;
use crate::lanes::ParallelWriter;
use crate::map::MapLane;

/// Values that one batch adds to a set: the lane of a map without values.
///
/// # Examples
///
/// ```
/// use ancho_collections::NativeHashSet;
/// use ancho_jobs::{JobPool, JobScheduler};
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let mut digits = NativeHashSet::with_capacity(10);
/// let job = jobs.schedule_for_each(&[], digits.writer(), 1000, 64, |digits, i| digits.add(i % 10));
/// jobs.complete(job.unwrap());
/// assert_eq!(digits.get().unwrap().len(), 10);
/// ```
pub type SetLane<T, S = FixedState> = MapLane<T, (), S>;

impl<T: Hash, S: BuildHasher> MapLane<T, (), S> {
    /// Adds a value to a set, if it is new.
    ///
    /// The values become part of the set when the job's last batch is done, as the keys of a map do: see
    /// [`try_add`](Self::try_add), and [`SetLane`] for an example.
    #[inline]
    pub fn add(&mut self, value: T) {
        self.try_add(value, ());
    }
}

impl<T, S> ConcurrentWrite for Set<T, S>
where
    T: Hash + Eq + Send + Sync + 'static,
    S: BuildHasher + Clone + Send + Sync + 'static,
{
    type Writer<'v> = ParallelWriter<'v, SetLane<T, S>>;
    type Item<'b> = &'b mut SetLane<T, S>;

    #[inline]
    fn writer(&self, batch: &BatchInfo) -> ParallelWriter<'_, SetLane<T, S>> {
        self.map.writer(batch)
    }

    #[inline(always)]
    fn item<'b>(
        writer: &'b mut ParallelWriter<'_, SetLane<T, S>>,
        _: usize,
    ) -> &'b mut SetLane<T, S> {
        writer
    }

    fn settle(&mut self, container: ContainerLabel) {
        self.map.settle_lanes(container, "new values");
    }
}
