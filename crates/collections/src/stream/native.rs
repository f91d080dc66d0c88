//! A stream that jobs share.

use super::Stream;
use crate::allocator::Allocator;
use crate::native::Native;

/// A [`Stream`] that jobs share.
///
/// # Examples
///
/// Each index of a parallel job writes its own lane, without waiting:
///
/// ```
/// use ancho_collections::NativeStream;
/// use ancho_jobs::{JobPool, JobScheduler};
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let mut divisors = NativeStream::new(100);
/// let job = jobs.schedule_for_each(&[], divisors.writer(), 100, 16, |mut lane, i| {
///     (1..=i).filter(|divisor| i % divisor == 0).for_each(|divisor| lane.write(divisor as u32));
/// })?;
/// jobs.complete(job);
///
/// let mut reader = divisors.get()?.reader(9)?;
/// assert_eq!(reader.remaining(), 3);
/// assert_eq!([reader.read::<u32>()?, reader.read()?, reader.read()?], [1, 3, 9]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type NativeStream = Native<Stream>;

impl Native<Stream> {
    /// Makes a stream with `lanes` lanes. See [`Stream::new`].
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::NativeStream::new(100).get().unwrap().lanes(), 100);
    /// ```
    #[track_caller]
    pub fn new(lanes: usize) -> Self {
        Self::of(Stream::new(lanes))
    }

    /// Makes a stream with `lanes` lanes, in the allocator's memory. See [`Stream::new_in`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{Allocator, NativeStream};
    /// let stream = NativeStream::new_in(100, &Allocator::PERSISTENT);
    /// assert_eq!(stream.get().unwrap().lanes(), 100);
    /// ```
    #[track_caller]
    pub fn new_in(lanes: usize, allocator: &Allocator) -> Self {
        Self::of_in(Stream::new_in(lanes, allocator), allocator)
    }
}
