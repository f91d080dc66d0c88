//! Position, rotation and uniform scale in one component.

use ancho_burst::math::quat;
use ancho_entities::Component;
use glam::{Affine3A, Mat3, Mat4, Quat, Vec3, Vec3A};

use crate::compose::{identity_if_zero, rotation_matrix};
use crate::error::TransformError;

/// Position, rotation and uniform scale of an entity, relative to its [parent](crate::Parent) or to the world.
///
/// With uniform scale, products and inverses of transforms are transforms again. For non-uniform scale, add a
/// [`PostTransformMatrix`](crate::PostTransformMatrix), or use [`Position`](crate::Position), [`Rotation`](crate::Rotation) and
/// [`Scale`](crate::Scale) instead.
///
/// All methods return new transforms. None changes a transform in place. This is Unity's `LocalTransform`.
///
/// # Examples
///
/// ```
/// use ancho_transforms::LocalTransform;
/// use glam::Vec3;
///
/// let camera = LocalTransform::from_position(Vec3::new(0.0, 0.0, -5.0)).looking_at(Vec3::ZERO, Vec3::Y);
/// assert!(camera.forward().abs_diff_eq(Vec3::Z, 1e-6));
/// let closer = camera.translated(camera.forward());
/// assert!(closer.position.abs_diff_eq(Vec3::new(0.0, 0.0, -4.0), 1e-6));
/// ```
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(name = "ancho::LocalTransform", track_changes)]
#[doc(alias = "Transform")]
pub struct LocalTransform {
    /// The rotation, which has to be normalized. Length zero counts as identity.
    pub rotation: Quat,
    /// The position.
    pub position: Vec3,
    /// The uniform scale.
    pub scale: f32,
}

impl Default for LocalTransform {
    /// Returns [`IDENTITY`](Self::IDENTITY).
    fn default() -> Self {
        Self::IDENTITY
    }
}

impl LocalTransform {
    /// The identity: position zero, no rotation, scale one.
    pub const IDENTITY: Self = Self { rotation: Quat::IDENTITY, position: Vec3::ZERO, scale: 1.0 };

    /// Creates a transform from a position.
    pub const fn from_position(position: Vec3) -> Self {
        Self { position, ..Self::IDENTITY }
    }

    /// Creates a transform from a rotation.
    pub const fn from_rotation(rotation: Quat) -> Self {
        Self { rotation, ..Self::IDENTITY }
    }

    /// Creates a transform from a scale.
    pub const fn from_scale(scale: f32) -> Self {
        Self { scale, ..Self::IDENTITY }
    }

    /// Creates a transform from a position and a rotation.
    pub const fn from_position_rotation(position: Vec3, rotation: Quat) -> Self {
        Self { rotation, position, scale: 1.0 }
    }

    /// Creates a transform from a position, a rotation and a scale.
    pub const fn new(position: Vec3, rotation: Quat, scale: f32) -> Self {
        Self { rotation, position, scale }
    }

    /// Creates the transform closest to a matrix. It has the largest scale of the matrix, and no shear.
    ///
    /// See [`try_from_matrix`](Self::try_from_matrix) for an exact conversion. This is Unity's `FromMatrix`.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_transforms::LocalTransform;
    /// use glam::{Mat4, Vec3};
    ///
    /// let matrix = Mat4::from_scale(Vec3::new(1.0, 3.0, 2.0));
    /// assert_eq!(LocalTransform::from_matrix(matrix), LocalTransform::from_scale(3.0));
    /// assert!(LocalTransform::try_from_matrix(matrix).is_err());
    /// ```
    pub fn from_matrix(matrix: Mat4) -> Self {
        let axes = [matrix.x_axis, matrix.y_axis, matrix.z_axis].map(glam::Vec4::truncate);
        let scale = axes.iter().fold(0.0, |largest: f32, axis| largest.max(axis.length()));
        // Makes the axes orthonormal. An axis of length zero is replaced.
        let x = axes[0].normalize_or(Vec3::X);
        let y = (axes[1] - x * x.dot(axes[1])).normalize_or(x.any_orthonormal_vector());
        let z = x.cross(y);
        let rotation = Quat::from_mat3(&Mat3::from_cols(x, y, z));
        Self { rotation, position: matrix.w_axis.truncate(), scale }
    }

    /// Converts a matrix that is neither sheared nor mirrored and has uniform scale, within a relative tolerance of 1e-4. This is
    /// Unity's `FromMatrixSafe`.
    ///
    /// # Errors
    ///
    /// Returns A0143 if the matrix is sheared, mirrored or non-uniformly scaled.
    pub fn try_from_matrix(matrix: Mat4) -> Result<Self, TransformError> {
        let transform = Self::from_matrix(matrix);
        let difference = (transform.to_matrix() - matrix).to_cols_array();
        let most = difference.iter().fold(0.0, |most: f32, value| most.max(value.abs()));
        // NaN fails this comparison.
        let is_close = most <= 1e-4 * transform.scale.max(f32::MIN_POSITIVE);
        let is_number = difference.iter().all(|value| value.is_finite());
        if is_close && is_number {
            Ok(transform)
        } else {
            Err(TransformError::NotUniform { matrix })
        }
    }

    /// Returns the transform as a matrix.
    pub fn to_matrix(&self) -> Mat4 {
        Mat4::from(self.affine())
    }

    /// Returns the transform as an affine matrix.
    #[inline]
    pub fn affine(&self) -> Affine3A {
        let matrix3 = rotation_matrix(self.rotation) * self.scale;
        Affine3A { matrix3, translation: Vec3A::from(self.position) }
    }

    /// Returns the direction of the z axis, which is forward.
    pub fn forward(&self) -> Vec3 {
        quat::rotate(self.unit_rotation(), Vec3::Z)
    }

    /// Returns the direction of the y axis.
    pub fn up(&self) -> Vec3 {
        quat::rotate(self.unit_rotation(), Vec3::Y)
    }

    /// Returns the direction of the x axis.
    pub fn right(&self) -> Vec3 {
        quat::rotate(self.unit_rotation(), Vec3::X)
    }

    /// Returns the transform with another position.
    #[must_use = "the transform itself does not change"]
    pub const fn with_position(self, position: Vec3) -> Self {
        Self { position, ..self }
    }

    /// Returns the transform with another rotation.
    #[must_use = "the transform itself does not change"]
    pub const fn with_rotation(self, rotation: Quat) -> Self {
        Self { rotation, ..self }
    }

    /// Returns the transform with another scale.
    #[must_use = "the transform itself does not change"]
    pub const fn with_scale(self, scale: f32) -> Self {
        Self { scale, ..self }
    }

    /// Returns the transform moved in the space of the parent. This is Unity's `Translate`.
    #[must_use = "the transform itself does not change"]
    pub fn translated(self, way: Vec3) -> Self {
        Self { position: self.position + way, ..self }
    }

    /// Returns the transform rotated about its own axes. This is Unity's `Rotate`.
    ///
    /// Rounding errors of many rotations change the length of the quaternion, and then the matrix scales. Code that rotates an
    /// entity in each frame has to normalize the rotation, as [`Rotation::turned`](crate::Rotation::turned) does.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::f32::consts::FRAC_PI_2;
    ///
    /// use ancho_transforms::LocalTransform;
    /// use glam::{Quat, Vec3};
    ///
    /// let ship = LocalTransform::from_position(Vec3::Y).rotated(Quat::from_rotation_y(FRAC_PI_2));
    /// assert_eq!(ship.position, Vec3::Y);
    /// assert!(ship.forward().abs_diff_eq(Vec3::X, 1e-6));
    /// // About the x axis that it has now: it looks down.
    /// assert!(ship.rotated_x(FRAC_PI_2).forward().abs_diff_eq(-Vec3::Y, 1e-6));
    /// ```
    #[must_use = "the transform itself does not change"]
    pub fn rotated(self, rotation: Quat) -> Self {
        Self { rotation: self.unit_rotation() * identity_if_zero(rotation), ..self }
    }

    /// Returns the transform rotated about its x axis, by an angle in radians.
    #[must_use = "the transform itself does not change"]
    pub fn rotated_x(self, angle: f32) -> Self {
        self.rotated(Quat::from_rotation_x(angle))
    }

    /// Returns the transform rotated about its y axis, by an angle in radians.
    #[must_use = "the transform itself does not change"]
    pub fn rotated_y(self, angle: f32) -> Self {
        self.rotated(Quat::from_rotation_y(angle))
    }

    /// Returns the transform rotated about its z axis, by an angle in radians.
    #[must_use = "the transform itself does not change"]
    pub fn rotated_z(self, angle: f32) -> Self {
        self.rotated(Quat::from_rotation_z(angle))
    }

    /// Returns the transform with its scale multiplied by a factor. This is Unity's `ApplyScale`.
    #[must_use = "the transform itself does not change"]
    pub fn scaled(self, factor: f32) -> Self {
        Self { scale: self.scale * factor, ..self }
    }

    /// Returns the transform rotated to look at a point in the space of its parent, with its y axis as close to `up` as possible.
    /// If the point is the transform's own position, the rotation does not change.
    #[must_use = "the transform itself does not change"]
    pub fn looking_at(self, target: Vec3, up: Vec3) -> Self {
        match (target - self.position).try_normalize() {
            Some(way) => Self { rotation: look_rotation(way, up), ..self },
            None => self,
        }
    }

    /// Transforms a point from local space to the space of the parent.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_transforms::LocalTransform;
    /// use glam::Vec3;
    ///
    /// let ship = LocalTransform::from_position(Vec3::X).scaled(2.0);
    /// assert_eq!(ship.transform_point(Vec3::Y), Vec3::new(1.0, 2.0, 0.0));
    /// ```
    pub fn transform_point(&self, point: Vec3) -> Vec3 {
        self.position + quat::rotate(self.unit_rotation(), point * self.scale)
    }

    /// Rotates a direction from local space to the space of the parent, without moving or scaling it.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_transforms::{LocalTransform, look_rotation};
    /// use glam::Vec3;
    ///
    /// let ship = LocalTransform::new(Vec3::Y, look_rotation(Vec3::X, Vec3::Y), 2.0);
    /// assert!(ship.transform_direction(Vec3::Z).abs_diff_eq(Vec3::X, 1e-6));
    /// ```
    pub fn transform_direction(&self, direction: Vec3) -> Vec3 {
        quat::rotate(self.unit_rotation(), direction)
    }

    /// Transforms a child's transform from local space to the space of the parent. This is Unity's `TransformTransform`.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_transforms::LocalTransform;
    /// use glam::Vec3;
    ///
    /// let parent = LocalTransform::from_position(Vec3::X).scaled(2.0);
    /// let child = LocalTransform::from_position(Vec3::Y);
    /// let in_world = parent.transform(child);
    /// assert_eq!(in_world, LocalTransform::from_position(Vec3::new(1.0, 2.0, 0.0)).scaled(2.0));
    /// assert_eq!(parent.inverse()?.transform(in_world), child);
    /// # Ok::<(), ancho_transforms::TransformError>(())
    /// ```
    #[must_use = "the transform itself does not change"]
    pub fn transform(&self, child: Self) -> Self {
        Self {
            position: self.transform_point(child.position),
            rotation: self.unit_rotation() * child.unit_rotation(),
            scale: self.scale * child.scale,
        }
    }

    /// Returns the inverse transform, from the space of the parent to local space.
    ///
    /// The rotation has to be normalized, or of length zero, which counts as the identity. Otherwise the inverse is not exact. See
    /// [`transform`](Self::transform) for an example.
    ///
    /// # Errors
    ///
    /// Returns A0144 if the scale is zero, infinite, not a number, or so small that its reciprocal is infinite. A position or
    /// rotation that is not a number is not an error: the inverse is not a number either.
    pub fn inverse(&self) -> Result<Self, TransformError> {
        let scale = self.scale.recip();
        if !scale.is_finite() || scale == 0.0 {
            return Err(TransformError::NoInverse { scale: self.scale });
        }
        let rotation = self.unit_rotation().conjugate();
        let position = quat::rotate(rotation, -self.position * scale);
        Ok(Self { position, rotation, scale })
    }

    /// Returns the rotation, or the identity if its length is zero.
    fn unit_rotation(&self) -> Quat {
        identity_if_zero(self.rotation)
    }
}

impl From<LocalTransform> for Mat4 {
    fn from(transform: LocalTransform) -> Self {
        transform.to_matrix()
    }
}

/// Returns the rotation whose z axis points forward and whose y axis is as close to `up` as possible.
///
/// The arguments need not be normalized. The result is the identity if `forward` is zero, not finite, or so short or long that its
/// squared length is zero or infinite. If `up` is zero, not finite, or parallel to `forward`, another direction is used instead.
/// Unity's `quaternion.lookRotation` does not define these cases.
///
/// # Examples
///
/// ```
/// use ancho_transforms::look_rotation;
/// use glam::{Quat, Vec3};
///
/// let east = look_rotation(Vec3::X, Vec3::Y);
/// assert!((east * Vec3::Z).abs_diff_eq(Vec3::X, 1e-6));
/// assert!((east * Vec3::Y).abs_diff_eq(Vec3::Y, 1e-6));
/// let up = look_rotation(Vec3::Y, Vec3::Y);
/// assert!((up * Vec3::Z).abs_diff_eq(Vec3::Y, 1e-6));
/// assert_eq!(look_rotation(Vec3::ZERO, Vec3::Y), Quat::IDENTITY);
/// ```
#[doc(alias = "looking_at")]
#[doc(alias = "LookRotation")]
pub fn look_rotation(forward: Vec3, up: Vec3) -> Quat {
    let Some(z) = forward.try_normalize() else { return Quat::IDENTITY };
    let x = up.normalize_or_zero().cross(z);
    // If the directions are almost parallel, the cross product consists of rounding errors.
    let x = if x.length_squared() > 1e-10 { x.normalize() } else { z.any_orthonormal_vector() };
    Quat::from_mat3(&Mat3::from_cols(x, z.cross(x), z))
}
