//! Panics of code of the user that must not keep other code from being run.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

/// The first panic of several things that are all done, whichever of them panic.
///
/// Two values that panic one after the other when they are dropped would end the process otherwise: the second while the first is being
/// told.
#[derive(Default)]
pub(crate) struct FirstPanic(Option<Box<dyn Any + Send>>);

impl FirstPanic {
    /// Does something. If it panics, it is left as it is then.
    pub(crate) fn during(&mut self, action: impl FnOnce()) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(action)) {
            match &self.0 {
                None => self.0 = Some(payload),
                Some(_) => discard(payload),
            }
        }
    }

    /// Goes on with the first panic, if there was one, unless the thread panics already.
    pub(crate) fn go_on(self) {
        match self.0 {
            None => {}
            Some(payload) if thread::panicking() => discard(payload),
            Some(payload) => resume_unwind(payload),
        }
    }
}

/// Drops the payload of a panic. If that panics, the payload of that one, and so on, but not for ever.
pub(crate) fn discard(mut payload: Box<dyn Any + Send>) {
    for _ in 0..8 {
        match catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            Ok(()) => return,
            Err(next) => payload = next,
        }
    }
    std::mem::forget(payload);
}
