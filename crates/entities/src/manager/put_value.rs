//! Adding and replacing components whose values are read field by field.

#![expect(unsafe_code, reason = "moves values of erased types to rows")]

use std::iter;

use crate::component::ComponentType;
use crate::entity::Entity;
use crate::error::EntityError;
use crate::field::{ValueError, ValueReader};
use crate::manager::EntityManager;
use crate::storage::{InlineVec, ReadValue, SetOperation};

/// The error of a value that cannot be added to an entity.
#[derive(Clone, Debug)]
pub enum PutError {
    /// The value cannot be read.
    Value(ValueError),
    /// The component cannot be added.
    Entity(EntityError),
}

impl From<EntityError> for PutError {
    fn from(error: EntityError) -> Self {
        Self::Entity(error)
    }
}

impl EntityManager {
    /// Adds a component with a value that is read field by field, or replaces its value.
    ///
    /// The value is read before anything changes. The old value is dropped at the end.
    pub(crate) fn put_value(
        &mut self,
        entity: Entity,
        ty: ComponentType,
        from: &mut dyn ValueReader,
    ) -> Result<(), PutError> {
        if let Some(shared) = ty.0.shared {
            let value = (shared.read)(from).map_err(PutError::Value)?;
            if self.has_type(entity, ty) {
                self.set_shared_for_all(&[entity], ty, &value)?;
                return Ok(());
            }
            let set = self.set_number_of(&[ty])?;
            let given: InlineVec<_, _> = iter::once(value).collect();
            let (location, transfer, to) =
                self.prepare_shared_insert(entity, set, &given, 1, SetOperation::Add)?;
            let Some(to) = to else { return Ok(()) };
            if !self.transfers[transfer].required.is_empty() {
                self.write_required_by(transfer, to);
            }
            let transfer = &self.transfers[transfer];
            // SAFETY: the entity exists at the location, in a chunk that was made unshared. Chunk `to` has room. The columns that the
            // transfer does not move were just written, or have no bytes.
            unsafe { self.storage.move_row(entity, location, transfer, to, &transfer.left) };
            return Ok(());
        }
        let value = ReadValue::new(ty, from).map_err(PutError::Value)?;
        if ty.0.reverse_of.is_some() {
            // The world maintains the lists of relationships.
            return Ok(());
        }
        let Some(relationship) = ty.0.relationship else {
            return Ok(self.put_read(entity, ty, value)?);
        };
        // SAFETY: the relationship is that of the type, and `value` has a value of it.
        let target = unsafe { (relationship.target)(value.as_ptr()) };
        if target.is_null() {
            self.remove_types(entity, &[ty])?;
            return Ok(());
        }
        Ok(self.put_linked(entity, relationship, target, |manager| {
            manager.put_read(entity, ty, value)
        })?)
    }

    /// Adds a component, or replaces its value, and does not change links.
    fn put_read(
        &mut self,
        entity: Entity,
        ty: ComponentType,
        mut value: ReadValue,
    ) -> Result<(), EntityError> {
        if self.has_type(entity, ty) {
            let (column, row) = self.column_mut(entity, ty)?;
            // SAFETY: the row has a value of the type, in unshared memory that nothing else uses.
            unsafe { value.swap(column.wrapping_add(row * ty.size())) };
            return Ok(());
        }
        let mut value = Some(value);
        self.add_with(entity, ty, |to| {
            if let Some(value) = value.take() {
                // SAFETY: the address has room for a value of the type, which the row owns afterwards.
                unsafe { value.move_to(to) };
            }
        })?;
        Ok(())
    }
}
