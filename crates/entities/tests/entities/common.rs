//! Components of the tests of entities, and copies of checked worlds.

use ancho_entities::{Component, World, WorldSettings};

pub(crate) use crate::fixtures::*;

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

#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "game::C")]
pub(crate) struct C(pub(crate) u64);

/// A component without a default.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(name = "game::Given")]
pub(crate) struct Given(pub(crate) u32);

/// A component whose default is not zero.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(name = "game::Hundred")]
pub(crate) struct Hundred(pub(crate) u32);

impl Default for Hundred {
    fn default() -> Self {
        Self(100)
    }
}
