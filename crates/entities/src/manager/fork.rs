//! Operations on whole managers: forks, duplicates, replacement, detaching for jobs, and the state hash.

use std::mem;
use std::sync::Arc;

use ancho_jobs::JobFailed;

use crate::entity::Entity;
use crate::error::EntityError;
use crate::field::{EntityRemap, StateHasher};
use crate::manager::EntityManager;
use crate::storage::Storage;

impl EntityManager {
    pub(crate) fn fork(&mut self) -> Result<Self, EntityError> {
        self.storage.check_duplicable()?;
        self.jobs.sync_all();
        // The fork does not have the reserved ids, and has to create the same ids as this world.
        self.reclaim_returned_ids();
        let mut fork =
            Self::with_storage(self.storage.fork()?, self.jobs.of_same_pool(), self.strict);
        fork.names = Arc::clone(&self.names);
        fork.world_transfers = self.world_transfers;
        fork.caches = self.caches.clone();
        fork.last_runs = self.last_runs.clone();
        Ok(fork)
    }

    /// Copies all chunks that other worlds share.
    pub(crate) fn make_unique(&mut self) -> Result<(), EntityError> {
        Ok(self.storage.make_all_unique()?)
    }

    /// Returns a hash of the state of all entities. [`World::state_hash`](crate::World::state_hash) also includes resources and
    /// time.
    ///
    /// The hash includes the entities and their locations, the values of their components field by field, and the next ids.
    /// Component types are identified by their [stable names](crate::ComponentType::stable_name), so that renaming a crate or
    /// moving a type to another module does not change the hash. The hash excludes the names of entities, crates, modules, fields
    /// and variants, and also versions, padding, addresses and opaque fields.
    ///
    /// # Panics
    ///
    /// Panics with A0154 if entities have components of two types with the same stable name.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// let mut host = World::new("Host");
    /// let orc = host.spawn(Health(20));
    /// let mut client = host.fork()?;
    /// assert_eq!(host.state_hash(), client.state_hash());
    /// client.get_mut::<Health>(orc)?.0 = 19;
    /// assert_ne!(host.state_hash(), client.state_hash());
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[track_caller]
    pub fn state_hash(&self) -> u64 {
        let mut state = StateHasher::new();
        self.feed_state(&mut state);
        state.finish()
    }

    /// Feeds all entities to a hasher. Completes jobs first.
    #[track_caller]
    pub(crate) fn feed_state(&self, state: &mut StateHasher) {
        self.jobs.sync_all();
        self.storage.hash_state(state);
    }

    /// Replaces all references to entities in components and shared values.
    ///
    /// # Errors
    ///
    /// Returns an error if the memory is shared with a fork and a copy cannot be allocated. In that case no reference was
    /// replaced.
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
        self.jobs.sync_all();
        self.storage.make_all_unique()?;
        let mut map = EntityRemap::new(&mut map);
        self.remap_shared(&mut map)?;
        self.storage.remap(&mut map);
        Ok(())
    }
}

impl EntityManager {
    /// Moves all entities and their caches to a new manager, which a job can own. This manager keeps the scheduler of the world,
    /// and has no entities.
    pub(crate) fn detach(&mut self) -> Self {
        self.jobs.sync_all();
        let empty = Storage::new(self.storage.settings.clone());
        let stays = Self::with_storage(empty, self.jobs.of_same_pool(), self.strict);
        let mut detached = mem::replace(self, stays);
        mem::swap(&mut detached.jobs, &mut self.jobs);
        detached
    }

    /// Completes all jobs over entities that were [detached](Self::detach). Their failures remain in the scheduler.
    pub(crate) fn complete_jobs_over_detached(&mut self) {
        self.jobs.sync_all();
    }

    /// Completes all jobs over entities that were [detached](Self::detach). Returns the first failure that was not reported yet.
    ///
    /// # Panics
    ///
    /// Panics with A0006 inside a job over these entities.
    #[track_caller]
    pub(crate) fn complete_detached(&mut self) -> Option<JobFailed> {
        self.complete_jobs_over_detached();
        self.jobs.scheduler().take_failures().into_iter().next()
    }

    /// Moves [detached](Self::detach) entities back to this manager. Returns the first failure of a job over them that was not
    /// reported yet.
    ///
    /// # Panics
    ///
    /// Panics with A0006 inside a job over these entities.
    #[track_caller]
    pub(crate) fn reattach(&mut self, mut detached: Self) -> Option<JobFailed> {
        // Jobs that were scheduled while the entities were detached are not in the scheduler of the world, so they are completed
        // first.
        let failed = detached.complete_detached();
        mem::swap(&mut detached.jobs, &mut self.jobs);
        *self = detached;
        failed
    }
}

impl EntityManager {
    /// Replaces all entities with those of another world, which keep their ids, components, enabled bits and names. The next ids
    /// are also the same.
    ///
    /// Both worlds share memory, like a [fork](crate::World::fork) and its world, until one of them writes to it. A world that
    /// repeatedly replaces its entities, as a view or a backup of another world, shares all chunks that have not been written
    /// between two calls. Change filters match the chunks that differ from the replaced ones. Chunks with
    /// [managed](crate::ManagedComponent) or [chunk components](crate::PerChunk) are copied each time, and always match. This is
    /// Unity's `CopyAndReplaceEntitiesFrom`.
    ///
    /// [Archetypes](crate::Archetype) and recorded commands of this world are invalid afterwards. Archetypes of the other world
    /// are valid in this world.
    ///
    /// # Errors
    ///
    /// Returns A0130 if the worlds have different chunk sizes or capacity limits. Also returns an error if a component can
    /// neither be copied nor cloned, or there is no memory. In these cases nothing was replaced.
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
        if !self.storage.settings.has_same_layout(&source.storage.settings) {
            return Err(EntityError::DifferentChunks);
        }
        source.storage.check_duplicable()?;
        source.jobs.sync_all();
        self.jobs.sync_all();
        // `fork` runs user code, and may fail. Nothing was changed yet.
        let mut storage = source.storage.fork()?;
        storage.settings = self.storage.settings.clone();
        storage.replace(&mut self.storage);
        let jobs = self.jobs.of_same_pool();
        let mut new = Self::with_storage(storage, jobs, self.strict);
        new.names = Arc::clone(&source.names);
        // Versions continue, so caches that compare versions remain valid.
        new.id = self.id;
        let _log = new.storage.lifecycle.replace(&mut self.storage.lifecycle);
        new.storage.lifecycle.set_id(new.id);
        new.storage.refresh_observed();
        new.world_transfers = self.world_transfers + 1;
        new.caches = mem::take(&mut self.caches);
        new.last_runs = self.last_runs.take();
        mem::swap(&mut new.jobs, &mut self.jobs);
        // The old entities are dropped last, because that runs user code.
        let _old = mem::replace(self, new);
        Ok(())
    }

    /// Creates a manager with the entities of a storage and their names, for the same pool as this manager.
    pub(crate) fn with_rebuilt(&self, storage: Storage, names: &[(Entity, String)]) -> Self {
        let mut new = Self::with_storage(storage, self.jobs.of_same_pool(), self.strict);
        for (entity, name) in names {
            new.names_mut().set(*entity, name);
        }
        new
    }

    /// Replaces all entities with those of another manager, and completes jobs first. All entities count as changed. Returns the old
    /// entities.
    #[must_use = "dropping them is user code"]
    pub(crate) fn replace_with(&mut self, mut new: Self) -> Self {
        self.jobs.sync_all();
        new.storage.replace(&mut self.storage);
        // Versions continue, so caches that compare versions remain valid.
        new.id = self.id;
        // The log is dropped last, because that runs user code.
        let _log = new.storage.lifecycle.replace(&mut self.storage.lifecycle);
        new.storage.lifecycle.set_id(new.id);
        new.storage.refresh_observed();
        new.world_transfers = self.world_transfers + 1;
        new.caches = mem::take(&mut self.caches);
        new.last_runs = self.last_runs.take();
        mem::swap(&mut new.jobs, &mut self.jobs);
        mem::replace(self, new)
    }

    /// Returns the names of existing entities, by ascending index.
    pub(crate) fn sorted_names(&self) -> Vec<(Entity, &str)> {
        let mut names = self.names.sorted();
        names.retain(|&(entity, _)| self.exists(entity));
        names
    }

    /// Replaces all entities, with their versions and caches, with those of a snapshot. Completes jobs first. Returns the old
    /// entities.
    #[must_use = "dropping them is user code"]
    pub(crate) fn restore_from(&mut self, snapshot: &mut Self) -> Result<Self, EntityError> {
        if !self.storage.settings.has_same_layout(&snapshot.storage.settings) {
            return Err(EntityError::DifferentChunks);
        }
        self.jobs.sync_all();
        let mut new = snapshot.fork()?;
        new.storage.settings = self.storage.settings.clone();
        new.strict = self.strict;
        mem::swap(&mut new.jobs, &mut self.jobs);
        // The log is dropped last, because that runs user code.
        let _log = new.storage.lifecycle.replace(&mut self.storage.lifecycle);
        new.storage.refresh_observed();
        Ok(mem::replace(self, new))
    }
}
