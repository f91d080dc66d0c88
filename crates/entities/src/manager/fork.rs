//! Copies of all entities, and the number that tells whether they are alike.

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
        if let Some(component) = self.storage.not_duplicable() {
            return Err(EntityError::NotDuplicable { component });
        }
        self.jobs.sync_all();
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
        self.jobs.sync_all();
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
        self.jobs.sync_all();
        self.storage.make_all_unique()?;
        let mut map = EntityRemap::new(&mut map);
        self.remap_shared(&mut map)?;
        self.storage.remap(&mut map);
        Ok(())
    }
}

impl EntityManager {
    /// Takes all entities out, with all that is known of them, for a thread to work on. What stays has none, and the scheduler of
    /// the world.
    pub(crate) fn detach(&mut self) -> Self {
        self.jobs.sync_all();
        let empty = Storage::new(self.storage.settings.clone());
        let stays = Self::with_storage(empty, self.jobs.of_same_pool(), self.strict);
        let mut detached = mem::replace(self, stays);
        mem::swap(&mut detached.jobs, &mut self.jobs);
        detached
    }

    /// Completes all jobs over entities that were [detached](Self::detach). Their failures are kept.
    pub(crate) fn complete_jobs_over_detached(&mut self) {
        self.jobs.sync_all();
    }

    /// Completes all jobs over entities that were [detached](Self::detach). Returns the first failure that nobody was told of.
    ///
    /// # Panics
    ///
    /// With A0006 from inside of a job over these entities.
    #[track_caller]
    pub(crate) fn complete_detached(&mut self) -> Option<JobFailed> {
        self.complete_jobs_over_detached();
        self.jobs.scheduler().take_failures().into_iter().next()
    }

    /// Takes entities back in that were [detached](Self::detach). Returns the first failure of a job over them that nobody was told of.
    ///
    /// # Panics
    ///
    /// With A0006 from inside of a job over these entities.
    #[track_caller]
    pub(crate) fn reattach(&mut self, mut detached: Self) -> Option<JobFailed> {
        // The scheduler of the world knows nothing of jobs that were scheduled meanwhile, and would let others get in their way.
        let failed = detached.complete_detached();
        mem::swap(&mut detached.jobs, &mut self.jobs);
        *self = detached;
        failed
    }
}

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
        source.jobs.sync_all();
        self.jobs.sync_all();
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
        self.jobs.sync_all();
        let mut new = snapshot.fork()?;
        new.storage.settings = self.storage.settings.clone();
        new.strict = self.strict;
        mem::swap(&mut new.jobs, &mut self.jobs);
        Ok(mem::replace(self, new))
    }
}
