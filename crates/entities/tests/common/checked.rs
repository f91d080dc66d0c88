//! Worlds that are checked when dropped.

use std::ops::{Deref, DerefMut};

use ancho_entities::{World, WorldSettings};

/// A world whose invariants are checked at the end of its test.
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

/// Creates a lenient world, the default: changes without effect are no error.
pub(crate) fn world() -> Checked {
    Checked(World::new("Simulation"))
}

/// Creates a world with at most `entities` entities in a chunk.
pub(crate) fn chunks_of(entities: usize) -> Checked {
    let settings = WorldSettings::new().chunk_capacity_limit(entities);
    Checked(World::with_settings("Simulation", settings))
}
