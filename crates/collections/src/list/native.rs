//! A list that jobs share.
#![expect(unsafe_code, reason = "tells jobs where the elements are")]

use std::ptr::NonNull;

use ancho_jobs::{Contiguous, SliceRead, SliceUnrestricted, SliceWrite};

use super::List;
use crate::allocator::Allocator;
use crate::native::Native;

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
/// // How long the list is by then, only that job knows.
/// let halve = jobs.schedule_deferred(&[fill], squares.write_elements(), |all| all.len(), 64, |part, _| {
///     part.iter_mut().for_each(|square| *square /= 2);
/// })?;
/// jobs.complete(halve);
/// assert_eq!(squares.get()?[4], 8);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type NativeList<T> = Native<List<T>>;

impl<T: Send + 'static> Native<List<T>> {
    /// Makes an empty list, without allocating.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(ancho_collections::NativeList::<u32>::new().get().unwrap().is_empty());
    /// ```
    #[track_caller]
    pub fn new() -> Self {
        Self::of(List::new())
    }

    /// Makes an empty list that uses the allocator.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{Allocator, NativeList};
    /// assert!(NativeList::<u32>::new_in(&Allocator::PERSISTENT).get().unwrap().is_empty());
    /// ```
    #[track_caller]
    pub fn new_in(allocator: &Allocator) -> Self {
        Self::of_in(List::new_in(allocator), allocator)
    }

    /// Makes an empty list with room for `capacity` elements. See [`List::with_capacity`].
    ///
    /// # Examples
    ///
    /// ```
    /// let list = ancho_collections::NativeList::<u32>::with_capacity(100);
    /// assert_eq!(list.get().unwrap().capacity(), 100);
    /// ```
    #[track_caller]
    pub fn with_capacity(capacity: usize) -> Self {
        Self::of(List::with_capacity(capacity))
    }

    /// Makes an empty list with room for `capacity` elements, in the allocator's memory. See
    /// [`List::with_capacity_in`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{Allocator, NativeList};
    /// let list = NativeList::<u32>::with_capacity_in(100, &Allocator::PERSISTENT);
    /// assert_eq!(list.get().unwrap().capacity(), 100);
    /// ```
    #[track_caller]
    pub fn with_capacity_in(capacity: usize, allocator: &Allocator) -> Self {
        Self::of_in(List::with_capacity_in(capacity, allocator), allocator)
    }

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

impl<T: Send + 'static, const N: usize> From<[T; N]> for Native<List<T>> {
    #[track_caller]
    fn from(values: [T; N]) -> Self {
        Self::of(List::from(values))
    }
}

impl<T: Send + 'static> FromIterator<T> for Native<List<T>> {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Self::of(List::from_iter(values))
    }
}

impl<T: Send + 'static> Default for Native<List<T>> {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}
