//! Reserving free rows for many entities at once.

#![expect(unsafe_code, reason = "takes a reference out of a guard, and ids back")]

use std::mem::{self, ManuallyDrop};
use std::ptr;

use super::arena::OutOfMemory;
use super::transfer::Transfer;
use super::{Chunk, GroupKey, NOWHERE, Storage};

/// Contiguous rows of a chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowRange {
    pub(crate) chunk: u32,
    pub(crate) first: u32,
    pub(crate) rows: u32,
}

/// Reserved rows, in unshared chunks. They are released on drop unless they are used.
///
/// Until then, there may be chunks without entities and groups without chunks, which nothing else sees.
pub(crate) struct ReservedRows<'s> {
    pub(crate) storage: &'s mut Storage,
    pub(crate) runs: &'s mut Vec<RowRange>,
    /// The number of runs that have ids, which the entity table knows already.
    named: usize,
    /// Archetypes and groups that may have been created for this.
    groups: Vec<(u32, u32)>,
}

impl<'s> ReservedRows<'s> {
    /// Reserves rows of an archetype without groups, in chunks with room and in new chunks.
    pub(crate) fn new(
        storage: &'s mut Storage,
        runs: &'s mut Vec<RowRange>,
        archetype: u32,
        rows: usize,
    ) -> Result<Self, OutOfMemory> {
        Self::in_group(storage, runs, archetype, NOWHERE, rows)
    }

    /// Reserves rows in chunks of a group, which was just found or created.
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

    /// Reserves no rows so far.
    pub(crate) fn nothing(storage: &'s mut Storage, runs: &'s mut Vec<RowRange>) -> Self {
        runs.clear();
        let groups = mem::take(&mut storage.group_scratch);
        Self { storage, runs, named: 0, groups }
    }

    /// Returns the group that rows of a chunk move to by a transfer without given shared values.
    pub(crate) fn group_by(&mut self, transfer: &Transfer, from: u32) -> u32 {
        let group = self.storage.group_by(transfer, from);
        self.note_group(transfer.to, group);
        group
    }

    /// Returns the group of an archetype with this key.
    pub(crate) fn group_of(&mut self, archetype: u32, key: GroupKey) -> u32 {
        let group = self.storage.group_of(archetype, key);
        self.note_group(archetype, group);
        group
    }

    fn note_group(&mut self, archetype: u32, group: u32) {
        let entry = (archetype, group);
        // Usually it is the group of the previous chunk.
        if group != NOWHERE && self.groups.last() != Some(&entry) {
            self.groups.push(entry);
        }
    }

    /// Reserves rows of a group, or of an archetype without groups, that has no reserved rows yet.
    pub(crate) fn more(
        &mut self,
        archetype: u32,
        group: u32,
        rows: usize,
    ) -> Result<(), OutOfMemory> {
        let mut missing = rows;
        // The last chunk is filled first, as it is when entities are added one by one.
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

    /// Splits the runs at multiples of `rows` rows, counted over all runs.
    pub(crate) fn divide(&mut self, rows: usize) {
        // The new runs are appended, and the old ones removed afterwards: one vector serves both.
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

    /// Returns the storage for code that uses the rows at once. Nothing is released.
    pub(crate) fn into_storage(self) -> &'s mut Storage {
        let mut this = ManuallyDrop::new(self);
        let mut groups = mem::take(&mut this.groups);
        groups.clear();
        this.storage.group_scratch = groups;
        // SAFETY: `this` is not dropped, and its reference is not used afterwards.
        unsafe { ptr::read(&raw const this.storage) }
    }

    /// Fills the rows of one chunk after the other, and gives them ids. [`commit`](Self::commit) makes them visible.
    ///
    /// `write` writes values to all columns of a run, best in memory order. If it panics, nothing is created, and it has to
    /// drop what it has written.
    pub(crate) fn fill(&mut self, mut write: impl FnMut(&Chunk, RowRange)) {
        for at in 0..self.runs.len() {
            let run = self.runs[at];
            let Storage { table, chunks, .. } = &mut *self.storage;
            // Ids come first in a chunk. Written before the columns, they begin one stream of writes through the chunk, which
            // halves the time if the memory is not in the cache.
            let ids = chunks[run.chunk].new_ids(run.first, run.rows);
            table.allocate_rows(ids, run.chunk, run.first);
            self.named = at + 1;
            write(&chunks[run.chunk], run);
        }
    }

    /// Makes the rows visible, which have values now. Rows without ids get them.
    pub(crate) fn commit(self) {
        // The rows are used: nothing is released.
        let mut this = ManuallyDrop::new(self);
        for at in 0..this.runs.len() {
            let run = this.runs[at];
            if at < this.named {
                this.storage.show_entities(run);
            } else {
                this.storage.create_entities(run);
            }
        }
        // A group for which no rows were reserved has no chunk.
        let groups = mem::take(&mut this.groups);
        this.storage.forget_groups(groups);
        drop(this.storage.shared.take_unused());
    }
}

impl Drop for ReservedRows<'_> {
    fn drop(&mut self) {
        for run in &self.runs[..self.named] {
            let ids = self.storage.chunks[run.chunk].new_ids(run.first, run.rows);
            // SAFETY: the entity table has written these ids.
            self.storage.table.free_rows(unsafe { ids.assume_init_ref() });
        }
        let mut retired = Vec::new();
        for run in self.runs.drain(..).rev() {
            // A chunk that was opened for this has one run that begins at 0, and possibly others.
            if run.first == 0 && self.storage.chunks[run.chunk].len == 0 {
                retired.push(self.storage.close_chunk(run.chunk).into_parts());
            }
        }
        self.storage.forget_groups(mem::take(&mut self.groups));
        // Last, since dropping chunk components and shared values runs user code.
        let _unused = self.storage.shared.take_unused();
        drop(retired);
    }
}

impl Storage {
    /// Removes those of the groups that have no chunks. Their values may become [unused](super::SharedValues::take_unused).
    fn forget_groups(&mut self, mut groups: Vec<(u32, u32)>) {
        groups.sort_unstable();
        groups.dedup();
        for (archetype, group) in groups.drain(..) {
            self.forget_group(archetype, group);
        }
        self.group_scratch = groups;
    }

    /// Creates the entities of rows behind the last of a chunk, which have values already.
    pub(crate) fn create_entities(&mut self, run: RowRange) {
        let chunk = &mut self.chunks[run.chunk];
        debug_assert_eq!(run.first, chunk.len);
        self.table.allocate_rows(chunk.new_ids(run.first, run.rows), run.chunk, run.first);
        self.show_entities(run);
    }

    /// Makes rows behind the last of a chunk visible, which have values and ids already.
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
