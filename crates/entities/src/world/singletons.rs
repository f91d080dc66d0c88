//! Singletons: components that exactly one entity has.

use super::World;
use crate::buffer::{Buffer, BufferElement, DynamicBuffer};
use crate::component::{Component, ComponentType, Mutable};
use crate::entity::Entity;
use crate::error::EntityError;
use crate::query::{IgnoreEnabled, IncludeDisabled, ReadOnlyData, With};

/// Singletons: components that exactly one entity has.
///
/// A singleton and a [state resource](crate::Resource) are both state. Use a component if entities, queries or tools have to see the
/// value, and a resource otherwise.
impl World {
    /// Returns the only entity with a component.
    ///
    /// # Errors
    ///
    /// Returns A0088 if no entity, or more than one, has the component.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Player;
    ///
    /// let mut world = World::new("Simulation");
    /// assert!(world.singleton_entity::<Player>().is_err());
    /// let player = world.spawn(Player);
    /// assert_eq!(world.singleton_entity::<Player>(), Ok(player));
    /// ```
    pub fn singleton_entity<T: Component>(&self) -> Result<Entity, EntityError> {
        self.query_filtered::<Entity, With<T>>().single().map_err(of::<T>)
    }

    /// Returns the component of the only entity that has it. Waits for jobs that write the component.
    ///
    /// # Errors
    ///
    /// Returns A0088 if no entity, or more than one, has the component. [`try_singleton`](Self::try_singleton) returns `None` if
    /// no entity has it.
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
    #[doc(alias = "GetSingleton")]
    pub fn singleton<T: Component>(&self) -> Result<&T, EntityError> {
        self.query::<&T>().single().map_err(of::<T>)
    }

    /// Returns a mutable reference to the component of the only entity that has it.
    ///
    /// # Errors
    ///
    /// Returns A0088 if no entity, or more than one, has the component.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Score(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.create_singleton(Score(3))?;
    /// world.singleton_mut::<Score>()?.0 += 1;
    /// assert_eq!(world.singleton::<Score>()?.0, 4);
    /// world.spawn(Score(0));
    /// assert!(world.singleton_mut::<Score>().is_err(), "there are two");
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn singleton_mut<T: Component + Mutable>(&mut self) -> Result<&mut T, EntityError> {
        self.query_mut::<&mut T>().into_single().map_err(of::<T>)
    }

    /// Returns the component of the only entity that has it, or `None` if no entity has it.
    ///
    /// # Errors
    ///
    /// Returns A0088 if more than one entity has the component.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Debug, PartialEq)]
    /// struct Boss(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// assert_eq!(world.try_singleton::<Boss>(), Ok(None));
    /// world.spawn(Boss(500));
    /// assert_eq!(world.try_singleton::<Boss>(), Ok(Some(&Boss(500))));
    /// world.spawn(Boss(900));
    /// assert!(world.try_singleton::<Boss>().is_err());
    /// ```
    pub fn try_singleton<T: Component>(&self) -> Result<Option<&T>, EntityError> {
        if self.has_singleton::<T>()? { self.singleton().map(Some) } else { Ok(None) }
    }

    /// Returns whether exactly one entity has a component.
    ///
    /// # Errors
    ///
    /// Returns A0088 if more than one entity has the component.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Boss;
    ///
    /// let mut world = World::new("Simulation");
    /// assert_eq!(world.has_singleton::<Boss>(), Ok(false));
    /// world.spawn(Boss);
    /// assert_eq!(world.has_singleton::<Boss>(), Ok(true));
    /// world.spawn(Boss);
    /// assert!(world.has_singleton::<Boss>().is_err());
    /// ```
    pub fn has_singleton<T: Component>(&self) -> Result<bool, EntityError> {
        self.has_one::<&T>(ComponentType::of::<T>)
    }

    /// Sets the component of the only entity that has it.
    ///
    /// # Errors
    ///
    /// Returns A0088 if no entity, or more than one, has the component.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Debug, PartialEq)]
    /// struct Weather(&'static str);
    ///
    /// let mut world = World::new("Simulation");
    /// assert!(world.set_singleton(Weather("rain")).is_err(), "no entity has one");
    /// world.create_singleton(Weather("sun"))?;
    /// world.set_singleton(Weather("rain"))?;
    /// assert_eq!(world.singleton::<Weather>()?, &Weather("rain"));
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn set_singleton<T: Component + Mutable>(&mut self, value: T) -> Result<(), EntityError> {
        *self.singleton_mut()? = value;
        Ok(())
    }

    /// Creates the only entity with a component.
    ///
    /// # Errors
    ///
    /// Returns A0137 if an entity already has the component, even if the component is disabled or the entity is
    /// [`Disabled`](crate::Disabled).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Seed(u64);
    ///
    /// let mut world = World::new("Simulation");
    /// let entity = world.create_singleton(Seed(42))?;
    /// assert_eq!(world.get::<Seed>(entity)?.0, 42);
    /// assert!(world.create_singleton(Seed(7)).is_err());
    /// assert_eq!(world.singleton::<Seed>()?.0, 42);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[doc(alias = "SetSingleton")]
    #[track_caller]
    pub fn create_singleton<T: Component>(&mut self, value: T) -> Result<Entity, EntityError> {
        let there = self.query_filtered::<Entity, (With<T>, IgnoreEnabled, IncludeDisabled)>();
        match there.iter().next() {
            None => Ok(self.spawn(value)),
            Some(entity) => {
                Err(EntityError::SingletonExists { component: ComponentType::of::<T>(), entity })
            }
        }
    }

    /// Returns the elements of the only buffer of this type. Waits for jobs that write the buffer.
    ///
    /// # Errors
    ///
    /// Returns A0088 if no entity, or more than one, has such a buffer.
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

    /// Returns the elements of the only buffer of this type, or `None` if no entity has one.
    ///
    /// # Errors
    ///
    /// Returns A0088 if more than one entity has such a buffer.
    pub fn try_singleton_buffer<T: BufferElement>(&self) -> Result<Option<&[T]>, EntityError> {
        if self.has_one::<&Buffer<T>>(ComponentType::of_buffer::<T>)? {
            self.singleton_buffer().map(Some)
        } else {
            Ok(None)
        }
    }

    /// Creates the only entity with a buffer of this type.
    ///
    /// # Errors
    ///
    /// Returns A0137 if an entity already has such a buffer, even if the buffer is disabled or the entity is
    /// [`Disabled`](crate::Disabled).
    #[track_caller]
    pub fn create_singleton_buffer<T: BufferElement + Mutable>(
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

    /// Returns the only buffer of this type, for writing.
    ///
    /// # Errors
    ///
    /// Returns A0088 if no entity, or more than one, has such a buffer.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Buffer, BufferElement, World};
    ///
    /// #[derive(BufferElement, Debug, PartialEq)]
    /// struct Event(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.create_singleton_buffer(Buffer::from([Event(1)]))?;
    /// let mut events = world.singleton_buffer_mut::<Event>()?;
    /// events.clear();
    /// events.push(Event(2));
    /// assert_eq!(world.singleton_buffer::<Event>()?, [Event(2)]);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn singleton_buffer_mut<T: BufferElement + Mutable>(
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

/// Adds the name of the component to an error of a query.
fn of<T: Component>(error: EntityError) -> EntityError {
    named(error, ComponentType::of::<T>())
}

/// Adds the name of the element type to an error of a query.
fn of_buffer<T: BufferElement>(error: EntityError) -> EntityError {
    named(error, ComponentType::of_buffer::<T>())
}

fn named(error: EntityError, component: ComponentType) -> EntityError {
    match error {
        EntityError::NotSingle { found, .. } => EntityError::NotSingleton { component, found },
        other => other,
    }
}
