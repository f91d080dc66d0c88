//! Entities that belong together.

#![expect(unsafe_code, reason = "says what a member consists of")]

use std::mem;

use super::EntityManager;
use super::distinct::Distinct;
use crate::buffer::{Buffer, BufferElement};
use crate::builtin::Disabled;
use crate::component::{ComponentType, Duplicate, TypeSlot};
use crate::entity::Entity;
use crate::error::EntityError;
use crate::field::{EntityRemap, Field, FieldKind, FieldShape, Shape, StateHasher};
use crate::storage::{Change, Reserved};

/// A member of a group: the buffer of these makes its entity the root of one.
///
/// The first member is the root itself. The group is instantiated with its root, and references among its members then
/// lead to the instances; it is despawned with its root, groups of members included; and
/// [`set_enabled`](EntityManager::set_enabled) is for all of them. Unity's `LinkedEntityGroup`.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Buffer, Component, Entity, LinkedEntityGroup, Prefab, World};
///
/// #[derive(Component, Clone, Copy, Debug, PartialEq)]
/// struct MountedOn(Entity);
///
/// let mut world = World::new("Simulation");
/// let tank = world.spawn(Prefab);
/// let turret = world.spawn((Prefab, MountedOn(tank)));
/// world.add(tank, Buffer::from([LinkedEntityGroup(tank), LinkedEntityGroup(turret)])).unwrap();
///
/// let second = world.instantiate(tank).unwrap();
/// let group = world.buffer::<LinkedEntityGroup>(second).unwrap();
/// assert_eq!(world.get(group[1].0), Ok(&MountedOn(second)));
///
/// world.despawn(second).unwrap();
/// assert_eq!(world.entity_count(), 2);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct LinkedEntityGroup(pub Entity);

// SAFETY: the one field is at the beginning, and the type is nothing else.
unsafe impl Field for LinkedEntityGroup {
    const SHAPE: &'static Shape = &Shape::new::<Self>(
        "LinkedEntityGroup",
        FieldKind::Struct(&[FieldShape::new::<Entity>("0", 0)]),
    );

    fn hash_state(&self, state: &mut StateHasher) {
        self.0.hash_state(state);
    }

    fn remap(&mut self, map: &mut EntityRemap<'_>) {
        self.0.remap(map);
    }
}

impl BufferElement for LinkedEntityGroup {
    fn name() -> &'static str {
        "ancho::LinkedEntityGroup"
    }

    fn duplicate() -> Duplicate<Self> {
        Duplicate::<Self>::bytes()
    }

    fn slot() -> Option<&'static TypeSlot<Buffer<Self>>> {
        static SLOT: TypeSlot<Buffer<LinkedEntityGroup>> = TypeSlot::new();
        Some(&SLOT)
    }
}

/// What changes of groups have lists for, so that the next has the memory. Between two of them, nothing is in these.
///
/// Who changes something takes them, and puts them back when all is done. If code of the user panics meanwhile, they are dropped.
#[derive(Default)]
pub(super) struct GroupLists {
    pub(super) members: Distinct,
    /// Who is to be looked at next, from the end.
    pub(super) next: Vec<Entity>,
    /// Archetypes, chunks and rows.
    pub(super) rows: Vec<(u32, u32, u32)>,
    /// Who moves, and by which transfer.
    moves: Vec<(Entity, u32)>,
    /// The archetypes, and the groups of those, that they move to.
    homes: Vec<(u32, u32)>,
}

impl GroupLists {
    /// Leaves nothing but the memory.
    pub(super) fn clear(&mut self) {
        self.members.clear();
        self.next.clear();
        self.rows.clear();
        self.moves.clear();
        self.homes.clear();
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
        members: &mut Distinct,
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
        let GroupLists { members, next, moves, homes, .. } = &mut lists;
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
        self.before_moving(self.archetypes_of(members).chain(to));
        for &entity in &**members {
            let location = self.locate(entity)?;
            let owner = &self.storage.chunks[location.chunk];
            // The last of a chunk goes with it, and nothing is written.
            if !owner.shape().stays() && owner.len > 1 {
                self.storage.make_unique(location.chunk)?;
            }
        }
        self.make_way(moves, homes)?;
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
    fn make_way(
        &mut self,
        moves: &[(Entity, u32)],
        homes: &mut Vec<(u32, u32)>,
    ) -> Result<(), EntityError> {
        let mut reserved = Reserved::nothing(&mut self.storage, &mut self.runs);
        for &(entity, transfer) in moves {
            let Some(location) = reserved.storage.table.locate(entity) else { continue };
            reserved.storage.make_unique(location.chunk)?;
            let transfer = &self.transfers[transfer];
            if !transfer.ends {
                let group = reserved.group_by(transfer, location.chunk);
                homes.push((transfer.to, group));
            }
        }
        homes.sort_unstable();
        for same in homes.chunk_by(|one, other| one == other) {
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
    /// Reorders what queries give: see [`Query::to_entities`](crate::Query::to_entities).
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
        let GroupLists { members, moves, homes, .. } = &mut lists;
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
            self.before_moving(self.archetypes_of(members).chain(to));
            self.make_way(moves, homes)?;
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
