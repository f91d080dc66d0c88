//! Components whose type is known only at run time, as bytes.

#![expect(unsafe_code, reason = "values as bytes")]

use std::slice;

use super::EntityManager;
use crate::component::ComponentType;
use crate::entity::Entity;
use crate::error::EntityError;

impl EntityManager {
    /// The bytes of an entity's component.
    ///
    /// Those of runtime types can always be read; those of other types if they have neither padding nor pointers.
    ///
    /// # Errors
    ///
    /// If there is no such entity, it does not have the component, or the bytes cannot be read.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{ComponentType, RuntimeType, World};
    ///
    /// let fuel = ComponentType::register(RuntimeType::new("doc::Fuel", 4, 4)).unwrap();
    /// let mut world = World::new("Simulation");
    /// let ship = world.spawn(());
    /// world.entities_mut().add_bytes(ship, fuel, &7_u32.to_le_bytes()).unwrap();
    /// assert_eq!(world.entities().get_bytes(ship, fuel), Ok(&[7, 0, 0, 0][..]));
    /// ```
    pub fn get_bytes(&self, entity: Entity, ty: ComponentType) -> Result<&[u8], EntityError> {
        let Some(value) = self.storage.find(entity, ty) else {
            return Err(self.not_found(entity, ty));
        };
        if !ty.0.shape.plain {
            return Err(EntityError::NotBytes { component: ty, write: false });
        }
        // SAFETY: there is a value, and all its bytes are initialised. Who could write to it would have to borrow
        // this mutably.
        Ok(unsafe { slice::from_raw_parts(value, ty.size()) })
    }

    /// Replaces the bytes of an entity's component.
    ///
    /// Those of runtime types can always be written; those of other types if all bytes are a value.
    ///
    /// # Errors
    ///
    /// If there is no such entity, it does not have the component, the bytes cannot be written, or are not as many. If
    /// the world shares memory with a fork, and there is none for a copy.
    pub fn set_bytes(
        &mut self,
        entity: Entity,
        ty: ComponentType,
        bytes: &[u8],
    ) -> Result<(), EntityError> {
        let location = self.locate(entity)?;
        let Some(found) = self.storage.chunks[location.chunk].find(ty) else {
            return Err(EntityError::MissingComponent { entity, component: ty });
        };
        check_bytes(ty, bytes)?;
        self.storage.make_unique(location.chunk)?;
        let chunk = &mut self.storage.chunks[location.chunk];
        chunk.state.set_version(found.column, self.storage.version);
        let value = chunk.column(found.offset).wrapping_add(location.row as usize * ty.size());
        // SAFETY: there is a value of so many bytes, in memory that is the world's alone; any bytes are a value.
        unsafe { value.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Ok(())
    }

    /// Gives an entity a component of these bytes; one that it has is replaced. Returns whether it is new.
    ///
    /// # Errors
    ///
    /// If there is no such entity, the bytes cannot be written, or are not as many, the entity would be larger than a
    /// chunk, or there is no memory. In a strict world, if the entity has the component.
    pub fn add_bytes(
        &mut self,
        entity: Entity,
        ty: ComponentType,
        bytes: &[u8],
    ) -> Result<bool, EntityError> {
        check_bytes(ty, bytes)?;
        let added = self.add_with(entity, ty, |value| {
            // SAFETY: there is room for so many bytes; any bytes are a value.
            unsafe { value.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        })?;
        if !added {
            self.set_bytes(entity, ty, bytes)?;
        }
        Ok(added)
    }
}

/// Checks that these bytes are a value of the type.
fn check_bytes(ty: ComponentType, bytes: &[u8]) -> Result<(), EntityError> {
    if !ty.0.shape.any_bits || ty.0.drop.is_some() {
        return Err(EntityError::NotBytes { component: ty, write: true });
    }
    if bytes.len() != ty.size() {
        return Err(EntityError::WrongLength {
            component: ty,
            expected: ty.size(),
            found: bytes.len(),
        });
    }
    Ok(())
}
