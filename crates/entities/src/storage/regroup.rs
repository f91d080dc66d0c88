//! Rows get another shared value, many at once.

#![expect(unsafe_code, reason = "moves rows between chunks")]

use super::arena::OutOfMemory;
use super::reserve::{Reserved, Run};
use super::shared_groups::Wanted;
use super::transfer::Transfer;
use super::{Location, Storage};

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
