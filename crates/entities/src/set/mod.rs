//! Sets of components, for creating and changing entities.
#![expect(unsafe_code, reason = "values are written to and read from rows of chunks")]

use std::mem::ManuallyDrop;
use std::ptr;

pub(crate) use columns::WrongLength;
pub use columns::{Columns, ComponentColumn, ComponentColumns};

use crate::all_tuples::all_tuples;
use crate::component::{
    Component, ComponentType, RelationshipInfo, RequireVisitor, RequiredValue, SharedValue, Written,
};
use crate::entity::Entity;
use crate::field::{EntityRemap, Field};
use crate::storage::RowPlace;

mod columns;

/// A set of components: a component, a tuple of sets, or the empty set `()`.
///
/// The order of the components does not matter. A type must not occur twice.
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
/// `#[derive(Bundle)]` makes a struct a set. Its fields are sets, in any nesting. A field with `#[bundle(ignore)]` is not part of the
/// set: its type has a default and needs no drop. The struct is a [`CloneSet`] if all its fields are. A bundle is only a way to write
/// several components: no query and no event names it.
///
/// ```
/// use ancho_entities::{Bundle, Component, World};
///
/// #[derive(Component, Debug, PartialEq)]
/// struct Health(u32);
///
/// #[derive(Component, Debug, PartialEq)]
/// struct Speed(f32);
///
/// #[derive(Bundle, Debug, PartialEq)]
/// struct Horse {
///     health: Health,
///     speed: Speed,
/// }
///
/// let mut world = World::new("Simulation");
/// let horse = world.spawn(Horse { health: Health(50), speed: Speed(9.0) });
/// assert_eq!(world.get(horse), Ok(&Speed(9.0)));
/// assert_eq!(world.take::<Horse>(horse)?, Horse { health: Health(50), speed: Speed(9.0) });
/// # Ok::<(), ancho_entities::EntityError>(())
/// ```
///
/// This trait is sealed: only the derive implements it outside of this crate.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a set of components",
    label = "neither a component nor a tuple of components",
    note = "write `#[derive(Component)]` on the type; tuples of up to 16 components and structs with `#[derive(Bundle)]` are sets, \
            and can be nested",
    note = "wrap shared components, elements of buffers and managed components: `Shared::new(value)`, `Buffer::from([element])`, \
            `Managed::new(value)`"
)]
#[doc(alias = "Bundle")]
#[doc(alias = "ComponentTypeSet")]
pub trait ComponentSet: SetKind + SetValues<<Self as SetKind>::Kind> {}

impl<S: SetKind + SetValues<<S as SetKind>::Kind>> ComponentSet for S {}

/// The kind of a set, which selects its implementation of [`SetValues`].
///
/// A tuple is of its kind whatever its elements are. For a tuple the compiler then has one implementation of `SetValues` to check,
/// and names the element that is not a component instead of the tuple.
pub trait SetKind {
    /// [`IsComponent`] or [`IsSet`].
    type Kind;
}

/// Kind of a set that is one [`Component`].
#[derive(Debug)]
pub struct IsComponent;

/// Kind of tuples, and of wrappers such as [`Shared`](crate::Shared).
#[derive(Debug)]
pub struct IsSet;

impl<T: Component> SetKind for T {
    type Kind = IsComponent;
}

/// The methods of a [`ComponentSet`], for a set of this kind.
///
/// # Safety
///
/// The trait must not be implemented outside of this crate, because the contract between its methods may change.
pub unsafe trait SetValues<Kind>: Sized + Send + Sync + 'static {
    /// The number of components in the set.
    #[doc(hidden)]
    const COUNT: usize;

    /// True if the set contains shared components, whose values are not stored in rows.
    #[doc(hidden)]
    const SHARED: bool = false;

    /// True if the set contains a type of a relationship.
    #[doc(hidden)]
    const LINKS: bool = false;

    /// True if the components may contain entities.
    #[doc(hidden)]
    const HAS_ENTITIES: bool;

    /// True if all components of the set are enableable.
    #[doc(hidden)]
    const HAS_BITS: bool = false;

    /// True if all components of the set track changes.
    #[doc(hidden)]
    const TRACKED: bool = false;

    /// True if components of the set require others.
    #[doc(hidden)]
    const REQUIRES: bool = false;

    /// Calls the function with the type of each component. All methods use this order.
    #[doc(hidden)]
    fn types(each: &mut dyn FnMut(ComponentType));

    /// Visits the components that those of the set require directly, in the order of `types`.
    #[doc(hidden)]
    #[inline(always)]
    fn require<V: RequireVisitor>(_visitor: &mut V) {}

    /// Calls the function with the value of each shared component, in the order of `types`.
    #[doc(hidden)]
    fn shared(&self, _each: &mut dyn FnMut(SharedValue)) {}

    /// Calls the function with the target of each source component.
    #[doc(hidden)]
    fn links(&self, _each: &mut dyn FnMut(&'static RelationshipInfo, Entity)) {}

    /// Replaces the entities in the components.
    #[doc(hidden)]
    fn remap_entities(&mut self, map: &mut EntityRemap<'_>);

    /// Duplicates the set. Its components are duplicated like those of a world that is copied.
    ///
    /// # Errors
    ///
    /// Returns a type whose values cannot be duplicated.
    #[doc(hidden)]
    fn duplicate_set(&mut self) -> Result<Self, ComponentType>;

    /// Moves the components to a row. The values of shared components are not written, but dropped.
    ///
    /// # Safety
    ///
    /// - the place has `COUNT` offsets, in the order of `types`
    /// - the row's columns have no values, or none that need to be dropped
    #[doc(hidden)]
    unsafe fn write(self, place: RowPlace);

    /// Moves the components out of a row. The values of shared components come from `shared`, in the order of `types`.
    ///
    /// # Safety
    ///
    /// - the place has `COUNT` offsets, in the order of `types`
    /// - the row's columns have values, which are not used afterwards
    #[doc(hidden)]
    unsafe fn read(place: RowPlace, shared: &mut dyn Iterator<Item = SharedValue>) -> Self;
}

/// A set of components that are all `Clone`.
///
/// # Safety
///
/// The trait must not be implemented outside of this crate.
#[diagnostic::on_unimplemented(
    message = "the components of `{Self}` cannot all be cloned",
    label = "a component that is not `Clone`",
    note = "write `#[derive(Clone)]` on its type, or spawn from an iterator with `spawn_batch`"
)]
pub unsafe trait CloneSet: ComponentSet {
    /// Writes clones of the components to `rows` rows, beginning at the place, and counts the finished columns.
    ///
    /// # Safety
    ///
    /// - the place has `COUNT` offsets, in the order of `types`
    /// - the `rows` rows that begin at the place have no values that need to be dropped
    /// - no other thread uses the set during the call, because it may have values that are not `Sync`
    #[doc(hidden)]
    unsafe fn fill(&self, place: RowPlace, rows: usize, done: &mut usize);

    /// Clones the components. The borrow is mutable, because some components may be accessed by only one thread.
    #[doc(hidden)]
    fn clone_set(&mut self) -> Self;
}

// SAFETY: the set has one type, and the methods use one offset and one value of it.
unsafe impl<T: Component> SetValues<IsComponent> for T {
    const COUNT: usize = 1;
    const LINKS: bool = T::RELATIONSHIP.is_some();
    const HAS_ENTITIES: bool = <T as Field>::HAS_ENTITIES;
    const REQUIRES: bool = T::REQUIRES;
    const TRACKED: bool = T::TRACK_CHANGES;
    const HAS_BITS: bool = T::ENABLEABLE;

    fn types(each: &mut dyn FnMut(ComponentType)) {
        each(ComponentType::of::<T>());
    }

    #[inline(always)]
    fn require<V: RequireVisitor>(visitor: &mut V) {
        <T as Component>::require(visitor);
    }

    fn links(&self, each: &mut dyn FnMut(&'static RelationshipInfo, Entity)) {
        if T::RELATIONSHIP.is_some()
            && let Some(relationship) = ComponentType::of::<T>().0.relationship
        {
            // SAFETY: the relationship of a registered type reads values of the type.
            let target = unsafe { (relationship.target)(ptr::from_ref(self).cast()) };
            each(relationship, target);
        }
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

// SAFETY: one column is written and counted.
unsafe impl<T: Component + Clone> CloneSet for T {
    #[inline]
    unsafe fn fill(&self, place: RowPlace, rows: usize, done: &mut usize) {
        // SAFETY: the place has a column of this type, with room for `rows` values.
        unsafe { Written::fill(place.value::<T>(), rows, |_| self.clone()) };
        *done += 1;
    }

    fn clone_set(&mut self) -> Self {
        self.clone()
    }
}

/// A set of which all components are `Clone`, with a lifetime that has no meaning. A derive can name it in a bound that does not hold.
#[doc(hidden)]
pub trait CloneSetFor<'a>: CloneSet {}

impl<S: CloneSet> CloneSetFor<'_> for S {}

// SAFETY: a set of one component writes a value of its type.
unsafe impl<S: ComponentSet> RequiredValue for S {
    fn component_type() -> ComponentType {
        let mut found = None;
        S::types(&mut |ty| found = Some(ty));
        found.expect("a required component is one component")
    }

    #[inline(always)]
    unsafe fn write_to(self, to: *mut u8) {
        const {
            assert!(
                S::COUNT == 1 && !S::SHARED && !S::LINKS,
                "a component requires single components, buffers and managed components; shared components, relationships and \
                 bundles cannot be required"
            );
        }
        // SAFETY: the address has room for a value, and the set has one component.
        unsafe { self.write(RowPlace::new(to, &[0], 0)) }
    }

    #[inline(always)]
    fn require<V: RequireVisitor>(visitor: &mut V) {
        <S as SetValues<<S as SetKind>::Kind>>::require(visitor);
    }
}

/// Implements the traits for a tuple of elements, given with their indices.
///
/// The offsets and types of an element follow those of the preceding elements.
macro_rules! implement {
    ($($name:ident $index:tt,)+) => {
        impl<$($name),+> SetKind for ($($name,)+) {
            type Kind = IsSet;
        }

        // SAFETY: each element gets the offsets of its own types, because offsets and types are both in the order of the
        // elements.
        unsafe impl<$($name: ComponentSet),+> SetValues<IsSet> for ($($name,)+) {
            const COUNT: usize = 0 $(+ $name::COUNT)+;
            const SHARED: bool = false $(|| $name::SHARED)+;
            const LINKS: bool = false $(|| $name::LINKS)+;
            const HAS_ENTITIES: bool = false $(|| $name::HAS_ENTITIES)+;
            const REQUIRES: bool = false $(|| $name::REQUIRES)+;
            const TRACKED: bool = true $(&& $name::TRACKED)+;
            const HAS_BITS: bool = true $(&& $name::HAS_BITS)+;

            fn types(each: &mut dyn FnMut(ComponentType)) {
                $($name::types(each);)+
            }

            #[inline(always)]
            fn require<V: RequireVisitor>(visitor: &mut V) {
                $(<$name as SetValues<<$name as SetKind>::Kind>>::require(visitor);)+
            }

            fn shared(&self, each: &mut dyn FnMut(SharedValue)) {
                $(self.$index.shared(each);)+
            }

            fn links(&self, each: &mut dyn FnMut(&'static RelationshipInfo, Entity)) {
                $(self.$index.links(each);)+
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
                    // SAFETY: the place has the offsets of this element, and the row's columns have no values that need to be
                    // dropped.
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
                // If reading an element panics, the row still owns the values of the others.
                let parts = ($(
                    {
                        // SAFETY: the place has the offsets of this element, and the row's columns have values, which are not used
                        // afterwards.
                        let part = unsafe { $name::read(place, shared) };
                        place = place.after($name::COUNT);
                        let _ = place;
                        ManuallyDrop::new(part)
                    },
                )+);
                ($(ManuallyDrop::into_inner(parts.$index),)+)
            }
        }

        // SAFETY: each element counts its own columns, in the order of the types.
        unsafe impl<$($name: CloneSet),+> CloneSet for ($($name,)+) {
            #[inline]
            unsafe fn fill(&self, place: RowPlace, rows: usize, done: &mut usize) {
                let mut place = place;
                $(
                    // SAFETY: the place has the offsets of this element, `rows` rows have no values that need to be dropped, and no
                    // other thread uses the set.
                    unsafe { self.$index.fill(place, rows, done) };
                    place = place.after($name::COUNT);
                )+
                let _ = place;
            }

            fn clone_set(&mut self) -> Self {
                ($(self.$index.clone_set(),)+)
            }
        }

        // SAFETY: all methods number the columns in the order of the elements.
        unsafe impl<$($name: ComponentColumn),+> ComponentColumns for ($($name,)+) {
            type Set = ($($name::Item,)+);

            fn length(&self) -> Result<usize, WrongLength> {
                let expected = self.0.values().len();
                $(
                    let found = self.$index.values().len();
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
                        // SAFETY: the address has room for `count` values of the column's type. The slice has `count` values.
                        $index => unsafe {
                            let values = &self.$index.values()[from..from + count];
                            values.as_ptr().copy_to_nonoverlapping(to.cast(), count);
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

impl SetKind for () {
    type Kind = IsSet;
}

// SAFETY: the set has no components, so nothing is written or read.
unsafe impl SetValues<IsSet> for () {
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

// SAFETY: the set has no columns to write or to count.
unsafe impl CloneSet for () {
    #[inline]
    unsafe fn fill(&self, _: RowPlace, _: usize, _: &mut usize) {}

    fn clone_set(&mut self) -> Self {}
}
