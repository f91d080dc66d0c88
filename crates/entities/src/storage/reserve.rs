//! Room for many rows at once.

#![expect(unsafe_code, reason = "takes a reference out of a guard")]

use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr;

use super::arena::OutOfMemory;
use super::{Chunk, Storage};

/// Rows that lie side by side in a chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) chunk: u32,
    pub(crate) first: u32,
    pub(crate) rows: u32,
}

/// Room for rows of an archetype, in chunks that are the world's alone. Given back unless it is used.
///
/// Meanwhile there may be chunks without entities, which nobody else gets to see.
pub(crate) struct Reserved<'s> {
    pub(crate) storage: &'s mut Storage,
    pub(crate) runs: &'s mut Vec<Run>,
}

impl<'s> Reserved<'s> {
    /// Finds room for so many rows: behind the entities of chunks that have room, and in new chunks.
    pub(crate) fn new(
        storage: &'s mut Storage,
        runs: &'s mut Vec<Run>,
        archetype: u32,
        rows: usize,
    ) -> Result<Self, OutOfMemory> {
        runs.clear();
        let reserved = Self { storage, runs };
        let mut missing = rows;
        // The last of them is filled first, as it is by one entity after another.
        let mut known = reserved.storage.archetypes[archetype].with_room.len();
        while missing > 0 {
            let chunk = if let Some(at) = known.checked_sub(1) {
                known = at;
                let chunk = reserved.storage.archetypes[archetype].with_room[at];
                reserved.storage.make_unique(chunk)?;
                chunk
            } else {
                let capacity = reserved.storage.archetypes[archetype].shape.capacity as usize;
                reserved.storage.chunks.expect(missing.div_ceil(capacity));
                reserved.storage.open_chunk(archetype)?
            };
            let first = reserved.storage.chunks[chunk].len;
            let room = reserved.storage.chunks[chunk].capacity() - first;
            let rows = missing.min(room as usize) as u32;
            missing -= rows as usize;
            reserved.runs.push(Run { chunk, first, rows });
        }
        Ok(reserved)
    }

    /// Leaves the rows to who is going to use them at once.
    pub(crate) fn into_storage(self) -> &'s mut Storage {
        let this = ManuallyDrop::new(self);
        // SAFETY: the reference is not used where it was any more.
        unsafe { ptr::read(&raw const this.storage) }
    }

    /// Has the rows of one chunk after the other filled, and gives them their entities while they are in the cache.
    ///
    /// The function writes values to all columns of a run, best in the order of memory. If it panics, the entities of the runs before are there.
    pub(crate) fn fill(self, mut write: impl FnMut(&Chunk, Run)) {
        for at in 0..self.runs.len() {
            let run = self.runs[at];
            // Ids come first in a chunk, and last here. Touched before the columns they begin one stream of writes through
            // the whole chunk, which takes half the time where memory is not in the cache.
            self.storage.chunks[run.chunk].new_ids(run.first, run.rows).fill(MaybeUninit::zeroed());
            write(&self.storage.chunks[run.chunk], run);
            self.storage.create_entities(run);
        }
        // What was reserved is used: nothing is to be given back.
        let _ = ManuallyDrop::new(self);
    }

    /// Gives the rows, which have values now, their entities.
    pub(crate) fn commit(self) {
        // What was reserved is used: nothing is to be given back.
        let mut this = ManuallyDrop::new(self);
        for at in 0..this.runs.len() {
            let run = this.runs[at];
            this.storage.create_entities(run);
        }
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        for run in self.runs.drain(..).rev() {
            if self.storage.chunks[run.chunk].len == 0 {
                drop(self.storage.retire_chunk(run.chunk).into_memory());
            }
        }
    }
}

impl Storage {
    /// Gives rows behind the last of a chunk, which have values already, their entities.
    pub(crate) fn create_entities(&mut self, run: Run) {
        let chunk = &mut self.chunks[run.chunk];
        debug_assert_eq!(run.first, chunk.len);
        self.table.allocate_rows(chunk.new_ids(run.first, run.rows), run.chunk, run.first);
        chunk.state.set_all(self.version);
        chunk.enabled.enable_rows(run.first, run.rows);
        self.add_rows(run.chunk, run.rows);
    }
}
