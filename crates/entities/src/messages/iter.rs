//! Iteration over unread messages.

use std::cell::Cell;
use std::collections::VecDeque;
use std::fmt;
use std::iter::FusedIterator;
use std::slice;
use std::sync::Arc;

use super::Message;
use super::block::Block;
use super::queue::Segment;

/// The slices of messages with consecutive indices.
pub(crate) struct RawSlices<'q, M: Message> {
    segments: &'q VecDeque<Segment<M>>,
    /// The number of complete segments.
    complete: usize,
    segment: usize,
    lane: usize,
    /// The number of messages to skip.
    skipped: u64,
    /// The number of messages in the slices that follow.
    left: u64,
    end: u64,
}

impl<'q, M: Message> RawSlices<'q, M> {
    pub(super) fn new(
        segments: &'q VecDeque<Segment<M>>,
        complete: usize,
        position: u64,
        end: u64,
    ) -> Self {
        let (mut low, mut high) = (0, complete);
        while low < high {
            let middle = usize::midpoint(low, high);
            let segment = &segments[middle];
            if segment.start + segment.len <= position { low = middle + 1 } else { high = middle }
        }
        let skipped = segments
            .get(low)
            .filter(|_| low < complete)
            .map_or(0, |segment| position.saturating_sub(segment.start));
        Self { segments, complete, segment: low, lane: 0, skipped, left: end - position, end }
    }

    /// Returns the index of the next message.
    fn position(&self) -> u64 {
        self.end - self.left
    }
}

impl<'q, M: Message> Iterator for RawSlices<'q, M> {
    type Item = &'q [M];

    #[inline]
    fn next(&mut self) -> Option<&'q [M]> {
        while self.segment < self.complete {
            let Some(lane) = self.segments[self.segment].lanes().get(self.lane) else {
                (self.segment, self.lane) = (self.segment + 1, 0);
                continue;
            };
            self.lane += 1;
            let skipped = self.skipped.min(lane.len() as u64);
            self.skipped -= skipped;
            let slice = &lane[skipped as usize..];
            if !slice.is_empty() {
                self.left -= slice.len() as u64;
                return Some(slice);
            }
        }
        None
    }
}

/// An iterator over unread messages, as slices. A slice that was yielded counts as read. Returned by
/// [`MessageReader::slices`](crate::MessageReader::slices).
pub struct MessageSlices<'q, M: Message> {
    slices: RawSlices<'q, M>,
    position: &'q Cell<u64>,
}

impl<'q, M: Message> MessageSlices<'q, M> {
    pub(crate) fn new(slices: RawSlices<'q, M>, position: &'q Cell<u64>) -> Self {
        Self { slices, position }
    }
}

impl<'q, M: Message> Iterator for MessageSlices<'q, M> {
    type Item = &'q [M];

    fn next(&mut self) -> Option<&'q [M]> {
        let slice = self.slices.next();
        self.position.set(self.slices.position());
        slice
    }
}

impl<M: Message> FusedIterator for MessageSlices<'_, M> {}

impl<M: Message> fmt::Debug for MessageSlices<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageSlices").field("left", &self.slices.left).finish()
    }
}

/// An iterator over unread messages, in write order. A message that was yielded counts as read. Returned by
/// [`MessageReader::read`](crate::MessageReader::read).
pub struct MessageIter<'q, M: Message> {
    current: slice::Iter<'q, M>,
    slices: RawSlices<'q, M>,
    position: &'q Cell<u64>,
}

impl<'q, M: Message> MessageIter<'q, M> {
    pub(crate) fn new(slices: RawSlices<'q, M>, position: &'q Cell<u64>) -> Self {
        Self { current: [].iter(), slices, position }
    }
}

impl<'q, M: Message> Iterator for MessageIter<'q, M> {
    type Item = &'q M;

    #[inline]
    fn next(&mut self) -> Option<&'q M> {
        loop {
            if let Some(message) = self.current.next() {
                return Some(message);
            }
            self.current = self.slices.next()?.iter();
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.current.len() + self.slices.left as usize;
        (left, Some(left))
    }

    #[inline]
    fn fold<B, F: FnMut(B, &'q M) -> B>(mut self, start: B, mut function: F) -> B {
        let mut result = start;
        loop {
            // The iterator is advanced before the function is called, so that a message counts as read if the function panics.
            for message in self.current.by_ref() {
                result = function(result, message);
            }
            match self.slices.next() {
                Some(slice) => self.current = slice.iter(),
                None => return result,
            }
        }
    }
}

impl<M: Message> ExactSizeIterator for MessageIter<'_, M> {}

impl<M: Message> FusedIterator for MessageIter<'_, M> {}

/// The position is set once, at the end, so that a loop over messages is as fast as a loop over slices.
impl<M: Message> Drop for MessageIter<'_, M> {
    fn drop(&mut self) {
        self.position.set(self.slices.position() - self.current.len() as u64);
    }
}

impl<M: Message> fmt::Debug for MessageIter<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageIter").field("left", &self.size_hint().0).finish()
    }
}

/// Messages for a job, which stay alive until the job is completed. Returned by
/// [`MessageReader::into_job`](crate::MessageReader::into_job).
pub struct MessageView<M> {
    /// Blocks, each with the number of messages to skip and to read.
    blocks: Vec<(Arc<Block<M>>, u64, u64)>,
}

impl<M> MessageView<M> {
    pub(super) fn new(blocks: Vec<(Arc<Block<M>>, u64, u64)>) -> Self {
        Self { blocks }
    }

    /// Returns the number of messages.
    #[must_use]
    pub fn len(&self) -> usize {
        self.blocks.iter().map(|(_, _, count)| *count as usize).sum()
    }

    /// Tests whether there are no messages.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Iterates over the messages as slices, in write order.
    pub fn slices(&self) -> impl Iterator<Item = &[M]> {
        self.blocks.iter().flat_map(|(block, skipped, count)| {
            let (mut skipped, mut count) = (*skipped as usize, *count as usize);
            block.lanes.iter().filter_map(move |lane| {
                let slice = &lane[skipped.min(lane.len())..];
                skipped -= skipped.min(lane.len());
                let slice = &slice[..count.min(slice.len())];
                count -= slice.len();
                (!slice.is_empty()).then_some(slice)
            })
        })
    }

    /// Iterates over the messages, in write order.
    pub fn iter(&self) -> impl Iterator<Item = &M> {
        self.slices().flatten()
    }
}

impl<M> fmt::Debug for MessageView<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageView").field("len", &self.len()).finish()
    }
}
