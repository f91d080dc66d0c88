//! The sequence number of a node, which identifies its current job.

use crate::primitive::{AtomicU64, Ordering};

/// The sequence number of a node's job, or zero without a job. It is written by the node's owner, and read by any thread.
///
/// If a thread reads a number that differs from its job's number, the job was completed, and the thread sees all its writes.
/// Therefore every write is a release, including the write of the *next* job's number, which a reader may find.
#[derive(Debug)]
pub(crate) struct Sequence(AtomicU64);

impl Sequence {
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Returns the number. Only the owner, and threads that work on the job, may call this method.
    #[inline]
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Sets the number of a new job, or zero when the job was completed.
    #[inline]
    pub(crate) fn set(&self, sequence: u64) {
        // Release pairs with the acquire of `is`.
        self.0.store(sequence, Ordering::Release);
    }

    /// Returns whether the job with this number still occupies the node, which means that it was not completed.
    #[inline]
    pub(crate) fn is(&self, sequence: u64) -> bool {
        // Acquire pairs with the release of `set`. A container that was moved to another thread sees the job's writes
        // as soon as it sees that the job was completed.
        self.0.load(Ordering::Acquire) == sequence
    }
}
