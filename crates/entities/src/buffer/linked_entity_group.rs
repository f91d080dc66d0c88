//! The buffer element that links entities to a group.

#![expect(unsafe_code, reason = "describes the fields of the element")]

use super::{Buffer, BufferElement};
use crate::component::{Duplicate, TypeSlot};
use crate::entity::Entity;
use crate::field::{EntityRemap, Field, FieldKind, FieldShape, Shape, StateHasher};

/// A member of a linked group. The entity with a buffer of these is the root of the group.
///
/// The first member is the root itself. Instantiating the root instantiates the group, and references among its members then point
/// to the instances. Despawning the root despawns the group, including the groups of members.
/// [`set_enabled`](crate::EntityManager::set_enabled) applies to all members. Unity's `LinkedEntityGroup`.
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

// SAFETY: the only field is at offset 0, and the type has no other bytes.
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
