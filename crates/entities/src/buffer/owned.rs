//! Owned buffers, outside of a world.

#![expect(unsafe_code, reason = "elements are moved to and out of chunks")]

use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

use super::column::{fill_buffers, write_clones, write_empty};
use super::element::LayoutOf;
use super::element::too_many;
use super::{BufferElement, Header};
use crate::component::{ComponentType, How, SharedValue};
use crate::field::EntityRemap;
use crate::set::{CloneSet, IsSet, SetKind, SetValues};
use crate::storage::RowPlace;

/// An owned list of buffer elements, which can be moved into a world or out of it.
///
/// A `Buffer` is a [set of components](crate::ComponentSet), alone and in tuples. `has`, `remove` and `archetype` take it as the
/// type of the buffer. `spawn`, `add` and `set` take its elements, and `take` returns one.
///
/// A `Buffer` can be created from a `Vec`, an array or an iterator. The memory of a `Vec` is reused unless the elements fit in
/// the chunk.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Buffer, BufferElement, Component, World};
///
/// #[derive(Component)]
/// struct Name(&'static str);
///
/// #[derive(BufferElement, Debug, PartialEq)]
/// struct Item(u32);
///
/// let mut world = World::new("Simulation");
/// let chest = world.spawn((Name("chest"), Buffer::from([Item(3), Item(5)])));
/// let hero = world.spawn((Name("hero"), Buffer::<Item>::new()));
/// let loot = world.take::<Buffer<Item>>(chest)?;
/// assert_eq!(*loot, [Item(3), Item(5)]);
/// world.buffer_mut::<Item>(hero)?.extend(loot);
/// assert!(!world.has::<Buffer<Item>>(chest));
/// # Ok::<(), ancho_entities::EntityError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[doc(alias = "IBufferElementData")]
pub struct Buffer<T> {
    /// At most `u32::MAX` elements. The capacity does not exceed `u32::MAX` either, unless the elements have no bytes.
    elements: Vec<T>,
}

impl<T> Buffer<T> {
    /// Creates an empty buffer.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::Buffer;
    ///
    /// assert!(Buffer::<u32>::new().is_empty());
    /// ```
    pub const fn new() -> Self {
        Self { elements: Vec::new() }
    }

    /// Returns the elements as a vector.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::Buffer;
    ///
    /// assert_eq!(Buffer::from([1, 2]).into_vec(), vec![1, 2]);
    /// ```
    pub fn into_vec(self) -> Vec<T> {
        self.elements
    }
}

impl<T: BufferElement> Buffer<T> {
    /// Moves the elements to a buffer in a chunk.
    ///
    /// # Safety
    ///
    /// - the address has room for a buffer of `T`
    #[inline]
    unsafe fn write_to(mut self, to: *mut Header) {
        let layout = &LayoutOf::<T>::LAYOUT;
        let len = self.elements.len();
        if layout.is_inline(len as u32) {
            // SAFETY: the address has room for a buffer, and the elements fit inline.
            unsafe {
                write_empty::<T>(to);
                let first = Header::elements::<T>(to, layout);
                first.copy_from_nonoverlapping(self.elements.as_ptr(), len);
                (*to).len = len as u32;
                (*to).capacity = layout.inline.max(len as u32);
                // The elements were moved, so they must not be dropped here.
                self.elements.set_len(0);
            }
            return;
        }
        let mut elements = ManuallyDrop::new(self.elements);
        let heap = elements.as_mut_ptr().cast();
        // The capacity fits in a `u32`: an invariant of `Buffer`.
        let capacity = elements.capacity() as u32;
        // SAFETY: the address has room for a buffer. The allocation of a vector is a block of exactly `capacity` elements.
        unsafe { to.write(Header { heap, len: len as u32, capacity }) };
    }

    /// Moves the elements out of a buffer in a chunk.
    ///
    /// # Safety
    ///
    /// - the address has a buffer of `T`, which is not used afterwards
    #[inline]
    unsafe fn read_from(from: *mut Header) -> Self {
        // SAFETY: the address has a buffer of `T`.
        let Header { heap, len, capacity } = unsafe { *from };
        let len = len as usize;
        if !heap.is_null() {
            // SAFETY: the block was allocated for exactly `capacity` elements, as that of a vector is, and `len` of them are
            // initialised.
            let elements = unsafe { Vec::from_raw_parts(heap.cast(), len, capacity as usize) };
            return Self { elements };
        }
        let mut elements = Vec::<T>::with_capacity(len);
        // SAFETY: the buffer has `len` initialised elements, and the vector has capacity for them.
        unsafe {
            let first = Header::elements::<T>(from, &LayoutOf::<T>::LAYOUT);
            elements.as_mut_ptr().copy_from_nonoverlapping(first, len);
            elements.set_len(len);
        }
        Self { elements }
    }
}

impl<T> SetKind for Buffer<T> {
    type Kind = IsSet;
}

// SAFETY: the set has one type, and the methods use one offset and one value of it.
unsafe impl<T: BufferElement> SetValues<IsSet> for Buffer<T> {
    const COUNT: usize = 1;
    const TRACKED: bool = T::TRACK_CHANGES;
    const LINKS: bool = T::REVERSE_OF.is_some();
    const HAS_BITS: bool = T::ENABLEABLE;
    const HAS_ENTITIES: bool = T::HAS_ENTITIES;

    fn types(each: &mut dyn FnMut(ComponentType)) {
        each(ComponentType::of_buffer::<T>());
    }

    fn remap_entities(&mut self, map: &mut EntityRemap<'_>) {
        self.elements.iter_mut().for_each(|element| element.remap(map));
    }

    fn duplicate_set(&mut self) -> Result<Self, ComponentType> {
        let duplicate = T::duplicate();
        let elements = self.elements.iter().map(|element| duplicate.apply(element));
        let elements: Option<Vec<T>> = elements.collect();
        elements.map(Self::from).ok_or_else(ComponentType::of_buffer::<T>)
    }

    #[inline]
    unsafe fn write(self, place: RowPlace) {
        // SAFETY: the place has a column of this type, with no value in the row.
        unsafe { self.write_to(place.bytes(LayoutOf::<T>::LAYOUT.size).cast()) }
    }

    #[inline]
    unsafe fn read(place: RowPlace, _: &mut dyn Iterator<Item = SharedValue>) -> Self {
        // SAFETY: the place has a column of this type, with a value that is not used afterwards.
        unsafe { Self::read_from(place.bytes(LayoutOf::<T>::LAYOUT.size).cast()) }
    }
}

// SAFETY: one column is written and counted.
unsafe impl<T: BufferElement + Clone> CloneSet for Buffer<T> {
    unsafe fn fill(&self, place: RowPlace, rows: usize, done: &mut usize) {
        let layout = &LayoutOf::<T>::LAYOUT;
        let capacity = layout.inline.max(self.elements.len() as u32);
        let clone: Option<fn(&T) -> T> = match T::duplicate().how {
            How::Bytes(_) => None,
            How::NotAtAll | How::Clone(_) => Some(T::clone),
        };
        // SAFETY: the place has a column of this type with room for `rows` values, and the function writes a buffer to each. The
        // type's own `duplicate` decides on copying bytes, which requires `Copy`.
        unsafe {
            fill_buffers::<T>(place.bytes(layout.size), rows, |_, to| {
                write_clones(to, &self.elements, capacity, clone);
            });
        }
        *done += 1;
    }

    fn clone_set(&mut self) -> Self {
        self.clone()
    }
}

impl<T> Default for Buffer<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> From<Vec<T>> for Buffer<T> {
    /// # Panics
    ///
    /// Panics with A0068 if there are more than `u32::MAX` elements.
    #[track_caller]
    fn from(elements: Vec<T>) -> Self {
        const MOST: usize = u32::MAX as usize;
        if elements.len() > MOST {
            too_many(elements.len());
        }
        if elements.capacity() > MOST && size_of::<T>() > 0 {
            return Self { elements: elements.into_boxed_slice().into_vec() };
        }
        Self { elements }
    }
}

impl<T, const N: usize> From<[T; N]> for Buffer<T> {
    fn from(elements: [T; N]) -> Self {
        Self::from(Vec::from(elements))
    }
}

impl<T: Clone> From<&[T]> for Buffer<T> {
    fn from(elements: &[T]) -> Self {
        Self::from(elements.to_vec())
    }
}

impl<T> FromIterator<T> for Buffer<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        Self::from(Vec::from_iter(elements))
    }
}

impl<T> From<Buffer<T>> for Vec<T> {
    fn from(buffer: Buffer<T>) -> Self {
        buffer.elements
    }
}

impl<T> IntoIterator for Buffer<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.elements.into_iter()
    }
}

impl<T> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.elements
    }
}

impl<T> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.elements
    }
}

impl<T: fmt::Debug> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.elements.fmt(f)
    }
}
