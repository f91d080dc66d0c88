//! The lists of chunks: adding chunks to the lists of archetypes and groups, and removing them.

use super::Storage;
use super::arena::{ChunkMemory, OutOfMemory};
use super::chunk::{Chunk, ChunkValues, NOWHERE};

impl Storage {
    /// Creates an empty chunk in a group, or in the archetype if it has no groups.
    #[cold]
    pub(crate) fn open_chunk_in(&mut self, archetype: u32, group: u32) -> Result<u32, OutOfMemory> {
        debug_assert_eq!(self.archetypes[archetype].groups == NOWHERE, group == NOWHERE);
        let (settings, shape) = (&self.settings, &self.archetypes[archetype].shape);
        let memory = settings.arena.allocate(settings.chunk_size, shape.align)?;
        // Creating the chunk components runs user code. Nothing has changed yet.
        let values = ChunkValues::initial(self.archetypes[archetype].shape.values.as_ref());
        Ok(self.list_chunk(archetype, group, memory, values))
    }

    /// Creates an empty chunk with the given memory in a group, or in the archetype if it has no groups. The archetype has no
    /// chunk components.
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

    /// Creates an empty chunk, and adds it to the lists of its archetype and group.
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

    /// Adds a chunk that is in no list to the lists of its archetype and group.
    pub(super) fn enlist_chunk(&mut self, number: u32) {
        self.mark_observed(number);
        let chunk = &mut self.chunks[number];
        let (archetype, group) = (chunk.archetype, chunk.group);
        let has_room = chunk.len < chunk.capacity();
        chunk.place = self.archetypes.list_chunk(archetype, number);
        self.enter_group(archetype, group);
        if has_room {
            self.note_room(number);
        }
    }

    /// Removes a chunk from all lists, without dropping its values. Shared values that no other chunk has become
    /// [unused](super::SharedValues::take_unused).
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

    /// Removes a chunk from all lists, and recycles the memory of its metadata. The returned chunk keeps its memory, its chunk
    /// components and its rows.
    pub(crate) fn close_chunk(&mut self, number: u32) -> Chunk {
        let mut chunk = self.retire_chunk(number);
        self.chunks.recycle(&mut chunk);
        chunk
    }

    /// Removes the chunk at a position from the list of chunks with room of its group or archetype.
    pub(crate) fn leave_room_list(&mut self, archetype: u32, group: u32, place: u32) {
        self.room_changes += 1;
        let rooms = self.archetypes.rooms_mut(archetype, group);
        rooms.swap_remove(place as usize);
        if let Some(&moved) = rooms.get(place as usize) {
            self.chunks[moved].room_place = place;
        }
    }

    /// Adds a chunk to the list of chunks with room, unless the list contains it.
    pub(crate) fn note_room(&mut self, number: u32) {
        let chunk = &mut self.chunks[number];
        if chunk.room_place == NOWHERE {
            self.room_changes += 1;
            let rooms = self.archetypes.rooms_mut(chunk.archetype, chunk.group);
            chunk.room_place = list_place(rooms.len());
            rooms.push(number);
        }
    }

    /// Removes a full chunk from the list of chunks with room.
    #[cold]
    pub(crate) fn note_full(&mut self, number: u32) {
        let chunk = &mut self.chunks[number];
        let place = std::mem::replace(&mut chunk.room_place, NOWHERE);
        let (archetype, group) = (chunk.archetype, chunk.group);
        self.leave_room_list(archetype, group, place);
    }
}

impl Storage {
    /// Sorts all lists of chunks with room by a key of their chunks.
    pub(crate) fn sort_rooms(&mut self, key: impl Fn(u32) -> u64) {
        self.room_changes += 1;
        let chunks = &mut self.chunks;
        self.archetypes.for_each_room_list(|rooms| {
            rooms.sort_by_key(|&number| key(number));
            for (place, &number) in rooms.iter().enumerate() {
                chunks[number].room_place = list_place(place);
            }
        });
    }
}

/// Converts the length of a list to the position of the element that is pushed next.
pub(crate) fn list_place(length: usize) -> u32 {
    u32::try_from(length).expect("fewer chunks than entities")
}
