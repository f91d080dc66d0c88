//! One value.

use std::ops::{Deref, DerefMut};

use crate::allocator::Allocator;
use crate::native::{Native, labelled_as};

/// One value, as jobs access it in a [`NativeReference`].
///
/// It dereferences to the value.
///
/// # Examples
///
/// ```
/// let mut best = ancho_collections::Reference::new(5_u32);
/// *best = best.max(7);
/// assert_eq!(best.get(), 7);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reference<T> {
    value: T,
}

/// A [`Reference`] that jobs share: one value, such as the result of a job.
///
/// # Examples
///
/// ```
/// use ancho_collections::{NativeArray, NativeReference};
/// use ancho_jobs::{JobPool, JobScheduler};
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let numbers = NativeArray::from([3, 9, 4]);
/// let mut largest = NativeReference::new(0);
/// let job = jobs.schedule(&[], (numbers.read(), largest.write()), |(numbers, largest)| {
///     largest.set(*numbers.iter().max().unwrap());
/// })?;
/// jobs.complete(job);
/// assert_eq!(largest.get()?.get(), 9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type NativeReference<T> = Native<Reference<T>>;

labelled_as!(Reference<T>, NativeReference);

impl<T> Reference<T> {
    /// Creates a reference with a value.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(*ancho_collections::Reference::new("Ada"), "Ada");
    /// ```
    pub const fn new(value: T) -> Self {
        Self { value }
    }

    /// Returns a copy of the value.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::Reference::new(5).get(), 5);
    /// ```
    #[inline]
    pub const fn get(&self) -> T
    where
        T: Copy,
    {
        self.value
    }

    /// Replaces the value. The old one is dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut name = ancho_collections::Reference::new(String::from("Ada"));
    /// name.set(String::from("Grace"));
    /// assert_eq!(*name, "Grace");
    /// ```
    #[inline]
    pub fn set(&mut self, value: T) {
        self.value = value;
    }

    /// Returns the value.
    ///
    /// # Examples
    ///
    /// ```
    /// let name = ancho_collections::Reference::new(String::from("Ada"));
    /// assert_eq!(name.into_inner(), "Ada");
    /// ```
    pub fn into_inner(self) -> T {
        self.value
    }
}

impl<T: Send + 'static> Native<Reference<T>> {
    /// Creates a reference with a value.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(**ancho_collections::NativeReference::new("Ada").get().unwrap(), "Ada");
    /// ```
    #[track_caller]
    pub fn new(value: T) -> Self {
        Self::of(Reference::new(value))
    }

    /// Creates a reference that is registered with an allocator.
    ///
    /// The value is in the container itself, and takes no memory of the allocator. But it appears
    /// in the allocator's reports, and expires when the memory is rewound.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{Allocator, NativeReference};
    /// let name = NativeReference::new_in("Ada", &Allocator::PERSISTENT);
    /// assert_eq!(**name.get().unwrap(), "Ada");
    /// ```
    #[track_caller]
    pub fn new_in(value: T, allocator: &Allocator) -> Self {
        Self::of_in(Reference::new(value), allocator)
    }
}

impl<T> Deref for Reference<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Reference<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T> From<T> for Reference<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}
