//! Logarithms.

use std::f32::consts::LOG2_E;

use super::lane::{select, split};

/// Returns the natural logarithm of `x`.
///
/// # Accuracy
///
/// At most 0.85 ulp, for subnormal numbers too.
///
/// # Special values
///
/// 1 yields 0, ±0 yields -infinity, infinity yields infinity; numbers below 0 and NaN yield NaN.
///
/// # Examples
///
/// ```
/// use ancho_burst::math;
/// assert_eq!(math::ln(10.0), 2.302_585_1);
/// assert_eq!(math::ln(0.0), f32::NEG_INFINITY);
/// ```
#[inline(always)]
#[must_use]
pub fn ln(x: f32) -> f32 {
    let (exponent, mantissa) = split(x);
    let count = exponent as f32;
    let over = mantissa - 1.0;
    // ln(2) in two parts, smallest terms first. The first has 9 bits, so that its product is exact.
    let small = (cubic(over) + count * -0.000_212_194_44) - 0.5 * (over * over);
    let ln = (over + small) + count * 0.693_359_4;
    at_the_ends(x, ln)
}

/// Returns the logarithm of `x` to base 2.
///
/// # Accuracy
///
/// At most 0.85 ulp, for subnormal numbers too; exact for powers of two.
///
/// # Special values
///
/// 1 yields 0, ±0 yields -infinity, infinity yields infinity; numbers below 0 and NaN yield NaN.
///
/// # Examples
///
/// ```
/// use ancho_burst::math;
/// assert_eq!(math::log2(0.125), -3.0);
/// assert_eq!(math::log2(10.0), 3.321_928);
/// ```
#[inline(always)]
#[must_use]
pub fn log2(x: f32) -> f32 {
    let (exponent, mantissa) = split(x);
    let over = mantissa - 1.0;
    // The line and the parabola have most of the rounding errors. The part of both that belongs to the highest 8 bits is exact:
    // products of 8 bits by 16, and of 16 bits by 5.
    let high = f32::from_bits(over.to_bits() & 0xffff_0000);
    let low = over - high;
    let square = high * high;
    let line = low * LINE + over * LINE_LOW;
    let parabola = low * (over + high) * (PARABOLA + PARABOLA_LOW) + square * PARABOLA_LOW;
    let small = (line - parabola) + cubic(over) * LOG2_E;
    let log = high * LINE + (small - square * PARABOLA);
    at_the_ends(x, log + exponent as f32)
}

/// log2(e), rounded to 16 bits.
const LINE: f32 = 1.442_688;
/// log2(e) minus [`LINE`].
const LINE_LOW: f32 = 7.052_608e-6;
/// Half of log2(e), rounded to 5 bits.
const PARABOLA: f32 = 0.718_75;
/// Half of log2(e) minus [`PARABOLA`].
const PARABOLA_LOW: f32 = 0.002_597_520_4;

/// Returns `ln(1 + x) - x + x^2 / 2`, for a mantissa `1 + x` from sqrt(1/2) to sqrt(2).
///
/// The quotient by `x^3` was fitted by Remez exchange. Coefficients were rounded to `f32` one by one, and the others fitted
/// again. The remaining relative error of the logarithm is 2^-30.3.
#[inline(always)]
fn cubic(x: f32) -> f32 {
    let quotient = 0.118_863_24 + x * (-0.116_601_14 + x * 0.067_319_89);
    let quotient = 0.142_202_3 + x * (-0.124_082_78 + x * quotient);
    let quotient = 0.200_020_73 + x * (-0.166_678_52 + x * quotient);
    let quotient = 0.333_333_13 + x * (-0.250_000_12 + x * quotient);
    x * (x * x) * quotient
}

/// Returns the logarithm `log` of `x`, or the special value for zero, infinity, NaN and negative numbers.
#[inline(always)]
fn at_the_ends(x: f32, log: f32) -> f32 {
    let log = select(x < f32::INFINITY, log, f32::INFINITY);
    let log = select(x == 0.0, f32::NEG_INFINITY, log);
    select(x >= 0.0, log, f32::NAN)
}
