//! Chunks and rows go where they belong, and their entities get ids.

#![expect(unsafe_code, reason = "moves chunks and rows between worlds")]

use super::Arrived;
use super::plan::{Piece, Plan, Step, Target};
use crate::storage::{
    Arrival, ChunkCopy, ChunkValues, NewRows, OutOfMemory, Storage, duplicate_values, move_values,
};

/// What is copied, and was not given to anybody yet: dropped if something panics.
pub(super) struct Copies<'a> {
    /// Of the steps whose chunk comes whole, in their order.
    chunks: Vec<ChunkCopy>,
    /// Of the pieces.
    rows: Vec<NewRows<'a>>,
}

impl Plan<'_, '_> {
    /// Moves what was planned out of the other world, whose chunks that are to come are its alone. If it is everything that world has,
    /// its ids are handed out again from the first on. Returns what has come, and the values that chunks had for themselves and
    /// nobody has any more.
    ///
    /// Nothing is refused, and no code of the user runs.
    pub(super) fn move_all(
        self,
        source: &mut Storage,
        is_everything: bool,
    ) -> (Arrived, Vec<ChunkValues>) {
        let Self { reserved, steps, targets, pieces } = self;
        let storage = reserved.into_storage();
        let mut arrived = Arrived::default();
        let mut left = Vec::new();
        let mut old_ids = Vec::new();
        for step in &steps {
            let target = &targets[step.target];
            if !is_everything {
                let entities = source.chunks[step.chunk()].entities();
                for run in step.runs {
                    source.table.free_rows(&entities[run.first as usize..][..run.rows as usize]);
                }
            }
            if step.is_whole {
                source.chunks[step.chunk()].note_order(source.version);
                let chunk = source.retire_chunk(step.chunk());
                let Target { archetype, group, .. } = *target;
                // SAFETY: the plan has found that the shapes are as good as each other, the chunks as large, and that the group is one
                // of the archetype. The memory is the world's alone, as the caller says.
                let arrival = unsafe {
                    storage.adopt_chunk(chunk, archetype, group, &mut old_ids, &mut arrived.map)
                };
                arrived.note(target, arrival);
                continue;
            }
            for &Piece { chunk, first, to } in &pieces[step.pieces.clone()] {
                let from = &source.chunks[chunk];
                // SAFETY: the rows were found, and the others reserved, in chunks of two worlds which have the same types.
                let arrival = unsafe {
                    move_values(from, first, &storage.chunks[to.chunk], to);
                    storage.admit_rows(from, first, to, &mut arrived.map)
                };
                arrived.note(target, arrival);
            }
            // SAFETY: the values of the rows were moved, and the entities are gone, or all will be.
            left.extend(unsafe { take_away(source, step) });
        }
        if is_everything {
            source.table.clear();
        }
        arrived.map.put_in_order();
        (arrived, left)
    }

    /// Makes copies of all values that were planned to come from the other world. Code of the user runs; if it panics, nothing is
    /// left.
    ///
    /// # Safety
    ///
    /// - all types that were found there can be duplicated
    /// - what is returned goes before the plan does, or is given to [`copy_all`](Self::copy_all)
    pub(super) unsafe fn duplicate<'a>(&self, source: &Storage) -> Result<Copies<'a>, OutOfMemory> {
        let mut copies = Copies { chunks: Vec::new(), rows: Vec::with_capacity(self.pieces.len()) };
        let storage = &*self.reserved.storage;
        for step in &self.steps {
            if step.is_whole {
                // SAFETY: as the caller promises. The plan has found that the shapes are as good as each other.
                copies.chunks.push(unsafe { storage.copy_chunk(source, step.chunk())? });
            }
            for &Piece { chunk, first, to } in &self.pieces[step.pieces.clone()] {
                let (from, target) = (&source.chunks[chunk], &storage.chunks[to.chunk]);
                // SAFETY: the rows were found, and the others reserved, in chunks of two worlds which have the same types. All can be
                // duplicated, as the caller promises, and the archetypes and the rows are there as long as the plan.
                copies.rows.push(unsafe { duplicate_values(from, first, target, to) });
            }
        }
        Ok(copies)
    }

    /// Lets copies of what was planned be seen. Nothing is refused, and no code of the user runs.
    pub(super) fn copy_all(self, source: &Storage, copies: Copies<'_>) -> Arrived {
        let Self { reserved, steps, targets, pieces } = self;
        let storage = reserved.into_storage();
        let mut arrived = Arrived::default();
        let mut old_ids = Vec::new();
        copies.rows.into_iter().for_each(NewRows::keep);
        let mut chunks = copies.chunks.into_iter();
        for step in &steps {
            let target = &targets[step.target];
            if step.is_whole {
                let copy = chunks.next().expect("there is one for each");
                let of = &source.chunks[step.chunk()];
                let Target { archetype, group, .. } = *target;
                let map = &mut arrived.map;
                // SAFETY: the plan has found that the shapes are as good as each other, and the group is one of the archetype. The copy
                // is one of the whole chunk.
                let arrival =
                    unsafe { storage.adopt_copy(copy, of, archetype, group, &mut old_ids, map) };
                arrived.note(target, arrival);
            }
            for &Piece { chunk, first, to } in &pieces[step.pieces.clone()] {
                let from = &source.chunks[chunk];
                // SAFETY: the rows were found, and the others reserved, in chunks which have the same types. They have values.
                let arrival = unsafe { storage.admit_rows(from, first, to, &mut arrived.map) };
                arrived.note(target, arrival);
            }
        }
        arrived.map.put_in_order();
        arrived
    }
}

impl Arrived {
    /// Notes rows that have come.
    fn note(&mut self, target: &Target, arrival: Arrival) {
        if target.refers {
            self.referring.push(arrival);
        }
    }
}

/// Takes rows out of their chunk, or the chunk out of all lists if they are all it has. Returns the values that it had for itself.
///
/// # Safety
///
/// - the values of the rows were moved, and their entities are gone
unsafe fn take_away(storage: &mut Storage, step: &Step<'_>) -> Option<ChunkValues> {
    let number = step.chunk();
    if step.rows() == storage.chunks[number].len {
        storage.chunks[number].note_order(storage.version);
        let (_, values, ..) = storage.retire_chunk(number).into_parts();
        return Some(values);
    }
    // From the last on, so that the rows that take the place of others are none of those that are to go.
    for run in step.runs.iter().rev() {
        // SAFETY: the chunk has more rows, and was made the world's alone. The rest is as the caller promises.
        unsafe { storage.close_gap(number, run.first, run.rows, &[]) };
    }
    None
}
