//! Fractions and remainders.

use super::lane::{INTEGERS, ROUND_WIDE, flip, magnitude, one_nan, select};

/// Returns `x` without its integer part, and keeps the sign.
///
/// Equals `f32::fract`, bit by bit. Shader languages subtract the floor instead, so that -0.25 yields 0.75; here it yields -0.25.
///
/// # Accuracy
///
/// Exact.
///
/// # Special values
///
/// Integers and ±0 yield 0; ±infinity and NaN yield NaN.
///
/// # Examples
///
/// ```
/// use ancho_burst::math;
/// assert_eq!(math::fract(3.75), 0.75);
/// assert_eq!(math::fract(-3.75), -0.75);
/// ```
#[inline(always)]
#[must_use]
pub fn fract(x: f32) -> f32 {
    let size = magnitude(x);
    let rounded = (size + INTEGERS) - INTEGERS;
    let below = rounded - select(rounded > size, 1.0, 0.0);
    let whole = select(size < INTEGERS, below, size);
    one_nan(x - flip(whole, x.to_bits()))
}

/// Returns the remainder of `x` divided by `y`, with the sign of `x`.
///
/// Equals `x % y`, bit by bit; that is C's `fmod`.
///
/// # Accuracy
///
/// Exact for any two magnitudes.
///
/// # Special values
///
/// An infinite `y` yields `x`; an infinite `x`, a `y` of 0, and NaN in either place yield NaN.
///
/// # Examples
///
/// ```
/// use ancho_burst::math;
/// assert_eq!(math::rem(-7.5, 2.0), -1.5);
/// assert_eq!(math::rem(1e30, 0.7), 1e30 % 0.7);
/// ```
#[inline(always)]
#[must_use]
pub fn rem(x: f32, y: f32) -> f32 {
    let (size, divisor) = (magnitude(x), magnitude(y));
    let (x_bits, y_bits) = (f64::from(size).to_bits(), f64::from(divisor).to_bits());
    // Both as integers of 24 bits times a power of two; `f64` has no subnormal numbers here.
    let modulus = integer(y_bits);
    let inverse = 1.0 / modulus;
    let distance = (x_bits >> 52).wrapping_sub(y_bits >> 52);

    // Two to the power of `distance`, which is at most 276, modulo `modulus`. The upper bits of the power come first, then a
    // square, doubled if the next bit is set. Every product is exact.
    let power = f64::from_bits((distance >> 4).wrapping_add(1023) << 52);
    let power = modulo(power * power * one_or_two(distance >> 3), modulus, inverse);
    let power = modulo(power * power * one_or_two(distance >> 2), modulus, inverse);
    let power = modulo(power * power * one_or_two(distance >> 1), modulus, inverse);
    let power = modulo(power * power * one_or_two(distance), modulus, inverse);
    let rest = modulo(integer(x_bits) * power, modulus, inverse);
    let rest = rest + select(rest < 0.0, modulus, 0.0);
    let unit = f64::from_bits(y_bits & EXPONENT) * INTEGER_UNIT;

    let rem = select(size < divisor, size, (rest * unit) as f32);
    let defined = (size < f32::INFINITY) & (divisor > 0.0);
    select(defined, flip(rem, x.to_bits()), f32::NAN)
}

/// Returns a number congruent to `value`, at most a little more than half of `modulus` away from 0.
#[inline(always)]
fn modulo(value: f64, modulus: f64, inverse: f64) -> f64 {
    let quotient = (value * inverse + ROUND_WIDE) - ROUND_WIDE;
    value - quotient * modulus
}

/// Returns the mantissa of an `f32` in the bits of an `f64` as an integer of 24 bits.
#[inline(always)]
fn integer(bits: u64) -> f64 {
    f64::from_bits((bits & !EXPONENT) | ((1023 + 23) << 52))
}

/// Returns 2 if the lowest bit is set, or else 1.
#[inline(always)]
fn one_or_two(bits: u64) -> f64 {
    f64::from_bits(((bits & 1) + 1023) << 52)
}

/// The bits of the exponent of an `f64` without sign.
const EXPONENT: u64 = 0x7ff0_0000_0000_0000;

/// 2^-23.
const INTEGER_UNIT: f64 = 1.0 / 8_388_608.0;
