//! Separate buffers for the batches of a parallel job, merged when the job is done.
//!
//! Each batch has its own lane, marked with the batch's number. After the last batch, the lanes are emptied in the order of these
//! numbers, so the result does not depend on threads. Writing does not wait; a lock is taken once at the beginning of a batch,
//! and once at its end.

use std::fmt;
use std::mem;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// The elements that one batch adds to a container, in order.
///
/// See [`Lanes`] for an example.
pub trait Lane: Default {
    /// Returns whether nothing was written.
    fn is_empty(&self) -> bool;
}

/// A lane for each batch, which makes parallel writers deterministic.
///
/// For authors of containers. Put one in the container's data, open a lane for each batch in
/// [`ConcurrentWrite::writer`](ancho_jobs::ConcurrentWrite::writer), and empty the lanes in
/// [`ConcurrentWrite::settle`](ancho_jobs::ConcurrentWrite::settle). The memory of the lanes is kept for
/// the next job.
///
/// # Examples
///
/// A container that keeps a log of lines:
///
/// ```
/// use ancho_collections::{Container, Lane, Lanes, Native, ParallelWriter};
/// use ancho_jobs::{BatchInfo, ConcurrentWrite, ContainerLabel, JobPool, JobScheduler};
///
/// #[derive(Default)]
/// struct Log {
///     lines: Vec<String>,
///     lanes: Lanes<LogLane>,
/// }
///
/// #[derive(Default)]
/// struct LogLane(Vec<String>);
///
/// impl Container for Log {}
///
/// impl Lane for LogLane {
///     fn is_empty(&self) -> bool {
///         self.0.is_empty()
///     }
/// }
///
/// impl ConcurrentWrite for Log {
///     type Writer<'v> = ParallelWriter<'v, LogLane>;
///     type Item<'b> = &'b mut LogLane;
///
///     fn writer(&self, batch: &BatchInfo) -> ParallelWriter<'_, LogLane> {
///         self.lanes.open(batch.index)
///     }
///
///     fn item<'b>(writer: &'b mut ParallelWriter<'_, LogLane>, _: usize) -> &'b mut LogLane {
///         writer
///     }
///
///     fn settle(&mut self, _: ContainerLabel) {
///         let Self { lines, lanes } = self;
///         lanes.settle(|lane| lines.append(&mut lane.0));
///     }
/// }
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let mut log = Native::of(Log::default());
/// let job = jobs.schedule_for_each(&[], log.writer(), 100, 8, |log, i| log.0.push(i.to_string()));
/// jobs.complete(job.unwrap());
/// assert_eq!(log.get().unwrap().lines[..3], ["0", "1", "2"]);
/// ```
pub struct Lanes<L> {
    shelf: OnceLock<Box<Mutex<Shelf<L>>>>,
}

struct Shelf<L> {
    /// Written lanes, sorted by the number of the batch and the order in which they were returned. A batch may have several
    /// lanes. The function that computes the count of a deferred job also has a lane. It runs before the batches, and its lane
    /// has the number of the first batch.
    written: Vec<((usize, usize), L)>,
    /// Emptied lanes, whose memory is used again.
    spare: Vec<L>,
}

impl<L> Default for Lanes<L> {
    fn default() -> Self {
        Self::new()
    }
}

impl<L> Lanes<L> {
    /// Creates lanes, without allocating.
    pub const fn new() -> Self {
        Self { shelf: OnceLock::new() }
    }

    /// Frees the memory of the unused lanes.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{Lane, Lanes};
    ///
    /// #[derive(Default)]
    /// struct Numbers(Vec<u32>);
    ///
    /// impl Lane for Numbers {
    ///     fn is_empty(&self) -> bool {
    ///         self.0.is_empty()
    ///     }
    /// }
    ///
    /// let mut lanes = Lanes::<Numbers>::new();
    /// lanes.open(0).0.push(5);
    /// lanes.settle(|lane| lane.0.clear());
    /// assert!(lanes.open(0).0.capacity() > 0, "memory of the first lane");
    /// lanes.shrink_to_fit();
    /// assert_eq!(lanes.open(0).0.capacity(), 0);
    /// ```
    pub fn shrink_to_fit(&mut self) {
        if let Some(shelf) = self.shelf.get_mut() {
            let Shelf { written, spare } = shelf.get_mut().unwrap_or_else(PoisonError::into_inner);
            written.shrink_to_fit();
            *spare = Vec::new();
        }
    }
}

impl<L: Lane> Lanes<L> {
    /// Opens an empty lane for a batch. It is returned when the writer is dropped.
    pub fn open(&self, batch: usize) -> ParallelWriter<'_, L> {
        let shelf = self
            .shelf
            .get_or_init(|| Box::new(Mutex::new(Shelf { written: Vec::new(), spare: Vec::new() })));
        // Separate, so that the lock is not held while a lane is made, which runs the lane author's
        // code.
        let spare = lock(shelf).spare.pop();
        ParallelWriter { lane: spare.unwrap_or_default(), batch, shelf }
    }

    /// Calls the function with each written lane, in the order of the batches. Several lanes of one
    /// batch come in the order in which they were returned. The function must leave the lane empty.
    ///
    /// A lane that is not empty afterwards, because the function panicked, is dropped with its
    /// contents.
    pub fn settle(&mut self, mut empty: impl FnMut(&mut L)) {
        let Some(shelf) = self.shelf.get_mut() else { return };
        let Shelf { written, spare } = shelf.get_mut().unwrap_or_else(PoisonError::into_inner);
        // No two keys are equal, so an unstable sort is deterministic. A stable one allocates.
        written.sort_unstable_by_key(|&(order, _)| order);
        // Draining drops the remaining lanes if the function panics.
        for (_, mut lane) in written.drain(..) {
            empty(&mut lane);
            if lane.is_empty() {
                spare.push(lane);
            }
        }
    }
}

fn lock<L>(shelf: &Mutex<Shelf<L>>) -> MutexGuard<'_, Shelf<L>> {
    // A lane is pushed or popped under the lock, so a panic leaves the list valid.
    shelf.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Parallel writer of a container, with the methods of its lane: for a list, those of
/// [`ListLane`](crate::ListLane).
///
/// # Examples
///
/// ```
/// use ancho_collections::NativeList;
/// use ancho_jobs::{JobPool, JobScheduler};
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let mut starts = NativeList::with_capacity(100);
/// let job = jobs.schedule_parallel(&[], starts.writer(), 1000, 100, |mut starts, range| {
///     starts.push(range.start);
/// });
/// jobs.complete(job.unwrap());
/// assert_eq!(starts.get().unwrap()[..3], [0, 100, 200]);
/// ```
pub struct ParallelWriter<'v, L: Lane> {
    lane: L,
    batch: usize,
    shelf: &'v Mutex<Shelf<L>>,
}

impl<L: Lane> Deref for ParallelWriter<'_, L> {
    type Target = L;

    #[inline(always)]
    fn deref(&self) -> &L {
        &self.lane
    }
}

impl<L: Lane> DerefMut for ParallelWriter<'_, L> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut L {
        &mut self.lane
    }
}

impl<L: Lane> Drop for ParallelWriter<'_, L> {
    fn drop(&mut self) {
        let lane = mem::take(&mut self.lane);
        let is_empty = lane.is_empty();
        let mut shelf = lock(self.shelf);
        if is_empty {
            shelf.spare.push(lane);
        } else {
            let place = shelf.written.len();
            shelf.written.push(((self.batch, place), lane));
        }
    }
}

impl<L: Lane> fmt::Debug for ParallelWriter<'_, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParallelWriter").field("batch", &self.batch).finish_non_exhaustive()
    }
}

impl<L> fmt::Debug for Lanes<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lanes")
    }
}
