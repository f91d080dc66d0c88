//! Perlin noise: slopes at the integer points, interpolated.

use super::lattice::{
    add, begin, fade, finish, inlined, lerp, slope_2d, slope_3d, slope_4d, split, within_limits,
};

/// Returns Perlin noise of a point in the plane, from -1 to 1.
///
/// The noise is zero at integer points, with a random slope at each. First and second derivatives are continuous. About
/// half of the values are within ±0.25.
///
/// # Examples
///
/// ```
/// use ancho_burst::math::noise::perlin_2d;
/// assert_eq!(perlin_2d(1, [2.0, -7.0]), 0.0);
/// assert!(perlin_2d(1, [2.5, -7.25]).abs() <= 1.0);
/// ```
#[inline(always)]
#[must_use]
#[doc(alias = "cnoise")]
pub fn perlin_2d(seed: u32, [x, y]: [f32; 2]) -> f32 {
    let ((i, x_rest), (j, y_rest)) = (split(x), split(y));
    let weight = fade(y_rest);
    let side = inlined(
        #[inline(always)]
        |cell: u32, x: f32| {
            let hash = add(begin(seed), cell);
            let (near, far) = (finish(add(hash, j)), finish(add(hash, j.wrapping_add(1))));
            lerp(slope_2d(near, x, y_rest), slope_2d(far, x, y_rest - 1.0), weight)
        },
    );
    let sum = lerp(side(i, x_rest), side(i.wrapping_add(1), x_rest - 1.0), fade(x_rest));
    within_limits([x, y], sum * SCALE_2D)
}

/// Returns Perlin noise of a point in space, from -1 to 1.
///
/// The noise is zero at integer points, with a random slope at each. A third coordinate of time animates noise of the plane.
#[inline(always)]
#[must_use]
#[doc(alias = "cnoise")]
pub fn perlin_3d(seed: u32, [x, y, z]: [f32; 3]) -> f32 {
    let ((i, x_rest), (j, y_rest), (k, z_rest)) = (split(x), split(y), split(z));
    let (y_weight, z_weight) = (fade(y_rest), fade(z_rest));
    let line = inlined(
        #[inline(always)]
        |hash: u32, x: f32, y: f32| {
            let (near, far) = (finish(add(hash, k)), finish(add(hash, k.wrapping_add(1))));
            lerp(slope_3d(near, x, y, z_rest), slope_3d(far, x, y, z_rest - 1.0), z_weight)
        },
    );
    let side = inlined(
        #[inline(always)]
        |cell: u32, x: f32| {
            let hash = add(begin(seed), cell);
            let (near, far) = (add(hash, j), add(hash, j.wrapping_add(1)));
            lerp(line(near, x, y_rest), line(far, x, y_rest - 1.0), y_weight)
        },
    );
    let sum = lerp(side(i, x_rest), side(i.wrapping_add(1), x_rest - 1.0), fade(x_rest));
    within_limits([x, y, z], sum * SCALE_3D)
}

/// Returns Perlin noise of a point in four dimensions, from -1 to 1.
///
/// The noise is zero at integer points, with a random slope at each. A fourth coordinate of time animates noise of space. It has 16
/// slopes to interpolate; [`simplex_4d`](super::simplex_4d) has five.
#[inline(always)]
#[must_use]
#[doc(alias = "cnoise")]
pub fn perlin_4d(seed: u32, [x, y, z, w]: [f32; 4]) -> f32 {
    let ((i, x_rest), (j, y_rest)) = (split(x), split(y));
    let ((k, z_rest), (l, w_rest)) = (split(z), split(w));
    let (y_weight, z_weight, w_weight) = (fade(y_rest), fade(z_rest), fade(w_rest));
    let line = inlined(
        #[inline(always)]
        |hash: u32, x: f32, y: f32, z: f32| {
            let (near, far) = (finish(add(hash, l)), finish(add(hash, l.wrapping_add(1))));
            lerp(slope_4d(near, x, y, z, w_rest), slope_4d(far, x, y, z, w_rest - 1.0), w_weight)
        },
    );
    let plane = inlined(
        #[inline(always)]
        |hash: u32, x: f32, y: f32| {
            let (near, far) = (add(hash, k), add(hash, k.wrapping_add(1)));
            lerp(line(near, x, y, z_rest), line(far, x, y, z_rest - 1.0), z_weight)
        },
    );
    let side = inlined(
        #[inline(always)]
        |cell: u32, x: f32| {
            let hash = add(begin(seed), cell);
            let (near, far) = (add(hash, j), add(hash, j.wrapping_add(1)));
            lerp(plane(near, x, y_rest), plane(far, x, y_rest - 1.0), y_weight)
        },
    );
    let sum = lerp(side(i, x_rest), side(i.wrapping_add(1), x_rest - 1.0), fade(x_rest));
    within_limits([x, y, z, w], sum * SCALE_4D)
}

// One divided by the largest possible sum, rounded down. The sum is largest if each slope rises towards the point. Its maximum over a
// cell was found numerically: 0.660817, 1.036354 and 1.536583.
const SCALE_2D: f32 = 1.5132;
const SCALE_3D: f32 = 0.9649;
const SCALE_4D: f32 = 0.6507;
