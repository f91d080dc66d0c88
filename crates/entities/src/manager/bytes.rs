//! Components whose type is known only at run time, as bytes.

#![expect(unsafe_code, reason = "values as bytes")]

use std::slice;

use super::{ArchetypeChunk, EntityManager};
use crate::buffer::UntypedBuffer;
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
    /// world.add_bytes(ship, fuel, &7_u32.to_le_bytes()).unwrap();
    /// assert_eq!(world.get_bytes(ship, fuel), Ok(&[7, 0, 0, 0][..]));
    /// ```
    pub fn get_bytes(&self, entity: Entity, ty: ComponentType) -> Result<&[u8], EntityError> {
        self.jobs.before_reading(ty);
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

    /// The elements of an entity's buffer whose type is known only at run time: how many there are, and their bytes.
    ///
    /// # Errors
    ///
    /// If there is no such entity, it does not have the component, or that is not a buffer.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Buffer, BufferElement, ComponentType, World};
    ///
    /// #[derive(BufferElement)]
    /// struct Name(String);
    ///
    /// let mut world = World::new("Simulation");
    /// let ship = world.spawn(Buffer::from([Name("Argo".into())]));
    /// let names = world.untyped_buffer(ship, ComponentType::of_buffer::<Name>()).unwrap();
    /// assert_eq!(names.len(), 1);
    /// // There are pointers in it.
    /// assert_eq!(names.bytes(0), None);
    /// ```
    pub fn untyped_buffer(
        &self,
        entity: Entity,
        ty: ComponentType,
    ) -> Result<UntypedBuffer<'_>, EntityError> {
        self.jobs.before_reading(ty);
        let Some(value) = self.storage.find(entity, ty) else {
            return Err(self.not_found(entity, ty));
        };
        // SAFETY: there is a value of the type. Who could write to it would have to borrow this mutably.
        let buffer = unsafe { untyped(ty, value) };
        buffer.ok_or(EntityError::NotABuffer { component: ty })
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
        self.before_writing(entity, ty);
        self.storage.make_unique(location.chunk)?;
        let chunk = &self.storage.chunks[location.chunk];
        // SAFETY: jobs that use the component were waited for, and others see no versions, or had them written out.
        unsafe {
            chunk.note_written_beside(found.column, location.row, 1, self.storage.version);
        }
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

impl<'w> ArchetypeChunk<'w> {
    /// The elements of the entity in a row, if there is such a row and the type is a buffer that the entities have. As
    /// [`EntityManager::untyped_buffer`].
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
        // SAFETY: there is a value of the type in the row. Who could write to it would have to borrow the world mutably.
        unsafe { untyped(ty, value) }
    }
}

/// The elements of a buffer, if the type is one.
///
/// # Safety
///
/// - the address has a value of the type, which nobody changes for the lifetime
unsafe fn untyped<'w>(ty: ComponentType, value: *const u8) -> Option<UntypedBuffer<'w>> {
    let find = ty.0.elements?;
    // SAFETY: there is a value of the type.
    let (shape, first, len) = unsafe { find(value) };
    // SAFETY: there are so many elements, side by side, and all their bytes are initialised. They are not changed for the
    // lifetime.
    let bytes = shape.plain.then(|| unsafe { slice::from_raw_parts(first, len * shape.size) });
    Some(UntypedBuffer::new(shape, len, bytes))
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
