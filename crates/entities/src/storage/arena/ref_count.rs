//! A reference count for memory that is copied on write.
//!
//! `tests/loom.rs` compiles this file a second time, against loom's atomics.

use std::process::abort;

#[cfg(loom)]
use loom::sync::atomic::{AtomicU32, Ordering};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicU32, Ordering};

/// The number of owners of a chunk or of a page of the entity table. The owners are worlds.
///
/// Each owner may read. An owner may write if it is the [only](Self::is_one) one.
#[derive(Debug)]
pub(crate) struct RefCount(AtomicU32);

/// The maximum count, beyond which the process aborts, so that leaked owners cannot make the count wrap around. The remaining
/// half of the range is for owners that other threads add before the process has aborted.
const MOST: u32 = u32::MAX / 2;

impl RefCount {
    /// Creates a count of one owner.
    #[cfg(not(loom))]
    pub(crate) const fn one() -> Self {
        Self(AtomicU32::new(1))
    }

    /// Creates a count of one owner. This is not `const`, because loom registers its atomics at run time.
    #[cfg(loom)]
    pub(crate) fn one() -> Self {
        Self(AtomicU32::new(1))
    }

    /// Resets a count of zero owners to one.
    pub(crate) fn reset(&self) {
        // Relaxed: other threads read the count only through the owner that is created now.
        self.0.store(1, Ordering::Relaxed);
    }

    /// Adds an owner.
    #[inline]
    pub(crate) fn add(&self) {
        // Relaxed: the existing owner keeps the memory alive, and sending the new owner to another thread synchronises.
        if self.0.fetch_add(1, Ordering::Relaxed) > MOST {
            abort();
        }
    }

    /// Returns whether the caller is the only owner of the memory. That remains true until the caller adds another.
    #[inline]
    pub(crate) fn is_one(&self) -> bool {
        // Acquire pairs with the release of former owners in `remove`: their accesses happen before the writes of the remaining
        // owner.
        self.0.load(Ordering::Acquire) == 1
    }

    /// Removes an owner. Returns `true` if it was the last: the caller then frees the memory.
    #[inline]
    #[must_use = "the last owner frees the thing"]
    pub(crate) fn remove(&self) -> bool {
        // If there is one owner, it is the caller, and no other can be added meanwhile. So no read-modify-write operation is
        // needed.
        //
        // Otherwise, release: the accesses of this owner happen before the last owner frees the memory, or the remaining owner
        // writes to it. Acquire pairs with the release of former owners, in case this owner turns out to be the last.
        self.is_one() || self.0.fetch_sub(1, Ordering::AcqRel) == 1
    }
}
