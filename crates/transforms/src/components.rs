//! Components of transforms: inputs that programs write, outputs that the systems write, and links between entities.

use ancho_burst::math::{affine3a, quat};
use ancho_entities::{BufferElement, Component, Entity};
use glam::{Affine3A, Mat3, Mat4, Quat, Vec3, Vec4};

use crate::compose::identity_if_zero;

/// Where an entity is, relative to its [parent](crate::Parent) or to the world.
///
/// Any of this, [`Rotation`] and [`Scale`] suffices: the entity gets a [`LocalToWorld`](crate::LocalToWorld), and what it lacks
/// of the three counts as nothing. An entity with a [`LocalTransform`](crate::LocalTransform) needs none of them, and if it has
/// them all the same, they are ignored.
///
/// # Examples
///
/// ```
/// use ancho_entities::World;
/// use ancho_transforms::{AddTransforms, LocalToWorld, Position};
/// use glam::Vec3;
///
/// let mut world = World::new("Simulation");
/// world.add_transforms();
/// let stone = world.spawn(Position(Vec3::Y));
/// world.update(0.1);
/// assert_eq!(world.get::<LocalToWorld>(stone)?.position(), Vec3::Y);
/// # Ok::<(), ancho_entities::EntityError>(())
/// ```
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "ancho::Position", track_changes)]
pub struct Position(pub Vec3);

/// How an entity is turned, relative to its [parent](crate::Parent) or to the world.
///
/// The quaternion is expected to have a length of one, as those of `glam` have; another length makes a matrix that scales and
/// shears. One of length zero counts as no rotation. See [`look_rotation`](crate::look_rotation) for one that faces something, and
/// [`Position`] for an example.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "ancho::Rotation", track_changes)]
pub struct Rotation(pub Quat);

impl Rotation {
    /// Turned further, about axes of its own, and of length one, however often that is done.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_transforms::Rotation;
    /// use glam::Quat;
    ///
    /// let quarter = Quat::from_rotation_y(std::f32::consts::FRAC_PI_2);
    /// // Of length zero, which counts as no rotation.
    /// let nothing = Rotation(Quat::from_xyzw(0.0, 0.0, 0.0, 0.0));
    /// assert!(nothing.turned(quarter).0.abs_diff_eq(quarter, 1e-6));
    /// ```
    #[must_use = "the rotation itself does not change"]
    #[inline]
    pub fn turned(self, rotation: Quat) -> Self {
        Self(quat::normalize(identity_if_zero(self.0) * identity_if_zero(rotation)))
    }
}

/// How large an entity is, along each of its axes. See [`Position`] for an example.
///
/// Children inherit it: below a parent whose scale is not the same along all axes, a child that is turned is sheared.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(name = "ancho::Scale", track_changes)]
pub struct Scale(pub Vec3);

impl Default for Scale {
    /// As large as it is.
    fn default() -> Self {
        Self(Vec3::ONE)
    }
}

/// What is done to an entity beside its position, rotation and scale, before them: scale that is not the same along all axes, or
/// shear.
///
/// The matrix of the entity is that of its parent, times its own, times this. Children inherit it. The last row of it is taken to
/// be `0, 0, 0, 1`. Unity's `PostTransformMatrix`.
///
/// # Examples
///
/// ```
/// use ancho_entities::World;
/// use ancho_transforms::{AddTransforms, LocalToWorld, LocalTransform, PostTransformMatrix};
/// use glam::{Mat4, Vec3};
///
/// let mut world = World::new("Simulation");
/// world.add_transforms();
/// let flat = PostTransformMatrix(Mat4::from_scale(Vec3::new(1.0, 0.1, 1.0)));
/// let disc = world.spawn((LocalTransform::from_position(Vec3::X), flat));
/// world.update(0.1);
/// let matrix = world.get::<LocalToWorld>(disc)?.0;
/// assert_eq!(matrix.transform_point3(Vec3::Y), Vec3::new(1.0, 0.1, 0.0));
/// # Ok::<(), ancho_entities::EntityError>(())
/// ```
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "ancho::PostTransformMatrix", track_changes)]
pub struct PostTransformMatrix(pub Mat4);

/// The matrix that leads from the space of an entity to the world: where it is, as others want to know.
///
/// It is added to entities that have a [`Position`](crate::Position), [`Rotation`](crate::Rotation), [`Scale`](crate::Scale) or
/// [`LocalTransform`](crate::LocalTransform), and to parents and children, and written when something has moved, where the
/// [systems](crate::TransformGroup) run. Between that it is as old as the last time; [`world_transform`](crate::world_transform) is
/// exact at any time. Others only read it: what is written to it is overwritten, or not, as it happens. Who wants to write it
/// himself says so with a component in its [write group](ancho_entities::Component::WRITE_GROUPS), or has a
/// [`CustomLocalToWorld`](crate::CustomLocalToWorld).
///
/// An entity that has it, and neither a [`Parent`](crate::Parent) nor anything that it is made of, is left as it is: it never moves.
/// With a parent and nothing else it is where the parent is.
///
/// # Examples
///
/// ```
/// use ancho_transforms::LocalToWorld;
/// use glam::{Mat4, Quat, Vec3};
///
/// let turn = Quat::from_rotation_y(std::f32::consts::FRAC_PI_2);
/// let place = LocalToWorld(Mat4::from_rotation_translation(turn, Vec3::Y));
/// assert_eq!(place.position(), Vec3::Y);
/// assert!(place.forward().abs_diff_eq(Vec3::X, 1e-6));
/// ```
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "ancho::LocalToWorld")]
pub struct LocalToWorld(pub Mat4);

impl LocalToWorld {
    /// In the middle of the world, neither turned nor scaled.
    pub const IDENTITY: Self = Self(Mat4::IDENTITY);

    /// Where the entity is.
    #[inline]
    pub fn position(&self) -> Vec3 {
        self.0.w_axis.truncate()
    }

    /// How the entity is turned, if it is not sheared.
    pub fn rotation(&self) -> Quat {
        // In `Vec3`, whose sums are in the same order everywhere; those of `to_scale_rotation_translation` are not.
        let axes = [self.0.x_axis, self.0.y_axis, self.0.z_axis].map(Vec4::truncate);
        let mirrored = axes[0].dot(axes[1].cross(axes[2])).signum();
        let [x, y, z] = axes.map(|axis| axis.length());
        let scale = Vec3::new(x * mirrored, y, z).recip();
        let [x, y, z] = axes;
        Quat::from_mat3(&Mat3::from_cols(x * scale.x, y * scale.y, z * scale.z))
    }

    /// The direction of its z axis, which is where it looks. Not of length one if the entity is scaled.
    #[inline]
    pub fn forward(&self) -> Vec3 {
        self.0.z_axis.truncate()
    }

    /// The direction of its y axis. Not of length one if the entity is scaled.
    #[inline]
    pub fn up(&self) -> Vec3 {
        self.0.y_axis.truncate()
    }

    /// The direction of its x axis. Not of length one if the entity is scaled.
    #[inline]
    pub fn right(&self) -> Vec3 {
        self.0.x_axis.truncate()
    }

    /// Where a point of the entity's space is in the world.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_transforms::LocalToWorld;
    /// use glam::{Mat4, Vec3};
    ///
    /// let place = LocalToWorld(Mat4::from_translation(Vec3::Y));
    /// let there = place.to_world(Vec3::X);
    /// assert_eq!(there, Vec3::new(1.0, 1.0, 0.0));
    /// assert_eq!(place.to_local(there), Some(Vec3::X));
    /// ```
    #[inline]
    pub fn to_world(&self, point: Vec3) -> Vec3 {
        self.affine().transform_point3(point)
    }

    /// Where a point of the world is in the entity's space. `None` if the entity is scaled to nothing along an axis.
    pub fn to_local(&self, point: Vec3) -> Option<Vec3> {
        let inverse = affine3a::inverse(self.affine());
        inverse.is_finite().then(|| inverse.transform_point3(point))
    }

    /// The matrix, of which the last row is left out: it is always the same.
    #[inline]
    pub fn affine(&self) -> Affine3A {
        Affine3A::from_mat4(self.0)
    }
}

impl From<Affine3A> for LocalToWorld {
    #[inline]
    fn from(affine: Affine3A) -> Self {
        Self(Mat4::from(affine))
    }
}

/// The matrix that leads from the space of a child to that of its parent.
///
/// Children that were [attached](crate::Attach) have it. Others can be given it: it is written for all children that have one,
/// together with their [`LocalToWorld`].
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "ancho::LocalToParent")]
pub struct LocalToParent(pub Mat4);

/// The matrix of an entity that its program writes, instead of having it made.
///
/// All that this crate does is left undone for such an entity: it gets no [`LocalToWorld`], what it has of it is left as it is,
/// and its position, rotation, scale and [`Static`](crate::Static) are ignored. Its children are placed by it.
///
/// # Examples
///
/// ```
/// use ancho_entities::World;
/// use ancho_transforms::{AddTransforms, CustomLocalToWorld, LocalToWorld, Parent, Position};
/// use glam::{Mat4, Vec3};
///
/// let mut world = World::new("Simulation");
/// world.add_transforms();
/// let hand = world.spawn((CustomLocalToWorld(Mat4::from_translation(Vec3::Y)), Position(Vec3::X)));
/// let sword = world.spawn((Position(Vec3::Z), Parent(hand)));
/// world.update(0.1);
/// assert!(!world.has::<LocalToWorld>(hand));
/// assert_eq!(world.get::<LocalToWorld>(sword)?.position(), Vec3::new(0.0, 1.0, 1.0));
/// # Ok::<(), ancho_entities::EntityError>(())
/// ```
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "ancho::CustomLocalToWorld")]
pub struct CustomLocalToWorld(pub Mat4);

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
