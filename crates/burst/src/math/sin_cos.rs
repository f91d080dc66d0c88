//! Sine and cosine.

use super::lane::{flip, magnitude, select};
use super::turn::{NEAR, Turn};

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
/// The same bits as [`sincos`], in less than half the time.
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
/// The same bits as [`sincos`]. Blocks without large angles take no longer than with [`sincos_near`]. The shortest of the three
/// slices determines the number of results.
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

/// Evaluates both functions at the rest, rotates the result by the quadrant, and applies the bit of a sign to the sine.
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
