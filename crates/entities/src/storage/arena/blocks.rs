//! A block: memory that is cut into chunks of one size, and the counts of those chunks.

#![expect(unsafe_code, reason = "memory of the global allocator")]

use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::ref_count::RefCount;
use super::{ArenaShared, ArenaStats, OutOfMemory, TABLE_PAGE_SIZE};

/// The size of a block, and what it is aligned to: a huge page of most processors.
pub(super) const BLOCK_SIZE: usize = 2 << 20;
/// The smallest size of chunks. All sizes are multiples of it.
pub(super) const SMALLEST_CHUNK: usize = 4 << 10;
/// The largest size of chunks.
pub(super) const LARGEST_CHUNK: usize = 1 << 20;

/// How the chunks of a block lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spacing {
    /// The size of a chunk.
    pub(super) size: usize,
    /// How far the next chunk is, from beginning to beginning.
    stride: usize,
}

impl Spacing {
    /// The first bytes of one chunk and of the next are in different lines of a cache: they would be in the same if chunks began
    /// at multiples of their size, and those few lines of the caches close to a core would have to do for all chunks with a
    /// few rows. Chunks begin at multiples of 64.
    ///
    /// Large chunks begin at multiples of their size, since a block would have room for one less.
    pub(super) const fn staggered(size: usize) -> Self {
        let apart = if size <= 8 << 10 { 64 } else { 128 };
        Self { size, stride: if size <= 32 << 10 { size + apart } else { size } }
    }

    /// Chunks begin at multiples of their size.
    pub(super) const fn aligned(size: usize) -> Self {
        Self { size, stride: size }
    }

    /// Whether chunks begin at multiples of their size.
    pub(super) const fn is_aligned(self) -> bool {
        self.stride == self.size
    }

    /// How many chunks a block has.
    pub(super) const fn chunks(self) -> usize {
        BLOCK_SIZE / self.stride
    }
}

const LAYOUT: Layout = match Layout::from_size_align(BLOCK_SIZE, BLOCK_SIZE) {
    Ok(layout) => layout,
    Err(_) => panic!("the size of a block is a power of two"),
};

/// Instead of the number of free chunks, in a block that is about to be freed.
const LEAVING: u32 = u32::MAX;

/// The record of a block.
#[derive(Debug)]
pub(super) struct ArenaBlock {
    /// The first of its bytes. They are freed with the record.
    start: NonNull<u8>,
    /// The arena. It is alive while a chunk is used.
    owner: *const ArenaShared,
    spacing: Spacing,
    /// How many of the chunks are free, or [`LEAVING`]. Touched only while the arena is locked, which is
    /// what orders it.
    free: AtomicU32,
    /// The counts of the chunks. Those of free chunks mean nothing. There is one for each of the smallest chunks that
    /// there could be, so that it is found without knowing their size: 2 KiB for 2 MiB.
    counts: [RefCount; BLOCK_SIZE / SMALLEST_CHUNK],
}

/// Names a chunk: where it is, and the record of its block.
///
/// The stack of free chunks consists of them, and a used chunk is one with a promise around it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ArenaChunk {
    /// The first of its bytes.
    pub(super) memory: NonNull<u8>,
    block: NonNull<ArenaBlock>,
}

// SAFETY: it names memory, and who may use that is decided elsewhere. Of the record, threads share only
// what is atomic, or never changes.
unsafe impl Send for ArenaChunk {}
// SAFETY: as above.
unsafe impl Sync for ArenaChunk {}

impl ArenaBlock {
    /// Allocates a block of free chunks of such a size, if the system has the memory.
    ///
    /// Nothing of the memory is touched, so that it costs nothing until it is. With `huge`, the system is
    /// asked to back it by a huge page.
    pub(super) fn allocate(
        owner: *const ArenaShared,
        spacing: Spacing,
        huge: bool,
    ) -> Option<NonNull<Self>> {
        debug_assert!(spacing.size.is_multiple_of(SMALLEST_CHUNK));
        // SAFETY: the size is not zero.
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

    /// Gives a block back to the system.
    ///
    /// # Safety
    ///
    /// The caller promises that
    ///
    /// - the block is from [`allocate`](Self::allocate);
    /// - it is not freed again, and neither it nor its memory is used again.
    pub(super) unsafe fn free(block: NonNull<Self>) {
        // SAFETY: it was made as a box, and this is the end of it: the caller's promises.
        let block = unsafe { Box::from_raw(block.as_ptr()) };
        // SAFETY: the memory was allocated with the block, with this layout, and is not used again.
        unsafe { dealloc(block.start.as_ptr(), LAYOUT) };
    }

    /// Names the chunks, the last one first.
    ///
    /// # Safety
    ///
    /// The caller promises that the block lives.
    pub(super) unsafe fn chunks_from_the_last(
        block: NonNull<Self>,
    ) -> impl Iterator<Item = ArenaChunk> {
        // SAFETY: the caller's promise.
        let &Self { start, spacing, .. } = unsafe { block.as_ref() };
        (0..spacing.chunks()).rev().map(move |index| {
            // SAFETY: so many chunks of this size are within the memory.
            ArenaChunk { memory: unsafe { start.add(index * spacing.stride) }, block }
        })
    }

    /// The arena. It is alive while a chunk of the block is used.
    pub(super) fn owner(&self) -> *const ArenaShared {
        self.owner
    }

    /// How the chunks lie.
    pub(super) fn spacing(&self) -> Spacing {
        self.spacing
    }

    /// Whether all chunks are free. The arena is locked.
    pub(super) fn is_wholly_free(&self) -> bool {
        self.free.load(Ordering::Relaxed) as usize == self.spacing.chunks()
    }

    /// Marks a wholly free block, which is about to be freed. The arena is locked.
    pub(super) fn leave(&self) {
        self.free.store(LEAVING, Ordering::Relaxed);
    }

    /// Whether the block is marked. The arena is locked.
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
    /// The block that it is in, as an address.
    pub(super) fn block(self) -> NonNull<ArenaBlock> {
        self.block
    }

    /// The record of the block that it is in.
    ///
    /// # Safety
    ///
    /// The caller promises that the block lives for `'a`.
    #[inline]
    pub(super) unsafe fn record<'a>(self) -> &'a ArenaBlock {
        // SAFETY: the caller's promise. References to a record are always shared.
        unsafe { self.block.as_ref() }
    }

    /// How many own the chunk, if it is used.
    ///
    /// # Safety
    ///
    /// The caller promises that the block lives for `'a`.
    #[inline]
    pub(super) unsafe fn count<'a>(self) -> &'a RefCount {
        // SAFETY: the caller's promise.
        let block = unsafe { self.record() };
        let offset = self.memory.addr().get() & (BLOCK_SIZE - 1);
        // No two chunks are closer than the smallest is large.
        &block.counts[offset / SMALLEST_CHUNK]
    }
}

/// Asks for one huge page behind a block, instead of 512 small ones.
///
/// The first use of memory is where most of its cost is, and a huge page is had by one fault of it. To fill
/// 100,000 entities of 320 bytes for the first time takes a quarter of the time; to fill them again, three
/// quarters, because there are fewer addresses to translate.
#[cfg(all(target_os = "linux", not(miri)))]
fn advise_huge_page(block: NonNull<u8>) {
    use std::ffi::{c_int, c_void};

    /// The number is the same for all architectures that Rust's standard library knows.
    const MADV_HUGEPAGE: c_int = 14;

    // The standard library is linked with the system's, so there is no need for a crate to declare it.
    unsafe extern "C" {
        fn madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int;
    }

    // What it returns does not matter: a kernel that cannot do it goes on with small pages.
    // SAFETY: the range is the memory of one block, and this advice changes no contents.
    unsafe { madvise(block.as_ptr().cast(), BLOCK_SIZE, MADV_HUGEPAGE) };
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn advise_huge_page(_: NonNull<u8>) {}

/// One count of a chunk: memory that several worlds may own together.
///
/// What is in the memory is not known here. So when it is dropped, the chunk loses a count, and if that was
/// the last, its memory is used for something else, but what is in the chunk is *not* dropped: it leaks.
/// An owner calls [`release`](Self::release), and drops the contents if it was the last.
///
/// Sending it to another thread, or sharing it, is sending an address. Whoever reads or writes the memory has
/// to know why it may.
#[derive(Debug)]
pub(crate) struct ChunkMemory(ArenaChunk);

/// A chunk that has lost its last count: the caller drops what is in it, and then this, which frees it.
#[derive(Debug)]
#[must_use = "the chunk is freed when this is dropped"]
pub(crate) struct LastChunk(ArenaChunk);

impl ChunkMemory {
    /// Takes over a chunk that was just allocated.
    pub(super) fn new(chunk: ArenaChunk) -> Self {
        // SAFETY: it is used from now on, so its block lives.
        unsafe { chunk.count() }.reset();
        Self(chunk)
    }

    /// Where the chunk is. The memory is the chunk's from here to its size, until the last count is gone.
    #[inline]
    pub(crate) fn as_ptr(&self) -> NonNull<u8> {
        self.0.memory
    }

    /// Makes another owner of the same chunk.
    #[inline]
    #[must_use = "the chunk loses a count when this is dropped"]
    pub(crate) fn share(&self) -> Self {
        // SAFETY: the chunk is used, so its block lives.
        unsafe { self.0.count() }.add();
        Self(self.0)
    }

    /// Whether this is the only owner. Then everything that others did with the chunk is over, and it may be
    /// written.
    #[inline]
    pub(crate) fn is_unique(&self) -> bool {
        // SAFETY: the chunk is used, so its block lives.
        unsafe { self.0.count() }.is_one()
    }

    /// Gives up this count. If it was the last, the caller drops what is in the chunk, and then what is
    /// returned.
    #[inline]
    #[must_use = "the contents of the last have to be dropped"]
    pub(crate) fn release(self) -> Option<LastChunk> {
        let chunk = self.0;
        std::mem::forget(self);
        // SAFETY: the chunk is used, so its block lives.
        let is_last = unsafe { chunk.count() }.remove();
        // Not `then_some`: what that makes and throws away would free the chunk.
        is_last.then(|| LastChunk(chunk))
    }
}

impl Drop for ChunkMemory {
    fn drop(&mut self) {
        // The count goes over to what is dropped here.
        drop(Self(self.0).release());
    }
}

impl LastChunk {
    /// Where the chunk is.
    #[inline]
    pub(crate) fn as_ptr(&self) -> NonNull<u8> {
        self.0.memory
    }

    /// Frees many chunks, of any arenas, and leaves the list empty. This locks each arena once, as long as
    /// its chunks follow one another.
    pub(crate) fn free_many(chunks: &mut Vec<Self>) {
        // SAFETY: they are the last of their chunks, and forgotten here.
        unsafe { free(chunks.drain(..).rev().map(|last| std::mem::ManuallyDrop::new(last).0)) };
    }
}

impl Drop for LastChunk {
    fn drop(&mut self) {
        // SAFETY: it is the last of its chunk, and gone after this.
        unsafe { free([self.0].into_iter()) };
    }
}

/// Frees chunks.
///
/// # Safety
///
/// The caller promises that
///
/// - the chunks are used, have no owner, and are not used from now on;
/// - the iterator does nothing else than name them, for an arena is locked meanwhile.
unsafe fn free(chunks: impl Iterator<Item = ArenaChunk>) {
    let mut chunks = chunks.peekable();
    // SAFETY: the chunks are used until they are freed below, so their blocks live.
    let owner_of = |chunk: &ArenaChunk| unsafe { chunk.record() }.owner();
    while let Some(owner) = chunks.peek().map(owner_of) {
        // A count of our own: the blocks may lose theirs below, and the arena has to outlive its lock.
        // SAFETY: the address is that of the arena, which lives by the block of the used chunk.
        let arena = unsafe {
            Arc::increment_strong_count(owner);
            Arc::from_raw(owner)
        };
        let mut state = arena.lock();
        while let Some(chunk) = chunks.next_if(|chunk| std::ptr::eq(owner_of(chunk), owner)) {
            // SAFETY: the chunk is used, of this arena, and not used again; the count is `arena`.
            unsafe { state.free(chunk) };
        }
        let surplus = state.take_surplus();
        drop(state);
        surplus.free();
    }
}

/// How many powers of two there are from the smallest size of chunks to the largest,
const POWERS: usize = (LARGEST_CHUNK / SMALLEST_CHUNK).trailing_zeros() as usize + 1;
/// and how many classes of chunks: staggered and aligned ones of these sizes, and pages of tables.
const SIZE_CLASSES: usize = 2 * POWERS + 1;

/// How much more may be free than used.
///
/// A game that clears a world and fills it again, or forks it every frame, should find its memory where it
/// was. So an arena keeps as much as is used, and this; a program that has shrunk for good keeps less
/// than twice what it needs.
const SLACK: usize = 64 << 20;

/// The free chunks of an arena, and how much memory there is.
///
/// **Invariants**, whenever the lock is free:
///
/// - every chunk of every block is either used, or on the stack of its class once;
/// - all blocks that the stacks name live;
/// - a block with a used chunk owns one count of the arena.
#[derive(Debug, Default)]
pub(super) struct ArenaState {
    classes: [SizeClass; SIZE_CLASSES],
    /// The bytes of all blocks.
    reserved: usize,
    /// The bytes of used chunks.
    used: usize,
    /// How many blocks have no used chunk.
    wholly_free: usize,
}

/// The chunks of one class.
#[derive(Debug, Default)]
struct SizeClass {
    /// The free ones. What was freed last is on top. There is room for all chunks, so that freeing one
    /// never allocates.
    free: Vec<ArenaChunk>,
    /// How many there are, used and free.
    chunks: usize,
}

/// Blocks that nobody knows any more.
#[must_use = "the blocks are leaked if they are not freed"]
pub(super) struct Surplus(Vec<NonNull<ArenaBlock>>);

impl ArenaState {
    pub(super) fn stats(&self) -> ArenaStats {
        ArenaStats { reserved: self.reserved, used: self.used }
    }

    /// Takes a free chunk, of a block that is made if there is none. `owner` is the arena of this state.
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
        // SAFETY: it was on a stack, and nothing frees its block while the state is borrowed.
        let block = unsafe { chunk.record() };
        if block.is_wholly_free() {
            self.wholly_free -= 1;
            // The count that the block owns from now on.
            let _owned = Arc::into_raw(Arc::clone(owner));
        }
        block.chunk_was_taken();
        self.used = used;
        Ok(chunk)
    }

    /// Makes a block, and returns the first of its chunks.
    #[cold]
    fn add_block(&mut self, owner: &Arc<ArenaShared>, spacing: Spacing) -> Option<ArenaChunk> {
        let class = self.class_mut(spacing);
        let chunks = class.chunks + spacing.chunks();
        class.free.try_reserve(chunks - class.free.len()).ok()?;
        // The first block is had page by page: many a world never needs more than a few chunks.
        let huge = class.chunks > 0;
        let block = ArenaBlock::allocate(Arc::as_ptr(owner), spacing, huge)?;
        class.chunks = chunks;
        // SAFETY: the block was just made. The first chunk comes to lie on top.
        class.free.extend(unsafe { ArenaBlock::chunks_from_the_last(block) });
        let first = class.free.pop();
        self.reserved += BLOCK_SIZE;
        self.wholly_free += 1;
        first
    }

    /// Takes back a chunk.
    ///
    /// # Safety
    ///
    /// The caller promises that
    ///
    /// - the chunk is a used one of this arena, and is not used from now on;
    /// - it owns a count of the arena, beside that of the chunk's block.
    pub(super) unsafe fn free(&mut self, chunk: ArenaChunk) {
        // SAFETY: the chunk is used until now, so its block lives.
        let block = unsafe { chunk.record() };
        self.used -= block.spacing().size;
        self.class_mut(block.spacing()).free.push(chunk);
        block.chunk_came_back();
        if block.is_wholly_free() {
            self.wholly_free += 1;
            // SAFETY: the block owns this count since its first chunk was taken, and no longer needs it. It
            // is not the last one: the caller owns another.
            unsafe { Arc::decrement_strong_count(block.owner()) };
        }
    }

    /// Takes out what is far more than will be needed soon.
    ///
    /// That is, if more is free than is used and [`SLACK`], so much that half of the slack remains: the next
    /// chunks that are freed, or allocated, do not cross the line again at once. Looking for wholly free
    /// blocks takes a walk over all free chunks. So they are left until there are enough of them to pay for
    /// it, at least an eighth of what is free.
    pub(super) fn take_surplus(&mut self) -> Surplus {
        let free = self.reserved - self.used;
        if free <= self.used + SLACK || self.wholly_free * BLOCK_SIZE < free / 8 {
            return Surplus(Vec::new());
        }
        let excess = free - (self.used + SLACK / 2);
        self.take_wholly_free(excess.div_ceil(BLOCK_SIZE))
    }

    /// Takes out wholly free blocks, up to so many, those first that were free for longest.
    #[cold]
    pub(super) fn take_wholly_free(&mut self, most: usize) -> Surplus {
        let mut surplus = Vec::with_capacity(most.min(self.wholly_free));
        for class in &mut self.classes {
            let before = class.free.len();
            // From the bottom up.
            class.free.retain(|chunk| {
                // SAFETY: it is on the stack, and blocks are freed only after the walk.
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
    /// Gives the blocks back to the system. That takes a while, so the arena is not locked meanwhile.
    pub(super) fn free(self) {
        for block in self.0 {
            // SAFETY: they were taken from the stacks with all their chunks, each once, and none is used.
            unsafe { ArenaBlock::free(block) };
        }
    }
}
