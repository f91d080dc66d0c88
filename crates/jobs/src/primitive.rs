//! The one switch between the standard library's atomics and loom's.
//!
//! The modules that share memory between threads (`deque`, `dependents`, `gate`, `parker`,
//! `ranges`, `sleep`) take their atomics, locks and threads from here and from nowhere else, so
//! that `tests/loom.rs` can compile the very same files against loom's model.

#[cfg(not(loom))]
pub(crate) use std::sync::{
    Condvar, Mutex,
    atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence},
};

#[cfg(loom)]
pub(crate) use loom::sync::{
    Condvar, Mutex,
    atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence},
};

/// Waits a moment inside a loop that is expected to end soon.
#[inline]
pub(crate) fn relax() {
    #[cfg(not(loom))]
    std::hint::spin_loop();
    #[cfg(loom)]
    loom::thread::yield_now();
}
