//! Elements of a buffer come and go.

#![expect(unsafe_code, reason = "elements in chunks and on the heap")]

use std::ops::RangeBounds;
use std::ptr;

use super::refuse::{check_range, no_element, no_place};
use super::{BufferElement, DynamicBuffer};

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
