//! A queue of fixed capacity.

use std::error::Error;
use std::fmt;

use crate::allocator::Allocator;
use crate::error::{Rejected, debug_as_display, expect_memory};
use crate::native::{Native, labelled_as};
use crate::queue::Fifo;
use crate::ring::Ring;

/// A queue of fixed capacity: first in, first out. Elements beyond the capacity are refused.
///
/// Jobs access a [`NativeRingQueue`] as this type. For a growable queue, use
/// [`Queue`](crate::Queue).
///
/// All memory is allocated when the queue is created, for the capacity rounded up to a power of
/// two. A queue of capacity zero is always full, and always empty.
///
/// # Examples
///
/// ```
/// let mut queue = ancho_collections::RingQueue::with_capacity(2);
/// queue.enqueue("first");
/// queue.enqueue("second");
/// assert!(queue.try_enqueue("third").is_err());
/// assert_eq!(queue.dequeue(), Some("first"));
/// assert!(queue.try_enqueue("third").is_ok());
/// ```
pub type RingQueue<T> = Fifo<T, Bounded>;

/// The part of a [`RingQueue`] that a [`Queue`](crate::Queue) does not have: its fixed capacity.
#[derive(Clone, Copy, Debug)]
pub struct Bounded {
    /// The ring has at least this number of slots, and so never grows.
    capacity: usize,
}

/// A [`RingQueue`] that jobs share.
///
/// # Examples
///
/// ```
/// use ancho_collections::NativeRingQueue;
/// use ancho_jobs::{JobPool, JobScheduler};
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let mut last = NativeRingQueue::with_capacity(3);
/// let job = jobs.schedule(&[], last.write(), |last| {
///     for frame in 0..10 {
///         if last.is_full() {
///             last.dequeue();
///         }
///         last.enqueue(frame);
///     }
/// })?;
/// jobs.complete(job);
/// assert!(last.get()?.iter().eq(&[7, 8, 9]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type NativeRingQueue<T> = Native<RingQueue<T>>;

labelled_as!(RingQueue<T>, NativeRingQueue);

/// Error of adding to a full queue. Code A0019.
///
/// # Examples
///
/// ```
/// use ancho_collections::{QueueFull, RingQueue};
///
/// let mut queue = RingQueue::with_capacity(0);
/// assert_eq!(queue.try_enqueue(5).unwrap_err().error, QueueFull { capacity: 0 });
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct QueueFull {
    /// The number of elements, which equals the capacity.
    pub capacity: usize,
}

impl fmt::Display for QueueFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { capacity } = self;
        write!(
            f,
            "A0019: the ring queue is full with {capacity} elements; dequeue some, or make it larger"
        )
    }
}

impl Error for QueueFull {}

debug_as_display!(QueueFull);

impl<T> RingQueue<T> {
    /// Creates an empty queue with room for `capacity` elements.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::RingQueue::<u32>::with_capacity(100).capacity(), 100);
    /// ```
    #[track_caller]
    pub fn with_capacity(capacity: usize) -> Self {
        Self::with_capacity_in(capacity, &Allocator::PERSISTENT)
    }

    /// Creates an empty queue with room for `capacity` elements, in the allocator's memory.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{Allocator, RingQueue};
    /// assert_eq!(RingQueue::<u32>::with_capacity_in(100, &Allocator::PERSISTENT).capacity(), 100);
    /// ```
    #[track_caller]
    pub fn with_capacity_in(capacity: usize, allocator: &Allocator) -> Self {
        let mut ring = Ring::new_in(allocator.clone());
        expect_memory(ring.reserve(capacity));
        Self { ring, bound: Bounded { capacity } }
    }

    /// Returns whether the queue is full.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut queue = ancho_collections::RingQueue::with_capacity(1);
    /// queue.enqueue(5);
    /// assert!(queue.is_full());
    /// ```
    #[inline]
    pub fn is_full(&self) -> bool {
        self.len() == self.bound.capacity
    }

    /// Returns the maximum number of elements.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::RingQueue::<u32>::with_capacity(100).capacity(), 100);
    /// ```
    #[inline]
    pub fn capacity(&self) -> usize {
        self.bound.capacity
    }

    /// Adds an element at the end.
    ///
    /// # Panics
    ///
    /// Panics with code A0019 if the queue is full.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut queue = ancho_collections::RingQueue::with_capacity(1);
    /// queue.enqueue(5);
    /// assert_eq!(queue.peek(), Some(&5));
    /// ```
    #[inline]
    #[track_caller]
    pub fn enqueue(&mut self, value: T) {
        if let Err(Rejected { error, .. }) = self.try_enqueue(value) {
            panic!("{error}");
        }
    }

    /// Adds an element at the end, if there is room.
    ///
    /// # Errors
    ///
    /// Returns the element if the queue is full.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut queue = ancho_collections::RingQueue::with_capacity(1);
    /// assert!(queue.try_enqueue(5).is_ok());
    /// assert_eq!(queue.try_enqueue(6).unwrap_err().value, 6);
    /// ```
    #[inline]
    pub fn try_enqueue(&mut self, value: T) -> Result<(), Rejected<T, QueueFull>> {
        if self.is_full() {
            return Err(Rejected { value, error: QueueFull { capacity: self.bound.capacity } });
        }
        self.ring.push(value);
        Ok(())
    }
}

impl<T: Send + 'static> Native<RingQueue<T>> {
    /// Creates an empty queue with room for `capacity` elements. See [`RingQueue::with_capacity`].
    ///
    /// # Examples
    ///
    /// ```
    /// let queue = ancho_collections::NativeRingQueue::<u32>::with_capacity(100);
    /// assert_eq!(queue.get().unwrap().capacity(), 100);
    /// ```
    #[track_caller]
    pub fn with_capacity(capacity: usize) -> Self {
        Self::of(RingQueue::with_capacity(capacity))
    }

    /// Creates an empty queue with room for `capacity` elements, in the allocator's memory. See
    /// [`RingQueue::with_capacity_in`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{Allocator, NativeRingQueue};
    /// let queue = NativeRingQueue::<u32>::with_capacity_in(100, &Allocator::PERSISTENT);
    /// assert_eq!(queue.get().unwrap().capacity(), 100);
    /// ```
    #[track_caller]
    pub fn with_capacity_in(capacity: usize, allocator: &Allocator) -> Self {
        Self::of_in(RingQueue::with_capacity_in(capacity, allocator), allocator)
    }
}

impl<T: Clone> Clone for RingQueue<T> {
    /// Copies the elements to a queue of the same capacity, in memory of the same allocator.
    #[track_caller]
    fn clone(&self) -> Self {
        let mut copy = Self::with_capacity_in(self.bound.capacity, self.allocator());
        self.iter().for_each(|value| copy.enqueue(value.clone()));
        copy
    }
}
