//! Buffers whose type is known only at run time.

use std::fmt;

use crate::field::Shape;

/// The elements of an entity's buffer, for tools that do not know their type: how many there are, what they consist of,
/// and their bytes.
///
/// The bytes can be seen if an element has neither padding nor pointers, as [`Shape::plain`] says. Returned by
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
    /// Of all elements, if they can be seen.
    bytes: Option<&'w [u8]>,
}

impl<'w> UntypedBuffer<'w> {
    pub(crate) fn new(shape: &'static Shape, len: usize, bytes: Option<&'w [u8]>) -> Self {
        debug_assert!(bytes.is_none_or(|bytes| bytes.len() == len * shape.size));
        Self { shape, len, bytes }
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// What an element consists of.
    pub fn shape(&self) -> &'static Shape {
        self.shape
    }

    /// The bytes of the element of an index, if there is one and its bytes can be seen.
    pub fn bytes(&self, index: usize) -> Option<&'w [u8]> {
        let size = self.shape.size;
        let bytes = self.bytes.filter(|_| index < self.len)?;
        Some(&bytes[index * size..][..size])
    }

    /// The bytes of all elements, one after the other, if they can be seen.
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
