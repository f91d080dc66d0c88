//! Parallel writers of queues.

use ancho_jobs::{BatchInfo, ConcurrentWrite, ContainerLabel};

use super::Queue;
use crate::lanes::{Lane, ParallelWriter};

/// Maximum number of elements reserved for a lane, limited by the number of the batch's indices.
const RESERVED: usize = 256;

/// Elements that one batch adds to a queue.
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
    /// Adds an element, after the earlier ones of this batch.
    ///
    /// The elements become part of the queue when the job's last batch is done, in the order of the
    /// batches. The queue grows as needed. If there is no memory, the job panics with code A0017,
    /// and the elements without memory are in the [overflow](Queue::take_overflow).
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
        // A lane that is used for the first time would otherwise grow step by step. Unused memory
        // is not wasted: it is kept for other batches.
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
            // After the first failure, later elements wait too, to keep the order.
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
