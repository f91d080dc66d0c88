//! Blocks of memory, the reference-counted chunks that they are cut into, and the lists of free chunks.

#![expect(unsafe_code, reason = "memory of the global allocator")]

use std::alloc::{Layout, alloc, dealloc};
use std::mem;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::ref_count::RefCount;
use super::{ArenaShared, ArenaStats, OutOfMemory, TABLE_PAGE_SIZE};

/// The size and alignment of a block, which is the size of a huge page on most processors.
pub(super) const BLOCK_SIZE: usize = 2 << 20;
/// The smallest chunk size. All chunk sizes are multiples of it.
pub(super) const SMALLEST_CHUNK: usize = 4 << 10;
/// The largest chunk size.
pub(super) const LARGEST_CHUNK: usize = 1 << 20;

/// The size and distance of the chunks in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spacing {
    /// The size of a chunk.
    pub(super) size: usize,
    /// The distance from the beginning of one chunk to the beginning of the next.
    stride: usize,
}

impl Spacing {
    /// Creates a spacing in which the first bytes of adjacent chunks are in different cache sets. At multiples of the chunk size,
    /// the first rows of all chunks would compete for a few lines of the L1 cache. Chunks begin at multiples of 64.
    ///
    /// Large chunks begin at multiples of their size, because a block would otherwise hold one chunk less.
    pub(super) const fn staggered(size: usize) -> Self {
        let apart = if size <= 8 << 10 { 64 } else { 128 };
        Self { size, stride: if size <= 32 << 10 { size + apart } else { size } }
    }

    /// Creates a spacing in which chunks begin at multiples of their size.
    pub(super) const fn aligned(size: usize) -> Self {
        Self { size, stride: size }
    }

    /// Returns whether chunks begin at multiples of their size.
    pub(super) const fn is_aligned(self) -> bool {
        self.stride == self.size
    }

    /// Returns the number of chunks in a block.
    pub(super) const fn chunks(self) -> usize {
        BLOCK_SIZE / self.stride
    }
}

const LAYOUT: Layout = match Layout::from_size_align(BLOCK_SIZE, BLOCK_SIZE) {
    Ok(layout) => layout,
    Err(_) => panic!("the size of a block is a power of two"),
};

/// The free count of a block that is about to be freed.
const LEAVING: u32 = u32::MAX;

/// The record of a block: its address, its arena, and the reference counts of its chunks.
#[derive(Debug)]
pub(super) struct ArenaBlock {
    /// The memory of the block. It is freed together with the record.
    start: NonNull<u8>,
    /// The arena of the block. It is alive while a chunk of the block is used.
    owner: *const ArenaShared,
    spacing: Spacing,
    /// The number of free chunks, or [`LEAVING`]. Accessed only while the arena is locked; the lock orders the accesses.
    free: AtomicU32,
    /// The reference counts of used chunks. There is one count per 4 KiB, the smallest chunk size, so that a count is found
    /// without reading the spacing. The counts of a block of 2 MiB take 2 KiB.
    counts: [RefCount; BLOCK_SIZE / SMALLEST_CHUNK],
}

/// The address of a chunk, and the record of its block.
///
/// An `ArenaChunk` does not say whether the chunk is free or used.
#[derive(Clone, Copy, Debug)]
pub(super) struct ArenaChunk {
    /// The address of the chunk.
    pub(super) memory: NonNull<u8>,
    block: NonNull<ArenaBlock>,
}

// SAFETY: an `ArenaChunk` holds addresses; the types that contain it decide which thread may use the memory. Threads share only
// atomic and constant fields of the record.
unsafe impl Send for ArenaChunk {}
// SAFETY: an `ArenaChunk` holds addresses; the types that contain it decide which thread may use the memory. Threads share only
// atomic and constant fields of the record.
unsafe impl Sync for ArenaChunk {}

impl ArenaBlock {
    /// Allocates a block of free chunks. Returns `None` if the system has no memory.
    ///
    /// The memory is not written, so that the system maps no pages before the first use. With `huge`, the system is advised to
    /// use a huge page.
    pub(super) fn allocate(
        owner: *const ArenaShared,
        spacing: Spacing,
        huge: bool,
    ) -> Option<NonNull<Self>> {
        debug_assert!(spacing.size.is_multiple_of(SMALLEST_CHUNK));
        // SAFETY: the layout is not empty.
        let start = NonNull::new(unsafe { alloc(LAYOUT) })?;
        if huge {
            advise_huge_page(start);
        }
        let block = Self {
            start,
            owner,
            spacing,
            free: AtomicU32::new(spacing.chunks() as u32),
            counts: [const { RefCount::one() }; BLOCK_SIZE / SMALLEST_CHUNK],
        };
        Some(NonNull::from(Box::leak(Box::new(block))))
    }

    /// Frees the memory and the record of a block.
    ///
    /// # Safety
    ///
    /// - the block is from [`allocate`](Self::allocate)
    /// - the block is not freed again, and neither the record nor the memory is used again
    pub(super) unsafe fn free(block: NonNull<Self>) {
        // SAFETY:
        // - the record was leaked from a box in `allocate`, which also allocated the memory with this layout
        // - the block is not freed again, and neither the record nor the memory is used afterwards
        unsafe {
            let block = Box::from_raw(block.as_ptr());
            dealloc(block.start.as_ptr(), LAYOUT);
        }
    }

    /// Iterates over the chunks, beginning with the last.
    ///
    /// # Safety
    ///
    /// - the block is alive
    pub(super) unsafe fn chunks_from_the_last(
        block: NonNull<Self>,
    ) -> impl Iterator<Item = ArenaChunk> {
        // SAFETY: the block is alive.
        let &Self { start, spacing, .. } = unsafe { block.as_ref() };
        (0..spacing.chunks()).rev().map(move |index| {
            // SAFETY: the index is less than the number of chunks in the block, so the chunk is inside of the block.
            ArenaChunk { memory: unsafe { start.add(index * spacing.stride) }, block }
        })
    }

    /// Returns the arena. It is alive while a chunk of the block is used.
    pub(super) fn owner(&self) -> *const ArenaShared {
        self.owner
    }

    /// Returns the spacing of the chunks.
    pub(super) fn spacing(&self) -> Spacing {
        self.spacing
    }

    /// Returns whether all chunks of the block are free. The caller has locked the arena.
    pub(super) fn is_wholly_free(&self) -> bool {
        self.free.load(Ordering::Relaxed) as usize == self.spacing.chunks()
    }

    /// Marks the block, all of whose chunks are free, as about to be freed. The caller has locked the arena.
    pub(super) fn leave(&self) {
        self.free.store(LEAVING, Ordering::Relaxed);
    }

    /// Returns whether the block is about to be freed. The caller has locked the arena.
    pub(super) fn is_leaving(&self) -> bool {
        self.free.load(Ordering::Relaxed) == LEAVING
    }

    /// Decreases the number of free chunks by one. The caller has locked the arena.
    pub(super) fn chunk_was_taken(&self) {
        self.free.store(self.free.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
    }

    /// Increases the number of free chunks by one. The caller has locked the arena.
    pub(super) fn chunk_came_back(&self) {
        self.free.store(self.free.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

impl ArenaChunk {
    /// Returns the address of the record of the chunk's block.
    pub(super) fn block(self) -> NonNull<ArenaBlock> {
        self.block
    }

    /// Returns the record of the chunk's block.
    ///
    /// # Safety
    ///
    /// - the block lives for `'a`
    #[inline]
    pub(super) unsafe fn record<'a>(self) -> &'a ArenaBlock {
        // SAFETY: the block lives for `'a`. References to a record are always shared.
        unsafe { self.block.as_ref() }
    }

    /// Returns the reference count of the chunk. The count is valid if the chunk is used.
    ///
    /// # Safety
    ///
    /// - the block lives for `'a`
    #[inline]
    pub(super) unsafe fn count<'a>(self) -> &'a RefCount {
        // SAFETY: the block lives for `'a`.
        let block = unsafe { self.record() };
        let offset = self.memory.addr().get() & (BLOCK_SIZE - 1);
        // Each chunk has its own count, because chunks are at least the smallest chunk size apart.
        &block.counts[offset / SMALLEST_CHUNK]
    }
}

/// Advises the system to use one huge page for a block, instead of 512 small pages.
///
/// Most of the cost of new memory is its page faults, and a huge page takes one page fault. With huge pages, filling 100,000
/// entities of 320 bytes takes a quarter of the time at first. Later it takes three quarters, because there are fewer addresses
/// to translate.
#[cfg(all(target_os = "linux", not(miri)))]
fn advise_huge_page(block: NonNull<u8>) {
    use std::ffi::{c_int, c_void};

    /// `MADV_HUGEPAGE`, which is 14 on all architectures that the standard library supports.
    const MADV_HUGEPAGE: c_int = 14;

    // The standard library links the system's C library, so that no crate is needed for the declaration.
    unsafe extern "C" {
        fn madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int;
    }

    // The result is ignored: the kernel uses small pages if it cannot follow the advice.
    // SAFETY: the range is the memory of one block, and this advice does not change its contents.
    unsafe { madvise(block.as_ptr().cast(), BLOCK_SIZE, MADV_HUGEPAGE) };
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn advise_huge_page(_: NonNull<u8>) {}

/// A reference to a used chunk. Several worlds may own references to one chunk.
///
/// A `ChunkMemory` does not know the types of the contents. Dropping the last reference frees the memory, but does *not* drop the
/// contents: they leak. Owners call [`release`](Self::release) instead, and drop the contents if they were the last owner.
///
/// Sending or sharing a `ChunkMemory` only sends or shares an address. Code that accesses the memory states in its `SAFETY`
/// comment why it may.
#[derive(Debug)]
pub(crate) struct ChunkMemory(ArenaChunk);

/// A used chunk that has no owners any more. The caller drops the contents, and then the `LastChunk`, which frees the memory.
#[derive(Debug)]
#[must_use = "the chunk is freed when this is dropped"]
pub(crate) struct LastChunk(ArenaChunk);

impl ChunkMemory {
    /// Creates the first reference to a chunk that was just allocated.
    pub(super) fn new(chunk: ArenaChunk) -> Self {
        let memory = Self(chunk);
        memory.count().reset();
        memory
    }

    /// Returns the address of the chunk. The memory is valid until the last reference is dropped.
    #[inline]
    pub(crate) fn as_ptr(&self) -> NonNull<u8> {
        self.0.memory
    }

    #[inline]
    fn count(&self) -> &RefCount {
        // SAFETY: the chunk is used while `self` exists, and a block is alive while one of its chunks is used.
        unsafe { self.0.count() }
    }

    /// Creates another reference to the chunk.
    #[inline]
    #[must_use = "the chunk loses a count when this is dropped"]
    pub(crate) fn share(&self) -> Self {
        self.count().add();
        Self(self.0)
    }

    /// Returns whether this is the only reference. If so, all accesses by former owners have ended, and the caller may write to
    /// the chunk.
    #[inline]
    pub(crate) fn is_unique(&self) -> bool {
        self.count().is_one()
    }

    /// Gives up the reference. If it was the last one, returns the chunk: the caller drops the contents, and then the result.
    #[inline]
    #[must_use = "the contents of the last have to be dropped"]
    pub(crate) fn release(self) -> Option<LastChunk> {
        let memory = mem::ManuallyDrop::new(self);
        let (chunk, is_last) = (memory.0, memory.count().remove());
        // `then_some` would create and drop a `LastChunk` even if this is not the last reference.
        is_last.then(|| LastChunk(chunk))
    }
}

impl Drop for ChunkMemory {
    fn drop(&mut self) {
        // `release` consumes a reference, so it gets a bitwise copy of this one, which is not used again.
        drop(Self(self.0).release());
    }
}

impl LastChunk {
    /// Returns the address of the chunk.
    #[inline]
    pub(crate) fn as_ptr(&self) -> NonNull<u8> {
        self.0.memory
    }

    /// Frees chunks of any arenas, and clears the list. For consecutive chunks of one arena, the arena is locked once.
    pub(crate) fn free_many(chunks: &mut Vec<Self>) {
        // SAFETY: each `LastChunk` is a used chunk without owners. `ManuallyDrop` prevents that it is freed twice. The iterator
        // runs no other code.
        unsafe { free(chunks.drain(..).rev().map(|last| mem::ManuallyDrop::new(last).0)) };
    }
}

impl Drop for LastChunk {
    fn drop(&mut self) {
        // SAFETY: a `LastChunk` is a used chunk without owners, and it is not used after its drop. The iterator yields only this
        // chunk.
        unsafe { free([self.0].into_iter()) };
    }
}

/// Frees used chunks that have no owners. For consecutive chunks of one arena, the arena is locked once.
///
/// # Safety
///
/// - the chunks are used, have no owners, and are not used afterwards
/// - the iterator only yields the chunks and runs no other code, because an arena is locked while it is advanced
unsafe fn free(chunks: impl Iterator<Item = ArenaChunk>) {
    let mut chunks = chunks.peekable();
    // SAFETY: the chunks are used until they are freed below, so their blocks are alive.
    let owner_of = |chunk: &ArenaChunk| unsafe { chunk.record() }.owner();
    while let Some(owner) = chunks.peek().map(owner_of) {
        // The function needs its own handle: freeing a chunk may drop the handle of its block, and the arena has to outlive its
        // lock.
        // SAFETY: the address is that of the arena, which the block of the used chunk keeps alive.
        let arena = unsafe {
            Arc::increment_strong_count(owner);
            Arc::from_raw(owner)
        };
        let mut state = arena.lock();
        while let Some(chunk) = chunks.next_if(|chunk| std::ptr::eq(owner_of(chunk), owner)) {
            // SAFETY: the chunk is used, belongs to this arena, and is not used afterwards. `arena` is a handle in addition to
            // that of the chunk's block.
            unsafe { state.free(chunk) };
        }
        let surplus = state.take_surplus();
        drop(state);
        surplus.free();
    }
}

/// The number of powers of two from the smallest chunk size to the largest, both included.
const POWERS: usize = (LARGEST_CHUNK / SMALLEST_CHUNK).trailing_zeros() as usize + 1;
/// The number of size classes: staggered and aligned chunks for each power of two, and the pages of entity tables.
const SIZE_CLASSES: usize = 2 * POWERS + 1;

/// The number of bytes by which the free memory may exceed the used memory.
///
/// A game that clears and refills a world, or forks it every frame, should reuse its memory. A program that has shrunk
/// permanently should not keep much more than twice the memory that it uses.
const SLACK: usize = 64 << 20;

/// The free chunks and the memory usage of an arena.
///
/// **Invariants** while the arena is not locked:
///
/// - every chunk of every block is either used, or is once on the stack of its size class
/// - all blocks that the stacks refer to are alive
/// - a block with a used chunk owns a handle to the arena
#[derive(Debug, Default)]
pub(super) struct ArenaState {
    classes: [SizeClass; SIZE_CLASSES],
    /// The total size of all blocks in bytes.
    reserved: usize,
    /// The total size of used chunks in bytes.
    used: usize,
    /// The number of blocks without used chunks.
    wholly_free: usize,
}

/// The chunks of an arena that have the same size and spacing.
#[derive(Debug, Default)]
struct SizeClass {
    /// The free chunks. The chunk that was freed last is on top. The capacity suffices for all chunks of the class, so that
    /// freeing never allocates.
    free: Vec<ArenaChunk>,
    /// The number of used and free chunks.
    chunks: usize,
}

/// Blocks without used chunks that were removed from the arena, and are to be freed.
#[must_use = "the blocks are leaked if they are not freed"]
pub(super) struct Surplus(Vec<NonNull<ArenaBlock>>);

impl ArenaState {
    pub(super) fn stats(&self) -> ArenaStats {
        ArenaStats { reserved: self.reserved, used: self.used }
    }

    /// Takes a free chunk, and allocates a block if no chunk is free. `owner` is the arena of this state.
    pub(super) fn allocate(
        &mut self,
        owner: &Arc<ArenaShared>,
        spacing: Spacing,
    ) -> Result<ArenaChunk, OutOfMemory> {
        let requested = spacing.size;
        let used = self.used + spacing.size;
        if let Some(limit) = owner.limit.filter(|&limit| used > limit) {
            return Err(OutOfMemory { requested, limit: Some(limit) });
        }
        let chunk = match self.class_mut(spacing).free.pop() {
            Some(chunk) => chunk,
            None => self.add_block(owner, spacing).ok_or(OutOfMemory { requested, limit: None })?,
        };
        // SAFETY: the chunk was on a stack, so its block is alive. No block is freed while the state is borrowed.
        let block = unsafe { chunk.record() };
        if block.is_wholly_free() {
            self.wholly_free -= 1;
            // A block with a used chunk owns a handle to the arena.
            let _owned = Arc::into_raw(Arc::clone(owner));
        }
        block.chunk_was_taken();
        self.used = used;
        Ok(chunk)
    }

    /// Allocates a block, adds all its chunks but the first to the free chunks, and returns the first.
    #[cold]
    fn add_block(&mut self, owner: &Arc<ArenaShared>, spacing: Spacing) -> Option<ArenaChunk> {
        let class = self.class_mut(spacing);
        let chunks = class.chunks + spacing.chunks();
        class.free.try_reserve(chunks - class.free.len()).ok()?;
        // The first block uses small pages: many worlds never need more than a few chunks.
        let huge = class.chunks > 0;
        let block = ArenaBlock::allocate(Arc::as_ptr(owner), spacing, huge)?;
        class.chunks = chunks;
        // SAFETY: the block was just allocated, so it is alive. The first chunk is the last to be pushed.
        class.free.extend(unsafe { ArenaBlock::chunks_from_the_last(block) });
        let first = class.free.pop();
        self.reserved += BLOCK_SIZE;
        self.wholly_free += 1;
        first
    }

    /// Returns a used chunk to the free chunks of its size class.
    ///
    /// # Safety
    ///
    /// - the chunk is used, belongs to this arena, and is not used afterwards
    /// - the caller owns a handle to the arena, in addition to that of the chunk's block
    pub(super) unsafe fn free(&mut self, chunk: ArenaChunk) {
        // SAFETY: the chunk has been used until now, so its block is alive.
        let block = unsafe { chunk.record() };
        self.used -= block.spacing().size;
        self.class_mut(block.spacing()).free.push(chunk);
        block.chunk_came_back();
        if block.is_wholly_free() {
            self.wholly_free += 1;
            // SAFETY: the block has owned this handle since its first chunk was taken, and no longer needs it. The handle is not
            // the last, because the caller owns another.
            unsafe { Arc::decrement_strong_count(block.owner()) };
        }
    }

    /// Removes wholly free blocks if there is much more free memory than will soon be needed.
    ///
    /// If the free memory exceeds the used memory by more than [`SLACK`], blocks are removed until half of the slack remains, so
    /// that the next freed chunks do not exceed the limit again. Finding wholly free blocks takes a pass over all free chunks, so
    /// nothing is removed until they make up an eighth of the free memory.
    pub(super) fn take_surplus(&mut self) -> Surplus {
        let free = self.reserved - self.used;
        if free <= self.used + SLACK || self.wholly_free * BLOCK_SIZE < free / 8 {
            return Surplus(Vec::new());
        }
        let excess = free - (self.used + SLACK / 2);
        self.take_wholly_free(excess.div_ceil(BLOCK_SIZE))
    }

    /// Removes up to `most` blocks without used chunks. The blocks that have been free for longest are removed first.
    #[cold]
    pub(super) fn take_wholly_free(&mut self, most: usize) -> Surplus {
        let mut surplus = Vec::with_capacity(most.min(self.wholly_free));
        for class in &mut self.classes {
            let before = class.free.len();
            // `retain` visits the stack from the bottom, where the chunks are that were freed first, to the top.
            class.free.retain(|chunk| {
                // SAFETY: the chunk is on the stack, so its block is alive. Blocks are freed only after this pass.
                let block = unsafe { chunk.record() };
                if block.is_wholly_free() && surplus.len() < most {
                    block.leave();
                    surplus.push(chunk.block());
                }
                !block.is_leaving()
            });
            class.chunks -= before - class.free.len();
        }
        self.wholly_free -= surplus.len();
        self.reserved -= surplus.len() * BLOCK_SIZE;
        Surplus(surplus)
    }

    fn class_mut(&mut self, spacing: Spacing) -> &mut SizeClass {
        let power = (spacing.size / SMALLEST_CHUNK).trailing_zeros() as usize;
        let class = match spacing.is_aligned() {
            _ if spacing.size == TABLE_PAGE_SIZE => SIZE_CLASSES - 1,
            true => POWERS + power,
            false => power,
        };
        &mut self.classes[class]
    }
}

impl Surplus {
    /// Frees the blocks. That takes long, so the caller does not lock the arena meanwhile.
    pub(super) fn free(self) {
        for block in self.0 {
            // SAFETY: the block was removed from the arena, together with all its chunks, of which none is used. `self.0`
            // contains it once, so it is freed once.
            unsafe { ArenaBlock::free(block) };
        }
    }
}
