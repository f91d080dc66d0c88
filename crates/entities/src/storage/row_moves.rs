//! Rows move from one archetype to another.

#![expect(unsafe_code, reason = "moves rows between chunks")]

use std::sync::Arc;

use super::entity_table::OpenSlot;
use super::raw_values::{NewRows, copy_small_value, copy_value, write_initial};
use super::reserve::{Reserved, Run};
use super::rows::Left;
use super::transfer::Transfer;
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
