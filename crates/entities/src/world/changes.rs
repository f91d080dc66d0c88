//! Structural changes of a world. Outside of updates, they deliver events to observers at their end.
//!
//! A world derefs to its [`EntityManager`], which has the same methods and no observers. So each of these methods calls that of the
//! manager, and then delivers.

use ancho_collections::Rejected;

use super::World;
use crate::batch::{Batch, BatchTargets};
use crate::buffer::{BufferElement, DynamicBuffer};
use crate::component::{ComponentType, Mutable};
use crate::entity::Entity;
use crate::entity_map::EntityMap;
use crate::error::EntityError;
use crate::manager::{Archetype, EntityHost, EntityManager, EntityMut, NewEntities};
use crate::set::{CloneSet, ComponentColumns, ComponentSet};
use crate::shared::SharedComponent;

impl EntityHost for World {
    fn manager(&self) -> &EntityManager {
        &self.entities
    }

    fn manager_mut(&mut self) -> &mut EntityManager {
        &mut self.entities
    }

    fn deliver(&mut self) {
        self.deliver_outside();
    }
}

/// Structural changes, which deliver events to [observers](World::add_observer) at their end, unless the world is being updated.
/// The methods of the same names of [`EntityManager`] describe them.
impl World {
    /// Creates an entity. See [`EntityManager::spawn`].
    ///
    /// # Panics
    ///
    /// Panics for the reasons of [`EntityManager::spawn`].
    #[inline]
    #[track_caller]
    pub fn spawn<S: ComponentSet>(&mut self, set: S) -> Entity {
        match self.try_spawn(set) {
            Ok(entity) => entity,
            Err(rejected) => refuse(&rejected.error),
        }
    }

    /// Creates an entity, or returns an error. See [`EntityManager::try_spawn`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::try_spawn`].
    #[inline]
    pub fn try_spawn<S: ComponentSet>(
        &mut self,
        set: S,
    ) -> Result<Entity, Rejected<S, EntityError>> {
        let (entity, is_noted) = self.entities.spawn_noting(set)?;
        if is_noted {
            self.deliver_outside();
        }
        Ok(entity)
    }

    /// Creates entities with clones of these components. See [`EntityManager::spawn_many`].
    ///
    /// # Panics
    ///
    /// Panics for the reasons of [`EntityManager::spawn_many`].
    #[track_caller]
    pub fn spawn_many<S: CloneSet>(&mut self, set: S, count: usize) -> NewEntities<'_> {
        self.entities.spawn_many(set, count);
        self.delivered_new()
    }

    /// Creates an entity from each set of an iterator. See [`EntityManager::spawn_batch`].
    ///
    /// # Panics
    ///
    /// Panics for the reasons of [`EntityManager::spawn_batch`].
    #[track_caller]
    pub fn spawn_batch<I>(&mut self, sets: I) -> NewEntities<'_>
    where
        I: IntoIterator,
        I::Item: ComponentSet,
    {
        self.entities.spawn_batch(sets);
        self.delivered_new()
    }

    /// Creates entities from columns of components. See [`EntityManager::spawn_columns`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::spawn_columns`].
    pub fn spawn_columns<C: ComponentColumns>(
        &mut self,
        columns: C,
    ) -> Result<NewEntities<'_>, Rejected<C, EntityError>> {
        self.entities.spawn_columns(columns)?;
        Ok(self.delivered_new())
    }

    /// Creates an entity of an archetype. See [`EntityManager::create`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::create`].
    pub fn create(&mut self, archetype: Archetype) -> Result<Entity, EntityError> {
        let created = self.entities.create(archetype);
        self.deliver_outside();
        created
    }

    /// Creates entities of an archetype. See [`EntityManager::create_many`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::create_many`].
    pub fn create_many(
        &mut self,
        archetype: Archetype,
        count: usize,
    ) -> Result<NewEntities<'_>, EntityError> {
        self.entities.create_many(archetype, count)?;
        Ok(self.delivered_new())
    }

    /// Creates an instance of an entity. See [`EntityManager::instantiate`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::instantiate`].
    pub fn instantiate(&mut self, source: Entity) -> Result<Entity, EntityError> {
        let created = self.entities.instantiate(source);
        self.deliver_outside();
        created
    }

    /// Creates instances of an entity. See [`EntityManager::instantiate_many`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::instantiate_many`].
    pub fn instantiate_many(
        &mut self,
        source: Entity,
        count: usize,
    ) -> Result<NewEntities<'_>, EntityError> {
        if !self.entities.storage.lifecycle.is_active() {
            return self.entities.instantiate_many(source, count);
        }
        let mut created = std::mem::take(&mut self.observers.created);
        created.clear();
        let instantiated = self.entities.instantiate_many(source, count);
        let result = instantiated.map(|entities| created.extend(entities));
        self.deliver_outside();
        // Observers that create entities use the list, too.
        self.observers.created = created;
        result.map(|()| NewEntities::of_list(&self.entities.storage, &self.observers.created))
    }

    /// Copies entities within the world. See [`EntityManager::copy_entities`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::copy_entities`].
    pub fn copy_entities(&mut self, entities: &[Entity]) -> Result<EntityMap, EntityError> {
        let copied = self.entities.copy_entities(entities);
        self.deliver_outside();
        copied
    }

    /// Adds components to an entity. See [`EntityManager::add`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::add`].
    #[inline]
    #[doc(alias = "insert")]
    pub fn add<S: ComponentSet>(
        &mut self,
        entity: Entity,
        set: S,
    ) -> Result<bool, Rejected<S, EntityError>> {
        let (added, is_noted) = self.entities.add_noting(entity, set);
        if is_noted {
            self.deliver_outside();
        }
        added
    }

    /// Adds an empty buffer to an entity, or keeps the one that it has, and returns it. See [`EntityManager::add_buffer`].
    ///
    /// Events are delivered before the buffer is returned, so observers do not see what is then pushed to it.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::add_buffer`]. Returns A0050 if an observer has despawned the entity, and A0051 if an
    /// observer has removed the buffer.
    pub fn add_buffer<T: BufferElement + Mutable>(
        &mut self,
        entity: Entity,
    ) -> Result<DynamicBuffer<'_, T>, EntityError> {
        let added = self.entities.add_buffer::<T>(entity).map(drop);
        self.deliver_outside();
        added?;
        self.entities.buffer_mut(entity)
    }

    /// Borrows an entity for changes. See [`EntityManager::entity_mut`]. Each change delivers events.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::entity_mut`].
    pub fn entity_mut(&mut self, entity: Entity) -> Result<EntityMut<'_>, EntityError> {
        EntityMut::of_host(self, entity)
    }

    /// Removes components from an entity and adds others, in one move. See [`EntityManager::exchange`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::exchange`].
    pub fn exchange<R: ComponentSet, S: ComponentSet>(
        &mut self,
        entity: Entity,
        added: S,
    ) -> Result<(), Rejected<S, EntityError>> {
        let done = self.entities.exchange::<R, S>(entity, added);
        self.deliver_outside();
        done
    }

    /// Removes components with those that only they require. See [`EntityManager::remove_with_required`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::remove_with_required`].
    pub fn remove_with_required<S: ComponentSet>(
        &mut self,
        entity: Entity,
    ) -> Result<bool, EntityError> {
        let removed = self.entities.remove_with_required::<S>(entity);
        self.deliver_outside();
        removed
    }

    /// Adds missing components with their default values. See [`EntityManager::add_types`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::add_types`].
    pub fn add_types(
        &mut self,
        entity: Entity,
        types: &[ComponentType],
    ) -> Result<bool, EntityError> {
        let added = self.entities.add_types(entity, types);
        self.deliver_outside();
        added
    }

    /// Adds a component, given its bytes. See [`EntityManager::add_bytes`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::add_bytes`].
    pub fn add_bytes(
        &mut self,
        entity: Entity,
        ty: ComponentType,
        bytes: &[u8],
    ) -> Result<bool, EntityError> {
        let added = self.entities.add_bytes(entity, ty, bytes);
        self.deliver_outside();
        added
    }

    /// Removes components from an entity. See [`EntityManager::remove`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::remove`].
    #[inline]
    pub fn remove<S: ComponentSet>(&mut self, entity: Entity) -> Result<bool, EntityError> {
        let (removed, is_noted) = self.entities.remove_noting::<S>(entity);
        if is_noted {
            self.deliver_outside();
        }
        removed
    }

    /// Removes components, given their types at run time. See [`EntityManager::remove_types`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::remove_types`].
    pub fn remove_types(
        &mut self,
        entity: Entity,
        types: &[ComponentType],
    ) -> Result<bool, EntityError> {
        let removed = self.entities.remove_types(entity, types);
        self.deliver_outside();
        removed
    }

    /// Removes components from an entity, and returns them. See [`EntityManager::take`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::take`].
    pub fn take<S: ComponentSet>(&mut self, entity: Entity) -> Result<S, EntityError> {
        let taken = self.entities.take(entity);
        self.deliver_outside();
        taken
    }

    /// Replaces components that the entity has. See [`EntityManager::set`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::set`].
    #[doc(alias = "insert")]
    pub fn set<S: ComponentSet>(
        &mut self,
        entity: Entity,
        set: S,
    ) -> Result<(), Rejected<S, EntityError>> {
        let done = self.entities.set(entity, set);
        self.deliver_outside();
        done
    }

    /// Replaces a component, given its bytes. See [`EntityManager::set_bytes`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::set_bytes`].
    pub fn set_bytes(
        &mut self,
        entity: Entity,
        ty: ComponentType,
        bytes: &[u8],
    ) -> Result<(), EntityError> {
        let done = self.entities.set_bytes(entity, ty, bytes);
        self.deliver_outside();
        done
    }

    /// Replaces the value of a shared component. See [`EntityManager::set_shared`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::set_shared`].
    pub fn set_shared<T: SharedComponent>(
        &mut self,
        entity: Entity,
        value: T,
    ) -> Result<bool, EntityError> {
        let done = self.entities.set_shared(entity, value);
        self.deliver_outside();
        done
    }

    /// Moves an entity to another archetype. See [`EntityManager::set_archetype`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::set_archetype`].
    pub fn set_archetype(
        &mut self,
        entity: Entity,
        archetype: Archetype,
    ) -> Result<(), EntityError> {
        let done = self.entities.set_archetype(entity, archetype);
        self.deliver_outside();
        done
    }

    /// Enables or disables an entity and its linked group. See [`EntityManager::set_enabled`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::set_enabled`].
    pub fn set_enabled(&mut self, entity: Entity, enabled: bool) -> Result<bool, EntityError> {
        let done = self.entities.set_enabled(entity, enabled);
        self.deliver_outside();
        done
    }

    /// Despawns an entity. See [`EntityManager::despawn`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::despawn`].
    #[inline(always)]
    pub fn despawn(&mut self, entity: Entity) -> Result<bool, EntityError> {
        let (despawned, is_noted) = self.entities.despawn_noting(entity);
        if is_noted {
            self.deliver_outside();
        }
        despawned
    }

    /// Despawns all entities. See [`EntityManager::despawn_all`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::despawn_all`].
    pub fn despawn_all(&mut self) -> Result<usize, EntityError> {
        let despawned = self.entities.despawn_all();
        self.deliver_outside();
        despawned
    }

    /// Begins a change of many entities. See [`EntityManager::batch`].
    pub fn batch<'w>(&'w mut self, targets: impl Into<BatchTargets<'w>>) -> Batch<'w> {
        Batch::of_host(self, targets)
    }

    /// Moves all entities of another world to this world. See [`EntityManager::move_entities_from`].
    ///
    /// The other world delivers its events at the end of its own next call, or in its next update.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::move_entities_from`].
    ///
    /// # Panics
    ///
    /// Panics for the reasons of [`EntityManager::move_entities_from`].
    #[track_caller]
    pub fn move_entities_from(
        &mut self,
        source: &mut EntityManager,
    ) -> Result<EntityMap, EntityError> {
        let moved = self.entities.move_entities_from(source);
        self.deliver_outside();
        moved
    }

    /// Copies all entities of another world to this world. See [`EntityManager::copy_entities_from`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::copy_entities_from`].
    ///
    /// # Panics
    ///
    /// Panics for the reasons of [`EntityManager::copy_entities_from`].
    #[track_caller]
    pub fn copy_entities_from(&mut self, source: &EntityManager) -> Result<EntityMap, EntityError> {
        let copied = self.entities.copy_entities_from(source);
        self.deliver_outside();
        copied
    }

    /// Delivers events, and returns the entities that the last call has created.
    fn delivered_new(&mut self) -> NewEntities<'_> {
        if !self.entities.storage.lifecycle.is_pending() {
            return self.entities.last_created();
        }
        // Observers may move or despawn the entities, so their ids are listed first.
        let mut created = std::mem::take(&mut self.observers.created);
        created.clear();
        self.entities.list_created(&mut created);
        self.deliver_outside();
        self.observers.created = created;
        NewEntities::of_list(&self.entities.storage, &self.observers.created)
    }
}

#[cold]
#[track_caller]
fn refuse(error: &EntityError) -> ! {
    panic!("{error}")
}
