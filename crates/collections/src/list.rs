//! A growable list.
#![expect(unsafe_code, reason = "moves elements into spare room, and tells jobs where they are")]

use std::fmt;
use std::mem;
use std::ops::{Deref, DerefMut, Range};
use std::ptr::{self, NonNull};
use std::slice;

use allocator_api2::vec::Vec as RawVec;
use ancho_jobs::{
    BatchInfo, ConcurrentWrite, ContainerLabel, Contiguous, IndexList, SliceRead,
    SliceUnrestricted, SliceWrite,
};

use crate::allocator::{Allocator, LINE, move_to_capacity};
use crate::error::{
    AllocationError, CapacityError, Rejected, expect_memory, index_outside, range_outside,
};
use crate::fixed::swap_range_to_end;
use crate::lanes::{Lane, Lanes, ParallelWriter};
use crate::native::{Growable, Native, labelled_as};

/// A growable list: a vector with an allocator, for jobs.
///
/// Its elements are read and changed as a slice; the methods here change their number. Jobs access
/// a [`NativeList`] as this type.
///
/// The capacity grows to the next power of two, and is at least one cache line.
///
/// # Examples
///
/// ```
/// let mut list = ancho_collections::List::new();
/// list.push(3_u32);
/// list.extend_from_slice(&[1, 2]);
/// list.sort();
/// assert_eq!(list[..], [1, 2, 3]);
/// assert_eq!(list.capacity(), 16, "64 bytes");
/// ```
#[doc(alias = "UnsafeList")]
pub struct List<T> {
    items: RawVec<T, Allocator>,
    lanes: Lanes<ListLane<T>>,
    /// Elements of parallel writers that did not fit.
    overflow: Vec<T>,
}

/// A [`List`] that jobs share.
///
/// # Examples
///
/// ```
/// use ancho_collections::NativeList;
/// use ancho_jobs::{JobPool, JobScheduler};
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let mut squares = NativeList::new();
/// let fill = jobs.schedule(&[], squares.write(), |squares| squares.extend((0..1000).map(|i| i * i)))?;
/// // The length is known only when that job has run.
/// let halve = jobs.named("Deferred").schedule_deferred(&[fill], squares.write_elements(), |all| all.len(), 64, |part, _| {
///     part.iter_mut().for_each(|square| *square /= 2);
/// })?;
/// jobs.complete(halve);
/// assert_eq!(squares.get()?[4], 8);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type NativeList<T> = Native<List<T>>;

labelled_as!(List<T>, NativeList);

impl<T> List<T> {
    /// Creates an empty list, without allocating.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(ancho_collections::List::<u32>::new().is_empty());
    /// ```
    pub const fn new() -> Self {
        let items = RawVec::new_in(Allocator::PERSISTENT);
        Self { items, lanes: Lanes::new(), overflow: Vec::new() }
    }

    /// Creates an empty list that uses the allocator.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{Allocator, List};
    /// assert_eq!(List::<u32>::new_in(&Allocator::PERSISTENT).capacity(), 0);
    /// ```
    pub fn new_in(allocator: &Allocator) -> Self {
        let items = RawVec::new_in(allocator.clone());
        Self { items, lanes: Lanes::new(), overflow: Vec::new() }
    }

    /// Creates an empty list with room for `capacity` elements.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::List::<u32>::with_capacity(100).capacity(), 100);
    /// ```
    #[track_caller]
    pub fn with_capacity(capacity: usize) -> Self {
        Self::with_capacity_in(capacity, &Allocator::PERSISTENT)
    }

    /// Creates an empty list with room for `capacity` elements, in the allocator's memory.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{Allocator, List};
    /// assert_eq!(List::<u32>::with_capacity_in(100, &Allocator::PERSISTENT).capacity(), 100);
    /// ```
    #[track_caller]
    pub fn with_capacity_in(capacity: usize, allocator: &Allocator) -> Self {
        let mut list = Self::new_in(allocator);
        expect_memory(list.reserve_to(capacity));
        list
    }

    /// Returns the number of elements that fit without reallocation, including the existing elements.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::List::<u32>::with_capacity(100).capacity(), 100);
    /// ```
    #[inline]
    pub fn capacity(&self) -> usize {
        self.items.capacity()
    }

    /// Returns the allocator that the memory is from.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::List::<u32>::new().allocator().name(), "Persistent");
    /// ```
    pub fn allocator(&self) -> &Allocator {
        self.items.allocator()
    }

    /// Sets the capacity to exactly `capacity` elements.
    ///
    /// # Errors
    ///
    /// Returns an error, and changes nothing, if there are more elements already (A0016), or if there is no memory (A0017).
    ///
    /// # Examples
    ///
    /// ```
    /// let mut list = ancho_collections::List::from([1, 2, 3]);
    /// list.set_capacity(10).unwrap();
    /// assert_eq!(list.capacity(), 10);
    /// assert!(list.set_capacity(2).unwrap_err().to_string().starts_with("A0016: "));
    /// ```
    pub fn set_capacity(&mut self, capacity: usize) -> Result<(), CapacityError> {
        let length = self.items.len();
        if capacity < length {
            return Err(CapacityError::BelowLength { capacity, length });
        }
        self.reserve_to(capacity)?;
        if self.items.capacity() > capacity {
            move_to_capacity(&mut self.items, capacity).map_err(|_| self.no_room(capacity))?;
        }
        Ok(())
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
    /// let mut list = ancho_collections::List::from([1, 2, 3]);
    /// list.reserve(100);
    /// list.shrink_to_fit();
    /// assert_eq!(list.capacity(), 3);
    /// ```
    #[doc(alias = "TrimExcess")]
    #[doc(alias = "trim")]
    pub fn shrink_to_fit(&mut self) {
        let _ = self.set_capacity(self.len());
        self.lanes.shrink_to_fit();
        self.overflow.shrink_to_fit();
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
    /// let mut list = ancho_collections::List::<u32>::new();
    /// list.try_reserve(100).unwrap();
    /// assert!(list.capacity() >= 100);
    /// assert!(list.try_reserve(usize::MAX).is_err());
    /// ```
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), AllocationError> {
        let Some(needed) = self.items.len().checked_add(additional) else {
            return Err(self.no_room(usize::MAX));
        };
        if needed <= self.items.capacity() {
            return Ok(());
        }
        let line = LINE.checked_div(size_of::<T>()).unwrap_or(0);
        let grown = needed.checked_next_power_of_two().unwrap_or(needed).max(line);
        self.reserve_to(grown)
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
    /// let mut list = ancho_collections::List::<u32>::new();
    /// list.reserve(100);
    /// assert!(list.capacity() >= 100);
    /// ```
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        expect_memory(self.try_reserve(additional));
    }

    fn reserve_to(&mut self, capacity: usize) -> Result<(), AllocationError> {
        let additional = capacity.saturating_sub(self.items.len());
        self.items.try_reserve_exact(additional).map_err(|_| self.no_room(capacity))
    }

    fn no_room(&self, elements: usize) -> AllocationError {
        AllocationError::of::<T>(self.items.allocator().name(), elements)
    }

    /// Adds an element at the end.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if the list has to grow and there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut list = ancho_collections::List::new();
    /// list.push("one");
    /// assert_eq!(list[..], ["one"]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn push(&mut self, value: T) {
        if self.items.len() == self.items.capacity() {
            self.grow();
        }
        let length = self.items.len();
        // SAFETY: there is room for one more element, which is written before the length counts it.
        unsafe {
            self.items.as_mut_ptr().add(length).write(value);
            self.items.set_len(length + 1);
        }
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn grow(&mut self) {
        self.reserve(1);
    }

    /// Adds an element at the end, if there is memory for it.
    ///
    /// # Errors
    ///
    /// Returns the element if the list has to grow and there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut list = ancho_collections::List::new();
    /// assert!(list.try_push(5).is_ok());
    /// ```
    pub fn try_push(&mut self, value: T) -> Result<(), Rejected<T, AllocationError>> {
        if let Err(error) = self.try_reserve(1) {
            return Err(Rejected { value, error });
        }
        self.items.push(value);
        Ok(())
    }

    /// Removes the last element, if there is one, and returns it.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut list = ancho_collections::List::from([1, 2]);
    /// assert_eq!([list.pop(), list.pop(), list.pop()], [Some(2), Some(1), None]);
    /// ```
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        self.items.pop()
    }

    /// Adds copies of all the elements of a slice at the end.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if the list has to grow and there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut list = ancho_collections::List::from([1, 2]);
    /// list.extend_from_slice(&[3, 4]);
    /// assert_eq!(list[..], [1, 2, 3, 4]);
    /// ```
    #[track_caller]
    pub fn extend_from_slice(&mut self, values: &[T])
    where
        T: Copy,
    {
        self.insert_slice(self.len(), values);
    }

    /// Adds `count` copies of a value at the end (Unity's `AddReplicate`).
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if the list has to grow and there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut list = ancho_collections::List::from([1]);
    /// list.push_repeated(7, 3);
    /// assert_eq!(list[..], [1, 7, 7, 7]);
    /// ```
    #[track_caller]
    pub fn push_repeated(&mut self, value: T, count: usize)
    where
        T: Clone,
    {
        self.reserve(count);
        self.items.resize(self.items.len() + count, value);
    }

    /// Changes the length to `length`: shortens the list, or fills it up with a value.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if the list has to grow and there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut list = ancho_collections::List::from([1, 2, 3]);
    /// list.resize(2, 0);
    /// list.resize(4, 0);
    /// assert_eq!(list[..], [1, 2, 0, 0]);
    /// ```
    #[track_caller]
    pub fn resize(&mut self, length: usize, value: T)
    where
        T: Clone,
    {
        self.reserve(length.saturating_sub(self.len()));
        self.items.resize(length, value);
    }

    /// Inserts an element before the one at `index`.
    ///
    /// # Panics
    ///
    /// Panics with code A0014 if the index is beyond the end, and with code A0017 if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut list = ancho_collections::List::from([1, 3]);
    /// list.insert(1, 2);
    /// assert_eq!(list[..], [1, 2, 3]);
    /// ```
    #[track_caller]
    pub fn insert(&mut self, index: usize, value: T) {
        if index > self.len() {
            index_outside("a list", index, self.len());
        }
        self.reserve(1);
        self.items.insert(index, value);
    }

    /// Inserts copies of all the elements of a slice before the one at `index` (Unity's `InsertRange`).
    ///
    /// # Panics
    ///
    /// Panics with code A0014 if the index is beyond the end, and with code A0017 if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut list = ancho_collections::List::from([1, 4]);
    /// list.insert_slice(1, &[2, 3]);
    /// assert_eq!(list[..], [1, 2, 3, 4]);
    /// ```
    #[track_caller]
    pub fn insert_slice(&mut self, index: usize, values: &[T])
    where
        T: Copy,
    {
        let length = self.len();
        if index > length {
            index_outside("a list", index, length);
        }
        self.reserve(values.len());
        // SAFETY: there is room for that number of elements. The elements after `index` move up,
        // without overlap with `values`, which is borrowed while the list is borrowed mutably; all
        // are `Copy`.
        unsafe {
            let gap = self.items.as_mut_ptr().add(index);
            ptr::copy(gap, gap.add(values.len()), length - index);
            ptr::copy_nonoverlapping(values.as_ptr(), gap, values.len());
            self.items.set_len(length + values.len());
        }
    }

    /// Removes the element at `index` and returns it. Later elements move up.
    ///
    /// # Panics
    ///
    /// Panics with code A0014 if the element's index is out of bounds.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut list = ancho_collections::List::from([1, 2, 3]);
    /// assert_eq!(list.remove(0), 1);
    /// assert_eq!(list[..], [2, 3]);
    /// ```
    #[track_caller]
    pub fn remove(&mut self, index: usize) -> T {
        if index >= self.len() {
            index_outside("a list", index, self.len());
        }
        self.items.remove(index)
    }

    /// Removes the element at `index` and returns it. The last element takes its place.
    ///
    /// # Panics
    ///
    /// Panics with code A0014 if the element's index is out of bounds.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut list = ancho_collections::List::from([1, 2, 3]);
    /// assert_eq!(list.swap_remove(0), 1);
    /// assert_eq!(list[..], [3, 2]);
    /// ```
    #[track_caller]
    pub fn swap_remove(&mut self, index: usize) -> T {
        if index >= self.len() {
            index_outside("a list", index, self.len());
        }
        self.items.swap_remove(index)
    }

    /// Removes the elements in the range. Later elements move up.
    ///
    /// # Panics
    ///
    /// Panics with code A0014 if the range ends beyond the list, or before it starts.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut list = ancho_collections::List::from([1, 2, 3, 4]);
    /// list.remove_range(1..3);
    /// assert_eq!(list[..], [1, 4]);
    /// ```
    #[track_caller]
    pub fn remove_range(&mut self, range: Range<usize>) {
        if range.start > range.end || range.end > self.len() {
            range_outside("a list", range.start, range.end, self.len());
        }
        self.items.drain(range);
    }

    /// Removes the elements in the range. Elements from the end take their places.
    ///
    /// # Panics
    ///
    /// Panics with code A0014 if the range ends beyond the list, or before it starts.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut list = ancho_collections::List::from([1, 2, 3, 4, 5]);
    /// list.swap_remove_range(0..2);
    /// assert_eq!(list[..], [4, 5, 3]);
    /// ```
    #[track_caller]
    pub fn swap_remove_range(&mut self, range: Range<usize>) {
        let length = self.len();
        if range.start > range.end || range.end > length {
            range_outside("a list", range.start, range.end, length);
        }
        let kept = swap_range_to_end(&mut self.items, range);
        self.items.truncate(kept);
    }

    /// Keeps the elements for which the function returns `true`, in order.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut list = ancho_collections::List::from([1, 2, 3, 4]);
    /// list.retain(|value| value % 2 == 0);
    /// assert_eq!(list[..], [2, 4]);
    /// ```
    pub fn retain(&mut self, keep: impl FnMut(&T) -> bool) {
        self.items.retain(keep);
    }

    /// Shortens the list to `length` elements, if it has more.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut list = ancho_collections::List::from([1, 2, 3]);
    /// list.truncate(1);
    /// assert_eq!(list[..], [1]);
    /// ```
    pub fn truncate(&mut self, length: usize) {
        self.items.truncate(length);
    }

    /// Removes all elements, and keeps the memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut list = ancho_collections::List::from([1, 2, 3]);
    /// list.clear();
    /// assert!(list.is_empty() && list.capacity() >= 3);
    /// ```
    pub fn clear(&mut self) {
        self.items.clear();
    }

    /// Removes and returns the elements of parallel writers that did not fit, in order.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::NativeList;
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut list = NativeList::with_capacity(2);
    /// let job = jobs.schedule_for_each(&[], list.writer(), 5, 1, |list, i| list.push(i)).unwrap();
    /// assert!(jobs.try_complete(job).unwrap_err().to_string().contains("A0015: "));
    /// let list = list.get_mut().unwrap();
    /// assert_eq!(list[..], [0, 1]);
    /// assert_eq!(list.take_overflow(), [2, 3, 4]);
    /// ```
    pub fn take_overflow(&mut self) -> Vec<T> {
        mem::take(&mut self.overflow)
    }
}

impl<T: Send + 'static> Growable for List<T> {
    fn new_in(allocator: &Allocator) -> Self {
        Self::new_in(allocator)
    }

    fn with_capacity_in(capacity: usize, allocator: &Allocator) -> Self {
        Self::with_capacity_in(capacity, allocator)
    }
}

impl<T: Send + 'static> Native<List<T>> {
    /// Returns a token for jobs that read the elements as a slice.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::NativeList;
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let list = NativeList::from([1, 2, 3]);
    /// let job = jobs.schedule(&[], list.read_elements(), |all| assert_eq!(all, [1, 2, 3])).unwrap();
    /// jobs.complete(job);
    /// ```
    pub fn read_elements(&self) -> SliceRead<'_, T> {
        self.guarded().read_elements()
    }

    /// Returns a token for jobs that change the elements but not their number: all of them in a
    /// single job, the batch's part in a parallel one.
    ///
    /// The number of elements is read when the job runs, so an earlier job may fill the list
    /// (Unity's `AsDeferredJobArray`): see [`NativeList`] for an example.
    pub fn write_elements(&mut self) -> SliceWrite<'_, T> {
        self.guarded_mut().write_elements()
    }

    /// Returns a token for jobs that change any element from any batch, unchecked.
    ///
    /// # Safety
    ///
    /// No element is written by one batch of the job while another reads or writes it.
    pub unsafe fn write_elements_unrestricted(&mut self) -> SliceUnrestricted<'_, T> {
        // SAFETY: the contract is the same: no element is written by one batch of the job while
        // another reads or writes it.
        unsafe { self.guarded_mut().write_elements_unrestricted() }
    }
}

// SAFETY: a vector's elements are in separate memory, and do not move until the vector is changed.
unsafe impl<T: Send + 'static> Contiguous for List<T> {
    type Element = T;

    fn elements(&self) -> NonNull<[T]> {
        let start =
            NonNull::new(self.items.as_ptr().cast_mut()).expect("a vector's memory is somewhere");
        NonNull::slice_from_raw_parts(start, self.items.len())
    }
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Deref for List<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.items
    }
}

impl<T> DerefMut for List<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items
    }
}

impl<T: Clone> Clone for List<T> {
    /// Copies the elements, into memory of the same allocator. The overflow of parallel writers is
    /// not copied.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory.
    #[track_caller]
    fn clone(&self) -> Self {
        // Not by cloning the vector, which aborts if the allocator refuses.
        let mut clone = Self::with_capacity_in(self.len(), self.allocator());
        clone.items.extend_from_slice(self);
        clone
    }
}

impl<T, const N: usize> From<[T; N]> for List<T> {
    #[track_caller]
    fn from(values: [T; N]) -> Self {
        Self::from_iter(values)
    }
}

impl<T> FromIterator<T> for List<T> {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut list = Self::new();
        list.extend(values);
        list
    }
}

impl<T> Extend<T> for List<T> {
    #[track_caller]
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        let values = values.into_iter();
        let (at_least, _) = values.size_hint();
        self.reserve(at_least);
        // Not `for_each`: a closure would hide the caller's location from the panic.
        for value in values {
            self.push(value);
        }
    }
}

impl<'a, T> IntoIterator for &'a List<T> {
    type Item = &'a T;
    type IntoIter = slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T> IntoIterator for &'a mut List<T> {
    type Item = &'a mut T;
    type IntoIter = slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<T: PartialEq> PartialEq for List<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Eq> Eq for List<T> {}

impl<T: fmt::Debug> fmt::Debug for List<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Lists of indices, for [`schedule_append`](ancho_jobs::JobBuilder::schedule_append) and
/// [`schedule_filter`](ancho_jobs::JobBuilder::schedule_filter).
impl IndexList for &mut List<usize> {
    fn append(&mut self, index: usize) {
        self.push(index);
    }

    fn keep(&mut self, mut accept: impl FnMut(usize) -> bool) {
        self.retain(|&index| accept(index));
    }
}

impl IndexList for &mut List<u32> {
    fn append(&mut self, index: usize) {
        self.push(u32::try_from(index).expect("a list of `u32` holds indices up to 4294967295"));
    }

    fn keep(&mut self, mut accept: impl FnMut(usize) -> bool) {
        self.retain(|&index| accept(index as usize));
    }
}

/// The elements that one batch adds to a list.
///
/// # Examples
///
/// See [`ParallelWriter`].
#[derive(Debug)]
pub struct ListLane<T>(Vec<T>);

impl<T> ListLane<T> {
    /// Adds an element, after the earlier ones of this batch (Unity's `AddNoResize`).
    ///
    /// The elements become part of the list when the job's last batch is done, in the order of the
    /// batches. The list does not grow. If it has no room for all of them, the job fails with code
    /// A0015. The first ones are then in the list, and the others are in its
    /// [overflow](List::take_overflow).
    #[inline(always)]
    pub fn push(&mut self, value: T) {
        self.0.push(value);
    }

    /// Adds copies of all the elements of a slice. See [`push`](Self::push).
    pub fn extend_from_slice(&mut self, values: &[T])
    where
        T: Copy,
    {
        self.0.extend_from_slice(values);
    }
}

impl<T> Default for ListLane<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Lane for ListLane<T> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T: Send + Sync + 'static> ConcurrentWrite for List<T> {
    type Writer<'v> = ParallelWriter<'v, ListLane<T>>;
    type Item<'b> = &'b mut ListLane<T>;

    #[inline]
    fn writer(&self, batch: &BatchInfo) -> ParallelWriter<'_, ListLane<T>> {
        self.lanes.open(batch.index)
    }

    #[inline(always)]
    fn item<'b>(writer: &'b mut ParallelWriter<'_, ListLane<T>>, _: usize) -> &'b mut ListLane<T> {
        writer
    }

    fn settle(&mut self, container: ContainerLabel) {
        let room = self.items.capacity() - self.items.len();
        let Self { items, lanes, overflow } = self;
        let before = overflow.len();
        let mut written = 0_usize;
        lanes.settle(|ListLane(lane)| {
            let fits = lane.len().min(room.saturating_sub(written));
            written = written.saturating_add(lane.len());
            append(items, lane, fits);
            overflow.append(lane);
        });
        if overflow.len() > before {
            panic!(
                "A0015: parallel writers wrote {written} elements to {container}, which had room for \
                 {room} more; raise its capacity before the job is scheduled"
            );
        }
    }
}

/// Moves the first `count` elements to the end of `items`, which has room for them.
fn append<T>(items: &mut RawVec<T, Allocator>, from: &mut Vec<T>, count: usize) {
    let left = from.len() - count;
    assert!(items.capacity() - items.len() >= count, "room was made");
    // SAFETY: there is room for `count` elements, and `from` has at least that number. The elements
    // are moved, not copied: the length of `from` is zero meanwhile, and is then set to the number
    // of remaining elements, which move to its front.
    unsafe {
        from.set_len(0);
        let end = items.as_mut_ptr().add(items.len());
        ptr::copy_nonoverlapping(from.as_ptr(), end, count);
        items.set_len(items.len() + count);
        ptr::copy(from.as_ptr().add(count), from.as_mut_ptr(), left);
        from.set_len(left);
    }
}
