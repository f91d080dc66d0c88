//! Reductions of slices to one number, in a defined order.

use std::hint::black_box;

use super::lane::select;

/// The order in which a reduction combines floating-point numbers.
///
/// Addition of floats is not associative, so the order of a sum is part of its result. A loop that adds to one variable therefore
/// cannot be spread over the lanes of a vector.
///
/// # Determinism
///
/// Either mode has one result, the same bit for bit at every CPU level, in debug and release. Neither contracts `a * b + c`,
/// assumes the absence of NaN, or replaces a division.
///
/// # Examples
///
/// ```
/// use ancho_burst::math::{FloatMode, sum};
/// let values = vec![0.1_f32; 1000];
/// assert_eq!(sum(&values, FloatMode::Strict), 99.99905);
/// assert_eq!(sum(&values, FloatMode::Fast), 99.99997);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FloatMode {
    /// Combines the elements from first to last, like a plain loop.
    #[default]
    Strict,
    /// Combines the elements in 32 lanes on every CPU, with the element at `i` in lane `i % 32`. Then the upper half of the lanes
    /// is added to the lower half, until one is left.
    ///
    /// Each lane adds fewer elements than a plain loop does, so the result is mostly nearer to the true sum. Intermediate
    /// overflow may occur in only one of the modes.
    Fast,
}

/// Number of lanes of [`FloatMode::Fast`]: enough to keep two AVX-512 or eight SSE additions in flight.
const LANES: usize = 32;

/// Returns the sum of `values`, or 0 if the slice is empty.
///
/// # Examples
///
/// ```
/// use ancho_burst::math::{FloatMode, sum};
/// let values = [1.0, 2.0, 3.0];
/// assert_eq!(ancho_burst::dispatch(|| sum(&values, FloatMode::Fast)), 6.0);
/// ```
#[inline(always)]
#[must_use]
pub fn sum(values: &[f32], mode: FloatMode) -> f32 {
    match mode {
        FloatMode::Strict => values.iter().fold(0.0, |sum, value| sum + value),
        FloatMode::Fast => in_lanes(values, 0.0, |sum, value| sum + value),
    }
}

/// Returns the sum of the products of elements at the same index, or 0 if a slice is empty.
///
/// The shorter slice determines the number of products.
///
/// # Examples
///
/// ```
/// use ancho_burst::math::{FloatMode, dot};
/// assert_eq!(dot(&[1.0, 2.0], &[3.0, 4.0], FloatMode::Strict), 11.0);
/// ```
#[inline(always)]
#[must_use]
pub fn dot(left: &[f32], right: &[f32], mode: FloatMode) -> f32 {
    if mode == FloatMode::Strict {
        return left.iter().zip(right).fold(0.0, |sum, (left, right)| sum + left * right);
    }
    let count = left.len().min(right.len());
    let (left, left_rest) = left[..count].as_chunks::<LANES>();
    let (right, right_rest) = right[..count].as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for (left, right) in left.iter().zip(right) {
        for lane in 0..LANES {
            lanes[lane] += left[lane] * right[lane];
        }
    }
    let mut lanes = black_box(lanes);
    for ((sum, left), right) in lanes.iter_mut().zip(left_rest).zip(right_rest) {
        *sum += left * right;
    }
    fold(lanes, |sum, other| sum + other)
}

/// Returns the smallest of `values`, or infinity if the slice is empty.
///
/// The order makes no difference, so there is no mode. NaN is ignored, and a zero has no sign.
///
/// # Examples
///
/// ```
/// use ancho_burst::math::min;
/// assert_eq!(min(&[3.0, f32::NAN, -2.0]), -2.0);
/// ```
#[inline(always)]
#[must_use]
pub fn min(values: &[f32]) -> f32 {
    in_lanes(values, f32::INFINITY, |min, value| select(value < min, value, min)) + 0.0
}

/// Returns the largest of `values`, or -infinity if the slice is empty.
///
/// The order makes no difference, so there is no mode. NaN is ignored, and a zero has no sign.
///
/// # Examples
///
/// ```
/// use ancho_burst::math::max;
/// assert_eq!(max(&[3.0, f32::NAN, -2.0]), 3.0);
/// ```
#[inline(always)]
#[must_use]
pub fn max(values: &[f32]) -> f32 {
    in_lanes(values, f32::NEG_INFINITY, |max, value| select(value > max, value, max)) + 0.0
}

/// Reduces in a fixed number of lanes, each of which starts at `start`.
#[inline(always)]
fn in_lanes(values: &[f32], start: f32, combine: impl Fn(f32, f32) -> f32) -> f32 {
    let (chunks, rest) = values.as_chunks::<LANES>();
    let mut lanes = [start; LANES];
    for chunk in chunks {
        for lane in 0..LANES {
            lanes[lane] = combine(lanes[lane], chunk[lane]);
        }
    }
    // Without this, the compiler would shuffle the lanes inside the loop, into the order that suits the code after it.
    let mut lanes = black_box(lanes);
    for (lane, value) in lanes.iter_mut().zip(rest) {
        *lane = combine(*lane, *value);
    }
    fold(lanes, combine)
}

/// Folds the upper half of the lanes onto the lower half until one is left.
#[inline(always)]
fn fold(mut lanes: [f32; LANES], combine: impl Fn(f32, f32) -> f32) -> f32 {
    for half in [16, 8, 4, 2, 1] {
        for lane in 0..half {
            lanes[lane] = combine(lanes[lane], lanes[lane + half]);
        }
    }
    lanes[0]
}
