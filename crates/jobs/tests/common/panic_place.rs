//! The message and place of a panic.
#![allow(dead_code, reason = "each binary uses its own part")]

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Once;

/// A panic that was caught.
#[derive(Clone, Debug)]
pub(crate) struct Caught {
    pub(crate) message: String,
    pub(crate) file: String,
    pub(crate) line: u32,
}

thread_local! {
    /// The panics of this thread since the call of `panics_of`. `None` outside of the call.
    static CAUGHT: RefCell<Option<Vec<Caught>>> = const { RefCell::new(None) };
}

/// Returns all panics of a function on this thread, including those that were caught inside.
pub(crate) fn panics_of(function: impl FnOnce()) -> Vec<Caught> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let default = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let message = info.payload_as_str().unwrap_or_default().to_owned();
            let place = info.location().expect("panics have one");
            let caught = Caught { message, file: place.file().to_owned(), line: place.line() };
            // At the end of a thread, the list may be gone.
            let is_expected = CAUGHT.try_with(|all| match &mut *all.borrow_mut() {
                Some(all) => {
                    all.push(caught);
                    true
                }
                None => false,
            });
            if !is_expected.unwrap_or(false) {
                default(info);
            }
        }));
    });
    CAUGHT.set(Some(Vec::new()));
    let _ = catch_unwind(AssertUnwindSafe(function));
    CAUGHT.take().expect("it was set above")
}
