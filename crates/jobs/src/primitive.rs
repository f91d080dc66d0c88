//! Atomics, locks and threads, from the standard library or from loom.
//!
//! The modules that share memory between threads (`deque`, `dependents`, `gate`, `parker`, `ranges`, `sleep`) use only these types.
//! So `tests/loom.rs` can compile the same files against loom's model.

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

/// Pauses briefly inside a loop that is expected to end soon.
#[inline]
pub(crate) fn relax() {
    #[cfg(not(loom))]
    std::hint::spin_loop();
    #[cfg(loom)]
    loom::thread::yield_now();
}
