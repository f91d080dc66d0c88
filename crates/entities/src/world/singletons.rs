//! Components that one entity of a world has.

use super::World;
use crate::buffer::{Buffer, BufferElement, DynamicBuffer};
use crate::component::{Component, ComponentType};
use crate::entity::Entity;
use crate::error::EntityError;
use crate::query::{IgnoreEnabled, IncludeDisabled, ReadOnlyData, With};

/// A singleton is a component that one entity has, and no other. It is found wherever it is, also in files and forks.
/// [Resources](World::insert_resource) are simpler, and are not.
impl World {
    /// The entity that alone has a component.
    ///
    /// # Errors
    ///
    /// With A0088 if no entity has it, or more than one.
    pub fn singleton_entity<T: Component>(&self) -> Result<Entity, EntityError> {
        self.query_filtered::<Entity, With<T>>().single().map_err(of::<T>)
    }

    /// A component that one entity has. Jobs that change it are waited for.
    ///
    /// # Errors
    ///
    /// With A0088 if no entity has it, or more than one. [`try_singleton`](Self::try_singleton) knows none.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Debug, PartialEq)]
    /// struct Score(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// assert_eq!(world.try_singleton::<Score>()?, None);
    /// world.create_singleton(Score(3))?;
    /// world.singleton_mut::<Score>()?.0 += 1;
    /// assert_eq!(world.singleton::<Score>()?, &Score(4));
    /// assert!(world.create_singleton(Score(0)).is_err());
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn singleton<T: Component>(&self) -> Result<&T, EntityError> {
        self.query::<&T>().single().map_err(of::<T>)
    }

    /// A component that one entity has, to be changed.
    ///
    /// # Errors
    ///
    /// With A0088 if no entity has it, or more than one.
    pub fn singleton_mut<T: Component>(&mut self) -> Result<&mut T, EntityError> {
        self.query_mut::<&mut T>().into_single().map_err(of::<T>)
    }

    /// A component that one entity has, or none.
    ///
    /// # Errors
    ///
    /// With A0088 if more than one entity has it.
    pub fn try_singleton<T: Component>(&self) -> Result<Option<&T>, EntityError> {
        if self.has_singleton::<T>()? { self.singleton().map(Some) } else { Ok(None) }
    }

    /// Whether an entity has a component that no other has.
    ///
    /// # Errors
    ///
    /// With A0088 if more than one entity has it.
    pub fn has_singleton<T: Component>(&self) -> Result<bool, EntityError> {
        self.has_one::<&T>(ComponentType::of::<T>)
    }

    /// Sets the component of the only entity that has it.
    ///
    /// # Errors
    ///
    /// With A0088 if no entity has it, or more than one.
    pub fn set_singleton<T: Component>(&mut self, value: T) -> Result<(), EntityError> {
        *self.singleton_mut()? = value;
        Ok(())
    }

    /// Creates an entity with a component that no other has.
    ///
    /// # Errors
    ///
    /// With A0137 if there is one already, also if it is switched off, or the entity is [`Disabled`](crate::Disabled).
    pub fn create_singleton<T: Component>(&mut self, value: T) -> Result<Entity, EntityError> {
        let there = self.query_filtered::<Entity, (With<T>, IgnoreEnabled, IncludeDisabled)>();
        match there.iter().next() {
            None => Ok(self.spawn(value)),
            Some(entity) => {
                Err(EntityError::SingletonExists { component: ComponentType::of::<T>(), entity })
            }
        }
    }

    /// The elements that one entity has. Jobs that change them are waited for.
    ///
    /// # Errors
    ///
    /// With A0088 if no entity has such a buffer, or more than one.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Buffer, BufferElement, World};
    ///
    /// #[derive(BufferElement, Clone, Copy, Debug, PartialEq)]
    /// struct Order(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// assert_eq!(world.try_singleton_buffer::<Order>()?, None);
    /// world.create_singleton_buffer(Buffer::from([Order(1)]))?;
    /// world.singleton_buffer_mut::<Order>()?.push(Order(2));
    /// assert_eq!(world.singleton_buffer::<Order>()?, [Order(1), Order(2)]);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn singleton_buffer<T: BufferElement>(&self) -> Result<&[T], EntityError> {
        self.query::<&Buffer<T>>().single().map_err(of_buffer::<T>)
    }

    /// The elements that one entity has, or none.
    ///
    /// # Errors
    ///
    /// With A0088 if more than one entity has such a buffer.
    pub fn try_singleton_buffer<T: BufferElement>(&self) -> Result<Option<&[T]>, EntityError> {
        if self.has_one::<&Buffer<T>>(ComponentType::of_buffer::<T>)? {
            self.singleton_buffer().map(Some)
        } else {
            Ok(None)
        }
    }

    /// Creates an entity with elements that no other has any of.
    ///
    /// # Errors
    ///
    /// With A0137 if an entity has such a buffer already, also if it is switched off, or the entity is
    /// [`Disabled`](crate::Disabled).
    pub fn create_singleton_buffer<T: BufferElement>(
        &mut self,
        elements: Buffer<T>,
    ) -> Result<Entity, EntityError> {
        let there =
            self.query_filtered::<Entity, (With<Buffer<T>>, IgnoreEnabled, IncludeDisabled)>();
        match there.iter().next() {
            None => Ok(self.spawn(elements)),
            Some(entity) => Err(EntityError::SingletonExists {
                component: ComponentType::of_buffer::<T>(),
                entity,
            }),
        }
    }

    /// The elements that one entity has, to be changed.
    ///
    /// # Errors
    ///
    /// With A0088 if no entity has such a buffer, or more than one.
    pub fn singleton_buffer_mut<T: BufferElement>(
        &mut self,
    ) -> Result<DynamicBuffer<'_, T>, EntityError> {
        self.query_mut::<&mut Buffer<T>>().into_single().map_err(of_buffer::<T>)
    }

    fn has_one<D: ReadOnlyData>(
        &self,
        component: fn() -> ComponentType,
    ) -> Result<bool, EntityError> {
        match self.query::<D>().count() {
            found @ 0..=1 => Ok(found == 1),
            found => Err(EntityError::NotSingleton { component: component(), found }),
        }
    }
}

/// What a query has told, with the name of the component.
fn of<T: Component>(error: EntityError) -> EntityError {
    named(error, ComponentType::of::<T>())
}

/// What a query has told, with the name of the elements.
fn of_buffer<T: BufferElement>(error: EntityError) -> EntityError {
    named(error, ComponentType::of_buffer::<T>())
}

fn named(error: EntityError, component: ComponentType) -> EntityError {
    match error {
        EntityError::NotSingle { found, .. } => EntityError::NotSingleton { component, found },
        other => other,
    }
}
