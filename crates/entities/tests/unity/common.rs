//! Worlds that are checked when they go, and components to put into them.

use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind};

use ancho_entities::{Component, Entity, World, WorldSettings};

/// A world whose invariants are checked at the end of its test (X2).
pub(crate) struct Checked(World);

impl Checked {
    pub(crate) fn with_settings(settings: WorldSettings) -> Self {
        Self(World::with_settings("Simulation", settings))
    }

    pub(crate) fn fork(&mut self) -> Self {
        Self(self.0.fork().unwrap())
    }

    pub(crate) fn duplicate(&mut self) -> Self {
        Self(self.0.duplicate().unwrap())
    }
}

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
    Checked::with_settings(WorldSettings::new())
}

/// A world in which what would change nothing is an error.
pub(crate) fn strict() -> Checked {
    Checked::with_settings(WorldSettings::new().strict(true))
}

/// One of each.
pub(crate) fn both() -> [Checked; 2] {
    [world(), strict()]
}

/// A world with so many entities in a chunk.
pub(crate) fn chunks_of(entities: usize) -> Checked {
    Checked::with_settings(WorldSettings::new().chunk_capacity_limit(entities))
}

/// The entities of each chunk.
pub(crate) fn chunk_entities(world: &World) -> Vec<Vec<Entity>> {
    world.entities().chunks().map(|chunk| chunk.entities().to_vec()).collect()
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

#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "unity::A")]
pub(crate) struct A(pub(crate) u32);

#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "unity::B")]
pub(crate) struct B(pub(crate) u32);

#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "unity::C")]
pub(crate) struct C(pub(crate) u64);

/// Owns memory.
#[derive(Component, Clone, Debug, Default, PartialEq)]
#[component(name = "unity::Text")]
pub(crate) struct Text(pub(crate) String);

#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "unity::Tag")]
pub(crate) struct Tag;

/// Has no default.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(name = "unity::Given")]
pub(crate) struct Given(pub(crate) u32);

/// Its default is not zero.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(name = "unity::Hundred")]
pub(crate) struct Hundred(pub(crate) u32);

impl Default for Hundred {
    fn default() -> Self {
        Self(100)
    }
}

/// Does nothing with what a call returned.
pub(crate) fn ignore<R>(_: R) {}
