//! Destroying entities.

#![expect(unsafe_code, reason = "removes rows of chunks")]

use super::EntityManager;
use crate::entity::Entity;
use crate::error::EntityError;
use crate::storage::{Archetype, Change, Left, Location};

impl EntityManager {
    /// Destroys an entity and its components. Returns whether it was there.
    ///
    /// Reorders what queries give: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// If it has components that stay ([`Component::CLEANUP`](crate::Component::CLEANUP)), the others are dropped, and the
    /// entity goes when those are removed. To despawn it once more changes nothing, and returns false.
    ///
    /// With the root of a [group](crate::LinkedEntityGroup) its members go, each once, and the groups of those.
    ///
    /// # Errors
    ///
    /// In a strict world, if it was not there. If the world shares memory with a fork, and there is none for a copy, or
    /// there is none for what stays. Of a group all goes, or nothing.
    // A call would take a fifth of the time.
    #[inline(always)]
    pub fn despawn(&mut self, entity: Entity) -> Result<bool, EntityError> {
        if self.jobs.are_live() {
            // To open the slot may copy the page it is on, which jobs may be reading.
            return self.despawn_after_jobs(entity);
        }
        let Some(slot) = self.storage.table.open(entity) else {
            return if self.strict { Err(self.no_such(entity)) } else { Ok(false) };
        };
        // SAFETY: it was just opened.
        let Location { chunk, row } = unsafe { slot.location() };
        // SAFETY: the table names chunks that are there.
        let owner = unsafe { self.storage.chunks.at(chunk) };
        if owner.removes_simply() {
            // SAFETY: it was just opened for this entity.
            unsafe { self.storage.table.free_open(slot, entity) };
            // SAFETY: the table says that the row is there; the chunk's memory is the world's alone, and nothing in it has
            // to be dropped.
            unsafe { self.storage.remove_row_simply(chunk, row) };
            return Ok(true);
        }
        self.despawn_with_care(entity, Location { chunk, row })
    }

    /// Despawns an entity, while jobs may have to be waited for.
    #[cold]
    #[inline(never)]
    fn despawn_after_jobs(&mut self, entity: Entity) -> Result<bool, EntityError> {
        match self.storage.table.locate(entity) {
            Some(location) => self.despawn_with_care(entity, location),
            None if self.strict => Err(self.no_such(entity)),
            None => Ok(false),
        }
    }

    /// Despawns an entity of a chunk that is not as simple as they mostly are.
    #[inline(never)]
    fn despawn_with_care(
        &mut self,
        entity: Entity,
        location: Location,
    ) -> Result<bool, EntityError> {
        if self.has_groups(location.chunk) {
            return Ok(self.despawn_group(entity)? > 0);
        }
        self.despawn_one(entity, location)
    }

    /// Despawns an entity, and not its group.
    pub(super) fn despawn_one(
        &mut self,
        entity: Entity,
        Location { chunk, row }: Location,
    ) -> Result<bool, EntityError> {
        let owner = &self.storage.chunks[chunk];
        if owner.shape().stays() {
            return self.despawn_partly(entity, Location { chunk, row });
        }
        self.before_moving([owner.archetype]);
        if owner.len == 1 {
            // Nothing has to move, hence nothing to be copied if the memory is shared.
            self.storage.destroy_chunk(chunk);
            return Ok(true);
        }
        if owner.may_be_shared() {
            self.storage.make_unique(chunk)?;
        }
        // SAFETY:
        // - the table says that the row is there, and its memory was made the world's alone
        // - no value was moved or dropped
        unsafe { self.storage.destroy_row(entity, Location { chunk, row }, Left::All) };
        Ok(true)
    }

    /// Despawns an entity with components that stay: the others are dropped. Returns whether there were others.
    #[cold]
    fn despawn_partly(&mut self, entity: Entity, location: Location) -> Result<bool, EntityError> {
        let from = self.storage.archetype_at(location);
        let number = self.transfer_of::<()>(from, Change::Despawn)?;
        let transfer = &self.transfers[number];
        if transfer.to == from {
            return Ok(false);
        }
        self.before_transfer(location, number);
        self.storage.make_unique(location.chunk)?;
        let to = self.storage.room_by(transfer, location.chunk)?;
        // SAFETY: nothing is new in the archetype it goes to but a tag, so the transfer moves everything.
        unsafe { self.storage.move_row(entity, location, transfer, to, &transfer.left) };
        Ok(true)
    }

    /// Destroys entities and their components. Returns how many were there.
    ///
    /// Reorders what queries give: see [`Query::to_entities`](crate::Query::to_entities).
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
        // What goes or moves besides, as members of groups do, is waited for when it does.
        self.before_moving(self.archetypes_of(entities));
        let mut despawned = 0;
        let mut rest = entities;
        while let Some((&entity, after)) = rest.split_first() {
            let Some(Location { chunk, row }) = self.storage.table.locate(entity) else {
                rest = after;
                continue;
            };
            if self.has_groups(chunk) {
                despawned += self.despawn_group(entity)?;
                rest = after;
                continue;
            }
            if self.storage.chunks[chunk].shape().stays() {
                despawned += usize::from(self.despawn_partly(entity, Location { chunk, row })?);
                rest = after;
                continue;
            }
            let neighbours = &self.storage.chunks[chunk].entities()[row as usize..];
            let rows = shared_prefix(neighbours, rest);
            self.storage.destroy_rows(chunk, row, rows as u32)?;
            despawned += rows;
            rest = &rest[rows..];
        }
        Ok(despawned)
    }

    /// Destroys all entities. Returns how many there were.
    ///
    /// # Errors
    ///
    /// Only if there are entities with components that stay, which are kept: if there is no memory for them.
    ///
    /// # Determinism
    ///
    /// Unless some are kept, ids are handed out again from the first on, with higher versions.
    pub fn despawn_all(&mut self) -> Result<usize, EntityError> {
        let stays = |(_, archetype): (u32, &Archetype)| {
            !archetype.chunks.is_empty() && archetype.shape.stays()
        };
        if self.storage.archetypes.iter().any(stays) {
            let all = self.all_entities();
            return self.despawn_slice(&all);
        }
        self.jobs.before_everything();
        self.names = Default::default();
        Ok(self.storage.remove_all())
    }
}

/// How many entities two slices begin with in common.
pub(super) fn shared_prefix(left: &[Entity], right: &[Entity]) -> usize {
    // Whole chunks are the common case, and slices are compared faster than their elements.
    if right.len() >= left.len() && right[..left.len()] == *left {
        return left.len();
    }
    left.iter().zip(right).take_while(|(left, right)| left == right).count()
}
