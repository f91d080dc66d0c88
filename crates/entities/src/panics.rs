//! Deferred panics of user code that must not prevent other code from running.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

/// Runs several actions, even if some of them panic, and keeps the first panic.
///
/// Without it, dropping two values that both panic would abort the process, because the second panic would occur while the first
/// one unwinds.
#[derive(Default)]
pub(crate) struct FirstPanic(Option<Box<dyn Any + Send>>);

impl FirstPanic {
    /// Runs an action and catches its panic.
    pub(crate) fn during(&mut self, action: impl FnOnce()) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(action)) {
            match &self.0 {
                None => self.0 = Some(payload),
                Some(_) => discard(payload),
            }
        }
    }

    /// Resumes the first panic, if there was one, unless the thread is already panicking.
    pub(crate) fn go_on(self) {
        match self.0 {
            None => {}
            Some(payload) if thread::panicking() => discard(payload),
            Some(payload) => resume_unwind(payload),
        }
    }
}

/// Drops the payload of a panic. If dropping it panics, drops the new payload too, up to a limited number of times.
pub(crate) fn discard(mut payload: Box<dyn Any + Send>) {
    for _ in 0..8 {
        match catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            Ok(()) => return,
            Err(next) => payload = next,
        }
    }
    std::mem::forget(payload);
}
