//! Tuples as sets of components, and tuples of columns.

#![expect(unsafe_code, reason = "implements the traits of sets")]

use super::{CloneSet, ComponentColumn, ComponentColumns, ComponentSet, WrongLength};
use crate::all_tuples::all_tuples;
use crate::component::{ComponentType, SharedValue};
use crate::field::EntityRemap;
use crate::storage::RowPlace;

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
