//! Chunks become chunks of another archetype or group, with all that is in them.

#![expect(unsafe_code, reason = "chunks that are known to be there")]

use super::Storage;
use super::chunk::NOWHERE;
use super::transfer::Transfer;

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
