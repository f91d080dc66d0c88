//! Despawning entities.

use super::EntityManager;
use crate::entity::Entity;
use crate::error::EntityError;
use crate::storage::{Archetype, Location, SetOperation};

impl EntityManager {
    /// Despawns an entity and drops its components. Returns whether the entity existed.
    ///
    /// Reorders query results: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// An entity with cleanup components ([`Component::CLEANUP`](crate::Component::CLEANUP)) loses its other components, and
    /// exists until its cleanup components are removed. Despawning it again has no effect and returns `false`.
    ///
    /// If the entity is the root of a [linked group](crate::LinkedEntityGroup), the members of the group and their groups are
    /// despawned, too.
    ///
    /// # Errors
    ///
    /// In a strict world, returns an error if the entity does not exist. Also returns an error if the memory is shared with a
    /// fork and a copy cannot be allocated, or there is no memory to move an entity with cleanup components. In these cases no
    /// entity of a group was despawned.
    // Inlined, because a call would take a fifth of the time.
    #[inline(always)]
    #[doc(alias = "DestroyEntity")]
    pub fn despawn(&mut self, entity: Entity) -> Result<bool, EntityError> {
        self.despawn_noting(entity).0
    }

    /// Despawns an entity. Also returns whether that may have been logged.
    #[inline(always)]
    pub(crate) fn despawn_noting(&mut self, entity: Entity) -> (Result<bool, EntityError>, bool) {
        let removed = if self.jobs.are_live() {
            // Opening the slot may copy its page, which jobs may be reading.
            Err(self.storage.table.locate(entity))
        } else {
            self.storage.destroy_simply(entity)
        };
        match removed {
            Ok(()) => (Ok(true), false),
            Err(Some(location)) => (self.despawn_with_care(entity, location), true),
            Err(None) if self.strict => (Err(self.no_such(entity)), false),
            Err(None) => (Ok(false), false),
        }
    }

    /// Despawns an entity that the fast path does not handle.
    #[inline(never)]
    fn despawn_with_care(
        &mut self,
        entity: Entity,
        location: Location,
    ) -> Result<bool, EntityError> {
        if self.has_links(location.chunk) || self.has_groups(location.chunk) {
            return Ok(self.despawn_linked(&[entity])? > 0);
        }
        self.despawn_one(entity, location)
    }

    /// Despawns an entity, but not its linked group.
    pub(super) fn despawn_one(
        &mut self,
        entity: Entity,
        location: Location,
    ) -> Result<bool, EntityError> {
        let owner = &self.storage.chunks[location.chunk];
        if owner.shape().stays() {
            return self.despawn_partly(entity, location);
        }
        self.sync_for_move([owner.archetype]);
        self.storage.destroy(entity, location)?;
        Ok(true)
    }

    /// Despawns an entity with cleanup components: drops its other components. Returns whether it had other components.
    #[cold]
    pub(super) fn despawn_partly(
        &mut self,
        entity: Entity,
        location: Location,
    ) -> Result<bool, EntityError> {
        let from = self.storage.archetype_at(location);
        let number = self.transfer_of::<()>(from, SetOperation::Despawn)?;
        let transfer = &self.transfers[number];
        if transfer.to == from {
            return Ok(false);
        }
        self.sync_for_transfer(location, number);
        self.storage.move_entity(entity, location, transfer)?;
        Ok(true)
    }

    /// Despawns entities. Consecutive entities in contiguous rows are despawned together. See
    /// [`Batch::despawn`](super::Batch::despawn).
    pub(crate) fn despawn_slice(&mut self, entities: &[Entity]) -> Result<usize, EntityError> {
        if self.strict
            && let Some(&missing) = entities.iter().find(|&&entity| !self.exists(entity))
        {
            return Err(self.no_such(missing));
        }
        // Jobs that use other rows, such as those of group members, are completed when those rows are moved.
        self.sync_for_move(self.archetypes_of(entities));
        let mut despawned = 0;
        let mut rest = entities;
        while let Some((&entity, after)) = rest.split_first() {
            let Some(Location { chunk, row }) = self.storage.table.locate(entity) else {
                rest = after;
                continue;
            };
            if self.has_links(chunk) || self.has_groups(chunk) {
                return Ok(despawned + self.despawn_linked(rest)?);
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

    /// Despawns all entities, and returns their number.
    ///
    /// # Errors
    ///
    /// Returns an error if there are entities with cleanup components, which are kept, and there is no memory to move them.
    ///
    /// # Determinism
    ///
    /// Unless entities are kept, new ids begin with the first index again, with higher versions.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// let mut world = World::new("Level");
    /// let goblins: Vec<_> = world.spawn_many((), 40).collect();
    /// assert_eq!(world.despawn_all(), Ok(40));
    /// assert!(!world.exists(goblins[0]));
    /// assert_eq!(world.entity_count(), 0);
    /// ```
    pub fn despawn_all(&mut self) -> Result<usize, EntityError> {
        let stays = |(_, archetype): (u32, &Archetype)| {
            !archetype.chunks.is_empty() && archetype.shape.stays()
        };
        if self.storage.archetypes.iter().any(stays) {
            let all = self.all_entities();
            return self.despawn_slice(&all);
        }
        self.jobs.sync_all();
        let logged = self.despawn_observed()?;
        self.names = Default::default();
        Ok(self.storage.remove_all() + logged)
    }

    /// Despawns all entities that are observed, and returns their number. No job uses them, and none has cleanup components.
    fn despawn_observed(&mut self) -> Result<usize, EntityError> {
        if !self.storage.lifecycle.is_active() {
            return Ok(0);
        }
        let archetypes = self.storage.archetypes.iter();
        let chunks = archetypes.flat_map(|(_, archetype)| archetype.chunks.iter().copied());
        let observed: Vec<_> =
            chunks.filter(|&chunk| self.storage.chunks[chunk].is_observed()).collect();
        let mut count = 0;
        for chunk in observed {
            let rows = self.storage.chunks[chunk].len;
            self.storage.destroy_rows(chunk, 0, rows)?;
            count += rows as usize;
        }
        Ok(count)
    }
}

/// Returns the length of the common prefix of two slices.
pub(super) fn shared_prefix(left: &[Entity], right: &[Entity]) -> usize {
    // Usually all entities of a chunk are equal, and slices are compared faster than single elements.
    if right.len() >= left.len() && right[..left.len()] == *left {
        return left.len();
    }
    left.iter().zip(right).take_while(|(left, right)| left == right).count()
}
