//! A growable queue.

use std::fmt;
use std::mem;

use ancho_jobs::{BatchInfo, ConcurrentWrite, ContainerLabel};

use crate::allocator::Allocator;
use crate::error::{AllocationError, Rejected, expect_memory};
use crate::lanes::{Lane, Lanes, ParallelWriter};
use crate::list::List;
use crate::native::{Growable, Native, labelled_as};
use crate::ring::{QueueDrain, Ring, RingIter};

/// A growable queue: first in, first out.
///
/// Jobs access a [`NativeQueue`] as this type. For a queue of fixed capacity, use
/// [`RingQueue`](crate::RingQueue).
///
/// The elements are in a ring of slots, whose number is a power of two and doubles when all are in
/// use. Memory is freed by [`shrink_to_fit`](Queue::shrink_to_fit), and when the queue is dropped.
///
/// # Examples
///
/// ```
/// let mut queue = ancho_collections::Queue::new();
/// queue.enqueue("first");
/// queue.enqueue("second");
/// assert_eq!(queue.dequeue(), Some("first"));
/// assert_eq!(queue.dequeue(), Some("second"));
/// assert_eq!(queue.dequeue(), None);
/// ```
#[doc(alias = "UnsafeQueue")]
pub type Queue<T> = Fifo<T, Unbounded<T>>;

/// The common part of [`Queue`] and [`RingQueue`](crate::RingQueue): elements that are dequeued in
/// the order in which they were enqueued.
pub struct Fifo<T, B> {
    pub(crate) ring: Ring<T>,
    pub(crate) bound: B,
}

/// The part of a [`Queue`] that a [`RingQueue`](crate::RingQueue) does not have: the buffers of
/// parallel writers.
pub struct Unbounded<T> {
    lanes: Lanes<QueueLane<T>>,
    /// Elements of parallel writers for which there was no memory.
    overflow: Vec<T>,
}

/// A [`Queue`] that jobs share.
///
/// # Examples
///
/// ```
/// use ancho_collections::NativeQueue;
/// use ancho_jobs::{JobPool, JobScheduler};
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let mut events = NativeQueue::new();
/// let job = jobs.schedule_for_each(&[], events.writer(), 1000, 64, |events, i| {
///     if i % 300 == 0 {
///         events.enqueue(i);
///     }
/// })?;
/// jobs.complete(job);
/// assert_eq!(events.get_mut()?.drain().collect::<Vec<_>>(), [0, 300, 600, 900]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type NativeQueue<T> = Native<Queue<T>>;

labelled_as!(Queue<T>, NativeQueue);

impl<T> Queue<T> {
    /// Creates an empty queue, without allocating.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(ancho_collections::Queue::<u32>::new().is_empty());
    /// ```
    pub const fn new() -> Self {
        Self::with(Ring::new_in(Allocator::PERSISTENT))
    }

    /// Creates an empty queue that uses the allocator.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{Allocator, Queue};
    /// assert_eq!(Queue::<u32>::new_in(&Allocator::PERSISTENT).capacity(), 0);
    /// ```
    pub fn new_in(allocator: &Allocator) -> Self {
        Self::with(Ring::new_in(allocator.clone()))
    }

    /// Creates an empty queue with room for `capacity` elements, or more.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::Queue::<u32>::with_capacity(100).capacity(), 128);
    /// ```
    #[track_caller]
    pub fn with_capacity(capacity: usize) -> Self {
        Self::with_capacity_in(capacity, &Allocator::PERSISTENT)
    }

    /// Creates an empty queue with room for `capacity` elements, or more, in the allocator's memory.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{Allocator, Queue};
    /// assert_eq!(Queue::<u32>::with_capacity_in(100, &Allocator::PERSISTENT).capacity(), 128);
    /// ```
    #[track_caller]
    pub fn with_capacity_in(capacity: usize, allocator: &Allocator) -> Self {
        let mut queue = Self::new_in(allocator);
        queue.reserve(capacity);
        queue
    }

    /// Returns the number of elements that fit without reallocation, including the existing elements.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut queue = ancho_collections::Queue::new();
    /// queue.enqueue(1_u32);
    /// assert_eq!(queue.capacity(), 16, "64 bytes");
    /// ```
    #[inline]
    pub fn capacity(&self) -> usize {
        self.ring.slots()
    }

    /// Reserves room for `additional` more elements.
    ///
    /// # Errors
    ///
    /// Returns an error, and changes nothing, if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut queue = ancho_collections::Queue::<u32>::new();
    /// queue.try_reserve(100).unwrap();
    /// assert!(queue.capacity() >= 100);
    /// assert!(queue.try_reserve(usize::MAX).is_err());
    /// ```
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), AllocationError> {
        self.ring.reserve(additional)
    }

    /// Reserves room for `additional` more elements.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut queue = ancho_collections::Queue::<u32>::new();
    /// queue.reserve(100);
    /// assert!(queue.capacity() >= 100);
    /// ```
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        expect_memory(self.try_reserve(additional));
    }

    /// Frees the capacity that the elements do not need (Unity's `TrimExcess`). The memory of
    /// parallel writers is freed too.
    ///
    /// The elements are moved to smaller memory. If the allocator has no memory for that, nothing
    /// changes.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut queue = ancho_collections::Queue::from([1_u32, 2, 3]);
    /// queue.reserve(100);
    /// queue.shrink_to_fit();
    /// assert_eq!(queue.capacity(), 16, "64 bytes");
    /// ```
    #[doc(alias = "TrimExcess")]
    #[doc(alias = "trim")]
    pub fn shrink_to_fit(&mut self) {
        let _ = self.ring.shrink_to_fit();
        self.bound.lanes.shrink_to_fit();
        self.bound.overflow.shrink_to_fit();
    }

    /// Adds an element at the end.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if the queue has to grow and there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut queue = ancho_collections::Queue::new();
    /// queue.enqueue(5);
    /// assert_eq!(queue.peek(), Some(&5));
    /// ```
    #[inline]
    #[track_caller]
    pub fn enqueue(&mut self, value: T) {
        self.ring.push(value);
    }

    /// Adds an element at the end, if there is memory for it.
    ///
    /// # Errors
    ///
    /// Returns the element if the queue has to grow and there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut queue = ancho_collections::Queue::new();
    /// assert!(queue.try_enqueue(5).is_ok());
    /// ```
    pub fn try_enqueue(&mut self, value: T) -> Result<(), Rejected<T, AllocationError>> {
        if let Err(error) = self.try_reserve(1) {
            return Err(Rejected { value, error });
        }
        self.ring.push(value);
        Ok(())
    }

    /// Removes and returns the elements of parallel writers for which there was no memory, in order.
    ///
    /// A job fails with code A0017 if there is no memory for its elements. The result contains all elements of the first batch
    /// for which there was no memory, and of the batches after it.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut queue = ancho_collections::Queue::from([1, 2, 3]);
    /// assert!(queue.take_overflow().is_empty());
    /// ```
    pub fn take_overflow(&mut self) -> Vec<T> {
        mem::take(&mut self.bound.overflow)
    }

    const fn with(ring: Ring<T>) -> Self {
        Self { ring, bound: Unbounded { lanes: Lanes::new(), overflow: Vec::new() } }
    }
}

impl<T, B> Fifo<T, B> {
    /// Returns the number of elements (Unity's `Count`).
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::Queue::from([1, 2, 3]).len(), 3);
    /// ```
    #[inline]
    pub fn len(&self) -> usize {
        self.ring.len()
    }

    /// Returns whether there are no elements.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(!ancho_collections::Queue::from([1, 2, 3]).is_empty());
    /// ```
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the allocator that the memory is from.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::Queue::<u32>::new().allocator().name(), "Persistent");
    /// ```
    pub fn allocator(&self) -> &Allocator {
        self.ring.allocator()
    }

    /// Removes the first element, if there is one, and returns it (Unity's `TryDequeue`).
    ///
    /// # Examples
    ///
    /// ```
    /// let mut queue = ancho_collections::Queue::from([1, 2]);
    /// assert_eq!([queue.dequeue(), queue.dequeue(), queue.dequeue()], [Some(1), Some(2), None]);
    /// ```
    #[inline]
    pub fn dequeue(&mut self) -> Option<T> {
        self.ring.pop()
    }

    /// Returns the first element.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::Queue::from([1, 2]).peek(), Some(&1));
    /// ```
    #[inline]
    pub fn peek(&self) -> Option<&T> {
        self.ring.first()
    }

    /// Returns the first element, mutably.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut queue = ancho_collections::Queue::from([1, 2]);
    /// *queue.peek_mut().unwrap() += 10;
    /// assert_eq!(queue.dequeue(), Some(11));
    /// ```
    #[inline]
    pub fn peek_mut(&mut self) -> Option<&mut T> {
        self.ring.first_mut()
    }

    /// Removes all elements, and keeps the memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut queue = ancho_collections::Queue::from([1, 2, 3]);
    /// queue.clear();
    /// assert!(queue.is_empty() && queue.capacity() >= 3);
    /// ```
    pub fn clear(&mut self) {
        self.ring.clear();
    }

    /// Removes all elements, and returns an iterator over them, first in, first out.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut queue = ancho_collections::Queue::from([1, 2, 3]);
    /// assert_eq!(queue.drain().sum::<i32>(), 6);
    /// assert!(queue.is_empty());
    /// ```
    pub fn drain(&mut self) -> QueueDrain<'_, T> {
        QueueDrain(&mut self.ring)
    }

    /// Iterates over all elements, from first to last.
    ///
    /// # Examples
    ///
    /// ```
    /// let queue = ancho_collections::Queue::from([1, 2, 3]);
    /// assert!(queue.iter().eq(&[1, 2, 3]));
    /// ```
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + Clone {
        self.ring.iter()
    }

    /// Returns the elements as two slices. The second one continues the first.
    ///
    /// # Examples
    ///
    /// ```
    /// let queue = ancho_collections::Queue::from([1, 2, 3]);
    /// let (front, back) = queue.as_slices();
    /// assert_eq!([front, back].concat(), [1, 2, 3]);
    /// ```
    #[inline]
    pub fn as_slices(&self) -> (&[T], &[T]) {
        self.ring.as_slices()
    }

    /// Copies the elements to a list, in memory of the same allocator (Unity's `ToArray`).
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::Queue::from([1, 2, 3]).to_list()[..], [1, 2, 3]);
    /// ```
    #[track_caller]
    pub fn to_list(&self) -> List<T>
    where
        T: Clone,
    {
        let mut list = List::with_capacity_in(self.len(), self.allocator());
        list.extend(self.iter().cloned());
        list
    }
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Clone> Clone for Queue<T> {
    /// Copies the elements, into memory of the same allocator.
    #[track_caller]
    fn clone(&self) -> Self {
        Self::with(self.ring.clone())
    }
}

impl<T, const N: usize> From<[T; N]> for Queue<T> {
    #[track_caller]
    fn from(values: [T; N]) -> Self {
        Self::from_iter(values)
    }
}

impl<T> FromIterator<T> for Queue<T> {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut queue = Self::new();
        queue.extend(values);
        queue
    }
}

impl<T> Extend<T> for Queue<T> {
    #[track_caller]
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        let values = values.into_iter();
        let (at_least, _) = values.size_hint();
        self.reserve(at_least);
        // Not `for_each`: a closure would hide the caller's location from the panic.
        for value in values {
            self.enqueue(value);
        }
    }
}

impl<'a, T, B> IntoIterator for &'a Fifo<T, B> {
    type Item = &'a T;
    type IntoIter = RingIter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.ring.iter()
    }
}

/// Two queues are equal if their elements are; the capacity is ignored.
impl<T: PartialEq, B> PartialEq for Fifo<T, B> {
    fn eq(&self, other: &Self) -> bool {
        self.ring == other.ring
    }
}

impl<T: Eq, B> Eq for Fifo<T, B> {}

impl<T: fmt::Debug, B> fmt::Debug for Fifo<T, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.ring.fmt(f)
    }
}

impl<T> fmt::Debug for Unbounded<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Unbounded")
    }
}

impl<T: Send + 'static> Growable for Queue<T> {
    fn new_in(allocator: &Allocator) -> Self {
        Self::new_in(allocator)
    }

    fn with_capacity_in(capacity: usize, allocator: &Allocator) -> Self {
        Self::with_capacity_in(capacity, allocator)
    }
}

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
        let mut lane = self.bound.lanes.open(batch.index);
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
        let Self { ring, bound: Unbounded { lanes, overflow } } = self;
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
