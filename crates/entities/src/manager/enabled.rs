//! Switching components on and off without moving their entities.

#![expect(unsafe_code, reason = "chunks that are known to be there")]

use super::EntityManager;
use crate::component::{Component, ComponentType};
use crate::entity::Entity;
use crate::error::EntityError;
use crate::storage::{EnabledMasks, Location};

/// Where a type that can be switched off and on is in an archetype: mostly one entity after another is of the same.
#[derive(Clone, Copy)]
pub(super) struct EnabledSlot {
    archetype: u32,
    ty: Option<ComponentType>,
    column: u32,
    /// The word that the mask begins with, in chunks of the archetype.
    first_word: u32,
}

impl EnabledSlot {
    pub(super) const NONE: Self = Self { archetype: 0, ty: None, column: 0, first_word: 0 };
}

impl EntityManager {
    /// Switches a component of an entity on or off. It keeps its value, and the entity its place.
    ///
    /// Queries pass over entities whose component is off. Unity's `SetComponentEnabled`.
    ///
    /// # Errors
    ///
    /// If there is no such entity, it does not have the component, or the component is not enableable.
    ///
    /// # Complexity
    ///
    /// Not a structural change: one bit is set.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// #[component(enableable)]
    /// struct Engine(f32);
    ///
    /// let mut world = World::new("Simulation");
    /// let car = world.spawn(Engine(90.0));
    /// assert_eq!(world.is_component_enabled::<Engine>(car), Ok(true));
    /// world.set_component_enabled::<Engine>(car, false).unwrap();
    /// assert_eq!(world.is_component_enabled::<Engine>(car), Ok(false));
    /// assert!(world.has::<Engine>(car));
    /// ```
    #[inline]
    pub fn set_component_enabled<T: Component>(
        &mut self,
        entity: Entity,
        enabled: bool,
    ) -> Result<(), EntityError> {
        self.set_type_enabled(entity, ComponentType::of::<T>(), enabled)
    }

    /// Switches a component of an entity on or off, as [`set_component_enabled`](Self::set_component_enabled).
    ///
    /// # Errors
    ///
    /// As there.
    #[inline]
    pub fn set_type_enabled(
        &mut self,
        entity: Entity,
        ty: ComponentType,
        enabled: bool,
    ) -> Result<(), EntityError> {
        self.sync_for_set_enabled(ty);
        if self.set_enabled_again(entity, ty, enabled) {
            return Ok(());
        }
        self.switch(entity, ty, enabled)
    }

    /// Switches a component of an entity on or off, if it is the type of the last time, and the archetype, and nothing is to be
    /// thought of. Returns whether it is so.
    ///
    /// It calls nothing and refuses nothing, so that it has nothing to keep for afterwards.
    #[inline]
    fn set_enabled_again(&mut self, entity: Entity, ty: ComponentType, enabled: bool) -> bool {
        let Some(Location { chunk, row }) = self.storage.table.locate(entity) else { return false };
        let EnabledSlot { archetype, ty: last, column, first_word, .. } = self.last_enabled;
        // SAFETY: the table names chunks that are there.
        let chunk = unsafe { self.storage.chunks.at(chunk) };
        if chunk.archetype != archetype || last != Some(ty) {
            return false;
        }
        // SAFETY: the archetype has such a column, and such a mask. The chunk is one of it and has the row, as the table says. Jobs
        // that use them were waited for, and others see no versions, or had them written out.
        unsafe {
            let is_noted = chunk.note_written_quickly(column, self.storage.version);
            if is_noted {
                chunk.enabled.set_from(first_word, row, enabled);
            }
            is_noted
        }
    }

    #[inline(never)]
    fn switch(
        &mut self,
        entity: Entity,
        ty: ComponentType,
        enabled: bool,
    ) -> Result<(), EntityError> {
        let Location { chunk, row } = self.locate(entity)?;
        // SAFETY: the table names chunks that are there.
        let archetype = unsafe { self.storage.chunks.at(chunk) }.archetype;
        let mut switch = self.last_enabled;
        if switch.archetype != archetype || switch.ty != Some(ty) {
            switch = self.find_enabled_slot(entity, archetype, ty)?;
        }
        // SAFETY: as above.
        let chunk = unsafe { self.storage.chunks.at(chunk) };
        // SAFETY: the archetype has such a mask. Jobs that use it, or the component, were waited for, and others see no versions, or
        // had them written out.
        unsafe {
            chunk.enabled.set_from(switch.first_word, row, enabled);
            chunk.note_written_beside(switch.column, row, 1, self.storage.version);
        }
        Ok(())
    }

    /// Returns the error with which [`set_type_enabled`](Self::set_type_enabled) would fail for an entity.
    pub(super) fn check_enableable(
        &mut self,
        entity: Entity,
        ty: ComponentType,
    ) -> Result<(), EntityError> {
        let archetype = self.storage.archetype_at(self.locate(entity)?);
        self.find_enabled_slot(entity, archetype, ty).map(drop)
    }

    /// Finds which mask is that of a type, and remembers it.
    #[inline(never)]
    fn find_enabled_slot(
        &mut self,
        entity: Entity,
        archetype: u32,
        ty: ComponentType,
    ) -> Result<EnabledSlot, EntityError> {
        let shape = &self.storage.archetypes[archetype].shape;
        let Some(found) = shape.index.find(ty) else {
            return Err(EntityError::MissingComponent { entity, component: ty });
        };
        let Some(mask) = found.mask() else {
            return Err(EntityError::NotEnableable { component: ty });
        };
        let first_word = EnabledMasks::first_word(mask, shape.capacity);
        let column = found.column;
        self.last_enabled = EnabledSlot { archetype, ty: Some(ty), column, first_word };
        Ok(self.last_enabled)
    }

    /// Whether a component of an entity is switched on. Those that are not enableable always are.
    ///
    /// # Errors
    ///
    /// If there is no such entity, or it does not have the component.
    pub fn is_component_enabled<T: Component>(&self, entity: Entity) -> Result<bool, EntityError> {
        self.is_type_enabled(entity, ComponentType::of::<T>())
    }

    /// Whether a component of an entity is switched on. Those that are not enableable always are.
    ///
    /// # Errors
    ///
    /// If there is no such entity, or it does not have the component.
    pub fn is_type_enabled(&self, entity: Entity, ty: ComponentType) -> Result<bool, EntityError> {
        self.jobs.sync_for_enabled_read(ty);
        let Location { chunk, row } = self.locate(entity)?;
        let chunk = &self.storage.chunks[chunk];
        let Some(found) = chunk.find(ty) else {
            return Err(EntityError::MissingComponent { entity, component: ty });
        };
        Ok(found.mask().is_none_or(|mask| chunk.enabled.get(mask, row)))
    }
}
