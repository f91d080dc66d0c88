//! Copies of all entities, and the number that tells whether they are alike.

use std::sync::Arc;

use super::EntityManager;
use crate::entity::Entity;
use crate::error::EntityError;
use crate::field::{EntityRemap, StateHasher};

impl EntityManager {
    pub(crate) fn fork(&mut self) -> Result<Self, EntityError> {
        if let Some(component) = self.storage.not_duplicable() {
            return Err(EntityError::NotDuplicable { component });
        }
        self.jobs.before_everything();
        // The fork does not know of them, and is to go on as this world does.
        self.take_back_promises();
        let mut fork =
            Self::with_storage(self.storage.fork()?, self.jobs.of_same_pool(), self.strict);
        fork.names = Arc::clone(&self.names);
        fork.world_transfers = self.world_transfers;
        fork.caches = self.caches.clone();
        fork.last_runs = self.last_runs.clone();
        Ok(fork)
    }

    pub(crate) fn duplicate(&mut self) -> Result<Self, EntityError> {
        let mut copy = self.fork()?;
        copy.storage.make_all_unique()?;
        Ok(copy)
    }

    /// A number for the state of all entities: two worlds that will go on alike have the same.
    ///
    /// It is made of the entities and their places, of the values of their components, field by field, and of the ids
    /// that will be handed out next. Component types count by their [stable names](crate::ComponentType::stable_name), so that
    /// renaming a crate or moving a type to another module leaves the hash as it is. The names of entities, crates, modules,
    /// fields and variants do not count, nor do versions, padding, addresses, and fields that are opaque.
    ///
    /// # Panics
    ///
    /// With A0154 if entities have components of two types that share a stable name.
    #[track_caller]
    pub fn state_hash(&self) -> u64 {
        self.jobs.before_everything();
        let mut state = StateHasher::new();
        self.storage.hash_state(&mut state);
        state.finish()
    }

    /// Replaces every entity that a component or a shared value refers to, as after entities came from elsewhere under other names.
    ///
    /// # Errors
    ///
    /// If the world shares memory with a fork, and there is none for a copy. Then nothing was replaced.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Entity, World};
    ///
    /// #[derive(Component, Clone, Copy, Debug, PartialEq)]
    /// struct Target(Entity);
    ///
    /// let mut world = World::new("Simulation");
    /// let (old, new) = (world.spawn(()), world.spawn(()));
    /// let hunter = world.spawn(Target(old));
    /// world.remap_references(|entity| if entity == old { new } else { entity }).unwrap();
    /// assert_eq!(world.get(hunter), Ok(&Target(new)));
    /// ```
    pub fn remap_references(
        &mut self,
        mut map: impl FnMut(Entity) -> Entity,
    ) -> Result<(), EntityError> {
        self.jobs.before_everything();
        self.storage.make_all_unique()?;
        let mut map = EntityRemap::new(&mut map);
        self.remap_shared(&mut map)?;
        self.storage.remap(&mut map);
        Ok(())
    }
}
