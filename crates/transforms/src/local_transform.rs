//! Position, rotation and uniform scale in one component.

use ancho_burst::math::quat;
use ancho_entities::Component;
use glam::{Affine3A, Mat3, Mat4, Quat, Vec3, Vec3A};

use crate::compose::{identity_if_zero, rotation_matrix};
use crate::error::TransformError;

/// Where an entity is, how it is turned and how large it is, relative to its [parent](crate::Parent) or to the world.
///
/// Its scale is the same along all axes, so that transforms can be combined and inverted and stay what they are. For others, add
/// a [`PostTransformMatrix`](crate::PostTransformMatrix), or use [`Position`](crate::Position), [`Rotation`](crate::Rotation) and
/// [`Scale`](crate::Scale) instead.
///
/// The methods return other transforms; none changes one in place. Unity's `LocalTransform`.
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
pub struct LocalTransform {
    /// How it is turned. Of length one; of length zero it counts as no rotation.
    pub rotation: Quat,
    /// Where it is.
    pub position: Vec3,
    /// How large it is.
    pub scale: f32,
}

impl Default for LocalTransform {
    /// [`IDENTITY`](Self::IDENTITY).
    fn default() -> Self {
        Self::IDENTITY
    }
}

impl LocalTransform {
    /// In the middle, neither turned nor scaled.
    pub const IDENTITY: Self = Self { rotation: Quat::IDENTITY, position: Vec3::ZERO, scale: 1.0 };

    /// One at a position.
    pub const fn from_position(position: Vec3) -> Self {
        Self { position, ..Self::IDENTITY }
    }

    /// One that is turned.
    pub const fn from_rotation(rotation: Quat) -> Self {
        Self { rotation, ..Self::IDENTITY }
    }

    /// One that is scaled.
    pub const fn from_scale(scale: f32) -> Self {
        Self { scale, ..Self::IDENTITY }
    }

    /// One at a position that is turned.
    pub const fn from_position_rotation(position: Vec3, rotation: Quat) -> Self {
        Self { rotation, position, scale: 1.0 }
    }

    /// One at a position that is turned and scaled.
    pub const fn new(position: Vec3, rotation: Quat, scale: f32) -> Self {
        Self { rotation, position, scale }
    }

    /// One that comes close to a matrix: of different scales it takes the largest, and shear is left out.
    ///
    /// See [`try_from_matrix`](Self::try_from_matrix) for one that is exact. Unity's `FromMatrix`.
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
        // The second and third axis are made perpendicular to the others, as far as there is something to do it with.
        let x = axes[0].normalize_or(Vec3::X);
        let y = (axes[1] - x * x.dot(axes[1])).normalize_or(x.any_orthonormal_vector());
        let z = x.cross(y);
        let rotation = Quat::from_mat3(&Mat3::from_cols(x, y, z));
        Self { rotation, position: matrix.w_axis.truncate(), scale }
    }

    /// One that is a matrix, which is neither sheared nor mirrored and has the same scale along all axes, within a ten-thousandth of
    /// it. Unity's `FromMatrixSafe`.
    ///
    /// # Errors
    ///
    /// With A0143 if the matrix is another.
    pub fn try_from_matrix(matrix: Mat4) -> Result<Self, TransformError> {
        let transform = Self::from_matrix(matrix);
        let difference = (transform.to_matrix() - matrix).to_cols_array();
        let most = difference.iter().fold(0.0, |most: f32, value| most.max(value.abs()));
        // What is not a number is not less.
        let is_close = most <= 1e-4 * transform.scale.max(f32::MIN_POSITIVE);
        let is_number = difference.iter().all(|value| value.is_finite());
        if is_close && is_number {
            Ok(transform)
        } else {
            Err(TransformError::NotUniform { matrix })
        }
    }

    /// The matrix that does the same.
    pub fn to_matrix(&self) -> Mat4 {
        Mat4::from(self.affine())
    }

    /// The matrix that does the same, without the last row.
    #[inline]
    pub fn affine(&self) -> Affine3A {
        let matrix3 = rotation_matrix(self.rotation) * self.scale;
        Affine3A { matrix3, translation: Vec3A::from(self.position) }
    }

    /// The direction of its z axis, which is where it looks.
    pub fn forward(&self) -> Vec3 {
        quat::rotate(self.unit_rotation(), Vec3::Z)
    }

    /// The direction of its y axis.
    pub fn up(&self) -> Vec3 {
        quat::rotate(self.unit_rotation(), Vec3::Y)
    }

    /// The direction of its x axis.
    pub fn right(&self) -> Vec3 {
        quat::rotate(self.unit_rotation(), Vec3::X)
    }

    /// The same at another position.
    #[must_use = "the transform itself does not change"]
    pub const fn with_position(self, position: Vec3) -> Self {
        Self { position, ..self }
    }

    /// The same, turned otherwise.
    #[must_use = "the transform itself does not change"]
    pub const fn with_rotation(self, rotation: Quat) -> Self {
        Self { rotation, ..self }
    }

    /// The same, of another size.
    #[must_use = "the transform itself does not change"]
    pub const fn with_scale(self, scale: f32) -> Self {
        Self { scale, ..self }
    }

    /// Moved, in the space of the parent. Unity's `Translate`.
    #[must_use = "the transform itself does not change"]
    pub fn translated(self, way: Vec3) -> Self {
        Self { position: self.position + way, ..self }
    }

    /// Turned where it is, about axes of its own. Unity's `Rotate`.
    ///
    /// Of many turns one after the other the length of the rotation strays from one, and the matrix scales: who turns something in
    /// each frame sees to it that it stays of length one, as [`Rotation::turned`](crate::Rotation::turned) does.
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

    /// Turned about its x axis, by an angle in radians.
    #[must_use = "the transform itself does not change"]
    pub fn rotated_x(self, angle: f32) -> Self {
        self.rotated(Quat::from_rotation_x(angle))
    }

    /// Turned about its y axis, by an angle in radians.
    #[must_use = "the transform itself does not change"]
    pub fn rotated_y(self, angle: f32) -> Self {
        self.rotated(Quat::from_rotation_y(angle))
    }

    /// Turned about its z axis, by an angle in radians.
    #[must_use = "the transform itself does not change"]
    pub fn rotated_z(self, angle: f32) -> Self {
        self.rotated(Quat::from_rotation_z(angle))
    }

    /// So many times as large. Unity's `ApplyScale`.
    #[must_use = "the transform itself does not change"]
    pub fn scaled(self, factor: f32) -> Self {
        Self { scale: self.scale * factor, ..self }
    }

    /// Turned so that it looks at a point of the space of its parent, with its y axis as close to `up` as can be. If it is at that
    /// point, it stays as it is.
    #[must_use = "the transform itself does not change"]
    pub fn looking_at(self, target: Vec3, up: Vec3) -> Self {
        match (target - self.position).try_normalize() {
            Some(way) => Self { rotation: look_rotation(way, up), ..self },
            None => self,
        }
    }

    /// Where a point of its space is in that of its parent.
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

    /// A direction of its space in that of its parent: turned, neither moved nor scaled.
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

    /// A transform of its space in that of its parent: what a child of it with that transform is. Unity's `TransformTransform`.
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

    /// What undoes it: leads from the space of its parent to its own.
    ///
    /// Its rotation is expected to have a length of one, or of zero, which counts as none: what is turned by one of another length
    /// is not undone by this. See [`transform`](Self::transform) for an example.
    ///
    /// # Errors
    ///
    /// With A0144 if its scale is zero, infinite, not a number, or so small that no number is as large as what undoes it. A position or
    /// rotation that is not a number is no error here: what undoes it is none, either.
    pub fn inverse(&self) -> Result<Self, TransformError> {
        let scale = self.scale.recip();
        if !scale.is_finite() || scale == 0.0 {
            return Err(TransformError::NoInverse { scale: self.scale });
        }
        let rotation = self.unit_rotation().conjugate();
        let position = quat::rotate(rotation, -self.position * scale);
        Ok(Self { position, rotation, scale })
    }

    /// How it is turned: not at all, if its rotation is of length zero.
    fn unit_rotation(&self) -> Quat {
        identity_if_zero(self.rotation)
    }
}

impl From<LocalTransform> for Mat4 {
    fn from(transform: LocalTransform) -> Self {
        transform.to_matrix()
    }
}

/// The rotation that has the z axis point forward, and the y axis as close to `up` as can be.
///
/// Neither has to be of length one. Where `forward` is no direction, it is no rotation: if it is zero, infinite, not a number, or so
/// short or long that the square of its length is zero or infinite. Where `up` is none, or leads the same way or the opposite one,
/// another direction takes its place. Unity's `quaternion.lookRotation`, with these answers where that has none.
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
pub fn look_rotation(forward: Vec3, up: Vec3) -> Quat {
    let Some(z) = forward.try_normalize() else { return Quat::IDENTITY };
    let x = up.normalize_or_zero().cross(z);
    // So close to each other that nothing but rounding is left.
    let x = if x.length_squared() > 1e-10 { x.normalize() } else { z.any_orthonormal_vector() };
    Quat::from_mat3(&Mat3::from_cols(x, z.cross(x), z))
}
