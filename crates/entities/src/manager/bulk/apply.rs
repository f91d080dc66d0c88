//! What entities that were found are given: clones of a set, a set of its own each, or defaults.
#![expect(unsafe_code, reason = "writes components to rows that were reserved for them")]

use std::mem::{self, ManuallyDrop};
use std::ptr;

use super::RowSelection;
use super::plan::{BulkMove, BulkPlan, BulkStep, PlanLists, RowAction};
use crate::component::{ComponentType, Copying};
use crate::set::{CloneSet, ComponentSet};
use crate::storage::{
    ArchetypeShape, ChunkMemory, Dead, FewNumbers, NewRows, RowPlace, Run, Staged, Storage,
    Transfer, Transfers, repeat_bytes, write_initial,
};

/// What entities are given.
pub(super) enum NewValues<'a> {
    Nothing,
    /// The defaults of the types.
    Initial,
    /// Clones of a set.
    Clones(&'a dyn Clones),
    /// A set for each, in the order in which they were found. All of them are moved when the values are written.
    Each(&'a dyn Sets),
}

/// Sets whose type was erased, to be moved to rows. None of their types is shared.
pub(super) trait Sets {
    /// Moves so many of the sets, from this one on, to rows from the place on.
    ///
    /// # Safety
    ///
    /// - there are such sets, and none is moved twice or used afterwards
    /// - the place has an offset for each type of a set, in their order
    /// - so many rows from the place on have no values that have to be dropped
    unsafe fn write(&self, first: usize, rows: usize, place: RowPlace);
}

impl<S: ComponentSet> Sets for Vec<ManuallyDrop<S>> {
    unsafe fn write(&self, first: usize, rows: usize, place: RowPlace) {
        for (at, set) in self[first..first + rows].iter().enumerate() {
            // SAFETY: the set is moved once, and not used afterwards. The rest is as the caller promises.
            unsafe { ptr::read(&raw const **set).write(place.rows_after(at)) };
        }
    }
}

/// A set whose type was erased, to be cloned.
pub(super) trait Clones {
    /// See [`CloneSet::fill`].
    ///
    /// # Safety
    ///
    /// - as there
    unsafe fn fill(&self, place: RowPlace, rows: usize, done: &mut usize);
}

impl<S: CloneSet> Clones for S {
    unsafe fn fill(&self, place: RowPlace, rows: usize, done: &mut usize) {
        // SAFETY: as the caller promises.
        unsafe { CloneSet::fill(self, place, rows, done) }
    }
}

/// A plan whose values are there: nothing can go wrong any more.
pub(super) struct FilledPlan<'s> {
    pub(super) plan: BulkPlan<'s>,
    /// Whether one row was staged, whose bytes are repeated. If not, those of each step that replaces values were, in their order.
    pub(super) is_pattern: bool,
}

/// New rows that were written, all columns of some moves and the first columns of the next: dropped if something panics.
struct FilledMoves<'a> {
    plan: &'a BulkPlan<'a>,
    transfers: &'a Transfers,
    /// Which columns are written for a transfer, one after the other.
    columns: &'a dyn Fn(&Transfer) -> FewNumbers,
    moves: usize,
    /// How many columns of the one_move after those.
    done: usize,
}

impl FilledMoves<'_> {
    /// Says that the one_move at hand has all its columns.
    fn end_move(&mut self) {
        self.moves += 1;
        self.done = 0;
    }

    /// Says that the rows have an owner now.
    fn keep(self) {
        mem::forget(self);
    }
}

impl Drop for FilledMoves<'_> {
    fn drop(&mut self) {
        for (at, one_move) in self.plan.lists.moves[..].iter().enumerate().take(self.moves + 1) {
            let columns = (self.columns)(&self.transfers[one_move.transfer]);
            let done = if at < self.moves { columns.len() } else { self.done };
            let mut rows = self.plan.new_rows(one_move);
            rows.columns.extend_from_slice(&columns[..done]);
        }
    }
}

impl<'s> BulkPlan<'s> {
    /// Makes all values: those for rows that move are written there, the others kept apart. If that panics, nothing is left.
    pub(super) fn write_values(
        mut self,
        transfers: &Transfers,
        types: &[ComponentType],
        values: &NewValues<'_>,
    ) -> FilledPlan<'s> {
        let mut is_pattern = false;
        match *values {
            NewValues::Nothing => {}
            NewValues::Initial => self.write_initial(transfers),
            NewValues::Clones(set) if is_pattern_of(types) => {
                is_pattern = true;
                self.stage(types, set, 1);
            }
            NewValues::Clones(set) => self.write_clones(transfers, types, set),
            NewValues::Each(sets) => self.write_each(transfers, types, sets),
        }
        FilledPlan { plan: self, is_pattern }
    }

    /// Keeps clones for so many rows apart.
    fn stage(&mut self, types: &[ComponentType], set: &dyn Clones, rows: usize) {
        let mut staged = self.lists.stage();
        // SAFETY: the set has these types, and is borrowed here alone.
        let fill = |place, done: &mut usize| unsafe { set.fill(place, rows, done) };
        // SAFETY: the function writes so many rows of them.
        unsafe { staged.write(types, rows, fill) };
        self.lists.staged.push(staged);
    }

    /// Writes initial values to the new rows.
    fn write_initial(&self, transfers: &Transfers) {
        let columns = |transfer: &Transfer| transfer.written.iter().copied().collect();
        let mut filled =
            FilledMoves { plan: self, transfers, columns: &columns, moves: 0, done: 0 };
        for one_move in &self.lists.moves {
            let chunk = &self.reserved.storage.chunks[one_move.to.chunk];
            for &column in &transfers[one_move.transfer].written {
                let (first, rows) = (one_move.to.first, one_move.to.rows);
                // SAFETY: the rows are reserved; that there is an initial value was checked.
                unsafe { write_initial(chunk.shape(), chunk.data(), column, first, rows) };
                filled.done += 1;
            }
            filled.end_move();
        }
        for (step, transfer, shape) in self.whole_steps(transfers) {
            let data = self.reserved.storage.chunks[step.chunk].data();
            for &column in &transfer.written {
                // SAFETY: the columns have no bytes, in this chunk or any other; that there is an initial value was checked.
                unsafe { write_initial(shape, data, column, 0, step.rows) };
            }
        }
        filled.keep();
    }

    /// Writes clones to the new rows, and keeps those apart that are for rows which stay where they are.
    fn write_clones(&mut self, transfers: &Transfers, types: &[ComponentType], set: &dyn Clones) {
        // Those come first, since they are dropped with the lists.
        for at in 0..self.lists.steps.len() {
            if self.lists.steps[at].action == RowAction::Replace {
                let rows = self.lists.steps[at].rows as usize;
                self.stage(types, set, rows);
            }
        }
        // The order of a set is not that of its columns.
        let columns = |transfer: &Transfer| {
            let index = &self.reserved.storage.archetypes[transfer.to].shape.index;
            types.iter().filter_map(|&ty| index.find(ty)).map(|found| found.column).collect()
        };
        let mut filled =
            FilledMoves { plan: self, transfers, columns: &columns, moves: 0, done: 0 };
        for one_move in &self.lists.moves {
            let offsets = &transfers[one_move.transfer].offsets;
            let place =
                self.reserved.storage.chunks[one_move.to.chunk].row(one_move.to.first, offsets);
            // SAFETY:
            // - the offsets are those of the set in the archetype that the chunk is of
            // - the rows are reserved, behind the last of the chunk
            // - the set is borrowed here alone
            unsafe { set.fill(place, one_move.to.rows as usize, &mut filled.done) };
            filled.end_move();
        }
        for (step, transfer, _) in self.whole_steps(transfers) {
            let place = self.reserved.storage.chunks[step.chunk].row(0, &transfer.offsets);
            // SAFETY: no type of the set has bytes, or something to be dropped. An address that is aligned for them is enough.
            unsafe { set.fill(place, step.rows as usize, &mut 0) };
        }
        filled.keep();
    }

    /// Moves a set to each of the new rows, and keeps those apart that are for rows which stay where they are. No code of the user
    /// runs.
    fn write_each(&mut self, transfers: &Transfers, types: &[ComponentType], sets: &dyn Sets) {
        let (mut first, mut moves) = (0, 0);
        for at in 0..self.lists.steps.len() {
            let BulkStep { chunk, action, rows, .. } = self.lists.steps[at];
            let rows = rows as usize;
            match action {
                RowAction::Replace => {
                    let mut staged = self.lists.stage();
                    let write = |place, done: &mut usize| {
                        // SAFETY: the sets of these rows come next. Room for them was just made, of the types of the set.
                        unsafe { sets.write(first, rows, place) };
                        *done += types.len();
                    };
                    // SAFETY: the function writes so many rows of these types.
                    unsafe { staged.write(types, rows, write) };
                    self.lists.staged.push(staged);
                }
                RowAction::Rows(_) => {
                    let mut now = first;
                    for one_move in &self.lists.moves[moves..] {
                        if one_move.chunk != chunk {
                            break;
                        }
                        let offsets = &transfers[one_move.transfer].offsets;
                        let to = &self.reserved.storage.chunks[one_move.to.chunk];
                        let (place, moved) =
                            (to.row(one_move.to.first, offsets), one_move.to.rows as usize);
                        // SAFETY:
                        // - moves are in the order of the rows that were found, and so are the sets
                        // - the offsets are those of the set in the archetype that the chunk is of
                        // - the rows are reserved, behind the last of the chunk
                        unsafe { sets.write(now, moved, place) };
                        (now, moves) = (now + moved, moves + 1);
                    }
                    assert_eq!(now, first + rows, "the moves of a step have its rows");
                }
                // The chunk stays, or goes as a whole: the sets have no bytes, and nothing to be dropped.
                RowAction::Open | RowAction::Stay | RowAction::Whole(_) | RowAction::Destroy => {}
                RowAction::Follow(_) | RowAction::Refit(_) => {
                    unreachable!("such rows have nothing to be written before")
                }
            }
            first += rows;
        }
    }

    /// The steps in which whole chunks go to another archetype, with the shapes of those.
    fn whole_steps<'a>(
        &'a self,
        transfers: &'a Transfers,
    ) -> impl Iterator<Item = (&'a BulkStep, &'a Transfer, &'a ArchetypeShape)> {
        let whole =
            self.lists.steps.iter().filter(|step| matches!(step.action, RowAction::Whole(_)));
        whole.map(move |step| {
            let transfer = &transfers[step.transfer];
            (step, transfer, &*self.reserved.storage.archetypes[transfer.to].shape)
        })
    }

    /// The rows that a one_move goes to, without any values.
    fn new_rows(&self, one_move: &BulkMove) -> NewRows<'_> {
        let chunk = &self.reserved.storage.chunks[one_move.to.chunk];
        // SAFETY: columns are added when they are written, and the rows are nobody's yet.
        unsafe { NewRows::new(chunk.shape(), chunk.data(), one_move.to.first, one_move.to.rows) }
    }
}

/// Whether the values of a set are duplicated by copying their bytes: then one row of it is enough.
pub(super) fn is_pattern_of(types: &[ComponentType]) -> bool {
    types.iter().all(|ty| matches!(ty.0.copying, Copying::Bytes))
}

/// Writes the values of one row to others, for all types of a set that have bytes.
///
/// # Safety
///
/// - the chunk has room for the rows, and is the world's alone; there are no values in them that have to be dropped
/// - it has all types of the set, whose values are duplicated by copying their bytes
pub(super) unsafe fn repeat_pattern(
    storage: &Storage,
    pattern: &Staged,
    chunk: u32,
    first: u32,
    rows: u32,
) {
    let chunk = &storage.chunks[chunk];
    for (ty, value) in pattern.columns().filter(|(ty, _)| ty.size() > 0) {
        let found = chunk.find(ty).expect("the archetype has all types of the set");
        let to = chunk.column(found.offset).wrapping_add(first as usize * ty.size());
        // SAFETY: there is one value, and room for so many.
        unsafe { repeat_bytes(value, to, ty.size(), rows as usize) };
    }
}

impl FilledPlan<'_> {
    /// Does what was planned. Nothing is refused, and no code of the user runs. Returns the lists, and what is to be dropped
    /// beside that which is in them.
    pub(super) fn apply<'t>(
        self,
        transfers: &'t Transfers,
        found: &RowSelection,
    ) -> (PlanLists, Dead<'t>) {
        let Self { plan: BulkPlan { reserved, mut lists }, is_pattern } = self;
        let mut dead = Dead::new(mem::take(&mut lists.dead));
        let PlanLists { steps, moves, emptied, spare, staged, .. } = &mut lists;
        let storage = reserved.into_storage();
        for &archetype in &*emptied {
            storage.unlist_chunks(archetype);
        }
        let (pattern, mut staged) =
            if is_pattern { (staged.first(), [].iter()) } else { (None, staged.iter()) };
        let mut moves = moves.as_slice();
        for (at, step) in steps.iter().enumerate() {
            match step.action {
                // Whole chunks are the last, since those with room may be shared, and others would come to them.
                RowAction::Open | RowAction::Stay | RowAction::Whole(_) => {}
                RowAction::Replace => {
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
                RowAction::Rows(_) => {
                    let count =
                        moves.iter().take_while(|one_move| one_move.chunk == step.chunk).count();
                    let (now, later) = moves.split_at(count);
                    moves = later;
                    now.iter().for_each(|one_move| {
                        move_piece(storage, one_move, transfers, pattern, None);
                    });
                    let left = &transfers[step.transfer].left;
                    // SAFETY: the rows were moved, but for what the transfer leaves.
                    drop(unsafe { take_away(storage, step, found, left, &mut dead) });
                }
                RowAction::Follow(group) => {
                    let transfer = &transfers[step.transfer];
                    let soon = steps.get(at + 1).filter(|soon| soon.transfer == step.transfer);
                    let soon = soon.map(|soon| soon.chunk);
                    for run in step.runs(found) {
                        let (mut first, end) = (run.first, run.first + run.rows);
                        while first < end {
                            let to = room_for(storage, transfer.to, group, end - first, spare);
                            let (chunk, transfer) = (step.chunk, step.transfer);
                            let one_move = BulkMove { chunk, first, to, transfer };
                            move_piece(storage, &one_move, transfers, pattern, soon);
                            first += to.rows;
                        }
                    }
                    // SAFETY: the rows were moved, but for what the transfer leaves.
                    spare.extend(unsafe {
                        take_away(storage, step, found, &transfer.left, &mut dead)
                    });
                }
                RowAction::Refit(group) => {
                    let transfer = &transfers[step.transfer];
                    let soon = steps.get(at + 1).filter(|soon| soon.transfer == step.transfer);
                    let kept = step.rows.min(storage.archetypes[transfer.to].shape.capacity);
                    let mut first = kept;
                    while first < step.rows {
                        let rows = step.rows - first;
                        let to = room_for(storage, transfer.to, group, rows, spare);
                        let (chunk, transfer) = (step.chunk, step.transfer);
                        let one_move = BulkMove { chunk, first, to, transfer };
                        move_piece(storage, &one_move, transfers, pattern, None);
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
                RowAction::Destroy => {
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
            let RowAction::Whole(group) = step.action else { continue };
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
    one_move: &BulkMove,
    transfers: &Transfers,
    pattern: Option<&Staged>,
    soon: Option<u32>,
) {
    let &BulkMove { chunk, first, to, transfer } = one_move;
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
    step: &BulkStep,
    found: &RowSelection,
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
fn note_written(
    storage: &mut Storage,
    step: &BulkStep,
    transfers: &Transfers,
    found: &RowSelection,
) {
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
