//! A used chunk, and how it is shared, given back and freed.
#![expect(unsafe_code, reason = "follows pointers to blocks, and to the arena")]

use std::ptr::NonNull;
use std::sync::Arc;

use super::blocks::Chunk;

/// One count of a chunk: memory that several worlds may own together.
///
/// What is in the memory is not known here. So when it is dropped, the chunk loses a count, and if that was
/// the last, its memory is used for something else, but what is in the chunk is *not* dropped: it leaks.
/// An owner calls [`release`](Self::release), and drops the contents if it was the last.
///
/// Sending it to another thread, or sharing it, is sending an address. Whoever reads or writes the memory has
/// to know why it may.
#[derive(Debug)]
pub(crate) struct ChunkMemory(Chunk);

/// A chunk that has lost its last count: the caller drops what is in it, and then this, which frees it.
#[derive(Debug)]
#[must_use = "the chunk is freed when this is dropped"]
pub(crate) struct LastChunk(Chunk);

impl ChunkMemory {
    /// Takes over a chunk that was just allocated.
    pub(super) fn new(chunk: Chunk) -> Self {
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
unsafe fn free(chunks: impl Iterator<Item = Chunk>) {
    let mut chunks = chunks.peekable();
    // SAFETY: the chunks are used until they are freed below, so their blocks live.
    let owner_of = |chunk: &Chunk| unsafe { chunk.record() }.owner();
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
