//! A growable queue.

mod lane;
mod native;

pub use lane::QueueLane;
pub use native::NativeQueue;

use std::fmt;
use std::mem;

use crate::allocator::Allocator;
use crate::error::{AllocationError, Rejected, expect_memory};
use crate::lanes::Lanes;
use crate::list::List;
use crate::native::labelled_as;
use crate::ring::{QueueDrain, Ring, RingIter};

/// A growable queue: first in, first out.
///
/// Jobs access a [`NativeQueue`] as this type. For a queue of fixed capacity, use
/// [`RingQueue`](crate::RingQueue).
///
/// The elements are in a ring of slots, whose number is a power of two and doubles when all are in
/// use. Memory is never freed before the queue is dropped.
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
pub struct Queue<T> {
    ring: Ring<T>,
    lanes: Lanes<QueueLane<T>>,
    /// Elements of parallel writers for which there was no memory.
    overflow: Vec<T>,
}

labelled_as!(Queue<T>, NativeQueue);

impl<T> Queue<T> {
    /// Makes an empty queue, without allocating.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(ancho_collections::Queue::<u32>::new().is_empty());
    /// ```
    pub const fn new() -> Self {
        Self::with(Ring::new_in(Allocator::PERSISTENT))
    }

    /// Makes an empty queue that uses the allocator.
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

    /// Makes an empty queue with room for `capacity` elements, or more.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory for them.
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

    /// Makes an empty queue with room for `capacity` elements, or more, in the allocator's memory.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory for them.
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

    /// Returns the capacity, in elements, including the existing ones.
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

    /// Makes room for `additional` more elements.
    ///
    /// # Errors
    ///
    /// Returns an error, and changes nothing, if there is no memory for them.
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

    /// Makes room for `additional` more elements.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory for them.
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
    /// The bits are moved to smaller memory. If the allocator has no memory for that, nothing
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
        self.lanes.shrink_to_fit();
        self.overflow.shrink_to_fit();
    }

    /// Adds an element at the end.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if the queue has to grow and there is no memory for it.
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
    /// Returns the element if the queue has to grow and there is no memory for it.
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

    /// Removes all elements, and returns an iterator of them, first in, first out.
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

    /// Returns all elements in two slices, the first slice first.
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
    /// Panics with code A0017 if there is no memory for them.
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

    /// Takes out the elements of parallel writers for which there was no memory, in order.
    ///
    /// A job fails with code A0017 if there is no memory for its elements. All elements from the
    /// first such batch on are here.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut queue = ancho_collections::Queue::from([1, 2, 3]);
    /// assert!(queue.take_overflow().is_empty());
    /// ```
    pub fn take_overflow(&mut self) -> Vec<T> {
        mem::take(&mut self.overflow)
    }

    const fn with(ring: Ring<T>) -> Self {
        Self { ring, lanes: Lanes::new(), overflow: Vec::new() }
    }
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Clone> Clone for Queue<T> {
    /// Copies the elements, into memory of the same allocator.
    fn clone(&self) -> Self {
        Self::with(self.ring.clone())
    }
}

impl<T, const N: usize> From<[T; N]> for Queue<T> {
    fn from(values: [T; N]) -> Self {
        values.into_iter().collect()
    }
}

impl<T> FromIterator<T> for Queue<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut queue = Self::new();
        queue.extend(values);
        queue
    }
}

impl<T> Extend<T> for Queue<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        let values = values.into_iter();
        let (at_least, _) = values.size_hint();
        self.reserve(at_least);
        values.for_each(|value| self.enqueue(value));
    }
}

impl<'a, T> IntoIterator for &'a Queue<T> {
    type Item = &'a T;
    type IntoIter = RingIter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.ring.iter()
    }
}

impl<T: PartialEq> PartialEq for Queue<T> {
    fn eq(&self, other: &Self) -> bool {
        self.ring == other.ring
    }
}

impl<T: Eq> Eq for Queue<T> {}

impl<T: fmt::Debug> fmt::Debug for Queue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.ring.fmt(f)
    }
}
