//! A ring of slots in an allocator's memory, the base of the queues.
//!
//! The elements are numbered as they are added, and `head` and `tail` are the numbers of the first
//! element and of the next new one. The number of slots is a power of two, so that an element's
//! slot is the low bits of its number:
//!
//! ```text
//! slots = 8, head = 13, tail = 18
//!
//! slot      0    1    2    3    4    5    6    7
//! element  16   17    -    -    -   13   14   15
//! ```
//!
//! Blocks of 16 KiB would never move an element, but need another branch for each element, and an
//! allocation for each block. A ring grows by doubling, and then moves only the elements that had
//! wrapped around.
#![expect(unsafe_code, reason = "keeps elements in slots that are not always filled")]

use std::alloc::Layout;
use std::fmt;
use std::iter::{Chain, FusedIterator};
use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::slice;

use allocator_api2::alloc::Allocator as RawAllocator;

use crate::allocator::{Allocator, LINE};
use crate::error::{AllocationError, expect_memory};

/// The elements in their order: those up to the last slot, then those from the first slot on.
pub(crate) type RingIter<'a, T> = Chain<slice::Iter<'a, T>, slice::Iter<'a, T>>;

/// Elements that are added at one end and removed at the other.
///
/// Invariants:
///
/// - `slots` is zero or a power of two, and `memory` is memory of `allocator` for `slots` elements,
///   or dangling if those take no bytes.
/// - `tail - head` is at most `slots`, and the slots of the numbers from `head` to `tail` are filled.
/// - If `slots` is zero, so are `head` and `tail`.
pub(crate) struct Ring<T> {
    memory: NonNull<T>,
    slots: usize,
    head: usize,
    tail: usize,
    allocator: Allocator,
    owns: PhantomData<T>,
}

// SAFETY: a `Ring` owns its elements, as a vector does, and the allocator is `Send` and `Sync`.
unsafe impl<T: Send> Send for Ring<T> {}
// SAFETY: a `Ring` owns its elements, as a vector does, and the allocator is `Send` and `Sync`. A shared ring lends only shared
// references to elements.
unsafe impl<T: Sync> Sync for Ring<T> {}

impl<T> Ring<T> {
    pub(crate) const fn new_in(allocator: Allocator) -> Self {
        let memory = NonNull::dangling();
        Self { memory, slots: 0, head: 0, tail: 0, allocator, owns: PhantomData }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.tail.wrapping_sub(self.head)
    }

    #[inline]
    pub(crate) fn slots(&self) -> usize {
        self.slots
    }

    pub(crate) fn allocator(&self) -> &Allocator {
        &self.allocator
    }

    /// Returns the slot of an element by its number.
    #[inline]
    fn slot(&self, number: usize) -> usize {
        number & self.slots.wrapping_sub(1)
    }

    /// Adds an element, and grows if there is no room.
    #[inline]
    #[track_caller]
    pub(crate) fn push(&mut self, value: T) {
        if self.len() == self.slots {
            self.grow();
        }
        // SAFETY: the slot of `tail` is free, and among the slots.
        unsafe { self.memory.add(self.slot(self.tail)).write(value) };
        self.tail = self.tail.wrapping_add(1);
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn grow(&mut self) {
        expect_memory(self.reserve(1));
    }

    /// Removes and returns the first element.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<T> {
        if self.head == self.tail {
            return None;
        }
        let slot = self.slot(self.head);
        self.head = self.head.wrapping_add(1);
        // SAFETY: the slot is filled, as that of the first element, and counts as free from now on.
        Some(unsafe { self.memory.add(slot).read() })
    }

    /// Moves all elements of a vector to the end.
    #[track_caller]
    pub(crate) fn append(&mut self, from: &mut Vec<T>) {
        expect_memory(self.reserve(from.len()));
        let count = from.len();
        let slot = self.slot(self.tail);
        let first = count.min(self.slots - slot);
        // SAFETY: enough slots are free, in two parts: from that of `tail` to the last one, and
        // from the first one on. The elements are moved: the vector's length is set to zero before.
        unsafe {
            from.set_len(0);
            ptr::copy_nonoverlapping(from.as_ptr(), self.memory.add(slot).as_ptr(), first);
            ptr::copy_nonoverlapping(from.as_ptr().add(first), self.memory.as_ptr(), count - first);
        }
        self.tail = self.tail.wrapping_add(count);
    }

    /// Reserves room for `additional` more elements.
    pub(crate) fn reserve(&mut self, additional: usize) -> Result<(), AllocationError> {
        let needed = self.len().saturating_add(additional);
        if needed <= self.slots {
            return Ok(());
        }
        let refused = AllocationError::of::<T>(self.allocator.name(), needed);
        let slots = Self::slots_for(needed).ok_or(refused)?;
        let layout = Layout::array::<T>(slots).map_err(|_| refused)?;
        if layout.size() > 0 {
            let memory = match self.layout() {
                None => self.allocator.allocate(layout),
                // SAFETY: the memory is from the allocator with the layout `old`, and the new layout is
                // not smaller. The old pointer is replaced.
                Some(old) => unsafe { self.allocator.grow(self.memory.cast(), old, layout) },
            };
            self.memory = memory.map_err(|_| refused)?.cast();
        }

        // The elements that had wrapped around to the first slots now follow those in the last
        // ones.
        let (start, length) = (self.slot(self.head), self.len());
        let wrapped = (start + length).saturating_sub(self.slots);
        // SAFETY: the number of slots has at least doubled, and the new ones are free. The wrapped
        // elements are no more than the old slots.
        unsafe {
            let (from, to) = (self.memory.as_ptr(), self.memory.add(self.slots).as_ptr());
            ptr::copy_nonoverlapping(from, to, wrapped);
        }
        self.slots = slots;
        self.head = start;
        self.tail = start + length;
        Ok(())
    }

    /// Returns the number of slots for `needed` elements, which is a power of two, or `None` on overflow.
    fn slots_for(needed: usize) -> Option<usize> {
        let line = LINE.checked_div(size_of::<T>()).unwrap_or(0).max(4);
        needed.max(line).checked_next_power_of_two()
    }

    /// Moves the elements to fewer slots, if possible. If there is no memory for that, nothing
    /// changes.
    pub(crate) fn shrink_to_fit(&mut self) -> Result<(), AllocationError> {
        let length = self.len();
        let fits_fewer = Self::slots_for(length).is_some_and(|slots| slots < self.slots);
        if length == 0 || fits_fewer {
            let mut smaller = Self::new_in(self.allocator.clone());
            smaller.reserve(length)?;
            while let Some(value) = self.pop() {
                smaller.push(value);
            }
            *self = smaller;
        }
        Ok(())
    }

    /// Returns the layout of the memory, if there is any.
    fn layout(&self) -> Option<Layout> {
        let layout = Layout::array::<T>(self.slots).expect("it was computed before");
        (layout.size() > 0).then_some(layout)
    }

    /// Returns the memory of the elements, in order.
    #[inline]
    fn parts(&self) -> (NonNull<[T]>, NonNull<[T]>) {
        let (start, length) = (self.slot(self.head), self.len());
        let first = length.min(self.slots - start);
        // SAFETY: the slot is among the slots, or it is zero and there are no slots.
        let front = unsafe { self.memory.add(start) };
        (
            NonNull::slice_from_raw_parts(front, first),
            NonNull::slice_from_raw_parts(self.memory, length - first),
        )
    }

    #[inline]
    pub(crate) fn as_slices(&self) -> (&[T], &[T]) {
        let (front, back) = self.parts();
        // SAFETY: the slots of both are filled, and are not changed while the ring is borrowed.
        unsafe { (front.as_ref(), back.as_ref()) }
    }

    #[inline]
    pub(crate) fn first(&self) -> Option<&T> {
        self.as_slices().0.first()
    }

    #[inline]
    pub(crate) fn first_mut(&mut self) -> Option<&mut T> {
        let (mut front, _) = self.parts();
        // SAFETY: the slots are filled, and the ring is borrowed mutably.
        unsafe { front.as_mut() }.first_mut()
    }

    pub(crate) fn iter(&self) -> RingIter<'_, T> {
        let (front, back) = self.as_slices();
        front.iter().chain(back)
    }

    /// Drops all elements, and keeps the memory. If a destructor panics, the other elements are
    /// still dropped.
    pub(crate) fn clear(&mut self) {
        /// Drops the second part even if dropping the first one panics.
        struct Rest<T>(NonNull<[T]>);

        impl<T> Drop for Rest<T> {
            fn drop(&mut self) {
                // SAFETY: the ring has released the part's elements to this guard, which alone
                // drops them.
                unsafe { self.0.drop_in_place() };
            }
        }

        let (front, back) = self.parts();
        self.head = 0;
        self.tail = 0;
        let _rest = Rest(back);
        // SAFETY: the elements of both parts are filled, and their slots count as free already, so
        // each one is dropped once, here or by the guard.
        unsafe { front.drop_in_place() };
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        /// Frees the memory even if the drop of an element panics.
        struct Free<'a, T>(&'a mut Ring<T>);

        impl<T> Drop for Free<'_, T> {
            fn drop(&mut self) {
                let ring = &self.0;
                if let Some(layout) = ring.layout() {
                    // SAFETY: the memory is the allocator's, with this layout, and the ring is not
                    // used again.
                    unsafe { ring.allocator.deallocate(ring.memory.cast(), layout) };
                }
            }
        }

        Free(self).0.clear();
    }
}

impl<T: Clone> Clone for Ring<T> {
    /// Copies the elements, into memory of the same allocator.
    #[track_caller]
    fn clone(&self) -> Self {
        let mut copy = Self::new_in(self.allocator.clone());
        expect_memory(copy.reserve(self.len()));
        self.iter().for_each(|value| copy.push(value.clone()));
        copy
    }
}

impl<T: PartialEq> PartialEq for Ring<T> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl<T: fmt::Debug> fmt::Debug for Ring<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Draining iterator of a queue, from first to last.
///
/// Dropping it removes the remaining elements.
///
/// # Examples
///
/// ```
/// let mut queue = ancho_collections::Queue::from([1, 2, 3]);
/// let mut drain = queue.drain();
/// assert_eq!((drain.next(), drain.len()), (Some(1), 2));
/// drop(drain);
/// assert!(queue.is_empty());
/// ```
pub struct QueueDrain<'a, T>(pub(crate) &'a mut Ring<T>);

impl<T> Iterator for QueueDrain<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        self.0.pop()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.0.len(), Some(self.0.len()))
    }
}

impl<T> ExactSizeIterator for QueueDrain<'_, T> {}

impl<T> FusedIterator for QueueDrain<'_, T> {}

impl<T> Drop for QueueDrain<'_, T> {
    fn drop(&mut self) {
        self.0.clear();
    }
}

impl<T: fmt::Debug> fmt::Debug for QueueDrain<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("QueueDrain").field(&self.0).finish()
    }
}
