//! Components and worlds of these tests.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ancho_entities::{Component, Entity, World, WorldSettings};

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

/// Stays when its entity is despawned.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "bad_input::Stays", cleanup)]
pub(crate) struct Stays;

/// A world of each kind.
pub(crate) fn both() -> [World; 2] {
    [false, true]
        .map(|strict| World::with_settings("Simulation", WorldSettings::new().strict(strict)))
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

/// Does nothing with what a call returned.
pub(crate) fn ignore<R>(_: R) {}
