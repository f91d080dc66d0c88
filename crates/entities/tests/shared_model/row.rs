//! What an entity has, in the world and in the plain one.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use ancho_entities::{BufferElement, Component, Entity, SharedComponent, World};

#[derive(Component, Clone, Debug, Default, PartialEq)]
pub(crate) struct Text(pub(crate) String);

#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(enableable)]
pub(crate) struct Engine(pub(crate) u32);

#[derive(BufferElement, Clone, Debug, PartialEq)]
#[buffer(inline = 1)]
pub(crate) struct Item(pub(crate) u32);

/// Counts how many there are. Only the number is compared.
macro_rules! counted {
    ($name:ident $(, $option:ident)?) => {
        #[derive(SharedComponent, Clone, Debug, Default)]
        $(#[shared($option)])?
        pub(crate) struct $name(pub(crate) u32, #[field(opaque)] pub(crate) Option<Arc<()>>);

        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.0 == other.0
            }
        }

        impl Eq for $name {}

        impl Hash for $name {
            fn hash<H: Hasher>(&self, state: &mut H) {
                // Many are found in one place.
                (self.0 % 2).hash(state);
            }
        }
    };
}

counted!(Team);
counted!(Mesh);
counted!(Registry, cleanup);

/// What an entity has.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Row {
    pub(crate) text: Option<String>,
    pub(crate) engine: Option<(u32, bool)>,
    pub(crate) items: Option<Vec<u32>>,
    pub(crate) team: Option<u32>,
    pub(crate) mesh: Option<u32>,
    pub(crate) registry: Option<u32>,
    pub(crate) despawned: bool,
}

impl Row {
    pub(crate) fn is_bare(&self) -> bool {
        *self == Self { despawned: self.despawned, ..Self::default() }
    }

    pub(crate) fn kinds(&self) -> [bool; 7] {
        [
            self.text.is_some(),
            self.engine.is_some(),
            self.items.is_some(),
            self.team.is_some(),
            self.mesh.is_some(),
            self.registry.is_some(),
            self.despawned,
        ]
    }
}

/// What is left of an entity that is despawned, if something is.
pub(crate) fn despawned(row: &Row) -> Option<Row> {
    row.registry.map(|_| Row { registry: row.registry, despawned: true, ..Row::default() })
}

pub(crate) fn despawn(plain: &mut BTreeMap<Entity, Row>, entity: Entity) {
    let Some(row) = plain.remove(&entity) else { return };
    if let Some(rest) = despawned(&row) {
        plain.insert(entity, rest);
    }
}

/// What an entity has.
pub(crate) fn look(world: &World, entity: Entity) -> Row {
    let entities = world.entities();
    let archetype = entities.entity_archetype(entity).unwrap();
    let types = entities.component_types(archetype).unwrap();
    Row {
        text: world.get::<Text>(entity).ok().map(|text| text.0.clone()),
        engine: world
            .get::<Engine>(entity)
            .ok()
            .map(|engine| (engine.0, entities.is_component_enabled::<Engine>(entity).unwrap())),
        items: world
            .buffer::<Item>(entity)
            .ok()
            .map(|items| items.iter().map(|item| item.0).collect()),
        team: world.shared::<Team>(entity).ok().map(|team| team.0),
        mesh: world.shared::<Mesh>(entity).ok().map(|mesh| mesh.0),
        registry: world.shared::<Registry>(entity).ok().map(|registry| registry.0),
        despawned: types.iter().any(|ty| ty.name() == "ancho::CleanupEntity"),
    }
}
