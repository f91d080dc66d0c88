//! Moves of rows between chunks, and of whole chunks between archetypes and groups.
//!
//! The methods, from the cheapest to the most general:
//!
//! | method | moves | copies |
//! |---|---|---|
//! | [`relabel_chunk`](Storage::relabel_chunk) | a whole chunk | nothing |
//! | [`repack_chunk`](Storage::repack_chunk) | the first rows of a chunk | columns, within the chunk's memory |
//! | [`copy_rows`](Storage::copy_rows), then [`close_gap`](Storage::close_gap) | contiguous rows | columns |
//! | [`move_row_simply`](Storage::move_row_simply) | one row of small values | values, without a call |
//! | [`move_row`](Storage::move_row) | one row | values |
//!
//! A [`Transfer`] determines which columns move, are left behind or are written. The target rows are reserved, and new values are
//! written, before these methods are called. So they run no user code, and cannot fail halfway.

#![expect(unsafe_code, reason = "moves values between chunks")]

use std::{mem, ptr};

use super::arena::OutOfMemory;
use super::chunk::NOWHERE;
use super::entity_table::SlotMut;
use super::raw_values::{copy_small_value, copy_value, prefetch_soon};
use super::reserve::{ReservedRows, RowRange};
use super::shared_groups::GroupKey;
use super::transfer::{ColumnMove, Transfer};
use super::{Location, Storage};
use crate::entity::Entity;
use crate::error::EntityError;

/// A move of contiguous rows from one chunk to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowMove {
    /// The first row in the source chunk.
    pub(crate) from: u32,
    /// The first row in the target chunk. It follows the last row of that chunk.
    pub(crate) to: u32,
    /// The number of rows.
    pub(crate) rows: u32,
}

/// Moves of single rows.
impl Storage {
    /// Moves an entity's row to the first free row of another chunk, by copying small values only.
    ///
    /// # Safety
    ///
    /// - `slot` was just opened for `entity`
    /// - both chunks [move rows simply](super::Chunk::moves_simply), and chunk `to` has room
    /// - `transfer` leads from the archetype of the entity to that of `to`, which is a different one, and leaves no values to be
    ///   dropped
    /// - the new row has values in all columns that `transfer` writes
    #[inline(never)]
    pub(crate) unsafe fn move_row_simply(
        &mut self,
        entity: Entity,
        slot: SlotMut,
        transfer: &Transfer,
        to: u32,
    ) {
        // SAFETY:
        // - the slot was just opened for the entity
        // - the entity table refers only to existing chunks, `to` exists, and the two differ because their archetypes differ
        let (from, [source, target]) = unsafe {
            let from = slot.location();
            (from, self.chunks.get_pair_unchecked_mut(from.chunk, to))
        };
        let row = target.len;
        // SAFETY: both rows are within the capacity of their chunks, in columns of the same type with small values. The chunks
        // differ.
        unsafe {
            for column in &transfer.moves {
                let size = column.size as usize;
                let old = source.column(column.from).wrapping_add(from.row as usize * size);
                let new = target.column(column.to).wrapping_add(row as usize * size);
                copy_small_value(old, new, column.size);
            }
            target.id(row).write(entity);
        }
        let moved = RowMove { from: from.row, to: row, rows: 1 };
        let is_uniform = target.follow(moved, source, transfer, self.version);
        target.note_order(self.version);
        target.len = row + 1;
        let is_full = target.len == target.capacity();
        // SAFETY:
        // - the slot was opened for the entity, and the table has not been used since
        // - the source row exists, in unshared memory, in a chunk without masks, tracked components or large values
        // - the transfer leaves nothing of the row to be dropped
        unsafe {
            slot.relocate(Location { chunk: to, row });
            self.remove_row_simply(from.chunk, from.row);
        }
        if is_full {
            self.note_full(to);
        }
        if is_uniform {
            self.chunks.note_uniform(to);
        }
    }

    /// Moves an entity's row to the first free row of another chunk.
    ///
    /// # Safety
    ///
    /// - `entity` exists at `from`; its chunk and chunk `to` are unshared, and `to` has room
    /// - `transfer` leads from the archetype of the source chunk to that of `to`; if the archetypes are the same, the groups
    ///   differ
    /// - the new row has values in all columns that `transfer` writes
    /// - `left` lists the columns of the old row whose values were not moved, neither by `transfer` nor otherwise
    #[inline(never)]
    pub(crate) unsafe fn move_row(
        &mut self,
        entity: Entity,
        from: Location,
        transfer: &Transfer,
        to: u32,
        left: &[u32],
    ) {
        // SAFETY: both chunks exist. They differ, because their archetypes or groups differ.
        let [source, target] = unsafe { self.chunks.get_pair_unchecked_mut(from.chunk, to) };
        let left = if source.is_observed() || target.is_observed() {
            // SAFETY: the row exists in unshared memory, and the transfer begins at its archetype. Of the columns that are left,
            // only those of the new list are dropped, and the list lives as long as the storage.
            unsafe { &*self.log_move(from, transfer, left) }
        } else {
            left
        };
        // SAFETY: both chunks exist. They differ, because their archetypes or groups differ.
        let [source, target] = unsafe { self.chunks.get_pair_unchecked_mut(from.chunk, to) };
        let row = target.len;
        let (data, new_data) = (source.data(), target.data());
        // SAFETY: both rows are within the capacity of their chunks, in columns of the same type. The chunks differ.
        unsafe {
            for column in &transfer.moves {
                let size = column.size as usize;
                let old = data.add(column.from as usize + from.row as usize * size);
                let new = new_data.add(column.to as usize + row as usize * size);
                copy_value(old, new, column.size);
            }
            target.id(row).write(entity);
        }
        let moved = RowMove { from: from.row, to: row, rows: 1 };
        let is_uniform = target.follow(moved, source, transfer, self.version);
        if !target.enabled.is_empty() {
            let (kept, new) = (&transfer.masks_kept, &transfer.masks_new);
            target.enabled.follow_rows(moved, &source.enabled, kept, new);
        }
        target.note_order(self.version);
        target.len += 1;
        self.table.relocate(entity, Location { chunk: to, row });
        if target.len == target.capacity() {
            self.note_full(to);
        }
        if is_uniform {
            self.chunks.note_uniform(to);
        }
        // SAFETY:
        // - the source row exists, in unshared memory
        // - `left` lists the columns whose values were not moved
        unsafe { self.remove_row(from.chunk, from.row, Some(left)) };
    }

    /// Moves an entity to the archetype and group that a transfer leads to. The transfer writes no values.
    ///
    /// # Panics
    ///
    /// Panics if the entity is not at the location, or the transfer begins at another archetype, or writes values.
    pub(crate) fn move_entity(
        &mut self,
        entity: Entity,
        from: Location,
        transfer: &Transfer,
    ) -> Result<(), OutOfMemory> {
        self.make_unique(from.chunk)?;
        let to = self.room_by(transfer, from.chunk)?;
        self.move_entity_to(entity, from, transfer, to);
        Ok(())
    }

    /// Moves an entity to a given chunk of the archetype that a transfer leads to. The transfer writes no values.
    ///
    /// # Panics
    ///
    /// Panics if the entity is not at the location, or a chunk is shared. Also panics if the target chunk is full or belongs to
    /// another archetype. Also panics if the transfer begins at another archetype, or writes values.
    pub(crate) fn move_entity_to(
        &mut self,
        entity: Entity,
        from: Location,
        transfer: &Transfer,
        to: u32,
    ) {
        let (source, target) = (&self.chunks[from.chunk], &self.chunks[to]);
        assert!(source.entities()[from.row as usize] == entity && !source.may_be_shared());
        assert!(transfer.is_between(source.shape(), target.shape()));
        assert!(from.chunk != to && target.len < target.capacity() && !target.may_be_shared());
        let types = &target.shape().types;
        let has_no_value = |&column: &u32| {
            let ty = types[column as usize];
            ty.size() == 0 && ty.0.drop.is_none()
        };
        assert!(transfer.written.iter().all(has_no_value));
        // SAFETY:
        // - the entity exists at `from`; both chunks are unshared, they differ, and the target chunk has room
        // - the transfer leads from the archetype of the source chunk to that of the target chunk
        // - the columns that the transfer writes have neither bytes nor drop glue
        // - `transfer.left` lists the columns that the transfer leaves behind
        unsafe { self.move_row(entity, from, transfer, to, &transfer.left) };
    }

    /// Moves an entity's row to another archetype. New components get their initial values.
    pub(crate) fn move_with_initial(
        &mut self,
        runs: &mut Vec<RowRange>,
        entity: Entity,
        from: Location,
        transfer: &Transfer,
    ) -> Result<(), EntityError> {
        self.archetypes[transfer.to].shape.check_initial(transfer.initial())?;
        self.make_unique(from.chunk)?;
        let group = self.group_by(transfer, from.chunk);
        let mut reserved = ReservedRows::new(self, runs, transfer.to, group, 1)?;
        reserved.fill(false, |rows, _| {
            rows.write_initial(transfer.initial());
            rows.write_required(&transfer.required);
        });
        reserved.keep();
        let RowRange { chunk, .. } = reserved.runs[0];
        // SAFETY:
        // - the entity exists at `from`, in a chunk that was made unshared; the reserved chunk is unshared and has room
        // - the transfer leads to the archetype of the reserved chunk
        // - all columns that the transfer writes were just written
        // - `transfer.left` lists the columns that the transfer leaves behind
        unsafe { reserved.storage.move_row(entity, from, transfer, chunk, &transfer.left) };
        Ok(())
    }

    /// Exchanges the rows of two entities: each entity gets all components of the other.
    ///
    /// # Safety
    ///
    /// - both rows exist, in two different chunks of one archetype, whose memory is unshared
    pub(crate) unsafe fn swap_entities(&mut self, left: Location, right: Location) {
        // SAFETY: both chunks exist and differ, and both rows are within them. Their memory is unshared.
        let [one, other] = unsafe {
            let [one, other] = self.chunks.get_pair_unchecked_mut(left.chunk, right.chunk);
            ptr::swap(one.id(left.row), other.id(right.row));
            [one, other]
        };
        let are_uniform = [(one, left), (other, right)].map(|(chunk, location)| {
            self.table.relocate(chunk.entities()[location.row as usize], location);
            chunk.note_order(self.version);
            (location.chunk, chunk.note_written_rows(location.row, 1, self.version))
        });
        for (number, _) in are_uniform.into_iter().filter(|&(_, is_uniform)| is_uniform) {
            self.chunks.note_uniform(number);
        }
    }
}

/// Moves of contiguous rows.
impl Storage {
    /// Copies rows of a chunk to the first free rows of another chunk, which then owns the values. The source chunk is not
    /// changed: the caller closes the gap.
    ///
    /// `soon` is the address of a chunk of the same archetype that is moved next. The same rows of that chunk are prefetched.
    ///
    /// # Safety
    ///
    /// - the rows exist, and the chunks differ
    /// - both chunks are unshared; the source may be shared if all its values are duplicated by copying their bytes
    /// - `to` is a range of free rows that directly follow the last row of the target
    /// - `transfer` leads from the archetype of the source to that of the target
    /// - the new rows have values in all columns that `transfer` writes, or get them before they are read
    /// - of the columns that `transfer` leaves behind, the caller drops only the values of
    ///   [`columns_not_taken`](Self::columns_not_taken)
    pub(crate) unsafe fn copy_rows(
        &mut self,
        from: u32,
        first: u32,
        to: RowRange,
        transfer: &Transfer,
        soon: Option<u32>,
    ) {
        let soon = soon.and_then(|soon| self.chunks.get(soon)).map(|soon| soon.data().addr());
        // SAFETY: both chunks exist and differ.
        let [source, target] = unsafe { self.chunks.get_pair_unchecked_mut(from, to.chunk) };
        if source.is_observed() || target.is_observed() {
            let run = RowRange { chunk: from, first, rows: to.rows };
            // SAFETY: the rows exist, in unshared memory or with types that are copied as bytes. The transfer begins at their
            // archetype. The caller drops only the columns that the log has not taken.
            unsafe { self.log_transfer(run, transfer, false) };
        }
        // SAFETY: both chunks exist and differ.
        let [source, target] = unsafe { self.chunks.get_pair_unchecked_mut(from, to.chunk) };
        debug_assert_eq!(target.len, to.first);
        debug_assert!(first + to.rows <= source.len && to.rows <= target.capacity() - to.first);
        // The distance in bytes from the source chunk to the chunk that is prefetched.
        let ahead = soon.map(|soon| soon.wrapping_sub(source.data().addr()));
        // SAFETY: the rows are within their chunks, which have room for the ids. The columns have the same type, and the chunks
        // differ.
        unsafe {
            let bytes = to.rows as usize * size_of::<Entity>();
            copy_bytes(source.id(first).cast(), target.id(to.first).cast(), bytes, ahead);
            for column in &transfer.moves {
                let size = column.size as usize;
                let old = source.data().add(column.from as usize + first as usize * size);
                let new = target.data().add(column.to as usize + to.first as usize * size);
                copy_bytes(old, new, to.rows as usize * size, ahead);
            }
        }
        let moved = RowMove { from: first, to: to.first, rows: to.rows };
        if !target.enabled.is_empty() {
            let (kept, new) = (&transfer.masks_kept, &transfer.masks_new);
            target.enabled.follow_rows(moved, &source.enabled, kept, new);
        }
        let entities = &source.entities()[first as usize..][..to.rows as usize];
        self.table.relocate_rows(entities, to.chunk, to.first);
        if target.follow(moved, source, transfer, self.version) {
            self.chunks.note_uniform(to.chunk);
        }
        self.add_rows(to.chunk, to.rows);
    }

    /// Closes a gap of rows whose entities were moved to another chunk or destroyed, by moving the last rows of the chunk into
    /// it.
    ///
    /// The values of the columns `left` were not moved. They are moved after the last row, in the same number of rows.
    ///
    /// # Safety
    ///
    /// - the chunk has these rows and at least one more; its memory is unshared
    /// - the values of all other columns were moved, or need not be dropped
    pub(crate) unsafe fn close_gap(&mut self, number: u32, first: u32, rows: u32, left: &[u32]) {
        let chunk = &mut self.chunks[number];
        debug_assert!(!chunk.may_be_shared() && rows < chunk.len);
        let (len, after) = (chunk.len, first + rows);
        // If fewer rows follow the gap than it has rows, only those are moved.
        let moved = rows.min(len - after);
        let tail = len - moved;
        // SAFETY: both ranges are rows of the chunk. They are disjoint, because `tail` is not before `after`.
        unsafe {
            for &(at, column) in &chunk.shape().sized {
                let row = |row: u32| column.offset as usize + row as usize * column.size as usize;
                let bytes = moved as usize * column.size as usize;
                let (last, gap) = (chunk.data().add(row(tail)), chunk.data().add(row(first)));
                if left.contains(&at) {
                    ptr::swap_nonoverlapping(gap, last, bytes);
                } else {
                    gap.copy_from_nonoverlapping(last, bytes);
                }
            }
            if moved > 0 {
                chunk.id(first).copy_from_nonoverlapping(chunk.id(tail), moved as usize);
            }
        }
        if !chunk.enabled.is_empty() {
            chunk.enabled.copy_rows(tail, first, moved);
            chunk.enabled.set_all_rows(len - rows, rows, false);
        }
        if let Some(tracking) = chunk.versions.tracking_mut() {
            tracking.copy_rows(tail, first, moved);
            tracking.clear_rows(len - rows, rows);
        }
        chunk.len = len - rows;
        chunk.note_order(self.version);
        let moved = &chunk.entities()[first as usize..][..moved as usize];
        self.table.relocate_rows(moved, number, first);
        self.note_room(number);
    }

    /// Moves contiguous rows to another group of their archetype, which gives them other shared values.
    ///
    /// If the range covers all rows of the chunk, the whole chunk joins the group, but all rows count as removed and added.
    ///
    /// `transfer` leads from the archetype of the chunk to itself. The chunk does not belong to the group yet.
    pub(crate) fn set_group_of_rows(
        &mut self,
        runs: &mut Vec<RowRange>,
        RowRange { chunk: number, first, rows }: RowRange,
        transfer: &Transfer,
        key: GroupKey,
    ) -> Result<(), OutOfMemory> {
        debug_assert_eq!(self.chunks[number].archetype, transfer.to);
        debug_assert!(!self.has_group_key(number, transfer.to, &key));
        if rows == self.chunks[number].len {
            let group = self.group_of(transfer.to, key);
            self.log_relabelled(number, transfer);
            // SAFETY: the chunk exists. The transfer leads from its archetype to itself, which keeps chunks whole. The group
            // belongs to that archetype, and no type is new.
            unsafe { self.relabel_as_moved(number, group, transfer) };
            drop(self.shared.take_unused());
            return Ok(());
        }
        self.make_unique(number)?;
        let group = self.group_of(transfer.to, key);
        ReservedRows::new(self, runs, transfer.to, group, rows as usize)?.keep();
        let mut from = first;
        // SAFETY:
        // - the rows exist; the reserved rows are in unshared chunks of another group, and directly follow their last rows
        // - the transfer leads from the archetype to itself, and writes only shared types, which have no bytes
        // - the chunk was made unshared, and has more rows than these, whose values were all moved
        unsafe {
            for &target in &*runs {
                self.copy_rows(number, from, target, transfer, None);
                from += target.rows;
            }
            self.close_gap(number, first, rows, &[]);
        }
        Ok(())
    }
}

/// Moves of whole chunks.
impl Storage {
    /// Logs a move of a row. Returns those of the columns left behind whose values the log has not taken, in a list that lives as
    /// long as the storage.
    ///
    /// # Safety
    ///
    /// - the row exists in unshared memory, and `transfer` begins at its archetype
    /// - the caller drops only the values of the returned columns
    #[cold]
    #[inline(never)]
    unsafe fn log_move(
        &mut self,
        from: Location,
        transfer: &Transfer,
        left: &[u32],
    ) -> *const [u32] {
        let run = RowRange { chunk: from.chunk, first: from.row, rows: 1 };
        let without_values = mem::take(&mut self.lifecycle.values_were_moved);
        // SAFETY: the row exists in unshared memory, and the transfer begins at its archetype. The caller does not drop what the
        // log takes.
        unsafe { self.log_transfer(run, transfer, without_values) };
        self.kept_columns_not_taken(from.chunk, left)
    }

    /// Logs that a whole chunk moves to another group or archetype, before it does. The transfer [keeps chunks
    /// whole](Transfer::whole).
    pub(crate) fn log_relabelled(&mut self, number: u32, transfer: &Transfer) {
        if self.is_transfer_observed(number, transfer) {
            let run = RowRange { chunk: number, first: 0, rows: self.chunks[number].len };
            // SAFETY: the rows exist, and the transfer begins at their archetype. A transfer that keeps chunks whole removes and
            // writes only types without bytes and drops.
            unsafe { self.log_transfer(run, transfer, false) };
        }
    }

    /// Moves a chunk with all its rows to another group, and possibly to another archetype. The locations of its entities do not
    /// change, and the memory of the chunk is not written, so that it may be shared.
    ///
    /// If the archetype changes, all rows count as removed from the old one and added to the new one. If only the group changes,
    /// an event is counted only for the shared values that differ.
    ///
    /// Shared values that no chunk has any more become [unused](super::SharedValues::take_unused).
    ///
    /// # Safety
    ///
    /// - the chunk exists, and `transfer` begins at its archetype
    /// - `transfer` keeps chunks [whole](Transfer::whole), or the caller has moved the columns as it [lists](Transfer::repacks)
    /// - `group` is a group of the archetype that `transfer` leads to, if that has groups
    /// - if the memory is shared, all new types can be duplicated
    #[inline]
    pub(crate) unsafe fn relabel_chunk(&mut self, number: u32, group: u32, transfer: &Transfer) {
        // SAFETY: the chunk exists.
        let chunk = unsafe { self.chunks.get_unchecked(number) };
        if chunk.archetype != transfer.to {
            // SAFETY: both functions have the same contract.
            return unsafe { self.relabel_as_moved(number, group, transfer) };
        }
        self.count_other_values(transfer.to, chunk.group, group);
        // SAFETY: both functions have the same contract.
        unsafe { self.relabel(number, group, transfer) };
    }

    /// Moves a chunk to another group or archetype, and counts all its rows as removed and added.
    ///
    /// # Safety
    ///
    /// - the contract of [`relabel_chunk`](Self::relabel_chunk) holds
    #[inline]
    unsafe fn relabel_as_moved(&mut self, number: u32, group: u32, transfer: &Transfer) {
        // SAFETY: the chunk exists, and no job uses it, because its rows move. Both functions have the same contract.
        unsafe {
            self.chunks.get_unchecked_mut(number).note_order(self.version);
            self.relabel(number, group, transfer);
            self.chunks.get_unchecked_mut(number).note_order(self.version);
        }
    }

    /// Moves a chunk to another group or archetype, and does not count its rows as moved.
    ///
    /// # Safety
    ///
    /// - the contract of [`relabel_chunk`](Self::relabel_chunk) holds
    #[inline]
    unsafe fn relabel(&mut self, number: u32, group: u32, transfer: &Transfer) {
        // SAFETY: the chunk exists, and no job uses it, because its rows move.
        let chunk = unsafe { self.chunks.get_unchecked_mut(number) };
        let (from, old_group, old_room) = (chunk.archetype, chunk.group, chunk.room_place);
        let to = transfer.to;
        // The events of the chunk so far count for the old archetype and group.
        let events = mem::take(&mut chunk.order_events);
        // The chunk joins the new group first, so that a value that both groups have does not become unused in between.
        if group != NOWHERE {
            self.enter_group(to, group);
        }
        if old_room != NOWHERE {
            self.leave_room_list(from, old_group, old_room);
        }
        // SAFETY: the chunk exists, and no job uses it, because its rows move.
        let chunk = unsafe { self.chunks.get_unchecked_mut(number) };
        chunk.room_place = NOWHERE;
        chunk.group = group;
        let owner = &mut self.archetypes[from];
        owner.order_events = owner.order_events.wrapping_add(events);
        if to == from {
            for &column in &transfer.written {
                chunk.note_written(column, 0, chunk.len, self.version);
            }
        } else {
            let place = mem::replace(&mut chunk.place, NOWHERE);
            let is_listed = !self.archetypes[from].chunks.is_empty();
            if is_listed && let Some(moved) = self.archetypes.unlist_chunk(from, place) {
                self.chunks[moved].place = place;
            }
            let shape = &self.archetypes[to].shape;
            // SAFETY:
            // - the chunk exists
            // - the shape is that of the archetype, and archetypes live as long as the storage
            // - the transfer begins at the archetype of the chunk, and keeps it whole, or its columns were moved as the transfer
            //   lists, by the contract of this function
            // - no job uses the chunk, because its rows move
            unsafe {
                self.chunks.change_archetype(number, shape, transfer, self.version);
                self.chunks.get_unchecked_mut(number).place =
                    self.archetypes.list_chunk(to, number);
            }
            self.mark_observed(number);
        }
        // SAFETY: the chunk exists.
        let chunk = unsafe { self.chunks.get_unchecked(number) };
        if chunk.len < chunk.capacity() {
            self.note_room(number);
        }
        if old_group != NOWHERE {
            self.leave_group(from, old_group, events);
        }
    }

    /// Moves a chunk with its first `rows` rows to a group of another archetype, by shifting columns within its memory.
    ///
    /// The rows keep their positions, so that the entity table does not change. If another chunk of the archetype is moved next,
    /// its columns are prefetched.
    ///
    /// # Safety
    ///
    /// - the chunk exists, its memory is unshared, and `transfer` begins at its archetype and [repacks](Transfer::repacks) chunks
    /// - the chunk has `rows` rows, the target archetype has room for them in a chunk, and all rows after them were moved
    /// - `group` is a group of the archetype that `transfer` leads to, if that has groups
    /// - the columns that `transfer` writes get values before they are read
    pub(crate) unsafe fn repack_chunk(
        &mut self,
        number: u32,
        rows: u32,
        group: u32,
        transfer: &Transfer,
        soon: Option<u32>,
    ) {
        let soon = soon.and_then(|soon| self.chunks.get(soon)).map(|soon| soon.data().addr());
        if self.is_transfer_observed(number, transfer) {
            let run = RowRange { chunk: number, first: 0, rows };
            // SAFETY: the rows exist in unshared memory, and the transfer begins at their archetype. A transfer that repacks
            // chunks leaves no values to be dropped.
            unsafe { self.log_transfer(run, transfer, false) };
        }
        let chunk = &mut self.chunks[number];
        debug_assert!(!chunk.may_be_shared() && rows <= chunk.len);
        if rows < chunk.len {
            let gone = chunk.len - rows;
            chunk.enabled.set_all_rows(rows, gone, false);
            chunk.len = rows;
        }
        let data = chunk.data();
        let ahead = soon.map(|soon| soon.wrapping_sub(data.addr()));
        // SAFETY:
        // - the memory is that of an unshared chunk, and has room for the rows of each column at the old and the new offset
        // - afterwards the columns are at the offsets of the target archetype; the caller ensures the rest of the contract of
        //   `relabel_chunk`
        unsafe {
            for column in &transfer.repacked {
                shift_column(data, column, rows as usize, ahead);
            }
            self.relabel_chunk(number, group, transfer);
        }
    }
}

/// The number of bytes that are copied between two prefetches. With more, there would be more pending cache misses than a CPU can
/// track.
const PIECE: usize = 512;

/// The size of a cache line in bytes.
const LINE: usize = 64;

/// Prefetches the bytes that are `ahead` bytes after a piece.
#[inline]
fn prefetch_piece(address: usize, piece: usize, ahead: usize) {
    let prefetch = |line: usize| {
        prefetch_soon(address.wrapping_add(ahead).wrapping_add(line * LINE));
    };
    // Most pieces have all lines, so that the loop is unrolled.
    if piece == PIECE {
        return (0..PIECE / LINE).for_each(prefetch);
    }
    (0..piece.div_ceil(LINE)).for_each(prefetch);
}

/// Copies bytes, and prefetches the bytes that are `ahead` bytes after the source.
///
/// Without the prefetch, the hardware prefetcher predicts wrong addresses at the end of each column.
///
/// # Safety
///
/// - both addresses are valid for `bytes` bytes, and the ranges are disjoint
unsafe fn copy_bytes(from: *const u8, to: *mut u8, bytes: usize, ahead: Option<usize>) {
    // SAFETY: all pieces are inside of the two ranges, which are valid and disjoint.
    unsafe {
        let Some(ahead) = ahead else {
            return to.copy_from_nonoverlapping(from, bytes);
        };
        for at in (0..bytes).step_by(PIECE) {
            let piece = PIECE.min(bytes - at);
            prefetch_piece(from.addr().wrapping_add(at), piece, ahead);
            to.add(at).copy_from_nonoverlapping(from.add(at), piece);
        }
    }
}

/// Moves the values of a column to another offset of a chunk, and prefetches the bytes that are `ahead` bytes after them.
///
/// # Safety
///
/// - the memory is valid for `rows` values of the column at the old and at the new offset, and nothing else uses it
unsafe fn shift_column(data: *mut u8, column: &ColumnMove, rows: usize, ahead: Option<usize>) {
    let bytes = rows * column.size as usize;
    let (from, to) = (column.from as usize, column.to as usize);
    let move_piece = |number: usize| {
        let at = number * PIECE;
        let piece = PIECE.min(bytes - at);
        // SAFETY: the piece is inside of the column, at the old and at the new offset.
        unsafe {
            let (old, new) = (data.add(from + at), data.add(to + at));
            if let Some(ahead) = ahead {
                prefetch_piece(old.addr(), piece, ahead);
            }
            new.copy_from(old, piece);
        }
    };
    // The direction is chosen so that no piece overwrites one that has not been moved yet.
    let pieces = 0..bytes.div_ceil(PIECE);
    if to < from {
        pieces.for_each(move_piece);
    } else if to > from {
        pieces.rev().for_each(move_piece);
    }
}
