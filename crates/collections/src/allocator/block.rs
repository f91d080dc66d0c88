//! One block of an arena, and its count of allocations.
//!
//! A block is a record and a [`Piece`] of memory. Allocations are whole lines, one after the other.
//! Each ends with the address of the record, so that freeing it finds the block without a search:
//!
//! ```text
//! | contents, from a line on | unused | record |  contents ...
//! |<------------ whole lines ------------------>|
//! ```
//!
//! One word holds everything that changes: the number of lines taken, the number of live
//! allocations, a flag for allocations since the last rewind, and a flag for closed blocks. A
//! closed block serves no new allocations. So each change is one exchange, and
//!
//! - *a block with a live allocation is never emptied or freed*. Emptying and freeing are exchanges that succeed only without
//!   live allocations, and an exchange that takes memory also counts the allocation;
//! - *a closed block stays closed* until it gets new memory. Its memory is freed exactly once: by
//!   freeing its last allocation, or by closing it while it is empty.
//!
//! Records are not freed while their arena lives, only used again. So a thread may read a record
//! that was meanwhile closed, freed, and reused for new memory. Its only write is then an exchange.
//! The exchange fails, or it keeps the record's current memory alive. After that the thread checks
//! that the memory is the one it measured, and otherwise frees what it took.
#![expect(unsafe_code, reason = "hands out parts of a block, and finds the way back to it")]

use std::alloc::Layout;
use std::ptr::{self, NonNull, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use super::line_aligned::{LINE, Piece};

/// The record of a block.
#[derive(Debug)]
pub(super) struct Block {
    /// A [`Word`].
    word: AtomicU64,
    /// The memory. Written only while the block is closed and empty, and the arena locked.
    start: AtomicPtr<u8>,
    /// Number of lines of the memory. Written only together with `start`.
    lines: AtomicU64,
}

/// Lines that an allocation is about to take, and the state of the block from which they were computed.
struct Claim {
    word: Word,
    start: *mut u8,
    capacity: u64,
    first: u64,
    end: u64,
}

/// Result of an attempt to allocate.
pub(super) enum Taken {
    /// The allocated memory.
    Memory(NonNull<u8>),
    /// The block has no room, or is closed.
    Full,
    /// The record got new memory meanwhile. The caller frees the allocation it took there, with
    /// [`Block::leave`].
    Replaced,
}

/// State of a block after its arena was rewound or swept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The block stays open.
    Kept,
    /// The block was not used since the last time, and is empty and closed now: the caller frees
    /// its memory.
    Unused,
    /// Closed with live allocations, the last of which frees the memory.
    Retired,
}

/// Size of the record's address at the end of each allocation.
const RECORD: usize = size_of::<*const Block>();

/// Returns the number of lines of an allocation of `size` bytes, unless it overflows.
fn lines_for(size: usize) -> Option<u64> {
    let lines = u64::try_from(size.checked_add(RECORD)?.div_ceil(LINE)).ok()?;
    (lines <= Word::MAX_USED).then_some(lines)
}

/// Returns the number of bytes a block needs for an allocation of this layout.
pub(super) fn bytes_for(layout: Layout) -> Option<usize> {
    // A block begins at a line. A larger alignment may need that much more, minus that line.
    let skipped = layout.align().saturating_sub(LINE);
    let lines = usize::try_from(lines_for(layout.size())?).ok()?;
    let bytes = lines.checked_mul(LINE)?.checked_add(skipped)?;
    (bytes as u64 / LINE as u64 <= Word::MAX_USED).then_some(bytes)
}

impl Block {
    /// Creates a record without memory.
    pub(super) fn closed() -> Self {
        let word = AtomicU64::new(Word::CLOSED.0);
        Self { word, start: AtomicPtr::new(null_mut()), lines: AtomicU64::new(0) }
    }

    /// Sets the memory of a closed, empty block, and opens it. The arena is locked.
    pub(super) fn open(&self, memory: Piece) {
        debug_assert_eq!(self.load().0, Word::CLOSED.0);
        let (start, size) = memory.into_raw();
        // An allocation leads back to its record by the record's address, see `record_of`.
        start.as_ptr().expose_provenance();
        self.start.store(start.as_ptr(), Ordering::Relaxed);
        self.lines.store((size / LINE) as u64, Ordering::Relaxed);
        // Release: a thread that takes memory by an acquiring exchange sees both stores above.
        self.word.store(Word::OPEN.0, Ordering::Release);
    }

    /// Frees the memory of a closed and empty block. The arena is locked.
    ///
    /// # Safety
    ///
    /// The caller ensures that
    ///
    /// - the block is closed and empty: `rewind` or `sweep` returned `Unused`, or `leave` or
    ///   `give_back` returned `true`;
    /// - this is called once for each of these results.
    pub(super) unsafe fn free(&self) {
        debug_assert_eq!((self.load().is(Word::CLOSED), self.load().live()), (true, 0));
        self.word.store(Word::CLOSED.0, Ordering::Relaxed);
        let start = self.start.swap(null_mut(), Ordering::Relaxed);
        let size = self.lines.swap(0, Ordering::Relaxed) as usize * LINE;
        if let Some(start) = NonNull::new(start) {
            // SAFETY: `open` stored the start and the size from one call of `into_raw`, and the swaps
            // take them out once.
            drop(unsafe { Piece::from_raw(start, size) });
        }
    }

    /// Tries to allocate.
    #[inline]
    pub(super) fn take(&self, layout: Layout) -> Taken {
        let mut word = self.load();
        loop {
            let Some(claim) = self.measure(word, layout) else { return Taken::Full };
            match self.claim(&claim) {
                Ok(taken) => return taken,
                Err(now) => word = now,
            }
        }
    }

    /// Returns the lines that an allocation of this layout would take, if the block has room for
    /// it.
    #[inline]
    fn measure(&self, word: Word, layout: Layout) -> Option<Claim> {
        let start = self.start.load(Ordering::Relaxed);
        let capacity = self.lines.load(Ordering::Relaxed);
        let free = start.addr().wrapping_add((word.used() as usize).wrapping_mul(LINE));
        let skipped = free.wrapping_neg() & (layout.align() - 1);
        let first = word.used() + (skipped / LINE) as u64;
        let end = first + lines_for(layout.size())?;
        let has_room = !word.is(Word::CLOSED) && word.live() < Word::MAX_LIVE && end <= capacity;
        has_room.then_some(Claim { word, start, capacity, first, end })
    }

    /// Takes the lines, unless the word has changed: then it returns the new word.
    #[inline]
    fn claim(&self, claim: &Claim) -> Result<Taken, Word> {
        let &Claim { word, start, capacity, first, end } = claim;
        let taken = word.with(end, word.live() + 1).with_flag(Word::TOUCHED);
        // Acquire pairs with the release in `open`, and with the release of every thread that freed
        // these lines: their last use of the lines comes before.
        self.word
            .compare_exchange_weak(word.0, taken.0, Ordering::Acquire, Ordering::Relaxed)
            .map_err(Word)?;
        // From here on the block has a live allocation, which keeps its memory alive.
        let same = self.start.load(Ordering::Relaxed) == start
            && self.lines.load(Ordering::Relaxed) == capacity;
        if !same {
            return Ok(Taken::Replaced);
        }
        // SAFETY: the lines are within the memory, as `measure` checked, and no other allocation
        // has them.
        Ok(Taken::Memory(unsafe { self.sign(first, end) }))
    }

    /// Frees an allocation that was taken from a replaced block. Returns `true` if it was the last
    /// of a closed block; the caller then frees the block's memory.
    pub(super) fn leave(&self) -> bool {
        self.exchange(|word| {
            let live = word.live() - 1;
            Some(word.with(if live == 0 { 0 } else { word.used() }, live))
        })
        .is_some_and(|left| left.is(Word::CLOSED) && left.live() == 0)
    }

    /// Frees memory. Returns `true` if it was the last of a closed block; the caller then frees the
    /// block's memory.
    ///
    /// Lines that were taken last are free immediately, all others when the block is empty.
    ///
    /// # Safety
    ///
    /// The caller ensures that
    ///
    /// - `memory` was taken from this block with this size, or last resized to it, and was not
    ///   freed;
    /// - the memory is not used afterwards.
    pub(super) unsafe fn give_back(&self, memory: NonNull<u8>, size: usize) -> bool {
        let (first, end) = self.range(memory, size);
        self.exchange(|word| {
            let live = word.live() - 1;
            let used = match word.used() {
                _ if live == 0 => 0,
                used if used == end => first,
                used => used,
            };
            Some(word.with(used, live))
        })
        .is_some_and(|left| left.is(Word::CLOSED) && left.live() == 0)
    }

    /// Grows memory in place, if it was taken last and there is room.
    ///
    /// # Safety
    ///
    /// The caller ensures that
    ///
    /// - `memory` was taken from this block with this size, or last resized to it, and was not
    ///   freed;
    /// - `new_size` is not smaller.
    pub(super) unsafe fn grow(
        &self,
        memory: NonNull<u8>,
        size: usize,
        new_size: usize,
    ) -> Option<NonNull<u8>> {
        let (first, end) = self.range(memory, size);
        let new_end = first.checked_add(lines_for(new_size)?)?;
        if new_end != end {
            let capacity = self.lines.load(Ordering::Relaxed);
            self.exchange(|word| {
                let fits = word.used() == end && new_end <= capacity && !word.is(Word::CLOSED);
                fits.then(|| word.with(new_end, word.live()))
            })?;
        }
        // SAFETY: the lines are within the memory. The first ones belong to the allocation, and the
        // others have just been taken.
        Some(unsafe { self.sign(first, new_end) })
    }

    /// Shrinks memory. The remaining lines are free immediately if they were taken last.
    ///
    /// # Safety
    ///
    /// The caller ensures that
    ///
    /// - `memory` was taken from this block with this size, or last resized to it, and was not
    ///   freed;
    /// - `new_size` is not larger.
    pub(super) unsafe fn shrink(
        &self,
        memory: NonNull<u8>,
        size: usize,
        new_size: usize,
    ) -> NonNull<u8> {
        let (first, end) = self.range(memory, size);
        let (_, new_end) = self.range(memory, new_size);
        // SAFETY: the lines are within the block, and part of the allocation, which is alive. It has
        // at least one line, so `new_end` is beyond `first`.
        let memory = unsafe { self.sign(first, new_end) };
        // Only now, since freed lines may belong to another allocation.
        self.exchange(|word| (word.used() == end).then(|| word.with(new_end, word.live())));
        memory
    }

    /// Frees all lines, if no allocation is alive. Otherwise, or if the block was not used since the last rewind, closes the
    /// block.
    pub(super) fn rewind(&self) -> Outcome {
        let rewound = self.exchange(|word| {
            let keep = word.live() == 0 && word.is(Word::TOUCHED);
            Some(if keep { Word::OPEN } else { word.with_flag(Word::CLOSED) })
        });
        match rewound {
            Some(word) if !word.is(Word::CLOSED) => Outcome::Kept,
            Some(word) if word.live() == 0 => Outcome::Unused,
            _ => Outcome::Retired,
        }
    }

    /// Closes the block if it was not used since the last sweep.
    pub(super) fn sweep(&self) -> Outcome {
        let swept = self.exchange(|word| {
            let keep = word.live() != 0 || word.is(Word::TOUCHED);
            Some(if keep { word.without_flag(Word::TOUCHED) } else { Word::CLOSED })
        });
        if swept.is_some_and(|word| word.is(Word::CLOSED)) {
            Outcome::Unused
        } else {
            Outcome::Kept
        }
    }

    /// Returns the number of bytes that were taken.
    pub(super) fn bytes_used(&self) -> usize {
        self.load().used() as usize * LINE
    }

    /// Returns the size of the memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.lines.load(Ordering::Relaxed) as usize * LINE
    }

    fn load(&self) -> Word {
        // Relaxed: any change based on this value is made by an exchange that expects it.
        Word(self.word.load(Ordering::Relaxed))
    }

    /// Changes the word as the function returns, unless it returns `None`, and returns the new
    /// word.
    #[inline]
    fn exchange(&self, change: impl Fn(Word) -> Option<Word>) -> Option<Word> {
        let mut word = self.load();
        loop {
            let changed = change(word)?;
            // Release: uses of freed lines come before their uses by later allocations. Acquire:
            // the same holds for the thread that frees the whole block.
            match self.word.compare_exchange_weak(
                word.0,
                changed.0,
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Some(changed),
                Err(now) => word = Word(now),
            }
        }
    }

    /// Returns the first and the end of the lines of an allocation that is alive.
    fn range(&self, memory: NonNull<u8>, size: usize) -> (u64, u64) {
        // A live allocation keeps `start` unchanged. It exists, so its number of lines does not
        // overflow.
        let offset = memory.addr().get() - self.start.load(Ordering::Relaxed).addr();
        let first = (offset / LINE) as u64;
        (first, first + (size + RECORD).div_ceil(LINE) as u64)
    }

    /// Writes the record's address at the end of the lines, and returns their start.
    ///
    /// The pointer is derived from the block's own: that of the caller may have provenance for the
    /// contents only.
    ///
    /// # Safety
    ///
    /// The caller ensures that
    ///
    /// - the lines are within the block, and part of a live allocation of the caller;
    /// - `end` is beyond `first`.
    #[inline]
    unsafe fn sign(&self, first: u64, end: u64) -> NonNull<u8> {
        let start = self.start.load(Ordering::Relaxed);
        // SAFETY: the record and the first line are within the memory, whose lines are aligned for an address. A line has room
        // for an address, and no other allocation uses these lines.
        unsafe {
            let record = start.add(end as usize * LINE - RECORD).cast::<*const Self>();
            record.write(ptr::from_ref(self));
            NonNull::new_unchecked(start.add(first as usize * LINE))
        }
    }
}

/// Returns the record of an allocation's block.
///
/// # Safety
///
/// The caller ensures that
///
/// - `memory` was taken from a block with this size, or last resized to it, and was not freed.
#[inline]
pub(super) unsafe fn record_of(memory: NonNull<u8>, size: usize) -> *const Block {
    let lines = (size + RECORD).div_ceil(LINE);
    let record = memory.addr().get() + lines * LINE - RECORD;
    // By address, since the pointer may have provenance for the contents only, as that of a box
    // does.
    let record = ptr::with_exposed_provenance::<*const Block>(record);
    // SAFETY: `sign` wrote the address there, and it is outside of the bytes that the allocation's
    // user may write.
    unsafe { record.read() }
}

/// Frees the block, with the memory of allocations that were never freed.
impl Drop for Block {
    fn drop(&mut self) {
        *self.word.get_mut() = Word::CLOSED.0;
        // SAFETY: the memory is unused, since the last handle to the arena is gone, and this is the
        // last call.
        unsafe { self.free() };
    }
}

/// The changing state of a block.
///
/// ```text
///   63       62     61 ............ 40   39 ............ 0
/// closed  touched   live allocations     lines taken
/// ```
#[derive(Clone, Copy, Debug)]
pub(super) struct Word(u64);

impl Word {
    const USED_BITS: u32 = 40;
    pub(super) const MAX_USED: u64 = (1 << Self::USED_BITS) - 1;
    pub(super) const MAX_LIVE: u64 = (1 << (62 - Self::USED_BITS)) - 1;
    /// The block serves no new allocations.
    pub(super) const CLOSED: Self = Self(1 << 63);
    /// The block was used since the last rewind or sweep.
    pub(super) const TOUCHED: Self = Self(1 << 62);
    /// All lines are free.
    pub(super) const OPEN: Self = Self(0);

    /// Returns whether a flag is set.
    pub(super) fn is(self, flag: Self) -> bool {
        self.0 & flag.0 != 0
    }

    /// Returns the number of live allocations.
    pub(super) fn live(self) -> u64 {
        (self.0 >> Self::USED_BITS) & Self::MAX_LIVE
    }

    /// Returns the number of lines taken.
    pub(super) fn used(self) -> u64 {
        self.0 & Self::MAX_USED
    }

    /// Returns the word with these numbers and the same flags.
    pub(super) fn with(self, used: u64, live: u64) -> Self {
        debug_assert!(used <= Self::MAX_USED && live <= Self::MAX_LIVE);
        let flags = self.0 & (Self::CLOSED.0 | Self::TOUCHED.0);
        Self(flags | live << Self::USED_BITS | used)
    }

    pub(super) fn with_flag(self, flag: Self) -> Self {
        Self(self.0 | flag.0)
    }

    pub(super) fn without_flag(self, flag: Self) -> Self {
        Self(self.0 & !flag.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(bytes: usize) -> Block {
        let block = Block::closed();
        block.open(Piece::new(bytes).unwrap());
        block
    }

    fn take(block: &Block, size: usize) -> Option<NonNull<u8>> {
        match block.take(Layout::from_size_align(size, 1).unwrap()) {
            Taken::Memory(memory) => Some(memory),
            Taken::Full => None,
            Taken::Replaced => panic!("no thread replaced it"),
        }
    }

    #[test]
    fn the_last_allocation_frees_a_retired_block() {
        let block = opened(1024);
        let [one, two] = [100, 200].map(|size| take(&block, size).unwrap());
        assert!(block.rewind() == Outcome::Retired);
        assert_eq!(take(&block, 1), None);
        // SAFETY: each allocation was taken from this block, and the block is freed when it reports to be empty.
        unsafe {
            assert_eq!(record_of(one, 100), ptr::from_ref(&block));
            assert!(!block.give_back(two, 200));
            assert!(block.give_back(one, 100));
            block.free();
        }
        assert_eq!(block.bytes(), 0);
    }

    #[test]
    fn a_block_is_kept_if_it_was_used() {
        let block = opened(1024);
        let memory = take(&block, 100).unwrap();
        // SAFETY: the memory was taken from this block with this size, and is not used afterwards.
        assert!(!unsafe { block.give_back(memory, 100) });
        assert_eq!(block.bytes_used(), 0);
        assert!(block.rewind() == Outcome::Kept);
        assert!(block.rewind() == Outcome::Unused);
    }

    /// A thread measures, pauses, and continues when the record has new memory with the same number
    /// of lines taken.
    #[test]
    fn a_claim_on_replaced_memory_is_released() {
        let block = opened(1024);
        let large = Layout::from_size_align(900, 1).unwrap();
        let claim = block.measure(block.load(), large).unwrap();

        assert!(block.rewind() == Outcome::Unused);
        // SAFETY: the block is closed and empty, and is freed once.
        unsafe { block.free() };
        block.open(Piece::new(128).unwrap());

        let claimed = loop {
            // The exchange may fail spuriously.
            if let Ok(claimed) = block.claim(&claim) {
                break claimed;
            }
        };
        assert!(matches!(claimed, Taken::Replaced));
        assert!(block.rewind() == Outcome::Retired);
        assert!(block.leave());
        // SAFETY: the last allocation of the closed block was freed, and the block is freed once.
        unsafe { block.free() };
    }

    #[test]
    fn sizes_that_overflow_are_refused() {
        let block = opened(1024);
        assert_eq!(take(&block, isize::MAX as usize), None);
        let largest = Layout::from_size_align(1 << 62, 1).unwrap();
        assert_eq!(bytes_for(largest), None);
        let aligned = Layout::from_size_align(1, 1 << 62).unwrap();
        assert_eq!(bytes_for(aligned), None);
        assert!(matches!(block.take(aligned), Taken::Full));
    }
}
