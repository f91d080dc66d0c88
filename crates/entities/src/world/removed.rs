//! The entities that lost a component, for `Removed` parameters.

use std::num::NonZero;
use std::sync::{Arc, Weak};

use crate::component::ComponentType;
use crate::entity::Entity;
use crate::messages::{Chances, ClockId, Clocks};
use crate::storage::{EventBatch, EventKind, WatchNumber};

/// The entities that lost a component, for `Removed` parameters.
pub(crate) struct RemovedQueue {
    pub(crate) number: WatchNumber,
    pub(crate) ty: ComponentType,
    /// The number of entities that were removed from the front.
    base: u64,
    entities: Vec<Entity>,
    readers: Vec<RemovedReader>,
}

/// A reader of a queue.
struct RemovedReader {
    /// The system has the other pointer. The reader is gone when its system was removed.
    alive: Weak<()>,
    /// The position after the entities that were read.
    position: u64,
    /// The number of chances for which entities are kept, or `None` to keep them until they are read.
    keep: Option<NonZero<u32>>,
    /// The chances to read entities. Unused if entities are kept until they are read.
    chances: Chances,
}

impl RemovedReader {
    fn is_alive(&self) -> bool {
        self.alive.strong_count() > 0
    }

    /// Returns the position of the first entity that is neither read nor expired.
    fn first(&self) -> u64 {
        self.position.max(self.chances.bound())
    }
}

/// The place of a reader in a run of its system.
pub(crate) struct RemovedRun {
    /// The position after the entities of the run.
    pub(crate) end: u64,
    /// The number of entities that expired since the last run.
    pub(crate) missed: u64,
}

impl RemovedQueue {
    pub(crate) fn new(number: WatchNumber, ty: ComponentType) -> Self {
        Self { number, ty, base: 0, entities: Vec::new(), readers: Vec::new() }
    }

    fn end(&self) -> u64 {
        self.base + self.entities.len() as u64
    }

    /// Adds a reader, which begins at the end. Returns its number.
    pub(crate) fn add_reader(
        &mut self,
        alive: &Arc<()>,
        keep: Option<NonZero<u32>>,
        clock: ClockId,
    ) -> usize {
        let (alive, position) = (Arc::downgrade(alive), self.end());
        let chances = Chances::new(clock, position);
        let reader = RemovedReader { alive, position, keep, chances };
        match self.readers.iter().position(|reader| !reader.is_alive()) {
            Some(free) => {
                self.readers[free] = reader;
                free
            }
            None => {
                self.readers.push(reader);
                self.readers.len() - 1
            }
        }
    }

    /// Returns whether a reader exists.
    pub(crate) fn has_readers(&self) -> bool {
        self.readers.iter().any(RemovedReader::is_alive)
    }

    /// Begins a run of a reader's system: appends the entities that it has not read to a list.
    pub(crate) fn read(
        &mut self,
        reader: usize,
        list: &mut Vec<Entity>,
        clocks: &Clocks,
    ) -> RemovedRun {
        let end = self.end();
        let reader = &mut self.readers[reader];
        if let Some(keep) = reader.keep {
            reader.chances.begin_run(clocks.current(), clocks);
            reader.chances.expire(keep, end, clocks);
            reader.chances.record_run(clocks);
        }
        let first = reader.first();
        let from = first.saturating_sub(self.base);
        list.extend_from_slice(self.entities.get(from as usize..).unwrap_or_default());
        RemovedRun { end, missed: first - reader.position }
    }

    /// Sets the position of a reader, and removes what all readers have read.
    pub(crate) fn advance(&mut self, reader: usize, position: u64) {
        let own = &mut self.readers[reader].position;
        *own = position.max(*own);
        self.trim();
    }

    fn trim(&mut self) {
        let readers = self.readers.iter().filter(|reader| reader.is_alive());
        let first = readers.map(RemovedReader::first).min().unwrap_or(self.end());
        let read = (first.saturating_sub(self.base)).min(self.entities.len() as u64);
        // Moving the rest costs time, so at least half of the list has to be read.
        if read * 2 >= self.entities.len() as u64 {
            self.entities.drain(..read as usize);
            self.base += read;
        }
    }

    /// Appends the removals of a batch. If the entities were replaced, removes everything before.
    pub(crate) fn extend(&mut self, batch: &EventBatch, clocks: &Clocks) {
        if batch.replaced {
            self.base = self.end();
            self.entities.clear();
            let end = self.base;
            for reader in &mut self.readers {
                reader.position = end;
                reader.chances.clear(end);
            }
        }
        let first = self.end();
        for run in &batch.runs {
            if run.number == self.number && run.kind == EventKind::Remove {
                self.entities.extend_from_slice(batch.entities_of(run));
            }
        }
        if self.end() > first {
            self.expire(first, clocks);
        }
    }

    /// Notes that entities were appended from a position on, and removes those that have expired for all readers.
    fn expire(&mut self, first: u64, clocks: &Clocks) {
        let (end, mut is_bounded) = (self.end(), false);
        for reader in self.readers.iter_mut().filter(|reader| reader.is_alive()) {
            let Some(keep) = reader.keep else { continue };
            reader.chances.mark(first, false, clocks);
            reader.chances.expire(keep, end, clocks);
            is_bounded = true;
        }
        if is_bounded {
            self.trim();
        }
    }
}
