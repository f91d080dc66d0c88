//! The values of chunks.

#![expect(unsafe_code, reason = "references to values of chunks")]

use std::mem;

use ancho_collections::Rejected;

use super::{ArchetypeChunk, ArchetypeChunkMut, EntityManager};
use crate::component::{Component, ComponentType};
use crate::entity::Entity;
use crate::error::EntityError;

impl EntityManager {
    /// The value that the chunk of an entity has, for all entities in it.
    ///
    /// # Errors
    ///
    /// If there is no such entity, or it does not have the [chunk component](crate::PerChunk).
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
    /// assert_eq!(world.chunk_component(stone), Ok(&Detail(0)));
    /// ```
    pub fn chunk_component<T: Component + Default>(
        &self,
        entity: Entity,
    ) -> Result<&T, EntityError> {
        let ty = ComponentType::of_chunk::<T>();
        self.jobs.before_reading(ty);
        let location = self.locate(entity)?;
        match self.storage.chunks[location.chunk].find_value(ty) {
            // SAFETY: there is a value of this type. Who could write to it would have to borrow this mutably.
            Some((_, value)) => Ok(unsafe { value.cast().as_ref() }),
            None => Err(EntityError::MissingComponent { entity, component: ty }),
        }
    }

    /// Replaces the value that the chunk of an entity has, for all entities in it. It counts as changed from now on.
    ///
    /// # Errors
    ///
    /// If there is no such entity, or it does not have the [chunk component](crate::PerChunk). The value is given back.
    ///
    /// # Complexity
    ///
    /// Not a structural change: no entity moves, however many are in the chunk.
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
    /// world.set_chunk_component(stone, Detail(2)).unwrap();
    /// assert_eq!(world.chunk_component(stone), Ok(&Detail(2)));
    /// ```
    pub fn set_chunk_component<T: Component + Default>(
        &mut self,
        entity: Entity,
        value: T,
    ) -> Result<(), Rejected<T, EntityError>> {
        let ty = ComponentType::of_chunk::<T>();
        self.before_writing_beside(ty);
        let location = match self.locate(entity) {
            Ok(location) => location,
            Err(error) => return Err(Rejected { value, error }),
        };
        let chunk = &self.storage.chunks[location.chunk];
        let Some((column, found)) = chunk.find_value(ty) else {
            let error = EntityError::MissingComponent { entity, component: ty };
            return Err(Rejected { value, error });
        };
        // SAFETY: jobs that use the component were waited for, and others see no versions, or had them written out.
        unsafe { chunk.set_version_beside(column, self.storage.version) };
        // SAFETY: there is a value of this type, which is the world's alone, and that is borrowed mutably.
        let old = mem::replace(unsafe { found.cast::<T>().as_mut() }, value);
        // Last of all, since it is code of the user.
        drop(old);
        Ok(())
    }
}

impl<'w> ArchetypeChunk<'w> {
    /// The value that the chunk has, for all entities in it, if they have the [chunk component](crate::PerChunk).
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
        // SAFETY: there is a value of this type. Who could write to it would have to borrow the world mutably.
        Some(unsafe { value.cast().as_ref() })
    }
}

impl ArchetypeChunkMut<'_> {
    /// The value that the chunk has, for all entities in it, to be changed. It counts as changed from now on.
    ///
    /// # Errors
    ///
    /// If the entities do not have the [chunk component](crate::PerChunk): then the error names the first of them.
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
        // SAFETY: there is a value of this type, which is the world's alone, and that is borrowed mutably.
        Ok(unsafe { value.cast().as_mut() })
    }
}
