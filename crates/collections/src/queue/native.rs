//! A queue that jobs share.

use super::Queue;
use crate::allocator::Allocator;
use crate::native::Native;

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

impl<T: Send + 'static> Native<Queue<T>> {
    /// Makes an empty queue, without allocating.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(ancho_collections::NativeQueue::<u32>::new().get().unwrap().is_empty());
    /// ```
    #[track_caller]
    pub fn new() -> Self {
        Self::of(Queue::new())
    }

    /// Makes an empty queue that uses the allocator.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{Allocator, NativeQueue};
    /// assert!(NativeQueue::<u32>::new_in(&Allocator::PERSISTENT).get().unwrap().is_empty());
    /// ```
    #[track_caller]
    pub fn new_in(allocator: &Allocator) -> Self {
        Self::of_in(Queue::new_in(allocator), allocator)
    }

    /// Makes an empty queue with room for `capacity` elements, or more. See
    /// [`Queue::with_capacity`].
    ///
    /// # Examples
    ///
    /// ```
    /// let queue = ancho_collections::NativeQueue::<u32>::with_capacity(100);
    /// assert_eq!(queue.get().unwrap().capacity(), 128);
    /// ```
    #[track_caller]
    pub fn with_capacity(capacity: usize) -> Self {
        Self::of(Queue::with_capacity(capacity))
    }

    /// Makes an empty queue with room for `capacity` elements, or more, in the allocator's memory.
    /// See [`Queue::with_capacity_in`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{Allocator, NativeQueue};
    /// let queue = NativeQueue::<u32>::with_capacity_in(100, &Allocator::PERSISTENT);
    /// assert_eq!(queue.get().unwrap().capacity(), 128);
    /// ```
    #[track_caller]
    pub fn with_capacity_in(capacity: usize, allocator: &Allocator) -> Self {
        Self::of_in(Queue::with_capacity_in(capacity, allocator), allocator)
    }
}

impl<T: Send + 'static, const N: usize> From<[T; N]> for Native<Queue<T>> {
    #[track_caller]
    fn from(values: [T; N]) -> Self {
        Self::of(Queue::from(values))
    }
}

impl<T: Send + 'static> FromIterator<T> for Native<Queue<T>> {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Self::of(Queue::from_iter(values))
    }
}

impl<T: Send + 'static> Default for Native<Queue<T>> {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}
