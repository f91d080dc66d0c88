//! Rows get another shared value, many at once.

#![expect(unsafe_code, reason = "moves rows between chunks")]

use super::arena::OutOfMemory;
use super::chunk::NOWHERE;
use super::groups::Wanted;
use super::reserve::{Reserved, Run};
use super::rows::list_place;
use super::transfer::Transfer;
use super::{Location, Storage};

impl Storage {
    /// Gives rows of a chunk that lie side by side other shared values, as the transfer says, which is one from its
    /// archetype to itself. The chunk does not have these values yet.
    ///
    /// If they are all rows of the chunk, none of them moves.
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
            self.relabel_chunk(number, group, &transfer.written);
            return Ok(());
        }
        self.make_unique(number)?;
        let group = self.group_of(transfer.to, wanted);
        let reserved = Reserved::in_group(self, runs, transfer.to, group, rows as usize)?;
        let targets = reserved.runs.clone();
        let storage = reserved.into_storage();
        let mut from = first;
        for target in targets {
            // SAFETY: the rows are there, and others are reserved for them in a chunk of another group.
            unsafe { storage.copy_rows(number, from, target, transfer) };
            from += target.rows;
        }
        // SAFETY: the chunk is the world's alone. The rows were moved, and are not all of them.
        unsafe { storage.close_gap(number, first, rows) };
        Ok(())
    }

    /// Lets a chunk be of another group, with all that is in it. Nothing in its memory changes, so it may be shared.
    fn relabel_chunk(&mut self, number: u32, group: u32, written: &[u32]) {
        let chunk = &mut self.chunks[number];
        let (archetype, old, place) = (chunk.archetype, chunk.group, chunk.room_place);
        let events = chunk.order_events.wrapping_add(1);
        // Who looks at one value only sees all of them go, or come.
        chunk.order_version = self.version;
        for &column in written {
            chunk.state.set_version(column, self.version);
        }
        // The new one first: they may have values in common.
        self.enter_group(archetype, group);
        if place != NOWHERE {
            self.leave_room_list(archetype, old, place);
            let rooms = self.archetypes.rooms_mut(archetype, group);
            self.chunks[number].room_place = list_place(rooms.len());
            rooms.push(number);
        }
        self.chunks[number].group = group;
        self.leave_group(archetype, old, events);
        drop(self.shared.take_dead());
    }

    /// Moves rows of a chunk to rows behind the last of another. Nothing is done to the chunk they come from.
    ///
    /// # Safety
    ///
    /// - the rows are there, and both chunks are the world's alone, of one archetype, and two
    /// - the second has room for them where the run says, which is behind its last row
    /// - the transfer is one of the archetype to itself, and moves all columns that have bytes
    unsafe fn copy_rows(&mut self, from: u32, first: u32, to: Run, transfer: &Transfer) {
        // SAFETY: both are there, and two.
        let [source, target] = unsafe { self.chunks.two_mut(from, to.chunk) };
        debug_assert_eq!(target.len, to.first);
        for &(_, column) in &source.shape().sized {
            let row = |row: u32| column.offset as usize + row as usize * column.size as usize;
            let bytes = to.rows as usize * column.size as usize;
            // SAFETY: both rows are in their chunks, in columns of one type; the chunks are two.
            unsafe {
                let old = source.data().add(row(first));
                target.data().add(row(to.first)).copy_from_nonoverlapping(old, bytes);
            }
        }
        for at in 0..to.rows {
            let (old, new) = (first + at, to.first + at);
            // SAFETY: both ids have room in their chunks.
            let entity = unsafe { *source.id(old) };
            // SAFETY: as above.
            unsafe { target.id(new).write(entity) };
            if !target.enabled.is_empty() {
                let (kept, added) = (&transfer.masks_kept, &transfer.masks_new);
                target.enabled.follow(new, &source.enabled, old, kept, added);
            }
            if target.is_tracked() {
                target.follow_tracked(new, source, old, transfer, self.version);
            }
            self.table.relocate(entity, Location { chunk: to.chunk, row: new });
        }
        target.state.follow(&source.state, &transfer.kept, &transfer.written, self.version);
        self.add_rows(to.chunk, to.rows);
    }

    /// Lets the last rows of a chunk take the place of rows that were moved away.
    ///
    /// # Safety
    ///
    /// - the chunk has the rows, and more; its memory is the world's alone
    /// - their values were moved, and their entities are elsewhere
    unsafe fn close_gap(&mut self, number: u32, first: u32, rows: u32) {
        let chunk = &mut self.chunks[number];
        let (len, after) = (chunk.len, first + rows);
        // The gap and what comes after it may be shorter than the gap: then only that moves.
        let moved = rows.min(len - after);
        let tail = len - moved;
        for &(_, column) in &chunk.shape().sized {
            let row = |row: u32| column.offset as usize + row as usize * column.size as usize;
            let bytes = moved as usize * column.size as usize;
            // SAFETY: both are rows of the chunk, and apart, since `tail` is not before `after`.
            unsafe {
                let last = chunk.data().add(row(tail));
                chunk.data().add(row(first)).copy_from_nonoverlapping(last, bytes);
            }
        }
        for at in 0..moved {
            // SAFETY: both ids are in the chunk, which is the world's alone.
            let entity = unsafe { *chunk.id(tail + at) };
            // SAFETY: as above.
            unsafe { *chunk.id(first + at) = entity };
            self.table.set_row(entity, first + at);
        }
        if !chunk.enabled.is_empty() {
            (0..moved).for_each(|at| chunk.enabled.move_row(tail + at, first + at));
            chunk.enabled.clear_rows(len - rows, rows);
        }
        if chunk.is_tracked() {
            (0..moved).for_each(|at| chunk.move_tracked(tail + at, first + at));
            chunk.clear_tracked(len - rows, rows);
        }
        chunk.len = len - rows;
        chunk.note_order(self.version);
        self.note_room(number);
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
        for (chunk, location) in [(one, left), (other, right)] {
            self.table.relocate(chunk.entities()[location.row as usize], location);
            chunk.note_written_row(location.row, self.version);
            chunk.note_order(self.version);
        }
    }
}
