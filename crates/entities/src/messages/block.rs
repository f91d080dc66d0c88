//! The memory of messages: blocks that readers and forks share, and the lanes of jobs.

use std::fmt;
use std::mem;

use ancho_collections::{Container, Lane, Lanes, ParallelWriter};
use ancho_jobs::{BatchInfo, ConcurrentWrite};

use super::Message;
use crate::panics::FirstPanic;

/// Messages in write order, in one or more lists. A block does not change while it is shared.
pub(super) struct Block<M> {
    pub(super) lanes: Vec<Vec<M>>,
    /// Set if the lists are those of jobs. Systems reuse other blocks, so that the memory of both stays where it is needed.
    pub(super) is_of_job: bool,
}

impl<M> Block<M> {
    pub(super) fn new(is_of_job: bool) -> Self {
        Self { lanes: Vec::new(), is_of_job }
    }

    /// Returns the list for messages that are written one by one.
    pub(super) fn first_lane(&mut self) -> &mut Vec<M> {
        if self.lanes.is_empty() {
            self.lanes.push(Vec::new());
        }
        &mut self.lanes[0]
    }

    pub(super) fn len(&self) -> usize {
        self.lanes.iter().map(Vec::len).sum()
    }

    /// Drops the messages, and keeps the memory.
    pub(super) fn clear(&mut self) {
        let mut panics = FirstPanic::default();
        for lane in &mut self.lanes {
            panics.during(|| lane.clear());
        }
        panics.go_on();
    }
}

/// The messages of one batch of a job, in write order. [`MessageWriter::writer`](crate::MessageWriter::writer) passes it to jobs.
pub struct MessageLane<M> {
    messages: Vec<M>,
}

impl<M: Message> MessageLane<M> {
    /// Writes a message.
    #[inline]
    pub fn write(&mut self, message: M) {
        self.messages.push(message);
    }

    /// Writes several messages.
    pub fn write_batch(&mut self, messages: impl IntoIterator<Item = M>) {
        self.messages.extend(messages);
    }
}

impl<M> Default for MessageLane<M> {
    fn default() -> Self {
        Self { messages: Vec::new() }
    }
}

impl<M> fmt::Debug for MessageLane<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageLane").field("len", &self.messages.len()).finish()
    }
}

impl<M> Lane for MessageLane<M> {
    fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }
}

/// The messages that one job writes: a list for each batch, in the order of the batches.
pub struct JobMessages<M> {
    lanes: Lanes<MessageLane<M>>,
    /// The lists of the completed job.
    written: Vec<Vec<M>>,
    /// Empty lists, whose memory is used again.
    spare: Vec<Vec<M>>,
}

impl<M> Default for JobMessages<M> {
    fn default() -> Self {
        Self { lanes: Lanes::new(), written: Vec::new(), spare: Vec::new() }
    }
}

impl<M> JobMessages<M> {
    /// Returns the lists of the completed job.
    pub(super) fn written(&self) -> &[Vec<M>] {
        &self.written
    }

    /// Moves the messages to an empty block, whose memory is used for the next job.
    pub(super) fn move_to(&mut self, block: &mut Block<M>) {
        self.spare.append(&mut block.lanes);
        mem::swap(&mut self.written, &mut block.lanes);
    }
}

impl<M> fmt::Debug for JobMessages<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobMessages").field("lanes", &self.written.len()).finish_non_exhaustive()
    }
}

impl<M: Message> Container for JobMessages<M> {}

impl<M: Message> ConcurrentWrite for JobMessages<M> {
    type Writer<'v> = ParallelWriter<'v, MessageLane<M>>;
    type Item<'b> = &'b mut MessageLane<M>;

    fn writer(&self, batch: &BatchInfo) -> ParallelWriter<'_, MessageLane<M>> {
        self.lanes.open(batch.index)
    }

    #[inline]
    fn item<'b>(
        writer: &'b mut ParallelWriter<'_, MessageLane<M>>,
        _: usize,
    ) -> &'b mut MessageLane<M> {
        writer
    }

    fn conclude(&mut self, failed: bool) {
        let Self { lanes, written, spare } = self;
        let mut panics = FirstPanic::default();
        lanes.settle(|lane| {
            if failed {
                panics.during(|| lane.messages.clear());
            } else {
                let empty = spare.pop().unwrap_or_default();
                written.push(mem::replace(&mut lane.messages, empty));
            }
        });
        panics.go_on();
    }
}
