//! Rows that lie side by side move to other chunks together.

#![expect(unsafe_code, reason = "moves rows between chunks")]

use super::Storage;
use super::fetch::fetch_soon;
use super::reserve::Run;
use super::transfer::Transfer;
use crate::entity::Entity;

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
