//! Managed components outside of worlds.

#![expect(
    unsafe_code,
    reason = "values are moved to and out of chunks, and are seen by one thread"
)]

use std::any::type_name;
use std::fmt;

use super::ManagedComponent;
use crate::component::{ComponentType, SharedValue, Written};
use crate::field::EntityRemap;
use crate::set::{CloneSet, ComponentSet};
use crate::storage::RowPlace;

/// A managed component on its way into a world, or out of it.
///
/// It is a [set of components](ComponentSet), alone and in tuples: it names the managed component where `has`, `remove` and
/// `archetype` ask for a type, and is given to `spawn`, `add` and `set` with a value. `take` returns one.
///
/// The value is seen by who owns this, or borrows it mutably. There is no way to a `&T` from a shared one, so that it
/// can be shared between threads although `T` may not.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, Managed, ManagedComponent, World};
///
/// #[derive(Component)]
/// struct Name(&'static str);
///
/// #[derive(ManagedComponent)]
/// struct OnClick(#[field(opaque)] Box<dyn FnMut() -> u32 + Send>);
///
/// let mut world = World::new("Simulation");
/// let mut clicks = 0;
/// let count = OnClick(Box::new(move || {
///     clicks += 1;
///     clicks
/// }));
/// let button = world.spawn((Name("start"), Managed::new(count)));
/// (world.managed_mut::<OnClick>(button)?.0)();
/// let mut count = world.take::<Managed<OnClick>>(button)?;
/// assert_eq!((count.get_mut().0)(), 2);
/// # Ok::<(), ancho_entities::EntityError>(())
/// ```
pub struct Managed<T> {
    /// In memory that stays where it is: only the address moves between chunks.
    value: Box<T>,
}

// SAFETY: a shared reference to this leads to no reference to the value, as with `std::sync::Exclusive`. What could be
// reached through one, to be cloned in `fill`, its caller keeps to one thread.
unsafe impl<T> Sync for Managed<T> {}

impl<T> Managed<T> {
    /// Puts a value into a box.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::Managed;
    ///
    /// assert_eq!(Managed::new(3).into_inner(), 3);
    /// ```
    pub fn new(value: T) -> Self {
        Self { value: Box::new(value) }
    }

    /// The value.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::Managed;
    ///
    /// assert_eq!(Managed::new("tea").into_inner(), "tea");
    /// ```
    pub fn into_inner(self) -> T {
        *self.value
    }

    /// The value, to be changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::Managed;
    ///
    /// let mut managed = Managed::new(vec![1]);
    /// managed.get_mut().push(2);
    /// assert_eq!(managed.into_inner(), [1, 2]);
    /// ```
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

// SAFETY: one type, one offset, one value, which is a box as the column has them.
unsafe impl<T: ManagedComponent> ComponentSet for Managed<T> {
    const COUNT: usize = 1;
    const HAS_ENTITIES: bool = T::HAS_ENTITIES;

    fn types(each: &mut dyn FnMut(ComponentType)) {
        each(ComponentType::of_managed::<T>());
    }

    fn remap_entities(&mut self, map: &mut EntityRemap<'_>) {
        self.value.remap(map);
    }

    fn duplicate_set(&mut self) -> Result<Self, ComponentType> {
        let value = T::duplicate().apply(&self.value);
        value.map(Self::new).ok_or_else(ComponentType::of_managed::<T>)
    }

    #[inline]
    unsafe fn write(self, place: RowPlace) {
        // SAFETY: the place has a column of this type, with no value in the row.
        unsafe { place.value::<Box<T>>().write(self.value) }
    }

    #[inline]
    unsafe fn read(place: RowPlace, _: &mut dyn Iterator<Item = SharedValue>) -> Self {
        // SAFETY: the place has a column of this type, with a value that is not used afterwards.
        Self { value: unsafe { place.value::<Box<T>>().read() } }
    }
}

// SAFETY: one column is done.
unsafe impl<T: ManagedComponent + Clone> CloneSet for Managed<T> {
    unsafe fn fill(&self, place: RowPlace, rows: usize, done: &mut usize) {
        // SAFETY: the place has a column of this type, with room in so many rows. No other thread uses the set, so that
        // this one may look at the value.
        unsafe { Written::fill(place.value::<Box<T>>(), rows, |_| self.value.clone()) };
        *done += 1;
    }

    fn clone_set(&mut self) -> Self {
        Self { value: self.value.clone() }
    }
}

impl<T> fmt::Debug for Managed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The value itself may not be looked at.
        write!(f, "Managed<{}>", type_name::<T>())
    }
}
