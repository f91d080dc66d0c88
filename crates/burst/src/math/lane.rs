//! Operations on one lane of a vector: selection without branches, and work on the bits.

/// The bit of the sign.
pub(super) const SIGN: u32 = 0x8000_0000;

/// The bits of infinity. Larger bits are NaNs.
const INFINITY: u32 = 0x7f80_0000;

/// Adding and subtracting this rounds an `f32` below 2^22 to the nearest integer, ties to even. Before the subtraction, the
/// integer is in the low bits of the sum. `round` and `trunc` would be calls at the baseline level, which has no instruction for
/// them.
pub(super) const ROUND: f32 = 12_582_912.0; // 1.5 * 2^23

/// 2^23, from which on every `f32` is an integer. Adding and subtracting it rounds a smaller number that is not negative.
pub(super) const INTEGERS: f32 = 8_388_608.0;

/// Adding and subtracting this rounds an `f64` below 2^51.
pub(super) const ROUND_WIDE: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52

/// Selects one of two computed values, without a branch.
#[inline(always)]
pub(super) fn select<T>(condition: bool, yes: T, no: T) -> T {
    if condition { yes } else { no }
}

/// Gives every NaN the same bits.
///
/// The NaN that an instruction propagates, and the sign of a new one, differ between CPUs and between ways to compile one
/// expression. The test compares integers because the compiler understands `is_nan`, and reduces
/// `if root.is_nan() { NAN } else { root }` to the plain square root.
#[inline(always)]
pub(super) fn one_nan(value: f32) -> f32 {
    select(magnitude(value).to_bits() > INFINITY, f32::NAN, value)
}

/// Returns `value` without its sign. Equals `f32::abs`, but is guaranteed to be one instruction.
#[inline(always)]
pub(super) fn magnitude(value: f32) -> f32 {
    f32::from_bits(value.to_bits() & !SIGN)
}

/// Negates `value` if the sign bit of `sign` is set.
#[inline(always)]
pub(super) fn flip(value: f32, sign: u32) -> f32 {
    f32::from_bits(value.to_bits() ^ (sign & SIGN))
}

/// Returns two to the power of `exponent`, which must be that of a normal number.
#[inline(always)]
pub(super) fn power_of_two(exponent: i32) -> f32 {
    f32::from_bits((exponent.wrapping_add(127) as u32) << 23)
}

/// Splits a positive finite number into an exponent and a mantissa from sqrt(1/2) to sqrt(2).
///
/// Other numbers yield an unspecified exponent and mantissa.
#[inline(always)]
pub(super) fn split(value: f32) -> (i32, f32) {
    let subnormal = value < f32::MIN_POSITIVE;
    let scaled = select(subnormal, value * INTEGERS, value);
    let above_root = scaled.to_bits().wrapping_sub(SQRT_HALF);
    let exponent = (above_root as i32 >> 23) - select(subnormal, 23, 0);
    (exponent, f32::from_bits((above_root & 0x007f_ffff) + SQRT_HALF))
}

/// The bits of sqrt(1/2).
const SQRT_HALF: u32 = 0x3f35_04f3;
