//! The memory of chunks: an arena of large blocks, which worlds share.
//!
//! ```text
//! ChunkArena ── counted ──> ArenaShared: limit, lock ──> ArenaState: free chunks of each size, latest on top
//!                              ^                                   │
//!              counted, while  │                                   v
//!              a chunk is used └────────────────────── ArenaBlock: counts of its chunks ──> 2 MiB of memory
//!                                                        ^                                ^
//! ChunkMemory: one count of one chunk ───────────────────┴────────────────────────────────┘
//! ```
//!
//! A chunk is *used* from its allocation until its last owner is dropped, and *free* otherwise. Free chunks are on a stack. The
//! chunk that was freed last is used next, because it is most likely in the CPU caches. Only *wholly free* blocks, whose chunks
//! are all free, are returned to the system.
//!
//! A block with a used chunk keeps its arena alive. So an arena lives until its last handle and its last used chunk are dropped,
//! and a world may own chunks of an arena other than its own.

mod blocks;
mod ref_count;
#[cfg(test)]
mod tests;

use std::error::Error;
use std::fmt;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use blocks::{ArenaState, Spacing};

use crate::debug_as_display::debug_as_display;
pub(crate) use blocks::{ChunkMemory, LastChunk};

/// The size of a page of the entity table, which is a chunk of a special size. Its alignment is a third of the size.
pub(super) const TABLE_PAGE_SIZE: usize = 48 << 10;

/// The minimum alignment of all chunks.
pub(crate) const CHUNK_ALIGN: u32 = 64;

/// An allocator for the chunks of worlds.
///
/// An arena takes large blocks of memory from the system and divides them into chunks. It keeps freed chunks for the next world
/// that needs one: their memory is already mapped, and the chunk that was freed last is most likely in the CPU caches. When the
/// arena has far more free than used memory, it returns blocks to the system.
///
/// Worlds use the [shared](Self::shared) arena by default. A separate arena sets a limit for a world or a group of worlds, or
/// returns their memory to the system when they are dropped.
///
/// A `ChunkArena` is a handle: clones refer to the same arena. An arena lives as long as one of its handles, or a world that uses
/// its memory.
///
/// # Examples
///
/// ```
/// use ancho_entities::ChunkArena;
///
/// let arena = ChunkArena::with_limit(64 << 20);
/// let same = arena.clone();
/// assert_eq!((same.stats().reserved, same.stats().used), (0, 0));
/// ```
#[derive(Clone)]
pub struct ChunkArena(Arc<ArenaShared>);

/// The memory usage of an arena.
///
/// # Examples
///
/// ```
/// use ancho_entities::{ArenaStats, ChunkArena};
///
/// let ArenaStats { reserved, used, .. } = ChunkArena::shared().stats();
/// assert!(reserved >= used);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArenaStats {
    /// The total size of all blocks in bytes. On most systems, memory that was never written is not backed by physical memory.
    pub reserved: usize,
    /// The total size of used chunks in bytes. A chunk that several worlds share counts once.
    pub used: usize,
}

/// The state that the handles of an arena and its blocks share.
#[derive(Debug)]
struct ArenaShared {
    /// The maximum number of used bytes, or `None` for no limit.
    limit: Option<usize>,
    state: Mutex<ArenaState>,
}

impl ChunkArena {
    /// Creates an empty arena without a limit.
    #[must_use = "an arena does nothing by itself; give it to worlds"]
    pub fn new() -> Self {
        Self::with(None)
    }

    /// Returns the arena of the process, which worlds use by default.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::ChunkArena;
    ///
    /// // Between two levels, frees what the last one needed and the next may not.
    /// ChunkArena::shared().trim();
    /// ```
    #[must_use = "a handle does nothing by itself"]
    pub fn shared() -> Self {
        static SHARED: LazyLock<ChunkArena> = LazyLock::new(ChunkArena::new);
        SHARED.clone()
    }

    /// Creates an arena whose worlds together use at most `bytes` bytes.
    ///
    /// A world that exceeds the limit gets [`OutOfMemory`]. Free chunks and unused parts of blocks do not count, so that a
    /// program always reaches the limit at the same point.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{ChunkArena, Component, World, WorldSettings};
    ///
    /// #[derive(Component)]
    /// struct Tile([u8; 12_000]);
    ///
    /// // Room for two chunks of 16 KiB, each with one tile.
    /// let arena = ChunkArena::with_limit(32 * 1024);
    /// let mut world = World::with_settings("Map", WorldSettings::new().arena(arena));
    /// assert!(world.try_spawn(Tile([0; 12_000])).is_ok());
    /// assert!(world.try_spawn(Tile([1; 12_000])).is_ok());
    /// assert!(world.try_spawn(Tile([2; 12_000])).is_err());
    /// ```
    #[must_use = "an arena does nothing by itself; give it to worlds"]
    pub fn with_limit(bytes: usize) -> Self {
        Self::with(Some(bytes))
    }

    fn with(limit: Option<usize>) -> Self {
        Self(Arc::new(ArenaShared { limit, state: Mutex::new(ArenaState::default()) }))
    }

    /// Returns all blocks without used chunks to the system.
    ///
    /// An arena returns blocks by itself when its free memory exceeds its used memory by 64 MiB. Call this when the memory will
    /// not be needed soon, for example after a level.
    ///
    /// # Complexity
    ///
    /// Linear in the number of free chunks.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::ChunkArena;
    ///
    /// let arena = ChunkArena::new();
    /// arena.trim();
    /// assert_eq!(arena.stats().reserved, 0);
    /// ```
    pub fn trim(&self) {
        let surplus = self.0.lock().take_wholly_free(usize::MAX);
        surplus.free();
    }

    /// Returns the memory usage of the arena.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::ChunkArena;
    ///
    /// let stats = ChunkArena::new().stats();
    /// assert_eq!(stats.reserved - stats.used, 0);
    /// ```
    #[must_use = "counts, and does nothing else"]
    pub fn stats(&self) -> ArenaStats {
        self.0.lock().stats()
    }

    /// Allocates an uninitialised chunk with one owner, for contents with an alignment of up to `align`.
    ///
    /// The size is a power of two from 4 KiB to 1 MiB. The alignment is a power of two up to the size.
    ///
    /// # Errors
    ///
    /// [`OutOfMemory`] if the limit is reached, or the system has no memory.
    pub(crate) fn allocate(&self, size: u32, align: u32) -> Result<ChunkMemory, OutOfMemory> {
        debug_assert!((1 << 12..=1 << 20).contains(&size) && size.is_power_of_two());
        debug_assert!(align <= size);
        let size = size as usize;
        let is_staggered = align <= CHUNK_ALIGN;
        let spacing = if is_staggered { Spacing::staggered(size) } else { Spacing::aligned(size) };
        self.allocate_spaced(spacing)
    }

    /// Allocates an uninitialised page of an entity table, aligned to a third of its size.
    ///
    /// # Errors
    ///
    /// [`OutOfMemory`] if the limit is reached, or the system has no memory.
    pub(crate) fn allocate_page(&self) -> Result<ChunkMemory, OutOfMemory> {
        self.allocate_spaced(Spacing::aligned(TABLE_PAGE_SIZE))
    }

    fn allocate_spaced(&self, spacing: Spacing) -> Result<ChunkMemory, OutOfMemory> {
        let chunk = self.0.lock().allocate(&self.0, spacing)?;
        Ok(ChunkMemory::new(chunk))
    }
}

impl Default for ChunkArena {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ChunkArena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ArenaStats { reserved, used } = self.stats();
        f.debug_struct("ChunkArena")
            .field("reserved", &reserved)
            .field("used", &used)
            .field("limit", &self.0.limit)
            .finish()
    }
}

impl ArenaShared {
    fn lock(&self) -> MutexGuard<'_, ArenaState> {
        // Nothing panics while the state is locked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ArenaShared {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        // Each used chunk keeps the arena alive, so none is left.
        debug_assert_eq!(state.stats().used, 0);
        state.take_wholly_free(usize::MAX).free();
    }
}

/// The error for a chunk that cannot be allocated. Code A0056.
///
/// # Examples
///
/// ```
/// use ancho_entities::OutOfMemory;
///
/// let refused = OutOfMemory { requested: 16384, limit: Some(65536) };
/// assert!(refused.to_string().starts_with("A0056: cannot allocate a chunk of 16384 bytes"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct OutOfMemory {
    /// The number of requested bytes.
    pub requested: usize,
    /// The limit of the arena, if the request would exceed it. `None` if the system has no memory.
    pub limit: Option<usize>,
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { requested, limit } = self;
        write!(f, "A0056: cannot allocate a chunk of {requested} bytes: ")?;
        match limit {
            Some(limit) => write!(
                f,
                "the arena is limited to {limit} bytes in use; despawn entities, or give the world an \
                 arena with a higher limit"
            ),
            None => write!(f, "the system has no more memory; despawn entities"),
        }
    }
}

impl Error for OutOfMemory {}

debug_as_display!(OutOfMemory);
