//! A source of memory that counts what is out, and refuses what is too much.
#![expect(unsafe_code, reason = "implements a source of memory")]

use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use ancho_collections::{Allocator, MemorySource};

/// What is out, and how much may be.
#[derive(Clone, Debug)]
pub(crate) struct Ledger(Arc<Numbers>);

#[derive(Debug)]
struct Numbers {
    out: AtomicUsize,
    limit: AtomicUsize,
    calls: AtomicUsize,
    refused_call: AtomicUsize,
}

impl Ledger {
    /// How many bytes were given out and not given back.
    pub(crate) fn out(&self) -> usize {
        self.0.out.load(SeqCst)
    }

    /// How often memory was asked for.
    pub(crate) fn calls(&self) -> usize {
        self.0.calls.load(SeqCst)
    }

    /// Has it refuse all that would be more than this.
    pub(crate) fn limit(&self, bytes: usize) {
        self.0.limit.store(bytes, SeqCst);
    }

    /// Has it refuse one call: the next one, if there are no calls to come before that, and so on.
    pub(crate) fn refuse_after(&self, calls: usize) {
        self.0.refused_call.store(self.calls() + calls, SeqCst);
    }

    /// Has it refuse no call but those that are too much. Says whether it has refused the one it was to.
    pub(crate) fn refuse_none(&self) -> bool {
        self.0.refused_call.swap(usize::MAX, SeqCst) < self.calls()
    }

    /// Has it refuse everything from here on.
    pub(crate) fn refuse(&self) {
        self.limit(0);
    }
}

// SAFETY: the memory is the system's, which keeps the same promises; the numbers only refuse.
unsafe impl MemorySource for Ledger {
    fn allocate(&self, layout: Layout) -> Option<NonNull<u8>> {
        if self.0.calls.fetch_add(1, SeqCst) == self.0.refused_call.load(SeqCst) {
            return None;
        }
        let limit = self.0.limit.load(SeqCst);
        let more = |out: usize| out.checked_add(layout.size()).filter(|out| *out <= limit);
        self.0.out.fetch_update(SeqCst, SeqCst, more).ok()?;
        // SAFETY: the size is not zero.
        NonNull::new(unsafe { alloc(layout) })
    }

    unsafe fn deallocate(&self, memory: NonNull<u8>, layout: Layout) {
        // SAFETY: it was allocated above, with this layout.
        unsafe { dealloc(memory.as_ptr(), layout) };
        self.0.out.fetch_sub(layout.size(), SeqCst);
    }
}

/// An allocator called `Limited`, and its books.
pub(crate) fn limited(limit: usize) -> (Allocator, Ledger) {
    let [out, limit, calls, refused_call] = [0, limit, 0, usize::MAX].map(AtomicUsize::new);
    let ledger = Ledger(Arc::new(Numbers { out, limit, calls, refused_call }));
    (Allocator::custom("Limited", ledger.clone()), ledger)
}
