//! A block: memory that is cut into chunks of one size, and the counts of those chunks.
#![expect(unsafe_code, reason = "memory of the global allocator")]

use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use super::Shared;
use super::ref_count::Count;

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
pub(super) struct Block {
    /// The first of its bytes. They are freed with the record.
    start: NonNull<u8>,
    /// The arena. It is alive while a chunk is used.
    owner: *const Shared,
    spacing: Spacing,
    /// How many of the chunks are free, or [`LEAVING`]. Touched only while the arena is locked, which is
    /// what orders it.
    free: AtomicU32,
    /// The counts of the chunks. Those of free chunks mean nothing. There is one for each of the smallest chunks that
    /// there could be, so that it is found without knowing their size: 2 KiB for 2 MiB.
    counts: [Count; BLOCK_SIZE / SMALLEST_CHUNK],
}

/// Names a chunk: where it is, and the record of its block.
///
/// The stack of free chunks consists of them, and a used chunk is one with a promise around it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk {
    /// The first of its bytes.
    pub(super) memory: NonNull<u8>,
    block: NonNull<Block>,
}

// SAFETY: it names memory, and who may use that is decided elsewhere. Of the record, threads share only
// what is atomic, or never changes.
unsafe impl Send for Chunk {}
// SAFETY: as above.
unsafe impl Sync for Chunk {}

impl Block {
    /// Allocates a block of free chunks of such a size, if the system has the memory.
    ///
    /// Nothing of the memory is touched, so that it costs nothing until it is. With `huge`, the system is
    /// asked to back it by a huge page.
    pub(super) fn allocate(
        owner: *const Shared,
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
            counts: [const { Count::one() }; BLOCK_SIZE / SMALLEST_CHUNK],
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
    pub(super) unsafe fn chunks_from_the_last(block: NonNull<Self>) -> impl Iterator<Item = Chunk> {
        // SAFETY: the caller's promise.
        let &Self { start, spacing, .. } = unsafe { block.as_ref() };
        (0..spacing.chunks()).rev().map(move |index| {
            // SAFETY: so many chunks of this size are within the memory.
            Chunk { memory: unsafe { start.add(index * spacing.stride) }, block }
        })
    }

    /// The arena. It is alive while a chunk of the block is used.
    pub(super) fn owner(&self) -> *const Shared {
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

impl Chunk {
    /// The block that it is in, as an address.
    pub(super) fn block(self) -> NonNull<Block> {
        self.block
    }

    /// The record of the block that it is in.
    ///
    /// # Safety
    ///
    /// The caller promises that the block lives for `'a`.
    #[inline]
    pub(super) unsafe fn record<'a>(self) -> &'a Block {
        // SAFETY: the caller's promise. References to a record are always shared.
        unsafe { self.block.as_ref() }
    }

    /// How many own the chunk, if it is used.
    ///
    /// # Safety
    ///
    /// The caller promises that the block lives for `'a`.
    #[inline]
    pub(super) unsafe fn count<'a>(self) -> &'a Count {
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
