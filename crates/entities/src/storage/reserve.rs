//! Room for many rows at once.

#![expect(unsafe_code, reason = "takes a reference out of a guard, and ids back")]

use std::mem::{self, ManuallyDrop};
use std::ptr;

use super::arena::OutOfMemory;
use super::transfer::Transfer;
use super::{Chunk, GroupKey, NOWHERE, Storage};

/// Rows that lie side by side in a chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowRange {
    pub(crate) chunk: u32,
    pub(crate) first: u32,
    pub(crate) rows: u32,
}

/// Room for rows of archetypes, in chunks that are the world's alone. Given back unless it is used.
///
/// Meanwhile there may be chunks without entities, and groups without chunks, which nobody else gets to see.
pub(crate) struct ReservedRows<'s> {
    pub(crate) storage: &'s mut Storage,
    pub(crate) runs: &'s mut Vec<RowRange>,
    /// How many of the runs have ids, which the table knows already.
    named: usize,
    /// Archetypes with groups of them that may have been made for this.
    groups: Vec<(u32, u32)>,
}

impl<'s> ReservedRows<'s> {
    /// Finds room for so many rows: behind the entities of chunks that have room, and in new chunks.
    pub(crate) fn new(
        storage: &'s mut Storage,
        runs: &'s mut Vec<RowRange>,
        archetype: u32,
        rows: usize,
    ) -> Result<Self, OutOfMemory> {
        Self::in_group(storage, runs, archetype, NOWHERE, rows)
    }

    /// As [`new`](Self::new), in chunks of a group, which was just found or made.
    pub(crate) fn in_group(
        storage: &'s mut Storage,
        runs: &'s mut Vec<RowRange>,
        archetype: u32,
        group: u32,
        rows: usize,
    ) -> Result<Self, OutOfMemory> {
        let mut reserved = Self::nothing(storage, runs);
        reserved.note_group(archetype, group);
        reserved.more(archetype, group, rows)?;
        Ok(reserved)
    }

    /// Room for nothing, which others may be added to.
    pub(crate) fn nothing(storage: &'s mut Storage, runs: &'s mut Vec<RowRange>) -> Self {
        runs.clear();
        let groups = mem::take(&mut storage.noted_groups);
        Self { storage, runs, named: 0, groups }
    }

    /// The group that a row of a chunk gets to by a transfer which is given nothing.
    pub(crate) fn group_by(&mut self, transfer: &Transfer, from: u32) -> u32 {
        let group = self.storage.group_by(transfer, from);
        self.note_group(transfer.to, group);
        group
    }

    /// The group of an archetype with these values.
    pub(crate) fn group_of(&mut self, archetype: u32, wanted: GroupKey) -> u32 {
        let group = self.storage.group_of(archetype, wanted);
        self.note_group(archetype, group);
        group
    }

    fn note_group(&mut self, archetype: u32, group: u32) {
        let noted = (archetype, group);
        // Mostly it is that of the chunk before.
        if group != NOWHERE && self.groups.last() != Some(&noted) {
            self.groups.push(noted);
        }
    }

    /// Finds room for rows of a group of an archetype, or of the archetype, if it has none, which has no room here yet.
    pub(crate) fn more(
        &mut self,
        archetype: u32,
        group: u32,
        rows: usize,
    ) -> Result<(), OutOfMemory> {
        let mut missing = rows;
        // The last of them is filled first, as it is by one entity after another.
        let mut known = self.storage.archetypes.rooms(archetype, group).len();
        while missing > 0 {
            let chunk = if let Some(at) = known.checked_sub(1) {
                known = at;
                let chunk = self.storage.archetypes.rooms(archetype, group)[at];
                self.storage.make_unique(chunk)?;
                chunk
            } else {
                let capacity = self.storage.archetypes[archetype].shape.capacity as usize;
                self.storage.chunks.expect(missing.div_ceil(capacity));
                self.storage.open_chunk_in(archetype, group)?
            };
            let first = self.storage.chunks[chunk].len;
            let room = self.storage.chunks[chunk].capacity() - first;
            let rows = missing.min(room as usize) as u32;
            missing -= rows as usize;
            self.runs.push(RowRange { chunk, first, rows });
        }
        Ok(())
    }

    /// Divides the runs, so that none goes beyond so many rows, or twice as many, and so on.
    pub(crate) fn divide(&mut self, rows: usize) {
        // Behind those that are there, which go then: so their memory does for both.
        let whole = self.runs.len();
        let mut left = rows;
        for at in 0..whole {
            let mut run = self.runs[at];
            while run.rows as usize > left {
                self.runs.push(RowRange { rows: left as u32, ..run });
                (run.first, run.rows) = (run.first + left as u32, run.rows - left as u32);
                left = rows;
            }
            left -= run.rows as usize;
            self.runs.push(run);
            if left == 0 {
                left = rows;
            }
        }
        self.runs.drain(..whole);
    }

    /// Leaves the rows to who is going to use them at once.
    pub(crate) fn into_storage(self) -> &'s mut Storage {
        let mut this = ManuallyDrop::new(self);
        let mut groups = mem::take(&mut this.groups);
        groups.clear();
        this.storage.noted_groups = groups;
        // SAFETY: the reference is not used where it was any more.
        unsafe { ptr::read(&raw const this.storage) }
    }

    /// Has the rows of one chunk after the other filled, and gives them ids. [`commit`](Self::commit) lets them be seen.
    ///
    /// The function writes values to all columns of a run, best in the order of memory. If it panics, nothing is created; what
    /// it has written by then is its own to drop, before this is.
    pub(crate) fn fill(&mut self, mut write: impl FnMut(&Chunk, RowRange)) {
        for at in 0..self.runs.len() {
            let run = self.runs[at];
            let Storage { table, chunks, .. } = &mut *self.storage;
            // Ids come first in a chunk. Written before the columns they begin one stream of writes through the whole chunk,
            // which takes half the time where memory is not in the cache.
            let ids = chunks[run.chunk].new_ids(run.first, run.rows);
            table.allocate_rows(ids, run.chunk, run.first);
            self.named = at + 1;
            write(&chunks[run.chunk], run);
        }
    }

    /// Lets the rows, which have values now, be seen, with ids.
    pub(crate) fn commit(self) {
        // What was reserved is used: nothing is to be given back.
        let mut this = ManuallyDrop::new(self);
        for at in 0..this.runs.len() {
            let run = this.runs[at];
            if at < this.named {
                this.storage.show_entities(run);
            } else {
                this.storage.create_entities(run);
            }
        }
        // Where there are no rows, nobody is going to open a chunk.
        let groups = mem::take(&mut this.groups);
        this.storage.forget_groups(groups);
        drop(this.storage.shared.take_unused());
    }
}

impl Drop for ReservedRows<'_> {
    fn drop(&mut self) {
        for run in &self.runs[..self.named] {
            let ids = self.storage.chunks[run.chunk].new_ids(run.first, run.rows);
            // SAFETY: the table has written them.
            self.storage.table.free_rows(unsafe { ids.assume_init_ref() });
        }
        let mut retired = Vec::new();
        for run in self.runs.drain(..).rev() {
            // A chunk that was opened has one run that begins there, and perhaps others.
            if run.first == 0 && self.storage.chunks[run.chunk].len == 0 {
                retired.push(self.storage.close_chunk(run.chunk).into_parts());
            }
        }
        self.storage.forget_groups(mem::take(&mut self.groups));
        // Only now, since the values of chunks are dropped, which is code of the user. Those that chunks shared follow them.
        let _dead = self.storage.shared.take_unused();
        drop(retired);
    }
}

impl Storage {
    /// Takes those of the groups out that have no chunks. The values that nobody else has are
    /// [dead](super::SharedValues::take_unused).
    fn forget_groups(&mut self, mut groups: Vec<(u32, u32)>) {
        groups.sort_unstable();
        groups.dedup();
        for (archetype, group) in groups.drain(..) {
            self.forget_group(archetype, group);
        }
        self.noted_groups = groups;
    }

    /// Gives rows behind the last of a chunk, which have values already, their entities.
    pub(crate) fn create_entities(&mut self, run: RowRange) {
        let chunk = &mut self.chunks[run.chunk];
        debug_assert_eq!(run.first, chunk.len);
        self.table.allocate_rows(chunk.new_ids(run.first, run.rows), run.chunk, run.first);
        self.show_entities(run);
    }

    /// Lets rows behind the last of a chunk, which have values and ids already, be seen.
    fn show_entities(&mut self, run: RowRange) {
        let chunk = &mut self.chunks[run.chunk];
        let is_uniform = chunk.note_new(run.first, run.rows, self.version);
        chunk.enabled.enable_rows(run.first, run.rows);
        if is_uniform {
            self.chunks.note_uniform(run.chunk);
        }
        self.add_rows(run.chunk, run.rows);
    }
}
