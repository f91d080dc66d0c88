//! Entities that belong together.

#![expect(unsafe_code, reason = "replaces references in rows that were just created")]

use hashbrown::{HashMap, HashSet};

use ancho_collections::FixedState;

use super::{EntityManager, NewEntities};
use crate::buffer::{Buffer, BufferElement};
use crate::component::{ComponentType, Duplicate, TypeSlot};
use crate::entity::Entity;
use crate::error::EntityError;
use crate::field::{EntityRemap, Field, FieldKind, FieldShape, Shape, StateHasher};
use crate::storage::Location;

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
/// let second = world.entities_mut().instantiate(tank).unwrap();
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

impl EntityManager {
    /// Whether entities of a chunk may be roots of groups.
    pub(super) fn has_groups(&self, chunk: u32) -> bool {
        self.storage.chunks[chunk].shape().has(ComponentType::of_buffer::<LinkedEntityGroup>())
    }

    /// The members of an entity's group, the root among them.
    pub(super) fn group_of(&self, entity: Entity) -> Vec<Entity> {
        let members = self.buffer::<LinkedEntityGroup>(entity).unwrap_or(&[]);
        members.iter().map(|member| member.0).collect()
    }

    /// Despawns a root with its group, and the groups of its members. Returns how many entities that were.
    pub(super) fn despawn_group(&mut self, root: Entity) -> Result<usize, EntityError> {
        let mut seen = HashSet::<_, FixedState>::default();
        let mut all = Vec::new();
        let mut next = vec![root];
        while let Some(entity) = next.pop() {
            if self.exists(entity) && seen.insert(entity) {
                all.push(entity);
                // In the order of the group, whose first is taken from the end of the list.
                next.extend(self.group_of(entity).into_iter().rev());
            }
        }
        let mut despawned = 0;
        for entity in all {
            let location = self.locate(entity)?;
            despawned += usize::from(self.despawn_one(entity, location)?);
        }
        Ok(despawned)
    }

    /// Instantiates a group so many times. The members are there, the first of them is the root.
    pub(super) fn instantiate_group(
        &mut self,
        members: &[Entity],
        count: usize,
    ) -> Result<NewEntities<'_>, EntityError> {
        let mut places = HashMap::<_, _, FixedState>::default();
        for &member in members {
            self.locate(member)?;
            let place = places.len();
            places.entry(member).or_insert(place);
        }
        let mut unique: Vec<Entity> = places.keys().copied().collect();
        unique.sort_unstable_by_key(|member| places[member]);
        // The root comes last, so that its instances are those that are returned.
        let mut instances = vec![Vec::new(); unique.len()];
        for place in (0..unique.len()).rev() {
            match self.instantiate_alone(unique[place], count) {
                Ok(created) => instances[place] = created.collect(),
                Err(error) => {
                    for created in instances.into_iter().flatten() {
                        let location = self.locate(created)?;
                        self.despawn_one(created, location)?;
                    }
                    return Err(error);
                }
            }
        }
        for at in 0..count {
            for created in &instances {
                self.remap_row(created[at], &mut |entity| match places.get(&entity) {
                    Some(&place) => instances[place][at],
                    None => entity,
                });
            }
        }
        Ok(NewEntities::new(&self.storage, &self.runs))
    }

    /// Replaces the entities that the components of one entity refer to, which was just created.
    pub(super) fn remap_row(&mut self, entity: Entity, map: &mut dyn FnMut(Entity) -> Entity) {
        let Some(Location { chunk, row }) = self.storage.table.locate(entity) else { return };
        let chunk = &self.storage.chunks[chunk];
        let shape = chunk.shape();
        let mut map = EntityRemap::new(map);
        for (ty, column) in shape.types.iter().zip(&shape.columns) {
            let Some(remap) = ty.0.remap else { continue };
            let value = chunk.column(column.offset).wrapping_add(row as usize * ty.size());
            // SAFETY: the row has a value of this type, in memory that is the world's alone, since rows were just added
            // to it.
            unsafe { remap(ty.0.shape, value, 1, &mut map) };
        }
    }
}
