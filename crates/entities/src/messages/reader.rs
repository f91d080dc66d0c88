//! The readers of a queue, and their positions.

use std::cell::Cell;
use std::num::NonZero;
use std::sync::{Arc, Weak};

use super::Message;
use super::chances::{Chances, ClockId, Clocks};
use crate::schedule::SystemId;

/// The identity of a reader, also in forks: its system, and its place among the system's parameters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ReaderKey {
    /// The name of the system. Empty for the world itself.
    pub(super) system: Arc<str>,
    pub(super) parameter: u32,
    /// The number of earlier readers with the same name and parameter.
    pub(super) instance: u32,
}

/// The owner of a reader.
#[derive(Clone, Debug)]
pub(super) enum Owner {
    /// No reader: the slot is free.
    Free,
    /// The world, for access from outside of systems.
    World,
    /// A system. The pointer dangles when the system is gone.
    System(Option<SystemId>, Weak<()>),
    /// A system that a fork does not have, and that may be added to it.
    Missing,
}

/// A reader of a queue.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    pub(super) key: ReaderKey,
    pub(super) owner: Owner,
    /// The index of the next message to read.
    pub(super) position: Cell<u64>,
    /// The number of messages that expired since the last run.
    pub(super) missed: Cell<u64>,
    /// The number of messages that were dropped since the last run, because there were too many.
    pub(super) dropped: u64,
    /// The chances to read segments of messages.
    chances: Chances,
}

impl Reader {
    pub(super) fn new(key: ReaderKey, owner: Owner, position: u64, bound: u64) -> Self {
        Self {
            key,
            owner,
            position: Cell::new(position),
            missed: Cell::new(0),
            dropped: 0,
            chances: Chances::new(Clocks::ROOT, bound),
        }
    }

    /// Returns the number of the first segment that has not expired for this reader.
    pub(super) fn bound(&self) -> u64 {
        self.chances.bound()
    }

    /// Tests whether the slot has a reader. The system of a reader may have been removed.
    pub(super) fn is_live(&self) -> bool {
        match &self.owner {
            Owner::Free => false,
            Owner::World | Owner::Missing => true,
            Owner::System(_, alive) => alive.strong_count() > 0,
        }
    }

    /// Returns the number of chances for which messages are kept for this reader. The world, which need not read at all, never keeps
    /// them until they are read.
    pub(super) fn keep<M: Message>(&self) -> Option<NonZero<u32>> {
        match self.owner {
            Owner::World => M::KEEP.or(NonZero::new(2)),
            _ => M::KEEP,
        }
    }

    /// Records that messages are written now, beginning with a segment. Returns whether they belong to another step than the
    /// messages before.
    pub(super) fn mark(&mut self, segment: u64, clocks: &Clocks) -> bool {
        // The world reads after an update, so its chance in the current update is not used up by messages of the update.
        self.chances.mark(segment, matches!(self.owner, Owner::World), clocks)
    }

    /// Updates the first segment that has not expired. `end` is the number of the next segment.
    pub(super) fn expire(&mut self, keep: NonZero<u32>, end: u64, clocks: &Clocks) {
        self.chances.expire(keep, end, clocks);
    }

    /// Begins a run of the reader's system in a step of a clock.
    pub(super) fn begin_run(&mut self, clock: ClockId, clocks: &Clocks) {
        self.chances.begin_run(clock, clocks);
    }

    /// Records the run, so that later messages of the same step count from the next step on.
    pub(super) fn end_begin(&mut self, clocks: &Clocks) {
        self.chances.record_run(clocks);
    }

    /// Replaces the progress by that of another reader, which belongs to a world with other clocks.
    pub(super) fn replace(&mut self, other: &Self, theirs: &Clocks, ours: &Clocks) {
        let clock = self.chances.clock();
        let (key, owner) = (self.key.clone(), self.owner.clone());
        *self = Self { key, owner, ..other.clone() };
        self.chances.change_clock(clock, theirs, ours);
    }

    /// Forgets the progress: all messages from a position on are unread.
    pub(super) fn begin_anew(&mut self, position: u64, bound: u64, clocks: &Clocks) {
        self.position.set(position);
        self.missed.set(0);
        self.dropped = 0;
        self.chances.begin_anew(bound, clocks);
    }

    /// Sets the clock of a reader that has never run.
    pub(super) fn set_clock(&mut self, clock: ClockId, clocks: &Clocks) {
        self.chances.change_clock(clock, clocks, clocks);
    }
}
