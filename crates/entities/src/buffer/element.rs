//! Elements of dynamic buffers.

use std::any::type_name;
use std::num::NonZero;
use std::ops::{Bound, RangeBounds};

use super::{Buffer, BufferLayout, column};
use crate::builtin::LinkedEntityGroup;
use crate::component::{
    ComponentType, Duplicate, Mutable, RelationshipInfo, TypeSlot, WriteGroup, registry,
};
use crate::field::Field;

/// An element of a dynamic buffer. An entity with the buffer has any number of contiguous elements.
///
/// Buffers are components. The first few elements are stored in the chunk with the other components. If there are more, all
/// elements are moved to the heap. This is Unity's `IBufferElementData`.
///
/// - The component type of a buffer is [`Buffer<T>`](Buffer): `spawn`, `add` and `set` take one, and `take` returns one.
///   `has::<Buffer<T>>` and `remove::<Buffer<T>>` work as for every component.
/// - [`buffer`](crate::EntityManager::buffer) returns the elements of an entity as a slice.
///   [`buffer_mut`](crate::EntityManager::buffer_mut) returns a [`DynamicBuffer`](crate::DynamicBuffer) to change them.
///
/// The derive also implements [`Field`], and selects how elements are [duplicated](Self::duplicate). Its options are:
///
/// - `#[buffer(inline = 8)]`: the number of elements in the chunk. By default, this is [the number that fits in 128
///   bytes](Self::INLINE). An entity takes that room in its chunk even if it has fewer elements, so a high number means fewer
///   entities per chunk. Zero stores all elements on the heap.
/// - `#[buffer(name = "…")]`: the name of the element.
/// - `#[buffer(enableable)]`, `#[buffer(cleanup)]`, `#[buffer(track_changes)]` and `#[buffer(write_group(…))]`: the same options
///   as for components.
/// - `#[buffer(component)]`: the type is also a component, and `#[derive(Component)]` implements `Field`. An entity can then have
///   a component of the type, a buffer of it, or both.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Buffer, BufferElement, World};
///
/// #[derive(BufferElement, Clone, Copy, Debug, PartialEq)]
/// #[buffer(inline = 4)]
/// struct Waypoint([f32; 2]);
///
/// let mut world = World::new("Simulation");
/// let guard = world.spawn(Buffer::from([Waypoint([0.0, 0.0]), Waypoint([4.0, 0.0])]));
/// world.buffer_mut::<Waypoint>(guard)?.push(Waypoint([4.0, 3.0]));
/// assert_eq!(world.buffer::<Waypoint>(guard)?.len(), 3);
/// # Ok::<(), ancho_entities::EntityError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an element of buffers",
    label = "not an element of buffers",
    note = "write `#[derive(BufferElement)]` on the type; wrap types of other crates in one of your own"
)]
#[doc(alias = "IBufferElementData")]
pub trait BufferElement: Field + Send + Sync + Sized + 'static {
    /// The number of elements stored in the chunk. By default, this is the number that fits in 128 bytes. This is Unity's
    /// `InternalBufferCapacity`.
    ///
    /// Elements without bytes need no memory, so all of them are inline.
    const INLINE: usize = match size_of::<Self>() {
        0 => usize::MAX,
        size => 128 / size,
    };

    /// Returns the name of the element type in messages, which is its path by default. Messages call the buffer `Buffer<name>`.
    ///
    /// A name set with `#[buffer(name = "…")]` is also the [stable name](ComponentType::stable_name).
    fn name() -> &'static str {
        type_name::<Self>()
    }

    /// Returns how an element is duplicated when an entity is instantiated or a world is copied.
    fn duplicate() -> Duplicate<Self> {
        Duplicate::none()
    }

    /// True if the buffer can be enabled and disabled per entity: `#[buffer(enableable)]`. See
    /// [`Component::ENABLEABLE`](crate::Component::ENABLEABLE).
    const ENABLEABLE: bool = false;

    /// True if the buffer and its elements are kept when the entity is despawned: `#[buffer(cleanup)]`. See
    /// [`Component::CLEANUP`](crate::Component::CLEANUP).
    const CLEANUP: bool = false;

    /// True if changes are recorded per entity instead of per chunk: `#[buffer(track_changes)]`. See
    /// [`Component::TRACK_CHANGES`](crate::Component::TRACK_CHANGES).
    const TRACK_CHANGES: bool = false;

    /// The components to whose write groups the buffer belongs: `#[buffer(write_group(…))]`. See
    /// [`Component::WRITE_GROUPS`](crate::Component::WRITE_GROUPS).
    const WRITE_GROUPS: &'static [WriteGroup] = &[];

    /// The maximum number of entities in a chunk with the buffer: `#[buffer(maximum_chunk_capacity = 16)]`. See
    /// [`Component::MAXIMUM_CHUNK_CAPACITY`](crate::Component::MAXIMUM_CHUNK_CAPACITY).
    const MAXIMUM_CHUNK_CAPACITY: Option<NonZero<u32>> = None;

    /// The relationship whose sources the buffer contains. Only the derive sets it.
    #[doc(hidden)]
    const REVERSE_OF: Option<&'static RelationshipInfo> = None;

    /// Returns the slot that caches the buffer's registration.
    #[doc(hidden)]
    fn slot() -> Option<&'static TypeSlot<Buffer<Self>>> {
        None
    }
}

#[diagnostic::do_not_recommend]
impl Mutable for LinkedEntityGroup {}

impl BufferElement for LinkedEntityGroup {
    fn name() -> &'static str {
        "ancho::LinkedEntityGroup"
    }

    fn duplicate() -> Duplicate<Self> {
        Duplicate::<Self>::bytes()
    }

    fn slot() -> Option<&'static TypeSlot<Buffer<Self>>> {
        static SLOT: TypeSlot<Buffer<LinkedEntityGroup>> = TypeSlot::new();
        Some(&SLOT)
    }
}

impl ComponentType {
    /// Returns the buffer type of `T`, registering it on first use.
    ///
    /// If `T` is also a component, the buffer type differs from the component type `T`.
    ///
    /// # Panics
    ///
    /// Panics with A0062 if another type has the same name.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{BufferElement, ComponentType};
    ///
    /// #[derive(BufferElement)]
    /// #[buffer(inline = 4, name = "Waypoint")]
    /// struct Waypoint([f32; 2]);
    ///
    /// let path = ComponentType::of_buffer::<Waypoint>();
    /// assert_eq!(path.name(), "Buffer<Waypoint>");
    /// assert_eq!(path.size(), 16 + 4 * 8);
    /// ```
    #[inline]
    #[track_caller]
    pub fn of_buffer<T: BufferElement>() -> Self {
        Self(registry::info_of::<Buffer<T>>(T::slot(), column::info::<T>))
    }
}

/// The layout of the buffers of an element type, as a constant.
pub(super) struct LayoutOf<T>(T);

impl<T: BufferElement> LayoutOf<T> {
    pub(super) const LAYOUT: BufferLayout = BufferLayout::of::<T>();
}

/// An invalid argument of a buffer's method.
pub(super) enum BufferMisuse {
    NoElement(usize),
    NoPlace(usize),
    NoRange(usize, usize),
    SmallCapacity(usize),
}

/// Panics because of an invalid argument: with A0067 for a capacity below the length, and with A0066 for all others.
#[cold]
#[track_caller]
pub(super) fn refuse<S: BufferElement>(misuse: &BufferMisuse, len: usize) -> ! {
    let name = S::name();
    match *misuse {
        BufferMisuse::NoElement(index) => panic!(
            "A0066: index {index} is out of bounds for a buffer of `{name}` with {len} elements; compare the index \
             with `len()` first"
        ),
        BufferMisuse::NoPlace(index) => panic!(
            "A0066: cannot insert at index {index} of a buffer of `{name}` with {len} elements; insert at 0 to {len}, \
             or use `push`"
        ),
        BufferMisuse::NoRange(start, end) => panic!(
            "A0066: the range {start}..{end} is out of bounds for a buffer of `{name}` with {len} elements; use a range \
             within 0..{len}"
        ),
        BufferMisuse::SmallCapacity(capacity) => panic!(
            "A0067: a buffer of `{name}` with {len} elements cannot have a capacity of {capacity}; `truncate` it first, or \
             use `shrink_to_fit`"
        ),
    }
}

/// Returns the start and the end of a range of a buffer.
///
/// # Panics
///
/// Panics with A0066 if the range is out of bounds.
#[track_caller]
pub(super) fn check_range<S: BufferElement>(
    range: &impl RangeBounds<usize>,
    len: usize,
) -> (usize, usize) {
    let start = match range.start_bound() {
        Bound::Included(&start) => Some(start),
        Bound::Excluded(&start) => start.checked_add(1),
        Bound::Unbounded => Some(0),
    };
    let end = match range.end_bound() {
        Bound::Included(&end) => end.checked_add(1),
        Bound::Excluded(&end) => Some(end),
        Bound::Unbounded => Some(len),
    };
    match (start, end) {
        (Some(start), Some(end)) if start <= end && end <= len => (start, end),
        _ => {
            let (start, end) = (start.unwrap_or(usize::MAX), end.unwrap_or(usize::MAX));
            refuse::<S>(&BufferMisuse::NoRange(start, end), len)
        }
    }
}

/// Panics with A0068 because a buffer cannot have this number of elements.
#[cold]
#[track_caller]
pub(super) fn too_many(count: usize) -> ! {
    panic!(
        "A0068: a buffer cannot have {count} elements; the maximum is {}, and they must fit in memory: divide them \
         among several entities",
        u32::MAX
    )
}
