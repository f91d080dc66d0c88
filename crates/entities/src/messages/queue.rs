//! The queue of one message type.

use std::any::Any;
use std::cell::Cell;
use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;

use ancho_collections::Native;
use ancho_jobs::{JobScheduler, current_job};

use super::Message;
use super::block::{Block, JobMessages};
use super::chances::{ClockId, Clocks};
use super::iter::{MessageIter, MessageView, RawSlices};
use super::reader::{Owner, Reader, ReaderKey};
use crate::field::StateHasher;
use crate::schedule::SystemId;

/// The number of kept messages of one type that is reported, because no reader reads them.
pub(crate) const MANY: u64 = 1_000_000;

/// The number of messages that share a block, if they are written in small numbers. A block is dropped when all its messages are read.
const FEW: usize = 64;

/// The number of empty blocks that are kept.
const MOST_SPARE: usize = 16;

/// Messages that were written together.
pub(super) struct Segment<M: Message> {
    /// The index of the first message, if the segment is complete.
    pub(super) start: u64,
    pub(super) len: u64,
    content: Content<M>,
}

enum Content<M: Message> {
    Block(Arc<Block<M>>),
    /// The messages of a job that may not be completed.
    Pending(Native<JobMessages<M>>),
}

impl<M: Message> Segment<M> {
    /// Returns the lists of a complete segment.
    pub(super) fn lanes(&self) -> &[Vec<M>] {
        match &self.content {
            Content::Block(block) => &block.lanes,
            Content::Pending(_) => &[],
        }
    }

    /// Returns the lists of a segment whose job is completed, even if the messages have no indices yet.
    fn written_lanes(&self) -> &[Vec<M>] {
        match &self.content {
            Content::Block(block) => &block.lanes,
            Content::Pending(messages) => messages.get().map_or(&[], JobMessages::written),
        }
    }

    pub(super) fn block(&self) -> Option<&Arc<Block<M>>> {
        match &self.content {
            Content::Block(block) => Some(block),
            Content::Pending(_) => None,
        }
    }
}

/// The messages of one type, in write order, and the positions of their readers.
///
/// Messages are numbered by a 64-bit index. Segments of jobs have their place from the moment at which the job is scheduled, and get
/// their indices when the job is completed. The first segments, up to `complete`, are complete.
pub(crate) struct Queue<M: Message> {
    segments: VecDeque<Segment<M>>,
    /// The number of the first segment.
    first_segment: u64,
    /// The number of complete segments at the beginning.
    complete: usize,
    /// The index of the first kept message.
    first: u64,
    /// The index after the last message of the complete segments.
    end: u64,
    /// The first reader is the world.
    readers: Vec<Reader>,
    /// Empty blocks of systems.
    spare_blocks: Vec<Arc<Block<M>>>,
    /// Empty blocks of jobs.
    spare_job_blocks: Vec<Arc<Block<M>>>,
    spare_containers: Vec<Native<JobMessages<M>>>,
    has_warned: bool,
}

impl<M: Message> Queue<M> {
    pub(super) fn new() -> Self {
        let world = ReaderKey { system: Arc::from(""), parameter: 0, instance: 0 };
        Self {
            segments: VecDeque::new(),
            first_segment: 0,
            complete: 0,
            first: 0,
            end: 0,
            readers: vec![Reader::new(world, Owner::World, 0, 0)],
            spare_blocks: Vec::new(),
            spare_job_blocks: Vec::new(),
            spare_containers: Vec::new(),
            has_warned: false,
        }
    }

    fn next_segment(&self) -> u64 {
        self.first_segment + self.segments.len() as u64
    }

    /// Returns the index of the first message of a segment, which is complete or comes right after the complete ones.
    fn start_of(&self, segment: u64) -> u64 {
        let index = segment.saturating_sub(self.first_segment) as usize;
        if index >= self.complete { self.end } else { self.segments[index].start.max(self.first) }
    }

    /// Records for all readers that messages are written now. Returns whether the messages can be added to the last segment.
    fn mark(&mut self, clocks: &Clocks) -> bool {
        let next = self.next_segment();
        let mut is_same = true;
        for reader in self.readers.iter_mut().filter(|reader| reader.is_live()) {
            if reader.keep::<M>().is_some() {
                is_same &= !reader.mark(next, clocks);
            }
        }
        is_same
    }

    /// Writes one message.
    pub(crate) fn write(&mut self, message: M, clocks: &Clocks) {
        self.trim(clocks);
        match self.open_block(1, clocks) {
            Some(block) => block.first_lane().push(message),
            None => {
                let mut block = self.take_block();
                unshared(&mut block).first_lane().push(message);
                self.push_block(block, 1);
            }
        }
        self.trim_to_limit(clocks);
    }

    /// Writes several messages. The list is empty afterwards, and may have other memory.
    pub(crate) fn append(&mut self, messages: &mut Vec<M>, clocks: &Clocks) {
        if messages.is_empty() {
            return;
        }
        self.trim(clocks);
        let count = messages.len();
        match self.open_block(count, clocks) {
            Some(block) => block.first_lane().append(messages),
            None => {
                let mut block = self.take_block();
                mem::swap(unshared(&mut block).first_lane(), messages);
                self.push_block(block, count as u64);
            }
        }
        self.trim_to_limit(clocks);
    }

    /// Returns the last block, if `count` messages can be added to it. Counts the messages.
    fn open_block(&mut self, count: usize, clocks: &Clocks) -> Option<&mut Block<M>> {
        let is_same_step = self.mark(clocks);
        if !is_same_step || count > FEW || self.complete < self.segments.len() {
            return None;
        }
        let last = self.segments.back_mut()?;
        let Content::Block(block) = &mut last.content else { return None };
        let block = Arc::get_mut(block).filter(|block| !block.is_of_job)?;
        if last.len as usize + count > FEW {
            return None;
        }
        last.len += count as u64;
        self.end += count as u64;
        Some(block)
    }

    fn take_block(&mut self) -> Arc<Block<M>> {
        self.spare_blocks.pop().unwrap_or_else(|| Arc::new(Block::new(false)))
    }

    /// Adds a segment with `len` messages.
    fn push_block(&mut self, block: Arc<Block<M>>, len: u64) {
        let (start, content) = (self.end, Content::Block(block));
        self.segments.push_back(Segment { start, len, content });
        if self.complete + 1 == self.segments.len() {
            self.complete += 1;
            self.end += len;
        }
    }

    /// Adds the messages of a job that was scheduled.
    pub(crate) fn push_job(&mut self, messages: Native<JobMessages<M>>, clocks: &Clocks) {
        self.trim(clocks);
        self.mark(clocks);
        let content = Content::Pending(messages);
        self.segments.push_back(Segment { start: 0, len: 0, content });
    }

    /// Takes a container for the messages of a job.
    pub(crate) fn take_container(&mut self) -> Option<Native<JobMessages<M>>> {
        self.spare_containers.pop()
    }

    /// Completes the jobs that write messages of this type.
    #[inline]
    pub(crate) fn complete_jobs(&mut self, jobs: &JobScheduler) {
        if self.complete < self.segments.len() {
            self.wait_for_jobs(jobs);
            self.gather();
        }
    }

    /// Returns the number of messages of completed jobs that have no indices yet, and of the segments after them.
    fn incomplete_len(&self) -> u64 {
        let lanes = self.segments.range(self.complete..).flat_map(Segment::written_lanes);
        lanes.map(|lane| lane.len() as u64).sum()
    }

    fn wait_for_jobs(&self, jobs: &JobScheduler) {
        for segment in self.segments.range(self.complete..) {
            if let Content::Pending(messages) = &segment.content
                && let Some(job) = messages.last_writer().filter(|&job| jobs.knows(job))
                // Inside a job of another scheduler, no job can be completed.
                && current_job().is_none()
            {
                jobs.complete_quietly(&[job]);
            }
        }
    }

    /// Gives indices to the messages of jobs that are completed, up to the first job that is not.
    #[cold]
    fn gather(&mut self) {
        while self.complete < self.segments.len() {
            let segment = &mut self.segments[self.complete];
            let mut len = segment.len;
            if let Content::Pending(messages) = &mut segment.content {
                let Ok(written) = messages.get_mut() else { return };
                let spare = self.spare_job_blocks.pop();
                let mut block = spare.unwrap_or_else(|| Arc::new(Block::new(true)));
                let unshared = unshared(&mut block);
                written.move_to(unshared);
                len = unshared.len() as u64;
                let content = mem::replace(&mut segment.content, Content::Block(block));
                if let Content::Pending(container) = content {
                    self.spare_containers.push(container);
                }
            }
            (segment.start, segment.len) = (self.end, len);
            self.end += len;
            self.complete += 1;
        }
    }

    /// Drops the oldest messages if there are too many.
    fn trim_to_limit(&mut self, clocks: &Clocks) {
        if M::LIMIT.is_some() {
            self.trim(clocks);
        }
    }

    /// Drops messages that no reader needs any more. Keeps the memory.
    fn trim(&mut self, clocks: &Clocks) {
        let next = self.next_segment();
        for reader in &mut self.readers {
            if !reader.is_live() {
                reader.owner = Owner::Free;
            } else if let Some(keep) = reader.keep::<M>() {
                reader.expire(keep, next, clocks);
            }
        }
        if self.complete < self.segments.len() {
            self.gather();
        }
        let live = self.readers.iter().filter(|reader| !matches!(reader.owner, Owner::Free));
        let needed = live.map(|reader| reader.position.get().max(self.start_of(reader.bound())));
        let mut needed = needed.min().unwrap_or(self.end);
        if let Some(limit) = M::LIMIT {
            let limited = self.end.saturating_sub(limit.get() as u64);
            if limited > needed {
                needed = limited;
                self.drop_unread(limited);
            }
        }
        self.first = self.first.max(needed);
        while self.complete > 0 && self.segments[0].start + self.segments[0].len <= self.first {
            // A segment without messages stays until messages after it are dropped, because it may be the last one.
            let Some(segment) = self.segments.pop_front() else { break };
            (self.first_segment, self.complete) = (self.first_segment + 1, self.complete - 1);
            if let Content::Block(block) = segment.content {
                self.recycle(block);
            }
        }
    }

    /// Moves readers past messages that are dropped because of the limit.
    #[cold]
    fn drop_unread(&mut self, first: u64) {
        let start_of_bound: Vec<_> =
            self.readers.iter().map(|reader| self.start_of(reader.bound())).collect();
        for (reader, bound) in self.readers.iter_mut().zip(start_of_bound) {
            let unread = reader.position.get().max(bound);
            if unread < first {
                reader.dropped += first - unread;
                // Expired messages were not counted yet.
                reader.dropped += unread - reader.position.get();
                reader.position.set(first);
            }
        }
    }

    fn recycle(&mut self, mut block: Arc<Block<M>>) {
        if let Some(unshared) = Arc::get_mut(&mut block) {
            unshared.clear();
            let spare = if unshared.is_of_job {
                &mut self.spare_job_blocks
            } else {
                &mut self.spare_blocks
            };
            if spare.len() < MOST_SPARE {
                spare.push(block);
            }
        }
    }

    /// Returns whether there are very many messages, once.
    pub(crate) fn warns(&mut self) -> bool {
        let is_first = !self.has_warned && self.end - self.first >= MANY;
        self.has_warned |= is_first;
        is_first
    }

    /// Adds a reader, or continues that of a fork. Returns its index.
    pub(crate) fn add_reader(
        &mut self,
        (system, id): (&str, Option<SystemId>),
        parameter: u32,
        clock: ClockId,
        alive: &Arc<()>,
        clocks: &Clocks,
    ) -> u32 {
        let owner = Owner::System(id, Arc::downgrade(alive));
        let is_own =
            |reader: &Reader| *reader.key.system == *system && reader.key.parameter == parameter;
        let missing = |reader: &Reader| matches!(reader.owner, Owner::Missing) && is_own(reader);
        if let Some(at) = self.readers.iter().position(missing) {
            self.readers[at].owner = owner;
            self.readers[at].set_clock(clock, clocks);
            return at as u32;
        }
        let instance =
            self.readers.iter().filter(|reader| reader.is_live() && is_own(reader)).count();
        let key = ReaderKey { system: system.into(), parameter, instance: instance as u32 };
        let mut reader = Reader::new(key, owner, self.first, self.first_segment);
        reader.set_clock(clock, clocks);
        reader.begin_anew(self.first, self.first_segment, clocks);
        let free = self.readers.iter().position(|reader| !reader.is_live());
        match free {
            Some(at) => self.readers[at] = reader,
            None => self.readers.push(reader),
        }
        free.unwrap_or(self.readers.len() - 1) as u32
    }

    /// Prepares a run of a reader's system: completes jobs, and skips messages that have expired. With `keeps_missed`, the number of
    /// missed messages includes those before.
    pub(crate) fn begin_run(
        &mut self,
        reader: u32,
        keeps_missed: bool,
        clocks: &Clocks,
        jobs: &JobScheduler,
    ) {
        self.complete_jobs(jobs);
        let at = reader as usize;
        self.readers[at].begin_run(clocks.current(), clocks);
        let missed = self.skip_expired(at, clocks);
        let reader = &mut self.readers[at];
        let before = if keeps_missed { reader.missed.get() } else { 0 };
        reader.missed.set(before + missed + mem::take(&mut reader.dropped));
        reader.end_begin(clocks);
    }

    /// Moves a reader past expired messages. Returns their number.
    fn skip_expired(&mut self, at: usize, clocks: &Clocks) -> u64 {
        let next = self.next_segment();
        if let Some(keep) = self.readers[at].keep::<M>() {
            self.readers[at].expire(keep, next, clocks);
        }
        let bound = self.start_of(self.readers[at].bound());
        let position = &self.readers[at].position;
        let missed = bound.saturating_sub(position.get());
        position.set(position.get().max(bound));
        missed
    }

    /// Returns the number of unread messages of a system, or `None` if it does not read this type.
    pub(crate) fn unread_of(
        &mut self,
        system: SystemId,
        clocks: &Clocks,
        jobs: &JobScheduler,
    ) -> Option<u64> {
        self.complete_jobs(jobs);
        let is_own =
            |reader: &Reader| matches!(&reader.owner, Owner::System(id, _) if *id == Some(system));
        let mut unread = None;
        for at in 0..self.readers.len() {
            if is_own(&self.readers[at]) {
                let missed = self.skip_expired(at, clocks);
                self.readers[at].dropped += missed;
                unread = unread.max(Some(self.unread(at as u32)));
            }
        }
        unread
    }

    /// Returns the number of unread messages.
    #[inline]
    pub(crate) fn unread(&self, reader: u32) -> u64 {
        self.end - self.readers[reader as usize].position.get()
    }

    pub(crate) fn missed(&self, reader: u32) -> u64 {
        self.readers[reader as usize].missed.get()
    }

    /// Marks all messages as read.
    pub(crate) fn mark_read(&self, reader: u32) {
        self.readers[reader as usize].position.set(self.end);
    }

    /// Returns the unread messages as slices.
    pub(crate) fn slices(&self, reader: u32) -> RawSlices<'_, M> {
        let position = self.readers[reader as usize].position.get();
        RawSlices::new(&self.segments, self.complete, position, self.end)
    }

    /// Returns the position of a reader.
    pub(crate) fn position(&self, reader: u32) -> &Cell<u64> {
        &self.readers[reader as usize].position
    }

    /// Returns the unread messages for a job, and marks them as read.
    pub(crate) fn view(&self, reader: u32) -> MessageView<M> {
        let position = self.readers[reader as usize].position.get();
        let unread = self.segments.range(..self.complete).filter_map(|segment| {
            let skipped = position.saturating_sub(segment.start).min(segment.len);
            let count = segment.len - skipped;
            (count > 0).then(|| Some((Arc::clone(segment.block()?), skipped, count)))?
        });
        let view = MessageView::new(unread.collect());
        self.mark_read(reader);
        view
    }

    /// Reads all messages that the world has not read.
    pub(crate) fn read_by_world(
        &mut self,
        clocks: &Clocks,
        jobs: &JobScheduler,
    ) -> MessageIter<'_, M> {
        self.complete_jobs(jobs);
        self.skip_expired(0, clocks);
        MessageIter::new(self.slices(0), self.position(0))
    }
}

fn unshared<M>(block: &mut Arc<Block<M>>) -> &mut Block<M> {
    Arc::get_mut(block).expect("a spare block has one owner")
}

/// A queue whose message type is erased.
pub(crate) trait ErasedQueue: Send {
    fn as_any(&self) -> &dyn Any;
    fn as_any_mut(&mut self) -> &mut dyn Any;

    /// Returns the queue of a fork: the same messages, and readers without systems. Completes jobs first.
    fn fork(&mut self, clocks: &Clocks, jobs: &JobScheduler) -> Box<dyn ErasedQueue>;

    /// Creates an empty queue of the same type.
    fn new_empty(&self) -> Box<dyn ErasedQueue>;

    /// Replaces messages and positions by those of another world's queue, or by nothing. Returns the old messages, whose drop is user
    /// code.
    fn replace(
        &mut self,
        source: Option<&dyn ErasedQueue>,
        theirs: &Clocks,
        ours: &Clocks,
    ) -> Box<dyn Any + Send>;

    /// Returns the number of kept messages. Completes the jobs that write them.
    fn count(&self, jobs: &JobScheduler) -> u64;

    /// Feeds messages and positions to a hasher, after [`count`](Self::count).
    fn feed(&self, state: &mut StateHasher);

    /// Completes the jobs that write to the queue. They may be jobs of a system that has not been reported.
    fn complete_jobs(&mut self, jobs: &JobScheduler);
}

impl<M: Message> ErasedQueue for Queue<M> {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn fork(&mut self, clocks: &Clocks, jobs: &JobScheduler) -> Box<dyn ErasedQueue> {
        Queue::complete_jobs(self, jobs);
        let mut fork = Self::new();
        // The clocks of a fork begin at zero.
        fork.take_state(self, clocks, &Clocks::default());
        Box::new(fork)
    }

    fn new_empty(&self) -> Box<dyn ErasedQueue> {
        Box::new(Self::new())
    }

    fn replace(
        &mut self,
        source: Option<&dyn ErasedQueue>,
        theirs: &Clocks,
        ours: &Clocks,
    ) -> Box<dyn Any + Send> {
        let old = mem::take(&mut self.segments);
        match source.and_then(|source| source.as_any().downcast_ref::<Self>()) {
            Some(source) => self.take_state(source, theirs, ours),
            None => {
                self.first_segment += old.len() as u64;
                (self.complete, self.first) = (0, self.end);
                let (first, segment) = (self.first, self.first_segment);
                for reader in &mut self.readers {
                    reader.begin_anew(first, segment, ours);
                }
            }
        }
        Box::new(old.into_iter().map(|segment| segment.content).collect::<Vec<_>>())
    }

    fn count(&self, jobs: &JobScheduler) -> u64 {
        self.wait_for_jobs(jobs);
        self.end - self.first + self.incomplete_len()
    }

    fn feed(&self, state: &mut StateHasher) {
        let incomplete = self.incomplete_len();
        state.write_u64(self.end - self.first + incomplete);
        if let Some(feed) = M::KIND.feed() {
            RawSlices::new(&self.segments, self.complete, self.first, self.end)
                .for_each(|slice| feed(slice, state));
            let incomplete = self.segments.range(self.complete..);
            incomplete.flat_map(Segment::written_lanes).for_each(|lane| feed(lane, state));
        }
        let mut readers: Vec<_> = self.readers.iter().filter(|reader| reader.is_live()).collect();
        readers.sort_by(|one, other| one.key.cmp(&other.key));
        for reader in readers {
            let position = reader.position.get().max(self.start_of(reader.bound()));
            state.write_u64(self.end - position + incomplete);
        }
    }

    fn complete_jobs(&mut self, jobs: &JobScheduler) {
        Queue::complete_jobs(self, jobs);
    }
}

impl<M: Message> Queue<M> {
    /// Replaces messages and positions by those of another queue, whose jobs are completed.
    fn take_state(&mut self, source: &Self, theirs: &Clocks, ours: &Clocks) {
        let share = |segment: &Segment<M>| {
            let (start, len) = (segment.start, segment.len);
            let content = Content::Block(Arc::clone(segment.block()?));
            Some(Segment { start, len, content })
        };
        self.segments = source.segments.range(..source.complete).filter_map(share).collect();
        self.complete = self.segments.len();
        (self.first_segment, self.first, self.end) =
            (source.first_segment, source.first, source.end);
        // Readers that neither world has any more are dropped.
        self.readers.retain(|reader| !matches!(reader.owner, Owner::Missing));
        let mut taken = vec![false; source.readers.len()];
        for reader in &mut self.readers {
            let same = |other: &Reader| other.is_live() && other.key == reader.key;
            match source.readers.iter().position(same) {
                Some(at) => {
                    reader.replace(&source.readers[at], theirs, ours);
                    taken[at] = true;
                }
                None => reader.begin_anew(self.first, self.first_segment, ours),
            }
        }
        for (other, _) in source.readers.iter().zip(taken).filter(|(_, taken)| !taken) {
            if other.is_live() {
                let owner = Owner::Missing;
                let mut reader = Reader::new(other.key.clone(), owner, self.first, 0);
                reader.replace(other, theirs, ours);
                self.readers.push(reader);
            }
        }
    }
}
