//! Deferred panics of user code that must not prevent other code from running.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

/// The first panic of several actions that all run, even if some of them panic.
///
/// Without it, two values that panic one after the other when dropped would abort the process: the second panics while the first
/// unwinds.
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

/// Drops the payload of a panic. If that panics too, it drops the new payload, for a limited number of times.
pub(crate) fn discard(mut payload: Box<dyn Any + Send>) {
    for _ in 0..8 {
        match catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            Ok(()) => return,
            Err(next) => payload = next,
        }
    }
    std::mem::forget(payload);
}
