//! What a world has one of, without entities.

#![expect(unsafe_code, reason = "values that several parameters of a system borrow")]

use std::any::{Any, TypeId, type_name};
use std::fmt;
use std::ptr::NonNull;

use ancho_collections::FixedState;
use hashbrown::HashMap;

use super::World;
use crate::panics::FirstPanic;

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
