//! Components and worlds for the tests of bad input.

use ancho_entities::{Component, Entity, World, WorldSettings};

#[path = "../common/panic_message.rs"]
mod panic_message;

pub(crate) use panic_message::panic_message;

#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "bad_input::A")]
pub(crate) struct A(pub(crate) u32);

#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "bad_input::B")]
pub(crate) struct B(pub(crate) u32);

#[derive(Component, Clone, Debug, Default, PartialEq)]
#[component(name = "bad_input::Text")]
pub(crate) struct Text(pub(crate) String);

#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "bad_input::Tag")]
pub(crate) struct Tag;

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(name = "bad_input::Link")]
pub(crate) struct Link(pub(crate) Entity);

/// A component that stays when its entity is despawned.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "bad_input::Stays", cleanup)]
pub(crate) struct Stays;

/// Returns a lenient and a strict world.
pub(crate) fn both() -> [World; 2] {
    [false, true]
        .map(|strict| World::with_settings("Simulation", WorldSettings::new().strict(strict)))
}

/// Discards the result of a call.
pub(crate) fn ignore<R>(_: R) {}
