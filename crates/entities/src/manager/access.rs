//! Reading and writing the components of one entity.

#![expect(unsafe_code, reason = "references to values in chunks")]

use std::iter;

use ancho_collections::Rejected;

use super::EntityManager;
use super::insert_shared::shared_values_of;
use crate::component::{Component, ComponentType};
use crate::entity::Entity;
use crate::error::EntityError;
use crate::set::ComponentSet;
use crate::storage::{Change, Location};

impl EntityManager {
    /// The value of an entity's component.
    ///
    /// # Errors
    ///
    /// If there is no such entity, or it does not have the component.
    #[inline]
    pub fn get<T: Component>(&self, entity: Entity) -> Result<&T, EntityError> {
        let ty = ComponentType::of::<T>();
        self.jobs.before_reading(ty);
        match self.storage.find(entity, ty) {
            // SAFETY: there is a value of this type. Who could write to it would have to borrow this mutably.
            Some(value) => Ok(unsafe { &*value.cast::<T>() }),
            None => Err(self.not_found(entity, ty)),
        }
    }

    /// The value of an entity's component, to be changed. It counts as changed from now on.
    ///
    /// # Errors
    ///
    /// If there is no such entity, or it does not have the component. If the world shares memory with a fork, and
    /// there is none for a copy.
    #[inline]
    pub fn get_mut<T: Component>(&mut self, entity: Entity) -> Result<&mut T, EntityError> {
        let (column, row) = self.column_mut(entity, ComponentType::of::<T>())?;
        // SAFETY: there is a value of this type, in memory that is the world's alone, which is borrowed mutably.
        Ok(unsafe { &mut *column.cast::<T>().add(row) })
    }

    /// Where the values of an entity's component begin, and which row is the entity's, in memory that is the world's
    /// alone. The component counts as changed from now on.
    #[inline]
    pub(super) fn column_mut(
        &mut self,
        entity: Entity,
        ty: ComponentType,
    ) -> Result<(*mut u8, usize), EntityError> {
        self.before_writing(entity, ty);
        let Some(Location { chunk: number, row }) = self.storage.table.locate(entity) else {
            return Err(self.no_such(entity));
        };
        let Some(found) = self.storage.chunks[number].find(ty) else {
            return Err(EntityError::MissingComponent { entity, component: ty });
        };
        self.storage.make_unique(number)?;
        let chunk = &self.storage.chunks[number];
        // SAFETY: jobs that use the component were waited for, and others see no versions, or had them written out.
        unsafe { chunk.note_written_beside(found.column, row, 1, self.storage.version) };
        Ok((chunk.column(found.offset), row as usize))
    }

    /// Whether an entity is there and has all these components.
    #[inline]
    pub fn has<S: ComponentSet>(&self, entity: Entity) -> bool {
        let Some(location) = self.storage.table.locate(entity) else { return false };
        let shape = self.storage.chunks[location.chunk].shape();
        let mut all = true;
        S::types(&mut |ty| all &= shape.has(ty));
        all
    }

    /// Whether an entity is there and has this component.
    pub fn has_type(&self, entity: Entity, ty: ComponentType) -> bool {
        self.storage.archetype_of(entity).is_some_and(|archetype| archetype.shape.has(ty))
    }

    /// Replaces the values of components, all of which the entity has.
    ///
    /// # Errors
    ///
    /// If there is no such entity, or it lacks one of them: then none is replaced. If the world shares memory with a
    /// fork, and there is none for a copy.
    pub fn set<S: ComponentSet>(
        &mut self,
        entity: Entity,
        set: S,
    ) -> Result<(), Rejected<S, EntityError>> {
        if S::COUNT == 0 {
            // Memory that is shared stays so: nothing is written.
            return match self.locate(entity) {
                Ok(_) => Ok(()),
                Err(error) => Err(Rejected { value: set, error }),
            };
        }
        if S::SHARED {
            return self.give_shared(entity, set, Change::Set).map(drop);
        }
        let prepared = self.prepare_set::<S>(entity);
        match prepared {
            Ok((location, transfer)) => {
                // SAFETY: the transfer is from the entity's archetype to itself, and the chunk the world's alone.
                unsafe { self.replace(location, transfer, set) };
                Ok(())
            }
            Err(error) => Err(Rejected { value: set, error }),
        }
    }

    fn prepare_set<S: ComponentSet>(
        &mut self,
        entity: Entity,
    ) -> Result<(Location, u32), EntityError> {
        let (location, transfer) = self.find_set::<S>(entity)?;
        self.before_transfer(location, transfer);
        self.storage.make_unique(location.chunk)?;
        Ok((location, transfer))
    }

    /// Where an entity is that has all components of a set, and the transfer that replaces them.
    pub(super) fn find_set<S: ComponentSet>(
        &mut self,
        entity: Entity,
    ) -> Result<(Location, u32), EntityError> {
        let location = self.locate(entity)?;
        let set = self.set_number::<S>()?;
        let from = self.storage.chunks[location.chunk].archetype;
        let shape = &self.storage.archetypes[from].shape;
        if let Some(&component) = self.sets.get(set).types.iter().find(|&&ty| !shape.has(ty)) {
            return Err(EntityError::MissingComponent { entity, component });
        }
        Ok((location, self.transfer(from, set, Change::Set)?))
    }

    /// Replaces components that are all there. Those that were there are dropped last.
    ///
    /// # Safety
    ///
    /// - the transfer is one of this set, from the archetype of the place to itself
    /// - the chunk's memory is the world's alone, and no job uses the components
    ///
    /// Shared components among them have the values of the set already.
    pub(super) unsafe fn replace<S: ComponentSet>(
        &mut self,
        location: Location,
        transfer: u32,
        set: S,
    ) {
        let transfer = &self.transfers[transfer];
        let chunk = &self.storage.chunks[location.chunk];
        let place = chunk.row(location.row, &transfer.offsets);
        // SAFETY: the set's components are there; the new ones take the place of those that are read.
        let old = unsafe {
            let old = if S::SHARED {
                // What is there is what is given, so it comes back.
                S::read(place, &mut shared_values_of(&set).into_iter())
            } else {
                S::read(place, &mut iter::empty())
            };
            set.write(place);
            old
        };
        for &column in &transfer.written {
            if S::SHARED && chunk.shape().shared.contains(&column) {
                continue;
            }
            // SAFETY: no job uses the component, and others see no versions, or had them written out.
            unsafe { chunk.note_written_beside(column, location.row, 1, self.storage.version) };
        }
        drop(old);
    }

    /// Exchanges all components of two entities: values, buffers, enabled bits, and shared values.
    ///
    /// Entities with the same shared values stay in their places. If their shared values differ, the entities also exchange
    /// their chunks, since a shared value is that of the chunk. The values that chunks have for themselves
    /// ([`PerChunk`](crate::PerChunk)) stay with the chunks.
    ///
    /// # Errors
    ///
    /// If one of them is not there, or they do not have the same components. If the world shares memory with a fork,
    /// and there is none for a copy.
    pub fn swap_components(&mut self, left: Entity, right: Entity) -> Result<(), EntityError> {
        let (from, to) = (self.locate(left)?, self.locate(right)?);
        let archetype = self.storage.chunks[from.chunk].archetype;
        if archetype != self.storage.chunks[to.chunk].archetype {
            return Err(EntityError::DifferentArchetypes { left, right });
        }
        self.before_moving([archetype]);
        self.storage.make_unique(from.chunk)?;
        self.storage.make_unique(to.chunk)?;
        if self.storage.chunks[from.chunk].group != self.storage.chunks[to.chunk].group {
            // Shared values are the chunks', so the entities change places and not what they have.
            // SAFETY: both are there, in chunks of two groups, whose memory was made the world's alone.
            unsafe { self.storage.swap_entities(from, to) };
            return Ok(());
        }
        if left != right {
            let shape = &self.storage.archetypes[archetype].shape;
            for &(_, column) in &shape.sized {
                let value = |at: Location| {
                    let row = at.row as usize * column.size as usize;
                    self.storage.chunks[at.chunk].column(column.offset).wrapping_add(row)
                };
                // SAFETY: both rows are there, differ, and are in memory that is the world's alone.
                unsafe {
                    std::ptr::swap_nonoverlapping(value(from), value(to), column.size as usize);
                }
            }
        }
        for mask in 0..self.storage.archetypes[archetype].shape.enableable.len() as u32 {
            let chunks = &mut self.storage.chunks;
            let was = chunks[from.chunk].enabled.get(mask, from.row);
            let now = chunks[to.chunk].enabled.get(mask, to.row);
            chunks[from.chunk].enabled.set(mask, from.row, now);
            chunks[to.chunk].enabled.set(mask, to.row, was);
        }
        let version = self.storage.version;
        for at in [from, to] {
            if self.storage.chunks[at.chunk].note_written_row(at.row, version) {
                self.storage.chunks.note_uniform(at.chunk);
            }
        }
        Ok(())
    }
}
