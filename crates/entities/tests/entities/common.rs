//! Worlds that are checked when dropped, and components for them.

use ancho_entities::{Component, Entity, World, WorldSettings};

#[path = "../common/checked.rs"]
mod checked;
#[path = "../common/panic_message.rs"]
mod panic_message;

pub(crate) use checked::*;
pub(crate) use panic_message::panic_message;

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

/// Creates a strict world: changes without effect are errors.
pub(crate) fn strict() -> Checked {
    Checked::with_settings(WorldSettings::new().strict(true))
}

/// Returns a lenient and a strict world.
pub(crate) fn both() -> [Checked; 2] {
    [world(), strict()]
}

/// Returns the entities of each chunk.
pub(crate) fn chunk_entities(world: &World) -> Vec<Vec<Entity>> {
    world.chunks().map(|chunk| chunk.entities().to_vec()).collect()
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

/// A component that owns memory.
#[derive(Component, Clone, Debug, Default, PartialEq)]
#[component(name = "unity::Text")]
pub(crate) struct Text(pub(crate) String);

#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "unity::Tag")]
pub(crate) struct Tag;

/// A component without a default.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(name = "unity::Given")]
pub(crate) struct Given(pub(crate) u32);

/// A component whose default is not zero.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(name = "unity::Hundred")]
pub(crate) struct Hundred(pub(crate) u32);

impl Default for Hundred {
    fn default() -> Self {
        Self(100)
    }
}

/// Discards the result of a call.
pub(crate) fn ignore<R>(_: R) {}
