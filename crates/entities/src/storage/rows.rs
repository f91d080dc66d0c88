//! Rows of chunks come and go.

#![expect(unsafe_code, reason = "values in chunks")]

use std::marker::PhantomData;
use std::ptr::NonNull;

use super::archetype::ArchetypeShape;
use super::arena::{ChunkMemory, LastChunk, OutOfMemory};
use super::chunk::{Chunk, ChunkValues, NOWHERE};
use super::raw_values::{copy_small_value, copy_value, drop_values, prefetch, swap_values};
use super::{Location, Storage};
use crate::entity::Entity;

/// Which values of a row that is removed are still there, and to be dropped.
#[derive(Clone, Copy)]
pub(crate) enum DropColumns<'a> {
    /// All of them.
    All,
    /// Those of these columns. The others were moved.
    Only(&'a [u32]),
}

impl Storage {
    /// Notes that rows after the last of a chunk have values and ids now.
    #[inline]
    pub(crate) fn add_rows(&mut self, number: u32, rows: u32) {
        let chunk = &mut self.chunks[number];
        chunk.note_order(self.version);
        chunk.len += rows;
        debug_assert!(chunk.len <= chunk.capacity());
        if chunk.len == chunk.capacity() {
            self.note_full(number);
        }
    }

    /// Has the memory of a row on its way, and that of the row which would take its place.
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

    /// Removes a row; the last of the chunk takes its place. The entity's slot is not touched.
    ///
    /// # Safety
    ///
    /// - the row is there, and its memory is the world's alone
    /// - the values that are left are those which are neither moved nor dropped
    #[inline(always)]
    pub(crate) unsafe fn remove_row(&mut self, number: u32, row: u32, left: DropColumns<'_>) {
        // SAFETY: the chunk exists, and archetypes live as long as the storage.
        let (chunk, shape) = unsafe {
            let chunk = self.chunks.get_unchecked_mut(number);
            let shape = chunk.unbound_shape();
            (chunk, shape)
        };
        debug_assert!(row < chunk.len && !chunk.may_be_shared());
        let left = match left {
            DropColumns::All => &shape.dropped,
            DropColumns::Only(columns) => columns,
        };
        let last = chunk.len - 1;
        chunk.len = last;
        chunk.note_order(self.version);
        if !chunk.enabled.is_empty() {
            chunk.enabled.move_row(last, row);
            chunk.enabled.clear_rows(last, 1);
        }
        if chunk.is_tracked() {
            chunk.move_tracked(last, row);
            chunk.clear_tracked(last, 1);
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

    /// Removes a row without values to be dropped; the last of the chunk takes its place. The entity's slot is not
    /// touched.
    ///
    /// # Safety
    ///
    /// - the row is there, and its memory is the world's alone
    /// - the chunk has no masks, tracked components or large values, and no value of the row is left to be dropped
    #[inline(always)]
    pub(crate) unsafe fn remove_row_simply(&mut self, number: u32, row: u32) {
        // SAFETY: the chunk is there.
        let chunk = unsafe { self.chunks.get_unchecked_mut(number) };
        let last = chunk.len - 1;
        chunk.len = last;
        chunk.note_order(self.version);
        if row != last {
            // SAFETY: both rows are in the chunk, whose memory is unshared, and differ. All values are small.
            unsafe {
                let moved = *chunk.id(last);
                // First of all: the CPU cannot load the next entity's slot before it knows which slot is written here.
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

    /// Removes an entity with its row.
    ///
    /// # Safety
    ///
    /// - the entity is there, and the memory of its chunk the world's alone
    /// - the values that are left are those which are neither moved nor dropped
    #[inline]
    pub(crate) unsafe fn destroy_row(
        &mut self,
        entity: Entity,
        at: Location,
        left: DropColumns<'_>,
    ) {
        self.table.free(entity);
        // SAFETY: as the caller promises.
        unsafe { self.remove_row(at.chunk, at.row, left) };
    }

    /// What is rarely to be done when a row is gone: values that are left behind it are dropped, and the lists change.
    #[inline(never)]
    fn finish_removal(&mut self, number: u32, left: &[u32]) {
        if self.chunks[number].len == 0 {
            let (memory, _values, shape, _) = self.close_chunk(number).into_parts();
            let _dead = self.shared.take_unused();
            return finish(memory, shape, left);
        }
        self.note_room(number);
        let chunk = &self.chunks[number];
        // SAFETY: the values are behind the last row, where nobody else looks.
        unsafe { drop_values(chunk.shape(), chunk.data(), left, chunk.len, 1) };
    }

    /// Removes rows that lie side by side, and their entities; as many of the chunk's last rows take their place.
    pub(crate) fn destroy_rows(
        &mut self,
        number: u32,
        first: u32,
        rows: u32,
    ) -> Result<(), OutOfMemory> {
        if rows == self.chunks[number].len {
            self.destroy_chunk(number);
            return Ok(());
        }
        self.make_unique(number)?;
        let chunk = &self.chunks[number];
        self.table.free_rows(&chunk.entities()[first as usize..(first + rows) as usize]);
        // SAFETY:
        // - archetypes live as long as the storage, and their shapes do
        // - the chunk has more rows than these and was made unshared; all values of the rows are left
        // - `close_gap` puts these values behind the last row, where nothing else reaches them
        unsafe {
            let shape = chunk.unbound_shape();
            self.close_gap(number, first, rows, &shape.dropped);
            let chunk = &self.chunks[number];
            drop_values(shape, chunk.data(), &shape.dropped, chunk.len, rows);
        }
        Ok(())
    }

    /// Removes a chunk with all its entities.
    pub(crate) fn destroy_chunk(&mut self, number: u32) {
        self.chunks[number].note_order(self.version);
        let chunk = self.close_chunk(number);
        self.table.free_rows(chunk.entities());
        let (memory, _values, shape, rows) = chunk.into_parts();
        let _dead = self.shared.take_unused();
        release(memory, shape, rows);
    }

    /// Removes all entities. Their ids are handed out again from the first on.
    pub(crate) fn remove_all(&mut self) -> usize {
        /// Goes on with the chunks that are left when the values of one panic.
        struct Rest {
            chunks: std::vec::IntoIter<Option<Chunk>>,
            /// Memory that nobody has any more, which is freed all at once.
            free: Vec<LastChunk>,
        }

        impl Rest {
            fn go_on(&mut self) {
                for chunk in self.chunks.by_ref().flatten() {
                    let (memory, _values, shape, rows) = chunk.into_parts();
                    let Some(last) = memory.release() else { continue };
                    let data = last.as_ptr().as_ptr();
                    self.free.push(last);
                    // SAFETY: the chunk has so many rows, and nobody can reach them any more.
                    unsafe { drop_values(shape, data, &shape.dropped, 0, rows) };
                }
                LastChunk::free_many(&mut self.free);
            }
        }

        impl Drop for Rest {
            fn drop(&mut self) {
                self.go_on();
            }
        }

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
        let _dead = self.shared.take_unused();
        let free = Vec::with_capacity(chunks.len());
        Rest { chunks: chunks.into_iter(), free }.go_on();
        removed
    }
}

/// Lets go of the memory of a chunk with so many rows, which are dropped if nobody else has it.
pub(super) fn release(memory: ChunkMemory, shape: &ArchetypeShape, rows: u32) {
    let Some(last) = memory.release() else { return };
    // SAFETY: the chunk has so many rows, and nobody can reach them any more.
    unsafe { drop_values(shape, last.as_ptr().as_ptr(), &shape.dropped, 0, rows) };
    drop(last);
}

/// Lets go of the memory of a chunk whose last row is gone but for the values that are left in the first row.
fn finish(memory: ChunkMemory, shape: &ArchetypeShape, left: &[u32]) {
    let data = memory.as_ptr();
    let last = memory.release();
    debug_assert!(last.is_some(), "rows are removed from memory that is not shared");
    // SAFETY: these values are there, and nobody can reach them any more.
    unsafe { drop_values(shape, data.as_ptr(), left, 0, 1) };
    drop(last);
}

/// Moves a row of a chunk to the place of another, id included.
///
/// # Safety
///
/// - both rows are there, and two; the memory is the world's alone
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

/// Moves a row of a chunk to the place of another, id included. The values of some columns change places.
///
/// # Safety
///
/// - both rows are there, and two; the memory is the world's alone
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
                swap_values(value(from), value(to), column.size);
            } else {
                copy_value(value(from), value(to), column.size);
            }
        }
        *chunk.id(to) = *chunk.id(from);
    }
}

/// What a change of many entities has left: values that nobody can reach any more, and the memory of chunks that are gone.
///
/// Dropping values is code of the user. So it all is kept until the change is done, and dropped with this: all of it, also when
/// one value panics.
///
/// **Invariant:** the shapes and the memory are there as long as this, and nobody writes to rows that are named here.
pub(crate) struct DeferredDrop<'a> {
    lists: DeferredDropLists,
    columns: PhantomData<&'a [u32]>,
}

/// The lists of what is dead, with nothing in them: memory for what is dead next.
#[derive(Default)]
pub(crate) struct DeferredDropLists {
    rows: Vec<DeadRows>,
    values: Vec<ChunkValues>,
}

/// Values of some columns in rows of a chunk.
struct DeadRows {
    /// The memory, if the chunk is gone.
    memory: Option<ChunkMemory>,
    data: NonNull<u8>,
    shape: NonNull<ArchetypeShape>,
    columns: NonNull<[u32]>,
    first: u32,
    rows: u32,
}

// SAFETY: the values may be sent, as all components, and the rest is read by everybody.
unsafe impl Send for DeadRows {}

impl<'a> DeferredDrop<'a> {
    /// Nothing so far, in lists with nothing in them.
    pub(crate) fn new(lists: DeferredDropLists) -> Self {
        debug_assert!(lists.rows.is_empty() && lists.values.is_empty());
        Self { lists, columns: PhantomData }
    }

    /// Drops everything, and returns the lists. If a value panics, all is dropped, and the lists are lost.
    pub(crate) fn finish(mut self) -> DeferredDropLists {
        self.lists.rows.clear();
        self.lists.values.clear();
        self.lists
    }

    /// Takes a chunk that is in no list any more. If nobody else has its memory, the values of these columns are dropped. If there
    /// are none, the memory is returned, to be used again.
    ///
    /// # Safety
    ///
    /// - the values of all other columns were moved, or need not be dropped
    /// - the archetype of the chunk lives as long as this
    pub(crate) unsafe fn add_chunk(
        &mut self,
        chunk: Chunk,
        columns: &'a [u32],
    ) -> Option<ChunkMemory> {
        let (memory, values, shape, rows) = chunk.into_parts();
        if !values.is_of(None) {
            self.lists.values.push(values);
        }
        if columns.is_empty() {
            return memory.is_unique().then_some(memory);
        }
        let (data, memory) = (memory.as_ptr(), Some(memory));
        let (shape, columns) = (NonNull::from(shape), NonNull::from(columns));
        self.lists.rows.push(DeadRows { memory, data, shape, columns, first: 0, rows });
        None
    }

    /// Takes the values of columns in rows behind the last of a chunk.
    ///
    /// # Safety
    ///
    /// - the chunk has so many rows behind its last, with values in these columns that nobody else knows of
    /// - its archetype, and its memory, live as long as this, and nobody writes to the rows
    pub(crate) unsafe fn add_rows(&mut self, chunk: &Chunk, rows: u32, columns: &'a [u32]) {
        if columns.is_empty() {
            return;
        }
        let (shape, columns) = (NonNull::from(chunk.shape()), NonNull::from(columns));
        let (data, first) = (chunk.data, chunk.len);
        self.lists.rows.push(DeadRows { memory: None, data, shape, columns, first, rows });
    }
}

impl Drop for DeadRows {
    fn drop(&mut self) {
        let last = match self.memory.take().map(ChunkMemory::release) {
            // Others have it. They drop the values with it.
            Some(None) => return,
            Some(last) => last,
            None => None,
        };
        // SAFETY: the shape and the columns live as long as the list that this is in.
        let (shape, columns) = unsafe { (self.shape.as_ref(), self.columns.as_ref()) };
        // SAFETY: these values are there, and nobody can reach them any more.
        unsafe { drop_values(shape, self.data.as_ptr(), columns, self.first, self.rows) };
        drop(last);
    }
}
