//! The buffers of all entities of a chunk.
#![expect(unsafe_code, reason = "columns of chunks")]

use std::fmt;
use std::marker::PhantomData;
use std::ops::Index;

use super::element::LayoutOf;
use super::{BufferElement, DynamicBuffer, Header, elements_of};
use crate::field::Shape;

/// A view of the buffers of a chunk, one per entity. This is Unity's `BufferAccessor`.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Buffer, BufferElement, World};
///
/// #[derive(BufferElement, Clone)]
/// struct Item(u32);
///
/// let mut world = World::new("Simulation");
/// world.spawn_many(Buffer::from([Item(1), Item(2)]), 10);
/// for chunk in world.chunks() {
///     let buffers = chunk.buffers::<Item>().unwrap();
///     assert_eq!(buffers.len(), chunk.len());
///     assert!(buffers.iter().all(|items| items.len() == 2 && items[1].0 == 2));
/// }
/// ```
pub struct BufferAccessor<'w, T> {
    column: Column<T>,
    world: PhantomData<&'w T>,
}

/// A mutable view of the buffers of a chunk, one per entity.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Buffer, BufferElement, World};
///
/// #[derive(BufferElement, Clone)]
/// struct Item(u32);
///
/// let mut world = World::new("Simulation");
/// let hero = world.spawn(Buffer::from([Item(1), Item(2)]));
/// world.for_each_chunk_mut(|mut chunk| {
///     for mut items in chunk.buffers_mut::<Item>().unwrap().iter_mut() {
///         items.push(Item(3));
///     }
/// });
/// assert_eq!(world.buffer::<Item>(hero)?.len(), 3);
/// # Ok::<(), ancho_entities::EntityError>(())
/// ```
pub struct BufferAccessorMut<'w, T> {
    column: Column<T>,
    world: PhantomData<&'w mut T>,
}

/// A column of contiguous buffers.
struct Column<T> {
    first: *mut u8,
    count: usize,
    /// Makes the column invariant in `T`, because the buffers of a subtype may have another layout.
    of: PhantomData<fn(T) -> T>,
}

impl<T: BufferElement> Column<T> {
    /// Returns the address of an existing buffer.
    fn at(&self, row: usize) -> *mut Header {
        debug_assert!(row < self.count);
        self.first.wrapping_add(row * LayoutOf::<T>::LAYOUT.size).cast()
    }
}

impl<T> Clone for Column<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Column<T> {}

// SAFETY: a `BufferAccessor` is a shared borrow of elements, which are `Sync`.
unsafe impl<T: Sync> Send for BufferAccessor<'_, T> {}

// SAFETY: a `BufferAccessor` is a shared borrow of elements, which are `Sync`.
unsafe impl<T: Sync> Sync for BufferAccessor<'_, T> {}

// SAFETY: a `BufferAccessorMut` is a mutable borrow of buffers, whose elements are `Send`.
unsafe impl<T: Send> Send for BufferAccessorMut<'_, T> {}

// SAFETY: a shared reference to a `BufferAccessorMut` exposes only the number of buffers.
unsafe impl<T> Sync for BufferAccessorMut<'_, T> {}

impl<'w, T: BufferElement> BufferAccessor<'w, T> {
    /// Creates a view of `count` buffers, beginning at an address.
    ///
    /// # Safety
    ///
    /// - `first` has `count` buffers of `T`, which do not change for the lifetime
    pub(crate) unsafe fn new(first: *mut u8, count: usize) -> Self {
        Self { column: Column { first, count, of: PhantomData }, world: PhantomData }
    }

    /// Returns the number of buffers, which is the number of entities in the chunk.
    #[expect(clippy::len_without_is_empty, reason = "there are no empty chunks")]
    pub fn len(&self) -> usize {
        self.column.count
    }

    /// Returns the elements of the entity in a row of the chunk, or `None` if the row does not exist.
    ///
    /// # Examples
    ///
    /// ```
    /// # use ancho_entities::{Buffer, BufferElement, World};
    /// # #[derive(BufferElement, Debug, PartialEq)]
    /// # struct Item(u32);
    /// # let mut world = World::new("Simulation");
    /// world.spawn_batch([Buffer::from([Item(1)]), Buffer::from([Item(2), Item(3)])]);
    /// let chunk = world.chunks().next().unwrap();
    /// let bags = chunk.buffers::<Item>().unwrap();
    /// assert_eq!(bags.get(1), Some(&[Item(2), Item(3)][..]));
    /// assert_eq!(bags.get(2), None);
    /// ```
    #[inline]
    pub fn get(&self, row: usize) -> Option<&'w [T]> {
        // SAFETY: the row is less than the count, and the buffers do not change for the lifetime.
        (row < self.column.count).then(|| unsafe { elements_of(self.column.at(row)) })
    }

    /// Iterates over the elements of each entity.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'w [T]> + use<'w, T> {
        let column = self.column;
        // SAFETY: the row is less than the count, and the buffers do not change for the lifetime.
        (0..column.count).map(move |row| unsafe { elements_of(column.at(row)) })
    }
}

impl<'w, T: BufferElement> BufferAccessorMut<'w, T> {
    /// Creates a mutable view of `count` buffers, beginning at an address.
    ///
    /// # Safety
    ///
    /// - `first` has `count` buffers of `T`, which no other code uses for the lifetime
    pub(crate) unsafe fn new(first: *mut u8, count: usize) -> Self {
        Self { column: Column { first, count, of: PhantomData }, world: PhantomData }
    }

    /// Returns the number of buffers, which is the number of entities in the chunk.
    #[expect(clippy::len_without_is_empty, reason = "there are no empty chunks")]
    pub fn len(&self) -> usize {
        self.column.count
    }

    /// Returns the buffer of the entity in a row of the chunk, or `None` if the row does not exist.
    #[inline]
    pub fn get_mut(&mut self, row: usize) -> Option<DynamicBuffer<'_, T>> {
        // SAFETY: the row is less than the count, and no other code uses the buffer while this is borrowed.
        (row < self.column.count).then(|| unsafe { DynamicBuffer::new(self.column.at(row)) })
    }

    /// Iterates over the buffer of each entity.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = DynamicBuffer<'_, T>> {
        let column = self.column;
        // SAFETY: the row is less than the count, and each row is yielded once. No other code uses the buffers while this is
        // borrowed.
        (0..column.count).map(move |row| unsafe { DynamicBuffer::new(column.at(row)) })
    }
}

impl<T> Clone for BufferAccessor<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for BufferAccessor<'_, T> {}

impl<T: BufferElement> Index<usize> for BufferAccessor<'_, T> {
    type Output = [T];

    /// # Panics
    ///
    /// Panics if the row does not exist.
    #[track_caller]
    fn index(&self, row: usize) -> &[T] {
        match self.get(row) {
            Some(elements) => elements,
            None => panic!("there is no row {row} among {}", self.len()),
        }
    }
}

impl<T: BufferElement + fmt::Debug> fmt::Debug for BufferAccessor<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<T> fmt::Debug for BufferAccessorMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BufferAccessorMut").field("len", &self.column.count).finish()
    }
}

/// The elements of an entity's buffer without their static type: their number, shape and bytes. Tools use this view.
///
/// The bytes are readable if an element has neither padding nor pointers, as [`Shape::plain`] says. Returned by
/// [`untyped_buffer`](crate::EntityManager::untyped_buffer). Unity's `UnsafeUntypedBufferAccessor` returns addresses.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Buffer, BufferElement, ComponentType, World};
///
/// #[derive(BufferElement)]
/// #[buffer(name = "Item")]
/// struct Item(u16);
///
/// let mut world = World::new("Simulation");
/// let hero = world.spawn(Buffer::from([Item(3), Item(500)]));
/// // A tool has a name, and not the type.
/// let ty = ComponentType::find("Buffer<Item>").unwrap();
/// let items = world.untyped_buffer(hero, ty)?;
/// assert_eq!((items.len(), items.shape().name), (2, "Item"));
/// assert_eq!(items.bytes(1), Some(&500_u16.to_ne_bytes()[..]));
/// assert_eq!(items.bytes(2), None);
/// # Ok::<(), ancho_entities::EntityError>(())
/// ```
#[derive(Clone, Copy)]
pub struct UntypedBuffer<'w> {
    shape: &'static Shape,
    len: usize,
    /// The bytes of all elements, if they are readable.
    bytes: Option<&'w [u8]>,
}

impl<'w> UntypedBuffer<'w> {
    pub(crate) fn new(shape: &'static Shape, len: usize, bytes: Option<&'w [u8]>) -> Self {
        debug_assert!(bytes.is_none_or(|bytes| bytes.len() == len * shape.size));
        Self { shape, len, bytes }
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns `true` if the buffer has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the shape of an element.
    pub fn shape(&self) -> &'static Shape {
        self.shape
    }

    /// Returns the bytes of the element at an index, if it exists and its bytes are readable.
    pub fn bytes(&self, index: usize) -> Option<&'w [u8]> {
        let size = self.shape.size;
        let bytes = self.bytes.filter(|_| index < self.len)?;
        Some(&bytes[index * size..][..size])
    }

    /// Returns the contiguous bytes of all elements, if they are readable.
    pub fn all_bytes(&self) -> Option<&'w [u8]> {
        self.bytes
    }
}

impl fmt::Debug for UntypedBuffer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UntypedBuffer")
            .field("element", &format_args!("{}", self.shape))
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}
