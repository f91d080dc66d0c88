//! Components of transforms: inputs that programs write, outputs that the systems write, and links between entities.

use ancho_burst::math::{affine3a, quat};
use ancho_entities::{Component, Entity};
use glam::{Affine3A, Mat3, Mat4, Quat, Vec3, Vec4};

use crate::compose::identity_if_zero;

/// Position of an entity, relative to its [parent](crate::Parent) or to the world.
///
/// An entity needs only one of `Position`, [`Rotation`] and [`Scale`] to get a [`LocalToWorld`]. The others default to the
/// identity. All three are ignored on an entity with a [`LocalTransform`](crate::LocalTransform).
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

/// Rotation of an entity, relative to its [parent](crate::Parent) or to the world.
///
/// The quaternion has to be normalized: a quaternion of another length results in a matrix that scales and shears. A quaternion of
/// length zero counts as the identity. See [`look_rotation`](crate::look_rotation) for a rotation that faces a direction, and
/// [`Position`] for an example.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "ancho::Rotation", track_changes)]
pub struct Rotation(pub Quat);

impl Rotation {
    /// Returns this rotation followed by another rotation about its own axes. The result is normalized.
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

/// Scale of an entity along each of its axes. See [`Position`] for an example.
///
/// Children inherit the scale. Below a parent with non-uniform scale, a rotated child is sheared.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(name = "ancho::Scale", track_changes)]
pub struct Scale(pub Vec3);

impl Default for Scale {
    /// Returns a scale of one along each axis.
    fn default() -> Self {
        Self(Vec3::ONE)
    }
}

/// Matrix that is applied before position, rotation and scale. Use it for non-uniform scale and shear.
///
/// The matrix of the entity is the matrix of its parent, times the matrix of its position, rotation and scale, times this matrix.
/// Children inherit it. The last row has to be `0, 0, 0, 1`. This is Unity's `PostTransformMatrix`.
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

/// Matrix from the local space of an entity to world space.
///
/// The [systems](crate::TransformGroup) add it to parents, to children, and to entities with a [`Position`], [`Rotation`],
/// [`Scale`] or [`LocalTransform`](crate::LocalTransform). They write it when one of these components has changed.
///
/// Between two updates it is the matrix of the last update. [`world_transform`](crate::world_transform) computes the current
/// matrix. Programs only read this component, because the systems may overwrite it. To write it yourself, add a component of its
/// [write group](ancho_entities::Component::WRITE_GROUPS) or a [`CustomLocalToWorld`].
///
/// An entity with a `LocalToWorld`, and neither a [`Parent`](crate::Parent) nor inputs, never moves. An entity with a parent and no inputs has the
/// matrix of the parent.
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
#[doc(alias = "GlobalTransform")]
#[component(
    name = "ancho::LocalToWorld",
    remedy = "the transform systems add it: call `add_transforms`, and update the world"
)]
pub struct LocalToWorld(pub Mat4);

impl LocalToWorld {
    /// The identity matrix.
    pub const IDENTITY: Self = Self(Mat4::IDENTITY);

    /// Returns the world position.
    #[inline]
    pub fn position(&self) -> Vec3 {
        self.0.w_axis.truncate()
    }

    /// Returns the world rotation. The matrix must not be sheared.
    pub fn rotation(&self) -> Quat {
        // `Vec3` adds in the same order on every platform; `to_scale_rotation_translation` does not.
        let axes = [self.0.x_axis, self.0.y_axis, self.0.z_axis].map(Vec4::truncate);
        let mirrored = axes[0].dot(axes[1].cross(axes[2])).signum();
        let [x, y, z] = axes.map(|axis| axis.length());
        let scale = Vec3::new(x * mirrored, y, z).recip();
        let [x, y, z] = axes;
        Quat::from_mat3(&Mat3::from_cols(x * scale.x, y * scale.y, z * scale.z))
    }

    /// Returns the direction of the z axis, which is forward. Its length is the scale along that axis.
    #[inline]
    pub fn forward(&self) -> Vec3 {
        self.0.z_axis.truncate()
    }

    /// Returns the direction of the y axis. Its length is the scale along that axis.
    #[inline]
    pub fn up(&self) -> Vec3 {
        self.0.y_axis.truncate()
    }

    /// Returns the direction of the x axis. Its length is the scale along that axis.
    #[inline]
    pub fn right(&self) -> Vec3 {
        self.0.x_axis.truncate()
    }

    /// Transforms a point from local to world space.
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

    /// Transforms a point from world to local space. Returns `None` if the scale along an axis is zero.
    pub fn to_local(&self, point: Vec3) -> Option<Vec3> {
        let inverse = affine3a::inverse(self.affine());
        inverse.is_finite().then(|| inverse.transform_point3(point))
    }

    /// Returns the matrix without its last row, which is constant.
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

/// Matrix from the local space of a child to the space of its parent.
///
/// [Attached](crate::Attach) children have it. The systems write it for all children that have one, together with [`LocalToWorld`].
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "ancho::LocalToParent")]
pub struct LocalToParent(pub Mat4);

/// World matrix that the program writes itself.
///
/// The systems neither add nor write a [`LocalToWorld`] for an entity with this component. They ignore its position, rotation,
/// scale and [`Static`]. Its children are placed relative to this matrix.
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

/// Request to attach a child to a parent. Add this component to a separate entity: the next update applies the request and despawns
/// that entity.
///
/// The child gets a [`Parent`](crate::Parent), [`Attached`] and [`LocalToParent`], and leaves its old parent. To detach the child,
/// remove [`Attached`]: the next update removes the other two components, and the child is relative to the world. Adding and
/// removing [`Parent`](crate::Parent) directly places the child in the same way, without a request.
///
/// The update reports a request that would make the child its own ancestor (A0140) or its own parent (A0210), and changes nothing.
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
    /// The new parent.
    pub parent: Entity,
    /// The entity to attach.
    pub child: Entity,
}

/// Marks a child that was [attached](Attach). Removing this component detaches the child.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[component(name = "ancho::Attached")]
pub struct Attached;

/// Marks a child that has been attached. It remains after [`Attached`] was removed, until the next update.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[component(name = "ancho::WasAttached")]
pub(crate) struct WasAttached;

/// Marks an entity that will not move after its [`LocalToWorld`] has been computed.
///
/// The next update computes the matrix one last time and adds [`FrozenPending`]. The update after that replaces [`FrozenPending`]
/// by [`Frozen`]. From then on the matrix does not change, even if the parent moves. Children are still placed relative to it.
///
/// An inactive entity, which is [`Disabled`](ancho_entities::Disabled) or below a disabled entity, is frozen once it is active
/// again. An entity whose matrix is not finite (A0141) is frozen once its matrix is finite. Until then, each update reports the
/// error.
///
/// # Examples
///
/// ```
/// use ancho_entities::World;
/// use ancho_transforms::{AddTransforms, Frozen, LocalToWorld, Position, Static};
/// use glam::Vec3;
///
/// let mut world = World::new("Simulation");
/// world.add_transforms();
/// let house = world.spawn((Position(Vec3::X), Static));
/// world.update(0.1);
/// world.update(0.1);
/// assert!(world.has::<Frozen>(house));
/// world.get_mut::<Position>(house)?.0 = Vec3::Y;
/// world.update(0.1);
/// assert_eq!(world.get::<LocalToWorld>(house)?.position(), Vec3::X);
/// # Ok::<(), ancho_entities::EntityError>(())
/// ```
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[component(name = "ancho::Static")]
pub struct Static;

/// Marks a [`Static`] entity that the next update makes [`Frozen`]. Added and removed by the systems.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[component(name = "ancho::FrozenPending")]
pub struct FrozenPending;

/// Marks a [`Static`] entity whose [`LocalToWorld`] is no longer written.
///
/// To let the entity move again, remove both this component and [`Static`]. If only this component is removed, the matrix is
/// computed once more and the entity is frozen again.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[component(name = "ancho::Frozen")]
pub struct Frozen;
