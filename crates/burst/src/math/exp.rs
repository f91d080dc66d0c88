//! Exponential functions.

use std::f32::consts::{LN_2, LOG2_E};

use super::lane::{ROUND, one_nan, power_of_two, select};

/// Returns e to the power of `x`.
///
/// # Accuracy
///
/// At most 1 ulp, subnormal results included.
///
/// # Special values
///
/// Overflows to infinity above 88.722 8, underflows to 0 below -103.972; infinity yields infinity,
/// -infinity yields 0, NaN yields NaN.
///
/// # Examples
///
/// ```
/// use ancho_burst::math;
/// assert_eq!(math::exp(1.0), 2.718_281_7);
/// assert_eq!(math::exp(f32::NEG_INFINITY), 0.0);
/// ```
#[inline(always)]
#[must_use]
pub fn exp(x: f32) -> f32 {
    let x = select(x > 89.0, 89.0, x);
    let x = select(x < -104.5, -104.5, x);
    let rounded = x * LOG2_E + ROUND;
    let count = rounded - ROUND;
    // ln(2) in two parts. The first has 9 bits, so that its product and the difference are exact.
    let rest = (x - count * 0.693_359_4) - count * -0.000_212_194_44;
    scale(near_one(rest), rounded)
}

/// Returns 2 to the power of `x`.
///
/// # Accuracy
///
/// At most 1 ulp, subnormal results included; exact for integers.
///
/// # Special values
///
/// Overflows to infinity from 128 on, underflows to 0 from -150 down; infinity yields infinity,
/// -infinity yields 0, NaN yields NaN.
///
/// # Examples
///
/// ```
/// use ancho_burst::math;
/// assert_eq!(math::exp2(-3.0), 0.125);
/// assert_eq!(math::exp2(0.5), 1.414_213_5);
/// ```
#[inline(always)]
#[must_use]
pub fn exp2(x: f32) -> f32 {
    let x = select(x > 129.0, 129.0, x);
    let x = select(x < -151.0, -151.0, x);
    let rounded = x + ROUND;
    let rest = x - (rounded - ROUND);
    scale(near_one(rest * LN_2), rounded)
}

/// Returns e to the power of `x`, at most ln(2) / 2 in magnitude.
///
/// Fitted by Remez exchange, with fixed coefficients of 1 and x. The others were rounded to `f32` one by one, and the rest of
/// them fitted again. Relative error 2^-28.2.
#[inline(always)]
fn near_one(x: f32) -> f32 {
    let tail = 0.041_668_262 + x * (0.008_368_677 + x * 0.001_382_108_2);
    let tail = 0.499_999_94 + x * (0.166_665_21 + x * tail);
    1.0 + (x + x * x * tail)
}

/// Multiplies by two to the power of the integer in the low bits of `rounded`.
#[inline(always)]
fn scale(value: f32, rounded: f32) -> f32 {
    let exponent = rounded.to_bits().wrapping_sub(ROUND.to_bits()) as i32;
    // Two factors, since one cannot hold the exponents of subnormal results. The first product is exact.
    let half = exponent >> 1;
    one_nan(value * power_of_two(half) * power_of_two(exponent.wrapping_sub(half)))
}
