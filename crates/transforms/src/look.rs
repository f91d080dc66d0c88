//! Rotations that face something.

use glam::{Mat3, Quat, Vec3};

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
