//! The gate of a node, which controls the threads that may work on its job.
//!
//! ```text
//! 0             shut: not ready, or finished
//! FIRST         ready: one thread may enter, which closes the gate behind it
//! n             shut with n threads inside
//! MORE | n      a parallel job under way: any thread may join the n inside
//! ```
//!
//! A thread leaves when it finds no work left, and shuts the gate when it leaves. So no thread enters a job that has no work left.
//! The last thread to leave finishes the job.
//!
//! A ticket that leads to a gate is a hint. With a stale ticket, a thread finds the gate shut, or finds a later job of the same
//! node ready, which it can work on. No field of the node is read before the gate was entered.

use crate::primitive::{AtomicU32, Ordering};

const FIRST: u32 = 1 << 31;
const MORE: u32 = 1 << 30;

/// The state of a gate, packed in one word.
#[derive(Debug)]
pub(crate) struct Gate(AtomicU32);

/// The role of a thread that entered a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// The first thread, which starts the job.
    First,
    /// One more participant of a parallel job that is running.
    Joined,
}

impl Gate {
    /// Creates a gate that is shut.
    pub(crate) fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Opens the gate for one thread, because the job is ready.
    pub(crate) fn open(&self) {
        // Release pairs with the acquire of `enter`. The thread that starts the job sees the job's data, and the writes of the jobs
        // before it.
        self.0.store(FIRST, Ordering::Release);
    }

    /// Opens the gate for more threads. The caller is the thread inside the gate, and has set the shared ranges.
    pub(crate) fn widen(&self) {
        // Release pairs with the acquire of `enter`, for the ranges.
        self.0.store(MORE | 1, Ordering::Release);
    }

    /// Enters if the gate is open.
    pub(crate) fn enter(&self) -> Option<Entry> {
        let mut state = self.0.load(Ordering::Relaxed);
        loop {
            let (inside, entry) = if state & FIRST != 0 {
                (1, Entry::First)
            } else if state & MORE != 0 {
                (state + 1, Entry::Joined)
            } else {
                return None;
            };
            // Acquire pairs with `open` and `widen`.
            match self.0.compare_exchange_weak(state, inside, Ordering::Acquire, Ordering::Relaxed)
            {
                Ok(_) => return Some(entry),
                Err(found) => state = found,
            }
        }
    }

    /// Returns whether the gate looked open.
    pub(crate) fn is_open(&self) -> bool {
        self.0.load(Ordering::Relaxed) & (FIRST | MORE) != 0
    }

    /// Leaves a job that has no work left, and shuts the gate. Returns true for the last thread to leave, which finishes the job
    /// and sees the writes of the other threads.
    pub(crate) fn leave(&self) -> bool {
        let mut state = self.0.load(Ordering::Relaxed);
        loop {
            let left = (state & !MORE) - 1;
            // Release: the last thread to leave sees the writes of this thread. Acquire: if this is the last thread, it sees the
            // writes of the others.
            match self.0.compare_exchange_weak(state, left, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return left == 0,
                Err(found) => state = found,
            }
        }
    }
}
