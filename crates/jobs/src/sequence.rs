//! The number that a node shows: which job is in it.

use crate::primitive::{AtomicU64, Ordering};

/// The number; zero while there is no job. Written by the node's owner, read by anyone.
///
/// Who finds another number than that of the job in question knows that the job was completed, and sees all
/// that it did. Therefore every write is a release, also that of the *next* job's number: it may be the one
/// that a reader finds.
#[derive(Debug)]
pub(crate) struct Sequence(AtomicU64);

impl Sequence {
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Returns the number. For the owner, and for those who work on the job.
    #[inline]
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Shows the number of a new job, or zero when the job was completed.
    #[inline]
    pub(crate) fn set(&self, sequence: u64) {
        // Release pairs with the acquire of `is`.
        self.0.store(sequence, Ordering::Release);
    }

    /// Says whether the job of that number is here still, that is, was not completed.
    #[inline]
    pub(crate) fn is(&self, sequence: u64) -> bool {
        // Acquire pairs with the release of `set`: a container that was moved to another thread sees what
        // the job did as soon as it sees that the job was completed.
        self.0.load(Ordering::Acquire) == sequence
    }
}
