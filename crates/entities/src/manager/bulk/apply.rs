//! Writing the new values of a planned bulk change, and applying it.

#![expect(unsafe_code, reason = "writes components to rows that were reserved for them")]

use std::mem::{self, ManuallyDrop};
use std::ops::Range;
use std::ptr;

use super::RowSelection;
use super::plan::{BulkMove, BulkPlan, BulkStep, PlanLists, RowAction};
use crate::component::{ComponentType, Copying};
use crate::set::{CloneSet, ComponentSet};
use crate::storage::{
    ArchetypeShape, Chunk, ChunkMemory, DeferredDrop, InlineIndices, InlineVec, NOWHERE, RowPlace,
    RowRange, StagedRows, Storage, Transfer, Transfers, repeat_bytes, write_initial,
};

/// The new values of a bulk change.
pub(super) enum NewValues<'a> {
    Nothing,
    /// Default values of the types.
    Initial,
    /// Clones of one set for each entity.
    Clones(&'a dyn Clones),
    /// A separate set for each entity, in the order of the rows. All sets are moved when the values are written.
    Each(&'a dyn Sets),
}

/// A list of type-erased sets that are moved to rows. None of their types is shared.
pub(super) trait Sets {
    /// Moves `rows` sets, beginning with the set `first`, to consecutive rows that begin at `place`.
    ///
    /// # Safety
    ///
    /// - the sets exist, and none is moved twice or used afterwards
    /// - the place has an offset for each type of a set, in the order of the set
    /// - the `rows` rows that begin at the place have no values to be dropped
    unsafe fn write(&self, first: usize, rows: usize, place: RowPlace);
}

impl<S: ComponentSet> Sets for Vec<ManuallyDrop<S>> {
    unsafe fn write(&self, first: usize, rows: usize, place: RowPlace) {
        for (at, set) in self[first..first + rows].iter().enumerate() {
            // SAFETY: the caller moves each set once, and does not use it afterwards. The place has the offsets of the set, and
            // the rows have no values to be dropped.
            unsafe { ptr::read(&raw const **set).write(place.rows_after(at)) };
        }
    }
}

/// A type-erased set that is cloned.
pub(super) trait Clones {
    /// Writes clones of the set to rows. See [`CloneSet::fill`].
    ///
    /// # Safety
    ///
    /// - the contract of [`CloneSet::fill`] holds
    unsafe fn fill(&self, place: RowPlace, rows: usize, done: &mut usize);
}

impl<S: CloneSet> Clones for S {
    unsafe fn fill(&self, place: RowPlace, rows: usize, done: &mut usize) {
        // SAFETY: both functions have the same contract.
        unsafe { CloneSet::fill(self, place, rows, done) }
    }
}

/// A plan whose values are written, so that applying it cannot fail.
pub(super) struct FilledPlan<'s> {
    pub(super) plan: BulkPlan<'s>,
    /// True if one row is staged, whose bytes are repeated for all rows. Otherwise the values of each `Replace` step are staged,
    /// in order.
    pub(super) is_pattern: bool,
}

impl<'s> BulkPlan<'s> {
    /// Creates all new values. Values of rows that move are written to their new rows, and all others are staged. If user code
    /// panics, all new values are dropped.
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
                self.write_required(transfers);
            }
            NewValues::Clones(set) => self.write_clones(transfers, types, set),
            NewValues::Each(sets) => {
                // The sets are moved last, because constructors of required components run user code.
                self.write_required(transfers);
                self.write_each(transfers, types, sets);
            }
        }
        FilledPlan { plan: self, is_pattern }
    }

    /// Stages clones of a set for `rows` rows.
    fn stage(&mut self, types: &[ComponentType], set: &dyn Clones, rows: usize) {
        let mut staged = self.lists.stage();
        // SAFETY: the set has these types, and nothing else uses it during the call.
        let fill = |place, done: &mut usize| unsafe { set.fill(place, rows, done) };
        // SAFETY: `fill` writes values of these types to `rows` rows.
        unsafe { staged.write(types, rows, fill) };
        self.lists.staged.push(staged);
    }

    /// Writes initial values to the reserved rows of all moves.
    fn write_initial(&mut self, transfers: &Transfers) {
        for row_move in &self.lists.moves {
            // SAFETY: the rows of each move are reserved, and no other move has them. The result is held by the reservation.
            let mut rows = unsafe { self.reserved.rows(row_move.to) };
            let transfer = &transfers[row_move.transfer];
            rows.write_initial(transfer.initial());
            rows.write_required(&transfer.required);
            self.reserved.hold(rows);
        }
        for (step, transfer, shape) in self.whole_steps(transfers) {
            let data = self.reserved.storage.chunks[step.chunk].data();
            for &column in &transfer.written {
                // SAFETY: the columns have no bytes, so that they have room in any chunk. `transfer_for` has checked that they
                // have an initial value.
                unsafe { write_initial(shape, data, column, 0, step.rows) };
            }
        }
    }

    /// Writes required components to the reserved rows of all moves, whose other columns are written elsewhere.
    fn write_required(&mut self, transfers: &Transfers) {
        for row_move in &self.lists.moves {
            let required = &transfers[row_move.transfer].required;
            if !required.is_empty() {
                // SAFETY: the rows of each move are reserved, and no other move has them. The result is held by the reservation, and
                // has only the required columns.
                let mut rows = unsafe { self.reserved.rows(row_move.to) };
                rows.write_required(required);
                self.reserved.hold(rows);
            }
        }
    }

    /// Writes clones to the reserved rows of all moves, and stages clones for rows that are not moved.
    fn write_clones(&mut self, transfers: &Transfers, types: &[ComponentType], set: &dyn Clones) {
        // Staged values are created first, because they are dropped with the lists if user code panics.
        for at in 0..self.lists.steps.len() {
            if self.lists.steps[at].action == RowAction::Replace {
                let rows = self.lists.steps[at].rows as usize;
                self.stage(types, set, rows);
            }
        }
        let (mut last, mut columns) = (NOWHERE, InlineIndices::default());
        for &BulkMove { to, transfer: number, .. } in &self.lists.moves {
            let transfer = &transfers[number];
            if mem::replace(&mut last, number) != number {
                // The columns are listed in the order of the set, which differs from that of the archetype.
                let index = &self.reserved.storage.archetypes[transfer.to].shape.index;
                let found = types.iter().filter_map(|&ty| index.find(ty));
                columns = found.map(|found| found.column).collect();
            }
            // SAFETY:
            // - the rows of each move are reserved, and no other move has them
            // - the offsets and columns are those of the set in the chunk's archetype
            // - nothing else uses the set during the call
            let rows = unsafe {
                let mut rows = self.reserved.rows(to);
                let place = rows.place(&transfer.offsets);
                rows.write_columns(&columns, |done| set.fill(place, to.rows as usize, done));
                rows.write_required(&transfer.required);
                rows
            };
            self.reserved.hold(rows);
        }
        for (step, transfer, _) in self.whole_steps(transfers) {
            let place = self.reserved.storage.chunks[step.chunk].row(0, &transfer.offsets);
            // SAFETY: no type of the set has bytes or drop glue, so an aligned address suffices.
            unsafe { set.fill(place, step.rows as usize, &mut 0) };
        }
    }

    /// Moves a set to each reserved row, and stages the sets for rows that are not moved. Runs no user code.
    fn write_each(&mut self, transfers: &Transfers, types: &[ComponentType], sets: &dyn Sets) {
        let (mut first, mut moves) = (0, 0);
        for at in 0..self.lists.steps.len() {
            let BulkStep { chunk, action, rows, .. } = self.lists.steps[at];
            let rows = rows as usize;
            match action {
                RowAction::Replace => {
                    let mut staged = self.lists.stage();
                    let write = |place, done: &mut usize| {
                        // SAFETY: the sets that begin at `first` belong to these rows, and each is moved once. The place has room
                        // for their types.
                        unsafe { sets.write(first, rows, place) };
                        *done += types.len();
                    };
                    // SAFETY: `write` writes values of these types to `rows` rows.
                    unsafe { staged.write(types, rows, write) };
                    self.lists.staged.push(staged);
                }
                RowAction::Rows(_) => {
                    let mut now = first;
                    for row_move in &self.lists.moves[moves..] {
                        if row_move.chunk != chunk {
                            break;
                        }
                        let offsets = &transfers[row_move.transfer].offsets;
                        let to = &self.reserved.storage.chunks[row_move.to.chunk];
                        let (place, moved) =
                            (to.row(row_move.to.first, offsets), row_move.to.rows as usize);
                        // SAFETY:
                        // - moves and sets are both in the order of the rows, so each set is moved once
                        // - the offsets are those of the set in the chunk's archetype
                        // - the rows are reserved, and follow the last row of the chunk
                        unsafe { sets.write(now, moved, place) };
                        (now, moves) = (now + moved, moves + 1);
                    }
                    assert_eq!(now, first + rows, "the moves of a step have its rows");
                }
                // The chunk stays or moves as a whole, or is despawned. In the first two cases the sets have neither bytes nor
                // drop glue.
                RowAction::Open | RowAction::Stay | RowAction::Whole(_) | RowAction::Destroy => {}
                RowAction::Follow(_) | RowAction::Refit(_) => {
                    unreachable!("such rows have nothing to be written before")
                }
            }
            first += rows;
        }
    }

    /// Iterates over the steps that move whole chunks, with their transfers and target shapes.
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
}

/// Returns whether all values of a set are duplicated by copying their bytes, so that staging one row suffices.
pub(super) fn is_pattern_of(types: &[ComponentType]) -> bool {
    types.iter().all(|ty| matches!(ty.0.copying, Copying::Bytes))
}

/// Writes the staged values of one row to contiguous rows of a chunk, for all types of a set that have bytes.
///
/// # Safety
///
/// - the chunk has room for the rows, and is unshared; the rows have no values to be dropped
/// - the chunk has all types of the set, whose values are duplicated by copying their bytes
pub(super) unsafe fn repeat_pattern(
    storage: &Storage,
    pattern: &StagedRows,
    chunk: u32,
    first: u32,
    rows: u32,
) {
    let chunk = &storage.chunks[chunk];
    for (ty, value) in pattern.columns().filter(|(ty, _)| ty.size() > 0) {
        let found = chunk.find(ty).expect("the archetype has all types of the set");
        let to = chunk.column(found.offset).wrapping_add(first as usize * ty.size());
        // SAFETY: there is one value, and the chunk has room for `rows` values, by the contract of this function.
        unsafe { repeat_bytes(value, to, ty.size(), rows as usize) };
    }
}

impl FilledPlan<'_> {
    /// Applies the plan. It cannot fail, and runs no user code. Returns the lists, which contain the deferred drops.
    pub(super) fn apply(self, transfers: &Transfers, found: &RowSelection) -> PlanLists {
        let Self { plan: BulkPlan { mut reserved, mut lists, handles_rows, .. }, is_pattern } =
            self;
        let PlanLists { steps, moves, emptied, spare, staged, dead, .. } = &mut lists;
        reserved.keep();
        let storage = &mut *reserved.storage;
        for &archetype in &*emptied {
            storage.archetypes.unlist_chunks(archetype);
        }
        let (pattern, mut staged) =
            if is_pattern { (staged.first(), [].iter_mut()) } else { (None, staged.iter_mut()) };
        let mut mover = RowMover { storage, transfers, pattern, spare };
        let mut moves = moves.as_slice();
        let row_steps = if handles_rows { steps.as_slice() } else { &[] };
        for (at, step) in row_steps.iter().enumerate() {
            let soon = steps.get(at + 1).filter(|soon| soon.transfer == step.transfer);
            let soon = soon.map(|soon| soon.chunk);
            match step.action {
                // Whole chunks are moved last, so that a shared chunk with room does not get rows of other steps.
                RowAction::Open | RowAction::Stay | RowAction::Whole(_) => {}
                RowAction::Replace => {
                    log_replaced(mover.storage, step, transfers, found);
                    note_written(mover.storage, step, transfers, found);
                    for run in step.runs(found) {
                        let Some(pattern) = pattern else { break };
                        // SAFETY: `prepare_chunk` has made the chunk unshared. Its entities have all types of the set, whose
                        // values are copied as bytes.
                        unsafe {
                            repeat_pattern(mover.storage, pattern, run.chunk, run.first, run.rows);
                        };
                    }
                    if let Some(rows) = staged.next() {
                        exchange(mover.storage, rows, step.runs(found));
                    }
                }
                RowAction::Rows(_) => {
                    let transfer = &transfers[step.transfer];
                    let count =
                        moves.iter().take_while(|row_move| row_move.chunk == step.chunk).count();
                    let (now, later) = moves.split_at(count);
                    moves = later;
                    now.iter().for_each(|row_move| mover.move_piece(row_move, None));
                    // SAFETY: all values of the rows were moved, except those of the columns that the transfer leaves behind.
                    // The lists of columns live as long as the storage.
                    unsafe {
                        let left = &*left_columns(mover.storage, step.chunk, &transfer.left);
                        drop(remove_rows(mover.storage, step, found, left, dead));
                    }
                }
                RowAction::Follow(group) => {
                    let transfer = &transfers[step.transfer];
                    for run in step.runs(found) {
                        mover.move_to_room(step, run.first..run.first + run.rows, group, soon);
                    }
                    // SAFETY: all values of the rows were moved, except those of the columns that the transfer leaves behind.
                    // The lists of columns live as long as the storage.
                    let free = unsafe {
                        let left = &*left_columns(mover.storage, step.chunk, &transfer.left);
                        remove_rows(mover.storage, step, found, left, dead)
                    };
                    mover.spare.extend(free);
                }
                RowAction::Refit(group) => {
                    let transfer = &transfers[step.transfer];
                    let capacity = mover.storage.archetypes[transfer.to].shape.capacity;
                    let kept = step.rows.min(capacity);
                    mover.move_to_room(step, kept..step.rows, group, None);
                    // SAFETY: the plan has checked that the chunk can be repacked, and that the group belongs to the archetype.
                    // The rows after those that are kept were moved.
                    unsafe { mover.storage.repack_chunk(step.chunk, kept, group, transfer, soon) };
                    if let Some(pattern) = pattern {
                        // SAFETY: the chunk has the rows, is unshared, and has all types of the set, whose values are copied as
                        // bytes.
                        unsafe { repeat_pattern(mover.storage, pattern, step.chunk, 0, kept) };
                    }
                }
                RowAction::Destroy => {
                    let chunk = &mover.storage.chunks[step.chunk];
                    let is_observed = chunk.is_observed();
                    // SAFETY: archetypes live as long as the storage, which outlives the deferred drops.
                    let shape = unsafe { chunk.unbound_shape() };
                    for &run in step.runs(found) {
                        if is_observed {
                            // SAFETY: the rows exist. `prepare_chunk` has made the chunk unshared if the log takes values, which
                            // are then not dropped.
                            unsafe { mover.storage.log_destroyed(run) };
                        }
                        mover.storage.table.free_rows(mover.storage.chunks.entities_in(run));
                    }
                    // SAFETY: the entities are freed. All values that need to be dropped are still in the rows, in the columns
                    // `shape.dropped`, except those that the log has taken. The lists of columns live as long as the storage,
                    // which outlives the deferred drops.
                    unsafe {
                        let left = &*left_columns(mover.storage, step.chunk, &shape.dropped);
                        drop(remove_rows(mover.storage, step, found, left, dead));
                    }
                }
            }
        }
        for step in &*steps {
            let RowAction::Whole(group) = step.action else { continue };
            mover.storage.log_relabelled(step.chunk, &transfers[step.transfer]);
            // SAFETY: the chunk exists. The plan has checked that the transfer keeps chunks whole, that the group belongs to the
            // archetype, and that new columns can be duplicated if the memory is shared.
            unsafe { mover.storage.relabel_chunk(step.chunk, group, &transfers[step.transfer]) };
        }
        lists
    }
}

/// Moves rows to other chunks, and writes the staged pattern there.
struct RowMover<'a> {
    storage: &'a mut Storage,
    transfers: &'a Transfers,
    pattern: Option<&'a StagedRows>,
    /// Memory for new chunks, which earlier steps have freed.
    spare: &'a mut Vec<ChunkMemory>,
}

impl RowMover<'_> {
    /// Moves rows of a step's chunk to free rows of a group. If no chunk has room, creates one from spare memory.
    fn move_to_room(&mut self, step: &BulkStep, rows: Range<u32>, group: u32, soon: Option<u32>) {
        let (archetype, mut first) = (self.transfers[step.transfer].to, rows.start);
        while first < rows.end {
            let chunk = match self.storage.archetypes.rooms(archetype, group).last() {
                Some(&chunk) => chunk,
                None => {
                    let memory =
                        self.spare.pop().expect("the plan has seen to it that there is enough");
                    self.storage.open_chunk_with(archetype, group, memory)
                }
            };
            let Chunk { len, .. } = self.storage.chunks[chunk];
            let room = self.storage.chunks[chunk].capacity() - len;
            let to = RowRange { chunk, first: len, rows: room.min(rows.end - first) };
            self.move_piece(
                &BulkMove { chunk: step.chunk, first, to, transfer: step.transfer },
                soon,
            );
            first += to.rows;
        }
    }

    /// Moves rows to reserved rows. `soon` is the chunk of the next move, which is prefetched.
    fn move_piece(&mut self, row_move: &BulkMove, soon: Option<u32>) {
        let &BulkMove { chunk, first, to, transfer } = row_move;
        if let Some(pattern) = self.pattern {
            // SAFETY: the rows are reserved, in a chunk whose archetype has all types of the set. These are copied as bytes.
            unsafe { repeat_pattern(self.storage, pattern, to.chunk, to.first, to.rows) };
        }
        // SAFETY:
        // - the selected rows exist, because they have not been moved yet; both chunks are unshared, or the source chunk has only
        //   bytes and is removed as a whole; the chunks differ, because their archetypes or groups differ
        // - the target chunk has room after its last row
        // - the transfer begins at the archetype of the source chunk, and the columns that it writes are written
        unsafe { self.storage.copy_rows(chunk, first, to, &self.transfers[transfer], soon) };
    }
}

/// Removes rows from their chunk, or removes the whole chunk if it has no other rows. Returns the memory of a removed chunk if no
/// values are left in it.
///
/// # Safety
///
/// - the entities of the rows are in other rows, or are freed
/// - the values of all columns that are not in `left` were moved, or need not be dropped
/// - the list of columns outlives the deferred drops
unsafe fn remove_rows(
    storage: &mut Storage,
    step: &BulkStep,
    found: &RowSelection,
    left: &[u32],
    dead: &mut DeferredDrop,
) -> Option<ChunkMemory> {
    if step.rows == storage.chunks[step.chunk].len {
        storage.chunks[step.chunk].note_order(storage.version);
        let chunk = storage.close_chunk(step.chunk);
        // SAFETY: only the values of the columns `left` remain, by the contract of this function. Archetypes live as long as the
        // storage.
        return unsafe { dead.add_chunk(chunk, left) };
    }
    // The last run is removed first, so that no removed row is moved into the gap of another.
    for run in step.runs(found).iter().rev() {
        // SAFETY: the chunk has more rows than these, and was made unshared. The entities are in other rows or freed, and only
        // the values of the columns `left` remain.
        unsafe { storage.close_gap(step.chunk, run.first, run.rows, left) };
    }
    // SAFETY: the remaining values of the runs follow the last row, one run after the other. They are not overwritten before they
    // are dropped, because rows are added only to chunks with reserved rows, and those lose no rows.
    unsafe { dead.add_rows(&storage.chunks[step.chunk], step.rows, left) };
    None
}

/// Returns those of the columns of a chunk whose values the log has not taken. The list lives as long as the storage, or as the
/// given list.
fn left_columns(storage: &mut Storage, chunk: u32, columns: &[u32]) -> *const [u32] {
    if storage.chunks[chunk].is_observed() {
        storage.kept_columns_not_taken(chunk, columns)
    } else {
        columns
    }
}

/// Logs the values that a step replaces. The log takes those that observers request.
fn log_replaced(
    storage: &mut Storage,
    step: &BulkStep,
    transfers: &Transfers,
    found: &RowSelection,
) {
    if storage.chunks[step.chunk].is_observed() {
        for &run in step.runs(found) {
            // SAFETY: the rows exist, in a chunk that `prepare_chunk` has made unshared. The transfer leads from its archetype to
            // itself. The values that the log takes are overwritten without being dropped.
            unsafe { storage.log_replaced_rows(run, &transfers[step.transfer]) };
        }
    }
}

/// Marks the components that a step writes as changed.
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

/// Exchanges staged values with the values of rows, for all types that have bytes. Values that the log has taken are overwritten.
fn exchange(storage: &mut Storage, values: &mut StagedRows, runs: &[RowRange]) {
    let Some(&RowRange { chunk, .. }) = runs.first() else { return };
    let (archetype, is_observed) =
        (storage.chunks[chunk].archetype, storage.chunks[chunk].is_observed());
    let columns: InlineVec<_, 8> = values.columns().filter(|(ty, _)| ty.size() > 0).collect();
    for (ty, first) in columns {
        let mut value = first;
        let is_taken = is_observed && storage.takes_column(archetype, ty);
        if is_taken {
            values.forget(ty);
        }
        for run in runs {
            let chunk = &storage.chunks[run.chunk];
            let found = chunk.find(ty).expect("the entities have it");
            let row = chunk.column(found.offset).wrapping_add(run.first as usize * ty.size());
            let bytes = run.rows as usize * ty.size();
            // SAFETY: both sides have the same number of values of the type, and do not overlap. The chunk was made unshared.
            unsafe {
                if is_taken {
                    row.copy_from_nonoverlapping(value, bytes);
                } else {
                    ptr::swap_nonoverlapping(value, row, bytes);
                }
                value = value.add(bytes);
            }
        }
    }
}
