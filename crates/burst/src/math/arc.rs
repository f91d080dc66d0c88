//! Inverse trigonometric functions.

use super::lane::{SIGN, flip, magnitude, one_nan, select};

/// The difference between pi/2 and the nearest `f32`. That of pi is twice as much.
const HALF_PI_LOW: f32 = -4.371_139e-8;
const HALF_PI: f32 = std::f32::consts::FRAC_PI_2;
const PI: f32 = std::f32::consts::PI;

/// Returns the arcsine of `x`, from -pi/2 to pi/2.
///
/// # Accuracy
///
/// At most 1.3 ulp.
///
/// # Special values
///
/// ±0 yields ±0; numbers beyond ±1 and NaN yield NaN.
///
/// # Examples
///
/// ```
/// use ancho_burst::math;
/// assert_eq!(math::asin(1.0), std::f32::consts::FRAC_PI_2);
/// assert!(math::asin(1.1).is_nan());
/// ```
#[inline(always)]
#[must_use]
pub fn asin(x: f32) -> f32 {
    let (steep, arc) = short_arc(magnitude(x));
    let asin = select(steep, HALF_PI - (2.0 * arc - HALF_PI_LOW), arc);
    one_nan(flip(asin, x.to_bits()))
}

/// Returns the arccosine of `x`, from 0 to pi.
///
/// # Accuracy
///
/// At most 1.1 ulp.
///
/// # Special values
///
/// 1 yields 0; numbers beyond ±1 and NaN yield NaN.
///
/// # Examples
///
/// ```
/// use ancho_burst::math;
/// assert_eq!(math::acos(-1.0), std::f32::consts::PI);
/// assert_eq!(math::acos(1.0), 0.0);
/// ```
#[inline(always)]
#[must_use]
pub fn acos(x: f32) -> f32 {
    let (steep, arc) = short_arc(magnitude(x));
    let level = HALF_PI - (flip(arc, x.to_bits()) - HALF_PI_LOW);
    let twice = 2.0 * arc;
    let steep_negative = PI - (twice - 2.0 * HALF_PI_LOW);
    one_nan(select(steep, select(x < 0.0, steep_negative, twice), level))
}

/// Returns the arctangent of `x`, from -pi/2 to pi/2.
///
/// # Accuracy
///
/// At most 1.65 ulp.
///
/// # Special values
///
/// ±0 yields ±0, ±infinity yields ±pi/2, NaN yields NaN.
///
/// # Examples
///
/// ```
/// use ancho_burst::math;
/// assert_eq!(math::atan(1.0), std::f32::consts::FRAC_PI_4);
/// assert_eq!(math::atan(f32::INFINITY), std::f32::consts::FRAC_PI_2);
/// ```
#[inline(always)]
#[must_use]
pub fn atan(x: f32) -> f32 {
    let size = magnitude(x);
    let steep = size > 1.0;
    let arc = atan_to_one(select(steep, 1.0, size) / select(steep, size, 1.0));
    let atan = select(steep, HALF_PI - (arc - HALF_PI_LOW), arc);
    one_nan(flip(atan, x.to_bits()))
}

/// Returns the angle from the positive x axis to the point (`x`, `y`), from -pi to pi.
///
/// # Accuracy
///
/// At most 1.75 ulp.
///
/// # Special values
///
/// As in C: infinities count as equal and larger than all else. The signs of zeros count, so that `atan2(-0.0, -1.0)` is -pi.
/// `atan2(±0.0, 0.0)` is ±0, `atan2(±0.0, -0.0)` is ±pi. NaN in either place yields NaN.
///
/// # Examples
///
/// ```
/// use ancho_burst::math;
/// assert_eq!(math::atan2(1.0, 0.0), std::f32::consts::FRAC_PI_2);
/// assert_eq!(math::atan2(0.0, -1.0), std::f32::consts::PI);
/// ```
#[inline(always)]
#[must_use]
pub fn atan2(y: f32, x: f32) -> f32 {
    let (height, width) = (magnitude(y), magnitude(x));
    let steep = height > width;
    let short = select(steep, width, height);
    let long = select(steep, height, width);
    // Zero over zero counts as zero, infinity over infinity as one.
    let ratio = select(short == f32::INFINITY, 1.0, short) / select(long == 0.0, 1.0, long);
    let ratio = select(short == f32::INFINITY, 1.0, ratio);
    let arc = atan_to_one(ratio);

    // Adds or subtracts the arc from no turn, a quarter turn or half a turn.
    let behind = x.is_sign_negative();
    let start = select(steep, HALF_PI, select(behind, PI, 0.0));
    let start_low = select(steep, HALF_PI_LOW, select(behind, 2.0 * HALF_PI_LOW, 0.0));
    let back = select(steep != behind, SIGN, 0);
    let angle = start + (flip(arc, back) + start_low);
    let angle = flip(angle, y.to_bits());
    select(x.is_nan() | y.is_nan(), f32::NAN, angle)
}

/// Returns the arcsine of `size` if `size` is at most sqrt(1/2), or else half the arccosine and true.
///
/// The arccosine is computed by `acos(x) = 2 asin(sqrt((1 - x) / 2))`, whose argument is exact up to the root. The change at
/// sqrt(1/2), not at 1/2, keeps `pi/2 - acos(x)` from losing a bit.
#[inline(always)]
fn short_arc(size: f32) -> (bool, f32) {
    let steep = size > std::f32::consts::FRAC_1_SQRT_2;
    let half = (1.0 - size) * 0.5;
    let square = select(steep, half, size * size);
    let sine = select(steep, half.sqrt(), size);
    // `(asin(x) - x) / x^3` in `x^2`, fitted by Remez exchange for x <= sqrt(1/2). Coefficients were rounded to `f32` one by one,
    // and the others fitted again. Relative error 2^-28.7.
    let tail = -0.140_270_72 + square * 0.126_260_74;
    let tail = -0.008_171_853 + square * (0.110_586_41 + square * tail);
    let tail = 0.044_077_884 + square * (0.036_019_642 + square * tail);
    let tail = 0.166_666_22 + square * (0.075_027_09 + square * tail);
    (steep, sine + sine * square * tail)
}

/// Returns the arctangent of a ratio from 0 to 1.
#[inline(always)]
fn atan_to_one(ratio: f32) -> f32 {
    let square = ratio * ratio;
    // `(atan(x) - x) / x^3` in `x^2`, fitted by Remez exchange for x <= 1. Coefficients were rounded to `f32` one by one, and the
    // others fitted again. One coefficient was moved by six ulp to make the arctangent of 1 the nearest to pi/4. Relative error
    // 2^-28.4.
    let tail = -0.031_157_497 + square * (0.010_904_352 + square * -0.001_791_449_8);
    let tail = -0.084_020_5 + square * (0.057_935_618 + square * tail);
    let tail = -0.142_641_26 + square * (0.109_516_54 + square * tail);
    let tail = -0.333_333 + square * (0.199_985_36 + square * tail);
    ratio + ratio * square * tail
}
