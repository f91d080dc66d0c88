//! One chunk, as its world knows it, and the list of all of them.

#![expect(unsafe_code, reason = "addresses in chunks")]

use std::mem::MaybeUninit;
use std::num::NonZero;
use std::ops::{Index, IndexMut};
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;

use super::archetype::ArchetypeShape;
use super::arena::ChunkMemory;
use super::chunk_copy::ChunkCopy;
use super::chunk_state::ChunkState;
use super::chunk_values::ChunkValues;
use super::column_index::Found;
use super::enabled::EnabledMasks;
use super::fetch::fetch;
use super::row_place::RowPlace;
use super::staying::Staying;
use super::transfer::Transfer;
use super::uniform_chunks::UniformChunks;
use crate::component::ComponentType;
use crate::entity::Entity;
use crate::version::Version;

/// Not in a list.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// A chunk: its memory, and what a world keeps about it.
///
/// The memory may be shared with forks of the world; everything else is the world's own. The first `len` rows of
/// the memory have an id and a value in each column, the others nothing.
///
/// **Invariant:** the archetype of a chunk, and with it the shape, lives as long as the chunk.
#[repr(C, align(64))]
pub(crate) struct Chunk {
    // What every operation needs comes first, in one line of the cache.
    /// Where the memory is, beside `memory` itself so that it is found at once.
    data: NonNull<u8>,
    shape: NonNull<ArchetypeShape>,
    pub(crate) len: u32,
    capacity: u32,
    pub(crate) archetype: u32,
    /// Where it is in the list of chunks with room, of its group or its archetype, or [`NOWHERE`] if it has none.
    pub(crate) room_place: u32,
    /// When a row last came or went.
    pub(crate) order_version: Version,
    /// How often rows came or went.
    pub(crate) order_events: u32,
    pub(crate) state: ChunkState,
    /// What is not as simple as it mostly is.
    flags: u8,
    /// Where it is in its archetype's list of chunks.
    pub(crate) place: u32,
    pub(crate) enabled: EnabledMasks,
    pub(crate) sequence: u64,
    /// What the chunk has for itself. Never shared.
    pub(crate) values: ChunkValues,
    /// Its group, if the archetype has shared types, or [`NOWHERE`].
    pub(crate) group: u32,
    memory: ChunkMemory,
}

// Two lines of the cache, so that finding one by its number takes a shift. What says whether there is one takes no room, so that
// the chunk is where the option is.
const _: () = assert!(size_of::<Option<Chunk>>() == 128 && size_of::<Chunk>() == 128);

/// Forks may have the memory too. If not, it is the world's alone.
const SHARED: u8 = 1;
/// There are components that can be switched off and on.
const MASKED: u8 = 2;
/// There are values that have to be dropped.
const DROPS: u8 = 4;
/// There are components that stay when an entity is despawned.
const STAYS: u8 = 8;
/// There are values that are not [small](ArchetypeShape::is_small).
const LARGE: u8 = 16;
/// There are values of the chunk itself, which are dropped with it.
const VALUES: u8 = 32;
/// There are shared components: not every chunk of the archetype will do.
const GROUPED: u8 = 64;
/// There are components of which it is noted row by row when they were written.
const TRACKED: u8 = 128;

// SAFETY: the memory is reached through the world that has the chunk, or read by forks of it, and what is in it may
// be sent and shared, since components are `Send` and `Sync`. Those that are not `Sync` are in memory that no fork has.
// So is the shape.
unsafe impl Send for Chunk {}

impl Chunk {
    /// A chunk without rows, of an archetype that outlives it.
    pub(crate) fn new(
        memory: ChunkMemory,
        archetype: u32,
        shape: &Arc<ArchetypeShape>,
        sequence: u64,
        values: ChunkValues,
    ) -> Self {
        Self {
            data: memory.as_ptr(),
            shape: NonNull::from(&**shape),
            len: 0,
            capacity: shape.capacity,
            archetype,
            room_place: NOWHERE,
            order_version: Version::NEVER,
            order_events: 0,
            state: ChunkState::new(shape),
            flags: flags_of(shape),
            place: NOWHERE,
            enabled: EnabledMasks::new(shape.enableable.len(), shape.capacity),
            sequence,
            values,
            group: NOWHERE,
            memory,
        }
    }

    /// The chunk of a fork, which has the same memory, or what was copied, and the same shape in an archetype of its own.
    fn fork(&mut self, copy: Option<ChunkCopy>) -> Self {
        let (memory, values) = copy.map_or((None, ChunkValues::NONE), ChunkCopy::into_parts);
        debug_assert_eq!(memory.is_none(), self.shape().is_shared);
        debug_assert!(values.is_of(self.shape().values.as_ref()));
        let memory = memory.unwrap_or_else(|| {
            self.flags |= SHARED;
            self.memory.share()
        });
        Self {
            data: memory.as_ptr(),
            state: self.state.clone(),
            enabled: self.enabled.clone(),
            values,
            memory,
            ..*self
        }
    }

    /// Lets the chunk be of another archetype, as a transfer says, with all that is in it.
    ///
    /// # Safety
    ///
    /// - the shape is that of the archetype, which outlives the chunk, and the transfer is one to it that
    ///   [keeps chunks whole](Transfer::whole), or the columns were moved as it [says](Transfer::refits)
    unsafe fn change_archetype(
        &mut self,
        archetype: u32,
        shape: &ArchetypeShape,
        transfer: &Transfer,
        version: Version,
    ) {
        debug_assert!(transfer.to == archetype && self.len <= shape.capacity);
        debug_assert!(transfer.refits || (transfer.whole && self.capacity == shape.capacity));
        let is_tracked = self.is_tracked() || !shape.tracked.is_empty();
        let tracking = is_tracked.then(|| self.take_tracking_for(shape, transfer, version));
        self.state.rearrange(shape.types.len(), &transfer.kept, version);
        if let Some(Some(tracking)) = tracking {
            self.state.set_tracking(tracking);
        }
        let has_masks = !(self.enabled.is_empty() && shape.enableable.is_empty());
        if has_masks || self.capacity != shape.capacity {
            let masks = shape.enableable.len();
            let (kept, new) = (&transfer.masks_kept, &transfer.masks_new);
            self.enabled = self.enabled.rearranged(masks, shape.capacity, self.len, kept, new);
        }
        self.capacity = shape.capacity;
        self.shape = NonNull::from(shape);
        self.archetype = archetype;
        self.flags = transfer.flags | (self.flags & SHARED);
    }

    /// Lets the chunk, which is in no list, be one of an archetype of another storage, with all that is in it but the ids.
    ///
    /// # Safety
    ///
    /// - the shape is that of the archetype, which outlives the chunk, and [as good](ArchetypeShape::is_as_good_as) as that which
    ///   the chunk has
    pub(super) unsafe fn settle(
        &mut self,
        archetype: u32,
        group: u32,
        shape: &ArchetypeShape,
        sequence: u64,
    ) {
        debug_assert!(self.shape().is_as_good_as(shape));
        self.shape = NonNull::from(shape);
        self.archetype = archetype;
        self.group = group;
        self.sequence = sequence;
        (self.place, self.room_place) = (NOWHERE, NOWHERE);
        // What came and went in it so far counts where it was.
        self.order_events = 0;
        self.values.relabel(shape.values.as_ref());
    }

    /// The ids of all rows, to be replaced.
    pub(super) fn ids_mut(&mut self) -> &mut [MaybeUninit<Entity>] {
        assert!(!self.may_be_shared());
        // SAFETY: the first `len` ids are there. The memory is the world's alone, and this chunk borrowed mutably.
        unsafe { slice::from_raw_parts_mut(self.id(0).cast(), self.len as usize) }
    }

    /// The memory, the values of the chunk itself, the shape and how many rows there are.
    ///
    /// The values are dropped with what is returned. That runs code of the user, so it is done when everything else is.
    pub(crate) fn into_parts<'a>(self) -> (ChunkMemory, ChunkValues, &'a ArchetypeShape, u32) {
        // SAFETY: who takes a chunk apart is in the midst of a change to the archetype, which lives.
        let shape = unsafe { self.unbound_shape() };
        (self.memory, self.values, shape, self.len)
    }

    #[inline]
    pub(crate) fn shape(&self) -> &ArchetypeShape {
        // SAFETY: the archetype outlives the chunk.
        unsafe { self.shape.as_ref() }
    }

    /// The shape, not bound to the borrow of the chunk, so that both can be worked with.
    ///
    /// # Safety
    ///
    /// - it is not used once the archetype is gone, which keeps the shape alive
    #[inline]
    pub(crate) unsafe fn unbound_shape<'a>(&self) -> &'a ArchetypeShape {
        // SAFETY: the archetype lives.
        unsafe { self.shape.as_ref() }
    }

    #[inline]
    pub(crate) fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Whether the memory may have to be copied before it is written.
    #[inline]
    pub(crate) fn may_be_shared(&self) -> bool {
        self.flags & SHARED != 0
    }

    /// Whether the chunk knows of its rows what its shape says.
    pub(crate) fn is_of_its_shape(&self) -> bool {
        let shape = self.shape();
        self.flags & !SHARED == flags_of(shape)
            && self.capacity == shape.capacity
            && self.state.types() == shape.types.len()
            && self.enabled.is_for(shape.enableable.len(), shape.capacity)
    }

    /// Whether rows can come from other chunks and go to them by moving small values alone.
    #[inline]
    pub(crate) fn moves_simply(&self) -> bool {
        // Who takes the last row away by this goes on after it, and so must not run code of the user.
        self.flags & (SHARED | MASKED | LARGE | VALUES | GROUPED | TRACKED) == 0
    }

    /// Whether rows can go by letting another of small values take their place.
    #[inline]
    pub(crate) fn removes_simply(&self) -> bool {
        self.flags == 0
    }

    /// Finds out whether the memory is still shared, and remembers it if not.
    fn is_shared(&mut self) -> bool {
        if self.may_be_shared() && self.memory.is_unique() {
            self.flags &= !SHARED;
        }
        self.may_be_shared()
    }

    /// Takes other memory, with the same in it, and returns that which it had.
    fn replace_memory(&mut self, memory: ChunkMemory) -> ChunkMemory {
        self.data = memory.as_ptr();
        self.flags &= !SHARED;
        std::mem::replace(&mut self.memory, memory)
    }

    #[inline]
    pub(crate) fn data(&self) -> *mut u8 {
        self.data.as_ptr()
    }

    /// Where the memory begins, as a number.
    #[inline]
    pub(crate) fn memory_address(&self) -> NonZero<usize> {
        self.data.addr()
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
        debug_assert!(row < self.capacity);
        self.data().cast::<Entity>().wrapping_add(row as usize)
    }

    /// The places for ids of rows that are not there yet.
    pub(crate) fn new_ids(&mut self, first: u32, rows: u32) -> &mut [MaybeUninit<Entity>] {
        assert!(first >= self.len && rows <= self.capacity - first && !self.may_be_shared());
        // SAFETY: there is room for so many ids. The memory is the world's alone, and this chunk borrowed mutably.
        unsafe { slice::from_raw_parts_mut(self.id(first).cast(), rows as usize) }
    }

    #[inline]
    pub(crate) fn find(&self, ty: ComponentType) -> Option<Found> {
        self.shape().index.find(ty)
    }

    /// The column of a type of which the chunk itself has a value, and where that is.
    pub(crate) fn find_value(&self, ty: ComponentType) -> Option<(u32, NonNull<u8>)> {
        let column = self.find(ty)?.column;
        Some((column, self.values.find(column)?))
    }

    /// Where the values of a column begin.
    #[inline]
    pub(crate) fn column(&self, offset: u32) -> *mut u8 {
        self.data().wrapping_add(offset as usize)
    }

    /// Whether it is noted of some component row by row when it was written.
    #[inline]
    pub(crate) fn is_tracked(&self) -> bool {
        self.flags & TRACKED != 0
    }

    /// Notes that rows came or went.
    #[inline]
    pub(crate) fn note_order(&mut self, version: Version) {
        self.order_version = version;
        self.order_events = self.order_events.wrapping_add(1);
    }
}

/// What is not as simple as it mostly is in chunks of a shape.
pub(crate) fn flags_of(shape: &ArchetypeShape) -> u8 {
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    flag(!shape.enableable.is_empty(), MASKED)
        | flag(!shape.dropped.is_empty(), DROPS)
        | flag(shape.stays(), STAYS)
        | flag(!shape.is_small(), LARGE)
        | flag(shape.values.is_some(), VALUES)
        | flag(!shape.shared.is_empty(), GROUPED)
        | flag(!shape.tracked.is_empty(), TRACKED)
}

/// What has to be known to find a value in a chunk.
#[derive(Clone, Copy)]
pub(crate) struct ChunkAddress {
    data: NonNull<u8>,
    pub(crate) archetype: u32,
}

// SAFETY: as for the chunk.
unsafe impl Send for ChunkAddress {}

impl ChunkAddress {
    /// Where the memory begins, as a number.
    #[inline]
    pub(crate) fn addr(self) -> NonZero<usize> {
        self.data.addr()
    }

    /// Where the values of a column begin.
    #[inline]
    pub(crate) fn column(self, offset: u32) -> *mut u8 {
        self.data.as_ptr().wrapping_add(offset as usize)
    }
}

/// All chunks of a world. A chunk keeps its number as long as it has entities.
#[derive(Default)]
pub(crate) struct Chunks {
    chunks: Staying<Option<Chunk>>,
    /// The addresses of those that are there, once more: close together, since who looks for one entity after another
    /// in a large world would have all of `chunks` in the cache otherwise.
    addresses: Vec<ChunkAddress>,
    /// Numbers that are free, the one to be used next last.
    free: Vec<u32>,
    /// How many chunks there ever were.
    sequence: u64,
    /// Whether there was a fork, so that memory may be shared.
    may_be_shared: bool,
    /// Which of them may have one version for all columns.
    uniform: UniformChunks,
}

impl Chunks {
    /// Adds a chunk, which is told the number it will have in all of time.
    pub(crate) fn insert(&mut self, make: impl FnOnce(u64) -> Chunk) -> u32 {
        self.sequence += 1;
        let chunk = make(self.sequence);
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

    /// From now on jobs may read what is known of chunks through pointers, also when there come to be more of them.
    pub(crate) fn stay(&self) {
        self.chunks.stay();
    }

    /// Makes room for so many more, unless there is.
    pub(crate) fn expect(&mut self, more: usize) {
        let more = more.saturating_sub(self.free.len());
        self.chunks.reserve(more);
        self.addresses.reserve(more);
    }

    pub(crate) fn remove(&mut self, number: u32) -> Chunk {
        self.free.push(number);
        self.place_mut(number).take().expect("a chunk of this number")
    }

    /// The place of a chunk, to be changed: this one alone, since jobs may be reading others.
    #[inline]
    fn place_mut(&mut self, number: u32) -> &mut Option<Chunk> {
        assert!((number as usize) < self.chunks.len());
        // SAFETY: there are so many. All of them are borrowed with this, as far as the thread of the world is concerned, and
        // what jobs may be reading is not changed.
        unsafe { &mut *self.chunks.as_mut_ptr().add(number as usize) }
    }

    /// Takes all chunks out.
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

    /// The address of a chunk that is known to be there.
    ///
    /// # Safety
    ///
    /// - as for [`at`](Self::at)
    #[inline]
    pub(crate) unsafe fn address(&self, number: u32) -> ChunkAddress {
        debug_assert!(
            self.get(number)
                .is_some_and(|chunk| chunk.data == self.addresses[number as usize].data)
        );
        // SAFETY: it is there.
        unsafe { *self.addresses.get_unchecked(number as usize) }
    }

    /// Gives a chunk memory of its own, unless it has by now. Returns what it had, to be released.
    ///
    /// The memory is made by the function, which is given the chunk.
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

    /// Lets a chunk be of another archetype, as a transfer says, with all that is in it.
    ///
    /// # Safety
    ///
    /// - there is a chunk of this number
    /// - the shape is that of the archetype the transfer leads to, which outlives the chunk
    /// - the transfer begins at the archetype of the chunk, and [keeps chunks whole](Transfer::whole), or the columns were moved as
    ///   it [says](Transfer::refits)
    #[inline]
    pub(crate) unsafe fn change_archetype(
        &mut self,
        number: u32,
        shape: &ArchetypeShape,
        transfer: &Transfer,
        version: Version,
    ) {
        // SAFETY: as the caller promises.
        unsafe { self.at_mut(number).change_archetype(transfer.to, shape, transfer, version) };
        self.addresses[number as usize].archetype = transfer.to;
    }

    /// Has what is known of a chunk on its way.
    #[inline]
    pub(crate) fn fetch(&self, number: u32) {
        let chunk = self.chunks.as_ptr().wrapping_add(number as usize).cast::<u8>();
        fetch(chunk);
        fetch(chunk.wrapping_add(size_of::<Chunk>() / 2));
    }

    /// A chunk that is known to be there.
    ///
    /// # Safety
    ///
    /// - there is a chunk of this number, as the table of entities and the lists of archetypes know
    #[inline]
    pub(crate) unsafe fn at(&self, number: u32) -> &Chunk {
        debug_assert!(self.get(number).is_some());
        // SAFETY: it is there.
        unsafe { self.chunks.get_unchecked(number as usize).as_ref().unwrap_unchecked() }
    }

    /// A chunk that is known to be there, to be changed: no job goes through it. Who does not know that has it by
    /// [`at`](Self::at), and notes what is written [beside](Chunk::note_written_beside) jobs.
    ///
    /// # Safety
    ///
    /// - as for [`at`](Self::at)
    #[inline]
    pub(crate) unsafe fn at_mut(&mut self, number: u32) -> &mut Chunk {
        debug_assert!(self.get(number).is_some());
        // SAFETY: it is there. Others are not borrowed: jobs may be reading them.
        unsafe { (*self.chunks.as_mut_ptr().add(number as usize)).as_mut().unwrap_unchecked() }
    }

    /// Where the chunks are, each at the place of its number. Of numbers that are free, there is none.
    #[inline]
    pub(crate) fn as_ptr(&self) -> *const Chunk {
        self.chunks.as_ptr().cast()
    }

    /// Two chunks that are known to be there, to be changed.
    ///
    /// # Safety
    ///
    /// - as for [`at`](Self::at), and they are two
    #[inline]
    pub(crate) unsafe fn two_mut(&mut self, one: u32, other: u32) -> [&mut Chunk; 2] {
        debug_assert!(one != other && self.get(one).is_some() && self.get(other).is_some());
        let chunks = self.chunks.as_mut_ptr();
        // SAFETY: they are there, and two. Others are not borrowed: jobs may be reading them.
        [one, other]
            .map(|number| unsafe { (*chunks.add(number as usize)).as_mut().unwrap_unchecked() })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Chunk)> {
        (0..).zip(self.chunks.iter()).filter_map(|(number, chunk)| Some((number, chunk.as_ref()?)))
    }

    /// All chunks, to be changed. No job is reading any.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &mut Chunk)> {
        let places = self.places_mut();
        (0..).zip(places).filter_map(|(number, chunk)| Some((number, chunk.as_mut()?)))
    }

    /// The places of all chunks, to be changed. No job is reading any.
    fn places_mut(&mut self) -> &mut [Option<Chunk>] {
        let len = self.chunks.len();
        // SAFETY: there are so many, and all are borrowed with this.
        unsafe { slice::from_raw_parts_mut(self.chunks.as_mut_ptr(), len) }
    }

    /// The chunks of a fork: with the same memory, or with that of the copies, which are sorted by their numbers.
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
        Self { chunks, addresses, free, sequence, may_be_shared: true, uniform }
    }

    /// Whether a chunk may have memory that forks have too. If not, all is the world's alone.
    #[inline]
    pub(crate) fn may_be_shared(&self) -> bool {
        self.may_be_shared
    }

    /// Whether the memory of one of these chunks, which are there, may be shared.
    pub(crate) fn may_share_one(&self, numbers: &[u32]) -> bool {
        self.may_be_shared && numbers.iter().any(|&number| self[number].may_be_shared())
    }

    /// Notes that a chunk, which is there, has one version for all columns.
    #[inline]
    pub(crate) fn note_uniform(&mut self, number: u32) {
        self.uniform.note(number);
    }

    /// Whether a chunk was [noted](Self::note_uniform).
    pub(crate) fn may_be_uniform(&self, number: u32) -> bool {
        self.uniform.has(number)
    }

    /// [Writes out](ChunkState::write_out) the versions of these chunks, which are there.
    pub(crate) fn write_out_versions(&self, numbers: &[u32]) {
        self.uniform.take(numbers, |number| self[number].state.write_out());
        debug_assert!(numbers.iter().all(|&number| !self[number].state.is_uniform()));
    }

    pub(crate) fn free_numbers(&self) -> &[u32] {
        &self.free
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

/// As [`at_mut`](Chunks::at_mut): no job goes through the chunk.
impl IndexMut<u32> for Chunks {
    #[inline]
    fn index_mut(&mut self, number: u32) -> &mut Chunk {
        self.place_mut(number).as_mut().expect("a chunk of this number")
    }
}
