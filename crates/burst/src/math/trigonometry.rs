//! Sine, cosine and tangent.

use std::f32::consts::FRAC_2_PI;
use std::f64::consts::FRAC_PI_2;

use super::lane::{ROUND, ROUND_WIDE, flip, magnitude, select};

/// Returns the sine of an angle in radians.
///
/// Takes nearly as long as [`sincos`]. For angles up to 8192, [`sincos_near`] is faster.
///
/// # Accuracy
///
/// At most 1.55 ulp, for every angle of any size.
///
/// # Special values
///
/// ±0 yields ±0; ±infinity and NaN yield NaN.
///
/// # Examples
///
/// ```
/// use ancho_burst::math;
/// assert_eq!(math::sin(0.5), 0.479_425_55);
/// assert_eq!(math::sin(1e30), -0.791_163_44);
/// ```
#[inline(always)]
#[must_use]
pub fn sin(angle: f32) -> f32 {
    sincos(angle).0
}

/// Returns the cosine of an angle in radians.
///
/// Takes nearly as long as [`sincos`]. For angles up to 8192, [`sincos_near`] is faster.
///
/// # Accuracy
///
/// At most 1.55 ulp, for every angle of any size.
///
/// # Special values
///
/// ±infinity and NaN yield NaN.
///
/// # Examples
///
/// ```
/// use ancho_burst::math;
/// assert_eq!(math::cos(0.5), 0.877_582_55);
/// assert_eq!(math::cos(0.0), 1.0);
/// ```
#[inline(always)]
#[must_use]
pub fn cos(angle: f32) -> f32 {
    sincos(angle).1
}

/// Returns the sine and the cosine of an angle in radians.
///
/// More than half of the time is spent on the support of angles beyond 8192 radians, even if there are no such angles. Use
/// [`sincos_near`] for angles up to 8192, and [`sincos_slice`] if larger ones are rare.
///
/// # Accuracy
///
/// At most 1.55 ulp each, for every angle of any size.
///
/// # Special values
///
/// The sine of ±0 is ±0; ±infinity and NaN yield NaN twice.
///
/// # Examples
///
/// ```
/// use ancho_burst::math;
/// let angles = [0.0_f32, 0.5, -1e9];
/// let lengths = ancho_burst::dispatch(|| angles.map(|angle| {
///     let (sin, cos) = math::sincos(angle);
///     sin * sin + cos * cos
/// }));
/// assert!(lengths.iter().all(|length| (length - 1.0).abs() < 1e-6));
/// ```
#[inline(always)]
#[must_use]
pub fn sincos(angle: f32) -> (f32, f32) {
    let size = magnitude(angle);
    of_turn(Turn::of(size), angle.to_bits(), size < f32::INFINITY)
}

/// Returns the sine and the cosine of an angle from -8192 to 8192 radians.
///
/// Returns the same bits as [`sincos`], in less than half the time.
///
/// # Accuracy
///
/// At most 1.45 ulp each.
///
/// # Special values
///
/// The sine of ±0 is ±0; angles out of range and NaN yield NaN twice.
///
/// # Examples
///
/// ```
/// use ancho_burst::math;
/// assert_eq!(math::sincos_near(0.5), math::sincos(0.5));
/// assert!(math::sincos_near(8193.0).0.is_nan());
/// ```
#[inline(always)]
#[must_use]
pub fn sincos_near(angle: f32) -> (f32, f32) {
    of_turn(Turn::near(angle), 0, magnitude(angle) <= NEAR)
}

/// Writes the sine and the cosine of each of many angles in radians.
///
/// The results have the same bits as those of [`sincos`]. Blocks without large angles take no longer than with [`sincos_near`].
/// The shortest of the three slices determines the number of results.
///
/// # Examples
///
/// ```
/// use ancho_burst::math;
/// let angles = [0.5, 1e30];
/// let (mut sines, mut cosines) = ([0.0; 2], [0.0; 2]);
/// ancho_burst::dispatch(|| math::sincos_slice(&angles, &mut sines, &mut cosines));
/// assert_eq!((sines[1], cosines[1]), math::sincos(1e30));
/// ```
#[inline(always)]
pub fn sincos_slice(angles: &[f32], sines: &mut [f32], cosines: &mut [f32]) {
    let sines = sines.chunks_mut(BLOCK);
    let cosines = cosines.chunks_mut(BLOCK);
    for ((angles, sines), cosines) in angles.chunks(BLOCK).zip(sines).zip(cosines) {
        // Magnitudes compare as their bits do, and NaN is the largest.
        let sizes = angles.iter().map(|&angle| magnitude(angle).to_bits() as i32);
        if sizes.fold(0, Ord::max) <= NEAR.to_bits() as i32 {
            for ((angle, sin), cos) in angles.iter().zip(sines).zip(cosines) {
                (*sin, *cos) = sincos_near(*angle);
            }
        } else {
            for ((angle, sin), cos) in angles.iter().zip(sines).zip(cosines) {
                (*sin, *cos) = sincos(*angle);
            }
        }
    }
}

/// Number of angles in a block: long enough to amortise the test for large angles, short enough to stay in the cache.
const BLOCK: usize = 512;

/// Returns the sine and the cosine of a turn: evaluates both at the rest, rotates the result by the quadrant, and applies a sign
/// bit to the sine.
///
/// A loop around this is bound by latency, not by throughput: an iteration is longer than a CPU's look-ahead. The polynomials are
/// therefore arranged for a short path from the rest to the result (fourth powers on the side, small terms first). The rest keeps
/// the sign of a near angle, which saves removing and restoring it. The cosine ignores the excess: another product and sum would
/// reduce 1.44 ulp to 1.02, and take about 3 % longer.
#[inline(always)]
fn of_turn(turn: Turn, sign: u32, defined: bool) -> (f32, f32) {
    let Turn { quadrant, rest, excess } = turn;
    let square = rest * rest;
    let fourth = square * square;
    // A difference, so that -0 stays -0.
    let rest_sin = rest - (rest * square * sin_tail(square, fourth) + excess);
    let rest_cos = 1.0 - (square * 0.5 - fourth * cos_tail(square, fourth));

    let odd = quadrant & 1 != 0;
    let sin = flip(select(odd, rest_cos, rest_sin), (quadrant << 30) ^ sign);
    let cos = flip(select(odd, rest_sin, rest_cos), quadrant.wrapping_add(1) << 30);
    (select(defined, sin, f32::NAN), select(defined, cos, f32::NAN))
}

/// Returns `(x - sin(x)) / x^3` as a polynomial of `x^2`, given `x^4`.
///
/// Fitted by Remez exchange for |x| <= 0.8 and the error of the sine. The error has four times the weight where the sine is just
/// below 0.5 and its ulp is half that of `x`. Coefficients were rounded to `f32` one by one, and the others fitted again.
/// Relative error 2^-28.7 below 0.53, 2^-26.7 above.
#[inline(always)]
fn sin_tail(square: f32, fourth: f32) -> f32 {
    (0.166_666_58 - square * 0.008_332_382) + fourth * 0.000_195_410_06
}

/// Returns `(cos(x) - 1 + x^2 / 2) / x^4` as a polynomial of `x^2`, given `x^4`.
///
/// Fitted by Remez exchange for |x| <= 0.8, without weights. Relative error of the cosine 2^-32.6.
#[inline(always)]
fn cos_tail(square: f32, fourth: f32) -> f32 {
    (0.041_666_64 - square * 0.001_388_713) + fourth * 2.441_208_6e-5
}

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

/// The largest angle that [`Turn::near`] supports.
const NEAR: f32 = 8192.0;

/// An angle as a number of quarter turns and a rest in radians, at most 0.8 in magnitude.
#[derive(Clone, Copy, Debug)]
struct Turn {
    /// The number of quarter turns. Only the lowest two bits are defined.
    quadrant: u32,
    rest: f32,
    /// The rounding error of the rest: the rest is too large by this much.
    excess: f32,
}

impl Turn {
    /// Splits a non-negative angle of any size.
    #[inline(always)]
    fn of(angle: f32) -> Self {
        let is_near = angle <= NEAR;
        let near = Self::near(angle);
        let (quadrant, rest) = wide(angle);
        Self {
            quadrant: select(is_near, near.quadrant, quadrant),
            rest: select(is_near, near.rest, (rest * FRAC_PI_2) as f32),
            excess: select(is_near, near.excess, 0.0),
        }
    }

    /// Splits an angle from -[`NEAR`] to [`NEAR`]. The rest of the opposite angle is the opposite rest.
    ///
    /// The method of Cody and Waite. It splits pi/2 into three parts of 11 bits and a fourth part that makes the error 2^-63. The
    /// products of the three parts with a count of quarter turns below 2^13 are exact. The first two differences are exact too.
    /// The rounding error of the third is kept.
    #[inline(always)]
    fn near(angle: f32) -> Self {
        let rounded = angle * FRAC_2_PI + ROUND;
        let count = rounded - ROUND;
        let exact = (angle - count * 1.570_312_5) - count * 0.000_483_751_3;
        let third = count * 7.549_533_6e-8;
        let rest = exact - third;
        let excess = count * 2.563_344e-12 - ((exact - rest) - third);
        Self { quadrant: rounded.to_bits(), rest, excess }
    }
}

/// Splits a non-negative angle of any size into quarter turns and a rest of them, at most 0.51 in magnitude.
///
/// The method of Payne and Hanek, in floating point. The quarter turns are the angle times 2/pi. Bits of 2/pi whose product with
/// the lowest bit of the angle is a multiple of four quarter turns cannot matter, so a large angle starts further down in 2/pi.
/// From there, the first 29 bits and the next 29 each yield a product that is exact in `f64`, as 24 + 29 = 53. The next 53 bits
/// yield the remaining part of the rest. The error is below 2^-51, and far below for most angles. No `f32` comes closer than
/// 2^-29.2 to a quarter turn, and none that has the large error closer than 2^-27.3.
///
/// The arithmetic is in `f64`, because no method with 32-bit lanes was shorter: it takes 88 bits of 2/pi to get 24 right.
#[inline(always)]
fn wide(angle: f32) -> (u32, f64) {
    let angle = f64::from(angle);
    let second_window = angle >= STARTS[0];
    let third_window = angle >= STARTS[1];
    let high = select(third_window, HIGH[2], select(second_window, HIGH[1], HIGH[0]));
    let middle = select(third_window, MIDDLE[2], select(second_window, MIDDLE[1], MIDDLE[0]));
    let low = select(third_window, LOW[2], select(second_window, LOW[1], LOW[0]));

    let first = angle * high;
    let first = first - ((first + ROUND_TO_512) - ROUND_TO_512);
    let second = angle * middle;
    let third = angle * low;
    let rounded = (first + (second + third)) + ROUND_WIDE;
    // In this order the first two operations are exact, and the last is exact wherever it is small.
    let rest = ((first - (rounded - ROUND_WIDE)) + second) + third;
    (rounded.to_bits() as u32, rest)
}

/// Adding and subtracting this rounds to multiples of 512 quarter turns, which are whole turns, up to 2^60.
const ROUND_TO_512: f64 = 3_458_764_513_820_540_928.0; // 1.5 * 2^61

/// The starts of the second and the third window: 2^60 and 2^94.
const STARTS: [f64; 2] = [1_152_921_504_606_846_976.0, 19_807_040_628_566_084_398_385_987_584.0];

/// 29 bits of 2/pi for each window: from the first, the 36th and the 70th bit after the point.
const HIGH: [f64; 3] =
    [0.636_619_770_899_415, 1.297_480_401_113_784_7e-11, 8.795_767_507_223_637e-22];

/// The 29 bits of 2/pi after [`HIGH`], for each window.
const MIDDLE: [f64; 3] =
    [1.468_166_324_625_208_6e-9, 5.339_561_945_840_088e-20, 2.623_283_410_413_684e-30];

/// The 53 bits of 2/pi after [`MIDDLE`], for each window.
const LOW: [f64; 3] =
    [2.276_010_073_078_396e-18, 2.471_138_875_912_043e-29, 2.518_417_383_340_949_5e-39];
