//! A parker, on which one thread sleeps until it is woken.

use crate::primitive::{Condvar, Mutex};

/// A parker, on which one thread sleeps. If it is woken before it sleeps, one wake-up is kept.
#[derive(Debug)]
pub(crate) struct Parker {
    woken: Mutex<bool>,
    wake: Condvar,
}

impl Parker {
    /// Creates a parker without a pending wake-up.
    pub(crate) fn new() -> Self {
        Self { woken: Mutex::new(false), wake: Condvar::new() }
    }

    /// Sleeps until woken, and consumes the wake-up. One thread at a time may call this method.
    pub(crate) fn park(&self) {
        let mut woken = self.woken.lock().expect("no code panics under this lock");
        while !*woken {
            woken = self.wake.wait(woken).expect("no code panics under this lock");
        }
        *woken = false;
    }

    /// Wakes the sleeping thread, or lets the next call of `park` return immediately.
    pub(crate) fn unpark(&self) {
        *self.woken.lock().expect("no code panics under this lock") = true;
        self.wake.notify_one();
    }
}
