//! What is behind the lock of an arena: the free chunks, and how much there is.
#![expect(unsafe_code, reason = "follows pointers to blocks")]

use std::ptr::NonNull;
use std::sync::Arc;

use super::blocks::{BLOCK_SIZE, Block, Chunk, LARGEST_CHUNK, SMALLEST_CHUNK, Spacing};
use super::{ArenaStats, OutOfMemory, Shared, TABLE_PAGE_SIZE};

/// How many powers of two there are from the smallest size of chunks to the largest,
const POWERS: usize = (LARGEST_CHUNK / SMALLEST_CHUNK).trailing_zeros() as usize + 1;
/// and how many kinds of chunks: staggered and aligned ones of these sizes, and pages of tables.
const KINDS: usize = 2 * POWERS + 1;

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
/// - every chunk of every block is either used, or on the stack of its kind once;
/// - all blocks that the stacks name live;
/// - a block with a used chunk owns one count of the arena.
#[derive(Debug, Default)]
pub(super) struct State {
    kinds: [Kind; KINDS],
    /// The bytes of all blocks.
    reserved: usize,
    /// The bytes of used chunks.
    used: usize,
    /// How many blocks have no used chunk.
    wholly_free: usize,
}

/// The chunks of one kind.
#[derive(Debug, Default)]
struct Kind {
    /// The free ones. What was freed last is on top. There is room for all chunks, so that freeing one
    /// never allocates.
    free: Vec<Chunk>,
    /// How many there are, used and free.
    chunks: usize,
}

/// Blocks that nobody knows any more.
#[must_use = "the blocks are leaked if they are not freed"]
pub(super) struct Surplus(Vec<NonNull<Block>>);

impl State {
    pub(super) fn stats(&self) -> ArenaStats {
        ArenaStats { reserved: self.reserved, used: self.used }
    }

    /// Takes a free chunk, of a block that is made if there is none. `owner` is the arena of this state.
    pub(super) fn allocate(
        &mut self,
        owner: &Arc<Shared>,
        spacing: Spacing,
    ) -> Result<Chunk, OutOfMemory> {
        let requested = spacing.size;
        let used = self.used + spacing.size;
        if let Some(limit) = owner.limit.filter(|&limit| used > limit) {
            return Err(OutOfMemory { requested, limit: Some(limit) });
        }
        let chunk = match self.kind_mut(spacing).free.pop() {
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
    fn add_block(&mut self, owner: &Arc<Shared>, spacing: Spacing) -> Option<Chunk> {
        let kind = self.kind_mut(spacing);
        let chunks = kind.chunks + spacing.chunks();
        kind.free.try_reserve(chunks - kind.free.len()).ok()?;
        // The first block is had page by page: many a world never needs more than a few chunks.
        let huge = kind.chunks > 0;
        let block = Block::allocate(Arc::as_ptr(owner), spacing, huge)?;
        kind.chunks = chunks;
        // SAFETY: the block was just made. The first chunk comes to lie on top.
        kind.free.extend(unsafe { Block::chunks_from_the_last(block) });
        let first = kind.free.pop();
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
    pub(super) unsafe fn free(&mut self, chunk: Chunk) {
        // SAFETY: the chunk is used until now, so its block lives.
        let block = unsafe { chunk.record() };
        self.used -= block.spacing().size;
        self.kind_mut(block.spacing()).free.push(chunk);
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
        for kind in &mut self.kinds {
            let before = kind.free.len();
            // From the bottom up.
            kind.free.retain(|chunk| {
                // SAFETY: it is on the stack, and blocks are freed only after the walk.
                let block = unsafe { chunk.record() };
                if block.is_wholly_free() && surplus.len() < most {
                    block.leave();
                    surplus.push(chunk.block());
                }
                !block.is_leaving()
            });
            kind.chunks -= before - kind.free.len();
        }
        self.wholly_free -= surplus.len();
        self.reserved -= surplus.len() * BLOCK_SIZE;
        Surplus(surplus)
    }

    fn kind_mut(&mut self, spacing: Spacing) -> &mut Kind {
        let power = (spacing.size / SMALLEST_CHUNK).trailing_zeros() as usize;
        let kind = match spacing.is_aligned() {
            _ if spacing.size == TABLE_PAGE_SIZE => KINDS - 1,
            true => POWERS + power,
            false => power,
        };
        &mut self.kinds[kind]
    }
}

impl Surplus {
    /// Gives the blocks back to the system. That takes a while, so the arena is not locked meanwhile.
    pub(super) fn free(self) {
        for block in self.0 {
            // SAFETY: they were taken from the stacks with all their chunks, each once, and none is used.
            unsafe { Block::free(block) };
        }
    }
}
