//! Worlds that are checked when they go, and what panics say.

use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind};

use ancho_entities::{World, WorldSettings};

/// A world whose invariants are checked at the end of its test (X2).
pub(crate) struct Checked(pub(crate) World);

impl Deref for Checked {
    type Target = World;

    fn deref(&self) -> &World {
        &self.0
    }
}

impl DerefMut for Checked {
    fn deref_mut(&mut self) -> &mut World {
        &mut self.0
    }
}

impl Drop for Checked {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.0.check_invariants().unwrap();
        }
    }
}

/// A world as it is by default: what would change nothing is no error.
pub(crate) fn world() -> Checked {
    Checked(World::new("Simulation"))
}

/// A world with so many entities in a chunk.
pub(crate) fn chunks_of(entities: usize) -> Checked {
    let settings = WorldSettings::new().chunk_capacity_limit(entities);
    Checked(World::with_settings("Simulation", settings))
}

/// What a panic says.
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
