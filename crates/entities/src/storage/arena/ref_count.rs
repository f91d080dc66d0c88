//! How many own something that is copied when one of them writes.
//!
//! `tests/loom.rs` compiles this file a second time, against loom's atomics.

use std::process::abort;

#[cfg(loom)]
use loom::sync::atomic::{AtomicU32, Ordering};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicU32, Ordering};

/// How many owners something has: worlds that share a chunk, or a page of the entity table.
///
/// Each owner reads as it likes. One that finds itself [alone](Self::is_one) may write.
#[derive(Debug)]
pub(crate) struct RefCount(AtomicU32);

/// Above this the process ends. Owners that were forgotten could make the count wrap otherwise, and there is
/// as much again for those that are added until the first of them has noticed.
const MOST: u32 = u32::MAX / 2;

impl RefCount {
    /// The count of something that has one owner.
    #[cfg(not(loom))]
    pub(crate) const fn one() -> Self {
        Self(AtomicU32::new(1))
    }

    /// As above. Loom's atomics have to be registered, so that they are not made at compile time.
    #[cfg(loom)]
    pub(crate) fn one() -> Self {
        Self(AtomicU32::new(1))
    }

    /// Counts one owner, of something that nobody owns and nobody else can reach.
    pub(crate) fn reset(&self) {
        // Relaxed: other threads get to know the count from the owner that is made now.
        self.0.store(1, Ordering::Relaxed);
    }

    /// Counts one more owner, for one that there is.
    #[inline]
    pub(crate) fn add(&self) {
        // Relaxed: the thing is alive by the owner that asks, and whoever gives the new one to another
        // thread takes care of the order.
        if self.0.fetch_add(1, Ordering::Relaxed) > MOST {
            abort();
        }
    }

    /// Whether the owner that asks is the only one. It stays so until it makes another one itself.
    #[inline]
    pub(crate) fn is_one(&self) -> bool {
        // Acquire pairs with the release of the owners that went, in `remove`: what they read or wrote
        // comes before what the remaining one writes.
        self.0.load(Ordering::Acquire) == 1
    }

    /// Counts one owner less. If it was the last, `true` is returned, and the thing is the caller's to free.
    #[inline]
    #[must_use = "the last owner frees the thing"]
    pub(crate) fn remove(&self) -> bool {
        // The only owner is the last. Nobody can become a second one meanwhile, so nothing is exchanged.
        //
        // Otherwise, release: what this owner did comes before what the last one does, which frees the
        // thing, or the one that remains, which finds itself alone. Acquire pairs with that, if this is the
        // last after all.
        self.is_one() || self.0.fetch_sub(1, Ordering::AcqRel) == 1
    }
}
