//! Where entities are, relative to the world or to their parents: what programs write.

use ancho_burst::math::quat;
use ancho_entities::Component;
use glam::{Mat4, Quat, Vec3};

use crate::compose::none_if_zero;

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
        Self(quat::normalize(none_if_zero(self.0) * none_if_zero(rotation)))
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
