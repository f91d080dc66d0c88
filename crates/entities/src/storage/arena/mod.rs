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
//! A chunk is *used* from its allocation until its last count is gone, and *free* otherwise. Free chunks
//! lie on a stack, so that the one which was used last, and is in the caches, is used next. A block whose
//! chunks are all free is *wholly free*; only such blocks go back to the system.
//!
//! A block with a used chunk counts as a handle of its arena. So everything lives until the last handle and
//! the last chunk are gone, whichever comes later, and a world may own chunks of an arena that it does not
//! know.

mod blocks;
mod ref_count;
#[cfg(test)]
mod tests;

use std::error::Error;
use std::fmt;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use blocks::{ArenaState, Spacing};
pub(crate) use blocks::{ChunkMemory, LastChunk};

/// The size of a page of the entity table, which is a chunk too, but of a size of its own. It is at a multiple
/// of a third of it.
pub(super) const TABLE_PAGE_SIZE: usize = 48 << 10;

/// What all chunks are aligned to, whatever is in them.
pub(crate) const CHUNK_ALIGN: u32 = 64;

/// Where worlds have the memory of their chunks from.
///
/// An arena takes large blocks of memory from the system and cuts them into chunks. Chunks that a world no
/// longer needs are kept, for the next that needs one, in this world or another of the same arena: the
/// memory is there already, and the latest of it in the caches. When far more is kept than is used, blocks
/// go back to the system.
///
/// Worlds use the [shared](Self::shared) arena unless they are told otherwise. One of its own gives a world,
/// or a group of worlds, a limit, or memory that goes back to the system with it.
///
/// A `ChunkArena` is a handle: clones are the same arena. It lives as long as a handle or a world that has
/// memory of it.
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

/// How much memory an arena has.
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
    /// The bytes of all blocks. What was never used of them is not backed by memory, on most systems.
    pub reserved: usize,
    /// The bytes of the chunks that are in use. A chunk that several worlds share counts once.
    pub used: usize,
}

/// What the handles of an arena and its blocks share.
#[derive(Debug)]
struct ArenaShared {
    /// How many bytes of chunks may be in use.
    limit: Option<usize>,
    state: Mutex<ArenaState>,
}

impl ChunkArena {
    /// Makes an arena, without any memory so far.
    #[must_use = "an arena does nothing by itself; give it to worlds"]
    pub fn new() -> Self {
        Self::with(None)
    }

    /// Returns the arena of the process, which worlds use unless they are told otherwise.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::ChunkArena;
    ///
    /// // Between two levels, what the last one needed and the next may not.
    /// ChunkArena::shared().trim();
    /// ```
    #[must_use = "a handle does nothing by itself"]
    pub fn shared() -> Self {
        static SHARED: LazyLock<ChunkArena> = LazyLock::new(ChunkArena::new);
        SHARED.clone()
    }

    /// Makes an arena whose worlds have, together, at most so many bytes of chunks in use.
    ///
    /// A world that needs one more is refused, with [`OutOfMemory`]. What the arena keeps for later, or was
    /// not used of a block, does not count: so the same program is always refused at the same point.
    #[must_use = "an arena does nothing by itself; give it to worlds"]
    pub fn with_limit(bytes: usize) -> Self {
        Self::with(Some(bytes))
    }

    fn with(limit: Option<usize>) -> Self {
        Self(Arc::new(ArenaShared { limit, state: Mutex::new(ArenaState::default()) }))
    }

    /// Gives back to the system all blocks that nothing of is in use.
    ///
    /// An arena does so by itself when more is free than is in use and 64 MiB. Call this at a moment when it
    /// is known that the memory will not be needed soon, as after a level.
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

    /// Says how much memory the arena has, and how much of it is in use.
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

    /// Allocates a chunk for what is aligned to so many bytes at most, with one count. Its contents are not initialised.
    ///
    /// The size is a power of two from 4 KiB to 1 MiB, and the alignment one up to the size.
    ///
    /// # Errors
    ///
    /// [`OutOfMemory`] if the limit or the system's memory is reached.
    pub(crate) fn allocate(&self, size: u32, align: u32) -> Result<ChunkMemory, OutOfMemory> {
        debug_assert!((1 << 12..=1 << 20).contains(&size) && size.is_power_of_two());
        debug_assert!(align <= size);
        let size = size as usize;
        let is_staggered = align <= CHUNK_ALIGN;
        let spacing = if is_staggered { Spacing::staggered(size) } else { Spacing::aligned(size) };
        self.allocate_spaced(spacing)
    }

    /// Allocates a page of an entity table, at a multiple of a third of its size.
    ///
    /// # Errors
    ///
    /// As [`allocate`](Self::allocate).
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
        // Nothing panics while it is locked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ArenaShared {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        // A used chunk would have kept it alive.
        debug_assert_eq!(state.stats().used, 0);
        state.take_wholly_free(usize::MAX).free();
    }
}

/// Why there was no memory for a chunk. Code A0056.
///
/// # Examples
///
/// ```
/// use ancho_entities::OutOfMemory;
///
/// let refused = OutOfMemory { requested: 16384, limit: Some(65536) };
/// assert!(refused.to_string().starts_with("A0056: there is no room for a chunk of 16384 bytes"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct OutOfMemory {
    /// How many bytes were asked for.
    pub requested: usize,
    /// The limit of the arena that would have been passed. `None` if it was the system that had no more.
    pub limit: Option<usize>,
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { requested, limit } = self;
        write!(f, "A0056: there is no room for a chunk of {requested} bytes: ")?;
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

/// What `unwrap` shows is the sentence, with the code and the remedy.
impl fmt::Debug for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for OutOfMemory {}
