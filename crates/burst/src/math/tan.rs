//! Tangent.

use super::lane::{flip, magnitude, select};
use super::turn::wide;

/// Returns the tangent of an angle in radians.
///
/// # Accuracy
///
/// At most 0.51 ulp, for every angle of any size.
///
/// # Special values
///
/// ±0 yields ±0; ±infinity and NaN yield NaN. No `f32` is near enough to a pole to yield infinity.
///
/// # Examples
///
/// ```
/// use ancho_burst::math;
/// assert_eq!(math::tan(0.5), 0.546_302_5);
/// assert_eq!(math::tan(1e30), 1.293_586_1);
/// ```
#[inline(always)]
#[must_use]
pub fn tan(angle: f32) -> f32 {
    let size = magnitude(angle);
    let (quadrant, rest) = wide(size);
    // In `f64`, which the rest already has: three roundings of an `f32` quotient would make 2 ulp.
    let square = rest * rest;
    let sin = rest * sin_over_turns(square);
    let cos = cos_of_turns(square);
    let odd = quadrant & 1 != 0;
    let tan = (select(odd, -cos, sin) / select(odd, sin, cos)) as f32;
    select(size < f32::INFINITY, flip(tan, angle.to_bits()), f32::NAN)
}

/// Returns `sin(x * pi/2) / x` as a polynomial of `x^2`.
///
/// Fitted by Remez exchange for |x| <= 0.51. Relative error 2^-37.4.
#[inline(always)]
fn sin_over_turns(square: f64) -> f64 {
    let tail = -0.004_681_219_873_019_489_5 + square * 0.000_158_104_448_290_431;
    let tail = 0.079_692_576_217_700_28 + square * tail;
    1.570_796_326_786_169_3 + square * (-0.645_964_095_859_857_7 + square * tail)
}

/// Returns `cos(x * pi/2)` as a polynomial of `x^2`.
///
/// Fitted by Remez exchange for |x| <= 0.51. Relative error 2^-33.6.
#[inline(always)]
fn cos_of_turns(square: f64) -> f64 {
    let tail = -0.020_859_887_145_426_14 + square * 0.000_903_133_480_745_471_9;
    let tail = 0.253_669_189_600_693_5 + square * tail;
    1.0 + square * (-1.233_700_541_266_393_3 + square * tail)
}
