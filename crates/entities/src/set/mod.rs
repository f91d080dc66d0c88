//! Sets of components: what entities are made of and changed by.
#![expect(unsafe_code, reason = "values are written to and read from rows of chunks")]

pub(crate) use columns::WrongLength;
pub use columns::{Columns, ComponentColumn, ComponentColumns};

use crate::all_tuples::all_tuples;
use crate::component::{Component, ComponentType, SharedValue, Written};
use crate::field::{EntityRemap, Field};
use crate::storage::RowPlace;

mod columns;

/// A set of components: one component, a tuple of sets, or nothing, `()`.
///
/// Which order they are in does not matter. No type may be in it twice.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Health(u32);
///
/// #[derive(Component, Clone, Copy)]
/// struct Armour(u32);
///
/// let mut world = World::new("Simulation");
/// let orc = world.spawn((Health(20), Armour(3)));
/// assert!(world.has::<(Armour, Health)>(orc));
/// ```
///
/// # Safety
///
/// Not to be implemented outside of this crate: what the methods owe each other may change.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a set of components",
    label = "neither a component nor a tuple of components",
    note = "write `#[derive(Component)]` on the type; tuples of up to 16 components are sets, and can be nested"
)]
pub unsafe trait ComponentSet: Sized + Send + Sync + 'static {
    /// How many components there are.
    #[doc(hidden)]
    const COUNT: usize;

    /// Whether there are shared ones among them, whose values are not in rows.
    #[doc(hidden)]
    const SHARED: bool = false;

    /// Whether there may be entities in them.
    #[doc(hidden)]
    const HAS_ENTITIES: bool;

    /// Calls the function for the type of each, in the order in which the other methods take them.
    #[doc(hidden)]
    fn types(each: &mut dyn FnMut(ComponentType));

    /// Calls the function for the value of each shared one, in the order of `types`.
    #[doc(hidden)]
    fn shared(&self, _each: &mut dyn FnMut(SharedValue)) {}

    /// Replaces every entity in them.
    #[doc(hidden)]
    fn remap_entities(&mut self, map: &mut EntityRemap<'_>);

    /// Makes a second set of the same values, as worlds do that are copied.
    ///
    /// # Errors
    ///
    /// A type whose values cannot be duplicated.
    #[doc(hidden)]
    fn duplicate_set(&mut self) -> Result<Self, ComponentType>;

    /// Moves the components to a row. The values of shared ones are let go of.
    ///
    /// # Safety
    ///
    /// - the place has `COUNT` offsets, in the order of `types`
    /// - there are no values in the row's columns, or none that have to be dropped
    #[doc(hidden)]
    unsafe fn write(self, place: RowPlace);

    /// Moves the components out of a row. The values of shared ones are given, in the order of `types`.
    ///
    /// # Safety
    ///
    /// - the place has `COUNT` offsets, in the order of `types`
    /// - there are values in the row's columns, which are not used afterwards
    #[doc(hidden)]
    unsafe fn read(place: RowPlace, shared: &mut dyn Iterator<Item = SharedValue>) -> Self;
}

/// A set of components that can all be cloned.
///
/// # Safety
///
/// Not to be implemented outside of this crate.
#[diagnostic::on_unimplemented(
    message = "the components of `{Self}` cannot all be cloned",
    label = "a component that is not `Clone`",
    note = "write `#[derive(Clone)]` on its type, or spawn from an iterator with `spawn_batch`"
)]
pub unsafe trait CloneSet: ComponentSet {
    /// Writes clones of the components to so many rows, from the place on, and counts the columns that are done.
    ///
    /// # Safety
    ///
    /// - the place has `COUNT` offsets, in the order of `types`
    /// - so many rows from the place on have no values that have to be dropped
    /// - no other thread uses the set meanwhile, which may have values that are not to be shared
    #[doc(hidden)]
    unsafe fn fill(&self, place: RowPlace, rows: usize, done: &mut usize);

    /// Clones the components. They are borrowed mutably since some are seen by one thread alone.
    #[doc(hidden)]
    fn clone_set(&mut self) -> Self;
}

// SAFETY: one type, one offset, one value.
unsafe impl<T: Component> ComponentSet for T {
    const COUNT: usize = 1;
    const HAS_ENTITIES: bool = <T as Field>::HAS_ENTITIES;

    fn types(each: &mut dyn FnMut(ComponentType)) {
        each(ComponentType::of::<T>());
    }

    fn remap_entities(&mut self, map: &mut EntityRemap<'_>) {
        Field::remap(self, map);
    }

    fn duplicate_set(&mut self) -> Result<Self, ComponentType> {
        T::duplicate().apply(self).ok_or_else(ComponentType::of::<T>)
    }

    #[inline(always)]
    unsafe fn write(self, place: RowPlace) {
        // SAFETY: the place has a column of this type, with no value in the row.
        unsafe { place.value::<T>().write(self) }
    }

    #[inline(always)]
    unsafe fn read(place: RowPlace, _: &mut dyn Iterator<Item = SharedValue>) -> Self {
        // SAFETY: the place has a column of this type, with a value that is not used afterwards.
        unsafe { place.value::<T>().read() }
    }
}

// SAFETY: one column is done.
unsafe impl<T: Component + Clone> CloneSet for T {
    #[inline]
    unsafe fn fill(&self, place: RowPlace, rows: usize, done: &mut usize) {
        // SAFETY: the place has a column of this type, with room in so many rows.
        unsafe { Written::fill(place.value::<T>(), rows, |_| self.clone()) };
        *done += 1;
    }

    fn clone_set(&mut self) -> Self {
        self.clone()
    }
}

/// Implements the traits for a tuple, of parts with their indices.
///
/// A part's offsets follow those of the parts before it, as its types do.
macro_rules! implement {
    ($($name:ident $index:tt,)+) => {
        // SAFETY: each part has the offsets of its own types, since both are in the order of the parts.
        unsafe impl<$($name: ComponentSet),+> ComponentSet for ($($name,)+) {
            const COUNT: usize = 0 $(+ $name::COUNT)+;
            const SHARED: bool = false $(|| $name::SHARED)+;
            const HAS_ENTITIES: bool = false $(|| $name::HAS_ENTITIES)+;

            fn types(each: &mut dyn FnMut(ComponentType)) {
                $($name::types(each);)+
            }

            fn shared(&self, each: &mut dyn FnMut(SharedValue)) {
                $(self.$index.shared(each);)+
            }

            fn remap_entities(&mut self, map: &mut EntityRemap<'_>) {
                $(self.$index.remap_entities(map);)+
            }

            fn duplicate_set(&mut self) -> Result<Self, ComponentType> {
                Ok(($(self.$index.duplicate_set()?,)+))
            }

            #[inline(always)]
            unsafe fn write(self, place: RowPlace) {
                let mut place = place;
                $(
                    // SAFETY: these are the part's offsets, and the caller promises the rest.
                    unsafe { self.$index.write(place) };
                    place = place.after($name::COUNT);
                )+
                let _ = place;
            }

            #[inline(always)]
            unsafe fn read(
                place: RowPlace,
                shared: &mut dyn Iterator<Item = SharedValue>,
            ) -> Self {
                let mut place = place;
                ($(
                    {
                        // SAFETY: these are the part's offsets, and the caller promises the rest.
                        let part = unsafe { $name::read(place, shared) };
                        place = place.after($name::COUNT);
                        let _ = place;
                        part
                    },
                )+)
            }
        }

        // SAFETY: each part counts its own columns, in their order.
        unsafe impl<$($name: CloneSet),+> CloneSet for ($($name,)+) {
            #[inline]
            unsafe fn fill(&self, place: RowPlace, rows: usize, done: &mut usize) {
                let mut place = place;
                $(
                    // SAFETY: these are the part's offsets, and the caller promises the rest.
                    unsafe { self.$index.fill(place, rows, done) };
                    place = place.after($name::COUNT);
                )+
                let _ = place;
            }

            fn clone_set(&mut self) -> Self {
                ($(self.$index.clone_set(),)+)
            }
        }

        // SAFETY: all methods take the columns in their order.
        unsafe impl<$($name: ComponentColumn),+> ComponentColumns for ($($name,)+) {
            type Set = ($($name::Item,)+);

            fn length(&self) -> Result<usize, WrongLength> {
                let expected = self.0.count();
                $(
                    let found = self.$index.count();
                    if found != expected {
                        return Err(WrongLength { column: $index, expected, found });
                    }
                )+
                Ok(expected)
            }

            fn is_made(_: usize) -> bool {
                false
            }

            unsafe fn write(&mut self, column: usize, from: usize, to: *mut u8, count: usize) {
                match column {
                    $(
                        // SAFETY: there are so many values from there on, and there is room for as many.
                        $index => unsafe {
                            self.$index.as_ptr().add(from).copy_to_nonoverlapping(to.cast(), count);
                        },
                    )+
                    _ => unreachable!("there is no column {column}"),
                }
            }

            fn forget(self) {
                $(self.$index.forget();)+
            }
        }
    };
}

all_tuples!(implement);

// SAFETY: there is nothing to write or to read.
unsafe impl ComponentSet for () {
    const COUNT: usize = 0;
    const HAS_ENTITIES: bool = false;

    fn types(_: &mut dyn FnMut(ComponentType)) {}

    fn remap_entities(&mut self, _: &mut EntityRemap<'_>) {}

    fn duplicate_set(&mut self) -> Result<Self, ComponentType> {
        Ok(())
    }

    #[inline]
    unsafe fn write(self, _: RowPlace) {}

    #[inline]
    unsafe fn read(_: RowPlace, _: &mut dyn Iterator<Item = SharedValue>) -> Self {}
}

// SAFETY: there are no columns.
unsafe impl CloneSet for () {
    #[inline]
    unsafe fn fill(&self, _: RowPlace, _: usize, _: &mut usize) {}

    fn clone_set(&mut self) -> Self {}
}
