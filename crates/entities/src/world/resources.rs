//! What a world has one of, without entities.
#![expect(unsafe_code, reason = "values that several parameters of a system borrow")]

use std::any::{Any, TypeId, type_name};
use std::fmt;
use std::ptr::NonNull;

use ancho_collections::FixedState;
use hashbrown::HashMap;

use super::World;
use crate::buffer::{Buffer, BufferElement, DynamicBuffer};
use crate::component::{Component, ComponentType};
use crate::entity::Entity;
use crate::error::EntityError;
use crate::panics::FirstPanic;
use crate::query::{QueryData, With};

/// The resources of a world.
#[derive(Default)]
pub(crate) struct Resources {
    places: HashMap<TypeId, u32, FixedState>,
    slots: Vec<Slot>,
}

/// The place of a resource, which is always of one type.
struct Slot {
    ty: TypeId,
    name: &'static str,
    /// From a box. It is reached through this alone: parameters of a system have references to it.
    value: Option<NonNull<dyn Any + Send>>,
}

// SAFETY: the values are owned, as in boxes, and can be sent.
unsafe impl Send for Resources {}

impl Resources {
    /// The place of a resource, which never changes.
    pub(crate) fn place_of<T: Send + 'static>(&mut self) -> u32 {
        let ty = TypeId::of::<T>();
        *self.places.entry(ty).or_insert_with(|| {
            self.slots.push(Slot { ty, name: type_name::<T>(), value: None });
            self.slots.len() as u32 - 1
        })
    }

    /// Where the resource at a place is, if there is one.
    #[inline]
    pub(crate) fn get_at<T: Send + 'static>(&self, place: u32) -> Option<NonNull<T>> {
        let slot = self.slots.get(place as usize)?;
        (slot.ty == TypeId::of::<T>()).then_some(slot.value?.cast())
    }

    fn get<T: Send + 'static>(&self) -> Option<NonNull<T>> {
        self.get_at(*self.places.get(&TypeId::of::<T>())?)
    }

    fn insert<T: Send + 'static>(&mut self, value: T) -> Option<T> {
        let place = self.place_of::<T>() as usize;
        let value: Box<dyn Any + Send> = Box::new(value);
        self.slots[place].value.replace(leak(value)).map(|old| take(old))
    }

    fn remove<T: Send + 'static>(&mut self) -> Option<T> {
        let place = *self.places.get(&TypeId::of::<T>())? as usize;
        self.slots[place].value.take().map(|old| take(old))
    }
}

fn leak(value: Box<dyn Any + Send>) -> NonNull<dyn Any + Send> {
    NonNull::from(Box::leak(value))
}

/// The value of a resource that was just taken out of its place.
fn take<T: 'static>(value: NonNull<dyn Any + Send>) -> T {
    // SAFETY: it is from a box, and was in one place, where it is not any more.
    let value = unsafe { Box::from_raw(value.as_ptr()) };
    *value.downcast::<T>().expect("places are of one type")
}

/// Drops all values in the order of their places. If several panic, the first panic goes on.
impl Drop for Resources {
    fn drop(&mut self) {
        let mut panics = FirstPanic::default();
        for value in self.slots.iter_mut().filter_map(|slot| slot.value.take()) {
            // SAFETY: it is from a box, and not used afterwards.
            let value = unsafe { Box::from_raw(value.as_ptr()) };
            panics.during(|| drop(value));
        }
        panics.go_on();
    }
}

impl fmt::Debug for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let there = self.slots.iter().filter(|slot| slot.value.is_some());
        f.debug_list().entries(there.map(|slot| slot.name)).finish()
    }
}

impl World {
    /// Inserts a resource: something there is one of, which systems take as [`Res`](crate::Res) or [`ResMut`](crate::ResMut). Returns the
    /// one that was there.
    ///
    /// Resources are of the world, and not of its entities: forks do not have them.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// #[derive(Debug, PartialEq)]
    /// struct Gravity(f32);
    ///
    /// let mut world = World::new("Simulation");
    /// assert_eq!(world.insert_resource(Gravity(9.8)), None);
    /// world.resource_mut::<Gravity>().0 = 1.6;
    /// assert_eq!(world.remove_resource(), Some(Gravity(1.6)));
    /// assert!(world.get_resource::<Gravity>().is_none());
    /// ```
    pub fn insert_resource<T: Send + 'static>(&mut self, value: T) -> Option<T> {
        self.resources.insert(value)
    }

    /// Removes a resource. Returns it, if it was there.
    pub fn remove_resource<T: Send + 'static>(&mut self) -> Option<T> {
        self.resources.remove()
    }

    /// Whether there is a resource of this type.
    pub fn has_resource<T: Send + 'static>(&self) -> bool {
        self.resources.get::<T>().is_some()
    }

    /// A resource.
    ///
    /// # Panics
    ///
    /// With A0103 if it is not there. [`get_resource`](Self::get_resource) does not.
    #[track_caller]
    pub fn resource<T: Send + 'static>(&self) -> &T {
        match self.get_resource() {
            Some(value) => value,
            None => no_such::<T>(self),
        }
    }

    /// A resource, to be changed.
    ///
    /// # Panics
    ///
    /// With A0103 if it is not there. [`get_resource_mut`](Self::get_resource_mut) does not.
    #[track_caller]
    pub fn resource_mut<T: Send + 'static>(&mut self) -> &mut T {
        match self.resources.get::<T>() {
            // SAFETY: the world is borrowed mutably.
            Some(mut value) => unsafe { value.as_mut() },
            None => no_such::<T>(self),
        }
    }

    /// A resource, if it is there.
    pub fn get_resource<T: Send + 'static>(&self) -> Option<&T> {
        // SAFETY: the world is borrowed.
        self.resources.get::<T>().map(|value| unsafe { value.as_ref() })
    }

    /// A resource, to be changed, if it is there.
    pub fn get_resource_mut<T: Send + 'static>(&mut self) -> Option<&mut T> {
        // SAFETY: the world is borrowed mutably.
        self.resources.get::<T>().map(|mut value| unsafe { value.as_mut() })
    }
}

#[cold]
#[track_caller]
fn no_such<T>(world: &World) -> ! {
    let (name, resource) = (world.name(), type_name::<T>());
    panic!(
        "A0103: world `{name}` has no resource `{resource}`; insert it with `insert_resource`, or ask for it with \
         `get_resource`"
    );
}

/// A singleton is a component that one entity has, and no other. It is found wherever it is, also in files and forks.
/// [Resources](World::insert_resource) are simpler, and are not.
impl World {
    /// The entity that alone has a component.
    ///
    /// # Errors
    ///
    /// With A0088 if no entity has it, or more than one.
    pub fn singleton_entity<T: Component>(&self) -> Result<Entity, EntityError> {
        self.query::<Entity>().filter::<With<T>>().single().map_err(of::<T>)
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
        self.query_mut::<&mut T>().single().map_err(of::<T>)
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
        let there = self.query::<Entity>().filter::<With<T>>().ignore_enabled().include_disabled();
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
        let there = self.query::<Entity>().filter::<With<Buffer<T>>>();
        match there.ignore_enabled().include_disabled().iter().next() {
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
        self.query_mut::<&mut Buffer<T>>().single().map_err(of_buffer::<T>)
    }

    fn has_one<D: QueryData>(&self, component: fn() -> ComponentType) -> Result<bool, EntityError> {
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
