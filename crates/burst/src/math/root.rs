//! Square roots.

use super::lane::one_nan;

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
