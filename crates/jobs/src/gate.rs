//! The gate of a node: who may work on its job.
//!
//! ```text
//! 0             shut: not ready, or finished
//! FIRST         ready: one thread may enter, which closes the gate behind it
//! n             shut with n threads inside
//! MORE | n      a parallel job under way: any thread may join the n inside
//! ```
//!
//! A thread leaves when it finds no work left, and shuts the gate as it goes, so nobody enters an
//! exhausted job twice. The one that leaves last finishes the job.
//!
//! Tickets that lead to a gate are hints. One that is stale finds the gate shut, or finds a later
//! job of the same node ready, which is just as good: nothing of the node is read before the gate
//! was entered.

use crate::primitive::{AtomicU32, Ordering};

const FIRST: u32 = 1 << 31;
const MORE: u32 = 1 << 30;

/// The gate.
#[derive(Debug)]
pub(crate) struct Gate(AtomicU32);

/// How a thread came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// First of all: it starts the job.
    First,
    /// As one more participant of a parallel job under way.
    Joined,
}

impl Gate {
    /// Makes a gate that is shut.
    pub(crate) fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Lets one thread in: the job is ready.
    pub(crate) fn open(&self) {
        // Release pairs with the acquire of `enter`: the job's data, and all that the jobs before it
        // did, is visible to the thread that starts it.
        self.0.store(FIRST, Ordering::Release);
    }

    /// Lets others join the thread inside, which is the caller: the shared ranges are set.
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

    /// Says whether the gate looked open.
    pub(crate) fn is_open(&self) -> bool {
        self.0.load(Ordering::Relaxed) & (FIRST | MORE) != 0
    }

    /// Leaves an exhausted job and shuts the gate. Returns true for the last one out, who finishes
    /// the job and to whom all that the others did is visible.
    pub(crate) fn leave(&self) -> bool {
        let mut state = self.0.load(Ordering::Relaxed);
        loop {
            let left = (state & !MORE) - 1;
            // Release: what this thread did is visible to the last one out. Acquire: to us, if it is us.
            match self.0.compare_exchange_weak(state, left, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return left == 0,
                Err(found) => state = found,
            }
        }
    }
}
