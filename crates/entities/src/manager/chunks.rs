//! Views of chunks: entities and components as slices.

#![expect(unsafe_code, reason = "columns of chunks as slices")]

use std::fmt;
use std::ptr::NonNull;
use std::slice;

use super::access::untyped;
use super::{Archetype, EntityManager};
use crate::buffer::{BufferAccessor, BufferAccessorMut, BufferElement, UntypedBuffer};
use crate::component::{Component, ComponentType, Mutable};
use crate::entity::Entity;
use crate::error::EntityError;
use crate::managed::ManagedComponent;
use crate::shared::SharedComponent;
use crate::storage::{Chunk, Storage};
use crate::version::Version;

/// A read-only view of a chunk, whose entities have the same archetype. The values of each component are contiguous.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Health(u32);
///
/// let mut world = World::new("Simulation");
/// world.spawn_many(Health(20), 10);
/// for chunk in world.chunks() {
///     let health = chunk.slice::<Health>().unwrap();
///     assert_eq!(health.len(), chunk.entities().len());
///     assert_eq!(health.iter().map(|health| health.0).sum::<u32>(), 200);
/// }
/// ```
#[derive(Clone, Copy)]
pub struct ArchetypeChunk<'w> {
    pub(crate) chunk: &'w Chunk,
    storage: &'w Storage,
}

impl<'w> ArchetypeChunk<'w> {
    fn new(storage: &'w Storage, number: u32) -> Self {
        Self { chunk: &storage.chunks[number], storage }
    }

    /// Returns the number of entities in the chunk, which is never zero.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{World, WorldSettings};
    ///
    /// let settings = WorldSettings::new().chunk_capacity_limit(64);
    /// let mut world = World::with_settings("Simulation", settings);
    /// world.spawn_many((), 100);
    /// let lengths: Vec<_> = world.chunks().map(|chunk| chunk.len()).collect();
    /// assert_eq!(lengths, [64, 36]);
    /// ```
    #[expect(clippy::len_without_is_empty, reason = "there are no empty chunks")]
    pub fn len(&self) -> usize {
        self.chunk.len as usize
    }

    /// Returns the maximum number of entities in the chunk.
    pub fn capacity(&self) -> usize {
        self.chunk.capacity() as usize
    }

    /// Returns the archetype of the entities.
    pub fn archetype(&self) -> Archetype {
        Archetype::new(self.chunk.archetype, self.chunk.shape().serial)
    }

    /// Returns the entities of the chunk.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// let mut world = World::new("Simulation");
    /// let orcs: Vec<_> = world.spawn_many((), 3).collect();
    /// let chunk = world.chunks().next().unwrap();
    /// assert_eq!(chunk.entities(), orcs);
    /// ```
    pub fn entities(&self) -> &'w [Entity] {
        self.chunk.entities()
    }

    /// Returns the component types of the entities, in memory order.
    pub fn component_types(&self) -> &'w [ComponentType] {
        &self.chunk.shape().types
    }

    /// Returns whether the entities have this component.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone)]
    /// struct Tree(f32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many((), 10);
    /// world.spawn_many(Tree(2.5), 7);
    /// let forest = world.chunks().filter(|chunk| chunk.has::<Tree>());
    /// assert_eq!(forest.map(|chunk| chunk.len()).sum::<usize>(), 7);
    /// ```
    pub fn has<T: Component>(&self) -> bool {
        self.chunk.shape().has(ComponentType::of::<T>())
    }

    /// Returns the values of a component in the order of the entities, or `None` if the entities lack the component.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Debug, PartialEq)]
    /// struct Health(u32);
    ///
    /// #[derive(Component)]
    /// struct Armour(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_batch([Health(20), Health(30)]);
    /// let chunk = world.chunks().next().unwrap();
    /// assert_eq!(chunk.slice::<Health>(), Some(&[Health(20), Health(30)][..]));
    /// assert!(chunk.slice::<Armour>().is_none());
    /// ```
    pub fn slice<T: Component>(&self) -> Option<&'w [T]> {
        let found = self.chunk.find(ComponentType::of::<T>())?;
        let first = self.chunk.column(found.offset).cast_const().cast::<T>();
        // SAFETY: the column has a value for each entity. The values are not written while the world is borrowed.
        Some(unsafe { slice::from_raw_parts(first, self.len()) })
    }

    /// Returns the values of a component as bytes, or `None` if the entities lack the component or its bytes cannot be read.
    pub fn bytes(&self, ty: ComponentType) -> Option<&'w [u8]> {
        let found = self.chunk.find(ty)?;
        let first = self.chunk.column(found.offset).cast_const();
        // SAFETY: the column has a value for each entity, all of whose bytes are initialised. The values are not written while
        // the world is borrowed.
        ty.0.shape.plain.then(|| unsafe { slice::from_raw_parts(first, self.len() * ty.size()) })
    }

    /// Returns the version at which a component was last written in this chunk, or `None` if the entities lack the component.
    pub fn change_version<T: Component>(&self) -> Option<Version> {
        self.change_version_of(ComponentType::of::<T>())
    }

    /// Returns the version at which a component was last written in this chunk, given its type at run time. Returns `None` if the
    /// entities lack the component.
    pub fn change_version_of(&self, ty: ComponentType) -> Option<Version> {
        let found = self.chunk.find(ty)?;
        Some(self.chunk.versions.version(found.column))
    }

    /// Returns whether a component was written in this chunk after a version. Returns `false` if the entities lack the component.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Health(20));
    /// let seen = world.version();
    /// world.advance_version();
    /// assert!(!world.chunks().any(|chunk| chunk.did_change::<Health>(seen)));
    /// world.get_mut::<Health>(orc)?.0 -= 1;
    /// assert!(world.chunks().all(|chunk| chunk.did_change::<Health>(seen)));
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn did_change<T: Component>(&self, since: Version) -> bool {
        self.change_version::<T>().is_some_and(|version| version.is_newer_than(since))
    }

    /// Returns the enabled bits of a component, one per entity, beginning with the lowest bit of the first word. Returns `None`
    /// if the entities lack the component, or it is not enableable.
    pub fn enabled_mask<T: Component>(&self) -> Option<&'w [u64]> {
        let found = self.chunk.find(ComponentType::of::<T>())?;
        Some(self.chunk.enabled.words(found.mask()?))
    }

    /// Returns the number of entities whose component is enabled.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone)]
    /// #[component(enableable)]
    /// struct Engine;
    ///
    /// let mut world = World::new("Simulation");
    /// let cars: Vec<_> = world.spawn_many(Engine, 10).collect();
    /// world.set_component_enabled::<Engine>(cars[3], false)?;
    /// let chunk = world.chunks().next().unwrap();
    /// assert_eq!((chunk.len(), chunk.enabled_count::<Engine>()), (10, 9));
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn enabled_count<T: Component>(&self) -> usize {
        let Some(found) = self.chunk.find(ComponentType::of::<T>()) else { return 0 };
        match found.mask() {
            Some(mask) => self.chunk.enabled.count(mask) as usize,
            None => self.len(),
        }
    }

    /// Returns the version at which entities were last added to the chunk or removed from it.
    pub fn order_version(&self) -> Version {
        self.chunk.order_version
    }

    /// Returns whether entities were added to the chunk or removed from it after a version.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Health(20));
    /// let seen = world.version();
    /// world.advance_version();
    /// world.get_mut::<Health>(orc)?.0 -= 1;
    /// assert!(!world.chunks().any(|chunk| chunk.did_order_change(seen)));
    /// world.spawn(Health(30));
    /// assert!(world.chunks().all(|chunk| chunk.did_order_change(seen)));
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn did_order_change(&self, since: Version) -> bool {
        self.chunk.order_version.is_newer_than(since)
    }

    /// Returns the sequence number of the chunk among all chunks that the world ever had.
    pub fn sequence_number(&self) -> u64 {
        self.chunk.sequence
    }
}

impl fmt::Debug for ArchetypeChunk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArchetypeChunk")
            .field("components", &self.component_types())
            .field("len", &self.len())
            .field("capacity", &self.capacity())
            .finish_non_exhaustive()
    }
}

/// A mutable view of a chunk, whose components can be changed.
pub struct ArchetypeChunkMut<'w> {
    storage: &'w mut Storage,
    number: u32,
}

impl ArchetypeChunkMut<'_> {
    /// Returns a read-only view of the chunk.
    pub fn as_chunk(&self) -> ArchetypeChunk<'_> {
        ArchetypeChunk::new(self.storage, self.number)
    }

    /// Returns the values of a component mutably, in the order of the entities, and marks them as changed.
    ///
    /// # Errors
    ///
    /// Returns an error if the entities lack the component. The error contains the first entity. Also returns an error if the
    /// memory is shared with a fork and a copy cannot be allocated.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone)]
    /// struct Heat(f32);
    ///
    /// let mut world = World::new("Simulation");
    /// let rock = world.spawn(Heat(80.0));
    /// world.spawn(());
    /// world.for_each_chunk_mut(|mut chunk| {
    ///     if let Ok(heat) = chunk.slice_mut::<Heat>() {
    ///         heat.iter_mut().for_each(|heat| heat.0 *= 0.5);
    ///     }
    /// });
    /// assert_eq!(world.get::<Heat>(rock).unwrap().0, 40.0);
    /// ```
    pub fn slice_mut<T: Component + Mutable>(&mut self) -> Result<&mut [T], EntityError> {
        let first = self.column_mut(ComponentType::of::<T>())?.cast::<T>();
        let count = self.storage.chunks[self.number].len as usize;
        // SAFETY: the column has a value for each entity, in unshared memory, and the world is borrowed mutably.
        Ok(unsafe { slice::from_raw_parts_mut(first, count) })
    }

    /// Returns the address of a column in unshared memory, and marks the component as changed.
    pub(super) fn column_mut(&mut self, ty: ComponentType) -> Result<*mut u8, EntityError> {
        let chunk = &self.storage.chunks[self.number];
        let missing = EntityError::MissingComponent { entity: chunk.entities()[0], component: ty };
        let found = chunk.find(ty).ok_or(missing)?;
        self.storage.make_unique(self.number)?;
        let chunk = &self.storage.chunks[self.number];
        // SAFETY: jobs that use the component were completed, and other jobs do not use its versions.
        unsafe { chunk.note_written_beside(found.column, 0, chunk.len, self.storage.version) };
        Ok(chunk.column(found.offset))
    }

    /// Returns the address of a chunk component, which forks do not share, and marks it as changed.
    pub(super) fn value_mut(&mut self, ty: ComponentType) -> Result<NonNull<u8>, EntityError> {
        let chunk = &self.storage.chunks[self.number];
        let missing = EntityError::MissingComponent { entity: chunk.entities()[0], component: ty };
        let (column, value) = chunk.find_value(ty).ok_or(missing)?;
        // SAFETY: jobs that use the component were completed, and other jobs do not use its versions.
        unsafe { chunk.set_version_beside(column, self.storage.version) };
        Ok(value)
    }
}

impl fmt::Debug for ArchetypeChunkMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_chunk().fmt(f)
    }
}

impl EntityManager {
    /// Returns a view of an existing chunk. Jobs may be using its columns, but not its ids.
    pub(crate) fn chunk(&self, number: u32) -> ArchetypeChunk<'_> {
        ArchetypeChunk::new(&self.storage, number)
    }

    /// Iterates over all chunks. Archetypes are visited in the order of their creation.
    ///
    /// All jobs over entities are completed first, because a view can read all components.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World, WorldSettings};
    ///
    /// #[derive(Component, Clone)]
    /// struct Particle(f32);
    ///
    /// let settings = WorldSettings::new().chunk_capacity_limit(100);
    /// let mut world = World::with_settings("Simulation", settings);
    /// world.spawn_many(Particle(0.0), 250);
    /// assert_eq!(world.chunks().count(), 3);
    /// assert_eq!(world.chunks().map(|chunk| chunk.len()).sum::<usize>(), 250);
    /// ```
    pub fn chunks(&self) -> impl Iterator<Item = ArchetypeChunk<'_>> {
        self.jobs.sync_all();
        self.chunks_in_use()
    }

    /// Iterates over all chunks, in the order of [`chunks`](Self::chunks). Jobs may be using their columns, but not their ids.
    pub(super) fn chunks_in_use(&self) -> impl Iterator<Item = ArchetypeChunk<'_>> {
        let archetypes = self.storage.archetypes.iter();
        archetypes
            .flat_map(|(_, archetype)| archetype.chunks.iter().map(|&chunk| self.chunk(chunk)))
    }

    /// Calls a function with a mutable view of each chunk, in the order of [`chunks`](Self::chunks).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Health(20));
    /// world.for_each_chunk_mut(|mut chunk| {
    ///     chunk.slice_mut::<Health>().unwrap().iter_mut().for_each(|health| health.0 += 1);
    /// });
    /// assert_eq!(world.get::<Health>(orc).unwrap().0, 21);
    /// ```
    pub fn for_each_chunk_mut(&mut self, mut function: impl FnMut(ArchetypeChunkMut<'_>)) {
        self.jobs.sync_all();
        let storage = &mut self.storage;
        for archetype in 0..storage.archetypes.len() as u32 {
            for at in 0..storage.archetypes[archetype].chunks.len() {
                let number = storage.archetypes[archetype].chunks[at];
                function(ArchetypeChunkMut { storage, number });
            }
        }
    }
}

impl<'w> ArchetypeChunk<'w> {
    /// Returns the elements of the buffer in a row. Returns `None` if the row does not exist, or the entities lack the buffer.
    /// See [`EntityManager::untyped_buffer`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Buffer, BufferElement, ComponentType, World};
    ///
    /// #[derive(BufferElement)]
    /// struct Item(u8);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn(Buffer::from([Item(3), Item(5)]));
    /// let chunk = world.chunks().next().unwrap();
    /// let items = chunk.untyped_buffer(ComponentType::of_buffer::<Item>(), 0).unwrap();
    /// assert_eq!(items.all_bytes(), Some(&[3, 5][..]));
    /// ```
    pub fn untyped_buffer(&self, ty: ComponentType, row: usize) -> Option<UntypedBuffer<'w>> {
        let found = self.chunk.find(ty).filter(|_| row < self.len())?;
        let value = self.chunk.column(found.offset).wrapping_add(row * ty.size());
        // SAFETY: the row exists and has a value of the type. It is not written while the world is borrowed.
        unsafe { untyped(ty, value) }
    }
}

impl<'w> ArchetypeChunk<'w> {
    /// Returns the values of a managed component in the order of the entities, or `None` if the entities lack the component.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Managed, ManagedComponent, World};
    ///
    /// #[derive(ManagedComponent, Clone)]
    /// struct Script(String);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many(Managed::new(Script("open".into())), 3);
    /// let chunk = world.chunks().next().unwrap();
    /// assert!(chunk.managed::<Script>().unwrap().all(|script| script.0 == "open"));
    /// ```
    pub fn managed<T: ManagedComponent>(
        &self,
    ) -> Option<impl ExactSizeIterator<Item = &'w T> + use<'w, T>> {
        let found = self.chunk.find(ComponentType::of_managed::<T>())?;
        let first = self.chunk.column(found.offset).cast_const().cast::<Box<T>>();
        // SAFETY: the column has a value for each entity. The values are not written while the world is borrowed. No other thread
        // can read them: no fork shares the memory, chunks are not sent to other threads, and neither is this iterator unless the
        // values are `Sync`.
        let values = unsafe { slice::from_raw_parts(first, self.len()) };
        Some(values.iter().map(|value| &**value))
    }
}

impl ArchetypeChunkMut<'_> {
    /// Returns the values of a managed component mutably, in the order of the entities, and marks them as changed.
    ///
    /// # Errors
    ///
    /// Returns an error if the entities lack the component. The error contains the first entity.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Managed, ManagedComponent, World};
    ///
    /// #[derive(ManagedComponent)]
    /// struct Script(String);
    ///
    /// let mut world = World::new("Simulation");
    /// let door = world.spawn(Managed::new(Script("open".into())));
    /// world.for_each_chunk_mut(|mut chunk| {
    ///     chunk.managed_mut::<Script>().unwrap().for_each(|script| script.0.push('!'));
    /// });
    /// assert_eq!(world.managed::<Script>(door)?.0, "open!");
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn managed_mut<T: ManagedComponent>(
        &mut self,
    ) -> Result<impl ExactSizeIterator<Item = &mut T>, EntityError> {
        let first = self.column_mut(ComponentType::of_managed::<T>())?.cast::<Box<T>>();
        let count = self.as_chunk().len();
        // SAFETY: the column has a value for each entity, in unshared memory, and the world is borrowed mutably.
        let values = unsafe { slice::from_raw_parts_mut(first, count) };
        Ok(values.iter_mut().map(|value| &mut **value))
    }
}

impl<'w> ArchetypeChunk<'w> {
    /// Returns the value of a [chunk component](crate::PerChunk), or `None` if the chunk lacks it.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, PerChunk, World};
    ///
    /// #[derive(Component, Default, Debug, PartialEq)]
    /// struct Detail(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many(PerChunk::<Detail>::new(), 10);
    /// let chunk = world.chunks().next().unwrap();
    /// assert_eq!(chunk.chunk_component(), Some(&Detail(0)));
    /// ```
    pub fn chunk_component<T: Component + Default>(&self) -> Option<&'w T> {
        let (_, value) = self.chunk.find_value(ComponentType::of_chunk::<T>())?;
        // SAFETY: the chunk has a value of this type. It is not written while the world is borrowed.
        Some(unsafe { value.cast().as_ref() })
    }
}

impl ArchetypeChunkMut<'_> {
    /// Returns the value of a chunk component mutably, and marks it as changed.
    ///
    /// # Errors
    ///
    /// Returns an error if the chunk lacks the [chunk component](crate::PerChunk). The error contains the first entity.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, PerChunk, World};
    ///
    /// #[derive(Component, Default, Debug, PartialEq)]
    /// struct Detail(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let stone = world.spawn(PerChunk::<Detail>::new());
    /// world.for_each_chunk_mut(|mut chunk| {
    ///     chunk.chunk_component_mut::<Detail>().unwrap().0 += 1;
    /// });
    /// assert_eq!(world.chunk_component(stone), Ok(&Detail(1)));
    /// ```
    pub fn chunk_component_mut<T: Component + Default>(&mut self) -> Result<&mut T, EntityError> {
        let value = self.value_mut(ComponentType::of_chunk::<T>())?;
        // SAFETY: the chunk has a value of this type, which no fork shares, and the world is borrowed mutably.
        Ok(unsafe { value.cast().as_mut() })
    }
}

impl<'w> ArchetypeChunk<'w> {
    /// Returns the value of a shared component, which is the same for all entities of the chunk. Returns `None` if the entities
    /// lack the component.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Shared, SharedComponent, World};
    ///
    /// #[derive(SharedComponent, Debug, PartialEq, Eq, Hash)]
    /// struct Team(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many(Shared::new(Team(3)), 10);
    /// for chunk in world.chunks() {
    ///     assert_eq!(chunk.shared(), Some(&Team(3)));
    /// }
    /// ```
    pub fn shared<T: SharedComponent>(&self) -> Option<&'w T> {
        let ty = ComponentType::of_shared::<T>();
        self.storage.shared_value(self.chunk, ty)?.downcast_ref()
    }
}

impl<'w> ArchetypeChunk<'w> {
    /// Returns the buffers of the entities in the order of the entities, or `None` if the entities lack the buffer.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Buffer, BufferElement, World};
    ///
    /// #[derive(BufferElement)]
    /// struct Item(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_batch([Buffer::from([Item(1), Item(2)]), Buffer::from([Item(3)])]);
    /// let chunk = world.chunks().next().unwrap();
    /// let bags = chunk.buffers::<Item>().unwrap();
    /// assert_eq!(bags.iter().map(|items| items.len()).collect::<Vec<_>>(), [2, 1]);
    /// ```
    pub fn buffers<T: BufferElement>(&self) -> Option<BufferAccessor<'w, T>> {
        let found = self.chunk.find(ComponentType::of_buffer::<T>())?;
        // SAFETY: the column has a buffer for each entity. The buffers are not written while the world is borrowed.
        Some(unsafe { BufferAccessor::new(self.chunk.column(found.offset), self.len()) })
    }
}

impl ArchetypeChunkMut<'_> {
    /// Returns the buffers of the entities mutably, in the order of the entities, and marks them as changed.
    ///
    /// # Errors
    ///
    /// Returns an error if the entities lack the buffer. The error contains the first entity. Also returns an error if the memory
    /// is shared with a fork and a copy cannot be allocated.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Buffer, BufferElement, World};
    ///
    /// #[derive(BufferElement, Debug, PartialEq)]
    /// struct Item(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let hero = world.spawn(Buffer::from([Item(1)]));
    /// world.for_each_chunk_mut(|mut chunk| {
    ///     for mut items in chunk.buffers_mut::<Item>().unwrap().iter_mut() {
    ///         items.push(Item(9));
    ///     }
    /// });
    /// assert_eq!(world.buffer::<Item>(hero).unwrap(), [Item(1), Item(9)]);
    /// ```
    pub fn buffers_mut<T: BufferElement + Mutable>(
        &mut self,
    ) -> Result<BufferAccessorMut<'_, T>, EntityError> {
        let first = self.column_mut(ComponentType::of_buffer::<T>())?;
        let count = self.as_chunk().len();
        // SAFETY: the column has a buffer for each entity, in unshared memory, and the world is borrowed mutably.
        Ok(unsafe { BufferAccessorMut::new(first, count) })
    }
}
