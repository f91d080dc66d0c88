//! The buffer of an entity, to be changed.

#![expect(unsafe_code, reason = "elements in chunks and on the heap")]

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::slice;

use super::element::LayoutOf;
use super::refuse::{too_many, too_small};
use super::{BufferElement, BufferLayout, Header};
use crate::field::Field;

/// The elements of an entity's buffer, to be changed: a list that can grow, in the chunk or on the heap.
///
/// It is a slice in most ways, and a `Vec` in the others. It borrows its world, so that nothing moves meanwhile. Unity's
/// `DynamicBuffer`; where names differ, the methods say so.
///
/// A buffer begins with room for its [inline](BufferElement::INLINE) elements. When one more comes than has room, the room
/// is doubled, or becomes what is needed, or 8, whichever is most. It has at most `u32::MAX` elements.
///
/// `T` is what the elements are seen as, and `S` what they are: another type only when they are
/// [reinterpreted](Self::reinterpret).
///
/// # Examples
///
/// ```
/// use ancho_entities::{BufferElement, World};
///
/// #[derive(BufferElement, Debug, PartialEq)]
/// struct Item(u32);
///
/// let mut world = World::new("Simulation");
/// let hero = world.spawn(());
/// let mut items = world.add_buffer::<Item>(hero)?;
/// items.push(Item(3));
/// items.push(Item(5));
/// items.insert(0, Item(1));
/// items[2].0 += 10;
/// assert_eq!(*items, [Item(1), Item(3), Item(15)]);
/// # Ok::<(), ancho_entities::EntityError>(())
/// ```
pub struct DynamicBuffer<'w, T, S = T> {
    header: NonNull<Header>,
    end: End<T>,
    /// Neither type may become a subtype, whose buffers may lie otherwise.
    elements: PhantomData<(&'w mut T, *mut S)>,
}

/// Where the next element goes, beside the header: what is written there cannot change this, so that a loop that pushes
/// keeps it in registers, and only writes to memory.
///
/// **Invariant:** it is as the header says, or says that there is no room.
pub(super) struct End<T> {
    pub(super) first: *mut T,
    pub(super) len: u32,
    pub(super) capacity: u32,
}

impl<T> End<T> {
    /// What is said while others may change the buffer.
    const UNKNOWN: Self = Self { first: std::ptr::null_mut(), len: 0, capacity: 0 };
}

// SAFETY: it is a mutable borrow of the elements and of the header, which is reached in no other way.
unsafe impl<T: Send, S> Send for DynamicBuffer<'_, T, S> {}

// SAFETY: shared, it is a shared borrow of the elements.
unsafe impl<T: Sync, S> Sync for DynamicBuffer<'_, T, S> {}

impl<'w, T: BufferElement> DynamicBuffer<'w, T> {
    /// The buffer at an address.
    ///
    /// # Safety
    ///
    /// - there is a buffer of `T`, which nobody else uses for the lifetime
    #[inline]
    pub(crate) unsafe fn new(header: *mut Header) -> Self {
        debug_assert!(header.is_aligned());
        // SAFETY: there is a buffer.
        Self::at(unsafe { NonNull::new_unchecked(header) })
    }
}

impl<'w, T, S: BufferElement> DynamicBuffer<'w, T, S> {
    const LAYOUT: BufferLayout = LayoutOf::<S>::LAYOUT;

    /// The buffer of a header, which is there, and nobody else's for the lifetime.
    #[inline(always)]
    fn at(header: NonNull<Header>) -> Self {
        let mut buffer = Self { header, end: End::UNKNOWN, elements: PhantomData };
        buffer.find_end();
        buffer
    }

    /// Finds out where the next element goes.
    #[inline(always)]
    pub(super) fn find_end(&mut self) {
        // SAFETY: there is a header.
        let Header { len, capacity, .. } = unsafe { *self.header() };
        self.end = End { first: self.first(), len, capacity };
    }

    /// Where the next element goes, and whether it has room.
    #[inline(always)]
    pub(super) fn end(&mut self) -> &mut End<T> {
        &mut self.end
    }

    /// The header. It is there, and nobody else uses it while this is borrowed mutably.
    #[inline(always)]
    pub(super) fn header(&self) -> *mut Header {
        self.header.as_ptr()
    }

    /// Where the elements are.
    #[inline(always)]
    pub(super) fn first(&self) -> *mut T {
        // SAFETY: there is a buffer of this layout. `T` is its element, or was found to be as large and not more aligned.
        unsafe { Header::elements::<T>(self.header(), &Self::LAYOUT) }
    }

    /// Says how many elements there are.
    ///
    /// # Safety
    ///
    /// - so many are there, and have room
    #[inline(always)]
    pub(super) unsafe fn set_len(&mut self, len: usize) {
        // SAFETY: there is a header. The number fits, since so many have room.
        unsafe { (*self.header()).len = len as u32 };
        self.find_end();
    }

    /// How many elements there are.
    #[inline]
    pub fn len(&self) -> usize {
        // SAFETY: there is a header.
        unsafe { (*self.header()).len as usize }
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many elements have room.
    #[inline]
    pub fn capacity(&self) -> usize {
        // SAFETY: there is a header.
        unsafe { (*self.header()).capacity as usize }
    }

    /// Makes room for so many elements, and not more. Unity's setter of `Capacity`.
    ///
    /// If that many are inline, the elements move to the chunk and their memory on the heap is freed.
    ///
    /// # Panics
    ///
    /// With A0067 if there are more elements, with A0068 if it is more than there can be.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{BufferElement, World};
    ///
    /// #[derive(BufferElement)]
    /// #[buffer(inline = 2)]
    /// struct Item(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let hero = world.spawn(());
    /// let mut items = world.add_buffer::<Item>(hero)?;
    /// items.set_capacity(100);
    /// assert_eq!(items.capacity(), 100);
    /// items.shrink_to_fit();
    /// assert_eq!(items.capacity(), 2);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[track_caller]
    pub fn set_capacity(&mut self, capacity: usize) {
        if capacity < self.len() {
            too_small::<S>(capacity, self.len());
        }
        let capacity = u32::try_from(capacity).unwrap_or_else(|_| too_many(capacity));
        // SAFETY: there is a buffer of this layout, with not more elements, and it is borrowed mutably.
        unsafe { Header::set_capacity(self.header(), const { &LayoutOf::<S>::LAYOUT }, capacity) };
        self.find_end();
    }

    /// Makes room for so many elements more than there are, and perhaps for others. Unity's `EnsureCapacity` is told the
    /// sum.
    ///
    /// # Panics
    ///
    /// With A0068 if that is more than there can be.
    #[inline]
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        if additional > self.capacity() - self.len() {
            let needed = self.len().saturating_add(additional);
            // SAFETY: there is a buffer of this layout, and it is borrowed mutably.
            unsafe { Header::grow(self.header(), const { &LayoutOf::<S>::LAYOUT }, needed) };
            self.find_end();
        }
    }

    /// Gives back memory that is not needed: those elements that fit are inline again, others have just the room they need.
    /// Unity's `TrimExcess`.
    pub fn shrink_to_fit(&mut self) {
        // There are at least so many, and both fit.
        self.set_capacity(self.len().max(Self::LAYOUT.inline as usize));
    }

    /// The elements.
    #[inline]
    pub fn as_slice(&self) -> &[T] {
        // SAFETY: so many elements are there, and are borrowed as this is.
        unsafe { slice::from_raw_parts(self.first(), self.len()) }
    }

    /// The elements, to be changed.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: so many elements are there, and are borrowed mutably as this is.
        unsafe { slice::from_raw_parts_mut(self.first(), self.len()) }
    }

    /// The elements, for as long as the world is borrowed.
    #[inline]
    pub fn into_mut_slice(self) -> &'w mut [T] {
        // SAFETY: so many elements are there. They were borrowed mutably for the lifetime, and this is gone.
        unsafe { slice::from_raw_parts_mut(self.first(), self.len()) }
    }

    /// The same buffer, for as long as this is borrowed: for functions that take one.
    #[inline]
    pub fn reborrow(&mut self) -> DynamicBuffer<'_, T, S> {
        self.end = End::UNKNOWN;
        DynamicBuffer::at(self.header)
    }

    /// The same buffer, with its elements seen as another type. What is changed in it is changed here.
    ///
    /// It compiles if both types are as large, the other is not more aligned, and for both of them any bytes are a value
    /// and all bytes of a value can be read: numbers, and structs of numbers without padding. Then nothing can go wrong.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{BufferElement, World};
    ///
    /// #[derive(BufferElement)]
    /// struct Weight(f32);
    ///
    /// let mut world = World::new("Simulation");
    /// let mesh = world.spawn(());
    /// let mut weights = world.add_buffer::<Weight>(mesh)?;
    /// weights.push(Weight(1.0));
    /// let mut bits = weights.reinterpret::<u32>();
    /// assert_eq!(*bits, [0x3F80_0000]);
    /// bits.push(0x4000_0000);
    /// assert_eq!(weights[1].0, 2.0);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    ///
    /// A `bool` has bytes that are none of its values:
    ///
    /// ```compile_fail,E0080
    /// use ancho_entities::{BufferElement, World};
    ///
    /// #[derive(BufferElement)]
    /// struct Level(u8);
    ///
    /// let mut world = World::new("Simulation");
    /// let entity = world.spawn(());
    /// world.add_buffer::<Level>(entity).unwrap().reinterpret::<bool>();
    /// ```
    #[inline]
    pub fn reinterpret<U: Field>(&mut self) -> DynamicBuffer<'_, U, S>
    where
        T: Field,
    {
        const {
            assert!(
                size_of::<U>() == size_of::<T>(),
                "A0069: elements of a buffer can be seen as another type only if that is as large"
            );
            assert!(
                align_of::<U>() <= align_of::<S>(),
                "A0069: elements of a buffer can be seen as another type only if that is not more aligned"
            );
            assert!(
                T::SHAPE.plain && T::SHAPE.any_bits && U::SHAPE.plain && U::SHAPE.any_bits,
                "A0069: elements of a buffer can be seen as another type only if both are numbers, or consist of numbers \
                 without padding"
            );
        }
        // Every element is a value of the one type and of the other, `Field` promises: all bytes are initialised, and any
        // bytes are a value that need not be dropped. The layout goes on to be that of `S`.
        self.end = End::UNKNOWN;
        DynamicBuffer::at(self.header)
    }
}

impl<T, S: BufferElement> Deref for DynamicBuffer<'_, T, S> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        self.as_slice()
    }
}

impl<T, S: BufferElement> DerefMut for DynamicBuffer<'_, T, S> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        self.as_mut_slice()
    }
}

impl<'a, T, S: BufferElement> IntoIterator for &'a DynamicBuffer<'_, T, S> {
    type Item = &'a T;
    type IntoIter = slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T, S: BufferElement> IntoIterator for &'a mut DynamicBuffer<'_, T, S> {
    type Item = &'a mut T;
    type IntoIter = slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<T: fmt::Debug, S: BufferElement> fmt::Debug for DynamicBuffer<'_, T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}
