//! Panic messages.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Returns the message of the action's panic.
#[track_caller]
pub(crate) fn panic_message<R>(action: impl FnOnce() -> R) -> String {
    let Err(panic) = catch_unwind(AssertUnwindSafe(action)) else {
        panic!("did not panic");
    };
    match panic.downcast::<String>() {
        Ok(message) => *message,
        Err(panic) => (*panic.downcast_ref::<&str>().expect("a message")).to_owned(),
    }
}
