//! Text that jobs share.

use super::Text;
use crate::allocator::Allocator;
use crate::native::Native;

/// A [`Text`] that jobs share.
///
/// # Examples
///
/// ```
/// use ancho_collections::NativeText;
/// use ancho_jobs::{JobPool, JobScheduler};
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let mut greeting = NativeText::from("Hello");
/// jobs.complete(jobs.schedule(&[], greeting.write(), |greeting| greeting.push_str(", Ada"))?);
/// assert_eq!(*greeting.get()?, "Hello, Ada");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type NativeText = Native<Text>;

impl Native<Text> {
    /// Makes an empty text, without allocating.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(ancho_collections::NativeText::new().get().unwrap().is_empty());
    /// ```
    #[track_caller]
    pub fn new() -> Self {
        Self::of(Text::new())
    }

    /// Makes an empty text that uses the allocator.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{Allocator, NativeText};
    /// assert!(NativeText::new_in(&Allocator::PERSISTENT).get().unwrap().is_empty());
    /// ```
    #[track_caller]
    pub fn new_in(allocator: &Allocator) -> Self {
        Self::of_in(Text::new_in(allocator), allocator)
    }

    /// Makes an empty text with room for `capacity` bytes. See [`Text::with_capacity`].
    ///
    /// # Examples
    ///
    /// ```
    /// let text = ancho_collections::NativeText::with_capacity(100);
    /// assert_eq!(text.get().unwrap().capacity(), 100);
    /// ```
    #[track_caller]
    pub fn with_capacity(capacity: usize) -> Self {
        Self::of(Text::with_capacity(capacity))
    }

    /// Makes an empty text with room for `capacity` bytes, in the allocator's memory. See
    /// [`Text::with_capacity_in`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{Allocator, NativeText};
    /// let text = NativeText::with_capacity_in(100, &Allocator::PERSISTENT);
    /// assert_eq!(text.get().unwrap().capacity(), 100);
    /// ```
    #[track_caller]
    pub fn with_capacity_in(capacity: usize, allocator: &Allocator) -> Self {
        Self::of_in(Text::with_capacity_in(capacity, allocator), allocator)
    }
}

impl From<&str> for Native<Text> {
    #[track_caller]
    fn from(string: &str) -> Self {
        Self::of(Text::from(string))
    }
}

impl Default for Native<Text> {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}
