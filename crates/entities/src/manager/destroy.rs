//! Destroying entities.

#![expect(unsafe_code, reason = "removes rows of chunks")]

use super::EntityManager;
use crate::entity::Entity;
use crate::error::EntityError;
use crate::storage::{Left, Location};

impl EntityManager {
    /// Destroys an entity and its components. Returns whether it was there.
    ///
    /// # Errors
    ///
    /// In a strict world, if it was not there. If the world shares memory with a fork, and there is none for a copy.
    #[inline]
    pub fn despawn(&mut self, entity: Entity) -> Result<bool, EntityError> {
        let Some(Location { chunk, row }) = self.storage.table.locate(entity) else {
            return if self.strict { Err(self.no_such(entity)) } else { Ok(false) };
        };
        // SAFETY: the table names chunks that are there.
        let owner = unsafe { self.storage.chunks.at_mut(chunk) };
        if owner.len == 1 {
            // Nothing has to move, hence nothing to be copied if the memory is shared.
            self.storage.destroy_chunk(chunk);
            return Ok(true);
        }
        if owner.may_be_shared() {
            self.storage.make_unique(chunk)?;
        }
        self.storage.table.free(entity);
        // SAFETY:
        // - the table says that the row is there, and its memory was made the world's alone
        // - no value was moved or dropped
        unsafe { self.storage.remove_row(chunk, row, Left::All) };
        Ok(true)
    }

    /// Destroys entities and their components. Returns how many were there.
    ///
    /// Faster than one by one if neighbours in the slice are neighbours in a chunk, as those are that were created
    /// together. An entity may be named twice.
    ///
    /// # Errors
    ///
    /// In a strict world, if one of them was not there: then none is destroyed. If the world shares memory with a
    /// fork, and there is none for a copy: then those before it are.
    pub fn despawn_slice(&mut self, entities: &[Entity]) -> Result<usize, EntityError> {
        if self.strict
            && let Some(&missing) = entities.iter().find(|&&entity| !self.exists(entity))
        {
            return Err(self.no_such(missing));
        }
        let before = self.entity_count();
        let mut rest = entities;
        while let Some((&entity, after)) = rest.split_first() {
            let Some(Location { chunk, row }) = self.storage.table.locate(entity) else {
                rest = after;
                continue;
            };
            let neighbours = &self.storage.chunks[chunk].entities()[row as usize..];
            let rows = shared_prefix(neighbours, rest);
            self.storage.destroy_rows(chunk, row, rows as u32)?;
            rest = &rest[rows..];
        }
        Ok(before - self.entity_count())
    }

    /// Destroys all entities. Returns how many there were.
    ///
    /// # Determinism
    ///
    /// Ids are handed out again from the first on, with higher versions.
    pub fn despawn_all(&mut self) -> usize {
        self.names = Default::default();
        self.storage.remove_all()
    }
}

/// How many entities two slices begin with in common.
fn shared_prefix(left: &[Entity], right: &[Entity]) -> usize {
    // Whole chunks are the common case, and slices are compared faster than their elements.
    if right.len() >= left.len() && right[..left.len()] == *left {
        return left.len();
    }
    left.iter().zip(right).take_while(|(left, right)| left == right).count()
}
