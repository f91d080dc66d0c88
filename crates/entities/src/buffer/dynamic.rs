//! Mutable access to the buffer of an entity.
#![expect(unsafe_code, reason = "elements in chunks and on the heap")]

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, RangeBounds};
use std::ptr::NonNull;
use std::{fmt, ptr, slice};

use super::element::{BufferMisuse, LayoutOf, check_range, refuse, too_many};
use super::{BufferElement, BufferLayout, Header};
use crate::field::Field;

/// A mutable view of an entity's buffer, which is a growable list in the chunk or on the heap.
///
/// The view dereferences to a slice and has the methods of a `Vec`. It borrows the world, so that entities do not move while it
/// exists. This is Unity's `DynamicBuffer`. The documentation of the methods gives Unity's names where they differ.
///
/// A buffer starts with the capacity of its [inline](BufferElement::INLINE) elements. When it is full, it grows to twice the
/// capacity, the required capacity or 8, whichever is largest. The maximum is `u32::MAX` elements.
///
/// `T` is the type as which the elements are viewed, and `S` the type as which they are stored. The two types differ only if the
/// buffer is [reinterpreted](Self::reinterpret).
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
    /// Makes the view invariant in both types, because the buffers of a subtype may have another layout.
    elements: PhantomData<(&'w mut T, *mut S)>,
}

/// A cached copy of the end of a buffer. It cannot alias the elements, so that a loop of `push` keeps it in registers.
///
/// **Invariant:** the copy agrees with the header, or has no room left.
pub(super) struct End<T> {
    pub(super) first: *mut T,
    pub(super) len: u32,
    pub(super) capacity: u32,
}

impl<T> End<T> {
    /// The value of the cached end while other code may change the buffer.
    const UNKNOWN: Self = Self { first: ptr::null_mut(), len: 0, capacity: 0 };
}

// SAFETY: a `DynamicBuffer` is an exclusive borrow of the header and of the elements, which are `Send`.
unsafe impl<T: Send, S> Send for DynamicBuffer<'_, T, S> {}

// SAFETY: a shared reference to a `DynamicBuffer` is a shared borrow of the elements, which are `Sync`.
unsafe impl<T: Sync, S> Sync for DynamicBuffer<'_, T, S> {}

impl<'w, T: BufferElement> DynamicBuffer<'w, T> {
    /// Creates a view of the buffer at an address.
    ///
    /// # Safety
    ///
    /// - the address has a buffer of `T`, which no other code uses for the lifetime
    #[inline]
    pub(crate) unsafe fn new(header: *mut Header) -> Self {
        debug_assert!(header.is_aligned());
        // SAFETY: the address has a buffer, so it is not null.
        Self::at(unsafe { NonNull::new_unchecked(header) })
    }
}

impl<'w, T, S: BufferElement> DynamicBuffer<'w, T, S> {
    const LAYOUT: BufferLayout = LayoutOf::<S>::LAYOUT;

    /// Creates a view of an existing buffer, which no other code uses for the lifetime.
    #[inline(always)]
    fn at(header: NonNull<Header>) -> Self {
        let mut buffer = Self { header, end: End::UNKNOWN, elements: PhantomData };
        buffer.find_end();
        buffer
    }

    /// Refreshes the cached end from the header.
    #[inline(always)]
    pub(super) fn find_end(&mut self) {
        // SAFETY: the header exists while this view borrows it.
        let Header { len, capacity, .. } = unsafe { *self.header() };
        self.end = End { first: self.first(), len, capacity };
    }

    /// Returns the [cached copy](End) of the buffer's end.
    #[inline(always)]
    pub(super) fn end(&mut self) -> &mut End<T> {
        &mut self.end
    }

    /// Returns the address of the buffer's header. The address is valid, and no other code uses the header while `self` is
    /// borrowed mutably.
    #[inline(always)]
    pub(super) fn header(&self) -> *mut Header {
        self.header.as_ptr()
    }

    /// Returns the address of the elements.
    #[inline(always)]
    pub(super) fn first(&self) -> *mut T {
        // SAFETY: the address is that of a buffer of this layout. `T` is its element, or was checked to have its size and no larger
        // alignment.
        unsafe { Header::elements::<T>(self.header(), &Self::LAYOUT) }
    }

    /// Sets the number of elements.
    ///
    /// # Safety
    ///
    /// - `len` elements are initialised, and `len` is at most the capacity
    #[inline(always)]
    pub(super) unsafe fn set_len(&mut self, len: usize) {
        // SAFETY: the header exists while this view borrows it. `len` fits in a `u32`, because it is at most the capacity.
        unsafe { (*self.header()).len = len as u32 };
        self.find_end();
    }

    /// Returns the number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        // SAFETY: the header exists while this view borrows it.
        unsafe { (*self.header()).len as usize }
    }

    /// Returns `true` if the buffer has no elements.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of elements that fit without growing.
    ///
    /// # Examples
    ///
    /// ```
    /// # use ancho_entities::{Buffer, BufferElement, World};
    /// # let mut world = World::new("Simulation");
    /// #[derive(BufferElement)]
    /// #[buffer(inline = 4)]
    /// struct Item(u32);
    ///
    /// let hero = world.spawn(Buffer::from([Item(1)]));
    /// let items = world.buffer_mut::<Item>(hero)?;
    /// assert_eq!((items.len(), items.capacity()), (1, 4));
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[inline]
    pub fn capacity(&self) -> usize {
        // SAFETY: the header exists while this view borrows it.
        unsafe { (*self.header()).capacity as usize }
    }

    /// Sets the capacity to exactly `capacity` elements. This is Unity's setter of `Capacity`.
    ///
    /// If `capacity` elements fit inline, the elements are moved to the chunk and their memory on the heap is freed.
    ///
    /// # Panics
    ///
    /// Panics with A0067 if the buffer has more than `capacity` elements. Panics with A0068 if `capacity` exceeds the maximum.
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
            refuse::<S>(&BufferMisuse::SmallCapacity(capacity), self.len());
        }
        let Ok(capacity) = u32::try_from(capacity) else { too_many(capacity) };
        // SAFETY: the header is that of a buffer of this layout with at most `capacity` elements, and it is borrowed mutably.
        unsafe { Header::set_capacity(self.header(), const { &LayoutOf::<S>::LAYOUT }, capacity) };
        self.find_end();
    }

    /// Reserves room for at least `additional` more elements. Unity's `EnsureCapacity` takes the sum.
    ///
    /// # Panics
    ///
    /// Panics with A0068 if the required capacity exceeds the maximum.
    ///
    /// # Examples
    ///
    /// ```
    /// # use ancho_entities::{Buffer, BufferElement, World};
    /// # #[derive(BufferElement)]
    /// # struct Item(u32);
    /// # let mut world = World::new("Simulation");
    /// let hero = world.spawn(Buffer::from([Item(1)]));
    /// let mut items = world.buffer_mut::<Item>(hero)?;
    /// items.reserve(1000);
    /// let capacity = items.capacity();
    /// assert!(capacity >= 1001);
    /// items.extend((0..1000).map(Item));
    /// assert_eq!(items.capacity(), capacity, "it did not grow again");
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        if additional > self.capacity() - self.len() {
            let needed = self.len().saturating_add(additional);
            // SAFETY: the header is that of a buffer of this layout, and it is borrowed mutably.
            unsafe { Header::grow(self.header(), const { &LayoutOf::<S>::LAYOUT }, needed) };
            self.find_end();
        }
    }

    /// Frees unused memory. Elements that fit inline are moved to the chunk, and otherwise the capacity becomes the length. This
    /// is Unity's `TrimExcess`.
    pub fn shrink_to_fit(&mut self) {
        // The capacity is at least the length, and neither exceeds the maximum.
        self.set_capacity(self.len().max(Self::LAYOUT.inline as usize));
    }

    /// Returns the elements as a slice.
    #[inline]
    pub fn as_slice(&self) -> &[T] {
        // SAFETY: the buffer has `len` elements, and the result borrows this view.
        unsafe { slice::from_raw_parts(self.first(), self.len()) }
    }

    /// Returns the elements as a mutable slice.
    ///
    /// # Examples
    ///
    /// ```
    /// # use ancho_entities::{Buffer, BufferElement, World};
    /// # #[derive(BufferElement, Debug, PartialEq)]
    /// # struct Item(u32);
    /// # let mut world = World::new("Simulation");
    /// let hero = world.spawn(Buffer::from([Item(3), Item(1), Item(2)]));
    /// world.buffer_mut::<Item>(hero)?.as_mut_slice().sort_by_key(|item| item.0);
    /// assert_eq!(world.buffer::<Item>(hero)?, [Item(1), Item(2), Item(3)]);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: the buffer has `len` elements, and the result borrows this view mutably.
        unsafe { slice::from_raw_parts_mut(self.first(), self.len()) }
    }

    /// Returns the elements as a mutable slice for the lifetime of the world's borrow.
    #[inline]
    pub fn into_mut_slice(self) -> &'w mut [T] {
        // SAFETY: the buffer has `len` elements. They were borrowed mutably for the lifetime, and this view is consumed.
        unsafe { slice::from_raw_parts_mut(self.first(), self.len()) }
    }

    /// Returns a view of the same buffer with a shorter lifetime, to pass to functions.
    #[inline]
    pub fn reborrow(&mut self) -> DynamicBuffer<'_, T, S> {
        self.end = End::UNKNOWN;
        DynamicBuffer::at(self.header)
    }

    /// Returns a view of the same buffer in which the elements have another type. Changes apply to this buffer.
    ///
    /// This compiles if both types have the same size and the alignment of `U` is not larger. Both types must accept any bytes as
    /// a value and have no padding, like numbers and structs of numbers. The conversion is then always safe.
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
    /// A `bool` has invalid bit patterns:
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
                "A0069: buffer elements can be reinterpreted only as a type of the same size"
            );
            assert!(
                align_of::<U>() <= align_of::<S>(),
                "A0069: buffer elements can be reinterpreted only as a type with the same or a smaller alignment"
            );
            assert!(
                T::SHAPE.plain && T::SHAPE.any_bits && U::SHAPE.plain && U::SHAPE.any_bits,
                "A0069: buffer elements can be reinterpreted only if both types are numbers, or consist of numbers \
                 without padding"
            );
        }
        // Each element is a valid value of both types, as `Field` guarantees: all its bytes are initialised, and any bytes are a
        // value that needs no drop. The layout remains that of `S`.
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
    /// Appends an element. This is Unity's `Add`.
    ///
    /// # Panics
    ///
    /// Panics with A0068 if the buffer already has `u32::MAX` elements.
    ///
    /// # Examples
    ///
    /// ```
    /// # use ancho_entities::{Buffer, BufferElement, World};
    /// # #[derive(BufferElement, Debug, PartialEq)]
    /// # struct Hit(u32);
    /// # let mut world = World::new("Simulation");
    /// let orc = world.spawn(Buffer::<Hit>::from([Hit(5)]));
    /// world.buffer_mut::<Hit>(orc)?.push(Hit(8));
    /// assert_eq!(world.buffer::<Hit>(orc)?, [Hit(5), Hit(8)]);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn push(&mut self, element: T) {
        if self.end().len == self.end().capacity {
            // The buffer is full, or the end is not cached.
            self.reserve(1);
            self.find_end();
        }
        let header = self.header();
        let end = self.end();
        // SAFETY: the capacity covers one more element, which is initialised before the length includes it.
        unsafe {
            end.first.add(end.len as usize).write(element);
            (*header).len = end.len + 1;
        }
        end.len += 1;
    }

    /// Removes and returns the last element.
    ///
    /// # Examples
    ///
    /// ```
    /// # use ancho_entities::{Buffer, BufferElement, World};
    /// # #[derive(BufferElement, Debug, PartialEq)]
    /// # struct Order(u32);
    /// # let mut world = World::new("Simulation");
    /// let worker = world.spawn(Buffer::from([Order(1), Order(2)]));
    /// let mut orders = world.buffer_mut::<Order>(worker)?;
    /// assert_eq!((orders.pop(), orders.pop(), orders.pop()), (Some(Order(2)), Some(Order(1)), None));
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let last = self.len().checked_sub(1)?;
        // SAFETY: the element exists, and the length no longer includes it.
        unsafe {
            self.set_len(last);
            Some(self.first().add(last).read())
        }
    }

    /// Inserts an element at an index, which is at most the length. Elements at and after the index move back by one.
    ///
    /// # Panics
    ///
    /// Panics with A0066 if the index is greater than the length. Panics with A0068 if the buffer already has `u32::MAX`
    /// elements. In both cases the element is dropped, and the buffer is unchanged.
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
            refuse::<S>(&BufferMisuse::NoPlace(index), len);
        }
        self.reserve(1);
        // SAFETY: the capacity suffices for one more element. Elements at and after the index are moved by one, and the gap is
        // overwritten.
        unsafe {
            let place = self.first().add(index);
            ptr::copy(place, place.add(1), len - index);
            place.write(element);
            self.set_len(len + 1);
        }
    }

    /// Removes and returns the element at an index. Later elements move forward. This is Unity's `RemoveAt`.
    ///
    /// # Panics
    ///
    /// Panics with A0066 if the index is out of bounds.
    ///
    /// # Examples
    ///
    /// ```
    /// # use ancho_entities::{Buffer, BufferElement, World};
    /// # #[derive(BufferElement, Debug, PartialEq)]
    /// # struct Item(u32);
    /// # let mut world = World::new("Simulation");
    /// let hero = world.spawn(Buffer::from([Item(1), Item(2), Item(3)]));
    /// let mut items = world.buffer_mut::<Item>(hero)?;
    /// assert_eq!(items.remove(0), Item(1));
    /// assert_eq!(*items, [Item(2), Item(3)]);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[track_caller]
    pub fn remove(&mut self, index: usize) -> T {
        let len = self.len();
        if index >= len {
            refuse::<S>(&BufferMisuse::NoElement(index), len);
        }
        // SAFETY: the element exists. It is overwritten by later elements, or the length no longer includes its slot.
        unsafe {
            let place = self.first().add(index);
            let element = place.read();
            ptr::copy(place.add(1), place, len - index - 1);
            self.set_len(len - 1);
            element
        }
    }

    /// Removes and returns the element at an index. The last element takes its place. This is Unity's `RemoveAtSwapBack`.
    ///
    /// # Panics
    ///
    /// Panics with A0066 if the index is out of bounds.
    ///
    /// # Examples
    ///
    /// ```
    /// # use ancho_entities::{Buffer, BufferElement, World};
    /// # #[derive(BufferElement, Debug, PartialEq)]
    /// # struct Item(u32);
    /// # let mut world = World::new("Simulation");
    /// let hero = world.spawn(Buffer::from([Item(1), Item(2), Item(3)]));
    /// let mut items = world.buffer_mut::<Item>(hero)?;
    /// assert_eq!(items.swap_remove(0), Item(1));
    /// assert_eq!(*items, [Item(3), Item(2)]);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[track_caller]
    pub fn swap_remove(&mut self, index: usize) -> T {
        let len = self.len();
        if index >= len {
            refuse::<S>(&BufferMisuse::NoElement(index), len);
        }
        // SAFETY: both elements exist and may be the same. The length no longer includes the last slot.
        unsafe {
            let place = self.first().add(index);
            let element = place.read();
            ptr::copy(self.first().add(len - 1), place, 1);
            self.set_len(len - 1);
            element
        }
    }

    /// Removes the elements of a range. Later elements move forward.
    ///
    /// # Panics
    ///
    /// Panics with A0066 if the range is out of bounds.
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

    /// Removes the elements of a range. The last elements fill the gap, in order. This is Unity's `RemoveRangeSwapBack`.
    ///
    /// # Panics
    ///
    /// Panics with A0066 if the range is out of bounds.
    #[track_caller]
    pub fn swap_remove_range(&mut self, range: impl RangeBounds<usize>) {
        let (start, end) = check_range::<S>(&range, self.len());
        let moved = (self.len() - end).min(end - start);
        self.close_gap(start, end, moved);
    }

    /// Drops the elements of a range, then moves the last `moved` elements to its start.
    ///
    /// `moved` is the size of the gap, or the number of elements after it if that is less.
    fn close_gap(&mut self, start: usize, end: usize, moved: usize) {
        /// A guard that closes the gap, even if dropping an element panics. The other elements are still dropped.
        struct Gap<'a, 'w, T, S: BufferElement> {
            buffer: &'a mut DynamicBuffer<'w, T, S>,
            start: usize,
            /// The index of the first element that is moved, and the number of moved elements.
            tail: (usize, usize),
            len: usize,
        }

        impl<T, S: BufferElement> Drop for Gap<'_, '_, T, S> {
            fn drop(&mut self) {
                let first = self.buffer.first();
                let (tail, moved) = self.tail;
                // SAFETY: the elements of the gap are dropped, and the moved elements follow it. All elements within the new
                // length are initialised.
                unsafe {
                    ptr::copy(first.add(tail), first.add(self.start), moved);
                    self.buffer.set_len(self.len);
                }
            }
        }

        let len = self.len();
        let removed = end - start;
        // SAFETY: the elements before the gap are initialised.
        unsafe { self.set_len(start) };
        let tail = (len - moved, moved);
        let gap = Gap { buffer: self, start, tail, len: len - removed };
        // SAFETY: the elements of the range exist, and are not used afterwards.
        unsafe {
            let first = gap.buffer.first().add(start);
            ptr::drop_in_place(ptr::slice_from_raw_parts_mut(first, removed));
        }
    }

    /// Removes all elements at and after index `len`. The capacity does not change.
    ///
    /// Does nothing if the buffer has fewer elements.
    ///
    /// # Examples
    ///
    /// ```
    /// # use ancho_entities::{Buffer, BufferElement, World};
    /// # #[derive(BufferElement, Debug, PartialEq)]
    /// # struct Item(u32);
    /// # let mut world = World::new("Simulation");
    /// let hero = world.spawn(Buffer::from([Item(1), Item(2), Item(3)]));
    /// let mut items = world.buffer_mut::<Item>(hero)?;
    /// items.truncate(5);
    /// assert_eq!(items.len(), 3);
    /// items.truncate(1);
    /// assert_eq!(*items, [Item(1)]);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn truncate(&mut self, len: usize) {
        let old = self.len();
        if len < old {
            // SAFETY: the elements exist, and the length no longer includes them.
            unsafe {
                self.set_len(len);
                let first = self.first().add(len);
                ptr::drop_in_place(ptr::slice_from_raw_parts_mut(first, old - len));
            }
        }
    }

    /// Removes all elements. The capacity does not change.
    ///
    /// # Examples
    ///
    /// ```
    /// # use ancho_entities::{Buffer, BufferElement, World};
    /// # #[derive(BufferElement)]
    /// # struct Hit(u32);
    /// # let mut world = World::new("Simulation");
    /// let orc = world.spawn((0..100).map(Hit).collect::<Buffer<Hit>>());
    /// let mut hits = world.buffer_mut::<Hit>(orc)?;
    /// hits.clear();
    /// assert!(hits.is_empty() && hits.capacity() >= 100);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn clear(&mut self) {
        self.truncate(0);
    }

    /// Resizes the buffer to `len` elements, removing elements or appending clones of `element`.
    ///
    /// # Panics
    ///
    /// Panics with A0068 if `len` exceeds the maximum.
    ///
    /// # Examples
    ///
    /// ```
    /// # use ancho_entities::{Buffer, BufferElement, World};
    /// # #[derive(BufferElement, Clone, Debug, PartialEq)]
    /// # struct Slot(u32);
    /// # let mut world = World::new("Simulation");
    /// let chest = world.spawn(Buffer::from([Slot(7)]));
    /// let mut slots = world.buffer_mut::<Slot>(chest)?;
    /// slots.resize(3, Slot(0));
    /// assert_eq!(*slots, [Slot(7), Slot(0), Slot(0)]);
    /// slots.resize(1, Slot(0));
    /// assert_eq!(*slots, [Slot(7)]);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[track_caller]
    pub fn resize(&mut self, len: usize, element: T)
    where
        T: Clone,
    {
        self.resize_with(len, || element.clone());
    }

    /// Resizes the buffer to `len` elements, removing elements or appending results of the function. Unity's `Resize` adds zeros.
    ///
    /// # Panics
    ///
    /// Panics with A0068 if `len` exceeds the maximum. If the function panics, its earlier results remain in the buffer.
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
        self.append(len - self.len(), |_| make());
    }

    /// Appends clones of all elements of a slice. This is Unity's `AddRange`.
    ///
    /// # Panics
    ///
    /// Panics with A0068 if the new length exceeds the maximum. If cloning an element panics, the earlier clones remain in the
    /// buffer.
    ///
    /// # Examples
    ///
    /// ```
    /// # use ancho_entities::{Buffer, BufferElement, World};
    /// # #[derive(BufferElement, Clone, Debug, PartialEq)]
    /// # struct Waypoint(u32);
    /// # let mut world = World::new("Simulation");
    /// let guard = world.spawn(Buffer::from([Waypoint(1)]));
    /// let detour = [Waypoint(4), Waypoint(5)];
    /// world.buffer_mut::<Waypoint>(guard)?.extend_from_slice(&detour);
    /// assert_eq!(world.buffer::<Waypoint>(guard)?, [Waypoint(1), Waypoint(4), Waypoint(5)]);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[track_caller]
    pub fn extend_from_slice(&mut self, elements: &[T])
    where
        T: Clone,
    {
        self.append(elements.len(), |index| elements[index].clone());
    }

    /// Replaces all elements with clones of those of a slice. This is Unity's `CopyFrom`.
    ///
    /// # Panics
    ///
    /// Panics with A0068 if the new length exceeds the maximum. In that case the buffer is unchanged. If cloning an element
    /// panics, the earlier clones remain in the buffer.
    ///
    /// # Examples
    ///
    /// ```
    /// # use ancho_entities::{Buffer, BufferElement, World};
    /// # #[derive(BufferElement, Clone, Debug, PartialEq)]
    /// # struct Waypoint(u32);
    /// # let mut world = World::new("Simulation");
    /// let guard = world.spawn(Buffer::from([Waypoint(1), Waypoint(2), Waypoint(3)]));
    /// let route = [Waypoint(8), Waypoint(9)];
    /// world.buffer_mut::<Waypoint>(guard)?.copy_from(&route);
    /// assert_eq!(world.buffer::<Waypoint>(guard)?, route);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[track_caller]
    pub fn copy_from(&mut self, elements: &[T])
    where
        T: Clone,
    {
        self.reserve(elements.len().saturating_sub(self.len()));
        self.clear();
        self.append(elements.len(), |index| elements[index].clone());
    }

    /// Appends `count` results of `make`. If it panics, its earlier results remain in the buffer.
    #[track_caller]
    fn append(&mut self, count: usize, mut make: impl FnMut(usize) -> T) {
        /// A guard that sets the length on drop. Setting the length in the loop would write to memory each time.
        struct Count<'a, 'w, T, S: BufferElement> {
            buffer: &'a mut DynamicBuffer<'w, T, S>,
            len: usize,
        }

        impl<T, S: BufferElement> Drop for Count<'_, '_, T, S> {
            fn drop(&mut self) {
                // SAFETY: `len` elements were written.
                unsafe { self.buffer.set_len(self.len) };
            }
        }

        self.reserve(count);
        let len = self.len();
        let first = self.first();
        let mut counted = Count { buffer: self, len };
        for index in 0..count {
            let element = make(index);
            // SAFETY: the capacity covers `count` more elements, and `index` is less than `count`.
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
