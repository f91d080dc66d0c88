//! A source of memory that counts live bytes, and refuses requests beyond a limit.
#![expect(unsafe_code, reason = "implements a source of memory")]

use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use ancho_collections::{Allocator, MemorySource};

/// Counters and limits of the source.
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
    /// Returns the number of live bytes.
    pub(crate) fn out(&self) -> usize {
        self.0.out.load(SeqCst)
    }

    /// Returns the number of requests.
    pub(crate) fn calls(&self) -> usize {
        self.0.calls.load(SeqCst)
    }

    /// Refuses requests that would exceed `bytes` live bytes.
    pub(crate) fn limit(&self, bytes: usize) {
        self.0.limit.store(bytes, SeqCst);
    }

    /// Refuses one request: the one after the next `calls`.
    pub(crate) fn refuse_after(&self, calls: usize) {
        self.0.refused_call.store(self.calls() + calls, SeqCst);
    }

    /// Refuses only requests beyond the limit. Returns whether the single request was refused.
    pub(crate) fn refuse_none(&self) -> bool {
        self.0.refused_call.swap(usize::MAX, SeqCst) < self.calls()
    }

    /// Refuses everything from here on.
    pub(crate) fn refuse(&self) {
        self.limit(0);
    }
}

// SAFETY: the memory is the system's, whose allocator meets the same contract; the numbers only
// refuse.
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
        // SAFETY: `allocate` allocated it with this layout.
        unsafe { dealloc(memory.as_ptr(), layout) };
        self.0.out.fetch_sub(layout.size(), SeqCst);
    }
}

/// Makes an allocator called `Limited`, and its counters.
pub(crate) fn limited(limit: usize) -> (Allocator, Ledger) {
    let [out, limit, calls, refused_call] = [0, limit, 0, usize::MAX].map(AtomicUsize::new);
    let ledger = Ledger(Arc::new(Numbers { out, limit, calls, refused_call }));
    (Allocator::custom("Limited", ledger.clone()), ledger)
}
