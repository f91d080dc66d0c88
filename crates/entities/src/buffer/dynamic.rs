//! The buffer of an entity, to be changed.
#![expect(unsafe_code, reason = "elements in chunks and on the heap")]

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, RangeBounds};
use std::ptr::NonNull;
use std::{fmt, ptr, slice};

use super::element::LayoutOf;
use super::element::{check_range, no_element, no_place, too_many, too_small};
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
    const UNKNOWN: Self = Self { first: ptr::null_mut(), len: 0, capacity: 0 };
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

impl<T, S: BufferElement> DynamicBuffer<'_, T, S> {
    /// Adds an element behind the last. Unity's `Add`.
    ///
    /// # Panics
    ///
    /// With A0068 if there are `u32::MAX` already.
    #[inline]
    #[track_caller]
    pub fn push(&mut self, element: T) {
        if self.end().len == self.end().capacity {
            // There is no room, or that is not known.
            self.reserve(1);
            self.find_end();
        }
        let header = self.header();
        let end = self.end();
        // SAFETY: there is room for one more, and it is there now.
        unsafe {
            end.first.add(end.len as usize).write(element);
            (*header).len = end.len + 1;
        }
        end.len += 1;
    }

    /// Removes the last element, if there is one.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let last = self.len().checked_sub(1)?;
        // SAFETY: it is there, and does not count any more.
        unsafe {
            self.set_len(last);
            Some(self.first().add(last).read())
        }
    }

    /// Adds an element before that of an index, or behind the last. Those behind it move on.
    ///
    /// # Panics
    ///
    /// With A0066 if the index is above the length, with A0068 if there are `u32::MAX` already. The element is dropped
    /// then, and the buffer is as it was.
    ///
    /// # Examples
    ///
    /// ```
    /// # use ancho_entities::{Buffer, BufferElement, World};
    /// # #[derive(BufferElement, Debug, PartialEq)]
    /// # struct Item(u32);
    /// # let mut world = World::new("Simulation");
    /// let hero = world.spawn(Buffer::from([Item(1), Item(3)]));
    /// world.buffer_mut::<Item>(hero)?.insert(1, Item(2));
    /// assert_eq!(world.buffer::<Item>(hero)?, [Item(1), Item(2), Item(3)]);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[track_caller]
    pub fn insert(&mut self, index: usize, element: T) {
        let len = self.len();
        if index > len {
            no_place::<S>(index, len);
        }
        self.reserve(1);
        // SAFETY: there is room for one more. Those from the index on move by one, and what is there is written over.
        unsafe {
            let place = self.first().add(index);
            ptr::copy(place, place.add(1), len - index);
            place.write(element);
            self.set_len(len + 1);
        }
    }

    /// Removes the element of an index, and returns it. Those behind it move up. Unity's `RemoveAt`.
    ///
    /// # Panics
    ///
    /// With A0066 if there is none.
    #[track_caller]
    pub fn remove(&mut self, index: usize) -> T {
        let len = self.len();
        if index >= len {
            no_element::<S>(index, len);
        }
        // SAFETY: it is there, and is written over by those behind it, or does not count any more.
        unsafe {
            let place = self.first().add(index);
            let element = place.read();
            ptr::copy(place.add(1), place, len - index - 1);
            self.set_len(len - 1);
            element
        }
    }

    /// Removes the element of an index, and returns it. The last one takes its place. Unity's `RemoveAtSwapBack`.
    ///
    /// # Panics
    ///
    /// With A0066 if there is none.
    #[track_caller]
    pub fn swap_remove(&mut self, index: usize) -> T {
        let len = self.len();
        if index >= len {
            no_element::<S>(index, len);
        }
        // SAFETY: both are there, perhaps the same. The last does not count any more.
        unsafe {
            let place = self.first().add(index);
            let element = place.read();
            ptr::copy(self.first().add(len - 1), place, 1);
            self.set_len(len - 1);
            element
        }
    }

    /// Removes the elements of a range. Those behind it move up.
    ///
    /// # Panics
    ///
    /// With A0066 if there is no such range.
    ///
    /// # Examples
    ///
    /// ```
    /// # use ancho_entities::{Buffer, BufferElement, World};
    /// # #[derive(BufferElement, Debug, PartialEq)]
    /// # struct Item(u32);
    /// # let mut world = World::new("Simulation");
    /// let hero = world.spawn((0..6).map(Item).collect::<Buffer<Item>>());
    /// let mut items = world.buffer_mut::<Item>(hero)?;
    /// items.remove_range(1..3);
    /// assert_eq!(*items, [Item(0), Item(3), Item(4), Item(5)]);
    /// items.swap_remove_range(..1);
    /// assert_eq!(*items, [Item(5), Item(3), Item(4)]);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[track_caller]
    pub fn remove_range(&mut self, range: impl RangeBounds<usize>) {
        let (start, end) = check_range::<S>(&range, self.len());
        let moved = self.len() - end;
        self.close_gap(start, end, moved);
    }

    /// Removes the elements of a range. As many of the last take their places, in their order. Unity's
    /// `RemoveRangeSwapBack`.
    ///
    /// # Panics
    ///
    /// With A0066 if there is no such range.
    #[track_caller]
    pub fn swap_remove_range(&mut self, range: impl RangeBounds<usize>) {
        let (start, end) = check_range::<S>(&range, self.len());
        let moved = (self.len() - end).min(end - start);
        self.close_gap(start, end, moved);
    }

    /// Drops the elements of a range, then moves so many of the last to where it began.
    ///
    /// So many are enough to fill the gap, or all that are behind it.
    fn close_gap(&mut self, start: usize, end: usize, moved: usize) {
        /// Closes the gap also when an element panics. The others are dropped then all the same.
        struct Gap<'a, 'w, T, S: BufferElement> {
            buffer: &'a mut DynamicBuffer<'w, T, S>,
            start: usize,
            /// The first of those that move, and how many.
            tail: (usize, usize),
            len: usize,
        }

        impl<T, S: BufferElement> Drop for Gap<'_, '_, T, S> {
            fn drop(&mut self) {
                let first = self.buffer.first();
                let (tail, moved) = self.tail;
                // SAFETY: those of the gap are dropped, and those that move are behind it. What counts then is there.
                unsafe {
                    ptr::copy(first.add(tail), first.add(self.start), moved);
                    self.buffer.set_len(self.len);
                }
            }
        }

        let len = self.len();
        let removed = end - start;
        // SAFETY: those before the gap are there.
        unsafe { self.set_len(start) };
        let tail = (len - moved, moved);
        let gap = Gap { buffer: self, start, tail, len: len - removed };
        // SAFETY: they are there, and are not used afterwards.
        unsafe {
            let first = gap.buffer.first().add(start);
            ptr::drop_in_place(ptr::slice_from_raw_parts_mut(first, removed));
        }
    }

    /// Removes all elements from an index on. The room stays.
    ///
    /// Does nothing if there are fewer.
    pub fn truncate(&mut self, len: usize) {
        let old = self.len();
        if len < old {
            // SAFETY: they are there, and do not count any more.
            unsafe {
                self.set_len(len);
                let first = self.first().add(len);
                ptr::drop_in_place(ptr::slice_from_raw_parts_mut(first, old - len));
            }
        }
    }

    /// Removes all elements. The room stays.
    pub fn clear(&mut self) {
        self.truncate(0);
    }

    /// Removes elements until there are so many, or adds clones of this one.
    ///
    /// # Panics
    ///
    /// With A0068 if there cannot be so many.
    #[track_caller]
    pub fn resize(&mut self, len: usize, element: T)
    where
        T: Clone,
    {
        self.resize_with(len, || element.clone());
    }

    /// Removes elements until there are so many, or adds what the function makes. Unity's `Resize` adds zeros.
    ///
    /// # Panics
    ///
    /// With A0068 if there cannot be so many. If the function panics, what it has made before is there.
    ///
    /// # Examples
    ///
    /// ```
    /// # use ancho_entities::{Buffer, BufferElement, World};
    /// # #[derive(BufferElement, Debug, Default, PartialEq)]
    /// # struct Item(u32);
    /// # let mut world = World::new("Simulation");
    /// let hero = world.spawn(Buffer::from([Item(1)]));
    /// let mut items = world.buffer_mut::<Item>(hero)?;
    /// items.resize_with(3, Item::default);
    /// assert_eq!(*items, [Item(1), Item(0), Item(0)]);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[track_caller]
    pub fn resize_with(&mut self, len: usize, mut make: impl FnMut() -> T) {
        self.truncate(len);
        let more = len - self.len();
        self.reserve(more);
        // SAFETY: there is room for so many.
        unsafe { self.fill(more, |_| make()) };
    }

    /// Adds clones of all elements of a slice. Unity's `AddRange`.
    ///
    /// # Panics
    ///
    /// With A0068 if there cannot be so many. If an element panics when it is cloned, those before it are there.
    #[track_caller]
    pub fn extend_from_slice(&mut self, elements: &[T])
    where
        T: Clone,
    {
        self.reserve(elements.len());
        // SAFETY: there is room for so many.
        unsafe { self.fill(elements.len(), |index| elements[index].clone()) };
    }

    /// Replaces all elements by clones of those of a slice. Unity's `CopyFrom`.
    ///
    /// # Panics
    ///
    /// With A0068 if there cannot be so many; then the buffer is as it was. If an element panics when it is cloned, those
    /// before it are there.
    #[track_caller]
    pub fn copy_from(&mut self, elements: &[T])
    where
        T: Clone,
    {
        self.reserve(elements.len().saturating_sub(self.len()));
        self.clear();
        // SAFETY: there is room for so many.
        unsafe { self.fill(elements.len(), |index| elements[index].clone()) };
    }

    /// Adds so many elements that `make` makes, and counts them also when it panics.
    ///
    /// # Safety
    ///
    /// - there is room for so many
    unsafe fn fill(&mut self, count: usize, mut make: impl FnMut(usize) -> T) {
        /// Counts what was written when it goes: not in the loop, where it would be written to memory each time.
        struct Count<'a, 'w, T, S: BufferElement> {
            buffer: &'a mut DynamicBuffer<'w, T, S>,
            len: usize,
        }

        impl<T, S: BufferElement> Drop for Count<'_, '_, T, S> {
            fn drop(&mut self) {
                // SAFETY: so many were written.
                unsafe { self.buffer.set_len(self.len) };
            }
        }

        let len = self.len();
        let first = self.first();
        let mut counted = Count { buffer: self, len };
        for index in 0..count {
            let element = make(index);
            // SAFETY: there is room for it.
            unsafe { first.add(len + index).write(element) };
            counted.len = len + index + 1;
        }
    }
}

impl<T, S: BufferElement> Extend<T> for DynamicBuffer<'_, T, S> {
    #[track_caller]
    fn extend<I: IntoIterator<Item = T>>(&mut self, elements: I) {
        let elements = elements.into_iter();
        self.reserve(elements.size_hint().0);
        for element in elements {
            self.push(element);
        }
    }
}

impl<'a, T: Copy + 'a, S: BufferElement> Extend<&'a T> for DynamicBuffer<'_, T, S> {
    #[track_caller]
    fn extend<I: IntoIterator<Item = &'a T>>(&mut self, elements: I) {
        self.extend(elements.into_iter().copied());
    }
}
