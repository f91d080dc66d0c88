//! A world, and how it is set up.

mod clock;
mod resources;
mod settings;
mod singletons;
mod update_memory;

use std::fmt;

use ancho_collections::Rejected;

use crate::buffer::{BufferElement, DynamicBuffer};
use crate::commands::{CommandError, Commands, EntityCommandBuffer, PlaybackError};
use crate::component::Component;
use crate::entity::Entity;
use crate::error::EntityError;
use crate::managed::ManagedComponent;
use crate::manager::{EntityManager, NewEntities};
use crate::query::{QueryData, QueryMut, QueryRef, SplitParts};
use crate::set::{CloneSet, ComponentColumns, ComponentSet};
use crate::shared::{Shared, SharedComponent};
use crate::storage::InvariantViolation;
use crate::system::Systems;
use crate::time::TimeStack;
use resources::Resources;
pub use settings::WorldSettings;
pub(crate) use update_memory::TwoUpdates;
use update_memory::UpdateMemory;

/// Entities and their components, systems and resources, apart from those of all other worlds.
///
/// A world can be sent to another thread, and is used by one at a time. The everyday calls stand here; its
/// [`EntityManager`] has all of them.
///
/// When a world is dropped, its jobs are completed. Then the systems that run stop, in the order in which they were added. Then all
/// systems are destroyed, the last that was added first.
///
/// # All worlds of a program
///
/// There is no list of them: a world belongs to who has made it, and nothing else can reach it. So worlds of two threads, two tests or
/// two plugins never meet. A program that has several keeps them where it likes, and lends them to the tools that are to see them.
/// Unity's `World.All`.
///
/// ```
/// use ancho_entities::World;
///
/// let mut worlds = [World::new("Client"), World::new("Server")];
/// for world in &mut worlds {
///     world.update(1.0 / 60.0);
/// }
/// let server = worlds.iter().find(|world| world.name() == "Server").unwrap();
/// assert_eq!(server.time().frame(), 1);
/// ```
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, World};
///
/// #[derive(Component, Clone, Copy, Debug, PartialEq)]
/// struct Health(u32);
///
/// #[derive(Component, Clone, Copy)]
/// struct Poisoned;
///
/// let mut world = World::new("Simulation");
/// let orc = world.spawn(Health(20));
/// world.add(orc, Poisoned).unwrap();
/// world.get_mut::<Health>(orc).unwrap().0 -= 5;
/// assert_eq!(world.get(orc), Ok(&Health(15)));
/// world.despawn(orc).unwrap();
/// assert!(!world.exists(orc));
/// ```
pub struct World {
    name: String,
    settings: WorldSettings,
    pub(crate) entities: EntityManager,
    pub(crate) systems: Systems,
    pub(crate) resources: Resources,
    pub(crate) time: TimeStack,
    pub(crate) memory: UpdateMemory,
}

impl World {
    /// A world without entities.
    pub fn new(name: impl Into<String>) -> Self {
        Self::with_settings(name, WorldSettings::new())
    }

    /// A world without entities that is set up in this way.
    pub fn with_settings(name: impl Into<String>, settings: WorldSettings) -> Self {
        let entities = EntityManager::new(&settings);
        Self::with_entities(name.into(), settings, entities)
    }

    /// A world of these entities, without systems and resources.
    fn with_entities(name: String, settings: WorldSettings, entities: EntityManager) -> Self {
        let (systems, resources) = (Systems::default(), Resources::default());
        let (time, memory) = (TimeStack::new(), UpdateMemory::default());
        Self { name, settings, entities, systems, resources, time, memory }
    }

    /// What it is called, in messages and tools.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How it was set up.
    pub fn settings(&self) -> &WorldSettings {
        &self.settings
    }

    /// Its entities.
    pub fn entities(&self) -> &EntityManager {
        &self.entities
    }

    /// Its entities, to be changed.
    pub fn entities_mut(&mut self) -> &mut EntityManager {
        &mut self.entities
    }

    /// A second world with the same entities, which shares memory with this one until one of them writes to it. It has no systems, no
    /// resources, and its time begins anew.
    ///
    /// It costs about as much as there are chunks, and every first write to a chunk then copies it. Good for snapshots and undo;
    /// [`restore`](Self::restore) rolls back to a fork.
    ///
    /// Components that change through a shared reference, as atomics do, change in both until their chunk is copied.
    ///
    /// [Caches](crate::EntityManager::take_cache), such as that of the transforms, are shared, too. A cache is copied by the code that keeps
    /// it, before its next write.
    ///
    /// Chunks with [managed](ManagedComponent) components are copied at once, since they belong to one thread. So are the
    /// values that [chunks](crate::PerChunk) have.
    ///
    /// # Errors
    ///
    /// If a component can neither be copied nor cloned, or there is no memory for what is copied at once. Then the world is
    /// as it was, also if a clone panics.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy, Debug, PartialEq)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Health(20));
    /// let before = world.fork().unwrap();
    /// world.get_mut::<Health>(orc).unwrap().0 = 0;
    /// assert_eq!(before.get(orc), Ok(&Health(20)));
    /// ```
    pub fn fork(&mut self) -> Result<Self, EntityError> {
        let entities = self.entities.fork()?;
        Ok(self.with_copied_entities(entities))
    }

    /// A second world with the same entities, and memory of its own. It has no systems, no resources, and its time begins anew.
    ///
    /// # Errors
    ///
    /// If a component can neither be copied nor cloned, or there is no memory.
    pub fn duplicate(&mut self) -> Result<Self, EntityError> {
        let entities = self.entities.duplicate()?;
        Ok(self.with_copied_entities(entities))
    }

    fn with_copied_entities(&mut self, mut entities: EntityManager) -> Self {
        if let Some(last_runs) = self.last_runs() {
            entities.last_runs = Some(last_runs);
        }
        Self::with_entities(self.name.clone(), self.settings.clone(), entities)
    }

    /// See [`EntityManager::spawn`].
    #[inline]
    #[track_caller]
    pub fn spawn<S: ComponentSet>(&mut self, set: S) -> Entity {
        self.entities.spawn(set)
    }

    /// See [`EntityManager::try_spawn`].
    ///
    /// # Errors
    ///
    /// As there.
    #[inline]
    pub fn try_spawn<S: ComponentSet>(
        &mut self,
        set: S,
    ) -> Result<Entity, Rejected<S, EntityError>> {
        self.entities.try_spawn(set)
    }

    /// See [`EntityManager::spawn_many`].
    #[track_caller]
    pub fn spawn_many<S: CloneSet>(&mut self, count: usize, set: S) -> NewEntities<'_> {
        self.entities.spawn_many(count, set)
    }

    /// See [`EntityManager::spawn_batch`].
    #[track_caller]
    pub fn spawn_batch<I>(&mut self, sets: I) -> NewEntities<'_>
    where
        I: IntoIterator,
        I::Item: ComponentSet,
    {
        self.entities.spawn_batch(sets)
    }

    /// See [`EntityManager::spawn_columns`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn spawn_columns<C: ComponentColumns>(
        &mut self,
        columns: C,
    ) -> Result<NewEntities<'_>, Rejected<C, EntityError>> {
        self.entities.spawn_columns(columns)
    }

    /// See [`EntityManager::despawn`].
    ///
    /// Reorders what queries give: see [`QueryRef::to_entities`](crate::QueryRef::to_entities).
    ///
    /// # Errors
    ///
    /// As there.
    #[inline]
    pub fn despawn(&mut self, entity: Entity) -> Result<bool, EntityError> {
        self.entities.despawn(entity)
    }

    /// See [`EntityManager::despawn_slice`].
    ///
    /// Reorders what queries give: see [`QueryRef::to_entities`](crate::QueryRef::to_entities).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn despawn_slice(&mut self, entities: &[Entity]) -> Result<usize, EntityError> {
        self.entities.despawn_slice(entities)
    }

    /// See [`EntityManager::despawn_all`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn despawn_all(&mut self) -> Result<usize, EntityError> {
        self.entities.despawn_all()
    }

    /// See [`EntityManager::exists`].
    #[inline]
    pub fn exists(&self, entity: Entity) -> bool {
        self.entities.exists(entity)
    }

    /// See [`EntityManager::is_residue`].
    pub fn is_residue(&self, entity: Entity) -> bool {
        self.entities.is_residue(entity)
    }

    /// See [`EntityManager::get`].
    ///
    /// # Errors
    ///
    /// As there.
    #[inline]
    pub fn get<T: Component>(&self, entity: Entity) -> Result<&T, EntityError> {
        self.entities.get(entity)
    }

    /// See [`EntityManager::get_mut`].
    ///
    /// # Errors
    ///
    /// As there.
    #[inline]
    pub fn get_mut<T: Component>(&mut self, entity: Entity) -> Result<&mut T, EntityError> {
        self.entities.get_mut(entity)
    }

    /// See [`EntityManager::add_buffer`].
    ///
    /// Reorders what queries give: see [`QueryRef::to_entities`](crate::QueryRef::to_entities).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn add_buffer<T: BufferElement>(
        &mut self,
        entity: Entity,
    ) -> Result<DynamicBuffer<'_, T>, EntityError> {
        self.entities.add_buffer(entity)
    }

    /// See [`EntityManager::buffer`].
    ///
    /// # Errors
    ///
    /// As there.
    #[inline]
    pub fn buffer<T: BufferElement>(&self, entity: Entity) -> Result<&[T], EntityError> {
        self.entities.buffer(entity)
    }

    /// See [`EntityManager::buffer_mut`].
    ///
    /// # Errors
    ///
    /// As there.
    #[inline]
    pub fn buffer_mut<T: BufferElement>(
        &mut self,
        entity: Entity,
    ) -> Result<DynamicBuffer<'_, T>, EntityError> {
        self.entities.buffer_mut(entity)
    }

    /// See [`EntityManager::shared`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn shared<T: SharedComponent>(&self, entity: Entity) -> Result<&T, EntityError> {
        self.entities.shared(entity)
    }

    /// See [`EntityManager::set_shared`].
    ///
    /// Reorders what queries give: see [`QueryRef::to_entities`](crate::QueryRef::to_entities).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn set_shared<T: SharedComponent>(
        &mut self,
        entity: Entity,
        value: T,
    ) -> Result<bool, EntityError> {
        self.entities.set_shared(entity, value)
    }

    /// See [`EntityManager::add_shared`].
    ///
    /// Reorders what queries give: see [`QueryRef::to_entities`](crate::QueryRef::to_entities).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn add_shared<T: SharedComponent>(
        &mut self,
        entity: Entity,
        value: T,
    ) -> Result<bool, EntityError> {
        self.entities.add_shared(entity, value)
    }

    /// See [`EntityManager::set_shared_slice`].
    ///
    /// Reorders what queries give: see [`QueryRef::to_entities`](crate::QueryRef::to_entities).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn set_shared_slice<T: SharedComponent>(
        &mut self,
        entities: &[Entity],
        value: T,
    ) -> Result<(), EntityError> {
        self.entities.set_shared_slice(entities, value)
    }

    /// See [`EntityManager::remove_shared`].
    ///
    /// Reorders what queries give: see [`QueryRef::to_entities`](crate::QueryRef::to_entities).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn remove_shared<T: SharedComponent>(
        &mut self,
        entity: Entity,
    ) -> Result<bool, EntityError> {
        self.entities.remove_shared::<T>(entity)
    }

    /// See [`EntityManager::shared_values`].
    pub fn shared_values<T: SharedComponent>(&self) -> impl Iterator<Item = Shared<T>> {
        self.entities.shared_values()
    }

    /// See [`EntityManager::managed`].
    ///
    /// # Errors
    ///
    /// As there.
    #[inline]
    pub fn managed<T: ManagedComponent>(&self, entity: Entity) -> Result<&T, EntityError> {
        self.entities.managed(entity)
    }

    /// See [`EntityManager::managed_mut`].
    ///
    /// # Errors
    ///
    /// As there.
    #[inline]
    pub fn managed_mut<T: ManagedComponent>(
        &mut self,
        entity: Entity,
    ) -> Result<&mut T, EntityError> {
        self.entities.managed_mut(entity)
    }

    /// See [`EntityManager::chunk_component`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn chunk_component<T: Component + Default>(
        &self,
        entity: Entity,
    ) -> Result<&T, EntityError> {
        self.entities.chunk_component(entity)
    }

    /// See [`EntityManager::set_chunk_component`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn set_chunk_component<T: Component + Default>(
        &mut self,
        entity: Entity,
        value: T,
    ) -> Result<(), Rejected<T, EntityError>> {
        self.entities.set_chunk_component(entity, value)
    }

    /// See [`EntityManager::query`].
    #[inline]
    pub fn query<D: QueryData>(&self) -> QueryRef<'_, D> {
        self.entities.query()
    }

    /// See [`EntityManager::query_mut`].
    #[inline]
    pub fn query_mut<D: QueryData>(&mut self) -> QueryMut<'_, D> {
        self.entities.query_mut()
    }

    /// See [`EntityManager::commands`].
    ///
    /// # Errors
    ///
    /// As there.
    #[track_caller]
    pub fn commands<'w>(
        &'w self,
        buffer: &'w mut EntityCommandBuffer,
    ) -> Result<Commands<'w>, CommandError> {
        self.entities.commands(buffer)
    }

    /// See [`EntityManager::check_commands`].
    ///
    /// # Errors
    ///
    /// As there.
    #[track_caller]
    pub fn check_commands(&self, buffer: &EntityCommandBuffer) -> Result<(), PlaybackError> {
        self.entities.check_commands(buffer)
    }

    /// See [`EntityManager::play`].
    ///
    /// # Errors
    ///
    /// As there.
    #[track_caller]
    pub fn play(&mut self, buffer: &mut EntityCommandBuffer) -> Result<(), PlaybackError> {
        let played = self.entities.play(buffer);
        played.map_err(|error| error.played_by(&format!("world `{}`", self.name)))
    }

    /// See [`EntityManager::split`].
    #[inline]
    #[track_caller]
    pub fn split<P: SplitParts>(&mut self) -> P::Views<'_> {
        self.entities.split::<P>()
    }

    /// See [`EntityManager::split_with`].
    #[inline]
    #[track_caller]
    pub fn split_with<P>(&mut self, parts: P) -> P::Views<'_>
    where
        P: SplitParts<Description = P>,
    {
        self.entities.split_with(parts)
    }

    /// See [`EntityManager::set`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn set<S: ComponentSet>(
        &mut self,
        entity: Entity,
        set: S,
    ) -> Result<(), Rejected<S, EntityError>> {
        self.entities.set(entity, set)
    }

    /// See [`EntityManager::has`].
    #[inline]
    pub fn has<S: ComponentSet>(&self, entity: Entity) -> bool {
        self.entities.has::<S>(entity)
    }

    /// See [`EntityManager::add`].
    ///
    /// Reorders what queries give: see [`QueryRef::to_entities`](crate::QueryRef::to_entities).
    ///
    /// # Errors
    ///
    /// As there.
    #[inline]
    pub fn add<S: ComponentSet>(
        &mut self,
        entity: Entity,
        set: S,
    ) -> Result<bool, Rejected<S, EntityError>> {
        self.entities.add(entity, set)
    }

    /// See [`EntityManager::remove`].
    ///
    /// Reorders what queries give: see [`QueryRef::to_entities`](crate::QueryRef::to_entities).
    ///
    /// # Errors
    ///
    /// As there.
    #[inline]
    pub fn remove<S: ComponentSet>(&mut self, entity: Entity) -> Result<bool, EntityError> {
        self.entities.remove::<S>(entity)
    }

    /// See [`EntityManager::take`].
    ///
    /// Reorders what queries give: see [`QueryRef::to_entities`](crate::QueryRef::to_entities).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn take<S: ComponentSet>(&mut self, entity: Entity) -> Result<S, EntityError> {
        self.entities.take(entity)
    }

    /// See [`EntityManager::entity_count`].
    pub fn entity_count(&self) -> usize {
        self.entities.entity_count()
    }

    /// See [`EntityManager::state_hash`].
    ///
    /// # Panics
    ///
    /// With A0154 if entities have components of two types that share a stable name.
    #[track_caller]
    pub fn state_hash(&self) -> u64 {
        self.entities.state_hash()
    }

    /// See [`EntityManager::check_invariants`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn check_invariants(&self) -> Result<(), InvariantViolation> {
        self.entities.check_invariants()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.end_systems();
    }
}

impl AsRef<EntityManager> for World {
    fn as_ref(&self) -> &EntityManager {
        &self.entities
    }
}

impl AsMut<EntityManager> for World {
    fn as_mut(&mut self) -> &mut EntityManager {
        &mut self.entities
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World").field("name", &self.name).field("entities", &self.entities).finish()
    }
}
