//! An allocator whose memory is taken back all at once.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ancho_jobs::Epoch;

use super::arena::{Arena, FIRST_BLOCK};
use super::{Allocator, Memory, Source};

/// An allocator whose memory is taken back all at once: for what is made in one phase, and is of no use
/// after it.
///
/// Memory is taken in a row, from blocks: 128 KiB at first, then twice as much each time, up to 64 MiB, and
/// at most 64 of them. [`rewind`](Self::rewind) makes all of it free again, and all containers that were
/// made before *expired*: the next access to one is refused. It never frees memory that somebody can still
/// reach. A block in which a container is still alive is set aside, and freed with the last one in it. So
/// it is no error to drop an expired container late, on any thread, or never.
///
/// All methods can be called by many threads at once. Every allocation begins at a 64-byte line.
///
/// In Unity, freeing memory of a rewindable allocator does nothing. Here a block whose containers are all
/// gone is used again, even before it is rewound.
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
    /// Makes an allocator. Nothing is asked of the system until it is used.
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

    /// Makes an allocator whose first block has so many bytes, or 128 KiB if that is more.
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

    /// Makes an allocator that messages call by this name.
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
    /// assert!(refused.contains("because the memory of the level has taken back what was made in it"));
    /// ```
    pub fn named(name: &'static str) -> Self {
        Self::with_names(name, name, FIRST_BLOCK)
    }

    /// An allocator that lists call by one name, and sentences by the other.
    fn with_names(name: &'static str, in_sentences: &'static str, bytes: usize) -> Self {
        let (arena, epoch) = (Arc::new(Arena::new(bytes)), Arc::new(Epoch::new(in_sentences)));
        let memory = Memory::Arena(Arc::clone(&arena));
        let source = Source { name, memory, registry: None, epoch: Some(Arc::clone(&epoch)) };
        Self { allocator: Allocator::new(source), arena, epoch, version: AtomicU64::new(0) }
    }

    /// Returns the handle for containers.
    ///
    /// It is the same before and after a rewind, and keeps the memory alive when the
    /// `RewindableAllocator` is gone.
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

    /// Makes all memory free, and all containers expired that were made before.
    ///
    /// The blocks that were used since the last rewind are kept for what comes, and the others given back
    /// to the system. A block with a container that was not dropped is set aside, and given back with the
    /// last container in it.
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
        // First the containers, so that none is used that could have been. It would not matter: their
        // memory stays either way.
        self.epoch.advance();
        self.version.fetch_add(1, Ordering::Relaxed);
        self.arena.rewind();
    }

    /// Returns how often it was rewound.
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

    /// Returns how many blocks there are to allocate from. Those that were set aside do not count.
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

    /// Returns how many bytes all blocks have, with those that were set aside.
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

    /// Returns how many bytes are taken in the blocks to allocate from.
    ///
    /// An allocation takes eight bytes more than it asks for, rounded up to whole lines of 64.
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
