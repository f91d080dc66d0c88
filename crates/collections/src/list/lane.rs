//! Parallel writers of lists.
#![expect(unsafe_code, reason = "moves elements from one vector to another")]

use std::ptr;

use allocator_api2::vec::Vec as RawVec;
use ancho_jobs::{BatchInfo, ConcurrentWrite, ContainerLabel};

use super::List;
use crate::allocator::Allocator;
use crate::lanes::{Lane, ParallelWriter};

/// Elements that one batch adds to a list.
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
    // SAFETY: there is room for `count` elements, and `from` has at least that number. They are
    // moved: The length of `from` is set to zero before, and then to the number of remaining
    // elements, which move to its front.
    unsafe {
        from.set_len(0);
        let end = items.as_mut_ptr().add(items.len());
        ptr::copy_nonoverlapping(from.as_ptr(), end, count);
        items.set_len(items.len() + count);
        ptr::copy(from.as_ptr().add(count), from.as_mut_ptr(), left);
        from.set_len(left);
    }
}
