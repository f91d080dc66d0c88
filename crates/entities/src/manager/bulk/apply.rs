//! Values, ids and whole chunks go where they belong.

#![expect(unsafe_code, reason = "moves rows between chunks")]

use std::mem;
use std::ptr;

use super::Found;
use super::plan::{Lists, Piece, Plan, Step, Way};
use super::values::{Written, repeat_pattern};
use crate::storage::{ChunkMemory, Dead, Run, Staged, Storage, Transfers};

impl Written<'_> {
    /// Does what was planned. Nothing is refused, and no code of the user runs. Returns the lists, and what is to be dropped
    /// beside that which is in them.
    pub(super) fn carry_out<'t>(
        self,
        transfers: &'t Transfers,
        found: &Found,
    ) -> (Lists, Dead<'t>) {
        let Self { plan: Plan { reserved, mut lists }, is_pattern } = self;
        let mut dead = Dead::new(mem::take(&mut lists.dead));
        let Lists { steps, pieces, emptied, spare, staged, .. } = &mut lists;
        let storage = reserved.into_storage();
        for &archetype in &*emptied {
            storage.unlist_chunks(archetype);
        }
        let (pattern, mut staged) =
            if is_pattern { (staged.first(), [].iter()) } else { (None, staged.iter()) };
        let mut pieces = pieces.as_slice();
        for (at, step) in steps.iter().enumerate() {
            match step.way {
                // Whole chunks are the last, since those with room may be shared, and others would come to them.
                Way::Open | Way::Stay | Way::Whole(_) => {}
                Way::Replace => {
                    note_written(storage, step, transfers, found);
                    for run in step.runs(found) {
                        let Some(pattern) = pattern else { break };
                        // SAFETY: the chunk was made the world's alone. Its entities have all types of the set, which are bytes.
                        unsafe { repeat_pattern(storage, pattern, run.chunk, run.first, run.rows) };
                    }
                    if let Some(rows) = staged.next() {
                        exchange(storage, rows, step.runs(found));
                    }
                }
                Way::Rows(_) => {
                    let count = pieces.iter().take_while(|piece| piece.chunk == step.chunk).count();
                    let (now, later) = pieces.split_at(count);
                    pieces = later;
                    now.iter().for_each(|piece| {
                        move_piece(storage, piece, transfers, pattern, None);
                    });
                    let left = &transfers[step.transfer].left;
                    // SAFETY: the rows were moved, but for what the transfer leaves.
                    drop(unsafe { take_away(storage, step, found, left, &mut dead) });
                }
                Way::Follow(group) => {
                    let transfer = &transfers[step.transfer];
                    let soon = steps.get(at + 1).filter(|soon| soon.transfer == step.transfer);
                    let soon = soon.map(|soon| soon.chunk);
                    for run in step.runs(found) {
                        let (mut first, end) = (run.first, run.first + run.rows);
                        while first < end {
                            let to = room_for(storage, transfer.to, group, end - first, spare);
                            let (chunk, transfer) = (step.chunk, step.transfer);
                            let piece = Piece { chunk, first, to, transfer };
                            move_piece(storage, &piece, transfers, pattern, soon);
                            first += to.rows;
                        }
                    }
                    // SAFETY: the rows were moved, but for what the transfer leaves.
                    spare.extend(unsafe {
                        take_away(storage, step, found, &transfer.left, &mut dead)
                    });
                }
                Way::Refit(group) => {
                    let transfer = &transfers[step.transfer];
                    let soon = steps.get(at + 1).filter(|soon| soon.transfer == step.transfer);
                    let kept = step.rows.min(storage.archetypes[transfer.to].shape.capacity);
                    let mut first = kept;
                    while first < step.rows {
                        let rows = step.rows - first;
                        let to = room_for(storage, transfer.to, group, rows, spare);
                        let (chunk, transfer) = (step.chunk, step.transfer);
                        let piece = Piece { chunk, first, to, transfer };
                        move_piece(storage, &piece, transfers, pattern, None);
                        first += to.rows;
                    }
                    // SAFETY: the plan has found that the chunk can be refitted, and that the group is one of its archetype. The rows
                    // behind those that are kept were moved.
                    unsafe {
                        let soon = soon.map(|soon| soon.chunk);
                        storage.refit_chunk(step.chunk, kept, group, transfer, soon);
                    }
                    if let Some(pattern) = pattern {
                        // SAFETY: the chunk has the rows, is the world's alone, and has all types of the set, which are bytes.
                        unsafe { repeat_pattern(storage, pattern, step.chunk, 0, kept) };
                    }
                }
                Way::Destroy => {
                    let chunk = &storage.chunks[step.chunk];
                    // SAFETY: archetypes live as long as the world, which outlives what is returned.
                    let shape = unsafe { chunk.unbound_shape() };
                    for run in step.runs(found) {
                        let entities = &chunk.entities()[run.first as usize..][..run.rows as usize];
                        storage.table.free_rows(entities);
                    }
                    // SAFETY: the entities are gone, and all their values are left.
                    drop(unsafe { take_away(storage, step, found, &shape.dropped, &mut dead) });
                }
            }
        }
        for step in &*steps {
            let Way::Whole(group) = step.way else { continue };
            // SAFETY: the plan has found that the transfer keeps chunks whole, that the group is one of its archetype, and that what
            // is new can be duplicated if the memory is shared.
            unsafe { storage.relabel_chunk(step.chunk, group, &transfers[step.transfer]) };
        }
        (lists, dead)
    }
}

/// Room for some of so many rows behind the last of a chunk of a group of an archetype, which is made of spare memory if there is
/// none with room.
fn room_for(
    storage: &mut Storage,
    archetype: u32,
    group: u32,
    rows: u32,
    spare: &mut Vec<ChunkMemory>,
) -> Run {
    let chunk = match storage.archetypes.rooms(archetype, group).last() {
        Some(&chunk) => chunk,
        None => {
            let memory = spare.pop().expect("the plan has seen to it that there is enough");
            storage.open_chunk_with(archetype, group, memory)
        }
    };
    let first = storage.chunks[chunk].len;
    let room = storage.chunks[chunk].capacity() - first;
    Run { chunk, first, rows: rows.min(room) }
}

/// Moves rows to room that was made for them, with what they are given. Those of another chunk come soon.
fn move_piece(
    storage: &mut Storage,
    piece: &Piece,
    transfers: &Transfers,
    pattern: Option<&Staged>,
    soon: Option<u32>,
) {
    let &Piece { chunk, first, to, transfer } = piece;
    if let Some(pattern) = pattern {
        // SAFETY: the rows have room, in a chunk of an archetype that has all types of the set, which are bytes.
        unsafe { repeat_pattern(storage, pattern, to.chunk, to.first, to.rows) };
    }
    // SAFETY:
    // - the rows were found, and have not moved since. Both chunks are the world's alone, or the first has nothing but bytes and
    //   goes as a whole. They are two: the second is of another archetype or group
    // - there is room behind its last row
    // - the transfer is that of the archetype of the first, and what it writes was written, or just now
    unsafe { storage.copy_rows(chunk, first, to, &transfers[transfer], soon) };
}

/// Takes rows out of their chunk, or the chunk out of all lists if they are all it has. Returns its memory, if nothing is left in
/// it.
///
/// # Safety
///
/// - the entities of the rows are elsewhere, or gone
/// - the values of all columns but these were moved, or need not be dropped
unsafe fn take_away<'t>(
    storage: &mut Storage,
    step: &Step,
    found: &Found,
    left: &'t [u32],
    dead: &mut Dead<'t>,
) -> Option<ChunkMemory> {
    if step.rows == storage.chunks[step.chunk].len {
        storage.chunks[step.chunk].note_order(storage.version);
        let chunk = storage.close_chunk(step.chunk);
        // SAFETY: as the caller promises. Archetypes live as long as the world, which is borrowed.
        return unsafe { dead.add_chunk(chunk, left) };
    }
    // From the last on, so that the rows that take the place of others are none of those that are to go.
    for run in step.runs(found).iter().rev() {
        // SAFETY: the chunk has more rows, and was made the world's alone. The rest is as the caller promises.
        unsafe { storage.close_gap(step.chunk, run.first, run.rows, left) };
    }
    // SAFETY: what is left of the runs came to lie behind the last row, of one after the other. Nobody writes there before it is
    // dropped: rows come only to chunks that room was reserved in, which lose none.
    unsafe { dead.add_rows(&storage.chunks[step.chunk], step.rows, left) };
    None
}

/// Notes that components were written.
fn note_written(storage: &mut Storage, step: &Step, transfers: &Transfers, found: &Found) {
    let chunk = &mut storage.chunks[step.chunk];
    for column in &transfers[step.transfer].written {
        if chunk.shape().shared.contains(column) {
            continue;
        }
        for run in step.runs(found) {
            chunk.note_written(*column, run.first, run.rows, storage.version);
        }
    }
}

/// Exchanges values with those of rows, for all types that have bytes.
fn exchange(storage: &Storage, values: &Staged, runs: &[Run]) {
    for (ty, first) in values.columns().filter(|(ty, _)| ty.size() > 0) {
        let mut value = first;
        for run in runs {
            let chunk = &storage.chunks[run.chunk];
            let found = chunk.find(ty).expect("the entities have it");
            let row = chunk.column(found.offset).wrapping_add(run.first as usize * ty.size());
            let bytes = run.rows as usize * ty.size();
            // SAFETY: both have so many values of the type, which nobody else uses. The chunk was made the world's alone.
            unsafe {
                ptr::swap_nonoverlapping(value, row, bytes);
                value = value.add(bytes);
            }
        }
    }
}
