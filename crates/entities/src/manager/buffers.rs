//! The buffers of entities.

#![expect(unsafe_code, reason = "buffers in chunks")]

use super::{ArchetypeChunk, ArchetypeChunkMut, EntityManager};
use crate::buffer::{
    BufferAccessor, BufferAccessorMut, BufferElement, BufferLayout, DynamicBuffer, elements_of,
    write_empty,
};
use crate::component::ComponentType;
use crate::entity::Entity;
use crate::error::EntityError;

impl EntityManager {
    /// Gives an entity a buffer, without elements. One that it has stays as it is, contents included.
    ///
    /// Reorders query results: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// Reorders what queries give: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// Returns it, to be changed. [`add`](Self::add) with a [`Buffer`](crate::Buffer) replaces the contents.
    ///
    /// # Errors
    ///
    /// If there is no such entity, the entity would be larger than a chunk, or there is no memory. In a strict world, if the
    /// entity has the buffer.
    ///
    /// # Complexity
    ///
    /// A structural change: all components of the entity are copied to another chunk, unless it has the buffer.
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
    /// world.add_buffer(hero)?.push(Item(3));
    /// assert_eq!(*world.add_buffer::<Item>(hero)?, [Item(3)]);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn add_buffer<T: BufferElement>(
        &mut self,
        entity: Entity,
    ) -> Result<DynamicBuffer<'_, T>, EntityError> {
        self.add_with(entity, ComponentType::of_buffer::<T>(), |value| {
            // SAFETY: there is room for a value of this type.
            unsafe { write_empty::<T>(value.cast()) };
        })?;
        self.buffer_mut(entity)
    }

    /// The elements of an entity's buffer.
    ///
    /// # Errors
    ///
    /// If there is no such entity, or it does not have the buffer.
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
    /// let hero = world.spawn(Buffer::from([Item(3)]));
    /// assert_eq!(world.buffer::<Item>(hero)?, [Item(3)]);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[inline]
    pub fn buffer<T: BufferElement>(&self, entity: Entity) -> Result<&[T], EntityError> {
        let ty = ComponentType::of_buffer::<T>();
        self.jobs.sync_for_read(ty);
        match self.storage.find(entity, ty) {
            // SAFETY: there is a buffer of this type. Who could change it would have to borrow this mutably.
            Some(value) => Ok(unsafe { elements_of(value.cast()) }),
            None => Err(self.not_found(entity, ty)),
        }
    }

    /// The buffer of an entity, to be changed. It counts as changed from now on.
    ///
    /// # Errors
    ///
    /// If there is no such entity, or it does not have the buffer. If the memory is shared with a fork, and a copy cannot be allocated.
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
    /// let hero = world.spawn(Buffer::from([Item(3)]));
    /// world.buffer_mut::<Item>(hero)?.clear();
    /// assert!(world.buffer::<Item>(hero)?.is_empty());
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[inline]
    pub fn buffer_mut<T: BufferElement>(
        &mut self,
        entity: Entity,
    ) -> Result<DynamicBuffer<'_, T>, EntityError> {
        let (column, row) = self.column_mut(entity, ComponentType::of_buffer::<T>())?;
        let value = column.wrapping_add(row * BufferLayout::of::<T>().size);
        // SAFETY: there is a buffer of this type, in memory that is the world's alone, which is borrowed mutably.
        Ok(unsafe { DynamicBuffer::new(value.cast()) })
    }
}

impl<'w> ArchetypeChunk<'w> {
    /// The buffers of the entities, in the same order, if they have them.
    pub fn buffers<T: BufferElement>(&self) -> Option<BufferAccessor<'w, T>> {
        let found = self.chunk.find(ComponentType::of_buffer::<T>())?;
        // SAFETY: there is a buffer for each entity. Who could change them would have to borrow the world mutably.
        Some(unsafe { BufferAccessor::new(self.chunk.column(found.offset), self.len()) })
    }
}

impl ArchetypeChunkMut<'_> {
    /// The buffers of the entities, in the same order. They count as changed from now on.
    ///
    /// # Errors
    ///
    /// If the entities do not have them: then the error names the first of them. If the memory is shared with a fork, and a copy cannot
    /// be allocated.
    pub fn buffers_mut<T: BufferElement>(
        &mut self,
    ) -> Result<BufferAccessorMut<'_, T>, EntityError> {
        let first = self.column_mut(ComponentType::of_buffer::<T>())?;
        let count = self.as_chunk().len();
        // SAFETY: there is a buffer for each entity, in memory that is the world's alone, which is borrowed mutably.
        Ok(unsafe { BufferAccessorMut::new(first, count) })
    }
}
