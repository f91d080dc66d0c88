//! Resources and singletons: values that exist once per world.

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
use crate::query::{IgnoreEnabled, IncludeDisabled, ReadOnlyData, With};

/// A type of resources: any type that is `Send` and `'static`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a resource, because it is not `Send`",
    label = "not `Send`",
    note = "a world moves to other threads together with its resources: use an `Arc` instead of an `Rc`, or insert the value with \
            `World::insert_non_send` and take it as `NonSend<T>` or `NonSendMut<T>`"
)]
pub trait Resource: Send + 'static {}

// The compiler reports that `Resource` is not implemented, and not which part of the type is not `Send`, because the notes of
// `Resource` name the remedy.
#[diagnostic::do_not_recommend]
impl<T: Send + 'static> Resource for T {}

/// The resources of a world.
#[derive(Default)]
pub(crate) struct Resources {
    places: HashMap<TypeId, u32, FixedState>,
    slots: Vec<Slot>,
}

/// The slot of a resource. The type of the resource never changes.
struct Slot {
    ty: TypeId,
    name: &'static str,
    /// The value, which was allocated as a `Box`. It is only accessed through this pointer, because system parameters hold
    /// references to it.
    value: Option<NonNull<dyn Any + Send>>,
}

// SAFETY: the values are owned as in a `Box`, and are `Send`.
unsafe impl Send for Resources {}

impl Resources {
    /// Returns the index of a resource type, which never changes.
    pub(crate) fn place_of<T: Send + 'static>(&mut self) -> u32 {
        let ty = TypeId::of::<T>();
        *self.places.entry(ty).or_insert_with(|| {
            self.slots.push(Slot { ty, name: type_name::<T>(), value: None });
            self.slots.len() as u32 - 1
        })
    }

    /// Returns the address of the resource at an index, if the world has it.
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

/// Converts a resource that was taken out of its slot into its value.
fn take<T: 'static>(value: NonNull<dyn Any + Send>) -> T {
    // SAFETY: the pointer is from `Box::into_raw`, and was taken out of its slot, so no other code frees it.
    let value = unsafe { Box::from_raw(value.as_ptr()) };
    *value.downcast::<T>().expect("places are of one type")
}

/// Drops all values in the order of their indices. If several drops panic, the first panic continues.
impl Drop for Resources {
    fn drop(&mut self) {
        let mut panics = FirstPanic::default();
        for value in self.slots.iter_mut().filter_map(|slot| slot.value.take()) {
            // SAFETY: the pointer is from `Box::into_raw`, and was taken out of its slot, so no other code frees it.
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
    /// Inserts a resource, a value that exists once per world. Systems take it as [`Res`](crate::Res) or [`ResMut`](crate::ResMut).
    /// Returns the old value.
    ///
    /// Resources belong to the world, not to its entities: a fork does not have them.
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
    #[doc(alias = "init_resource")]
    pub fn insert_resource<T: Send + 'static>(&mut self, value: T) -> Option<T> {
        self.resources.insert(value)
    }

    /// Removes a resource. Returns its value, or `None` if the world does not have it.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// struct Recording(Vec<u8>);
    ///
    /// let mut world = World::new("Simulation");
    /// world.insert_resource(Recording(vec![1, 2, 3]));
    /// let bytes = world.remove_resource::<Recording>().map(|recording| recording.0);
    /// assert_eq!(bytes, Some(vec![1, 2, 3]));
    /// assert!(world.remove_resource::<Recording>().is_none());
    /// ```
    pub fn remove_resource<T: Send + 'static>(&mut self) -> Option<T> {
        self.resources.remove()
    }

    /// Tests whether the world has a resource of this type.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// struct Gravity(f32);
    ///
    /// let mut world = World::new("Simulation");
    /// assert!(!world.has_resource::<Gravity>());
    /// world.insert_resource(Gravity(9.8));
    /// assert!(world.has_resource::<Gravity>());
    /// ```
    pub fn has_resource<T: Send + 'static>(&self) -> bool {
        self.resources.get::<T>().is_some()
    }

    /// Returns a shared reference to a resource.
    ///
    /// # Panics
    ///
    /// Panics with A0103 if the world does not have the resource. [`get_resource`](Self::get_resource) returns `None` instead.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// struct Gravity(f32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.insert_resource(Gravity(1.6));
    /// assert_eq!(world.resource::<Gravity>().0, 1.6);
    /// ```
    #[track_caller]
    pub fn resource<T: Send + 'static>(&self) -> &T {
        match self.get_resource() {
            Some(value) => value,
            None => no_such::<T>(self),
        }
    }

    /// Returns a mutable reference to a resource.
    ///
    /// # Panics
    ///
    /// Panics with A0103 if the world does not have the resource. [`get_resource_mut`](Self::get_resource_mut) returns `None`
    /// instead.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// struct Score(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.insert_resource(Score(10));
    /// world.resource_mut::<Score>().0 += 5;
    /// assert_eq!(world.resource::<Score>().0, 15);
    /// ```
    #[track_caller]
    pub fn resource_mut<T: Send + 'static>(&mut self) -> &mut T {
        match self.resources.get::<T>() {
            // SAFETY: the world is borrowed mutably for the lifetime of the reference, so no other reference to the value exists.
            Some(mut value) => unsafe { value.as_mut() },
            None => no_such::<T>(self),
        }
    }

    /// Returns a shared reference to a resource, or `None` if the world does not have it.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// struct Difficulty(f32);
    ///
    /// let mut world = World::new("Simulation");
    /// let damage = |world: &World| 10.0 * world.get_resource().map_or(1.0, |set: &Difficulty| set.0);
    /// assert_eq!(damage(&world), 10.0);
    /// world.insert_resource(Difficulty(2.5));
    /// assert_eq!(damage(&world), 25.0);
    /// ```
    pub fn get_resource<T: Send + 'static>(&self) -> Option<&T> {
        // SAFETY: the world is borrowed for the lifetime of the reference, so the value is not changed or removed.
        self.resources.get::<T>().map(|value| unsafe { value.as_ref() })
    }

    /// Returns a mutable reference to a resource, or `None` if the world does not have it.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// struct Log(Vec<&'static str>);
    ///
    /// let mut world = World::new("Simulation");
    /// assert!(world.get_resource_mut::<Log>().is_none());
    /// world.insert_resource(Log(Vec::new()));
    /// if let Some(log) = world.get_resource_mut::<Log>() {
    ///     log.0.push("started");
    /// }
    /// assert_eq!(world.resource::<Log>().0, ["started"]);
    /// ```
    pub fn get_resource_mut<T: Send + 'static>(&mut self) -> Option<&mut T> {
        // SAFETY: the world is borrowed mutably for the lifetime of the reference, so no other reference to the value exists.
        self.resources.get::<T>().map(|mut value| unsafe { value.as_mut() })
    }
}

#[cold]
#[track_caller]
fn no_such<T>(world: &World) -> ! {
    let (name, resource) = (world.name(), type_name::<T>());
    panic!(
        "A0103: world `{name}` has no resource `{resource}`; insert it with `insert_resource`, or use `get_resource`"
    );
}

/// Singletons: components that exactly one entity has. A fork contains them, and does not contain
/// [resources](World::insert_resource).
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
    pub fn singleton_mut<T: Component>(&mut self) -> Result<&mut T, EntityError> {
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
    pub fn set_singleton<T: Component>(&mut self, value: T) -> Result<(), EntityError> {
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
