//! All chunks of a world by number, and the vector that keeps them readable for jobs while it grows.

#![expect(unsafe_code, reason = "unchecked access to existing chunks, while jobs read others")]

use std::mem::{ManuallyDrop, MaybeUninit};
use std::num::NonZero;
use std::ops::{Deref, Index, IndexMut};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{ptr, slice};

use super::archetype::ArchetypeShape;
use super::arena::{ChunkMemory, OutOfMemory};
use super::chunk::{Chunk, NOWHERE};
use super::fork::{ChunkCopy, unshare};
use super::raw_values::prefetch;
use super::reserve::RowRange;
use super::transfer::Transfer;
use super::versions::{MetadataPool, UniformChunks};
use super::{Location, Storage};
use crate::component::ComponentType;
use crate::entity::Entity;
use crate::version::Version;

/// The address of a chunk's memory and the number of its archetype, which suffice to find a value.
#[derive(Clone, Copy)]
pub(crate) struct ChunkAddress {
    pub(super) data: NonNull<u8>,
    pub(crate) archetype: u32,
}

// SAFETY: a `ChunkAddress` holds an address. A `Chunk` is `Send`, so the memory at the address may be used by another thread.
unsafe impl Send for ChunkAddress {}

impl ChunkAddress {
    /// Returns the address of the chunk's memory as a number.
    #[inline]
    pub(crate) fn addr(self) -> NonZero<usize> {
        self.data.addr()
    }

    /// Returns the address of the first value of a column.
    #[inline]
    pub(crate) fn column(self, offset: u32) -> *mut u8 {
        self.data.as_ptr().wrapping_add(offset as usize)
    }
}

/// All chunks of a world. A chunk keeps its number until it is removed.
#[derive(Default)]
pub(crate) struct Chunks {
    chunks: StableVec<Option<Chunk>>,
    /// A compact copy of the addresses of all chunks. Without it, random lookups in a large world would need all of `chunks` in
    /// the cache.
    pub(super) addresses: Vec<ChunkAddress>,
    /// The free numbers. The last one is used next.
    pub(super) free: Vec<u32>,
    /// The number of chunks that were ever created.
    sequence: u64,
    /// True after a fork, when chunks may share their memory.
    may_be_shared: bool,
    /// A superset of the chunks that have one version for all columns.
    pub(super) uniform: UniformChunks,
    /// The metadata memory of removed chunks, for reuse.
    pub(super) pool: MetadataPool,
}

impl Chunks {
    /// Adds a chunk, and returns its number. `make` gets the sequence number of the chunk and the recycled memory.
    pub(crate) fn insert(&mut self, make: impl FnOnce(u64, &mut MetadataPool) -> Chunk) -> u32 {
        self.sequence += 1;
        let chunk = make(self.sequence, &mut self.pool);
        let address = ChunkAddress { data: chunk.data, archetype: chunk.archetype };
        if let Some(number) = self.free.pop() {
            *self.place_mut(number) = Some(chunk);
            self.addresses[number as usize] = address;
            return number;
        }
        let number = u32::try_from(self.chunks.len()).expect("fewer chunks than entities");
        self.chunks.push(Some(chunk));
        self.addresses.push(address);
        self.uniform.expect(number);
        number
    }

    /// Declares that from now on jobs may read the metadata of chunks through pointers, even while chunks are added.
    pub(crate) fn stay(&self) {
        self.chunks.stay();
    }

    /// Reserves memory for `more` chunks.
    pub(crate) fn expect(&mut self, more: usize) {
        let more = more.saturating_sub(self.free.len());
        self.chunks.reserve(more);
        self.addresses.reserve(more);
    }

    pub(crate) fn remove(&mut self, number: u32) -> Chunk {
        self.free.push(number);
        self.place_mut(number).take().expect("a chunk of this number")
    }

    /// Recycles the metadata memory of a removed chunk, which afterwards has no versions and no masks.
    pub(super) fn recycle(&mut self, chunk: &mut Chunk) {
        // Each chunk has two pieces of metadata memory, versions and masks, which may have the same size.
        let most = 2 * self.chunks.len();
        chunk.versions.recycle(&mut self.pool, most);
        chunk.enabled.recycle(&mut self.pool, most);
    }

    /// Returns the element of one chunk, without borrowing others, which jobs may be reading.
    #[inline]
    fn place_mut(&mut self, number: u32) -> &mut Option<Chunk> {
        assert!((number as usize) < self.chunks.len());
        // SAFETY: the number is in bounds. Only this element is borrowed, and jobs do not read chunks that the world changes.
        unsafe { &mut *self.chunks.as_mut_ptr().add(number as usize) }
    }

    /// Removes all chunks, and returns the elements of all numbers.
    pub(crate) fn take_all(&mut self) -> Vec<Option<Chunk>> {
        self.free.clear();
        self.addresses.clear();
        self.uniform.clear();
        self.chunks.take_all()
    }

    #[inline]
    pub(crate) fn get(&self, number: u32) -> Option<&Chunk> {
        self.chunks.get(number as usize)?.as_ref()
    }

    /// Returns the entities in a range of rows.
    #[inline]
    pub(crate) fn entities_in(&self, run: RowRange) -> &[Entity] {
        &self[run.chunk].entities()[run.first as usize..][..run.rows as usize]
    }

    /// Returns the address of a chunk's memory, and its archetype.
    ///
    /// # Safety
    ///
    /// - the chunk exists: its number comes from the entity table or from the list of an archetype
    #[inline]
    pub(crate) unsafe fn address(&self, number: u32) -> ChunkAddress {
        debug_assert_eq!(self[number].data, self.addresses[number as usize].data);
        // SAFETY: the chunk exists, and `addresses` has an element for each number.
        unsafe { *self.addresses.get_unchecked(number as usize) }
    }

    /// Replaces the memory of a shared chunk with a copy from `copy`, and returns the old memory. Returns `None` if the chunk is
    /// no longer shared.
    #[cold]
    pub(crate) fn unshare<E>(
        &mut self,
        number: u32,
        copy: impl FnOnce(&Chunk) -> Result<ChunkMemory, E>,
    ) -> Result<Option<ChunkMemory>, E> {
        let chunk = &mut self[number];
        if !chunk.is_shared() {
            return Ok(None);
        }
        let memory = copy(chunk)?;
        let data = memory.as_ptr();
        let shared = chunk.replace_memory(memory);
        self.addresses[number as usize].data = data;
        Ok(Some(shared))
    }

    /// Moves a chunk and all its rows to another archetype.
    ///
    /// # Safety
    ///
    /// - a chunk with this number exists
    /// - `shape` is the shape of the archetype that `transfer` leads to, which outlives the chunk
    /// - `transfer` begins at the archetype of the chunk, and [keeps chunks whole](Transfer::whole), or the caller has moved the
    ///   columns as it [lists](Transfer::repacks)
    #[inline]
    pub(crate) unsafe fn change_archetype(
        &mut self,
        number: u32,
        shape: &ArchetypeShape,
        transfer: &Transfer,
        version: Version,
    ) {
        assert!((number as usize) < self.chunks.len());
        // SAFETY: the number is in bounds. Other elements are not borrowed, because jobs may be reading them.
        let place = unsafe { &mut *self.chunks.as_mut_ptr().add(number as usize) };
        let chunk = place.as_mut().expect("a chunk of this number");
        let pool = &mut self.pool;
        // SAFETY: this function has the same contract as the method, and the chunk exists.
        unsafe { chunk.change_archetype(transfer.to, shape, transfer, version, pool) };
        self.addresses[number as usize].archetype = transfer.to;
    }

    /// Prefetches the metadata of a chunk.
    #[inline]
    pub(crate) fn prefetch(&self, number: u32) {
        let chunk = self.chunks.as_ptr().wrapping_add(number as usize).cast::<u8>();
        prefetch(chunk);
        prefetch(chunk.wrapping_add(size_of::<Chunk>() / 2));
    }

    /// Returns a chunk that exists, without a check.
    ///
    /// # Safety
    ///
    /// - the chunk exists: its number comes from the entity table or from the list of an archetype
    #[inline]
    pub(crate) unsafe fn get_unchecked(&self, number: u32) -> &Chunk {
        debug_assert!(self.get(number).is_some());
        // SAFETY: the chunk exists.
        unsafe { self.chunks.get_unchecked(number as usize).as_ref().unwrap_unchecked() }
    }

    /// Returns a chunk that exists, mutably and without a check. No job may use the chunk. If jobs do, use
    /// [`get_unchecked`](Self::get_unchecked), and record writes with [`note_written_beside`](Chunk::note_written_beside).
    ///
    /// # Safety
    ///
    /// - the chunk exists: its number comes from the entity table or from the list of an archetype
    #[inline]
    pub(crate) unsafe fn get_unchecked_mut(&mut self, number: u32) -> &mut Chunk {
        debug_assert!(self.get(number).is_some());
        // SAFETY: the chunk exists. No other element is borrowed, because jobs may be reading them.
        unsafe { (*self.chunks.as_mut_ptr().add(number as usize)).as_mut().unwrap_unchecked() }
    }

    /// Returns the address of the array of chunks, which is indexed by number. The elements of free numbers are `None`.
    #[inline]
    pub(crate) fn as_ptr(&self) -> *const Chunk {
        self.chunks.as_ptr().cast()
    }

    /// Returns two chunks that exist, mutably and without a check.
    ///
    /// # Safety
    ///
    /// - both chunks exist: their numbers come from the entity table or from the lists of archetypes
    /// - the numbers differ
    #[inline]
    pub(crate) unsafe fn get_pair_unchecked_mut(
        &mut self,
        one: u32,
        other: u32,
    ) -> [&mut Chunk; 2] {
        debug_assert!(one != other && self.get(one).is_some() && self.get(other).is_some());
        let chunks = self.chunks.as_mut_ptr();
        // SAFETY: both chunks exist, and their numbers differ. No other element is borrowed, because jobs may be reading them.
        [one, other]
            .map(|number| unsafe { (*chunks.add(number as usize)).as_mut().unwrap_unchecked() })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Chunk)> {
        (0..).zip(self.chunks.iter()).filter_map(|(number, chunk)| Some((number, chunk.as_ref()?)))
    }

    /// Iterates over all chunks mutably. No job may be reading them.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &mut Chunk)> {
        let places = self.places_mut();
        (0..).zip(places).filter_map(|(number, chunk)| Some((number, chunk.as_mut()?)))
    }

    /// Returns the elements of all numbers mutably. No job may be reading them.
    fn places_mut(&mut self) -> &mut [Option<Chunk>] {
        let len = self.chunks.len();
        // SAFETY: the elements are initialised, and the result borrows `self` mutably.
        unsafe { slice::from_raw_parts_mut(self.chunks.as_mut_ptr(), len) }
    }

    /// Creates the chunks of a fork, which share memory or have the given copies. The copies are sorted by number.
    pub(crate) fn fork(&mut self, copies: Vec<ChunkCopy>) -> Self {
        self.may_be_shared = true;
        let mut copies = copies.into_iter().peekable();
        let mut addresses = self.addresses.clone();
        let chunks =
            (0..).zip(self.places_mut()).zip(&mut addresses).map(|((number, chunk), address)| {
                let copy = copies.next_if(|copy| copy.number == number);
                let fork = chunk.as_mut()?.fork(copy);
                address.data = fork.data;
                Some(fork)
            });
        let chunks = chunks.collect::<Vec<_>>().into();
        let (free, sequence) = (self.free.clone(), self.sequence);
        let uniform = self.uniform.clone();
        let pool = MetadataPool::default();
        Self { chunks, addresses, free, sequence, may_be_shared: true, uniform, pool }
    }

    /// Returns whether a chunk of this world may share its memory with a fork.
    #[inline]
    pub(crate) fn may_be_shared(&self) -> bool {
        self.may_be_shared
    }

    /// Returns whether one of these chunks may share its memory with a fork.
    pub(crate) fn may_share_one(&self, numbers: &[u32]) -> bool {
        self.may_be_shared && numbers.iter().any(|&number| self[number].may_be_shared())
    }

    /// Records that a chunk has one version for all columns.
    #[inline]
    pub(crate) fn note_uniform(&mut self, number: u32) {
        self.uniform.note(number);
    }

    /// [Writes out](super::versions::ChunkVersions::write_out) the versions of those chunks that have one version for all
    /// columns.
    pub(crate) fn write_out_versions(&self, numbers: &[u32]) {
        self.uniform.take(numbers, |number| self[number].versions.write_out());
        debug_assert!(numbers.iter().all(|&number| !self[number].versions.is_uniform()));
    }

    pub(crate) fn numbers(&self) -> usize {
        self.chunks.len()
    }
}

impl Index<u32> for Chunks {
    type Output = Chunk;

    #[inline]
    fn index(&self, number: u32) -> &Chunk {
        self.chunks[number as usize].as_ref().expect("a chunk of this number")
    }
}

/// Returns a chunk mutably, like [`get_unchecked_mut`](Chunks::get_unchecked_mut), but with a check. No job may use the chunk.
impl IndexMut<u32> for Chunks {
    #[inline]
    fn index_mut(&mut self, number: u32) -> &mut Chunk {
        self.place_mut(number).as_mut().expect("a chunk of this number")
    }
}

/// Lookups of entities and chunks. They skip checks, because a storage keeps its parts consistent.
impl Storage {
    /// Returns the address of an entity's component of a type.
    #[inline]
    pub(crate) fn find(&self, entity: Entity, ty: ComponentType) -> Option<*mut u8> {
        let location = self.table.locate(entity)?;
        let chunk = self.located(location);
        let entry = self.archetypes[chunk.archetype].shape.index.find(ty)?;
        Some(chunk.column(entry.offset).wrapping_add(location.row as usize * ty.0.size))
    }

    /// Returns the archetype of the chunk at a location, which comes from the entity table of this storage.
    #[inline]
    pub(crate) fn archetype_at(&self, location: Location) -> u32 {
        self.located(location).archetype
    }

    #[inline]
    fn located(&self, location: Location) -> ChunkAddress {
        // SAFETY: the location comes from the entity table, which refers only to existing chunks.
        unsafe { self.chunks.address(location.chunk) }
    }

    /// Returns a chunk with room, in unshared memory, of an archetype without groups. Creates one if necessary.
    #[inline]
    pub(crate) fn chunk_with_room(&mut self, archetype: u32) -> Result<u32, OutOfMemory> {
        let Some(&number) = self.archetypes[archetype].with_room.last() else {
            return self.open_chunk_in(archetype, NOWHERE);
        };
        // SAFETY: the lists of archetypes contain only existing chunks.
        unsafe { self.make_unique_unchecked(number)? };
        Ok(number)
    }

    /// Makes the memory of a chunk unshared, so that it can be written.
    ///
    /// # Safety
    ///
    /// - the chunk exists: its number comes from the entity table or from the list of an archetype
    #[inline]
    pub(crate) unsafe fn make_unique_unchecked(&mut self, number: u32) -> Result<(), OutOfMemory> {
        // SAFETY: the chunk exists.
        if unsafe { self.chunks.get_unchecked(number) }.may_be_shared() {
            return unshare(&mut self.chunks, number, &self.settings);
        }
        Ok(())
    }
}

/// A vector that can grow while jobs read its elements through pointers.
///
/// When the vector grows, its elements move to new memory, but their bytes also remain at the old addresses. Jobs read only
/// elements that do not change while they run, so that both copies are equal. The old memory, together at most as large as the
/// new, is freed with the vector. Before the first job, no old memory is kept.
pub(crate) struct StableVec<T> {
    list: Vec<T>,
    /// The old memory, from before the vector has grown.
    left: Vec<Vec<MaybeUninit<T>>>,
    /// True if jobs may read elements through pointers.
    stays: AtomicBool,
}

impl<T> StableVec<T> {
    pub(crate) fn push(&mut self, element: T) {
        self.reserve(1);
        self.list.push(element);
    }

    /// Reserves memory for `more` elements.
    #[inline]
    pub(crate) fn reserve(&mut self, more: usize) {
        if more > self.list.capacity() - self.list.len() {
            self.grow(more);
        }
    }

    #[cold]
    fn grow(&mut self, more: usize) {
        if !*self.stays.get_mut() {
            return self.list.reserve(more);
        }
        let len = self.list.len();
        let mut list = Vec::with_capacity((len + more).max(2 * self.list.capacity()));
        let mut old = ManuallyDrop::new(std::mem::take(&mut self.list));
        // SAFETY: the new vector has room for all elements, and does not overlap the old memory. Afterwards only the new vector
        // owns the elements, because the old memory counts as uninitialised.
        unsafe {
            ptr::copy_nonoverlapping(old.as_ptr(), list.as_mut_ptr(), len);
            list.set_len(len);
            self.left.push(Vec::from_raw_parts(old.as_mut_ptr().cast(), 0, old.capacity()));
        }
        self.list = list;
    }

    /// Declares that from now on jobs may read elements through pointers.
    pub(crate) fn stay(&self) {
        // Relaxed: `grow`, which reads the flag, takes `&mut self`.
        self.stays.store(true, Ordering::Relaxed);
    }

    /// Returns the address of the elements without borrowing any of them, because jobs may be reading them.
    #[inline(always)]
    pub(crate) fn as_mut_ptr(&mut self) -> *mut T {
        self.list.as_mut_ptr()
    }

    /// Removes and returns all elements. No job may be reading them.
    pub(crate) fn take_all(&mut self) -> Vec<T> {
        self.left.clear();
        std::mem::take(&mut self.list)
    }
}

impl<T> Default for StableVec<T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<T> From<Vec<T>> for StableVec<T> {
    fn from(list: Vec<T>) -> Self {
        Self { list, left: Vec::new(), stays: AtomicBool::new(false) }
    }
}

impl<T> Deref for StableVec<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        &self.list
    }
}

#[cfg(test)]
mod tests {
    use super::StableVec;

    #[test]
    fn elements_are_still_where_they_were() {
        let mut list = StableVec::default();
        list.push(String::from("first"));
        list.stay();
        let first: *const String = &list[0];
        for at in 0..1000 {
            list.push(at.to_string());
        }
        // SAFETY: the old memory is kept, and nothing writes to it.
        assert_eq!(unsafe { &*first }, "first");
        assert_eq!((list.len(), &*list[0], &*list[1000]), (1001, "first", "999"));
        assert_ne!(first, &raw const list[0]);
        assert_eq!(list.take_all().len(), 1001);
    }
}
