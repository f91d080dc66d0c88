//! Where entities are in the world: what this crate writes.

use ancho_burst::math::affine3a;
use ancho_entities::Component;
use glam::{Affine3A, Mat3, Mat4, Quat, Vec3, Vec4};

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
