//! Required components of entities that are created or changed.

#![expect(unsafe_code, reason = "writes required components to rows that are not in use yet")]

use std::mem;

use super::EntityManager;
use crate::component::{ComponentType, RequireVisitor, RequiredValue, required_by};
use crate::entity::Entity;
use crate::error::EntityError;
use crate::set::ComponentSet;
use crate::storage::{NOWHERE, RequiredColumn, SetOperation, Storage};

/// A step of a visit of all requirements of a set.
#[derive(Clone, Copy)]
pub(super) struct RequireStep {
    /// The offset of the column, or [`NOWHERE`] if the step and its own requirements are skipped.
    pub(super) offset: u32,
    /// The type, if the step is not skipped.
    pub(super) ty: Option<ComponentType>,
}

/// The first free row of a chunk, to which required components are written. If a constructor panics, the written values are dropped,
/// and the chunk is closed if it has no entities.
struct RequiredRow<'s> {
    storage: &'s mut Storage,
    chunk: u32,
    data: *mut u8,
    row: usize,
    steps: &'s [RequireStep],
    /// The number of finished steps.
    done: usize,
}

impl RequireVisitor for RequiredRow<'_> {
    #[inline(always)]
    fn require<T: RequiredValue>(&mut self, make: fn() -> T) {
        let RequireStep { offset, ty } = self.steps[self.done];
        if offset == NOWHERE {
            self.done += 1;
            return;
        }
        let expected = T::component_type();
        assert!(ty == Some(expected), "a component requires the same components each time");
        let value = make();
        let at = offset as usize + self.row * expected.size();
        // SAFETY: the chunk has a column of this type at the offset, and room for the row, which has no value.
        unsafe { value.write_to(self.data.add(at)) };
        self.done += 1;
        T::require(self);
    }
}

/// Undoes the steps after a panic.
impl Drop for RequiredRow<'_> {
    fn drop(&mut self) {
        let Self { storage, chunk, .. } = self;
        let (archetype, group) = (storage.chunks[*chunk].archetype, storage.chunks[*chunk].group);
        let is_empty = storage.chunks[*chunk].len == 0;
        let retired = is_empty.then(|| storage.close_chunk(*chunk).into_parts());
        if group != NOWHERE {
            storage.forget_group(archetype, group);
        }
        let unused = storage.shared.take_unused();
        for &RequireStep { offset, ty } in &self.steps[..self.done] {
            if let Some(ty) = ty
                && let Some(drop) = ty.0.drop
            {
                let at = offset as usize + self.row * ty.size();
                // SAFETY: the step has written a value there, which is not used again.
                unsafe { drop(self.data.add(at), 1) };
            }
        }
        drop(unused);
        drop(retired);
    }
}

impl EntityManager {
    /// Writes the components that a set requires to the first free row of an unshared chunk with room, of the set's archetype. Runs
    /// constructors: if one panics, nothing changes.
    #[inline(always)]
    pub(super) fn write_required<S: ComponentSet>(&mut self, set: u32, chunk: u32) {
        let steps = &self.sets.layout(set).require_steps;
        let (data, row) = (self.storage.chunks[chunk].data(), self.storage.chunks[chunk].len);
        let storage = &mut self.storage;
        let mut target = RequiredRow { storage, chunk, data, row: row as usize, steps, done: 0 };
        S::require(&mut target);
        assert!(target.done == steps.len(), "a component requires the same components each time");
        mem::forget(target);
    }

    /// Returns the archetype of entities that are created in an archetype, and the columns of required components that it does not
    /// have.
    pub(super) fn with_required(
        &mut self,
        archetype: u32,
    ) -> Result<(u32, Box<[RequiredColumn]>), EntityError> {
        let shape = &self.storage.archetypes[archetype].shape;
        let required = required_by(shape.types.iter().copied(), |ty| shape.has(ty));
        if required.is_empty() {
            return Ok((archetype, Box::default()));
        }
        let all = shape.types.iter().copied().chain(required.iter().map(|found| found.ty));
        let mut types: Vec<_> = all.collect();
        super::archetypes::sort(&mut types)?;
        let archetype = self.find_archetype(&types)?;
        let columns = RequiredColumn::of_all(&required, &self.storage.archetypes[archetype].shape);
        Ok((archetype, columns))
    }

    /// Writes the components that a transfer requires to the first free row of an unshared chunk with room, of the transfer's
    /// archetype. Runs constructors: if one panics, nothing changes.
    #[cold]
    pub(super) fn write_required_by(&mut self, transfer: u32, chunk: u32) {
        let required = &self.transfers[transfer].required;
        let (data, row) = (self.storage.chunks[chunk].data(), self.storage.chunks[chunk].len);
        let columns = &self.storage.chunks[chunk].shape().columns;
        let step = |found: &RequiredColumn| {
            let offset = columns[found.column as usize].offset;
            RequireStep { offset, ty: Some(found.requirement.ty) }
        };
        let steps: Vec<_> = required.iter().map(step).collect();
        let (storage, steps, row) = (&mut self.storage, &*steps, row as usize);
        let mut target = RequiredRow { storage, chunk, data, row, steps, done: 0 };
        for (found, step) in required.iter().zip(steps) {
            let at = step.offset as usize + row * found.requirement.ty.size();
            // SAFETY: the chunk has a column of the type at the offset, and room for the row, which has no value.
            unsafe { found.requirement.fill(data.add(at), 1) };
            target.done += 1;
        }
        mem::forget(target);
    }

    /// Removes components from an entity, and the components that they require, except those that a remaining component requires.
    /// Returns whether a component was removed.
    ///
    /// Reorders query results: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`remove`](Self::remove).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Default)]
    /// struct Position(f32);
    ///
    /// #[derive(Component, Default)]
    /// struct Velocity(f32);
    ///
    /// #[derive(Component)]
    /// #[component(require(Position))]
    /// struct Visible;
    ///
    /// #[derive(Component)]
    /// #[component(require(Position, Velocity))]
    /// struct Flying;
    ///
    /// let mut world = World::new("Simulation");
    /// let bird = world.spawn((Visible, Flying));
    /// world.remove_with_required::<Flying>(bird)?;
    /// assert!(world.has::<(Visible, Position)>(bird) && !world.has::<Velocity>(bird));
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[doc(alias = "remove_with_requires")]
    pub fn remove_with_required<S: ComponentSet>(
        &mut self,
        entity: Entity,
    ) -> Result<bool, EntityError> {
        let Some(location) = self.storage.table.locate(entity) else {
            return self.remove::<S>(entity);
        };
        let set = self.set_number::<S>()?;
        let removed = &self.sets.get(set).types;
        let shape = &self.storage.archetypes[self.storage.archetype_at(location)].shape;
        let required = removed.iter().flat_map(|ty| &ty.0.requirements.all).map(|all| all.ty);
        let mut taken: Vec<_> = removed.to_vec();
        for ty in required {
            if shape.has(ty) && !taken.contains(&ty) {
                taken.push(ty);
            }
        }
        // A component that stays keeps the components that it requires, which keep theirs: all requirements are in its list.
        let kept: Vec<ComponentType> = shape
            .types
            .iter()
            .filter(|ty| !taken.contains(ty))
            .flat_map(|ty| &ty.0.requirements.all)
            .map(|requirement| requirement.ty)
            .collect();
        taken.retain(|ty| removed.contains(ty) || !kept.contains(ty));
        self.remove_types(entity, &taken)
    }
}

/// Returns whether an operation adds components, so that required ones arrive with them.
pub(super) fn adds(change: SetOperation) -> bool {
    matches!(change, SetOperation::Add | SetOperation::AddMissing | SetOperation::Exchange)
}
