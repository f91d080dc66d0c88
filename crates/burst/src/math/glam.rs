//! Operations on glam's types whose bits depend on the platform in glam itself.

use glam::{Affine3A, Mat3A, Quat, Vec3, Vec3A, Vec3Swizzles, Vec4, Vec4Swizzles};

use super::{acos, sin};

/// Operations on [`glam::Quat`].
pub mod quat {
    use super::*;

    /// Returns the dot product. Replaces [`Quat::dot`].
    #[inline]
    #[must_use]
    pub fn dot(a: Quat, b: Quat) -> f32 {
        vec4::dot(Vec4::from(a), Vec4::from(b))
    }

    /// Returns the length. Replaces [`Quat::length`].
    #[inline]
    #[must_use]
    pub fn length(rotation: Quat) -> f32 {
        vec4::length(Vec4::from(rotation))
    }

    /// Returns the quaternion of length one in the same direction, or NaN if the length is zero. Replaces [`Quat::normalize`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_burst::math::quat;
    /// use glam::Quat;
    ///
    /// let rotation = quat::normalize(Quat::from_xyzw(0.0, 3.0, 0.0, 4.0));
    /// assert_eq!(rotation, Quat::from_xyzw(0.0, 0.6, 0.0, 0.8));
    /// ```
    #[inline]
    #[must_use]
    pub fn normalize(rotation: Quat) -> Quat {
        Quat::from_vec4(vec4::normalize(Vec4::from(rotation)))
    }

    /// Rotates a vector by a quaternion of length one. Replaces `rotation * vector`.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_burst::math::quat;
    /// use glam::{Quat, Vec3};
    ///
    /// let half_turn = Quat::from_xyzw(0.0, 1.0, 0.0, 0.0);
    /// assert_eq!(quat::rotate(half_turn, Vec3::X), -Vec3::X);
    /// ```
    #[inline]
    #[must_use]
    pub fn rotate(rotation: Quat, vector: Vec3) -> Vec3 {
        Vec3::from(rotate_vec3a(rotation, Vec3A::from(vector)))
    }

    /// Rotates a vector by a quaternion of length one. Replaces `rotation * vector`.
    #[inline]
    #[must_use]
    pub fn rotate_vec3a(rotation: Quat, vector: Vec3A) -> Vec3A {
        let (axis, w) = (Vec3A::from_vec4(Vec4::from(rotation)), rotation.w);
        let along = vector * (w * w - vec3a::dot(axis, axis));
        let towards = axis * (vec3a::dot(vector, axis) * 2.0);
        (along + towards) + vec3a::cross(axis, vector) * (w * 2.0)
    }

    /// Interpolates linearly the short way round, and normalizes. Replaces [`Quat::lerp`].
    #[inline]
    #[must_use]
    pub fn lerp(from: Quat, to: Quat, s: f32) -> Quat {
        let to = if dot(from, to).is_sign_negative() { -to } else { to };
        normalize(from * (1.0 - s) + to * s)
    }

    /// Interpolates at a constant angular speed the short way round. Replaces [`Quat::slerp`], and is more exact.
    ///
    /// Both quaternions are of length one.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_burst::math::quat;
    /// use glam::Quat;
    ///
    /// let half_turn = Quat::from_xyzw(0.0, 1.0, 0.0, 0.0);
    /// let quarter_turn = quat::slerp(Quat::IDENTITY, half_turn, 0.5);
    /// assert!(quarter_turn.abs_diff_eq(Quat::from_xyzw(0.0, 0.5_f32.sqrt(), 0.0, 0.5_f32.sqrt()), 1e-6));
    /// ```
    #[inline]
    #[must_use]
    pub fn slerp(from: Quat, to: Quat, s: f32) -> Quat {
        let cos = dot(from, to);
        let (to, cos) = if cos < 0.0 { (-to, -cos) } else { (to, cos) };
        // The sine of such a small angle is all rounding, and a line is as good as an arc.
        if cos > 1.0 - f32::EPSILON {
            return lerp(from, to, s);
        }
        let angle = acos(cos);
        let sum = from * sin((1.0 - s) * angle) + to * sin(s * angle);
        sum / sin(angle)
    }
}

/// Operations on [`glam::Vec4`].
pub mod vec4 {
    use super::*;

    /// Returns the dot product: `(x + z) + (y + w)` of the products. Replaces [`Vec4::dot`].
    #[inline]
    #[must_use]
    pub fn dot(a: Vec4, b: Vec4) -> f32 {
        let products = a * b;
        let pairs = products + products.zwxy();
        pairs.x + pairs.y
    }

    /// Returns the length. Replaces [`Vec4::length`].
    #[inline]
    #[must_use]
    pub fn length(vector: Vec4) -> f32 {
        dot(vector, vector).sqrt()
    }

    /// Returns the vector of length one in the same direction, or NaN if the length is zero. Replaces [`Vec4::normalize`].
    #[inline]
    #[must_use]
    pub fn normalize(vector: Vec4) -> Vec4 {
        vector / Vec4::splat(length(vector))
    }
}

/// Operations on [`glam::Vec3A`].
pub mod vec3a {
    use super::*;

    /// Returns the dot product: `(x + y) + z` of the products. Replaces [`Vec3A::dot`].
    #[inline]
    #[must_use]
    pub fn dot(a: Vec3A, b: Vec3A) -> f32 {
        let products = a * b;
        (products.x + products.y) + products.z
    }

    /// Returns the cross product. Replaces [`Vec3A::cross`], which is fused in builds for CPUs with FMA.
    #[inline]
    #[must_use]
    pub fn cross(a: Vec3A, b: Vec3A) -> Vec3A {
        (a.zxy() * b - a * b.zxy()).zxy()
    }

    /// Returns the length. Replaces [`Vec3A::length`].
    #[inline]
    #[must_use]
    pub fn length(vector: Vec3A) -> f32 {
        dot(vector, vector).sqrt()
    }

    /// Returns the vector of length one in the same direction, or NaN if the length is zero. Replaces [`Vec3A::normalize`].
    #[inline]
    #[must_use]
    pub fn normalize(vector: Vec3A) -> Vec3A {
        vector / length(vector)
    }
}

/// Operations on [`glam::Affine3A`].
pub mod affine3a {
    use super::*;

    /// Returns the inverse, which is not finite for a singular matrix. Replaces [`Affine3A::inverse`], and
    /// [`glam::Mat4::inverse`] of matrices whose last row is `0, 0, 0, 1`.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_burst::math::affine3a;
    /// use glam::{Affine3A, Vec3};
    ///
    /// let there = Affine3A::from_translation(Vec3::X) * Affine3A::from_scale(Vec3::splat(2.0));
    /// let back = affine3a::inverse(there);
    /// assert_eq!(back.transform_point3(Vec3::new(3.0, 2.0, 0.0)), Vec3::new(1.0, 1.0, 0.0));
    /// assert!(!affine3a::inverse(Affine3A::ZERO).is_finite());
    /// ```
    #[inline]
    #[must_use]
    pub fn inverse(affine: Affine3A) -> Affine3A {
        let Mat3A { x_axis, y_axis, z_axis } = affine.matrix3;
        let rows = [
            vec3a::cross(y_axis, z_axis),
            vec3a::cross(z_axis, x_axis),
            vec3a::cross(x_axis, y_axis),
        ];
        let factor = Vec3A::splat(1.0 / vec3a::dot(x_axis, rows[0]));
        let [x, y, z] = rows.map(|row| row * factor);
        let matrix3 = Mat3A::from_cols(x, y, z).transpose();
        Affine3A { matrix3, translation: -(matrix3 * affine.translation) }
    }
}
