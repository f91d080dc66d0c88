//! How the batches of a parallel job add to a queue.

use ancho_jobs::{BatchInfo, ConcurrentWrite, ContainerLabel};

use super::Queue;
use crate::lanes::{Lane, ParallelWriter};

/// For how many elements a lane has room at least, if the batch has so many indices.
const RESERVED: usize = 256;

/// What one batch adds to a queue.
///
/// # Examples
///
/// ```
/// use ancho_collections::{NativeQueue, QueueLane};
/// use ancho_jobs::{JobPool, JobScheduler};
///
/// fn enqueue_both(queue: &mut QueueLane<usize>, i: usize) {
///     queue.enqueue(i);
///     queue.enqueue(100 * i);
/// }
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let mut queue = NativeQueue::new();
/// let job = jobs.schedule_for_each(&[], queue.writer(), 1000, 64, |queue, i| enqueue_both(queue, i));
/// jobs.complete(job.unwrap());
/// let queue = queue.get_mut().unwrap();
/// assert_eq!(queue.len(), 2000);
/// assert!(queue.iter().take(4).eq(&[0, 0, 1, 100]));
/// ```
#[derive(Debug)]
pub struct QueueLane<T>(Vec<T>);

impl<T> QueueLane<T> {
    /// Adds an element, after those that this batch has added before.
    ///
    /// The elements become part of the queue when the job's last batch is done, in the order of the
    /// batches. The queue grows as it has to. If there is no memory, the job panics with code A0017, and what
    /// got none is in the [overflow](Queue::take_overflow).
    ///
    /// # Examples
    ///
    /// See [`QueueLane`].
    #[inline(always)]
    pub fn enqueue(&mut self, value: T) {
        self.0.push(value);
    }
}

impl<T> Default for QueueLane<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Lane for QueueLane<T> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T: Send + Sync + 'static> ConcurrentWrite for Queue<T> {
    type Writer<'v> = ParallelWriter<'v, QueueLane<T>>;
    type Item<'b> = &'b mut QueueLane<T>;

    #[inline]
    fn writer(&self, batch: &BatchInfo) -> ParallelWriter<'_, QueueLane<T>> {
        let mut lane = self.lanes.open(batch.index);
        // A lane that is used for the first time would grow step by step. If little is written to it,
        // the memory is not lost: it is kept for other batches.
        lane.0.reserve(batch.range.len().min(RESERVED));
        lane
    }

    #[inline(always)]
    fn item<'b>(
        writer: &'b mut ParallelWriter<'_, QueueLane<T>>,
        _: usize,
    ) -> &'b mut QueueLane<T> {
        writer
    }

    fn settle(&mut self, _: ContainerLabel) {
        let Self { ring, lanes, overflow } = self;
        let mut no_memory = None;
        lanes.settle(|QueueLane(lane)| {
            // Once there was none, what comes later waits too, or it would overtake.
            if no_memory.is_none() {
                no_memory = ring.reserve(lane.len()).err();
            }
            match no_memory {
                None => ring.append(lane),
                Some(_) => overflow.append(lane),
            }
        });
        if let Some(error) = no_memory {
            panic!("{error}");
        }
    }
}
