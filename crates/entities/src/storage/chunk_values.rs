//! Values that a chunk has for itself, beside those of its entities.

#![expect(
    unsafe_code,
    reason = "values whose type is not known, in memory at an address that stays"
)]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::mem;
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;

use super::raw_values::duplicate_value;
use crate::component::{ChunkValue, ComponentType};

/// Where the values lie that each chunk of an archetype has.
pub(crate) struct ValueLayout {
    layout: Layout,
    places: Box<[ValuePlace]>,
}

/// Where one of them lies.
struct ValuePlace {
    /// The column of the type among those of the archetype, which has no bytes in the chunk.
    column: u32,
    offset: usize,
    value: ChunkValue,
}

impl ValueLayout {
    /// The layout for the types of an archetype. `None` if none of them is one of chunks.
    pub(crate) fn new(types: &[ComponentType]) -> Option<Arc<Self>> {
        let mut layout = Layout::new::<()>();
        let mut places = Vec::new();
        let mut extend = |value: Layout| {
            let (together, offset) = layout.extend(value).expect("values that fit in memory");
            layout = together;
            offset
        };
        for (column, ty) in (0..).zip(types) {
            let Some(value) = ty.0.per_chunk else { continue };
            let one = Layout::from_size_align(value.of.size(), value.of.align());
            let offset = extend(one.expect("the layout of a type"));
            places.push(ValuePlace { column, offset, value });
        }
        // So that there is something to be allocated also if no value has bytes.
        extend(Layout::new::<u8>());
        (!places.is_empty()).then(|| Arc::new(Self { layout, places: places.into() }))
    }
}

/// The values of one chunk: one of each type that the archetype has for its chunks.
///
/// They are in memory of their own, and not in the chunk, which is for entities. That memory is never shared and never
/// moves, so that its address can be given to others as long as the chunk is there.
pub(crate) struct ChunkValues {
    memory: NonNull<u8>,
    /// `None` if there are no values, and no memory.
    layout: Option<Arc<ValueLayout>>,
}

// SAFETY: it owns its memory, as a box does, and components are `Send`.
unsafe impl Send for ChunkValues {}

impl ChunkValues {
    /// No values.
    pub(crate) const NONE: Self = Self { memory: NonNull::dangling(), layout: None };

    /// The values that a chunk begins with. Code of the user runs; if it panics, nothing is left.
    pub(crate) fn initial(layout: Option<&Arc<ValueLayout>>) -> Self {
        let Some(layout) = layout else { return Self::NONE };
        // SAFETY: one value of the type is written, unless it panics.
        unsafe { Self::fill(layout, |place, to| (place.value.write_default)(to.as_ptr(), 1)) }
    }

    /// Copies of the values. Code of the user runs; if it panics, nothing is left.
    ///
    /// # Safety
    ///
    /// - the types can all be duplicated
    pub(crate) unsafe fn duplicate(&self) -> Self {
        let Some(layout) = &self.layout else { return Self::NONE };
        // SAFETY: one value of the type is written, unless it panics. It can be duplicated, as the caller promises.
        unsafe {
            Self::fill(layout, |place, to| {
                let value = self.memory.add(place.offset);
                duplicate_value(place.value.of, value.as_ptr(), to.as_ptr(), 1);
            })
        }
    }

    /// Values that a function writes one after the other.
    ///
    /// # Safety
    ///
    /// - the function writes a value of the type of the place, unless it panics
    unsafe fn fill(layout: &Arc<ValueLayout>, write: impl Fn(&ValuePlace, NonNull<u8>)) -> Self {
        /// Those that were written: dropped if something panics before the last.
        struct Written<'a> {
            memory: NonNull<u8>,
            layout: &'a ValueLayout,
            count: usize,
        }

        impl Drop for Written<'_> {
            fn drop(&mut self) {
                let places = self.layout.places[..self.count].iter();
                Rest { memory: self.memory, layout: self.layout.layout, places }.go_on();
            }
        }

        // SAFETY: the layout has a size.
        let memory = unsafe { alloc(layout.layout) };
        let memory = NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(layout.layout));
        let mut written = Written { memory, layout, count: 0 };
        for place in &layout.places {
            // SAFETY: the place is in the memory.
            write(place, unsafe { memory.add(place.offset) });
            written.count += 1;
        }
        mem::forget(written);
        Self { memory, layout: Some(Arc::clone(layout)) }
    }

    /// Lets them be of this layout, which is one for the same types.
    pub(super) fn relabel(&mut self, layout: Option<&Arc<ValueLayout>>) {
        debug_assert_eq!(self.layout.is_some(), layout.is_some());
        self.layout = layout.cloned();
    }

    /// The value of a column, if that is one of chunks.
    pub(crate) fn find(&self, column: u32) -> Option<NonNull<u8>> {
        self.iter().find(|&(found, ..)| found == column).map(|(.., value)| value)
    }

    /// All values: their columns, their types, and where they are.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, ComponentType, NonNull<u8>)> {
        let places = self.layout.as_ref().map_or(&[][..], |layout| &layout.places);
        places.iter().map(|place| {
            // SAFETY: the place is in the memory.
            (place.column, place.value.of, unsafe { self.memory.add(place.offset) })
        })
    }

    /// Whether they are of this layout.
    pub(crate) fn is_of(&self, layout: Option<&Arc<ValueLayout>>) -> bool {
        self.layout.as_ref().map(Arc::as_ptr) == layout.map(Arc::as_ptr)
    }
}

impl Drop for ChunkValues {
    fn drop(&mut self) {
        if let Some(layout) = &self.layout {
            Rest { memory: self.memory, layout: layout.layout, places: layout.places.iter() }
                .go_on();
        }
    }
}

/// Values that are to be dropped, all of them also when one panics, and the memory after them.
struct Rest<'a> {
    memory: NonNull<u8>,
    layout: Layout,
    places: slice::Iter<'a, ValuePlace>,
}

impl Rest<'_> {
    fn go_on(&mut self) {
        for place in self.places.by_ref() {
            if let Some(drop) = place.value.of.0.drop {
                // SAFETY: there is a value of this type, which is not used afterwards.
                unsafe { drop(self.memory.add(place.offset).as_ptr(), 1) };
            }
        }
    }
}

impl Drop for Rest<'_> {
    fn drop(&mut self) {
        self.go_on();
        // SAFETY: it was allocated with this layout, and is not used afterwards.
        unsafe { dealloc(self.memory.as_ptr(), self.layout) };
    }
}
