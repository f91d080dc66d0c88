//! Errors and panics of containers.

use std::error::Error;
use std::fmt;
use std::ops::{Bound, RangeBounds};

/// Error of an allocation that failed. Code A0017.
///
/// # Examples
///
/// ```
/// use ancho_collections::List;
///
/// let mut list = List::from([1_u64, 2, 3]);
/// let refused = list.try_reserve(usize::MAX).unwrap_err();
/// assert!(refused.to_string().starts_with("A0017: the allocator `Persistent` has no room for "));
/// assert_eq!(list[..], [1, 2, 3]);
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct AllocationError {
    /// The allocator that refused.
    pub allocator: &'static str,
    /// The number of elements.
    pub elements: usize,
    /// Size of one element in bytes.
    pub element_size: usize,
}

impl AllocationError {
    /// Creates the error of an allocation of `elements` elements of type `T`.
    pub(crate) fn of<T>(allocator: &'static str, elements: usize) -> Self {
        Self { allocator, elements, element_size: size_of::<T>() }
    }
}

impl fmt::Display for AllocationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { allocator, elements, element_size } = self;
        write!(
            f,
            "A0017: the allocator `{allocator}` has no room for {elements} elements of {element_size} \
             bytes; ask for fewer, or use another allocator"
        )
    }
}

impl Error for AllocationError {}

/// Error of changing a capacity.
///
/// # Examples
///
/// ```
/// use ancho_collections::{CapacityError, List};
///
/// let mut list = List::from([1, 2, 3]);
/// let refused = list.set_capacity(2).unwrap_err();
/// assert_eq!(refused, CapacityError::BelowLength { capacity: 2, length: 3 });
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CapacityError {
    /// A0016: there are more elements than the new capacity.
    BelowLength {
        /// The requested capacity.
        capacity: usize,
        /// Number of elements.
        length: usize,
    },
    /// A0017: there is no memory for the new capacity.
    Allocation(AllocationError),
}

impl fmt::Display for CapacityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BelowLength { capacity, length } => write!(
                f,
                "A0016: a capacity of {capacity} is less than the length {length}; remove elements first"
            ),
            Self::Allocation(error) => error.fmt(f),
        }
    }
}

impl Error for CapacityError {}

impl From<AllocationError> for CapacityError {
    fn from(error: AllocationError) -> Self {
        Self::Allocation(error)
    }
}

/// A value that was not added to a container, with the error.
///
/// # Examples
///
/// ```
/// use ancho_collections::{Rejected, RingQueue};
///
/// let mut queue = RingQueue::with_capacity(1);
/// queue.try_enqueue("first").unwrap();
/// let Rejected { value, error } = queue.try_enqueue("second").unwrap_err();
/// assert_eq!(value, "second");
/// assert!(error.to_string().starts_with("A0019: "));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Rejected<T, E> {
    /// The value that was not added.
    pub value: T,
    /// The reason why the value was not added.
    pub error: E,
}

impl<T, E: fmt::Display> fmt::Display for Rejected<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<T, E: fmt::Display> fmt::Debug for Rejected<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<T, E: Error> Error for Rejected<T, E> {}

/// Implements `Debug` with the text of `Display`, so that `unwrap` shows the code and the remedy.
macro_rules! debug_as_display {
    ($($error:ty),+ $(,)?) => {$(
        impl std::fmt::Debug for $error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }
    )+};
}
pub(crate) use debug_as_display;

debug_as_display!(AllocationError, CapacityError);

/// Returns the result, or panics at the caller's location if there is no memory.
#[inline(always)]
#[track_caller]
pub(crate) fn expect_memory<R>(result: Result<R, AllocationError>) -> R {
    match result {
        Ok(result) => result,
        Err(error) => no_memory(&error),
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn no_memory(error: &AllocationError) -> ! {
    panic!("{error}");
}

/// Returns the start and the end of a range of `length` elements. Neither is checked.
pub(crate) fn bounds(range: impl RangeBounds<usize>, length: usize) -> (usize, usize) {
    let start = match range.start_bound() {
        Bound::Included(&start) => start,
        Bound::Excluded(&before) => before.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(&last) => last.saturating_add(1),
        Bound::Excluded(&end) => end,
        Bound::Unbounded => length,
    };
    (start, end)
}

/// Panics because `index` is not among the `length` elements of `what`.
#[cold]
#[inline(never)]
#[track_caller]
pub(crate) fn index_outside(what: &str, index: usize, length: usize) -> ! {
    panic!(
        "A0014: index {index} is outside of {what} of {length} elements; check the length first"
    );
}

/// Panics because a range is not among the `length` elements of `what`.
#[cold]
#[inline(never)]
#[track_caller]
pub(crate) fn range_outside(what: &str, start: usize, end: usize, length: usize) -> ! {
    panic!(
        "A0014: the range {start}..{end} is outside of {what} of {length} elements; check the length \
         first"
    );
}
