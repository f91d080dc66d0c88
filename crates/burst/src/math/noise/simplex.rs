//! Simplex noise: slopes on a grid of triangles, tetrahedra or their counterparts in four dimensions, whose influence ends within the
//! adjacent simplices.
//!
//! The grid is that of Perlin's "Noise hardware" (2001): a lattice of cubes, skewed along its diagonal, each divided by the order of
//! the coordinates. A slope reaches as far as the height of a simplex, the square root of 1/2 in every dimension. With the larger radius
//! of some implementations the noise would have steps.

use super::super::lane::select;
use super::lattice::{
    add, begin, finish, inlined, slope_2d, slope_3d, slope_4d, split, within_limits,
};

/// Returns simplex noise of a point in the plane, from -1 to 1.
///
/// The first three derivatives are continuous. No axis is visible in it.
///
/// # Examples
///
/// ```
/// use ancho_burst::math::noise::simplex_2d;
/// assert_eq!(simplex_2d(1, [0.0, 0.0]), 0.0);
/// assert!(simplex_2d(1, [2.5, -7.25]).abs() <= 1.0);
/// ```
#[inline(always)]
#[must_use]
#[doc(alias = "snoise")]
pub fn simplex_2d(seed: u32, [x, y]: [f32; 2]) -> f32 {
    let skew = (x + y) * SKEW_2D;
    let ((i, u), (j, v)) = (split(x + skew), split(y + skew));
    // From the rests, which are small, so that large coordinates lose nothing.
    let back = (u + v) * BACK_2D;
    let (x0, y0) = (u - back, v - back);
    let seed = begin(seed);
    let corner = inlined(
        #[inline(always)]
        |cells: (u32, u32), x: f32, y: f32| {
            let hash = finish(add(add(seed, i.wrapping_add(cells.0)), j.wrapping_add(cells.1)));
            fall(x * x + y * y) * slope_2d(hash, x, y)
        },
    );
    let x_first = u > v;
    let step = (select(x_first, 1.0, 0.0), select(x_first, 0.0, 1.0));
    let cells = (select(x_first, 1, 0), select(x_first, 0, 1));
    let first = corner((0, 0), x0, y0);
    let middle = corner(cells, x0 - step.0 + BACK_2D, y0 - step.1 + BACK_2D);
    let (x2, y2) = (x0 - (1.0 - 2.0 * BACK_2D), y0 - (1.0 - 2.0 * BACK_2D));
    let last = corner((1, 1), x2, y2);
    within_limits([x, y], (first + middle + last) * SCALE_2D)
}

/// Returns simplex noise of a point in space, from -1 to 1.
///
/// The first three derivatives are continuous. A third coordinate of time animates noise of the plane.
#[inline(always)]
#[must_use]
#[doc(alias = "snoise")]
pub fn simplex_3d(seed: u32, [x, y, z]: [f32; 3]) -> f32 {
    let skew = (x + y + z) * SKEW_3D;
    let ((i, u), (j, v), (k, w)) = (split(x + skew), split(y + skew), split(z + skew));
    let back = (u + v + w) * BACK_3D;
    let (x0, y0, z0) = (u - back, v - back, w - back);
    let seed = begin(seed);
    // The number of coordinates that each one exceeds: the walk from corner to corner starts with the largest.
    let (uv, uw, vw) = (above(u, v), above(u, w), above(v, w));
    let ranks = (uv + uw, (1 - uv) + vw, (1 - uw) + (1 - vw));
    let corner = inlined(
        #[inline(always)]
        |number: i32| {
            let least = 3 - number;
            let (a, b, c) = (step(ranks.0, least), step(ranks.1, least), step(ranks.2, least));
            let back = number as f32 * BACK_3D;
            let (x, y, z) = (x0 - a.1 + back, y0 - b.1 + back, z0 - c.1 + back);
            let hash = add(add(seed, i.wrapping_add(a.0)), j.wrapping_add(b.0));
            let hash = finish(add(hash, k.wrapping_add(c.0)));
            fall(x * x + y * y + z * z) * slope_3d(hash, x, y, z)
        },
    );
    let sum = (corner(0) + corner(1)) + (corner(2) + corner(3));
    within_limits([x, y, z], sum * SCALE_3D)
}

/// Returns simplex noise of a point in four dimensions, from -1 to 1.
///
/// The first three derivatives are continuous. A fourth coordinate of time animates noise of space.
#[inline(always)]
#[must_use]
#[doc(alias = "snoise")]
pub fn simplex_4d(seed: u32, [x, y, z, w]: [f32; 4]) -> f32 {
    let skew = ((x + y) + (z + w)) * SKEW_4D;
    let ((i, p), (j, q)) = (split(x + skew), split(y + skew));
    let ((k, r), (l, s)) = (split(z + skew), split(w + skew));
    let back = ((p + q) + (r + s)) * BACK_4D;
    let (x0, y0, z0, w0) = (p - back, q - back, r - back, s - back);
    let seed = begin(seed);
    let (pq, pr, ps) = (above(p, q), above(p, r), above(p, s));
    let (qr, qs, rs) = (above(q, r), above(q, s), above(r, s));
    let ranks = (pq + pr + ps, (1 - pq) + qr + qs, (1 - pr) + (1 - qr) + rs, 3 - (ps + qs + rs));
    let corner = inlined(
        #[inline(always)]
        |number: i32| {
            let least = 4 - number;
            let (a, b) = (step(ranks.0, least), step(ranks.1, least));
            let (c, d) = (step(ranks.2, least), step(ranks.3, least));
            let back = number as f32 * BACK_4D;
            let (x, y) = (x0 - a.1 + back, y0 - b.1 + back);
            let (z, w) = (z0 - c.1 + back, w0 - d.1 + back);
            let hash = add(add(seed, i.wrapping_add(a.0)), j.wrapping_add(b.0));
            let hash = finish(add(add(hash, k.wrapping_add(c.0)), l.wrapping_add(d.0)));
            fall((x * x + y * y) + (z * z + w * w)) * slope_4d(hash, x, y, z, w)
        },
    );
    let sum = ((corner(0) + corner(1)) + (corner(2) + corner(3))) + corner(4);
    within_limits([x, y, z, w], sum * SCALE_4D)
}

/// Returns the influence of a corner at the square of a distance.
#[inline(always)]
fn fall(square: f32) -> f32 {
    let rest = 0.5 - square;
    let rest = select(rest > 0.0, rest, 0.0);
    let rest = rest * rest;
    rest * rest
}

/// Returns 1 if the first number is above the second, otherwise 0.
#[inline(always)]
fn above(first: f32, second: f32) -> i32 {
    select(first > second, 1, 0)
}

/// Returns 1 if the rank is at least `least`, otherwise 0, as an integer and a float.
#[inline(always)]
fn step(rank: i32, least: i32) -> (u32, f32) {
    let steps = rank >= least;
    (select(steps, 1, 0), select(steps, 1.0, 0.0))
}

// (sqrt(n + 1) - 1) / n in n dimensions.
const SKEW_2D: f32 = 0.366_025_4;
const SKEW_3D: f32 = 1.0 / 3.0;
const SKEW_4D: f32 = 0.309_017;

// (n + 1 - sqrt(n + 1)) / (n * (n + 1)) in n dimensions.
const BACK_2D: f32 = 0.211_324_87;
const BACK_3D: f32 = 1.0 / 6.0;
const BACK_4D: f32 = 0.138_196_6;

// One divided by the largest possible sum, rounded down. Its maximum was found numerically: 0.0099960, 0.0130072 and 0.0159293.
const SCALE_2D: f32 = 100.03;
const SCALE_3D: f32 = 76.87;
const SCALE_4D: f32 = 62.77;
