//! Reduction of angles to the nearest quarter turn.

use std::f32::consts::FRAC_2_PI;
use std::f64::consts::FRAC_PI_2;

use super::lane::{ROUND, ROUND_WIDE, select};

/// The largest angle that [`Turn::near`] supports.
pub(super) const NEAR: f32 = 8192.0;

/// An angle as a number of quarter turns and a rest in radians, at most 0.8 in magnitude.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    /// Only the lowest two bits are defined.
    pub(super) quadrant: u32,
    pub(super) rest: f32,
    /// The rounding error of the rest: the rest is too large by this much.
    pub(super) excess: f32,
}

impl Turn {
    /// Splits a non-negative angle of any size.
    #[inline(always)]
    pub(super) fn of(angle: f32) -> Self {
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
    pub(super) fn near(angle: f32) -> Self {
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
/// From there, the first 29 bits and the next 29 each yield a product that is exact in `f64`, as 24 + 29 = 53. 53 more bits yield
/// the rest of the rest. The error is below 2^-51, and far below for most. No `f32` comes closer than 2^-29.2 to a quarter turn,
/// and none that has the large error closer than 2^-27.3.
///
/// In `f64`, because no method with 32-bit lanes was shorter: it takes 88 bits of 2/pi to get 24 right.
#[inline(always)]
pub(super) fn wide(angle: f32) -> (u32, f64) {
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

/// Rounds to multiples of 512 quarter turns, which are whole turns, up to 2^60.
const ROUND_TO_512: f64 = 3_458_764_513_820_540_928.0; // 1.5 * 2^61

/// The starts of the second and the third window: 2^60 and 2^94.
const STARTS: [f64; 2] = [1_152_921_504_606_846_976.0, 19_807_040_628_566_084_398_385_987_584.0];

/// 29 bits of 2/pi: from the first, the 36th and the 70th bit after the point.
const HIGH: [f64; 3] =
    [0.636_619_770_899_415, 1.297_480_401_113_784_7e-11, 8.795_767_507_223_637e-22];

/// The 29 bits after those.
const MIDDLE: [f64; 3] =
    [1.468_166_324_625_208_6e-9, 5.339_561_945_840_088e-20, 2.623_283_410_413_684e-30];

/// The 53 bits after those.
const LOW: [f64; 3] =
    [2.276_010_073_078_396e-18, 2.471_138_875_912_043e-29, 2.518_417_383_340_949_5e-39];
