//! Blocks of memory, the reference-counted chunks that they are cut into, and the lists of free chunks.

#![expect(unsafe_code, reason = "memory of the global allocator")]

use std::alloc::{Layout, alloc, dealloc};
use std::mem;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::ref_count::RefCount;
use super::{ArenaShared, ArenaStats, OutOfMemory, TABLE_PAGE_SIZE};

/// The size and alignment of a block: a huge page of most processors.
pub(super) const BLOCK_SIZE: usize = 2 << 20;
/// The smallest chunk size. All sizes are multiples of it.
pub(super) const SMALLEST_CHUNK: usize = 4 << 10;
/// The largest chunk size.
pub(super) const LARGEST_CHUNK: usize = 1 << 20;

/// The size and distance of the chunks in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spacing {
    /// The size of a chunk.
    pub(super) size: usize,
    /// The distance from one chunk to the next.
    stride: usize,
}

impl Spacing {
    /// Spaces chunks so that the first bytes of neighbours are in different cache sets. At multiples of the chunk size, the
    /// first rows of all chunks would compete for a few lines of the L1 cache. Chunks begin at multiples of 64.
    ///
    /// Large chunks begin at multiples of their size, since a block would hold one less otherwise.
    pub(super) const fn staggered(size: usize) -> Self {
        let apart = if size <= 8 << 10 { 64 } else { 128 };
        Self { size, stride: if size <= 32 << 10 { size + apart } else { size } }
    }

    /// Spaces chunks at multiples of their size.
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

/// The record of a block.
#[derive(Debug)]
pub(super) struct ArenaBlock {
    /// The memory, which is freed with the record.
    start: NonNull<u8>,
    /// The arena. It is alive while a chunk is used.
    owner: *const ArenaShared,
    spacing: Spacing,
    /// The number of free chunks, or [`LEAVING`]. Accessed only while the arena is locked, which orders the accesses.
    free: AtomicU32,
    /// The reference counts of used chunks. There is one per smallest chunk, so that a count is found without knowing the size:
    /// 2 KiB for 2 MiB.
    counts: [RefCount; BLOCK_SIZE / SMALLEST_CHUNK],
}

/// The address of a chunk, and the record of its block.
///
/// It does not say whether the chunk is free or used.
#[derive(Clone, Copy, Debug)]
pub(super) struct ArenaChunk {
    /// The beginning of the chunk.
    pub(super) memory: NonNull<u8>,
    block: NonNull<ArenaBlock>,
}

// SAFETY: it holds addresses, and other types decide who may use the memory. Threads share only atomic or constant fields of
// the record.
unsafe impl Send for ArenaChunk {}
// SAFETY: it holds addresses, and other types decide who may use the memory. Threads share only atomic or constant fields of
// the record.
unsafe impl Sync for ArenaChunk {}

impl ArenaBlock {
    /// Allocates a block of free chunks, if the system has memory.
    ///
    /// The memory is not touched, so that it costs nothing before its first use. With `huge`, the system is asked for a huge
    /// page.
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

    /// Returns a block to the system.
    ///
    /// # Safety
    ///
    /// - the block is from [`allocate`](Self::allocate)
    /// - it is not freed again, and neither it nor its memory is used again
    pub(super) unsafe fn free(block: NonNull<Self>) {
        // SAFETY:
        // - the record was leaked from a box, and the memory allocated with this layout, in `allocate`
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
            // SAFETY: the chunk is inside of the block.
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

    /// Returns whether all chunks are free. The arena is locked.
    pub(super) fn is_wholly_free(&self) -> bool {
        self.free.load(Ordering::Relaxed) as usize == self.spacing.chunks()
    }

    /// Marks a wholly free block that is about to be freed. The arena is locked.
    pub(super) fn leave(&self) {
        self.free.store(LEAVING, Ordering::Relaxed);
    }

    /// Returns whether the block is about to be freed. The arena is locked.
    pub(super) fn is_leaving(&self) -> bool {
        self.free.load(Ordering::Relaxed) == LEAVING
    }

    /// Counts a chunk as used. The arena is locked.
    pub(super) fn chunk_was_taken(&self) {
        self.free.store(self.free.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
    }

    /// Counts a chunk as free. The arena is locked.
    pub(super) fn chunk_came_back(&self) {
        self.free.store(self.free.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

impl ArenaChunk {
    /// Returns the address of its block.
    pub(super) fn block(self) -> NonNull<ArenaBlock> {
        self.block
    }

    /// Returns the record of its block.
    ///
    /// # Safety
    ///
    /// - the block lives for `'a`
    #[inline]
    pub(super) unsafe fn record<'a>(self) -> &'a ArenaBlock {
        // SAFETY: the block lives for `'a`. References to a record are always shared.
        unsafe { self.block.as_ref() }
    }

    /// Returns the reference count, which is valid if the chunk is used.
    ///
    /// # Safety
    ///
    /// - the block lives for `'a`
    #[inline]
    pub(super) unsafe fn count<'a>(self) -> &'a RefCount {
        // SAFETY: the block lives for `'a`.
        let block = unsafe { self.record() };
        let offset = self.memory.addr().get() & (BLOCK_SIZE - 1);
        // The distance of chunks is at least the size of the smallest.
        &block.counts[offset / SMALLEST_CHUNK]
    }
}

/// Asks for one huge page behind a block, instead of 512 small ones.
///
/// The first use of memory is its greatest cost, and a huge page takes one page fault. Filling 100,000 entities of 320 bytes
/// takes a quarter of the time at first, and three quarters later on, because there are fewer addresses to translate.
#[cfg(all(target_os = "linux", not(miri)))]
fn advise_huge_page(block: NonNull<u8>) {
    use std::ffi::{c_int, c_void};

    /// The value on all architectures that the standard library supports.
    const MADV_HUGEPAGE: c_int = 14;

    // The standard library links the system's C library, so that no crate is needed for the declaration.
    unsafe extern "C" {
        fn madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int;
    }

    // The result does not matter: the kernel uses small pages if it cannot do this. SAFETY: the range is the memory of one
    // block, and this advice changes no contents.
    unsafe { madvise(block.as_ptr().cast(), BLOCK_SIZE, MADV_HUGEPAGE) };
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn advise_huge_page(_: NonNull<u8>) {}

/// One reference to a used chunk, which several worlds may own together.
///
/// The type of the contents is not known here. Dropping the last reference frees the memory, but does *not* drop the contents:
/// they leak. Owners call [`release`](Self::release) instead, and drop the contents if they are the last.
///
/// Sending or sharing it is sending or sharing an address. Code that reads or writes the memory has to argue why it may.
#[derive(Debug)]
pub(crate) struct ChunkMemory(ArenaChunk);

/// A chunk without owners. The caller drops the contents, and then this, which frees the memory.
#[derive(Debug)]
#[must_use = "the chunk is freed when this is dropped"]
pub(crate) struct LastChunk(ArenaChunk);

impl ChunkMemory {
    /// Takes over a chunk that was just allocated.
    pub(super) fn new(chunk: ArenaChunk) -> Self {
        let memory = Self(chunk);
        memory.count().reset();
        memory
    }

    /// Returns the address of the chunk. The memory is valid until the last reference is gone.
    #[inline]
    pub(crate) fn as_ptr(&self) -> NonNull<u8> {
        self.0.memory
    }

    #[inline]
    fn count(&self) -> &RefCount {
        // SAFETY: the chunk is in use as long as `self` is, and a block lives while one of its chunks is in use.
        unsafe { self.0.count() }
    }

    /// Creates another reference to the chunk.
    #[inline]
    #[must_use = "the chunk loses a count when this is dropped"]
    pub(crate) fn share(&self) -> Self {
        self.count().add();
        Self(self.0)
    }

    /// Returns whether this is the only reference. Then all accesses of other owners are over, and the chunk may be written.
    #[inline]
    pub(crate) fn is_unique(&self) -> bool {
        self.count().is_one()
    }

    /// Gives this reference up. If it was the last, the caller drops the contents, and then the result.
    #[inline]
    #[must_use = "the contents of the last have to be dropped"]
    pub(crate) fn release(self) -> Option<LastChunk> {
        let memory = mem::ManuallyDrop::new(self);
        let (chunk, is_last) = (memory.0, memory.count().remove());
        // Not `then_some`, which would create and drop a `LastChunk` in any case.
        is_last.then(|| LastChunk(chunk))
    }
}

impl Drop for ChunkMemory {
    fn drop(&mut self) {
        // The reference moves to a temporary.
        drop(Self(self.0).release());
    }
}

impl LastChunk {
    /// Returns the address of the chunk.
    #[inline]
    pub(crate) fn as_ptr(&self) -> NonNull<u8> {
        self.0.memory
    }

    /// Frees many chunks, of any arenas, and clears the list. An arena is locked once for consecutive chunks.
    pub(crate) fn free_many(chunks: &mut Vec<Self>) {
        // SAFETY: the chunks have no other owners, and are forgotten here.
        unsafe { free(chunks.drain(..).rev().map(|last| mem::ManuallyDrop::new(last).0)) };
    }
}

impl Drop for LastChunk {
    fn drop(&mut self) {
        // SAFETY: the chunk has no other owners, and is not used afterwards.
        unsafe { free([self.0].into_iter()) };
    }
}

/// Frees chunks.
///
/// # Safety
///
/// - the chunks are used, have no owners, and are not used afterwards
/// - the iterator does nothing but return them, since an arena is locked meanwhile
unsafe fn free(chunks: impl Iterator<Item = ArenaChunk>) {
    let mut chunks = chunks.peekable();
    // SAFETY: the chunks are used until they are freed below, so their blocks are alive.
    let owner_of = |chunk: &ArenaChunk| unsafe { chunk.record() }.owner();
    while let Some(owner) = chunks.peek().map(owner_of) {
        // A handle of its own: the blocks may give up theirs below, and the arena has to outlive its lock. SAFETY: the address
        // is that of the arena, which the block of the used chunk keeps alive.
        let arena = unsafe {
            Arc::increment_strong_count(owner);
            Arc::from_raw(owner)
        };
        let mut state = arena.lock();
        while let Some(chunk) = chunks.next_if(|chunk| std::ptr::eq(owner_of(chunk), owner)) {
            // SAFETY: the chunk is used, belongs to this arena, and is not used afterwards. `arena` is a handle.
            unsafe { state.free(chunk) };
        }
        let surplus = state.take_surplus();
        drop(state);
        surplus.free();
    }
}

/// The number of powers of two from the smallest chunk size to the largest.
const POWERS: usize = (LARGEST_CHUNK / SMALLEST_CHUNK).trailing_zeros() as usize + 1;
/// The number of size classes: staggered and aligned chunks of these sizes, and pages of entity tables.
const SIZE_CLASSES: usize = 2 * POWERS + 1;

/// The memory that may be free in addition to as much as is used.
///
/// A game that clears and refills a world, or forks it every frame, should find its memory again. A program that has shrunk for
/// good should not keep much more than twice what it uses.
const SLACK: usize = 64 << 20;

/// The free chunks of an arena, and its memory usage.
///
/// **Invariants** while the lock is free:
///
/// - every chunk of every block is either used, or once on the stack of its class
/// - all blocks that the stacks refer to are alive
/// - a block with a used chunk owns a handle of the arena
#[derive(Debug, Default)]
pub(super) struct ArenaState {
    classes: [SizeClass; SIZE_CLASSES],
    /// The bytes of all blocks.
    reserved: usize,
    /// The bytes of used chunks.
    used: usize,
    /// The number of blocks without used chunks.
    wholly_free: usize,
}

/// The chunks of one size class.
#[derive(Debug, Default)]
struct SizeClass {
    /// The free chunks. The one that was freed last is on top. There is capacity for all chunks, so that freeing never
    /// allocates.
    free: Vec<ArenaChunk>,
    /// The number of chunks, used and free.
    chunks: usize,
}

/// Blocks without used chunks, removed from all lists.
#[must_use = "the blocks are leaked if they are not freed"]
pub(super) struct Surplus(Vec<NonNull<ArenaBlock>>);

impl ArenaState {
    pub(super) fn stats(&self) -> ArenaStats {
        ArenaStats { reserved: self.reserved, used: self.used }
    }

    /// Takes a free chunk. Allocates a block if all are used. `owner` is the arena of this state.
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
        // SAFETY: the chunk was on a stack, and no block is freed while the state is borrowed.
        let block = unsafe { chunk.record() };
        if block.is_wholly_free() {
            self.wholly_free -= 1;
            // The handle that the block owns from now on.
            let _owned = Arc::into_raw(Arc::clone(owner));
        }
        block.chunk_was_taken();
        self.used = used;
        Ok(chunk)
    }

    /// Allocates a block, and returns its first chunk.
    #[cold]
    fn add_block(&mut self, owner: &Arc<ArenaShared>, spacing: Spacing) -> Option<ArenaChunk> {
        let class = self.class_mut(spacing);
        let chunks = class.chunks + spacing.chunks();
        class.free.try_reserve(chunks - class.free.len()).ok()?;
        // The first block uses small pages: many worlds never need more than a few chunks.
        let huge = class.chunks > 0;
        let block = ArenaBlock::allocate(Arc::as_ptr(owner), spacing, huge)?;
        class.chunks = chunks;
        // SAFETY: the block was just allocated. Its first chunk ends up on top.
        class.free.extend(unsafe { ArenaBlock::chunks_from_the_last(block) });
        let first = class.free.pop();
        self.reserved += BLOCK_SIZE;
        self.wholly_free += 1;
        first
    }

    /// Takes a chunk back.
    ///
    /// # Safety
    ///
    /// - the chunk is used, belongs to this arena, and is not used afterwards
    /// - the caller owns a handle of the arena, in addition to that of the chunk's block
    pub(super) unsafe fn free(&mut self, chunk: ArenaChunk) {
        // SAFETY: the chunk is used so far, so its block is alive.
        let block = unsafe { chunk.record() };
        self.used -= block.spacing().size;
        self.class_mut(block.spacing()).free.push(chunk);
        block.chunk_came_back();
        if block.is_wholly_free() {
            self.wholly_free += 1;
            // SAFETY: the block has owned this handle since its first chunk was taken, and no longer needs it. It is not the
            // last: the caller owns another.
            unsafe { Arc::decrement_strong_count(block.owner()) };
        }
    }

    /// Removes blocks if there is much more free memory than will be needed soon.
    ///
    /// If the free memory exceeds the used memory by more than [`SLACK`], half of the slack remains, so that the next chunks do
    /// not cross the limit again at once. Finding wholly free blocks takes a pass over all free chunks. So that waits until
    /// they make up an eighth of the free memory.
    pub(super) fn take_surplus(&mut self) -> Surplus {
        let free = self.reserved - self.used;
        if free <= self.used + SLACK || self.wholly_free * BLOCK_SIZE < free / 8 {
            return Surplus(Vec::new());
        }
        let excess = free - (self.used + SLACK / 2);
        self.take_wholly_free(excess.div_ceil(BLOCK_SIZE))
    }

    /// Removes up to `most` wholly free blocks, those first that have been free for longest.
    #[cold]
    pub(super) fn take_wholly_free(&mut self, most: usize) -> Surplus {
        let mut surplus = Vec::with_capacity(most.min(self.wholly_free));
        for class in &mut self.classes {
            let before = class.free.len();
            // From the bottom of the stack to the top.
            class.free.retain(|chunk| {
                // SAFETY: the chunk is on the stack, and blocks are freed only after this pass.
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
    /// Returns the blocks to the system. That takes a while, so the arena is not locked meanwhile.
    pub(super) fn free(self) {
        for block in self.0 {
            // SAFETY: each block was removed once from the stacks with all its chunks, and none of them is used.
            unsafe { ArenaBlock::free(block) };
        }
    }
}
