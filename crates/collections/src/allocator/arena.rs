//! Memory allocated by moving a pointer, by many threads, from blocks.
//!
//! Memory is allocated from the block in use without a lock. When it is full, another block is
//! selected or created, under a lock. The invariants that keep memory alive are in
//! [`block`](super::block).
#![expect(unsafe_code, reason = "is a source of memory")]

use std::alloc::Layout;
use std::ptr::{self, NonNull, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::block::{Block, Outcome, Taken, Word, bytes_for, record_of};
use super::line_aligned::{LINE, Piece};
use super::source::{MemorySource, move_memory};

/// Size of the first block, and the minimum size of all blocks.
pub(super) const FIRST_BLOCK: usize = 128 << 10;
/// Size up to which blocks double. Only an allocation that needs more gets a larger block.
pub(super) const LARGEST_BLOCK: usize = 64 << 20;
/// Maximum number of blocks to allocate from.
pub(super) const MAX_BLOCKS: usize = 64;

/// Memory allocated by moving a pointer, by many threads, from blocks.
///
/// Every allocation begins at a line. The last allocation of a block can grow in place and be freed
/// immediately. All other memory of a block is free again when its last allocation is freed.
#[derive(Debug)]
pub(super) struct Arena {
    /// Record of the block to allocate from first, or null. Records live as long as the arena.
    current: AtomicPtr<Block>,
    blocks: Mutex<Blocks>,
    first_block: usize,
    largest_block: usize,
}

#[derive(Debug, Default)]
struct Blocks {
    /// Blocks to allocate from.
    open: Vec<Arc<Block>>,
    /// Blocks with live allocations that serve no new ones.
    retired: Vec<Arc<Block>>,
    /// Records without memory.
    spare: Vec<Arc<Block>>,
}

/// Memory statistics of an arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ArenaStatistics {
    pub(super) blocks: usize,
    pub(super) retired: usize,
    pub(super) bytes_used: usize,
    pub(super) bytes_reserved: usize,
}

impl Arena {
    /// Creates an arena whose first block has `first_block` bytes, but at least 128 KiB.
    pub(super) fn new(first_block: usize) -> Self {
        Self::with_block_sizes(first_block.max(FIRST_BLOCK), LARGEST_BLOCK)
    }

    fn with_block_sizes(first_block: usize, largest_block: usize) -> Self {
        let (current, blocks) = (AtomicPtr::new(null_mut()), Mutex::default());
        Self { current, blocks, first_block, largest_block }
    }

    /// Frees all memory that has no live allocation.
    ///
    /// Keeps the blocks used since the last rewind, and frees the others. A block with a live
    /// allocation is retired: it is freed with the last one in it.
    pub(super) fn rewind(&self) {
        let blocks = &mut *self.lock();
        blocks.sort_out(Block::rewind);
        self.make_current(blocks, 0);
    }

    /// Frees the blocks that are empty and were not used since the last sweep.
    pub(super) fn sweep(&self) {
        self.lock().sort_out(Block::sweep);
    }

    /// Returns the amounts of memory, which may be outdated if other threads allocate.
    pub(super) fn statistics(&self) -> ArenaStatistics {
        let blocks = self.lock();
        let all = blocks.open.iter().chain(&blocks.retired);
        ArenaStatistics {
            blocks: blocks.open.len(),
            retired: blocks.retired.len(),
            bytes_used: blocks.open.iter().map(|block| block.bytes_used()).sum(),
            // Without the line of each block for its bookkeeping.
            bytes_reserved: all.map(|block| block.bytes() - LINE).sum(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Blocks> {
        // No code under the lock panics half way, so a poisoned lock is ignored.
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Searches all blocks for memory, and creates a block if none has room.
    #[cold]
    #[inline(never)]
    fn allocate_slowly(&self, layout: Layout) -> Option<NonNull<u8>> {
        let blocks = &mut *self.lock();
        let needed = bytes_for(layout)?;
        loop {
            for index in 0..blocks.open.len() {
                match blocks.open[index].take(layout) {
                    Taken::Memory(memory) => {
                        self.make_current(blocks, index);
                        return Some(memory);
                    }
                    Taken::Full => {}
                    // Blocks get new memory only under the lock, which is held here.
                    Taken::Replaced => unreachable!("a block was replaced under the lock"),
                }
            }
            if blocks.open.len() >= MAX_BLOCKS {
                return None;
            }
            let memory = Piece::new(self.next_size(blocks.open.len(), needed)?)?;
            let block = blocks.spare.pop().unwrap_or_else(|| Arc::new(Block::closed()));
            block.open(memory);
            blocks.open.push(block);
        }
    }

    /// Returns the size of the next block: doubled for each existing block, plus one line, so that
    /// one allocation of that size fits. Returns `None` if the number of lines cannot be counted.
    fn next_size(&self, count: usize, needed: usize) -> Option<usize> {
        let doubled = (0..count).fold(self.first_block, |size, _| {
            if size < self.largest_block { (size * 2).min(self.largest_block) } else { size }
        });
        let size = doubled.checked_add(LINE)?.max(needed);
        (size.div_ceil(LINE) as u64 <= Word::MAX_USED).then_some(size)
    }

    /// Selects the block at `index`, if it exists, as the first one to allocate from.
    fn make_current(&self, blocks: &Blocks, index: usize) {
        let current =
            blocks.open.get(index).map_or(null_mut(), |block| Arc::as_ptr(block).cast_mut());
        // Release: a thread that loads the record sees it initialised.
        self.current.store(current, Ordering::Release);
    }

    /// Frees the memory of a retired block after its last allocation was freed.
    #[cold]
    #[inline(never)]
    fn free_retired(&self, block: *const Block) {
        let blocks = &mut *self.lock();
        let found = blocks.retired.iter().position(|retired| ptr::eq(&**retired, block));
        debug_assert!(found.is_some(), "a block is retired under the lock in which it is closed");
        if let Some(index) = found {
            let block = blocks.retired.swap_remove(index);
            blocks.free(block);
        }
    }
}

impl Blocks {
    /// Calls `treat` with each open block, and sorts the block by the outcome.
    fn sort_out(&mut self, treat: impl Fn(&Block) -> Outcome) {
        // In place: a rewind in each frame must not allocate a list.
        let mut open = std::mem::take(&mut self.open);
        open.retain(|block| match treat(block) {
            Outcome::Kept => true,
            Outcome::Retired => {
                self.retired.push(Arc::clone(block));
                false
            }
            Outcome::Unused => {
                self.free(Arc::clone(block));
                false
            }
        });
        self.open = open;
    }

    /// Frees the memory of a block that is closed and empty, and keeps its record.
    fn free(&mut self, block: Arc<Block>) {
        // SAFETY: the block reported itself closed and empty, and was removed from the list, so no
        // second call finds it.
        unsafe { block.free() };
        self.spare.push(block);
    }
}

// SAFETY: an allocation is lines of a block, within its memory and aligned to a line or more, as
// `take` ensures. No other allocation overlaps them until they are freed, by the invariants of
// `block`, and blocks that have live allocations are not freed before the arena is dropped.
// Resizing keeps the contents, in place or by a copy. Nothing unwinds.
unsafe impl MemorySource for Arena {
    #[inline]
    fn allocate(&self, layout: Layout) -> Option<NonNull<u8>> {
        // Acquire pairs with the release of `make_current`.
        let current = self.current.load(Ordering::Acquire);
        // SAFETY: the pointer is null or points to a record, which lives as long as the arena.
        if let Some(block) = unsafe { current.as_ref() } {
            match block.take(layout) {
                Taken::Memory(memory) => return Some(memory),
                Taken::Replaced if block.leave() => self.free_retired(block),
                Taken::Replaced | Taken::Full => {}
            }
        }
        self.allocate_slowly(layout)
    }

    unsafe fn deallocate(&self, memory: NonNull<u8>, layout: Layout) {
        // SAFETY: by the contract of `deallocate`, the memory is from this arena, has this size,
        // and is not used again. A record lives as long as the arena.
        unsafe {
            let block = record_of(memory, layout.size());
            if (*block).give_back(memory, layout.size()) {
                self.free_retired(block);
            }
        }
    }

    unsafe fn grow(
        &self,
        memory: NonNull<u8>,
        layout: Layout,
        new_size: usize,
    ) -> Option<NonNull<u8>> {
        // SAFETY: by the contract of `grow`, the memory is from this arena, has this size, and the
        // new size is not smaller. A record lives as long as the arena.
        unsafe {
            let block = &*record_of(memory, layout.size());
            let grown = block.grow(memory, layout.size(), new_size);
            grown.or_else(|| move_memory(self, memory, layout, new_size, layout.size()))
        }
    }

    unsafe fn shrink(
        &self,
        memory: NonNull<u8>,
        layout: Layout,
        new_size: usize,
    ) -> Option<NonNull<u8>> {
        // SAFETY: by the contract of `shrink`, the memory is from this arena, has this size, and
        // the new size is not larger. A record lives as long as the arena.
        unsafe {
            let block = &*record_of(memory, layout.size());
            Some(block.shrink(memory, layout.size(), new_size))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(size: usize, align: usize) -> Layout {
        Layout::from_size_align(size, align).unwrap()
    }

    #[test]
    fn blocks_double_up_to_the_largest_and_then_stay() {
        let arena = Arena::new(0);
        let sizes: Vec<_> =
            (0..12).map(|count| arena.next_size(count, 0).unwrap() - LINE).collect();
        let kib: Vec<_> = sizes.iter().map(|size| size >> 10).collect();
        let doubled = [128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 65536, 65536];
        assert_eq!(kib, doubled);
        // An allocation that needs more gets a larger block, and the next block has the usual size.
        assert_eq!(arena.next_size(0, 100 << 20), Some(100 << 20));
        // The number of lines must not overflow.
        assert_eq!(Arena::new(1 << 46).next_size(0, 0), None);
    }

    #[test]
    fn there_are_at_most_64_blocks() {
        let arena = Arena::with_block_sizes(1024, 4096);
        let large = layout(3000, 8);
        let taken: Vec<_> = (0..MAX_BLOCKS).map(|_| arena.allocate(large).unwrap()).collect();
        assert_eq!(arena.allocate(large), None);
        assert_eq!(arena.statistics().blocks, MAX_BLOCKS);
        // Smaller allocations still fit, and so do ones in freed memory.
        let small = arena.allocate(layout(100, 8)).unwrap();
        // SAFETY: all of them were allocated by this test with this layout, and are freed once.
        unsafe {
            arena.deallocate(taken[7], large);
            let again = arena.allocate(large).unwrap();
            assert_eq!(again, taken[7]);
            arena.deallocate(small, layout(100, 8));
            taken.iter().for_each(|memory| arena.deallocate(*memory, large));
        }
        assert_eq!(arena.statistics().bytes_used, 0);
    }

    #[test]
    fn retired_blocks_do_not_count() {
        let arena = Arena::with_block_sizes(1024, 1024);
        let taken: Vec<_> = (0..2 * MAX_BLOCKS)
            .map(|_| {
                let memory = arena.allocate(layout(100, 8)).unwrap();
                arena.rewind();
                memory
            })
            .collect();
        assert_eq!(arena.statistics().retired, 2 * MAX_BLOCKS);
        // SAFETY: all of them were allocated by this test with this layout, and are freed once.
        unsafe { taken.iter().for_each(|memory| arena.deallocate(*memory, layout(100, 8))) };
        let nothing = ArenaStatistics { blocks: 0, retired: 0, bytes_used: 0, bytes_reserved: 0 };
        assert_eq!(arena.statistics(), nothing);
        // Their records are used again.
        let memory = arena.allocate(layout(100, 8)).unwrap();
        assert_eq!(arena.lock().spare.len(), 2 * MAX_BLOCKS - 1);
        // SAFETY: it was allocated by this test with this layout, and is freed once.
        unsafe { arena.deallocate(memory, layout(100, 8)) };
    }

    #[test]
    fn memory_that_was_never_freed_is_freed_with_the_arena() {
        // AddressSanitizer would report a leak.
        let arena = Arena::new(0);
        arena.allocate(layout(100, 8)).unwrap();
        arena.rewind();
        arena.allocate(layout(100, 4096)).unwrap();
    }
}
