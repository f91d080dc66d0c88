//! What buffers refuse, and in which words.

use std::ops::{Bound, RangeBounds};

use super::BufferElement;

/// Refuses an index that has no element.
#[cold]
#[track_caller]
pub(super) fn no_element<S: BufferElement>(index: usize, len: usize) -> ! {
    let name = S::name();
    panic!(
        "A0066: there is no element {index} in a buffer of `{name}` with {len} elements; compare the index with \
         `len()` first"
    )
}

/// Refuses to insert behind the end.
#[cold]
#[track_caller]
pub(super) fn no_place<S: BufferElement>(index: usize, len: usize) -> ! {
    let name = S::name();
    panic!(
        "A0066: nothing can be inserted at {index} in a buffer of `{name}` with {len} elements; insert at 0 to {len}, \
         or use `push`"
    )
}

/// The bounds of a range of a buffer.
///
/// # Panics
///
/// With A0066 if there is no such range.
#[track_caller]
pub(super) fn check_range<S: BufferElement>(
    range: &impl RangeBounds<usize>,
    len: usize,
) -> (usize, usize) {
    let start = match range.start_bound() {
        Bound::Included(&start) => Some(start),
        Bound::Excluded(&start) => start.checked_add(1),
        Bound::Unbounded => Some(0),
    };
    let end = match range.end_bound() {
        Bound::Included(&end) => end.checked_add(1),
        Bound::Excluded(&end) => Some(end),
        Bound::Unbounded => Some(len),
    };
    match (start, end) {
        (Some(start), Some(end)) if start <= end && end <= len => (start, end),
        _ => no_range::<S>(start.unwrap_or(usize::MAX), end.unwrap_or(usize::MAX), len),
    }
}

#[cold]
#[track_caller]
fn no_range<S: BufferElement>(start: usize, end: usize, len: usize) -> ! {
    let name = S::name();
    panic!(
        "A0066: there is no range {start}..{end} in a buffer of `{name}` with {len} elements; it begins before it ends, \
         and ends at {len} at the latest"
    )
}

/// Refuses a capacity that is too small for what is there.
#[cold]
#[track_caller]
pub(super) fn too_small<S: BufferElement>(capacity: usize, len: usize) -> ! {
    let name = S::name();
    panic!(
        "A0067: a buffer of `{name}` with {len} elements cannot have a capacity of {capacity}; `truncate` it first, or \
         use `shrink_to_fit`"
    )
}

/// Refuses more elements than a buffer can have.
#[cold]
#[track_caller]
pub(super) fn too_many(count: usize) -> ! {
    panic!(
        "A0068: a buffer cannot have {count} elements; it has at most {}, and not more than memory: divide them among \
         several entities",
        u32::MAX
    )
}
