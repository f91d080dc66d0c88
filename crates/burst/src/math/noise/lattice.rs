//! Lattices of integer points: the cell of a coordinate, a hash of each point, and slopes.

use super::super::lane::{ROUND, flip, magnitude, select};

/// The largest coordinate. The skewed coordinates of simplex noise in 4D are 2.3 times as large, and must be below 2^22.
const LIMIT: f32 = 1_048_576.0;

/// Returns `result`, or NaN if a coordinate is beyond the limit, or NaN.
#[inline(always)]
pub(super) fn within_limits<const N: usize>(coordinates: [f32; N], result: f32) -> f32 {
    select(are_within_limits(coordinates), result, f32::NAN)
}

/// Returns whether all coordinates are within the limit.
#[inline(always)]
pub(super) fn are_within_limits<const N: usize>(coordinates: [f32; N]) -> bool {
    let mut within = true;
    for coordinate in coordinates {
        within &= magnitude(coordinate) <= LIMIT;
    }
    within
}

/// Splits a coordinate into the integer below it, as the bits of an `i32`, and the rest from 0 to 1.
#[inline(always)]
pub(super) fn split(coordinate: f32) -> (u32, f32) {
    let shifted = coordinate + ROUND;
    let rounded = shifted - ROUND;
    let above = rounded > coordinate;
    let floor = rounded - select(above, 1.0, 0.0);
    let cell = shifted.to_bits().wrapping_sub(ROUND.to_bits());
    (cell.wrapping_sub(select(above, 1, 0)), coordinate - floor)
}

/// Begins the hash of a lattice point. Its coordinates are added with [`add`], then the hash is finished.
#[inline(always)]
pub(super) fn begin(seed: u32) -> u32 {
    add(0x85EB_CA6B, seed)
}

/// Adds a coordinate to a hash. The hashes of points with common first coordinates share this work.
#[inline(always)]
pub(super) fn add(hash: u32, cell: u32) -> u32 {
    let hash = (hash ^ cell).wrapping_mul(0x9E37_79B1);
    hash ^ hash >> 15
}

/// Finishes the hash of a lattice point: every bit depends on all coordinates.
#[inline(always)]
pub(super) fn finish(hash: u32) -> u32 {
    let hash = hash.wrapping_mul(0x846C_A68B);
    hash ^ hash >> 16
}

/// Returns a weight that rises from 0 to 1 with the rest of a coordinate. Its first and second derivatives are 0 at both ends.
#[inline(always)]
pub(super) fn fade(rest: f32) -> f32 {
    rest * rest * rest * (rest * (rest * 6.0 - 15.0) + 10.0)
}

/// Interpolates linearly.
#[inline(always)]
pub(super) fn lerp(from: f32, to: f32, weight: f32) -> f32 {
    from + (to - from) * weight
}

/// Returns the height of a random slope at an offset from its lattice point. The slope is a unit vector, one of eight directions
/// that are evenly spaced, none of which is along an axis.
#[inline(always)]
pub(super) fn slope_2d(hash: u32, x: f32, y: f32) -> f32 {
    let steep = (hash as i32) < 0;
    let (along, across) = (select(steep, y, x), select(steep, x, y));
    // The cosine and the sine of an eighth of half a turn.
    flip(along * 0.923_879_5, hash << 1) + flip(across * 0.382_683_43, hash << 2)
}

/// Returns the height of a random slope at an offset: one of the twelve vectors with two components of ±1, and one of 0.
#[inline(always)]
pub(super) fn slope_3d(hash: u32, x: f32, y: f32, z: f32) -> f32 {
    let zero = ((hash >> 16) * 3) >> 16;
    let (first, second) = (select(zero == 0, y, x), select(zero == 2, y, z));
    flip(first, hash << 31) + flip(second, hash << 30)
}

/// Returns the height of a random slope at an offset: one of the 32 vectors with three components of ±1, and one of 0.
#[inline(always)]
pub(super) fn slope_4d(hash: u32, x: f32, y: f32, z: f32, w: f32) -> f32 {
    let zero = hash >> 30;
    let first = select(zero == 0, y, x);
    let second = select(zero < 2, z, y);
    let third = select(zero == 3, z, w);
    (flip(first, hash << 31) + flip(second, hash << 30)) + flip(third, hash << 29)
}

/// Returns a closure that is marked `#[inline(always)]`. The attribute is allowed on arguments only.
#[inline(always)]
pub(super) fn inlined<F>(closure: F) -> F {
    closure
}
