//! Components of the tests of queries, and a world with many combinations of them.

use ancho_entities::{
    ChunkArena, Component, Disabled, Entity, Prefab, SharedComponent, World, WorldSettings,
};

pub(crate) use crate::fixtures::*;

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

#[derive(SharedComponent, Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[shared(name = "queries::Team")]
pub(crate) struct Team(pub(crate) u32);

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

/// Creates entities in two archetypes, with every fourth disabled.
pub(crate) fn fill(world: &mut World) -> Vec<Entity> {
    let all: Vec<Entity> = (0..50_u32)
        .map(|at| {
            if at % 3 == 0 { world.spawn((A(at), X(at))) } else { world.spawn((A(at), X(at), Tag)) }
        })
        .collect();
    for &entity in all.iter().step_by(4) {
        world.set_component_enabled::<X>(entity, false).unwrap();
    }
    all
}

/// Creates a world with two chunks shared with a fork, and memory for one more.
pub(crate) fn crowded() -> (Checked, Checked) {
    let arena = ChunkArena::with_limit(3 * 16 * 1024);
    let settings = WorldSettings::new().arena(arena).chunk_capacity_limit(10);
    let mut world = Checked(World::with_settings("Simulation", settings));
    world.spawn_batch((0..20).map(|at| (A(at), X(at))));
    let fork = Checked(world.fork().unwrap());
    (world, fork)
}
