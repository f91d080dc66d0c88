//! Worlds that are checked when dropped, components for them, and the observable state of an entity.

use ancho_entities::{
    Buffer, Component, Entity, EntityMap, Managed, PerChunk, Shared, SharedComponent, World,
    WorldSettings,
};

pub(crate) use crate::fixtures::*;

/// An enableable component that tracks changes per entity.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "worlds::Lamp", enableable, track_changes)]
pub(crate) struct Lamp(pub(crate) u8);

#[derive(SharedComponent, Clone, Debug, Default, PartialEq, Eq, Hash)]
#[shared(name = "worlds::Team")]
pub(crate) struct Team(pub(crate) String);

/// A component that stays when its entity is despawned.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "worlds::Handle", cleanup)]
pub(crate) struct Handle(pub(crate) u64);

/// A chunk component.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "worlds::Focus")]
pub(crate) struct Focus(pub(crate) Entity);

/// A component that cannot be duplicated.
#[derive(Component, Debug, PartialEq)]
#[component(name = "worlds::Ticket")]
pub(crate) struct Ticket(pub(crate) u32);

pub(crate) fn team(name: &str) -> Shared<Team> {
    Shared::new(Team(name.to_owned()))
}

/// Creates a world with chunks of the given size in bytes.
pub(crate) fn chunk_bytes(bytes: usize) -> Checked {
    Checked(World::with_settings("Simulation", WorldSettings::new().chunk_size(bytes)))
}

/// The observable state of an entity, except for its id.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Portrait {
    types: Vec<&'static str>,
    a: Option<A>,
    text: Option<Text>,
    pub(crate) link: Option<Entity>,
    pub(crate) friends: Option<Vec<Entity>>,
    lamp: Option<(Lamp, bool)>,
    team: Option<Team>,
    mesh: Option<Mesh>,
    captain: Option<Entity>,
    script: Option<Script>,
    handle: Option<Handle>,
    name: Option<String>,
}

impl Portrait {
    pub(crate) fn of(world: &World, entity: Entity) -> Self {
        let entities = world;
        let archetype = entities.entity_archetype(entity).unwrap();
        let types = entities.component_types(archetype).unwrap();
        let lamp = world.get::<Lamp>(entity).ok().copied();
        let friends = world.buffer::<Friend>(entity).ok();
        Self {
            types: types.iter().map(|ty| ty.name()).collect(),
            a: world.get(entity).ok().copied(),
            text: world.get(entity).ok().cloned(),
            link: world.get::<Link>(entity).ok().map(|link| link.0),
            friends: friends.map(|friends| friends.iter().map(|friend| friend.0).collect()),
            lamp: lamp.map(|lamp| (lamp, entities.is_component_enabled::<Lamp>(entity).unwrap())),
            team: world.shared(entity).ok().cloned(),
            mesh: world.shared(entity).ok().copied(),
            captain: world.shared::<Crew>(entity).ok().map(|crew| crew.0),
            script: world.managed(entity).ok().cloned(),
            handle: world.get(entity).ok().copied(),
            name: entities.entity_name(entity).map(str::to_owned),
        }
    }

    /// Returns the state in another world, with mapped references.
    pub(crate) fn in_other_world(mut self, map: &EntityMap) -> Self {
        map.remap(&mut self.link);
        map.remap(&mut self.friends);
        map.remap(&mut self.captain);
        self
    }
}

/// Returns all entities with their observable state.
pub(crate) fn portraits(world: &World) -> Vec<(Entity, Portrait)> {
    world.iter_entities().map(|entity| (entity, Portrait::of(world, entity))).collect()
}

/// Spawns `each` entities of each sort, with components of all kinds, which refer to each other.
pub(crate) fn populate(world: &mut World, each: u32) -> Vec<Entity> {
    let mut all = Vec::new();
    for number in 0..each {
        let previous = all.last().copied().unwrap_or(Entity::NULL);
        let text = Text(format!("entity {number}"));
        all.push(world.spawn((A(number), Link(previous))));
        all.push(world.spawn((A(number), text.clone(), Lamp(number as u8))));
        let friends: Buffer<_> =
            all.iter().rev().take(number as usize % 5).copied().map(Friend).collect();
        all.push(world.spawn((friends, Tag)));
        let captain = Shared::new(Crew(all[number as usize % 4]));
        all.push(world.spawn((A(number), team(["red", "blue", ""][number as usize % 3]), captain)));
        let script = Managed::new(Script(format!("script {number}")));
        all.push(world.spawn((script, Shared::new(Mesh(number % 2)), text)));
        all.push(world.spawn((Handle(number.into()), A(number))));
        all.push(world.spawn((A(number), PerChunk::<Focus>::new())));
        let last = all.len() - 1;
        world.set_chunk_component(all[last], Focus(all[0])).unwrap();
        if number % 3 == 0 {
            world.set_component_enabled::<Lamp>(all[last - 5], false).unwrap();
            world.set_name(all[last], &format!("name {number}")).unwrap();
        }
        if number % 4 == 0 {
            // Only its cleanup components remain.
            world.despawn(all[last - 1]).unwrap();
        }
    }
    all
}
