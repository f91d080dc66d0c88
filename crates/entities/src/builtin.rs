//! Components that mean something to ancho itself.

#![expect(unsafe_code, reason = "describes the fields of components")]

use crate::buffer::{Buffer, BufferElement};
use crate::component::{Component, Duplicate, Initial, TypeSlot};
use crate::entity::Entity;
use crate::field::{EntityRemap, Field, FieldKind, FieldShape, Shape, StateHasher};

/// An entity that is there to be instantiated, and not to take part: queries pass over it.
///
/// Instances do not have it. Unity's `Prefab`.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, Prefab, World};
///
/// #[derive(Component, Clone, Copy, Debug, PartialEq)]
/// struct Health(u32);
///
/// let mut world = World::new("Simulation");
/// let orc = world.spawn((Prefab, Health(20)));
/// let first = world.instantiate(orc).unwrap();
/// assert_eq!(world.get(first), Ok(&Health(20)));
/// assert!(!world.has::<Prefab>(first));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prefab;

/// An entity that does not take part for now: queries pass over it.
///
/// See [`EntityManager::set_enabled`](crate::EntityManager::set_enabled). Unity's `Disabled`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Disabled;

/// Instances of the entity are no roots of groups: they have neither this nor the
/// [group](crate::LinkedEntityGroup), whose members are instantiated all the same.
///
/// Unity's `OmitLinkedEntityGroupFromPrefabInstance`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OmitLinkedEntityGroup;

/// What is left of an entity that was despawned and has components that stay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CleanupEntity;

/// Implements what the derives would for a tag.
macro_rules! tag {
    ($name:ident) => {
        // SAFETY: a value has no bytes and no fields.
        unsafe impl Field for $name {
            const SHAPE: &'static Shape =
                &Shape::new::<Self>(stringify!($name), FieldKind::Struct(&[]));

            fn hash_state(&self, _: &mut StateHasher) {}

            fn remap(&mut self, _: &mut EntityRemap<'_>) {}
        }

        impl Component for $name {
            fn name() -> &'static str {
                concat!("ancho::", stringify!($name))
            }

            fn duplicate() -> Duplicate<Self> {
                Duplicate::<Self>::bytes()
            }

            fn initial() -> Initial<Self> {
                Initial::<Self>::default()
            }

            fn slot() -> Option<&'static TypeSlot<Self>> {
                static SLOT: TypeSlot<$name> = TypeSlot::new();
                Some(&SLOT)
            }
        }
    };
}

tag!(Prefab);
tag!(Disabled);
tag!(OmitLinkedEntityGroup);
tag!(CleanupEntity);

/// A member of a group: the buffer of these makes its entity the root of one.
///
/// The first member is the root itself. The group is instantiated with its root, and references among its members then
/// lead to the instances; it is despawned with its root, groups of members included; and
/// [`set_enabled`](crate::EntityManager::set_enabled) is for all of them. Unity's `LinkedEntityGroup`.
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
