//! Worlds that are checked when they go, and components to put into them.

use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind};

use ancho_entities::{
    BufferElement, Component, ManagedComponent, SharedComponent, World, WorldSettings,
};

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

#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "queries::A")]
pub(crate) struct A(pub(crate) u32);

#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "queries::B")]
pub(crate) struct B(pub(crate) u64);

/// Can be switched off.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "queries::X", enableable)]
pub(crate) struct X(pub(crate) u32);

/// Can be switched off, and is a tag.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "queries::Y", enableable)]
pub(crate) struct Y;

#[derive(Component, Clone, Debug, Default, PartialEq)]
#[component(name = "queries::Text")]
pub(crate) struct Text(pub(crate) String);

#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "queries::Tag")]
pub(crate) struct Tag;

#[derive(BufferElement, Clone, Copy, Debug, PartialEq)]
#[buffer(name = "queries::Item", inline = 2)]
pub(crate) struct Item(pub(crate) u32);

#[derive(SharedComponent, Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[shared(name = "queries::Team")]
pub(crate) struct Team(pub(crate) u32);

#[derive(SharedComponent, Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[shared(name = "queries::Mesh")]
pub(crate) struct Mesh(pub(crate) u32);

#[derive(ManagedComponent, Clone, Debug, PartialEq)]
#[managed(name = "queries::Script")]
pub(crate) struct Script(pub(crate) String);

/// Tracks changes.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "queries::T", track_changes)]
pub(crate) struct T(pub(crate) u32);

/// Tracks changes, and is a tag.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "queries::S", track_changes)]
pub(crate) struct S;

/// Tracks changes, and can be switched off.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "queries::E", track_changes, enableable)]
pub(crate) struct E(pub(crate) u64);
