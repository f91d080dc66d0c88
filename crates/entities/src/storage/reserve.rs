//! Reservation of free rows for many entities at once.

#![expect(unsafe_code, reason = "values and ids in rows without an owner")]

use std::mem;
use std::ptr::NonNull;

use super::archetype::ArchetypeShape;
use super::arena::OutOfMemory;
use super::chunk::RowPlace;
use super::inline_vec::InlineIndices;
use super::raw_values::{drop_values, duplicate_column, duplicate_value, write_initial};
use super::transfer::{RequiredColumn, Transfer};
use super::{Chunk, Chunks, GroupKey, NOWHERE, Storage};
use crate::entity::Entity;
use crate::field::EntityRemap;

/// Contiguous rows of a chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowRange {
    pub(crate) chunk: u32,
    pub(crate) first: u32,
    pub(crate) rows: u32,
}

/// Reserved rows in unshared chunks. Rows that were not committed or kept are released on drop.
///
/// During a reservation, there may be chunks without entities and groups without chunks. No other code can see them.
pub(crate) struct ReservedRows<'s> {
    pub(crate) storage: &'s mut Storage,
    pub(crate) runs: &'s mut Vec<RowRange>,
    /// The number of runs that have ids. The entity table already contains these ids.
    named: usize,
    /// The number of runs that have values in all columns.
    complete: usize,
    /// The numbers of archetypes and groups that the reservation may have created.
    groups: Vec<(u32, u32)>,
    /// Rows whose values are dropped if the reservation is released.
    filled: Vec<NewRows>,
    is_kept: bool,
}

impl<'s> ReservedRows<'s> {
    /// Reserves rows in the chunks of a shared-value group, or of an archetype without groups.
    pub(crate) fn new(
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

    /// Creates an empty reservation.
    pub(crate) fn nothing(storage: &'s mut Storage, runs: &'s mut Vec<RowRange>) -> Self {
        runs.clear();
        let (groups, filled) = mem::take(&mut storage.reserve_scratch);
        Self { storage, runs, named: 0, complete: 0, groups, filled, is_kept: false }
    }

    /// Returns the group that rows of chunk `from` move to with a transfer that has no given shared values. Creates it if
    /// necessary.
    pub(crate) fn group_by(&mut self, transfer: &Transfer, from: u32) -> u32 {
        let group = self.storage.group_by(transfer, from);
        self.note_group(transfer.to, group);
        group
    }

    /// Returns the group of an archetype with this key. Creates it if necessary.
    pub(crate) fn group_of(&mut self, archetype: u32, key: GroupKey) -> u32 {
        let group = self.storage.group_of(archetype, key);
        self.note_group(archetype, group);
        group
    }

    fn note_group(&mut self, archetype: u32, group: u32) {
        let entry = (archetype, group);
        // Usually the group is that of the previous chunk.
        if group != NOWHERE && self.groups.last() != Some(&entry) {
            self.groups.push(entry);
        }
    }

    /// Reserves rows in a group, or in an archetype without groups, in which this reservation has no rows yet.
    pub(crate) fn more(
        &mut self,
        archetype: u32,
        group: u32,
        rows: usize,
    ) -> Result<(), OutOfMemory> {
        let mut missing = rows;
        // The last chunk is filled first, in the same order as when entities are added one by one.
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

    /// Splits each run that crosses a multiple of `rows` rows, counted over all runs.
    pub(crate) fn divide(&mut self, rows: usize) {
        // The new runs are appended, and the old ones are removed afterwards, so that no second vector is needed.
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

    /// Keeps the rows and their values, for a caller that uses the rows immediately. Nothing is released on drop.
    pub(crate) fn keep(&mut self) {
        self.is_kept = true;
        self.filled.drain(..).for_each(NewRows::keep);
        self.groups.clear();
    }

    /// Returns reserved rows, which have no values yet.
    ///
    /// # Safety
    ///
    /// - the rows were reserved by this reservation, and were not returned before
    /// - the result is dropped before the reservation, or [held](Self::hold) by it
    pub(crate) unsafe fn rows(&self, run: RowRange) -> NewRows {
        let chunk = &self.storage.chunks[run.chunk];
        // SAFETY: reserved rows are in an unshared chunk and within its capacity. They have no values, and the caller gets them
        // once. Archetypes, and with them shapes, live as long as the storage.
        unsafe { NewRows::in_memory(chunk.shape(), chunk.data(), run) }
    }

    /// Drops the values of the rows together with the reservation, unless the reservation is kept.
    pub(crate) fn hold(&mut self, rows: NewRows) {
        if !rows.columns.is_empty() {
            self.filled.push(rows);
        }
    }

    /// Fills the rows of each run. [`commit`](Self::commit) then makes them visible.
    ///
    /// `write` writes values to all columns of a run, preferably in memory order. If it panics, no entity is created. With
    /// `with_ids`, rows get their ids before their values, which is faster. Otherwise `commit` allocates the ids, so that a panic
    /// does not use any.
    pub(crate) fn fill(&mut self, with_ids: bool, mut write: impl FnMut(&mut NewRows, &Chunks)) {
        assert!(self.named == 0 && self.complete == 0 && self.filled.is_empty());
        for at in 0..self.runs.len() {
            let run = self.runs[at];
            if with_ids {
                let Storage { table, chunks, .. } = &mut *self.storage;
                // The ids are at the beginning of a chunk. Writing them before the columns makes one stream of writes through the
                // chunk, which halves the time if the memory is not in the cache.
                let ids = chunks[run.chunk].new_ids(run.first, run.rows);
                table.allocate_rows(ids, run.chunk, run.first);
                self.named = at + 1;
            }
            // SAFETY: the run was reserved here, and each run is filled once. The result is held by the reservation, or dropped
            // if `write` panics.
            let mut rows = unsafe { self.rows(run) };
            write(&mut rows, &self.storage.chunks);
            self.complete += usize::from(rows.is_complete);
            self.hold(rows);
        }
    }

    /// Makes the rows visible. Rows that have no ids get them.
    ///
    /// # Panics
    ///
    /// Panics if a column of a row has no value.
    pub(crate) fn commit(mut self) {
        assert_eq!(self.complete, self.runs.len());
        for at in 0..self.runs.len() {
            let run = self.runs[at];
            if at < self.named {
                self.storage.show_entities(run);
            } else {
                self.storage.create_entities(run);
            }
        }
        // A group in which no rows were reserved has no chunk, and is removed.
        self.storage.forget_groups(&mut self.groups);
        self.keep();
        drop(self.storage.shared.take_unused());
    }
}

impl Drop for ReservedRows<'_> {
    fn drop(&mut self) {
        let (mut groups, filled) = (mem::take(&mut self.groups), mem::take(&mut self.filled));
        if self.is_kept {
            self.storage.reserve_scratch = (groups, filled);
            return;
        }
        for run in &self.runs[..self.named] {
            let ids = self.storage.chunks[run.chunk].new_ids(run.first, run.rows);
            // SAFETY: the entity table has written these ids.
            self.storage.table.free_rows(unsafe { ids.assume_init_ref() });
        }
        let mut retired = Vec::new();
        for run in self.runs.drain(..).rev() {
            // A chunk that was opened for the reservation may have several runs. One of them begins at 0.
            if run.first == 0 && self.storage.chunks[run.chunk].len == 0 {
                retired.push(self.storage.close_chunk(run.chunk).into_parts());
            }
        }
        self.storage.forget_groups(&mut groups);
        self.storage.reserve_scratch = (groups, Vec::new());
        // Values, chunk components and shared values are dropped last, because that runs user code, which may panic. The values are
        // dropped first, because they are in the memory of the removed chunks.
        let _unused = self.storage.shared.take_unused();
        drop(filled);
        drop(retired);
    }
}

/// A position in a list of reserved runs, from which rows are taken in order.
#[derive(Default)]
pub(crate) struct RowCursor {
    run: usize,
    used: u32,
}

impl RowCursor {
    /// Creates a position after the last of the runs.
    pub(crate) fn after(runs: &[RowRange]) -> Self {
        Self { run: runs.len(), used: 0 }
    }

    /// Takes reserved rows for the rows of `run`. Calls `each` for each contiguous part, with its first row in `run` and its
    /// reserved rows.
    pub(crate) fn assign(
        &mut self,
        reserved: &[RowRange],
        run: RowRange,
        mut each: impl FnMut(u32, RowRange),
    ) {
        let (mut first, mut rows) = (run.first, run.rows);
        while rows > 0 {
            let to = reserved[self.run];
            let now = rows.min(to.rows - self.used);
            each(first, RowRange { chunk: to.chunk, first: to.first + self.used, rows: now });
            (first, rows, self.used) = (first + now, rows - now, self.used + now);
            if self.used == to.rows {
                (self.run, self.used) = (self.run + 1, 0);
            }
        }
    }
}

/// Reserved rows, and the values that were written to them. The values are dropped on drop, unless they are kept.
pub(crate) struct NewRows {
    shape: NonNull<ArchetypeShape>,
    data: *mut u8,
    pub(crate) run: RowRange,
    /// The columns that have values, and whose values need to be dropped.
    columns: InlineIndices,
    /// True if all columns have values.
    is_complete: bool,
}

// SAFETY: `NewRows` owns the values, and components are `Send`. The shape is only read.
unsafe impl Send for NewRows {}

impl NewRows {
    /// Creates rows without values in the memory of a chunk, or in memory that is not that of a chunk yet.
    ///
    /// # Safety
    ///
    /// - the memory is unshared, and has room for the rows in columns of the shape; nothing else accesses the rows
    /// - the memory and the shape outlive the result, unless it is [kept](Self::keep)
    pub(super) unsafe fn in_memory(shape: &ArchetypeShape, data: *mut u8, run: RowRange) -> Self {
        let (shape, columns) = (NonNull::from(shape), InlineIndices::default());
        Self { shape, data, run, columns, is_complete: false }
    }

    #[inline]
    pub(crate) fn shape(&self) -> &ArchetypeShape {
        // SAFETY: the shape outlives `self`, by the contract of `in_memory`.
        unsafe { self.shape.as_ref() }
    }

    /// Returns the number of rows.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.run.rows as usize
    }

    /// Returns the address of the chunk.
    #[inline]
    pub(crate) fn data(&self) -> *mut u8 {
        self.data
    }

    /// Returns the place of a set of components in the first row, given their column offsets.
    #[inline]
    pub(crate) fn place(&self, offsets: &[u32]) -> RowPlace {
        RowPlace::new(self.data, offsets, self.run.first as usize)
    }

    /// Returns the address of the first row's value in a column.
    #[inline]
    pub(crate) fn column(&self, column: u32) -> *mut u8 {
        let slot = self.shape().columns[column as usize];
        self.data.wrapping_add(slot.offset as usize + self.run.first as usize * slot.size as usize)
    }

    /// Takes ownership of the values of a column.
    ///
    /// # Safety
    ///
    /// - the column has a value in each of the rows, and nothing else owns these values
    pub(crate) unsafe fn own(&mut self, column: u32) {
        if self.shape().types[column as usize].0.drop.is_some() {
            self.columns.push(column);
        }
    }

    /// Writes columns with a function, which counts the columns that it has finished. If it panics, finished columns are owned.
    ///
    /// # Safety
    ///
    /// - the function writes a value to each row of these columns, one column after the other
    pub(crate) unsafe fn write_columns(&mut self, columns: &[u32], write: impl FnOnce(&mut usize)) {
        struct Finished<'a> {
            rows: &'a mut NewRows,
            columns: &'a [u32],
            count: usize,
        }

        impl Drop for Finished<'_> {
            fn drop(&mut self) {
                for &column in &self.columns[..self.count] {
                    // SAFETY: the function has written a value to each row of this column.
                    unsafe { self.rows.own(column) };
                }
            }
        }

        write(&mut Finished { rows: self, columns, count: 0 }.count);
    }

    /// Writes the initial values of columns, which are in ascending order.
    ///
    /// # Panics
    ///
    /// Panics if the rows already have values, a column does not exist, the columns are not in ascending order, or a type has no
    /// initial value.
    pub(crate) fn write_initial(&mut self, columns: impl Iterator<Item = u32>) {
        assert!(self.columns.is_empty());
        let (mut end, mut count) = (0, 0);
        for column in columns {
            assert!(column >= end);
            (end, count) = (column + 1, count + 1);
            // SAFETY: the rows have room for values, and `self` then owns them. Each column is written once.
            unsafe {
                write_initial(self.shape(), self.data, column, self.run.first, self.run.rows);
                self.own(column);
            }
        }
        self.is_complete = count == self.shape().types.len();
    }

    /// Writes the values of required components, whose columns have no values yet. Runs user code.
    pub(crate) fn write_required(&mut self, required: &[RequiredColumn]) {
        for &RequiredColumn { column, requirement } in required {
            assert!(self.shape().types[column as usize] == requirement.ty);
            // SAFETY: the rows have room for values of the column's type, and `self` then owns them.
            unsafe {
                requirement.fill(self.column(column), self.len());
                self.own(column);
            }
        }
    }

    /// Declares that all columns have values, or will have them before the rows become visible.
    ///
    /// # Safety
    ///
    /// - all columns have a value in each row when the reservation is [committed](ReservedRows::commit)
    /// - they also have values if entities in them are [replaced](Self::remap)
    pub(crate) unsafe fn assume_complete(&mut self) {
        self.is_complete = true;
    }

    /// Writes a duplicate of one row of another chunk to each row. `columns` pairs the columns of that chunk with all columns
    /// of these rows, in order.
    ///
    /// # Panics
    ///
    /// Panics if the rows already have values, the columns differ in type, or a type cannot be duplicated.
    pub(crate) fn repeat_row(&mut self, from: &Chunk, row: u32, columns: &[(u32, u32)]) {
        assert!(self.columns.is_empty() && columns.len() == self.shape().types.len());
        assert!(row < from.len);
        for (&(theirs, ours), column) in columns.iter().zip(0..) {
            let (ty, slot) =
                (self.shape().types[column as usize], from.shape().columns[theirs as usize]);
            assert!(ours == column && from.shape().types[theirs as usize] == ty);
            let value = from.column(slot.offset).wrapping_add(row as usize * ty.size());
            // SAFETY: the row has a value of this type. The new rows have room for one each, and do not include the row.
            unsafe {
                duplicate_value(ty, value, self.column(column), self.len());
                self.own(column);
            }
        }
        self.is_complete = true;
    }

    /// Writes duplicates of rows of another chunk with the same types. `first` is the first of those rows.
    ///
    /// # Panics
    ///
    /// Panics if the rows already have values, the types differ, the other chunk does not have the rows, or a type cannot be
    /// duplicated.
    pub(crate) fn duplicate_rows(&mut self, from: &Chunk, first: u32) {
        assert!(self.columns.is_empty() && from.shape().types == self.shape().types);
        assert!(first <= from.len && self.run.rows <= from.len - first);
        for column in 0..self.shape().types.len() as u32 {
            let (ty, slot) =
                (self.shape().types[column as usize], from.shape().columns[column as usize]);
            let values = from.column(slot.offset).wrapping_add(first as usize * ty.size());
            // SAFETY: the other chunk has values of this type in its rows. The new rows have room for them, and are in a
            // different chunk.
            unsafe {
                duplicate_column(ty, values, self.column(column), self.len());
                self.own(column);
            }
        }
        self.is_complete = true;
    }

    /// Replaces the entities in the values of all rows. `replace` gets the index of the row, the number of the entity within the
    /// value, and the entity.
    ///
    /// # Panics
    ///
    /// Panics if not all columns have values.
    pub(crate) fn remap(&mut self, mut replace: impl FnMut(usize, usize, Entity) -> Entity) {
        assert!(self.is_complete);
        for (column, ty) in (0..).zip(&self.shape().types) {
            let Some(remap) = ty.0.remap else { continue };
            for row in 0..self.len() {
                let mut nth = 0;
                let mut replace = |entity| {
                    nth += 1;
                    replace(row, nth - 1, entity)
                };
                let value = self.column(column).wrapping_add(row * ty.size());
                // SAFETY: the row has a value of this type, which `self` owns.
                unsafe { remap(ty.0.shape, value, 1, &mut EntityRemap::new(&mut replace)) };
            }
        }
    }

    /// Keeps the values, which now have another owner.
    pub(crate) fn keep(mut self) {
        self.columns.clear();
    }
}

impl Drop for NewRows {
    fn drop(&mut self) {
        let RowRange { first, rows, .. } = self.run;
        // SAFETY: the rows have values in these columns, and `self` owns them.
        unsafe { drop_values(self.shape.as_ref(), self.data, &self.columns, first, rows) }
    }
}

impl Storage {
    /// Removes the groups that have no chunks. Their shared values may become [unused](super::SharedValues::take_unused).
    fn forget_groups(&mut self, groups: &mut Vec<(u32, u32)>) {
        groups.sort_unstable();
        groups.dedup();
        for (archetype, group) in groups.drain(..) {
            self.forget_group(archetype, group);
        }
    }

    /// Creates the entities of rows that follow the last row of a chunk and already have values.
    pub(crate) fn create_entities(&mut self, run: RowRange) {
        let chunk = &mut self.chunks[run.chunk];
        debug_assert_eq!(run.first, chunk.len);
        self.table.allocate_rows(chunk.new_ids(run.first, run.rows), run.chunk, run.first);
        self.show_entities(run);
    }

    /// Makes rows visible that follow the last row of a chunk and already have values and ids.
    fn show_entities(&mut self, run: RowRange) {
        let chunk = &mut self.chunks[run.chunk];
        let is_uniform = chunk.note_new(run.first, run.rows, self.version);
        chunk.enabled.set_all_rows(run.first, run.rows, true);
        if is_uniform {
            self.chunks.note_uniform(run.chunk);
        }
        self.add_rows(run.chunk, run.rows);
        if self.chunks[run.chunk].is_observed() {
            self.log_created(run);
        }
    }
}
