//! Powers and square roots.

use super::lane::{INTEGERS, ROUND_WIDE, flip, magnitude, one_nan, select, split};

/// Returns `x` to the power of `y`.
///
/// # Accuracy
///
/// At most 0.55 ulp, subnormal results included.
///
/// # Special values
///
/// As in C. `pow(x, 0.0)` and `pow(1.0, y)` are 1, even for NaN. A negative `x` yields NaN unless `y` is an integer, and keeps its
/// sign if that is odd. Zeros and infinities yield the limits, with the sign of `x` if `y` is an odd integer.
/// `pow(-1.0, ±infinity)` is 1.
///
/// # Examples
///
/// ```
/// use ancho_burst::math;
/// assert_eq!(math::pow(2.0, 0.5), 1.414_213_5);
/// assert_eq!(math::pow(-2.0, 3.0), -8.0);
/// assert!(math::pow(-2.0, 0.5).is_nan());
/// ```
#[inline(always)]
#[must_use]
pub fn pow(x: f32, y: f32) -> f32 {
    let size = magnitude(x);
    let power = exp2_wide(f64::from(y) * log2_wide(size));

    let (integer, odd) = parity(magnitude(y));
    let power = flip(power, select(odd, x.to_bits(), 0));
    let undefined = (x < 0.0) & (size < f32::INFINITY) & !integer;
    let power = select(undefined | x.is_nan() | y.is_nan(), f32::NAN, power);
    let one = (y == 0.0) | (x == 1.0) | ((size == 1.0) & (magnitude(y) == f32::INFINITY));
    select(one, 1.0, power)
}

/// Returns the logarithm to base 2, correct to 38 bits.
///
/// The result is an `f64`, because an error in the logarithm counts up to 150 times as much in the power, and pairs of `f32`
/// would take more instructions.
#[inline(always)]
fn log2_wide(size: f32) -> f64 {
    let (exponent, mantissa) = split(size);
    let mantissa = f64::from(mantissa);
    let ratio = (mantissa - 1.0) / (mantissa + 1.0);
    let square = ratio * ratio;
    // `log2((1 + x) / (1 - x)) / x` in `x^2`, fitted by Remez exchange for |x| <= 0.172. Relative
    // error 2^-37.8.
    let tail = 0.411_672_820_885_473_25 + square * 0.340_728_109_219_367_3;
    let tail = 0.577_083_583_387_201_1 + square * tail;
    let tail = 2.885_390_081_790_082 + square * (0.961_796_673_349_206_7 + square * tail);
    let log = f64::from(exponent) + ratio * tail;
    let log = select(size == 0.0, f64::NEG_INFINITY, log);
    select(size == f32::INFINITY, f64::INFINITY, log)
}

/// Returns two to the power of `x`; overflow and subnormal results come from rounding to `f32`.
#[inline(always)]
fn exp2_wide(x: f64) -> f32 {
    let x = select(x > 160.0, 160.0, x);
    let x = select(x < -160.0, -160.0, x);
    let rounded = x + ROUND_WIDE;
    let rest = x - (rounded - ROUND_WIDE);
    // Fitted by Remez exchange for |x| <= 1/2, the first coefficient fixed. Relative error 2^-28.5.
    let tail = 0.001_340_664_430_491_865 + rest * 0.000_155_946_923_290_272_92;
    let tail = 0.055_503_105_497_145_11 + rest * (0.009_617_692_921_271_77 + rest * tail);
    let tail = 0.693_147_214_968_836_9 + rest * (0.240_226_527_833_150_46 + rest * tail);
    // The integer is in the low bits. The shift leaves only them.
    let scale = f64::from_bits(rounded.to_bits().wrapping_add(1023) << 52);
    ((1.0 + rest * tail) * scale) as f32
}

/// Returns whether a non-negative number is an integer, and whether it is odd.
#[inline(always)]
fn parity(size: f32) -> (bool, bool) {
    let rounded = size + INTEGERS;
    let small = size < INTEGERS;
    let integer = !small | (rounded - INTEGERS == size);
    // Up to 2^24 the lowest bit is the unit. Larger numbers are even.
    let lowest = select(small, rounded.to_bits(), size.to_bits()) & 1 != 0;
    (integer, integer & lowest & (size < 2.0 * INTEGERS))
}

/// Returns the square root of `x`.
///
/// # Accuracy
///
/// Correctly rounded.
///
/// # Special values
///
/// ±0 yields ±0, infinity yields infinity; numbers below 0 and NaN yield NaN.
///
/// # Examples
///
/// ```
/// use ancho_burst::math;
/// assert_eq!(math::sqrt(2.0), 1.414_213_5);
/// assert!(math::sqrt(-1.0).is_nan());
/// ```
#[inline(always)]
#[must_use]
pub fn sqrt(x: f32) -> f32 {
    one_nan(x.sqrt())
}

/// Returns one divided by the square root of `x`.
///
/// Uses a root and a division, both correctly rounded. Never uses the CPU's estimate, which differs between vendors.
///
/// # Accuracy
///
/// At most 1.5 ulp.
///
/// # Special values
///
/// ±0 yields ±infinity, infinity yields 0; numbers below 0 and NaN yield NaN.
///
/// # Examples
///
/// ```
/// use ancho_burst::math;
/// assert_eq!(math::rsqrt(4.0), 0.5);
/// assert_eq!(math::rsqrt(f32::INFINITY), 0.0);
/// ```
#[inline(always)]
#[must_use]
pub fn rsqrt(x: f32) -> f32 {
    one_nan(1.0 / x.sqrt())
}
