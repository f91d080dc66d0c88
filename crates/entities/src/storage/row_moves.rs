//! Rows move from one archetype to another.

#![expect(unsafe_code, reason = "moves rows between chunks")]

use std::sync::Arc;

use super::arena::OutOfMemory;
use super::chunk::NOWHERE;
use super::entity_table::OpenSlot;
use super::raw_values::{NewRows, copy_small_value, copy_value, fetch_soon, write_initial};
use super::reserve::{Reserved, Run};
use super::rows::Left;
use super::shared_groups::Wanted;
use super::transfer::{ColumnMove, Transfer};
use super::{Location, Storage};
use crate::component::Beginning;
use crate::entity::Entity;
use crate::error::EntityError;

impl Storage {
    /// Moves an entity's row to the first free row of another chunk, where nothing has to be thought of but that.
    ///
    /// # Safety
    ///
    /// - the slot was just opened for the entity, and both chunks move rows simply; the second has room
    /// - the transfer is one between their archetypes, and leaves nothing to be dropped
    /// - the new row has values in all columns that the transfer writes
    #[inline(never)]
    pub(crate) unsafe fn move_row_simply(
        &mut self,
        entity: Entity,
        slot: OpenSlot,
        transfer: &Transfer,
        to: u32,
    ) {
        // SAFETY: it was just opened.
        let from = unsafe { slot.location() };
        // SAFETY: both are there, and two, since their archetypes are.
        let [source, target] = unsafe { self.chunks.two_mut(from.chunk, to) };
        let row = target.len;
        for column in &transfer.moves {
            let old =
                source.column(column.from).wrapping_add(from.row as usize * column.size as usize);
            let new = target.column(column.to).wrapping_add(row as usize * column.size as usize);
            // SAFETY: both rows are in their chunks, in columns of one type, whose values are small; the chunks are two.
            unsafe { copy_small_value(old, new, column.size) };
        }
        // SAFETY: there is room for the row.
        unsafe { target.id(row).write(entity) };
        let is_uniform = target.follow(row, 1, source, from.row, transfer, self.version);
        target.note_order(self.version);
        target.len = row + 1;
        let is_full = target.len == target.capacity();
        // SAFETY: it was just opened.
        unsafe { slot.relocate(Location { chunk: to, row }) };
        // SAFETY: the row is there, in memory that is the world's alone, without masks. Nothing is left of it.
        unsafe { self.remove_row_simply(from.chunk, from.row) };
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
    /// - the entity is there, and both chunks are the world's alone; the second has room
    /// - the transfer is one between their archetypes; if those are one, the chunks are of two groups
    /// - the new row has values in all columns that the transfer writes
    /// - the values that are left are those which are not moved, by the transfer or otherwise
    #[inline(never)]
    pub(crate) unsafe fn move_row(
        &mut self,
        entity: Entity,
        from: Location,
        transfer: &Transfer,
        to: u32,
        left: &[u32],
    ) {
        // SAFETY: both are there, and two, since their archetypes or their groups are.
        let [source, target] = unsafe { self.chunks.two_mut(from.chunk, to) };
        let row = target.len;
        let (data, new_data) = (source.data(), target.data());
        for column in &transfer.moves {
            let value = |start: u32, row: u32| start as usize + row as usize * column.size as usize;
            // SAFETY: both rows are in their chunks, in columns of one type; the chunks are two.
            unsafe {
                copy_value(
                    data.add(value(column.from, from.row)),
                    new_data.add(value(column.to, row)),
                    column.size,
                );
            }
        }
        // SAFETY: there is room for the row.
        unsafe { target.id(row).write(entity) };
        let is_uniform = target.follow(row, 1, source, from.row, transfer, self.version);
        if !target.enabled.is_empty() {
            let (kept, new) = (&transfer.masks_kept, &transfer.masks_new);
            target.enabled.follow(row, &source.enabled, from.row, kept, new);
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
        // SAFETY: the row is there, in memory that is the world's alone. What is left is as the caller says.
        unsafe { self.remove_row(from.chunk, from.row, Left::Columns(left)) };
    }

    /// Moves an entity's row to another archetype; what is new there gets its initial value.
    pub(crate) fn move_with_initial(
        &mut self,
        runs: &mut Vec<Run>,
        entity: Entity,
        from: Location,
        transfer: &Transfer,
    ) -> Result<(), EntityError> {
        let shape = Arc::clone(&self.archetypes[transfer.to].shape);
        let no_initial =
            |&&column: &&u32| matches!(shape.types[column as usize].0.beginning, Beginning::None);
        if let Some(&column) = transfer.written.iter().find(no_initial) {
            return Err(EntityError::NoInitialValue { component: shape.types[column as usize] });
        }
        self.make_unique(from.chunk)?;
        let group = self.group_by(transfer, from.chunk);
        let reserved = Reserved::in_group(self, runs, transfer.to, group, 1)?;
        let run = reserved.runs[0];
        let data = reserved.storage.chunks[run.chunk].data();
        // SAFETY: columns are added when they are written, and the row is nobody's yet.
        let mut new = unsafe { NewRows::new(&shape, data, run.first, 1) };
        for &column in &transfer.written {
            // SAFETY: the row is reserved; that there is an initial value was checked.
            unsafe { write_initial(&shape, data, column, run.first, 1) };
            new.columns.push(column);
        }
        new.keep();
        let storage = reserved.into_storage();
        // SAFETY: what the transfer does not move was just written.
        unsafe {
            storage.move_row(entity, from, transfer, run.chunk, &transfer.left);
        };
        Ok(())
    }
}

impl Storage {
    /// Moves rows of a chunk to rows behind the last of another. Nothing is done to the chunk they come from. The same rows of a
    /// third, which comes soon and is of the same archetype, are on their way to the cache then.
    ///
    /// # Safety
    ///
    /// - the rows are there, and the chunks two; both are the world's alone, but the first may be shared if all its values are
    ///   duplicated by copying their bytes
    /// - the second has room for them where the run says, which is behind its last row
    /// - the transfer is one between their archetypes
    /// - the new rows have values in all columns that the transfer writes, or are given them before anybody looks
    pub(crate) unsafe fn copy_rows(
        &mut self,
        from: u32,
        first: u32,
        to: Run,
        transfer: &Transfer,
        soon: Option<u32>,
    ) {
        let soon = soon.and_then(|soon| self.chunks.get(soon)).map(|soon| soon.data().addr());
        // SAFETY: both are there, and two.
        let [source, target] = unsafe { self.chunks.two_mut(from, to.chunk) };
        debug_assert_eq!(target.len, to.first);
        debug_assert!(first + to.rows <= source.len && to.rows <= target.capacity() - to.first);
        // How far what comes soon is from what is copied.
        let apart = soon.map(|soon| soon.wrapping_sub(source.data().addr()));
        // SAFETY: both have room for so many ids. The chunks are two.
        unsafe {
            let bytes = to.rows as usize * size_of::<Entity>();
            copy_bytes(source.id(first).cast(), target.id(to.first).cast(), bytes, apart);
        }
        for column in &transfer.moves {
            let value = |start: u32, row: u32| start as usize + row as usize * column.size as usize;
            let bytes = to.rows as usize * column.size as usize;
            // SAFETY: both rows are in their chunks, in columns of one type; the chunks are two.
            unsafe {
                let old = source.data().add(value(column.from, first));
                let new = target.data().add(value(column.to, to.first));
                copy_bytes(old, new, bytes, apart);
            }
        }
        if !target.enabled.is_empty() {
            let (kept, new) = (&transfer.masks_kept, &transfer.masks_new);
            target.enabled.follow_rows(to.first, to.rows, &source.enabled, first, kept, new);
        }
        let moved = &source.entities()[first as usize..][..to.rows as usize];
        self.table.relocate_rows(moved, to.chunk, to.first);
        if target.follow(to.first, to.rows, source, first, transfer, self.version) {
            self.chunks.note_uniform(to.chunk);
        }
        self.add_rows(to.chunk, to.rows);
    }

    /// Lets the last rows of a chunk take the place of rows whose entities are elsewhere, or gone.
    ///
    /// The values of some columns were not moved. They come to lie behind the last row, in as many rows.
    ///
    /// # Safety
    ///
    /// - the chunk has the rows, and more; its memory is the world's alone
    /// - the values of all other columns were moved, or need not be dropped
    pub(crate) unsafe fn close_gap(&mut self, number: u32, first: u32, rows: u32, left: &[u32]) {
        let chunk = &mut self.chunks[number];
        debug_assert!(!chunk.may_be_shared() && rows < chunk.len);
        let (len, after) = (chunk.len, first + rows);
        // The gap and what comes after it may be shorter than the gap: then only that moves.
        let moved = rows.min(len - after);
        let tail = len - moved;
        for &(at, column) in &chunk.shape().sized {
            let row = |row: u32| column.offset as usize + row as usize * column.size as usize;
            let bytes = moved as usize * column.size as usize;
            // SAFETY: both are rows of the chunk, and apart, since `tail` is not before `after`.
            unsafe {
                let (last, gap) = (chunk.data().add(row(tail)), chunk.data().add(row(first)));
                if left.contains(&at) {
                    std::ptr::swap_nonoverlapping(gap, last, bytes);
                } else {
                    gap.copy_from_nonoverlapping(last, bytes);
                }
            }
        }
        if moved > 0 {
            // SAFETY: as above.
            unsafe { chunk.id(first).copy_from_nonoverlapping(chunk.id(tail), moved as usize) };
        }
        if !chunk.enabled.is_empty() {
            chunk.enabled.copy_rows(tail, first, moved);
            chunk.enabled.clear_rows(len - rows, rows);
        }
        if chunk.is_tracked() {
            chunk.copy_tracked(tail, first, moved);
            chunk.clear_tracked(len - rows, rows);
        }
        chunk.len = len - rows;
        chunk.note_order(self.version);
        let moved = &chunk.entities()[first as usize..][..moved as usize];
        self.table.relocate_rows(moved, number, first);
        self.note_room(number);
    }
}

/// Copies bytes, and has those on their way to the cache that are so far from them.
///
/// Where memory is not in the cache, the CPU has to guess what comes next, and guesses wrong at the end of each column.
///
/// # Safety
///
/// - both have so many bytes, and are apart
unsafe fn copy_bytes(from: *const u8, to: *mut u8, bytes: usize, apart: Option<usize>) {
    /// How many are copied at a time. More would have to be waited for at a time than a CPU can.
    const PIECE: usize = 512;
    let Some(apart) = apart else {
        // SAFETY: the caller's promise.
        return unsafe { to.copy_from_nonoverlapping(from, bytes) };
    };
    let mut at = 0;
    while at < bytes {
        let piece = PIECE.min(bytes - at);
        for line in (0..piece).step_by(64) {
            fetch_soon(from.addr().wrapping_add(at + line).wrapping_add(apart));
        }
        // SAFETY: the caller's promise.
        unsafe { to.add(at).copy_from_nonoverlapping(from.add(at), piece) };
        at += piece;
    }
}

impl Storage {
    /// Takes all chunks out of the list of their archetype, as [`relabel_chunk`](Self::relabel_chunk) is about to do with one after
    /// the other: that would have each take the place of another.
    pub(crate) fn unlist_chunks(&mut self, archetype: u32) {
        self.archetypes.unlist_chunks(archetype);
    }

    /// Lets a chunk be of another group, and perhaps of another archetype, with all that is in it. Its entities keep their
    /// places, and nothing in its memory changes, so that it may be shared.
    ///
    /// In another archetype they have left one and come to the other. In the same one they are where they were, and only who
    /// counts how often a value came or went is told of it.
    ///
    /// Shared values that it was the last to have are [dead](super::SharedValues::take_dead).
    ///
    /// # Safety
    ///
    /// - the chunk is there, and the transfer begins at its archetype and keeps chunks [whole](Transfer::whole), or the columns were
    ///   moved as it [says](Transfer::refits)
    /// - the group is one of the archetype that the transfer leads to, if that has groups
    /// - if the memory is shared, the types that are new can all be duplicated
    #[inline]
    pub(crate) unsafe fn relabel_chunk(&mut self, number: u32, group: u32, transfer: &Transfer) {
        // SAFETY: it is there.
        let chunk = unsafe { self.chunks.at(number) };
        if chunk.archetype == transfer.to {
            self.count_other_values(transfer.to, chunk.group, group);
            // SAFETY: the caller's promises.
            unsafe { self.relabel(number, group, transfer) };
        } else {
            // SAFETY: the caller's promises.
            unsafe { self.relabel_as_moved(number, group, transfer) };
        }
    }

    /// As [`relabel_chunk`](Self::relabel_chunk), and its entities count as having left and come, also in the same archetype.
    ///
    /// # Safety
    ///
    /// - as there
    #[inline]
    pub(super) unsafe fn relabel_as_moved(&mut self, number: u32, group: u32, transfer: &Transfer) {
        // They leave, which counts where they were.
        // SAFETY: it is there.
        unsafe { self.chunks.at_mut(number) }.note_order(self.version);
        // SAFETY: the caller's promises.
        unsafe { self.relabel(number, group, transfer) };
        // SAFETY: it is there.
        unsafe { self.chunks.at_mut(number) }.note_order(self.version);
    }

    /// Does that, without a word on who came or left.
    ///
    /// # Safety
    ///
    /// - as for [`relabel_chunk`](Self::relabel_chunk)
    #[inline]
    unsafe fn relabel(&mut self, number: u32, group: u32, transfer: &Transfer) {
        // SAFETY: it is there.
        let chunk = unsafe { self.chunks.at_mut(number) };
        let (from, old_group, old_room) = (chunk.archetype, chunk.group, chunk.room_place);
        let to = transfer.to;
        // What came and went in it so far counts where it was.
        let events = std::mem::take(&mut chunk.order_events);
        // The new one first: they may have values in common.
        if group != NOWHERE {
            self.enter_group(to, group);
        }
        if old_room != NOWHERE {
            self.leave_room_list(from, old_group, old_room);
        }
        // SAFETY: as above.
        let chunk = unsafe { self.chunks.at_mut(number) };
        chunk.room_place = NOWHERE;
        chunk.group = group;
        if to == from {
            for &column in &transfer.written {
                chunk.note_written(column, 0, chunk.len, self.version);
            }
            let owner = &mut self.archetypes[from];
            owner.order_events = owner.order_events.wrapping_add(events);
        } else {
            let place = std::mem::replace(&mut chunk.place, NOWHERE);
            let owner = &mut self.archetypes[from];
            owner.order_events = owner.order_events.wrapping_add(events);
            let is_listed = !owner.chunks.is_empty();
            if is_listed && let Some(moved) = self.archetypes.unlist_chunk(from, place) {
                self.chunks[moved].place = place;
            }
            let shape = &self.archetypes[to].shape;
            // SAFETY: the chunk is there, and archetypes live as long as the world. The rest is as the caller promises.
            unsafe { self.chunks.change_archetype(number, shape, transfer, self.version) };
            let place = self.archetypes.list_chunk(to, number);
            // SAFETY: as above.
            unsafe { self.chunks.at_mut(number) }.place = place;
        }
        // SAFETY: as above.
        let chunk = unsafe { self.chunks.at(number) };
        if chunk.len < chunk.capacity() {
            self.note_room(number);
        }
        if old_group != NOWHERE {
            self.leave_group(from, old_group, events);
        }
    }
}

impl Storage {
    /// Lets a chunk be of a group of another archetype, with its first rows. These keep their places, so that the table of entities
    /// does not have to be told, and nothing but the columns that lie elsewhere in the other archetype is moved. What is known of a
    /// second chunk is on its way to the cache then, which comes soon and is of the same archetype.
    ///
    /// # Safety
    ///
    /// - the chunk is there, its memory is the world's alone, and the transfer begins at its archetype and
    ///   [refits](Transfer::refits) chunks
    /// - so many rows are there, the other archetype has room for them, and the rows behind them were moved
    /// - the group is one of the archetype that the transfer leads to, if that has groups
    /// - the columns that the transfer writes are given values before anybody looks
    pub(crate) unsafe fn refit_chunk(
        &mut self,
        number: u32,
        rows: u32,
        group: u32,
        transfer: &Transfer,
        soon: Option<u32>,
    ) {
        let soon = soon.and_then(|soon| self.chunks.get(soon)).map(|soon| soon.data().addr());
        // SAFETY: it is there.
        let chunk = unsafe { self.chunks.at_mut(number) };
        debug_assert!(!chunk.may_be_shared() && rows <= chunk.len);
        if rows < chunk.len {
            let gone = chunk.len - rows;
            chunk.enabled.clear_rows(rows, gone);
            chunk.len = rows;
        }
        let data = chunk.data();
        let apart = soon.map(|soon| soon.wrapping_sub(data.addr()));
        for column in &transfer.relaid {
            // SAFETY: both places are in the memory of the chunk, which has columns of this size there before and after.
            unsafe { shift(data, column, rows as usize, apart) };
        }
        // SAFETY: the columns are where the other archetype has them. The rest is as the caller promises.
        unsafe { self.relabel_chunk(number, group, transfer) };
    }
}

/// Moves the values of a column within the memory that begins there, and has those on their way to the cache that are so far from
/// them.
///
/// # Safety
///
/// - the memory has so many rows of the column, before and after, and is not used otherwise
unsafe fn shift(data: *mut u8, column: &ColumnMove, rows: usize, apart: Option<usize>) {
    /// How many bytes are moved at a time. More would have to be waited for at a time than a CPU can.
    const PIECE: usize = 512;

    let bytes = rows * column.size as usize;
    let (from, to) = (column.from as usize, column.to as usize);
    let move_piece = |at: usize| {
        let piece = PIECE.min(bytes - at);
        // SAFETY: the caller's promise.
        let (old, new) = unsafe { (data.add(from + at), data.add(to + at)) };
        if let Some(apart) = apart {
            for line in (0..piece).step_by(64) {
                fetch_soon(old.addr().wrapping_add(line).wrapping_add(apart));
            }
        }
        // SAFETY: the caller's promise.
        unsafe { new.copy_from(old, piece) };
    };
    // So that nothing comes to lie over what has not moved yet.
    let pieces = (0..bytes).step_by(PIECE);
    if to < from {
        pieces.for_each(move_piece);
    } else if to > from {
        pieces.rev().for_each(move_piece);
    }
}

impl Storage {
    /// Gives rows of a chunk that lie side by side other shared values, as the transfer says, which is one from its
    /// archetype to itself. The chunk does not have these values yet.
    ///
    /// If they are all rows of the chunk, none of them moves. They count as having left and come all the same.
    pub(crate) fn regroup_rows(
        &mut self,
        runs: &mut Vec<Run>,
        Run { chunk: number, first, rows }: Run,
        transfer: &Transfer,
        wanted: Wanted,
    ) -> Result<(), OutOfMemory> {
        debug_assert_eq!(self.chunks[number].archetype, transfer.to);
        debug_assert!(!self.is_as_wanted(number, transfer.to, &wanted));
        if rows == self.chunks[number].len {
            let group = self.group_of(transfer.to, wanted);
            // SAFETY: the transfer is one from the archetype of the chunk to itself, and writes nothing but shared values.
            unsafe { self.relabel_as_moved(number, group, transfer) };
            drop(self.shared.take_dead());
            return Ok(());
        }
        self.make_unique(number)?;
        let group = self.group_of(transfer.to, wanted);
        Reserved::in_group(self, runs, transfer.to, group, rows as usize)?.into_storage();
        let mut from = first;
        for &target in &*runs {
            // SAFETY: the rows are there, and others are reserved for them in a chunk of another group.
            unsafe { self.copy_rows(number, from, target, transfer, None) };
            from += target.rows;
        }
        // SAFETY: the chunk is the world's alone. The rows were moved, and are not all of them.
        unsafe { self.close_gap(number, first, rows, &[]) };
        Ok(())
    }

    /// Lets two entities change places. Each has what the other had.
    ///
    /// # Safety
    ///
    /// - both rows are there, in two chunks of one archetype, whose memory is the world's alone
    pub(crate) unsafe fn swap_entities(&mut self, left: Location, right: Location) {
        // SAFETY: both are there, and two.
        let [one, other] = unsafe { self.chunks.two_mut(left.chunk, right.chunk) };
        // SAFETY: both ids are in their chunks, which are the world's alone.
        unsafe { std::ptr::swap(one.id(left.row), other.id(right.row)) };
        let are_uniform = [(one, left), (other, right)].map(|(chunk, location)| {
            self.table.relocate(chunk.entities()[location.row as usize], location);
            chunk.note_order(self.version);
            (location.chunk, chunk.note_written_row(location.row, self.version))
        });
        for (number, _) in are_uniform.into_iter().filter(|&(_, is_uniform)| is_uniform) {
            self.chunks.note_uniform(number);
        }
    }
}
