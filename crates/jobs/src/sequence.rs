//! The sequence number of a node, which identifies its current job.

use crate::primitive::{AtomicU64, Ordering};

/// A job's sequence number; zero without a job. Written by the node's owner, read by any thread.
///
/// A thread that reads another number than its job's learns that the job was completed, and sees all its writes.
/// Therefore every write is a release, including that of the *next* job's number, which a reader may find.
#[derive(Debug)]
pub(crate) struct Sequence(AtomicU64);

impl Sequence {
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Returns the number. For the owner, and for threads that work on the job.
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

    /// Returns whether the job with that number still occupies the node, that is, was not completed.
    #[inline]
    pub(crate) fn is(&self, sequence: u64) -> bool {
        // Acquire pairs with the release of `set`. A container that was moved to another thread sees the job's writes
        // as soon as it sees that the job was completed.
        self.0.load(Ordering::Acquire) == sequence
    }
}
