//! The managed components of entities.

#![expect(unsafe_code, reason = "boxes in chunks")]

use std::slice;

use super::{ArchetypeChunk, ArchetypeChunkMut, EntityManager};
use crate::component::ComponentType;
use crate::entity::Entity;
use crate::error::EntityError;
use crate::managed::ManagedComponent;

impl EntityManager {
    /// The value of an entity's managed component.
    ///
    /// # Errors
    ///
    /// If there is no such entity, or it does not have the component.
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
    /// assert_eq!(world.managed::<Script>(door)?.0, "open");
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[inline]
    pub fn managed<T: ManagedComponent>(&self, entity: Entity) -> Result<&T, EntityError> {
        let ty = ComponentType::of_managed::<T>();
        self.jobs.before_reading(ty);
        match self.storage.find(entity, ty) {
            // SAFETY: there is a value of this type. Who could write to it would have to borrow this mutably. No other
            // thread can read it: the memory is shared with no fork, and what leads to it is not sent to threads.
            Some(value) => Ok(unsafe { &*value.cast::<Box<T>>() }),
            None => Err(self.not_found(entity, ty)),
        }
    }

    /// The value of an entity's managed component, to be changed. It counts as changed from now on.
    ///
    /// # Errors
    ///
    /// If there is no such entity, or it does not have the component.
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
    /// world.managed_mut::<Script>(door)?.0 = "close".into();
    /// assert_eq!(world.managed::<Script>(door)?.0, "close");
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[inline]
    pub fn managed_mut<T: ManagedComponent>(
        &mut self,
        entity: Entity,
    ) -> Result<&mut T, EntityError> {
        let (column, row) = self.column_mut(entity, ComponentType::of_managed::<T>())?;
        // SAFETY: there is a value of this type, in memory that is the world's alone, which is borrowed mutably.
        Ok(unsafe { &mut *column.cast::<Box<T>>().add(row) })
    }
}

impl<'w> ArchetypeChunk<'w> {
    /// The values of a managed component, one for each entity in the same order, if they have it.
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
        // SAFETY: there is a value for each entity. Who could write to them would have to borrow the world mutably. No
        // other thread can read them: the memory is shared with no fork, and chunks are not sent to threads, nor is this
        // iterator unless the values may be shared.
        let values = unsafe { slice::from_raw_parts(first, self.len()) };
        Some(values.iter().map(|value| &**value))
    }
}

impl ArchetypeChunkMut<'_> {
    /// The values of a managed component, one for each entity in the same order. They count as changed from now on.
    ///
    /// # Errors
    ///
    /// If the entities do not have it: then the error names the first of them.
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
        // SAFETY: there is a value for each entity, in memory that is the world's alone, which is borrowed mutably.
        let values = unsafe { slice::from_raw_parts_mut(first, count) };
        Ok(values.iter_mut().map(|value| &mut **value))
    }
}
