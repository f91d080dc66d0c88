//! An array of bits that jobs share.

use super::BitArray;
use crate::allocator::Allocator;
use crate::native::Native;

/// A [`BitArray`] that jobs share.
///
/// # Examples
///
/// ```
/// use ancho_collections::NativeBitArray;
/// use ancho_jobs::{JobPool, JobScheduler};
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let mut composite = NativeBitArray::new(100);
/// let sieve = jobs.schedule(&[], composite.write(), |composite| {
///     for i in 2..10 {
///         (i * i..100).step_by(i).for_each(|multiple| composite.set(multiple, true));
///     }
/// })?;
/// jobs.complete(sieve);
/// assert_eq!(composite.get()?.find_zeros(90.., 1), Some(97));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type NativeBitArray = Native<BitArray>;

impl Native<BitArray> {
    /// Makes an array of `length` bits, all of them false. See [`BitArray::new`].
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::NativeBitArray::new(100).get().unwrap().len(), 100);
    /// ```
    #[track_caller]
    pub fn new(length: usize) -> Self {
        Self::of(BitArray::new(length))
    }

    /// Makes an array of `length` bits, all of them false, in the allocator's memory. See
    /// [`BitArray::new_in`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{Allocator, NativeBitArray};
    /// let bits = NativeBitArray::new_in(100, &Allocator::PERSISTENT);
    /// assert_eq!(bits.get().unwrap().len(), 100);
    /// ```
    #[track_caller]
    pub fn new_in(length: usize, allocator: &Allocator) -> Self {
        Self::of_in(BitArray::new_in(length, allocator), allocator)
    }
}

impl<const N: usize> From<[bool; N]> for Native<BitArray> {
    #[track_caller]
    fn from(values: [bool; N]) -> Self {
        Self::of(BitArray::from(values))
    }
}

impl FromIterator<bool> for Native<BitArray> {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = bool>>(values: I) -> Self {
        Self::of(BitArray::from_iter(values))
    }
}
