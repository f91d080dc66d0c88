//! A world becomes like another.

use std::mem;
use std::sync::Arc;

use crate::error::EntityError;
use crate::manager::EntityManager;

impl EntityManager {
    /// Lets this world have the entities that another has, and no others: with the same ids, components, states and names, and with
    /// the same future.
    ///
    /// Nothing is copied now. The two share memory, as a [fork](crate::World::fork) does with its world, until one of them writes to
    /// it. So a world that is to be like another again and again, as a view or a backup of it, costs what has changed. For queries that
    /// ask for changes, those chunks were changed now that are not as they were here before; all others were not. Chunks with
    /// [managed](crate::ManagedComponent) components, or with [values](crate::PerChunk) of their own, are copied each time, and count
    /// as changed. Unity's `CopyAndReplaceEntitiesFrom`.
    ///
    /// [Archetypes](crate::Archetype) and commands that belong to this world are no good any more; archetypes of the other world are.
    ///
    /// # Errors
    ///
    /// With A0130 if the worlds divide chunks differently. If a component can neither be copied nor cloned, or there is no memory for
    /// what is copied at once. Then nothing was replaced.
    ///
    /// # Complexity
    ///
    /// Linear in the number of chunks of both worlds.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy, Debug, PartialEq)]
    /// struct Health(u32);
    ///
    /// let (mut game, mut shown) = (World::new("Game"), World::new("Shown"));
    /// shown.spawn_many((), 5);
    /// let orc = game.spawn(Health(20));
    /// shown.copy_and_replace_from(&mut game).unwrap();
    /// game.despawn(orc).unwrap();
    /// assert_eq!((shown.entity_count(), shown.get(orc)), (1, Ok(&Health(20))));
    /// ```
    pub fn copy_and_replace_from(&mut self, source: &mut Self) -> Result<(), EntityError> {
        if !self.storage.settings.divide_as(&source.storage.settings) {
            return Err(EntityError::DifferentChunks);
        }
        if let Some(component) = source.storage.not_duplicable() {
            return Err(EntityError::NotDuplicable { component });
        }
        source.jobs.before_everything();
        self.jobs.before_everything();
        // This runs code of the user, and may be refused. Nothing was changed yet.
        let mut storage = source.storage.fork()?;
        storage.settings = self.storage.settings.clone();
        storage.continue_after(&mut self.storage);
        let jobs = self.jobs.of_same_pool();
        let mut new = Self::with_storage(storage, jobs, self.strict);
        new.names = Arc::clone(&source.names);
        // Versions go on, so what is known of the entities by their versions is still true.
        new.id = self.id;
        new.world_transfers = self.world_transfers + 1;
        new.caches = mem::take(&mut self.caches);
        new.last_runs = self.last_runs.take();
        mem::swap(&mut new.jobs, &mut self.jobs);
        // What was here is dropped when all else is done, since that is code of the user.
        let _old = mem::replace(self, new);
        Ok(())
    }

    /// Lets this world have the entities of a snapshot, as they are there: with their versions and caches. Jobs are completed first.
    /// Returns the entities that were here.
    #[must_use = "dropping them is user code"]
    pub(crate) fn restore_from(&mut self, snapshot: &mut Self) -> Result<Self, EntityError> {
        if !self.storage.settings.divide_as(&snapshot.storage.settings) {
            return Err(EntityError::DifferentChunks);
        }
        self.jobs.before_everything();
        let mut new = snapshot.fork()?;
        new.storage.settings = self.storage.settings.clone();
        new.strict = self.strict;
        mem::swap(&mut new.jobs, &mut self.jobs);
        Ok(mem::replace(self, new))
    }
}
