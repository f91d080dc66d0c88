//! The life of a chunk: opened, listed, moved between lists, and retired.

use super::Storage;
use super::arena::{ChunkMemory, OutOfMemory};
use super::chunk::{Chunk, ChunkValues, NOWHERE};

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
        let number = self.chunks.insert(|sequence, pool| {
            Chunk::new(memory, archetype, &owner.shape, sequence, values, pool)
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
    /// [dead](super::SharedValues::take_unused).
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

    /// Takes a chunk that has become full out of the list of those with room.
    #[cold]
    pub(crate) fn note_full(&mut self, number: u32) {
        let chunk = &mut self.chunks[number];
        let place = std::mem::replace(&mut chunk.room_place, NOWHERE);
        let (archetype, group) = (chunk.archetype, chunk.group);
        self.leave_room_list(archetype, group, place);
    }
}

/// The place of what is pushed to a list of this length.
pub(crate) fn list_place(length: usize) -> u32 {
    u32::try_from(length).expect("fewer chunks than entities")
}
