//! Linked entity groups: entities that are despawned, enabled and instantiated together.

use std::mem;
use std::ops::Deref;

use ancho_collections::FixedState;
use hashbrown::HashSet;

use super::EntityManager;
use crate::builtin::Disabled;
use crate::builtin::LinkedEntityGroup;
use crate::component::ComponentType;
use crate::entity::Entity;
use crate::error::EntityError;
use crate::storage::{ReservedRows, SetOperation, for_each_to_end};

/// Memory for changes of groups, reused by the next change. It is empty between two changes.
///
/// A change takes the lists, and puts them back at its end. If user code panics meanwhile, they are dropped.
#[derive(Default)]
pub(super) struct GroupMemory {
    pub(super) members: DistinctEntities,
    /// Stack of entities whose groups are to be visited.
    pub(super) next: Vec<Entity>,
    /// Archetypes, chunks and rows.
    pub(super) rows: Vec<(u32, u32, u32)>,
    /// Entities that move, and their transfers.
    moves: Vec<(Entity, u32)>,
    /// The target archetypes and groups of the moves.
    places: Vec<(u32, u32)>,
}

impl GroupMemory {
    /// Removes everything but keeps the memory.
    pub(super) fn clear(&mut self) {
        self.members.clear();
        self.next.clear();
        self.rows.clear();
        self.moves.clear();
        self.places.clear();
    }
}

impl EntityManager {
    /// Returns whether entities of a chunk can be roots of groups.
    pub(super) fn has_groups(&self, chunk: u32) -> bool {
        self.storage.chunks[chunk].shape().has(ComponentType::of_buffer::<LinkedEntityGroup>())
    }

    /// Returns the members of an entity's group, including the root.
    pub(super) fn group_of(&self, entity: Entity) -> &[LinkedEntityGroup] {
        if self.locate(entity).is_ok_and(|location| !self.has_groups(location.chunk)) {
            // Jobs that write other groups do not conflict.
            return &[];
        }
        self.buffer::<LinkedEntityGroup>(entity).unwrap_or(&[])
    }

    /// Lists the members of an entity's group that exist, each once, or the entity, if it has no group.
    pub(crate) fn linked_members(
        &self,
        root: Entity,
        members: &mut DistinctEntities,
    ) -> Result<(), EntityError> {
        let location = self.locate(root)?;
        // Jobs that write other groups do not conflict.
        if self.has_groups(location.chunk) {
            let group = self.buffer::<LinkedEntityGroup>(root)?;
            for member in group.iter().filter(|member| self.exists(member.0)) {
                members.insert(member.0);
            }
            if !group.is_empty() {
                return Ok(());
            }
        }
        members.insert(root);
        Ok(())
    }

    /// Despawns a root with its group and the groups of its members: all of them, or none. Returns the number of entities.
    pub(super) fn despawn_group(&mut self, root: Entity) -> Result<usize, EntityError> {
        let mut lists = mem::take(&mut self.group_lists);
        let GroupMemory { members, next, moves, places, .. } = &mut lists;
        next.push(root);
        while let Some(entity) = next.pop() {
            if self.exists(entity) && members.insert(entity) {
                // Reversed, since the stack yields its end first.
                next.extend(self.group_of(entity).iter().rev().map(|member| member.0));
            }
        }
        for &entity in &**members {
            let location = self.locate(entity)?;
            let owner = &self.storage.chunks[location.chunk];
            if owner.shape().stays() {
                let from = owner.archetype;
                let transfer = self.transfer_of::<()>(from, SetOperation::Despawn)?;
                if self.transfers[transfer].to != from {
                    moves.push((entity, transfer));
                }
            }
        }
        let to = moves.iter().map(|&(_, transfer)| self.transfers[transfer].to);
        self.sync_for_move(self.archetypes_of(members).chain(to));
        for &entity in &**members {
            let location = self.locate(entity)?;
            let owner = &self.storage.chunks[location.chunk];
            // The chunk of its last entity is freed without a write.
            if !owner.shape().stays() && owner.len > 1 {
                self.storage.make_unique(location.chunk)?;
            }
        }
        self.reserve_moves(moves, places)?;
        let mut despawned = 0;
        for_each_to_end(&**members, |&entity| {
            let gone = self.locate(entity).and_then(|location| self.despawn_one(entity, location));
            despawned += usize::from(gone.expect("there is room for the cleanup components"));
        });
        lists.clear();
        self.group_lists = lists;
        Ok(despawned)
    }

    /// Allocates memory for all these moves together, and lists their targets.
    fn reserve_moves(
        &mut self,
        moves: &[(Entity, u32)],
        places: &mut Vec<(u32, u32)>,
    ) -> Result<(), EntityError> {
        let mut reserved = ReservedRows::nothing(&mut self.storage, &mut self.runs);
        for &(entity, transfer) in moves {
            let Some(location) = reserved.storage.table.locate(entity) else { continue };
            reserved.storage.make_unique(location.chunk)?;
            let transfer = &self.transfers[transfer];
            if !transfer.ends {
                let group = reserved.group_by(transfer, location.chunk);
                places.push((transfer.to, group));
            }
        }
        places.sort_unstable();
        for same in places.chunk_by(|one, other| one == other) {
            let (archetype, group) = same[0];
            reserved.more(archetype, group, same.len())?;
        }
        // Moves fill the chunk that was opened last, so that none stays empty.
        reserved.keep();
        Ok(())
    }

    /// Enables or disables an entity and its [group](crate::LinkedEntityGroup), by removing or adding [`Disabled`]. Returns whether that
    /// was a change.
    ///
    /// Reorders query results: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// # Errors
    ///
    /// If the entity does not exist, or there is no memory: then no entity of the group was changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(());
    /// world.set_enabled(orc, false).unwrap();
    /// assert!(!world.is_enabled(orc));
    /// ```
    pub fn set_enabled(&mut self, entity: Entity, enabled: bool) -> Result<bool, EntityError> {
        let location = self.locate(entity)?;
        if !self.has_groups(location.chunk) {
            return if enabled == self.has::<Disabled>(entity) {
                self.switch_alone(entity, enabled).map(|()| true)
            } else {
                Ok(false)
            };
        }
        let mut lists = mem::take(&mut self.group_lists);
        let GroupMemory { members, moves, places, .. } = &mut lists;
        let group = self.group_of(entity).iter().map(|member| member.0);
        for member in group.chain([entity]) {
            if self.exists(member) && enabled == self.has::<Disabled>(member) {
                members.insert(member);
            }
        }
        if members.len() > 1 {
            let change = if enabled { SetOperation::Remove } else { SetOperation::Add };
            for &member in &**members {
                let from = self.storage.archetype_at(self.locate(member)?);
                moves.push((member, self.transfer_of::<Disabled>(from, change)?));
            }
            let to = moves.iter().map(|&(_, transfer)| self.transfers[transfer].to);
            self.sync_for_move(self.archetypes_of(members).chain(to));
            self.reserve_moves(moves, places)?;
        }
        let is_change = !members.is_empty();
        let mut refused = None;
        // Chunk components of freed chunks may panic in their drop. The other members still move, so that no opened chunk stays empty.
        for_each_to_end(&**members, |&member| {
            refused = refused.take().or(self.switch_alone(member, enabled).err());
        });
        lists.clear();
        self.group_lists = lists;
        refused.map_or(Ok(is_change), Err)
    }

    /// Enables or disables an entity without its group.
    fn switch_alone(&mut self, entity: Entity, enabled: bool) -> Result<(), EntityError> {
        if enabled {
            self.remove::<Disabled>(entity)?;
        } else {
            self.add(entity, Disabled).map_err(|rejected| rejected.error)?;
        }
        Ok(())
    }

    /// Returns whether an entity exists and is enabled.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// let mut world = World::new("Simulation");
    /// let lamp = world.spawn(());
    /// assert!(world.is_enabled(lamp));
    /// world.set_enabled(lamp, false)?;
    /// assert!(world.exists(lamp) && !world.is_enabled(lamp));
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn is_enabled(&self, entity: Entity) -> bool {
        self.exists(entity) && !self.has::<Disabled>(entity)
    }
}

/// A list of distinct entities in insertion order. It keeps its memory when it is cleared.
#[derive(Debug, Default)]
pub(crate) struct DistinctEntities {
    list: Vec<Entity>,
    /// All of them, once there are more than [`FEW`].
    seen: HashSet<Entity, FixedState>,
}

/// The number of entities up to which a linear search is used. Most groups are smaller, and do not pay for clearing the set of a large
/// one, which takes time in proportion to its capacity.
const FEW: usize = 16;

impl DistinctEntities {
    /// Adds an entity, unless it is in the list. Returns whether it was added.
    pub(crate) fn insert(&mut self, entity: Entity) -> bool {
        let is_new = if self.list.len() < FEW {
            !self.list.contains(&entity)
        } else {
            if self.seen.is_empty() {
                self.seen.extend(&self.list);
            }
            self.seen.insert(entity)
        };
        if is_new {
            self.list.push(entity);
        }
        is_new
    }

    /// Removes everything but keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.list.clear();
        self.seen.clear();
    }

    /// Returns the entities in the order of their insertion.
    pub(crate) fn into_list(self) -> Vec<Entity> {
        self.list
    }
}

impl Deref for DistinctEntities {
    type Target = [Entity];

    fn deref(&self) -> &[Entity] {
        &self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_there_once_whether_they_are_few_or_many() {
        let mut distinct = DistinctEntities::default();
        for count in [3, 100, FEW as u32, 0, FEW as u32 + 1] {
            let all: Vec<_> = (0..count).map(|index| Entity::from_parts(index, 1)).collect();
            for round in 0..2 {
                assert!(all.iter().all(|&entity| distinct.insert(entity) == (round == 0)));
            }
            assert_eq!(*distinct, *all);
            distinct.clear();
            assert!(distinct.is_empty());
        }
    }
}
