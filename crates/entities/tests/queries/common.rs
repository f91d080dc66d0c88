//! Worlds that are checked when dropped, and components for them.

use ancho_entities::{
    BufferElement, Component, Disabled, ManagedComponent, Prefab, SharedComponent,
};

#[path = "../common/checked.rs"]
mod checked;
#[path = "../common/panic_message.rs"]
mod panic_message;

pub(crate) use checked::*;
#[allow(unused_imports, reason = "each test file uses its own part")]
pub(crate) use panic_message::panic_message;

#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "queries::A")]
pub(crate) struct A(pub(crate) u32);

#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "queries::B")]
pub(crate) struct B(pub(crate) u64);

/// An enableable component.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "queries::X", enableable)]
pub(crate) struct X(pub(crate) u32);

/// An enableable tag.
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

/// A component that tracks changes per entity.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "queries::T", track_changes)]
pub(crate) struct T(pub(crate) u32);

/// A tag that tracks changes per entity.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "queries::S", track_changes)]
pub(crate) struct S;

/// An enableable component that tracks changes per entity.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "queries::E", track_changes, enableable)]
pub(crate) struct E(pub(crate) u64);

/// Creates every combination of the components, many times, with some of them disabled.
pub(crate) fn crowd(limit: usize) -> Checked {
    let mut world = chunks_of(limit);
    for at in 0..400 {
        let entity = world.spawn(());
        if at & 1 != 0 {
            world.add(entity, A(at)).unwrap();
        }
        if at & 2 != 0 {
            world.add(entity, X(at)).unwrap();
            world.set_component_enabled::<X>(entity, at % 5 != 0).unwrap();
        }
        if at & 4 != 0 {
            world.add(entity, Y).unwrap();
            world.set_component_enabled::<Y>(entity, at % 3 != 0).unwrap();
        }
        if at & 8 != 0 {
            world.add(entity, Tag).unwrap();
        }
        if at % 11 == 0 {
            world.add(entity, Disabled).unwrap();
        }
        if at % 13 == 0 {
            world.add(entity, Prefab).unwrap();
        }
    }
    world
}
