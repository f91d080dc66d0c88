//! Entities that belong together.

use std::mem;
use std::ops::Deref;

use ancho_collections::FixedState;
use hashbrown::HashSet;

use super::EntityManager;
use crate::builtin::{Disabled, LinkedEntityGroup};
use crate::component::ComponentType;
use crate::entity::Entity;
use crate::error::EntityError;
use crate::storage::{Change, Reserved};

/// What changes of groups have lists for, so that the next has the memory. Between two of them, nothing is in these.
///
/// Who changes something takes them, and puts them back when all is done. If code of the user panics meanwhile, they are dropped.
#[derive(Default)]
pub(super) struct GroupMemory {
    pub(super) members: DistinctEntities,
    /// Who is to be looked at next, from the end.
    pub(super) next: Vec<Entity>,
    /// Archetypes, chunks and rows.
    pub(super) rows: Vec<(u32, u32, u32)>,
    /// Who moves, and by which transfer.
    moves: Vec<(Entity, u32)>,
    /// The archetypes, and the groups of those, that they move to.
    places: Vec<(u32, u32)>,
}

impl GroupMemory {
    /// Leaves nothing but the memory.
    pub(super) fn clear(&mut self) {
        self.members.clear();
        self.next.clear();
        self.rows.clear();
        self.moves.clear();
        self.places.clear();
    }
}

impl EntityManager {
    /// Whether entities of a chunk may be roots of groups.
    pub(super) fn has_groups(&self, chunk: u32) -> bool {
        self.storage.chunks[chunk].shape().has(ComponentType::of_buffer::<LinkedEntityGroup>())
    }

    /// The members of an entity's group, the root among them.
    pub(super) fn group_of(&self, entity: Entity) -> &[LinkedEntityGroup] {
        if self.locate(entity).is_ok_and(|location| !self.has_groups(location.chunk)) {
            // Who writes the groups of others is not waited for.
            return &[];
        }
        self.buffer::<LinkedEntityGroup>(entity).unwrap_or(&[])
    }

    /// Lists the members of an entity's group that are there, each once, or the entity, if it has none.
    pub(crate) fn linked_members(
        &self,
        root: Entity,
        members: &mut DistinctEntities,
    ) -> Result<(), EntityError> {
        let location = self.locate(root)?;
        // Who writes the groups of others is not waited for.
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

    /// Despawns a root with its group, and the groups of its members: all of them, or none. Returns how many entities that
    /// were.
    pub(super) fn despawn_group(&mut self, root: Entity) -> Result<usize, EntityError> {
        let mut lists = mem::take(&mut self.group_lists);
        let GroupMemory { members, next, moves, places, .. } = &mut lists;
        next.push(root);
        while let Some(entity) = next.pop() {
            if self.exists(entity) && members.insert(entity) {
                // In the order of the group, whose first is taken from the end of the list.
                next.extend(self.group_of(entity).iter().rev().map(|member| member.0));
            }
        }
        for &entity in &**members {
            let location = self.locate(entity)?;
            let owner = &self.storage.chunks[location.chunk];
            if owner.shape().stays() {
                let from = owner.archetype;
                let transfer = self.transfer_of::<()>(from, Change::Despawn)?;
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
            // The last of a chunk goes with it, and nothing is written.
            if !owner.shape().stays() && owner.len > 1 {
                self.storage.make_unique(location.chunk)?;
            }
        }
        self.reserve_moves(moves, places)?;
        let mut despawned = 0;
        self.with_each(members, |manager, entity| {
            let gone =
                manager.locate(entity).and_then(|location| manager.despawn_one(entity, location));
            despawned += usize::from(gone.expect("there is room for what stays"));
        });
        lists.clear();
        self.group_lists = lists;
        Ok(despawned)
    }

    /// Does something with one entity after another: with all of them, also when the values of one panic.
    pub(super) fn with_each(&mut self, entities: &[Entity], act: impl FnMut(&mut Self, Entity)) {
        /// Goes on with those that are left.
        struct Rest<'a, F: FnMut(&mut EntityManager, Entity)> {
            manager: &'a mut EntityManager,
            entities: std::slice::Iter<'a, Entity>,
            act: F,
        }

        impl<F: FnMut(&mut EntityManager, Entity)> Rest<'_, F> {
            fn go_on(&mut self) {
                for &entity in self.entities.by_ref() {
                    (self.act)(self.manager, entity);
                }
            }
        }

        impl<F: FnMut(&mut EntityManager, Entity)> Drop for Rest<'_, F> {
            fn drop(&mut self) {
                self.go_on();
            }
        }

        Rest { manager: self, entities: entities.iter(), act }.go_on();
    }

    /// Sees to it that there is memory for these entities to move by these transfers, all of them at once. Where to is listed.
    fn reserve_moves(
        &mut self,
        moves: &[(Entity, u32)],
        places: &mut Vec<(u32, u32)>,
    ) -> Result<(), EntityError> {
        let mut reserved = Reserved::nothing(&mut self.storage, &mut self.runs);
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
        // Who moves goes to the chunk that was opened last, so that none stays empty.
        reserved.into_storage();
        Ok(())
    }

    /// Whether an entity takes part: switches [`Disabled`] on or off, for its [group](crate::LinkedEntityGroup) too. Returns
    /// whether that was a change.
    ///
    /// Reorders what queries give: see [`QueryRef::to_entities`](crate::QueryRef::to_entities).
    ///
    /// # Errors
    ///
    /// If there is no such entity, or there is no memory: then nothing of the group is switched.
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
            let change = if enabled { Change::Remove } else { Change::Add };
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
        // Chunks that were left may have values that panic when they are dropped. Chunks that were opened are not left empty.
        self.with_each(members, |manager, member| {
            refused = refused.take().or(manager.switch_alone(member, enabled).err());
        });
        lists.clear();
        self.group_lists = lists;
        refused.map_or(Ok(is_change), Err)
    }

    /// Lets an entity take part or not, whatever its group does.
    fn switch_alone(&mut self, entity: Entity, enabled: bool) -> Result<(), EntityError> {
        if enabled {
            self.remove::<Disabled>(entity)?;
        } else {
            self.add(entity, Disabled).map_err(|rejected| rejected.error)?;
        }
        Ok(())
    }

    /// Whether an entity is there and takes part.
    pub fn is_enabled(&self, entity: Entity) -> bool {
        self.exists(entity) && !self.has::<Disabled>(entity)
    }
}

/// Entities in the order in which they came, each once. It keeps its memory when it is cleared.
#[derive(Debug, Default)]
pub(crate) struct DistinctEntities {
    list: Vec<Entity>,
    /// All of them, once they are not few.
    seen: HashSet<Entity, FixedState>,
}

/// So many are found by looking at all of them. Most groups are no larger, and so do not pay for one that was: to clear a set takes
/// as long as it has room.
const FEW: usize = 16;

impl DistinctEntities {
    /// Adds an entity, unless it is there. Returns whether it was not.
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

    /// Leaves nothing but the memory.
    pub(crate) fn clear(&mut self) {
        self.list.clear();
        self.seen.clear();
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
