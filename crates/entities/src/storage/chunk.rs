//! One chunk, as its world knows it, and the list of all of them.

#![expect(unsafe_code, reason = "addresses in chunks")]

use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;

use super::archetype::ArchetypeShape;
use super::arena::ChunkMemory;
use super::chunk_state::ChunkState;
use super::column_index::Found;
use super::row_place::RowPlace;
use crate::component::ComponentType;
use crate::entity::Entity;
use crate::version::Version;

/// Not in a list.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// A chunk: its memory, and what a world keeps about it.
///
/// The memory may be shared with forks of the world; everything else is the world's own. The first `len` rows of
/// the memory have an id and a value in each column, the others nothing.
pub(crate) struct Chunk {
    /// Where the memory is, beside `memory` itself so that it is found at once.
    data: NonNull<u8>,
    shape: Arc<ArchetypeShape>,
    pub(crate) archetype: u32,
    pub(crate) len: u32,
    /// Where it is in its archetype's list of chunks.
    pub(crate) place: u32,
    /// Where it is in its archetype's list of chunks with room, or [`NOWHERE`] if it has none.
    pub(crate) room_place: u32,
    /// When a row last came or went.
    pub(crate) order_version: Version,
    /// When a row was last created, hence all versions of `state` are at least that.
    filled_version: Version,
    /// Whether forks may have the memory too. If not, it is the world's alone.
    shared: bool,
    pub(crate) sequence: u64,
    pub(crate) state: ChunkState,
    memory: ChunkMemory,
}

// SAFETY: the memory is reached through the world that has the chunk, or read by forks of it, and what is in it may
// be sent and shared, since components are `Send` and `Sync`.
unsafe impl Send for Chunk {}

impl Chunk {
    pub(crate) fn new(
        memory: ChunkMemory,
        archetype: u32,
        shape: Arc<ArchetypeShape>,
        sequence: u64,
    ) -> Self {
        Self {
            data: memory.as_ptr(),
            archetype,
            len: 0,
            place: NOWHERE,
            room_place: NOWHERE,
            order_version: Version::NEVER,
            filled_version: Version::NEVER,
            shared: false,
            sequence,
            state: ChunkState::new(shape.types.len()),
            shape,
            memory,
        }
    }

    /// The chunk of a fork, which has the same memory.
    pub(crate) fn fork(&mut self) -> Self {
        self.shared = true;
        Self {
            data: self.data,
            shape: Arc::clone(&self.shape),
            archetype: self.archetype,
            len: self.len,
            place: self.place,
            room_place: self.room_place,
            order_version: self.order_version,
            filled_version: self.filled_version,
            shared: true,
            sequence: self.sequence,
            state: self.state.clone(),
            memory: self.memory.share(),
        }
    }

    pub(crate) fn into_memory(self) -> (ChunkMemory, Arc<ArchetypeShape>, u32) {
        (self.memory, self.shape, self.len)
    }

    #[inline]
    pub(crate) fn shape(&self) -> &ArchetypeShape {
        &self.shape
    }

    /// The shape, not bound to the borrow of the chunk, so that both can be worked with.
    ///
    /// # Safety
    ///
    /// - it is not used once the archetype is gone, which keeps the shape alive
    #[inline]
    pub(crate) unsafe fn unbound_shape<'a>(&self) -> &'a ArchetypeShape {
        // SAFETY: the archetype has a count of it for as long as it lives.
        unsafe { &*Arc::as_ptr(&self.shape) }
    }

    pub(crate) fn shape_handle(&self) -> Arc<ArchetypeShape> {
        Arc::clone(&self.shape)
    }

    #[inline]
    pub(crate) fn capacity(&self) -> u32 {
        self.shape.capacity
    }

    /// Whether the memory may have to be copied before it is written.
    #[inline]
    pub(crate) fn may_be_shared(&self) -> bool {
        self.shared
    }

    /// Finds out whether the memory is still shared, and remembers it if not.
    pub(crate) fn is_shared(&mut self) -> bool {
        self.shared = self.shared && !self.memory.is_unique();
        self.shared
    }

    /// Takes other memory, with the same in it, and returns that which it had.
    pub(crate) fn replace_memory(&mut self, memory: ChunkMemory) -> ChunkMemory {
        self.data = memory.as_ptr();
        self.shared = false;
        std::mem::replace(&mut self.memory, memory)
    }

    #[inline]
    pub(crate) fn data(&self) -> *mut u8 {
        self.data.as_ptr()
    }

    /// A row, for a set of components with these offsets.
    #[inline]
    pub(crate) fn row(&self, row: u32, offsets: &[u32]) -> RowPlace {
        RowPlace::new(self.data(), offsets, row as usize)
    }

    /// The ids of the chunk's entities.
    #[inline]
    pub(crate) fn entities(&self) -> &[Entity] {
        // SAFETY: ids are at the beginning of the chunk, and the first `len` are there.
        unsafe { slice::from_raw_parts(self.data().cast_const().cast(), self.len as usize) }
    }

    /// Where the id of a row is.
    #[inline]
    pub(crate) fn id(&self, row: u32) -> *mut Entity {
        debug_assert!(row < self.capacity());
        self.data().cast::<Entity>().wrapping_add(row as usize)
    }

    /// The places for ids of rows that are not there yet.
    pub(crate) fn new_ids(&mut self, first: u32, rows: u32) -> &mut [MaybeUninit<Entity>] {
        assert!(first >= self.len && first + rows <= self.capacity() && !self.shared);
        // SAFETY: there is room for so many ids. The memory is the world's alone, and this chunk borrowed mutably.
        unsafe { slice::from_raw_parts_mut(self.id(first).cast(), rows as usize) }
    }

    #[inline]
    pub(crate) fn find(&self, ty: ComponentType) -> Option<Found> {
        self.shape.index.find(ty)
    }

    /// Where the values of a column begin.
    #[inline]
    pub(crate) fn column(&self, offset: u32) -> *mut u8 {
        self.data().wrapping_add(offset as usize)
    }

    /// Notes that all components of a row are new.
    #[inline]
    pub(crate) fn mark_filled(&mut self, version: Version) {
        self.order_version = version;
        if self.filled_version != version {
            self.filled_version = version;
            self.state.set_all(version);
        }
    }
}

/// All chunks of a world. A chunk keeps its number as long as it has entities.
#[derive(Default)]
pub(crate) struct Chunks {
    chunks: Vec<Option<Chunk>>,
    /// Numbers that are free, the one to be used next last.
    free: Vec<u32>,
    /// How many chunks there ever were.
    sequence: u64,
}

impl Chunks {
    /// Adds a chunk, which is told the number it will have in all of time.
    pub(crate) fn insert(&mut self, make: impl FnOnce(u64) -> Chunk) -> u32 {
        self.sequence += 1;
        let chunk = make(self.sequence);
        if let Some(number) = self.free.pop() {
            self.chunks[number as usize] = Some(chunk);
            return number;
        }
        let number = u32::try_from(self.chunks.len()).expect("fewer chunks than entities");
        self.chunks.push(Some(chunk));
        number
    }

    pub(crate) fn remove(&mut self, number: u32) -> Chunk {
        self.free.push(number);
        self.chunks[number as usize].take().expect("a chunk of this number")
    }

    /// Takes all chunks out.
    pub(crate) fn take_all(&mut self) -> Vec<Option<Chunk>> {
        self.free.clear();
        std::mem::take(&mut self.chunks)
    }

    #[inline]
    pub(crate) fn get(&self, number: u32) -> Option<&Chunk> {
        self.chunks.get(number as usize)?.as_ref()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Chunk)> {
        (0..).zip(&self.chunks).filter_map(|(number, chunk)| Some((number, chunk.as_ref()?)))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &mut Chunk)> {
        (0..).zip(&mut self.chunks).filter_map(|(number, chunk)| Some((number, chunk.as_mut()?)))
    }

    pub(crate) fn fork(&mut self) -> Self {
        Self {
            chunks: self.chunks.iter_mut().map(|chunk| chunk.as_mut().map(Chunk::fork)).collect(),
            free: self.free.clone(),
            sequence: self.sequence,
        }
    }

    pub(crate) fn free_numbers(&self) -> &[u32] {
        &self.free
    }

    pub(crate) fn numbers(&self) -> usize {
        self.chunks.len()
    }
}

impl std::ops::Index<u32> for Chunks {
    type Output = Chunk;

    #[inline]
    fn index(&self, number: u32) -> &Chunk {
        self.chunks[number as usize].as_ref().expect("a chunk of this number")
    }
}

impl std::ops::IndexMut<u32> for Chunks {
    #[inline]
    fn index_mut(&mut self, number: u32) -> &mut Chunk {
        self.chunks[number as usize].as_mut().expect("a chunk of this number")
    }
}
