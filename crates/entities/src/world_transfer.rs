//! What worlds do with the entities of other worlds, as it stands on the world itself.

use crate::entity::Entity;
use crate::entity_map::EntityMap;
use crate::error::EntityError;
use crate::world::World;

impl World {
    /// See [`EntityManager::move_entities_from`](crate::EntityManager::move_entities_from).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn move_entities_from(&mut self, source: &mut Self) -> Result<EntityMap, EntityError> {
        self.entities_mut().move_entities_from(source.entities_mut())
    }

    /// See [`EntityManager::move_slice_from`](crate::EntityManager::move_slice_from).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn move_slice_from(
        &mut self,
        source: &mut Self,
        entities: &[Entity],
    ) -> Result<EntityMap, EntityError> {
        self.entities_mut().move_slice_from(source.entities_mut(), entities)
    }

    /// See [`EntityManager::copy_entities_from`](crate::EntityManager::copy_entities_from).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn copy_entities_from(&mut self, source: &Self) -> Result<EntityMap, EntityError> {
        self.entities_mut().copy_entities_from(source.entities())
    }

    /// See [`EntityManager::copy_slice_from`](crate::EntityManager::copy_slice_from).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn copy_slice_from(
        &mut self,
        source: &Self,
        entities: &[Entity],
    ) -> Result<EntityMap, EntityError> {
        self.entities_mut().copy_slice_from(source.entities(), entities)
    }

    /// See [`EntityManager::copy_and_replace_from`](crate::EntityManager::copy_and_replace_from).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn copy_and_replace_from(&mut self, source: &mut Self) -> Result<(), EntityError> {
        self.entities_mut().copy_and_replace_from(source.entities_mut())
    }
}
