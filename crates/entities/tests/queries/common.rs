//! Worlds that are checked when they go, and components to put into them.

use ancho_entities::{BufferElement, Component, ManagedComponent, SharedComponent};

#[path = "../common/checked.rs"]
mod checked;

pub(crate) use checked::*;

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
