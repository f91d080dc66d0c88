//! Names of entities, for people.

use std::sync::Arc;

use ancho_collections::FixedState;
use hashbrown::HashMap;

use super::EntityManager;
use crate::entity::Entity;
use crate::entity_map::EntityMap;
use crate::error::EntityError;

/// The names by the indices of entities. Those of entities that are gone stay until the slot's next entity is named.
#[derive(Clone, Default)]
pub(super) struct Names {
    by_index: HashMap<u32, (u32, String), FixedState>,
}

impl Names {
    pub(super) fn set(&mut self, entity: Entity, name: &str) {
        if name.is_empty() {
            self.by_index.remove(&entity.index());
        } else {
            // A slot that is named again has the memory of before.
            let (version, known) = self.by_index.entry(entity.index()).or_default();
            *version = entity.version();
            known.clear();
            known.push_str(name);
        }
    }

    /// Whether no entity was named.
    pub(super) fn is_empty(&self) -> bool {
        self.by_index.is_empty()
    }

    /// Names entities that have come from another world as they were named there.
    pub(super) fn follow(&mut self, there: &Self, map: &EntityMap) {
        for (&index, (version, name)) in &there.by_index {
            if let Some(entity) = map.get(Entity::from_parts(index, *version)) {
                self.set(entity, name);
            }
        }
    }

    /// Forgets the names of entities that have gone to another world.
    pub(super) fn forget(&mut self, map: &EntityMap) {
        self.by_index
            .retain(|&index, (version, _)| map.get(Entity::from_parts(index, *version)).is_none());
    }
}

impl EntityManager {
    /// Gives an entity a name, which messages and tools show. An empty one takes it away.
    ///
    /// Names are not part of the state: they are not in its hash.
    ///
    /// # Errors
    ///
    /// If there is no such entity.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(());
    /// world.set_name(orc, "Grishnákh").unwrap();
    /// assert_eq!(world.entity_name(orc), Some("Grishnákh"));
    /// ```
    pub fn set_name(&mut self, entity: Entity, name: &str) -> Result<(), EntityError> {
        self.locate(entity)?;
        self.names_mut().set(entity, name);
        Ok(())
    }

    /// The names, to be changed: copied first if a fork has them too.
    pub(super) fn names_mut(&mut self) -> &mut Names {
        Arc::make_mut(&mut self.names)
    }

    /// The name of an entity, if it is there and has one.
    pub fn entity_name(&self, entity: Entity) -> Option<&str> {
        let (version, name) = self.names.by_index.get(&entity.index())?;
        (*version == entity.version() && self.exists(entity)).then_some(name)
    }
}
