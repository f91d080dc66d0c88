//! Rows of chunks come and go.

#![expect(unsafe_code, reason = "values in chunks")]

use super::archetype::ArchetypeShape;
use super::arena::{ChunkMemory, LastChunk, OutOfMemory};
use super::chunk::{Chunk, NOWHERE};
use super::chunk_values::ChunkValues;
use super::chunks::Chunks;
use super::fetch::fetch;
use super::raw_values::{copy_small_value, copy_value, drop_values, duplicate_rows, swap_values};
use super::settings::StorageSettings;
use super::{Location, Storage};
use crate::entity::Entity;

/// Which values of a row that is removed are still there, and to be dropped.
#[derive(Clone, Copy)]
pub(crate) enum Left<'a> {
    /// All of them.
    All,
    /// Those of these columns. The others were moved.
    Columns(&'a [u32]),
}

impl Storage {
    /// Adds an empty chunk to an archetype without shared types.
    #[cold]
    pub(crate) fn open_chunk(&mut self, archetype: u32) -> Result<u32, OutOfMemory> {
        self.open_chunk_in(archetype, NOWHERE)
    }

    /// Adds an empty chunk to a group of an archetype, or to the archetype, if it has none.
    pub(crate) fn open_chunk_in(&mut self, archetype: u32, group: u32) -> Result<u32, OutOfMemory> {
        debug_assert_eq!(self.archetypes[archetype].groups == NOWHERE, group == NOWHERE);
        let (settings, shape) = (&self.settings, &self.archetypes[archetype].shape);
        let memory = settings.arena.allocate(settings.chunk_size, shape.align)?;
        // This may be code of the user. Nothing was changed yet.
        let values = ChunkValues::initial(self.archetypes[archetype].shape.values.as_ref());
        Ok(self.list_chunk(archetype, group, memory, values))
    }

    /// Adds an empty chunk with this memory to a group of an archetype, or to the archetype, if it has none. Its chunks have no
    /// values of their own.
    pub(crate) fn open_chunk_with(
        &mut self,
        archetype: u32,
        group: u32,
        memory: ChunkMemory,
    ) -> u32 {
        let shape = &self.archetypes[archetype].shape;
        debug_assert!(shape.values.is_none() && memory.is_unique());
        debug_assert!(memory.as_ptr().addr().get().is_multiple_of(shape.align as usize));
        self.list_chunk(archetype, group, memory, ChunkValues::NONE)
    }

    /// Puts an empty chunk into all lists.
    fn list_chunk(
        &mut self,
        archetype: u32,
        group: u32,
        memory: ChunkMemory,
        values: ChunkValues,
    ) -> u32 {
        let owner = &mut self.archetypes[archetype];
        let number = self.chunks.insert(|sequence, states| {
            Chunk::new(memory, archetype, &owner.shape, sequence, values, states)
        });
        self.chunks[number].group = group;
        self.enlist_chunk(number);
        number
    }

    /// Puts a chunk that is there, and in no list, into those of its archetype and its group.
    pub(super) fn enlist_chunk(&mut self, number: u32) {
        let chunk = &mut self.chunks[number];
        let (archetype, group) = (chunk.archetype, chunk.group);
        let has_room = chunk.len < chunk.capacity();
        chunk.place = self.archetypes.list_chunk(archetype, number);
        self.enter_group(archetype, group);
        if has_room {
            self.note_room(number);
        }
    }

    /// Takes a chunk out of all lists. What is in it is not dropped; shared values that it was the last to have are
    /// [dead](super::SharedValues::take_dead).
    pub(crate) fn retire_chunk(&mut self, number: u32) -> Chunk {
        let chunk = self.chunks.remove(number);
        let owner = &mut self.archetypes[chunk.archetype];
        owner.order_events = owner.order_events.wrapping_add(chunk.order_events);
        if let Some(moved) = self.archetypes.unlist_chunk(chunk.archetype, chunk.place) {
            self.chunks[moved].place = chunk.place;
        }
        if chunk.room_place != NOWHERE {
            self.leave_room_list(chunk.archetype, chunk.group, chunk.room_place);
        }
        self.leave_group(chunk.archetype, chunk.group, chunk.order_events);
        chunk
    }

    /// As [`retire_chunk`](Self::retire_chunk), for chunks of which nothing will be asked but what they consist of.
    pub(crate) fn close_chunk(&mut self, number: u32) -> Chunk {
        let mut chunk = self.retire_chunk(number);
        self.chunks.recycle(&mut chunk);
        chunk
    }

    /// Takes the chunk at a place of the list of those with room out of it.
    pub(crate) fn leave_room_list(&mut self, archetype: u32, group: u32, place: u32) {
        self.room_changes += 1;
        let rooms = self.archetypes.rooms_mut(archetype, group);
        rooms.swap_remove(place as usize);
        if let Some(&moved) = rooms.get(place as usize) {
            self.chunks[moved].room_place = place;
        }
    }

    /// Puts a chunk that has room in the list of those, unless it is there.
    pub(crate) fn note_room(&mut self, number: u32) {
        let chunk = &mut self.chunks[number];
        if chunk.room_place == NOWHERE {
            self.room_changes += 1;
            let rooms = self.archetypes.rooms_mut(chunk.archetype, chunk.group);
            chunk.room_place = list_place(rooms.len());
            rooms.push(number);
        }
    }

    /// A chunk of the archetype that has room, and is the world's alone.
    #[inline]
    pub(crate) fn chunk_with_room(&mut self, archetype: u32) -> Result<u32, OutOfMemory> {
        let Some(&number) = self.archetypes[archetype].with_room.last() else {
            return self.open_chunk(archetype);
        };
        // SAFETY: archetypes list chunks that are there.
        unsafe { self.make_unique_at(number)? };
        Ok(number)
    }

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

    /// Takes a chunk that has become full out of the list of those with room.
    #[cold]
    pub(crate) fn note_full(&mut self, number: u32) {
        let chunk = &mut self.chunks[number];
        let place = std::mem::replace(&mut chunk.room_place, NOWHERE);
        let (archetype, group) = (chunk.archetype, chunk.group);
        self.leave_room_list(archetype, group, place);
    }

    /// Sees to it that the memory of a chunk is the world's alone, since it is to be written.
    #[inline]
    pub(crate) fn make_unique(&mut self, number: u32) -> Result<(), OutOfMemory> {
        if self.chunks[number].may_be_shared() {
            return unshare(&mut self.chunks, number, &self.settings);
        }
        Ok(())
    }

    /// Sees to it that the memory of a chunk that is known to be there is the world's alone.
    ///
    /// # Safety
    ///
    /// - there is a chunk of this number, as the table of entities and the lists of archetypes know
    #[inline]
    pub(crate) unsafe fn make_unique_at(&mut self, number: u32) -> Result<(), OutOfMemory> {
        // SAFETY: it is there.
        if unsafe { self.chunks.at(number) }.may_be_shared() {
            return unshare(&mut self.chunks, number, &self.settings);
        }
        Ok(())
    }

    /// Has the memory of a row on its way, and that of the row which would take its place.
    pub(crate) fn fetch_row(&self, Location { chunk, row }: Location) {
        let chunk = &self.chunks[chunk];
        let last = chunk.len.saturating_sub(1);
        for &(_, column) in &chunk.shape().sized {
            let values = chunk.column(column.offset);
            for row in [row, last] {
                fetch(values.wrapping_add(row as usize * column.size as usize));
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
    pub(crate) unsafe fn remove_row(&mut self, number: u32, row: u32, left: Left<'_>) {
        // SAFETY: the chunk is there.
        let chunk = unsafe { self.chunks.at_mut(number) };
        debug_assert!(row < chunk.len && !chunk.may_be_shared());
        // SAFETY: archetypes live as long as the world.
        let shape = unsafe { chunk.unbound_shape() };
        let left = match left {
            Left::All => &shape.dropped,
            Left::Columns(columns) => columns,
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
            if left.is_empty() {
                // SAFETY: both rows are there, and two.
                unsafe { move_row_within(chunk, shape, last, row) };
            } else {
                // SAFETY: as above.
                unsafe { swap_rows_partly(chunk, shape, last, row, left) };
            }
            // SAFETY: the id is in the chunk, which is the world's alone.
            let moved = unsafe { *chunk.id(row) };
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
        let chunk = unsafe { self.chunks.at_mut(number) };
        let last = chunk.len - 1;
        chunk.len = last;
        chunk.note_order(self.version);
        if row != last {
            // SAFETY: the id is in the chunk.
            let moved = unsafe { *chunk.id(last) };
            // Before all else: a CPU does not look at the next entity's slot before it knows which one is written here.
            self.table.set_row(moved, row);
            // SAFETY: the id is in the chunk, which is the world's alone.
            unsafe { *chunk.id(row) = moved };
            for &(_, column) in &chunk.shape().sized {
                let values = chunk.column(column.offset);
                let value = |row: u32| values.wrapping_add(row as usize * column.size as usize);
                // SAFETY: both are in the chunk, in different rows, and small.
                unsafe { copy_small_value(value(last), value(row), column.size) };
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
    pub(crate) unsafe fn destroy_row(&mut self, entity: Entity, at: Location, left: Left<'_>) {
        self.table.free(entity);
        // SAFETY: as the caller promises.
        unsafe { self.remove_row(at.chunk, at.row, left) };
    }

    /// What is rarely to be done when a row is gone: values that are left behind it are dropped, and the lists change.
    #[inline(never)]
    fn finish_removal(&mut self, number: u32, left: &[u32]) {
        if self.chunks[number].len == 0 {
            let (memory, _values, shape, _) = self.close_chunk(number).into_parts();
            let _dead = self.shared.take_dead();
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
        // SAFETY: archetypes live as long as the world.
        let shape = unsafe { chunk.unbound_shape() };
        self.table.free_rows(&chunk.entities()[first as usize..(first + rows) as usize]);
        // SAFETY: the chunk has more rows, and was made the world's alone. All values are left.
        unsafe { self.close_gap(number, first, rows, &shape.dropped) };
        let chunk = &self.chunks[number];
        // SAFETY: the values are behind the last row, where nobody else looks.
        unsafe { drop_values(shape, chunk.data(), &shape.dropped, chunk.len, rows) };
        Ok(())
    }

    /// Removes a chunk with all its entities.
    pub(crate) fn destroy_chunk(&mut self, number: u32) {
        self.chunks[number].note_order(self.version);
        let chunk = self.close_chunk(number);
        self.table.free_rows(chunk.entities());
        let (memory, _values, shape, rows) = chunk.into_parts();
        let _dead = self.shared.take_dead();
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
        let _dead = self.shared.take_dead();
        let free = Vec::with_capacity(chunks.len());
        Rest { chunks: chunks.into_iter(), free }.go_on();
        removed
    }
}

/// Gives a chunk memory of its own, unless it has by now.
#[cold]
pub(crate) fn unshare(
    chunks: &mut Chunks,
    number: u32,
    settings: &StorageSettings,
) -> Result<(), OutOfMemory> {
    let shared = chunks.unshare(number, |chunk| {
        let memory = settings.arena.allocate(settings.chunk_size, chunk.shape().align)?;
        // SAFETY:
        // - both are chunks of the shape; nobody writes to memory that is shared
        // - `fork` has refused types that cannot be duplicated
        unsafe { duplicate_rows(chunk.shape(), chunk.data(), memory.as_ptr().as_ptr(), chunk.len) };
        Ok(memory)
    })?;
    if let Some(shared) = shared {
        // The others may have let go of it since.
        let chunk = &chunks[number];
        release(shared, chunk.shape(), chunk.len);
    }
    Ok(())
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
    for &(_, column) in &shape.sized {
        let values = chunk.column(column.offset);
        let value = |row: u32| values.wrapping_add(row as usize * column.size as usize);
        // SAFETY: both are in the chunk, in different rows.
        unsafe { copy_value(value(from), value(to), column.size) };
    }
    // SAFETY: both ids are in the chunk.
    unsafe { *chunk.id(to) = *chunk.id(from) };
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
    for &(at, column) in &shape.sized {
        let values = chunk.column(column.offset);
        let value = |row: u32| values.wrapping_add(row as usize * column.size as usize);
        if swapped.contains(&at) {
            // SAFETY: both are in the chunk, in different rows.
            unsafe { swap_values(value(from), value(to), column.size) };
        } else {
            // SAFETY: as above.
            unsafe { copy_value(value(from), value(to), column.size) };
        }
    }
    // SAFETY: both ids are in the chunk.
    unsafe { *chunk.id(to) = *chunk.id(from) };
}

/// The place of what is pushed to a list of this length.
pub(crate) fn list_place(length: usize) -> u32 {
    u32::try_from(length).expect("fewer chunks than entities")
}
