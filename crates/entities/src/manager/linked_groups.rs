//! Linked entity groups, whose members are enabled and instantiated together.

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

/// Memory for changes of linked groups, which the next change reuses. It is empty between two changes.
///
/// A change takes the lists, and returns them at its end. If user code panics meanwhile, they are dropped.
#[derive(Default)]
pub(super) struct GroupMemory {
    /// The members that exist, before others are filtered out.
    all: DistinctEntities,
    pub(super) members: DistinctEntities,
    /// A stack of entities whose groups are to be visited.
    pub(super) next: Vec<Entity>,
    /// The archetype, chunk and row of each entity.
    pub(super) rows: Vec<(u32, u32, u32)>,
    /// The entities that are moved, and the numbers of their transfers.
    moves: Vec<(Entity, u32)>,
    /// The target archetypes and groups of the moves.
    places: Vec<(u32, u32)>,
}

impl GroupMemory {
    /// Clears the lists, and keeps their memory.
    pub(super) fn clear(&mut self) {
        self.all.clear();
        self.members.clear();
        self.next.clear();
        self.rows.clear();
        self.moves.clear();
        self.places.clear();
    }
}

impl EntityManager {
    /// Returns whether entities of a chunk can be roots of linked groups.
    pub(super) fn has_groups(&self, chunk: u32) -> bool {
        self.storage.chunks[chunk].shape().has(ComponentType::of_buffer::<LinkedEntityGroup>())
    }

    /// Returns the members of an entity's linked group, including the root.
    pub(super) fn group_of(&self, entity: Entity) -> &[LinkedEntityGroup] {
        if self.locate(entity).is_ok_and(|location| !self.has_groups(location.chunk)) {
            // Only this chunk is checked, so that jobs that write groups of other chunks do not conflict.
            return &[];
        }
        self.buffer::<LinkedEntityGroup>(entity).unwrap_or(&[])
    }

    /// Lists the existing members of an entity's linked group, and then their linked sources, each once. If the entity has no group,
    /// lists only the entity and its linked sources.
    pub(crate) fn linked_members(
        &self,
        root: Entity,
        members: &mut DistinctEntities,
    ) -> Result<(), EntityError> {
        let location = self.locate(root)?;
        // Only this chunk is checked, so that jobs that write groups of other chunks do not conflict.
        if self.has_groups(location.chunk) {
            let group = self.buffer::<LinkedEntityGroup>(root)?;
            for member in group.iter().filter(|member| self.exists(member.0)) {
                members.insert(member.0);
            }
            if group.is_empty() {
                members.insert(root);
            }
        } else {
            members.insert(root);
        }
        self.add_linked_sources(members);
        Ok(())
    }

    /// Reserves rows for all these moves, and lists their targets in `places`.
    pub(super) fn reserve_moves(
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
        // Moves fill the chunk that was created last, so that no chunk remains empty.
        reserved.keep();
        Ok(())
    }

    /// Enables or disables an entity, its [linked group](crate::LinkedEntityGroup) and its linked
    /// [sources](crate::Relationship), by removing or adding [`Disabled`]. Returns whether one of these entities was changed.
    ///
    /// Reorders query results: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// # Errors
    ///
    /// Returns an error if the entity does not exist, or there is no memory. In these cases no entity of the group was changed.
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
        if !self.has_groups(location.chunk) && !self.has_linked_sources(location.chunk) {
            return if enabled == self.has::<Disabled>(entity) {
                self.switch_alone(entity, enabled).map(|()| true)
            } else {
                Ok(false)
            };
        }
        let mut lists = mem::take(&mut self.group_lists);
        let GroupMemory { all, members, moves, places, .. } = &mut lists;
        let group = self.group_of(entity).iter().map(|member| member.0);
        group.chain([entity]).for_each(|member| _ = all.insert(member));
        self.add_linked_sources(all);
        for &member in &**all {
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
        // Dropping the chunk components of removed chunks may panic. The other members are still moved, so that no created chunk
        // remains empty.
        for_each_to_end(&**members, |&member| {
            refused = refused.take().or(self.switch_alone(member, enabled).err());
        });
        lists.clear();
        self.group_lists = lists;
        refused.map_or(Ok(is_change), Err)
    }

    /// Enables or disables an entity, but not its linked group.
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
    /// The same entities, if there are more than [`FEW`].
    seen: HashSet<Entity, FixedState>,
}

/// The maximum number of entities for which a linear search is used. Most groups are smaller, and so do not pay for clearing a
/// large set, which takes time in proportion to its capacity.
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

    /// Returns whether the list contains an entity.
    pub(crate) fn contains(&self, entity: Entity) -> bool {
        if self.seen.is_empty() { self.list.contains(&entity) } else { self.seen.contains(&entity) }
    }

    /// Clears the list, and keeps its memory.
    pub(crate) fn clear(&mut self) {
        self.list.clear();
        self.seen.clear();
    }

    /// Returns the entities in insertion order.
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
