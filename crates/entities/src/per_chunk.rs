//! Chunk components: one value for all entities of a chunk.

#![expect(
    unsafe_code,
    reason = "has nothing to write to rows, and writes values whose type was erased"
)]

use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;

use crate::component::{
    ChunkValue, Component, ComponentType, SharedValue, TypeInfo, Written, registry,
};
use crate::field::{EntityRemap, FieldKind, Shape};
use crate::set::{CloneSet, IsSet, SetKind, SetValues};
use crate::storage::RowPlace;

/// A tag for entities whose chunk has a chunk component `T`: one value for all entities of the chunk.
///
/// Use it for properties of a chunk: the bounding box of its entities, their level of detail, or the time of the last update.
/// These are Unity's chunk components.
///
/// - The tag is a [set of components](crate::ComponentSet) without bytes, alone and in tuples. `spawn` and `add` take it, and
///   `has::<PerChunk<T>>` tests for it. It is not the component `T`; an entity may have both.
/// - The value belongs to the chunk. It is read with [`chunk_component`](crate::EntityManager::chunk_component) and
///   [`ArchetypeChunk::chunk_component`](crate::ArchetypeChunk::chunk_component), and replaced with
///   [`set_chunk_component`](crate::EntityManager::set_chunk_component).
///
/// A new chunk starts with the default of the type. Adding, removing or moving entities does not change the values of chunks.
/// When the last entity of a chunk is removed, the value is dropped. Instances are placed in chunks like all entities, and have
/// the values of those chunks. The values take no room in chunks, however large they are.
///
/// A value has a change version, like each column of a chunk. Writing the value increases the version. Adding entities increases
/// the versions of all columns, including this one.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, PerChunk, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Height(f32);
///
/// #[derive(Component, Clone, Copy, Default, Debug, PartialEq)]
/// struct Highest(f32);
///
/// let mut world = World::new("Simulation");
/// let hill = world.spawn((Height(3.0), PerChunk::<Highest>::new()));
/// let peak = world.spawn((Height(9.0), PerChunk::<Highest>::new()));
/// world.for_each_chunk_mut(|mut chunk| {
///     let heights = chunk.as_chunk().slice::<Height>().unwrap().iter().map(|height| height.0);
///     let highest = heights.fold(0.0, f32::max);
///     chunk.chunk_component_mut::<Highest>().unwrap().0 = highest;
/// });
/// // Both are in one chunk.
/// assert_eq!(world.chunk_component(hill), Ok(&Highest(9.0)));
/// assert_eq!(world.chunk_component(peak), Ok(&Highest(9.0)));
/// ```
#[doc(alias = "ChunkComponent")]
pub struct PerChunk<T> {
    /// Contains no value, so that the tag is `Send` and `Sync` for any `T`.
    value: PhantomData<fn() -> T>,
}

impl<T: Component + Default> PerChunk<T> {
    /// Creates the tag.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, PerChunk, World};
    ///
    /// #[derive(Component, Default)]
    /// struct Bounds([f32; 4]);
    ///
    /// let mut world = World::new("Simulation");
    /// let stone = world.spawn(());
    /// world.add(stone, PerChunk::<Bounds>::new()).unwrap();
    /// assert!(world.has::<PerChunk<Bounds>>(stone) && !world.has::<Bounds>(stone));
    /// ```
    pub const fn new() -> Self {
        Self { value: PhantomData }
    }
}

impl ComponentType {
    /// Returns the chunk component type of `T`, registering it on first use.
    ///
    /// The chunk component type differs from the component type `T`, and takes no bytes per entity.
    ///
    /// # Panics
    ///
    /// Panics with A0062 if another type has the same name.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, ComponentType};
    ///
    /// #[derive(Component, Default)]
    /// #[component(name = "Bounds")]
    /// struct Bounds([f32; 4]);
    ///
    /// let bounds = ComponentType::of_chunk::<Bounds>();
    /// assert_eq!((bounds.name(), bounds.size()), ("PerChunk<Bounds>", 0));
    /// assert_ne!(bounds, ComponentType::of::<Bounds>());
    /// ```
    #[inline]
    #[track_caller]
    pub fn of_chunk<T: Component + Default>() -> Self {
        Self(registry::info_of::<PerChunk<T>>(None, info::<T>))
    }
}

/// Returns the metadata of a chunk component. Its column has no bytes; the value is described separately.
fn info<T: Component + Default>(index: u32) -> TypeInfo {
    static SHAPE: Shape = Shape::laid_out("PerChunk", FieldKind::Struct(&[]), 0, 1);
    TypeInfo {
        maximum_capacity: T::MAXIMUM_CHUNK_CAPACITY,
        per_chunk: Some(ChunkValue {
            of: ComponentType::of::<T>(),
            write_default: write_default::<T>,
        }),
        ..TypeInfo::of_wrapper::<PerChunk<T>, T>(index, "PerChunk", T::name(), &SHAPE)
    }
}

/// Implements [`InitialColumn`](crate::component::InitialColumn) for the default of `T`.
///
/// # Safety
///
/// - `to` has room for `count` values of type `T`
unsafe fn write_default<T: Default>(to: *mut u8, count: usize) {
    // SAFETY: `to` has room for `count` values.
    unsafe { Written::fill(to.cast::<T>(), count, |_| T::default()) }
}

impl<T> SetKind for PerChunk<T> {
    type Kind = IsSet;
}

// SAFETY: the set has one type, whose values have no bytes, so nothing is written or read.
unsafe impl<T: Component + Default> SetValues<IsSet> for PerChunk<T> {
    const COUNT: usize = 1;
    const HAS_ENTITIES: bool = false;

    fn types(each: &mut dyn FnMut(ComponentType)) {
        each(ComponentType::of_chunk::<T>());
    }

    fn remap_entities(&mut self, _: &mut EntityRemap<'_>) {}

    fn duplicate_set(&mut self) -> Result<Self, ComponentType> {
        Ok(*self)
    }

    #[inline]
    unsafe fn write(self, _: RowPlace) {}

    #[inline]
    unsafe fn read(_: RowPlace, _: &mut dyn Iterator<Item = SharedValue>) -> Self {
        Self::new()
    }
}

// SAFETY: one column is counted. It has no bytes, so nothing is written.
unsafe impl<T: Component + Default> CloneSet for PerChunk<T> {
    #[inline]
    unsafe fn fill(&self, _: RowPlace, _: usize, done: &mut usize) {
        *done += 1;
    }

    fn clone_set(&mut self) -> Self {
        *self
    }
}

impl<T> Clone for PerChunk<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for PerChunk<T> {}

impl<T: Component + Default> Default for PerChunk<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> PartialEq for PerChunk<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<T> Eq for PerChunk<T> {}

impl<T> fmt::Debug for PerChunk<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PerChunk<{}>", type_name::<T>())
    }
}
