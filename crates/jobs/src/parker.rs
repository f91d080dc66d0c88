//! A place for one thread to sleep until it is woken.

use crate::primitive::{Condvar, Mutex};

/// A place for one thread to sleep. One wake-up that comes before the sleep is kept.
#[derive(Debug)]
pub(crate) struct Parker {
    woken: Mutex<bool>,
    wake: Condvar,
}

impl Parker {
    /// Makes a parker without a pending wake-up.
    pub(crate) fn new() -> Self {
        Self { woken: Mutex::new(false), wake: Condvar::new() }
    }

    /// Sleeps until woken, and consumes the wake-up. One thread at a time.
    pub(crate) fn park(&self) {
        let mut woken = self.woken.lock().expect("no code panics under this lock");
        while !*woken {
            woken = self.wake.wait(woken).expect("no code panics under this lock");
        }
        *woken = false;
    }

    /// Wakes the sleeping thread, or lets the next call of `park` return at once.
    pub(crate) fn unpark(&self) {
        *self.woken.lock().expect("no code panics under this lock") = true;
        self.wake.notify_one();
    }
}
