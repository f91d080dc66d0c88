//! Asserts on the exact message of a panic.

use std::panic::{AssertUnwindSafe, catch_unwind};

#[track_caller]
pub(crate) fn assert_panics<R>(action: impl FnOnce() -> R, message: &str) {
    let Err(panic) = catch_unwind(AssertUnwindSafe(action)) else {
        panic!("did not panic with {message}");
    };
    let said = match panic.downcast_ref::<&str>() {
        Some(literal) => literal,
        None => panic.downcast_ref::<String>().expect("a message").as_str(),
    };
    assert_eq!(said, message);
}
