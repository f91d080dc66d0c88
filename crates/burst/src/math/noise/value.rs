//! Value noise.

use super::lattice::{add, begin, fade, finish, lerp, split, within_limits};

/// Returns value noise of a point in the plane, from -1 to 1.
///
/// A random number at each integer point is interpolated smoothly: first and second derivatives are continuous. Its features follow
/// the axes visibly; [`perlin_2d`](super::perlin_2d) and [`simplex_2d`](super::simplex_2d) look more natural.
///
/// # Examples
///
/// ```
/// use ancho_burst::math::noise::value_2d;
/// assert_eq!(value_2d(1, [2.5, -0.25]), value_2d(1, [2.5, -0.25]));
/// assert_ne!(value_2d(1, [2.5, -0.25]), value_2d(2, [2.5, -0.25]));
/// ```
#[inline(always)]
#[must_use]
pub fn value_2d(seed: u32, [x, y]: [f32; 2]) -> f32 {
    let ((i, x_rest), (j, y_rest)) = (split(x), split(y));
    let at_x = line_2d(begin(seed), j, fade(y_rest), i);
    let beyond = line_2d(begin(seed), j, fade(y_rest), i.wrapping_add(1));
    within_limits([x, y], lerp(at_x, beyond, fade(x_rest)))
}

/// Returns value noise of a point in space, from -1 to 1.
///
/// A third coordinate of time animates noise of the plane.
#[inline(always)]
#[must_use]
pub fn value_3d(seed: u32, [x, y, z]: [f32; 3]) -> f32 {
    let ((i, x_rest), (j, y_rest), (k, z_rest)) = (split(x), split(y), split(z));
    let weights = (fade(y_rest), fade(z_rest));
    let at_x = plane_3d(begin(seed), (j, k), weights, i);
    let beyond = plane_3d(begin(seed), (j, k), weights, i.wrapping_add(1));
    within_limits([x, y, z], lerp(at_x, beyond, fade(x_rest)))
}

/// Returns value noise of a point in four dimensions, from -1 to 1.
///
/// A fourth coordinate of time animates noise of space.
#[inline(always)]
#[must_use]
pub fn value_4d(seed: u32, [x, y, z, w]: [f32; 4]) -> f32 {
    let ((i, x_rest), (j, y_rest)) = (split(x), split(y));
    let ((k, z_rest), (l, w_rest)) = (split(z), split(w));
    let (y_weight, weights) = (fade(y_rest), (fade(z_rest), fade(w_rest)));
    let (first, second) = (add(begin(seed), i), add(begin(seed), i.wrapping_add(1)));
    let at_x = lerp(
        plane_3d(first, (k, l), weights, j),
        plane_3d(first, (k, l), weights, j.wrapping_add(1)),
        y_weight,
    );
    let beyond = lerp(
        plane_3d(second, (k, l), weights, j),
        plane_3d(second, (k, l), weights, j.wrapping_add(1)),
        y_weight,
    );
    within_limits([x, y, z, w], lerp(at_x, beyond, fade(x_rest)))
}

/// Interpolates over the last coordinate.
#[inline(always)]
fn line_2d(hash: u32, last: u32, weight: f32, cell: u32) -> f32 {
    let hash = add(hash, cell);
    lerp(number(add(hash, last)), number(add(hash, last.wrapping_add(1))), weight)
}

/// Interpolates over the last two coordinates.
#[inline(always)]
fn plane_3d(hash: u32, (j, k): (u32, u32), weights: (f32, f32), cell: u32) -> f32 {
    let hash = add(hash, cell);
    lerp(line_2d(hash, k, weights.1, j), line_2d(hash, k, weights.1, j.wrapping_add(1)), weights.0)
}

/// Returns the number of a lattice point, from -1 to 1.
#[inline(always)]
fn number(hash: u32) -> f32 {
    (finish(hash) >> 8) as i32 as f32 * (1.0 / 8_388_608.0) - 1.0
}
