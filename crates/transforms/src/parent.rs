//! Which entity is placed relative to which.

use ancho_entities::{BufferElement, Component, Entity};

/// The entity relative to which another is placed: its position, rotation and scale are in the space of this one.
///
/// It is the only thing that a program writes of a hierarchy. Added, changed or removed, the next update sees it, and keeps the
/// [`Child`] buffers of parents. What the systems do with it:
///
/// - A parent that does not exist: the component is removed.
/// - A parent that is despawned: its children lose this component, and are placed in the world from then on, by the same numbers.
///   To despawn them along with it, put them in its [`LinkedEntityGroup`](ancho_entities::LinkedEntityGroup).
/// - A parent that moves to another world without its children: the same. There it has no children, and a child that moves without its
///   parent has none.
/// - A parent that would be its own ancestor: an error (A0140) that names the entities. The one that closes the cycle
///   keeps the parent that it had, or none; all others have theirs. Of several new parents in a cycle, that of the last entity in the
///   order of the world closes it.
/// - A child or parent that is [`Disabled`](ancho_entities::Disabled): the branch below rests as it is, until it is enabled.
/// - A parent that is a [`Prefab`](ancho_entities::Prefab): the same, also for children that are none. Such a child is not instantiated
///   along with it, unless it is in its [`LinkedEntityGroup`](ancho_entities::LinkedEntityGroup).
///
/// # Examples
///
/// ```
/// use ancho_entities::World;
/// use ancho_transforms::{AddTransforms, Child, LocalToWorld, Parent, Position};
/// use glam::Vec3;
///
/// let mut world = World::new("Simulation");
/// world.add_transforms();
/// let ship = world.spawn(Position(Vec3::X));
/// let gun = world.spawn((Position(Vec3::Y), Parent(ship)));
/// world.update(0.1);
/// assert_eq!(world.get::<LocalToWorld>(gun)?.position(), Vec3::new(1.0, 1.0, 0.0));
/// assert_eq!(world.buffer::<Child>(ship)?, [Child(gun)]);
/// # Ok::<(), ancho_entities::EntityError>(())
/// ```
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq)]
#[component(name = "ancho::Parent")]
pub struct Parent(pub Entity);

/// A child of an entity: parents have a buffer of them, which the systems keep.
///
/// They are in the order in which they became children; those that became so in one update, in the order in which the world has
/// them. It stays when the entity is despawned, until the next update. See [`Parent`] for an example.
///
/// Others only read it. A child that somebody has taken out of it is an error when it leaves its parent (A0146). It is placed by its
/// [`Parent`] all the same. A buffer that was removed is restored by the next update.
#[derive(BufferElement, Clone, Copy, Debug, PartialEq, Eq)]
#[buffer(name = "ancho::Child", inline = 0, cleanup)]
pub struct Child(pub Entity);

/// The parent in whose [`Child`] buffer an entity is: of the systems, which compare it with the [`Parent`].
///
/// It is [null](Entity::NULL) as long as the entity is in none. It stays when the entity is despawned, until the next update.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq)]
#[component(name = "ancho::PreviousParent", cleanup)]
pub struct PreviousParent(pub(crate) Entity);

impl PreviousParent {
    /// The parent, null if there is none yet.
    pub fn get(self) -> Entity {
        self.0
    }
}

/// An order to make an entity the child of another: the component of an entity of its own, which the next update carries out
/// and despawns.
///
/// The child gets a [`Parent`], [`Attached`] and [`LocalToParent`](crate::LocalToParent). If it had a parent, it has another
/// one now. To detach it, remove [`Attached`]: the next update removes the others, and what was relative to the parent is
/// relative to the world. Adding and removing [`Parent`] does the same in one step.
///
/// # Examples
///
/// ```
/// use ancho_entities::World;
/// use ancho_transforms::{AddTransforms, Attach, Attached, LocalToWorld, Position, Rotation, look_rotation};
/// use glam::Vec3;
///
/// let mut world = World::new("Simulation");
/// world.add_transforms();
/// let parent = world.spawn((Position(Vec3::new(0.0, 2.0, 0.0)), Rotation(look_rotation(Vec3::X, Vec3::Y))));
/// let child = world.spawn(Position(Vec3::Z));
/// world.spawn(Attach { parent, child });
/// world.update(0.1);
/// let place = world.get::<LocalToWorld>(child)?.position();
/// assert!(place.abs_diff_eq(Vec3::new(1.0, 2.0, 0.0), 1e-6));
///
/// world.remove::<Attached>(child)?;
/// world.update(0.1);
/// assert_eq!(world.get::<LocalToWorld>(child)?.position(), Vec3::Z);
/// # Ok::<(), ancho_entities::EntityError>(())
/// ```
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq)]
#[component(name = "ancho::Attach")]
pub struct Attach {
    /// What is to be the parent.
    pub parent: Entity,
    /// What is to be the child.
    pub child: Entity,
}

/// A child that was [attached](Attach), until this is removed.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[component(name = "ancho::Attached")]
pub struct Attached;

/// What was attached, whether or not it still is.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[component(name = "ancho::WasAttached")]
pub(crate) struct WasAttached;
