//! An allocator whose memory is freed all at once.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ancho_jobs::Epoch;

use super::arena::{Arena, FIRST_BLOCK};
use super::{Allocator, Memory, Source};

/// An allocator whose memory is freed all at once: for containers that are used in one phase only.
///
/// Memory is allocated from blocks by moving a pointer. Blocks have 128 KiB at first, then double
/// each time, up to 64 MiB, and there are at most 64 of them. [`rewind`](Self::rewind) frees all of
/// it, and *expires* all containers that were created before: the next access to one is refused. It
/// never frees memory that is still reachable. A block with a live container is set aside, and
/// freed with the last one in it. So an expired container may be dropped late, on any thread, or
/// never.
///
/// All methods can be called by many threads at once. Every allocation begins at a 64-byte line.
///
/// In Unity, freeing memory of a rewindable allocator does nothing. Here a block without live
/// containers is used again, even before a rewind.
///
/// # Examples
///
/// ```
/// use allocator_api2::vec::Vec;
/// use ancho_collections::RewindableAllocator;
///
/// let level = RewindableAllocator::new();
/// for _ in 0..10 {
///     let mut enemies = Vec::new_in(level.allocator());
///     enemies.extend(0..1000);
///     drop(enemies);
///     level.rewind();
/// }
/// assert_eq!((level.version(), level.block_count(), level.bytes_used()), (10, 1, 0));
/// ```
pub struct RewindableAllocator {
    allocator: Allocator,
    arena: Arc<Arena>,
    epoch: Arc<Epoch>,
    version: AtomicU64,
}

impl RewindableAllocator {
    /// Creates an allocator. The system is not called before the first allocation.
    ///
    /// # Examples
    ///
    /// ```
    /// let level = ancho_collections::RewindableAllocator::new();
    /// assert_eq!(level.bytes_reserved(), 0);
    /// ```
    pub fn new() -> Self {
        Self::with_initial_size(FIRST_BLOCK)
    }

    /// Creates an allocator whose first block has `bytes` bytes, but at least 128 KiB.
    ///
    /// # Examples
    ///
    /// ```
    /// use allocator_api2::vec::Vec;
    /// use ancho_collections::RewindableAllocator;
    ///
    /// let level = RewindableAllocator::with_initial_size(1 << 20);
    /// let _one: Vec<u8, _> = Vec::with_capacity_in(1, level.allocator());
    /// assert_eq!(level.bytes_reserved(), 1 << 20);
    /// ```
    pub fn with_initial_size(bytes: usize) -> Self {
        Self::with_names("Rewindable", "the rewindable allocator", bytes)
    }

    /// Creates an allocator with this name in messages.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{NativeList, RewindableAllocator};
    ///
    /// let level = RewindableAllocator::named("the memory of the level");
    /// let enemies = NativeList::<u32>::new_in(&level.allocator());
    /// level.rewind();
    /// let refused = enemies.get().unwrap_err().to_string();
    /// assert!(refused.contains("because the memory of the level has been rewound"));
    /// ```
    pub fn named(name: &'static str) -> Self {
        Self::with_names(name, name, FIRST_BLOCK)
    }

    /// Creates an allocator with one name for lists, and one for sentences.
    fn with_names(name: &'static str, in_sentences: &'static str, bytes: usize) -> Self {
        let (arena, epoch) = (Arc::new(Arena::new(bytes)), Arc::new(Epoch::new(in_sentences)));
        let memory = Memory::Arena(Arc::clone(&arena));
        let source = Source { name, memory, registry: None, epoch: Some(Arc::clone(&epoch)) };
        Self { allocator: Allocator::new(source), arena, epoch, version: AtomicU64::new(0) }
    }

    /// Returns the handle for containers.
    ///
    /// It is the same before and after a rewind, and keeps the memory alive after the
    /// `RewindableAllocator` is dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// let level = ancho_collections::RewindableAllocator::new();
    /// assert_eq!(level.allocator().name(), "Rewindable");
    /// ```
    pub fn allocator(&self) -> Allocator {
        self.allocator.clone()
    }

    /// Frees all memory, and expires all containers that were created before.
    ///
    /// The blocks used since the last rewind are kept, and the others are freed. A block with a
    /// live container is set aside, and freed with the last container in it.
    ///
    /// # Examples
    ///
    /// ```
    /// use allocator_api2::vec::Vec;
    /// use ancho_collections::RewindableAllocator;
    ///
    /// let level = RewindableAllocator::new();
    /// let mut late = Vec::new_in(level.allocator());
    /// late.push(5);
    /// level.rewind();
    /// assert_eq!((late[0], level.block_count()), (5, 0));
    /// drop(late);
    /// assert_eq!(level.bytes_reserved(), 0);
    /// ```
    pub fn rewind(&self) {
        // Containers first, so that none is accessed after its memory was rewound. The order is not
        // needed for safety: their memory stays either way.
        self.epoch.advance();
        self.version.fetch_add(1, Ordering::Relaxed);
        self.arena.rewind();
    }

    /// Returns the number of rewinds.
    ///
    /// # Examples
    ///
    /// ```
    /// let level = ancho_collections::RewindableAllocator::new();
    /// level.rewind();
    /// assert_eq!(level.version(), 1);
    /// ```
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Relaxed)
    }

    /// Returns the number of blocks to allocate from. Blocks that were set aside do not count.
    ///
    /// # Examples
    ///
    /// ```
    /// use allocator_api2::vec::Vec;
    /// use ancho_collections::RewindableAllocator;
    ///
    /// let level = RewindableAllocator::new();
    /// let _one = Vec::<u8, _>::with_capacity_in(100_000, level.allocator());
    /// let _two = Vec::<u8, _>::with_capacity_in(100_000, level.allocator());
    /// assert_eq!(level.block_count(), 2);
    /// ```
    pub fn block_count(&self) -> usize {
        self.arena.statistics().blocks
    }

    /// Returns the size of all blocks in bytes, including those that were set aside.
    ///
    /// # Examples
    ///
    /// ```
    /// use allocator_api2::vec::Vec;
    /// use ancho_collections::RewindableAllocator;
    ///
    /// let level = RewindableAllocator::new();
    /// let _list = Vec::<u8, _>::with_capacity_in(1, level.allocator());
    /// assert_eq!(level.bytes_reserved(), 128 << 10);
    /// ```
    pub fn bytes_reserved(&self) -> usize {
        self.arena.statistics().bytes_reserved
    }

    /// Returns the number of bytes taken in the blocks to allocate from.
    ///
    /// An allocation takes eight bytes more than requested, rounded up to whole lines of 64.
    ///
    /// # Examples
    ///
    /// ```
    /// use allocator_api2::vec::Vec;
    /// use ancho_collections::RewindableAllocator;
    ///
    /// let level = RewindableAllocator::new();
    /// let _list = Vec::<u8, _>::with_capacity_in(100, level.allocator());
    /// assert_eq!(level.bytes_used(), 128);
    /// ```
    pub fn bytes_used(&self) -> usize {
        self.arena.statistics().bytes_used
    }
}

impl Default for RewindableAllocator {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for RewindableAllocator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let statistics = self.arena.statistics();
        f.debug_struct("RewindableAllocator")
            .field("version", &self.version())
            .field("blocks", &statistics.blocks)
            .field("set_aside", &statistics.retired)
            .field("bytes_used", &statistics.bytes_used)
            .field("bytes_reserved", &statistics.bytes_reserved)
            .finish()
    }
}
