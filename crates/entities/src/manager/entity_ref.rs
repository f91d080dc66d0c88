//! One entity of a world, borrowed: [`EntityRef`] and [`EntityMut`].

use std::fmt;

use ancho_collections::Rejected;

use super::{Archetype, EntityHost, EntityManager, HostMut};
use crate::buffer::{BufferElement, DynamicBuffer};
use crate::component::{Component, ComponentType, Mutable};
use crate::entity::Entity;
use crate::error::EntityError;
use crate::managed::ManagedComponent;
use crate::set::ComponentSet;
use crate::shared::SharedComponent;

/// Shared access to one entity: see [`EntityManager::entity`].
///
/// Its methods are those of the manager, with the entity filled in.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, World};
///
/// #[derive(Component, Debug, PartialEq)]
/// struct Health(u32);
///
/// let mut world = World::new("Simulation");
/// let orc = world.spawn(Health(20));
/// let orc = world.entity(orc)?;
/// assert_eq!(orc.get::<Health>(), Ok(&Health(20)));
/// # Ok::<(), ancho_entities::EntityError>(())
/// ```
#[derive(Clone, Copy)]
pub struct EntityRef<'w> {
    pub(super) entities: &'w EntityManager,
    pub(super) entity: Entity,
}

impl<'w> EntityRef<'w> {
    /// Returns the id of the entity.
    pub fn id(&self) -> Entity {
        self.entity
    }

    /// Returns a component. See [`EntityManager::get`].
    ///
    /// # Errors
    ///
    /// Returns A0051 if the entity lacks the component.
    pub fn get<T: Component>(&self) -> Result<&'w T, EntityError> {
        self.entities.get(self.entity)
    }

    /// Tests whether the entity has all components of a set. See [`EntityManager::has`].
    #[doc(alias = "contains")]
    pub fn has<S: ComponentSet>(&self) -> bool {
        self.entities.has::<S>(self.entity)
    }

    /// Tests whether the entity has a component of this type. See [`EntityManager::has_type`].
    #[doc(alias = "contains_id")]
    pub fn has_type(&self, ty: ComponentType) -> bool {
        self.entities.has_type(self.entity, ty)
    }

    /// Returns the elements of a buffer. See [`EntityManager::buffer`].
    ///
    /// # Errors
    ///
    /// Returns A0051 if the entity lacks the buffer.
    pub fn buffer<T: BufferElement>(&self) -> Result<&'w [T], EntityError> {
        self.entities.buffer(self.entity)
    }

    /// Returns a managed component. See [`EntityManager::managed`].
    ///
    /// # Errors
    ///
    /// Returns A0051 if the entity lacks the component.
    pub fn managed<T: ManagedComponent>(&self) -> Result<&'w T, EntityError> {
        self.entities.managed(self.entity)
    }

    /// Returns the value of a shared component. See [`EntityManager::shared`].
    ///
    /// # Errors
    ///
    /// Returns A0051 if the entity lacks the component.
    pub fn shared<T: SharedComponent>(&self) -> Result<&'w T, EntityError> {
        self.entities.shared(self.entity)
    }

    /// Tests whether a component is enabled. See [`EntityManager::is_component_enabled`].
    ///
    /// # Errors
    ///
    /// Returns an error if the entity lacks the component (A0051), or the type is not enableable (A0070).
    pub fn is_component_enabled<T: Component>(&self) -> Result<bool, EntityError> {
        self.entities.is_component_enabled::<T>(self.entity)
    }

    /// Tests whether the entity is enabled. See [`EntityManager::is_enabled`].
    pub fn is_enabled(&self) -> bool {
        self.entities.is_enabled(self.entity)
    }

    /// Returns the archetype of the entity.
    ///
    /// # Errors
    ///
    /// Returns A0050 if the entity no longer exists, which a shared borrow rules out.
    pub fn archetype(&self) -> Result<Archetype, EntityError> {
        self.entities.entity_archetype(self.entity)
    }

    /// Returns the types of all components of the entity.
    pub fn component_types(&self) -> &'w [ComponentType] {
        let archetype = self.entities.entity_archetype(self.entity);
        archetype.and_then(|archetype| self.entities.component_types(archetype)).unwrap_or(&[])
    }

    /// Returns the name of the entity in messages and tools, if it has one.
    pub fn name(&self) -> Option<&'w str> {
        self.entities.entity_name(self.entity)
    }
}

impl fmt::Debug for EntityRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let types = self.component_types();
        f.debug_struct("EntityRef").field("id", &self.entity).field("components", &types).finish()
    }
}

/// Exclusive access to one entity: see [`EntityManager::entity_mut`].
///
/// Its methods are those of the manager, with the entity filled in. Each method is applied at once. If a method ends the entity,
/// such as `remove` of its last cleanup component, later methods return A0050.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, World};
///
/// #[derive(Component, Debug, PartialEq)]
/// struct Caterpillar(u32);
///
/// #[derive(Component, Debug, PartialEq)]
/// struct Butterfly(u32);
///
/// let mut world = World::new("Garden");
/// let id = world.spawn(Caterpillar(3));
/// let mut insect = world.entity_mut(id)?;
/// let age = insect.get::<Caterpillar>()?.0;
/// insect.exchange::<Caterpillar, _>(Butterfly(age))?;
/// assert_eq!(world.get(id), Ok(&Butterfly(3)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "EntityWorldMut")]
pub struct EntityMut<'w> {
    pub(super) entities: HostMut<'w>,
    pub(super) entity: Entity,
}

impl<'w> EntityMut<'w> {
    /// Borrows an entity of a host, or returns an error if it does not exist.
    pub(crate) fn of_host(
        host: &'w mut dyn EntityHost,
        entity: Entity,
    ) -> Result<Self, EntityError> {
        host.manager().check_exists(entity)?;
        Ok(Self { entities: HostMut(host), entity })
    }

    /// Calls a function that changes the entity, and delivers the events of the change.
    pub(super) fn change<R>(&mut self, change: impl FnOnce(&mut EntityManager, Entity) -> R) -> R {
        let result = change(&mut self.entities, self.entity);
        self.entities.deliver();
        result
    }
}

impl EntityMut<'_> {
    /// Returns the id of the entity.
    pub fn id(&self) -> Entity {
        self.entity
    }

    /// Borrows the entity for reading.
    pub fn as_ref(&self) -> EntityRef<'_> {
        EntityRef { entities: &self.entities, entity: self.entity }
    }

    /// Returns a component. See [`EntityManager::get`].
    ///
    /// # Errors
    ///
    /// Returns A0051 if the entity lacks the component.
    pub fn get<T: Component>(&self) -> Result<&T, EntityError> {
        self.entities.get(self.entity)
    }

    /// Returns a component mutably, and marks it as changed. See [`EntityManager::get_mut`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::get_mut`].
    pub fn get_mut<T: Component + Mutable>(&mut self) -> Result<&mut T, EntityError> {
        self.entities.get_mut(self.entity)
    }

    /// Tests whether the entity has all components of a set. See [`EntityManager::has`].
    #[doc(alias = "contains")]
    pub fn has<S: ComponentSet>(&self) -> bool {
        self.entities.has::<S>(self.entity)
    }

    /// Returns the elements of a buffer. See [`EntityManager::buffer`].
    ///
    /// # Errors
    ///
    /// Returns A0051 if the entity lacks the buffer.
    pub fn buffer<T: BufferElement>(&self) -> Result<&[T], EntityError> {
        self.entities.buffer(self.entity)
    }

    /// Returns a buffer mutably, and marks it as changed. See [`EntityManager::buffer_mut`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::buffer_mut`].
    pub fn buffer_mut<T: BufferElement + Mutable>(
        &mut self,
    ) -> Result<DynamicBuffer<'_, T>, EntityError> {
        self.entities.buffer_mut(self.entity)
    }

    /// Appends an element to a buffer.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::buffer_mut`].
    pub fn append<T: BufferElement + Mutable>(&mut self, element: T) -> Result<(), EntityError> {
        self.entities.buffer_mut(self.entity)?.push(element);
        Ok(())
    }

    /// Adds components, and replaces those that the entity already has. Returns whether a component was added. See
    /// [`EntityManager::add`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::add`].
    #[doc(alias = "insert")]
    pub fn add<S: ComponentSet>(&mut self, set: S) -> Result<bool, Rejected<S, EntityError>> {
        self.change(|entities, entity| entities.add(entity, set))
    }

    /// Replaces components that the entity already has. See [`EntityManager::set`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::set`].
    pub fn set<S: ComponentSet>(&mut self, set: S) -> Result<(), Rejected<S, EntityError>> {
        self.change(|entities, entity| entities.set(entity, set))
    }

    /// Removes components. Returns whether a component was removed. See [`EntityManager::remove`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::remove`].
    pub fn remove<S: ComponentSet>(&mut self) -> Result<bool, EntityError> {
        self.change(EntityManager::remove::<S>)
    }

    /// Removes components, and the components that they require. Returns whether a component was removed. See
    /// [`EntityManager::remove_with_required`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::remove`].
    pub fn remove_with_required<S: ComponentSet>(&mut self) -> Result<bool, EntityError> {
        self.change(EntityManager::remove_with_required::<S>)
    }

    /// Removes components, and returns them. See [`EntityManager::take`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::take`].
    pub fn take<S: ComponentSet>(&mut self) -> Result<S, EntityError> {
        self.change(EntityManager::take)
    }

    /// Removes the components `R` and adds others, in one move. See [`EntityManager::exchange`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::exchange`].
    pub fn exchange<R: ComponentSet, S: ComponentSet>(
        &mut self,
        added: S,
    ) -> Result<(), Rejected<S, EntityError>> {
        self.change(|entities, entity| entities.exchange::<R, S>(entity, added))
    }

    /// Adds the components that the entity lacks, with default values. Returns whether a component was added. See
    /// [`EntityManager::add_types`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::add_types`].
    pub fn add_types(&mut self, types: &[ComponentType]) -> Result<bool, EntityError> {
        self.change(|entities, entity| entities.add_types(entity, types))
    }

    /// Removes components, given their types at run time. Returns whether a component was removed. See
    /// [`EntityManager::remove_types`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::remove_types`].
    pub fn remove_types(&mut self, types: &[ComponentType]) -> Result<bool, EntityError> {
        self.change(|entities, entity| entities.remove_types(entity, types))
    }

    /// Adds a buffer, or keeps the one that the entity has, and returns it. See [`EntityManager::add_buffer`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::add_buffer`]. Returns A0050 if an observer has despawned the entity, and A0051 if an
    /// observer has removed the buffer.
    pub fn add_buffer<T: BufferElement + Mutable>(
        &mut self,
    ) -> Result<DynamicBuffer<'_, T>, EntityError> {
        self.change(|entities, entity| entities.add_buffer::<T>(entity).map(drop))?;
        self.entities.buffer_mut(self.entity)
    }

    /// Replaces the value of a shared component. Returns whether the value differs from the old one. See
    /// [`EntityManager::set_shared`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::set_shared`].
    pub fn set_shared<T: SharedComponent>(&mut self, value: T) -> Result<bool, EntityError> {
        self.change(|entities, entity| entities.set_shared(entity, value))
    }

    /// Returns a managed component mutably, and marks it as changed. See [`EntityManager::managed_mut`].
    ///
    /// # Errors
    ///
    /// Returns A0051 if the entity lacks the component.
    pub fn managed_mut<T: ManagedComponent>(&mut self) -> Result<&mut T, EntityError> {
        self.entities.managed_mut(self.entity)
    }

    /// Enables or disables a component. See [`EntityManager::set_component_enabled`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::set_component_enabled`].
    pub fn set_component_enabled<T: Component>(
        &mut self,
        enabled: bool,
    ) -> Result<(), EntityError> {
        self.entities.set_component_enabled::<T>(self.entity, enabled)
    }

    /// Enables or disables the entity and its group. See [`EntityManager::set_enabled`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::set_enabled`].
    pub fn set_enabled(&mut self, enabled: bool) -> Result<bool, EntityError> {
        self.change(|entities, entity| entities.set_enabled(entity, enabled))
    }

    /// Moves the entity to another archetype. See [`EntityManager::set_archetype`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::set_archetype`].
    pub fn set_archetype(&mut self, archetype: Archetype) -> Result<(), EntityError> {
        self.change(|entities, entity| entities.set_archetype(entity, archetype))
    }

    /// Sets the name of the entity in messages and tools. An empty name removes the name.
    ///
    /// # Errors
    ///
    /// Returns A0050 if the entity no longer exists.
    pub fn set_name(&mut self, name: &str) -> Result<(), EntityError> {
        self.entities.set_name(self.entity, name)
    }

    /// Despawns the entity. Returns whether it existed. See [`EntityManager::despawn`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::despawn`].
    pub fn despawn(mut self) -> Result<bool, EntityError> {
        self.change(EntityManager::despawn)
    }
}

impl fmt::Debug for EntityMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let types = self.as_ref().component_types();
        f.debug_struct("EntityMut").field("id", &self.entity).field("components", &types).finish()
    }
}

impl EntityManager {
    /// Borrows one entity for reading.
    ///
    /// # Errors
    ///
    /// Returns A0050 if the entity does not exist.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Entity, World};
    ///
    /// #[derive(Component)]
    /// struct Armour;
    ///
    /// let mut world = World::new("Simulation");
    /// let knight = world.spawn(Armour);
    /// assert!(world.entity(knight)?.has::<Armour>());
    /// assert!(world.entity(Entity::NULL).is_err());
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn entity(&self, entity: Entity) -> Result<EntityRef<'_>, EntityError> {
        self.check_exists(entity)?;
        Ok(EntityRef { entities: self, entity })
    }

    /// Borrows one entity for changes, which are applied at once.
    ///
    /// # Errors
    ///
    /// Returns A0050 if the entity does not exist.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Poisoned;
    ///
    /// let mut world = World::new("Simulation");
    /// let id = world.spawn(());
    /// let mut orc = world.entity_mut(id)?;
    /// orc.add(Poisoned)?;
    /// orc.set_name("Grishnákh")?;
    /// orc.despawn()?;
    /// assert!(!world.exists(id));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn entity_mut(&mut self, entity: Entity) -> Result<EntityMut<'_>, EntityError> {
        self.check_exists(entity)?;
        Ok(EntityMut { entities: HostMut(self), entity })
    }
}
