//! Built-in components.

#![expect(unsafe_code, reason = "describes the field of a component")]

use crate::component::{Component, Duplicate, Initial, Mutable, TypeSlot};
use crate::entity::Entity;
use crate::field::{
    EntityRemap, Field, FieldKind, FieldShape, Shape, StateHasher, ValueError, ValueReader,
    ValueWriter, read_newtype, unit_field, write_newtype,
};

/// A tag for entities that serve as templates for instances: queries skip them.
///
/// Instances do not have the tag. This is Unity's `Prefab`.
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

/// A tag for entities that are disabled as a whole: queries skip them.
///
/// See [`EntityManager::set_enabled`](crate::EntityManager::set_enabled). This is Unity's `Disabled`.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, Disabled, IncludeDisabled, World};
///
/// #[derive(Component)]
/// struct Enemy;
///
/// let mut world = World::new("Simulation");
/// let orc = world.spawn((Enemy, Disabled));
/// assert!(world.query::<&Enemy>().is_empty());
/// assert_eq!(world.query_filtered::<&Enemy, IncludeDisabled>().to_entities(), [orc]);
/// world.set_enabled(orc, true)?;
/// assert_eq!(world.query::<&Enemy>().count(), 1);
/// # Ok::<(), ancho_entities::EntityError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Disabled;

/// A tag for prefabs whose instances are not roots of linked groups. Instances have neither this tag nor the
/// [group](crate::LinkedEntityGroup), but the members of the group are still instantiated.
///
/// This is Unity's `OmitLinkedEntityGroupFromPrefabInstance`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OmitLinkedEntityGroup;

/// A tag for despawned entities that still have cleanup components.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CleanupEntity;

/// Implements the traits that the derives would implement for a tag.
macro_rules! tag {
    ($name:ident) => {
        unit_field!($name);

        #[diagnostic::do_not_recommend]
        impl Mutable for $name {}

        #[diagnostic::do_not_recommend]
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

/// A member of a linked group. An entity with a buffer of `LinkedEntityGroup` is the root of the group.
///
/// The first member is the root itself. Instantiating the root instantiates all members, and references between the members then
/// refer to the instances. Despawning the root despawns all members and their groups.
/// [`set_enabled`](crate::EntityManager::set_enabled) applies to all members. This is Unity's `LinkedEntityGroup`.
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

/// The parent of an entity: the built-in [`Relationship`](crate::Relationship).
///
/// The parent has a buffer of its [`Child`]ren, in the order in which they were attached. An entity cannot be its own ancestor
/// (A0140). Descendants are despawned, enabled, instantiated and moved together with their parent. To keep them when the parent is
/// despawned, call [`detach_children`](crate::EntityManager::detach_children) first.
///
/// Both types are immutable: attach with `add(child, Parent(parent))`, and detach with `remove::<Parent>(child)`. With
/// `ancho_transforms`, a child is placed relative to its parent.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Parent, World};
///
/// let mut world = World::new("Simulation");
/// let ship = world.spawn(());
/// let gun = world.spawn(Parent(ship));
/// assert_eq!(world.children(ship), [gun]);
/// assert!(world.add(ship, Parent(gun)).is_err(), "a ship is not a part of its gun");
/// world.despawn(ship)?;
/// assert!(!world.exists(gun));
/// # Ok::<(), ancho_entities::EntityError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
#[doc(alias = "ChildOf")]
pub struct Parent(pub Entity);

/// Element of a parent's buffer of children. Each child has a [`Parent`].
///
/// The world adds the buffer with the first child and removes it with the last one.
/// [`children`](crate::EntityManager::children) returns the entities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
#[doc(alias = "Children")]
pub struct Child(pub Entity);

/// Implements `Field` for a struct whose only field is an entity.
macro_rules! entity_field {
    ($name:ident) => {
        // SAFETY: the only field is at offset 0, and the type has no other bytes.
        unsafe impl Field for $name {
            const SHAPE: &'static Shape = &Shape::new::<Self>(
                stringify!($name),
                FieldKind::Struct(&[FieldShape::new::<Entity>("0", 0)]),
            );

            fn hash_state(&self, state: &mut StateHasher) {
                self.0.hash_state(state);
            }

            fn remap(&mut self, map: &mut EntityRemap<'_>) {
                self.0.remap(map);
            }

            fn write_value(&self, out: &mut dyn ValueWriter) {
                write_newtype(&self.0, out);
            }

            fn read_value(from: &mut dyn ValueReader) -> Result<Self, ValueError> {
                read_newtype(Self::SHAPE.fields(), from).map(Self)
            }
        }
    };
}

entity_field!(LinkedEntityGroup);
entity_field!(Parent);
entity_field!(Child);
