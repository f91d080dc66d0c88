//! Adding and removing rows, and dropping their values after a change.

#![expect(unsafe_code, reason = "values in chunks")]

use std::ptr::{self, NonNull};

use super::archetype::ArchetypeShape;
use super::arena::{ChunkMemory, LastChunk, OutOfMemory};
use super::chunk::{Chunk, ChunkValues, NOWHERE};
use super::raw_values::{copy_small_value, copy_value, drop_values, for_each_to_end, prefetch};
use super::{Location, RowRange, Storage};
use crate::entity::Entity;

impl Storage {
    /// Adds rows to the length of a chunk. They follow the last row, and already have values and ids.
    #[inline]
    pub(crate) fn add_rows(&mut self, number: u32, rows: u32) {
        if self.chunks[number].add_rows(rows, self.version) {
            self.note_full(number);
        }
    }

    /// Prefetches the values of a row, and those of the chunk's last row, which takes its place if the row is removed.
    pub(crate) fn fetch_row(&self, Location { chunk, row }: Location) {
        let chunk = &self.chunks[chunk];
        let last = chunk.len.saturating_sub(1);
        for &(_, column) in &chunk.shape().sized {
            let values = chunk.column(column.offset);
            for row in [row, last] {
                prefetch(values.wrapping_add(row as usize * column.size as usize));
            }
        }
    }

    /// Removes a row. The last row of the chunk takes its place. The entity's slot does not change.
    ///
    /// # Safety
    ///
    /// - the row exists, and its memory is unshared
    /// - `left` lists the columns whose values were neither moved nor dropped; `None` means all columns
    #[inline(always)]
    pub(crate) unsafe fn remove_row(&mut self, number: u32, row: u32, left: Option<&[u32]>) {
        // SAFETY: the chunk exists, because the row does. Archetypes, and with them shapes, live as long as the storage.
        let (chunk, shape) = unsafe {
            let chunk = self.chunks.get_unchecked_mut(number);
            let shape = chunk.unbound_shape();
            (chunk, shape)
        };
        debug_assert!(row < chunk.len && !chunk.may_be_shared());
        let left = left.unwrap_or(&shape.dropped);
        let last = chunk.len - 1;
        chunk.len = last;
        chunk.note_order(self.version);
        if !chunk.enabled.is_empty() {
            chunk.enabled.copy_rows(last, row, 1);
            chunk.enabled.set_all_rows(last, 1, false);
        }
        if chunk.is_tracked()
            && let Some(tracking) = chunk.versions.tracking_mut()
        {
            tracking.copy_rows(last, row, 1);
            tracking.clear_rows(last, 1);
        }
        if row != last {
            // SAFETY: both rows exist and differ, in unshared memory.
            let moved = unsafe {
                if left.is_empty() {
                    move_row_within(chunk, shape, last, row);
                } else {
                    swap_rows_partly(chunk, shape, last, row, left);
                }
                *chunk.id(row)
            };
            self.table.set_row(moved, row);
        }
        if last == 0 || chunk.room_place == NOWHERE || !left.is_empty() {
            self.finish_removal(number, left);
        }
    }

    /// Removes a row that has no values to be dropped. The last row of the chunk takes its place. The entity's slot does not
    /// change.
    ///
    /// # Safety
    ///
    /// - the row exists, and its memory is unshared
    /// - the chunk has no masks, tracked components or large values, and no value of the row has to be dropped
    #[inline(always)]
    pub(crate) unsafe fn remove_row_simply(&mut self, number: u32, row: u32) {
        // SAFETY: the chunk exists, because the row does.
        let chunk = unsafe { self.chunks.get_unchecked_mut(number) };
        let last = chunk.len - 1;
        chunk.len = last;
        chunk.note_order(self.version);
        if row != last {
            // SAFETY: both rows are in the chunk, whose memory is unshared, and they differ. All values are small.
            unsafe {
                let moved = *chunk.id(last);
                // This comes first, because the CPU cannot load the next entity's slot before it knows which slot is written
                // here.
                self.table.set_row(moved, row);
                *chunk.id(row) = moved;
                for &(_, column) in &chunk.shape().sized {
                    let values = chunk.column(column.offset);
                    let value = |row: u32| values.wrapping_add(row as usize * column.size as usize);
                    copy_small_value(value(last), value(row), column.size);
                }
            }
        }
        if last == 0 || chunk.room_place == NOWHERE {
            self.finish_removal(number, &[]);
        }
    }

    /// Destroys an entity whose row can be removed by copying small values only. Otherwise returns its location, or `None` if it
    /// does not exist.
    #[inline(always)]
    pub(crate) fn destroy_simply(&mut self, entity: Entity) -> Result<(), Option<Location>> {
        let Some(slot) = self.table.open(entity) else { return Err(None) };
        // SAFETY: the slot was just opened, so the entity has a location. The table refers only to existing chunks.
        let (location, chunk) = unsafe {
            let location = slot.location();
            (location, self.chunks.get_unchecked(location.chunk))
        };
        if !chunk.removes_simply() {
            return Err(Some(location));
        }
        // SAFETY:
        // - the slot was opened for this entity, and the table has not been used since
        // - the table refers to rows that exist; a chunk that `removes_simply` is unshared, has no masks, tracked components or
        //   large values, and no values to be dropped
        unsafe {
            self.table.free_open(slot, entity);
            self.remove_row_simply(location.chunk, location.row);
        }
        Ok(())
    }

    /// Destroys an entity, removes its row, and drops all its values.
    ///
    /// # Panics
    ///
    /// Panics if the entity is not at the location.
    pub(crate) fn destroy(&mut self, entity: Entity, at: Location) -> Result<(), OutOfMemory> {
        let chunk = &self.chunks[at.chunk];
        assert!(chunk.entities()[at.row as usize] == entity);
        if chunk.is_observed() {
            return self.destroy_observed(RowRange { chunk: at.chunk, first: at.row, rows: 1 });
        }
        if chunk.len == 1 {
            // No row is moved, so shared memory does not have to be copied.
            self.destroy_chunk(at.chunk);
            return Ok(());
        }
        self.make_unique(at.chunk)?;
        self.table.free(entity);
        // SAFETY: the row exists, in a chunk that was made unshared. No value was moved or dropped.
        unsafe { self.remove_row(at.chunk, at.row, None) };
        Ok(())
    }

    /// Completes a removal in the rare cases: drops the values that remain after the last row, and updates the lists of chunks.
    #[inline(never)]
    fn finish_removal(&mut self, number: u32, left: &[u32]) {
        if self.chunks[number].len == 0 {
            let (memory, _values, shape, _) = self.close_chunk(number).into_parts();
            let _unused = self.shared.take_unused();
            return release(memory, shape, left, 1);
        }
        self.note_room(number);
        let chunk = &self.chunks[number];
        // SAFETY: `left` lists columns with a value directly after the last row, which nothing else accesses.
        unsafe { drop_values(chunk.shape(), chunk.data(), left, chunk.len, 1) };
    }

    /// Destroys the entities of contiguous rows, and removes the rows. The same number of rows from the end of the chunk take
    /// their place.
    pub(crate) fn destroy_rows(
        &mut self,
        number: u32,
        first: u32,
        rows: u32,
    ) -> Result<(), OutOfMemory> {
        if self.chunks[number].is_observed() {
            return self.destroy_observed(RowRange { chunk: number, first, rows });
        }
        if rows == self.chunks[number].len {
            self.destroy_chunk(number);
            return Ok(());
        }
        self.make_unique(number)?;
        let chunk = &self.chunks[number];
        self.table.free_rows(&chunk.entities()[first as usize..(first + rows) as usize]);
        // SAFETY:
        // - archetypes, and with them shapes, live as long as the storage
        // - the chunk has more rows than these and was made unshared; no value of the rows was moved
        // - `close_gap` moves these values after the last row, where nothing else accesses them
        unsafe {
            let shape = chunk.unbound_shape();
            self.close_gap(number, first, rows, &shape.dropped);
            let chunk = &self.chunks[number];
            drop_values(shape, chunk.data(), &shape.dropped, chunk.len, rows);
        }
        Ok(())
    }

    /// Logs rows, destroys their entities, and removes the rows. The log takes values that observers request.
    #[cold]
    fn destroy_observed(&mut self, run: RowRange) -> Result<(), OutOfMemory> {
        let RowRange { chunk: number, first, rows } = run;
        let is_all = rows == self.chunks[number].len;
        if !is_all || self.takes_values_of(number) {
            self.make_unique(number)?;
        }
        // SAFETY: the rows exist. Their memory is unshared if the log takes values. Only the values of the other columns are
        // dropped. Archetypes, and with them shapes, live as long as the storage.
        let shape = unsafe {
            self.log_destroyed(run);
            self.chunks[number].unbound_shape()
        };
        let dropped = self.columns_not_taken(number, &shape.dropped);
        self.table.free_rows(self.chunks.entities_in(run));
        if is_all {
            self.chunks[number].note_order(self.version);
            let (memory, _values, shape, rows) = self.close_chunk(number).into_parts();
            let _unused = self.shared.take_unused();
            release(memory, shape, &dropped, rows);
            return Ok(());
        }
        // SAFETY:
        // - the chunk has more rows than these and was made unshared; the values of other columns are in the log, or need not be
        //   dropped
        // - `close_gap` moves these values after the last row, where nothing else accesses them
        unsafe {
            self.close_gap(number, first, rows, &dropped);
            let chunk = &self.chunks[number];
            drop_values(shape, chunk.data(), &dropped, chunk.len, rows);
        }
        Ok(())
    }

    /// Removes a chunk, and destroys all its entities.
    pub(crate) fn destroy_chunk(&mut self, number: u32) {
        self.chunks[number].note_order(self.version);
        let chunk = self.close_chunk(number);
        self.table.free_rows(chunk.entities());
        let (memory, _values, shape, rows) = chunk.into_parts();
        let _unused = self.shared.take_unused();
        release(memory, shape, &shape.dropped, rows);
    }

    /// Destroys all entities, and returns their number. New ids begin with the first index again.
    pub(crate) fn remove_all(&mut self) -> usize {
        let removed = self.table.living();
        self.table.clear();
        self.room_changes += 1;
        self.archetypes.unlist_all();
        let chunks = self.chunks.take_all();
        for chunk in chunks.iter().flatten() {
            let more = chunk.order_events.wrapping_add(1);
            let events = &mut self.archetypes[chunk.archetype].order_events;
            *events = events.wrapping_add(more);
            self.leave_group(chunk.archetype, chunk.group, more);
        }
        let _unused = self.shared.take_unused();
        // The memory of chunks that have no other owners. It is freed together.
        let mut free = Vec::with_capacity(chunks.len());
        for_each_to_end(chunks.into_iter().flatten(), |chunk| {
            let (memory, _values, shape, rows) = chunk.into_parts();
            let Some(last) = memory.release() else { return };
            let data = last.as_ptr().as_ptr();
            free.push(last);
            // SAFETY: the chunk has values in all its rows, and nothing else accesses them.
            unsafe { drop_values(shape, data, &shape.dropped, 0, rows) };
        });
        LastChunk::free_many(&mut free);
        removed
    }
}

/// Releases the memory of a chunk. If nothing else owns the memory, drops the values of these columns in its first `rows` rows.
pub(super) fn release(memory: ChunkMemory, shape: &ArchetypeShape, columns: &[u32], rows: u32) {
    let Some(last) = memory.release() else { return };
    // SAFETY: the memory has values in these columns and rows, and nothing else accesses them.
    unsafe { drop_values(shape, last.as_ptr().as_ptr(), columns, 0, rows) };
    drop(last);
}

/// Moves a row of a chunk, with its id, to the place of another row. The values of the other row are overwritten.
///
/// # Safety
///
/// - both rows exist, and they differ; the memory is unshared
#[inline]
unsafe fn move_row_within(chunk: &Chunk, shape: &ArchetypeShape, from: u32, to: u32) {
    // SAFETY: both rows exist and differ, in unshared memory.
    unsafe {
        for &(_, column) in &shape.sized {
            let values = chunk.column(column.offset);
            let value = |row: u32| values.wrapping_add(row as usize * column.size as usize);
            copy_value(value(from), value(to), column.size);
        }
        *chunk.id(to) = *chunk.id(from);
    }
}

/// Moves a row of a chunk, with its id, to the place of another row. The values of the `swapped` columns are exchanged, and
/// others are overwritten.
///
/// # Safety
///
/// - both rows exist, and they differ; the memory is unshared
#[inline(never)]
unsafe fn swap_rows_partly(
    chunk: &Chunk,
    shape: &ArchetypeShape,
    from: u32,
    to: u32,
    swapped: &[u32],
) {
    // SAFETY: both rows exist and differ, in unshared memory.
    unsafe {
        for &(at, column) in &shape.sized {
            let values = chunk.column(column.offset);
            let value = |row: u32| values.wrapping_add(row as usize * column.size as usize);
            if swapped.contains(&at) {
                ptr::swap_nonoverlapping(value(from), value(to), column.size as usize);
            } else {
                copy_value(value(from), value(to), column.size);
            }
        }
        *chunk.id(to) = *chunk.id(from);
    }
}

/// Values of removed rows and memory of removed chunks, which are dropped after a change of many entities.
///
/// Dropping values runs user code, so it has to wait until the change is complete. If a drop panics, the remaining values are
/// still dropped.
///
/// **Invariant:** the shapes, the lists of columns and the memory outlive the entries, and nothing writes to their rows.
#[derive(Default)]
pub(crate) struct DeferredDrop {
    rows: Vec<DeferredRows>,
    values: Vec<ChunkValues>,
}

/// Values of some columns in some rows of a chunk.
struct DeferredRows {
    /// The memory of the chunk, if the chunk was removed.
    memory: Option<ChunkMemory>,
    data: NonNull<u8>,
    shape: NonNull<ArchetypeShape>,
    columns: NonNull<[u32]>,
    first: u32,
    rows: u32,
}

// SAFETY: `DeferredRows` owns the values, and components are `Send`. Shapes and lists of columns are only read.
unsafe impl Send for DeferredRows {}

impl DeferredDrop {
    /// Drops all values, and keeps the memory of the lists.
    pub(crate) fn clear(&mut self) {
        self.rows.clear();
        self.values.clear();
    }

    /// Adds a removed chunk, whose values of these columns are dropped unless the memory has other owners. Returns the memory for
    /// reuse if there are no columns to drop.
    ///
    /// # Safety
    ///
    /// - the values of all other columns were moved, or need not be dropped
    /// - the archetype of the chunk and the list of columns outlive the entry
    pub(crate) unsafe fn add_chunk(
        &mut self,
        chunk: Chunk,
        columns: &[u32],
    ) -> Option<ChunkMemory> {
        let (memory, values, shape, rows) = chunk.into_parts();
        if !values.is_of(None) {
            self.values.push(values);
        }
        if columns.is_empty() {
            return memory.is_unique().then_some(memory);
        }
        let (data, memory) = (memory.as_ptr(), Some(memory));
        let (shape, columns) = (NonNull::from(shape), NonNull::from(columns));
        self.rows.push(DeferredRows { memory, data, shape, columns, first: 0, rows });
        None
    }

    /// Adds the values of these columns in rows that follow the last row of a chunk.
    ///
    /// # Safety
    ///
    /// - the chunk has values in these columns in the `rows` rows after its last row, and nothing else accesses them
    /// - the chunk's archetype, its memory and the list of columns outlive the entry, and nothing writes to the rows
    pub(crate) unsafe fn add_rows(&mut self, chunk: &Chunk, rows: u32, columns: &[u32]) {
        if columns.is_empty() {
            return;
        }
        let (shape, columns) = (NonNull::from(chunk.shape()), NonNull::from(columns));
        let (data, first) = (chunk.data, chunk.len);
        self.rows.push(DeferredRows { memory: None, data, shape, columns, first, rows });
    }
}

impl Drop for DeferredRows {
    fn drop(&mut self) {
        let last = match self.memory.take().map(ChunkMemory::release) {
            // The memory has other owners, and the last of them drops the values.
            Some(None) => return,
            Some(last) => last,
            None => None,
        };
        // SAFETY: the shape and the columns outlive the entry.
        let (shape, columns) = unsafe { (self.shape.as_ref(), self.columns.as_ref()) };
        // SAFETY: the rows have values in these columns, and nothing else accesses them.
        unsafe { drop_values(shape, self.data.as_ptr(), columns, self.first, self.rows) };
        drop(last);
    }
}
