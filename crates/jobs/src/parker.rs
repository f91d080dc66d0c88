//! A place for one thread to sleep until it is woken.

use crate::primitive::{Condvar, Mutex};

/// The place. A wake-up that comes before the sleep is kept, one of them.
#[derive(Debug)]
pub(crate) struct Parker {
    woken: Mutex<bool>,
    wake: Condvar,
}

impl Parker {
    /// Makes a parker with no wake-up kept.
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

    /// Wakes the thread that sleeps here, or the next one that tries to.
    pub(crate) fn unpark(&self) {
        *self.woken.lock().expect("no code panics under this lock") = true;
        self.wake.notify_one();
    }
}
