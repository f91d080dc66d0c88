//! Chunks become chunks of another archetype, and their columns move within their memory.

#![expect(unsafe_code, reason = "moves columns within chunks")]

use super::Storage;
use super::fetch::fetch_soon;
use super::transfer::{ColumnMove, Transfer};

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
