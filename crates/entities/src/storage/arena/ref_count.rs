//! A reference count for memory that is copied on write.
//!
//! `tests/loom.rs` compiles this file a second time, against loom's atomics.

use std::process::abort;

#[cfg(loom)]
use loom::sync::atomic::{AtomicU32, Ordering};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicU32, Ordering};

/// The number of owners of a chunk or a page of the entity table, which worlds share.
///
/// Each owner may read. An owner that is the [only](Self::is_one) one may write.
#[derive(Debug)]
pub(crate) struct RefCount(AtomicU32);

/// The count at which the process aborts, before leaked owners could make it wrap around. The other half is for owners that are
/// added until the first abort.
const MOST: u32 = u32::MAX / 2;

impl RefCount {
    /// The count of something with one owner.
    #[cfg(not(loom))]
    pub(crate) const fn one() -> Self {
        Self(AtomicU32::new(1))
    }

    /// The count of something with one owner. Loom's atomics are registered at run time, so this is not `const`.
    #[cfg(loom)]
    pub(crate) fn one() -> Self {
        Self(AtomicU32::new(1))
    }

    /// Resets the count of something without owners to one.
    pub(crate) fn reset(&self) {
        // Relaxed: other threads learn of the count through the owner that is created now.
        self.0.store(1, Ordering::Relaxed);
    }

    /// Counts another owner.
    #[inline]
    pub(crate) fn add(&self) {
        // Relaxed: the existing owner keeps the thing alive, and sending the new owner to another thread synchronises.
        if self.0.fetch_add(1, Ordering::Relaxed) > MOST {
            abort();
        }
    }

    /// Returns whether there is one owner, the caller. That stays true until the caller adds another.
    #[inline]
    pub(crate) fn is_one(&self) -> bool {
        // Acquire pairs with the release of former owners in `remove`: their accesses happen before the writes of the remaining
        // one.
        self.0.load(Ordering::Acquire) == 1
    }

    /// Counts one owner less. Returns `true` if it was the last: the caller frees the thing.
    #[inline]
    #[must_use = "the last owner frees the thing"]
    pub(crate) fn remove(&self) -> bool {
        // The only owner is the last, and no other can be added meanwhile: no exchange is needed.
        //
        // Otherwise, release: the accesses of this owner happen before the last one frees the thing, or the remaining one
        // writes to it. Acquire pairs with that, if this is the last after all.
        self.is_one() || self.0.fetch_sub(1, Ordering::AcqRel) == 1
    }
}
