//! Results of `math` for zeros, infinities, NaN and the edges of the domains.

use std::f32::consts::{FRAC_PI_2, FRAC_PI_4, PI};

use ancho_burst::math;

const INF: f32 = f32::INFINITY;
const NAN: f32 = f32::NAN;
/// The smallest number above 0.
const TINY: f32 = f32::from_bits(1);

/// Compares bits, so that signs of zeros and bits of NaN count.
#[track_caller]
fn check(function: fn(f32) -> f32, expected: &[(f32, f32)]) {
    for &(input, output) in expected {
        let ours = function(input);
        assert_eq!(ours.to_bits(), output.to_bits(), "at {input:e}: {ours:e}, not {output:e}");
    }
    for bits in [0x7fc0_0000, 0xffc0_0000, 0x7f80_0001, 0xff80_0001, 0x7fff_ffff, 0xffff_ffff] {
        assert_eq!(function(f32::from_bits(bits)).to_bits(), NAN.to_bits(), "at NaN {bits:x}");
    }
}

#[track_caller]
fn check_pairs(function: fn(f32, f32) -> f32, expected: &[(f32, f32, f32)]) {
    for &(first, second, output) in expected {
        let ours = function(first, second);
        let place = format!("at ({first:e}, {second:e}): {ours:e}, not {output:e}");
        assert_eq!(ours.to_bits(), output.to_bits(), "{place}");
    }
}

#[test]
fn trigonometry() {
    let odd = [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (TINY, TINY), (-TINY, -TINY)];
    check(math::sin, &odd);
    check(math::tan, &odd);
    check(math::cos, &[(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN), (TINY, 1.0)]);
    check(|x| math::sincos_near(x).0, &odd);
    check(|x| math::sincos_near(x).0, &[(8192.0, math::sin(8192.0)), (8192.001, NAN)]);
    check(|x| math::sincos_near(x).1, &[(-8192.0, math::cos(8192.0)), (-8192.001, NAN)]);
}

#[test]
fn arcs() {
    let above_one = 1.0 + f32::EPSILON;
    check(math::asin, &[(0.0, 0.0), (-0.0, -0.0), (1.0, FRAC_PI_2), (-1.0, -FRAC_PI_2)]);
    check(math::asin, &[(above_one, NAN), (-above_one, NAN), (INF, NAN), (-INF, NAN)]);
    check(math::acos, &[(1.0, 0.0), (-1.0, PI), (0.0, FRAC_PI_2), (-0.0, FRAC_PI_2)]);
    check(math::acos, &[(above_one, NAN), (-above_one, NAN), (INF, NAN), (-INF, NAN)]);
    check(math::atan, &[(0.0, 0.0), (-0.0, -0.0), (1.0, FRAC_PI_4), (-1.0, -FRAC_PI_4)]);
    check(math::atan, &[(INF, FRAC_PI_2), (-INF, -FRAC_PI_2), (TINY, TINY)]);
}

#[test]
fn exponentials() {
    check(math::exp, &[(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (TINY, 1.0)]);
    check(math::exp, &[(88.722_84, INF), (-103.972_1, 0.0), (f32::MAX, INF), (f32::MIN, 0.0)]);
    check(math::exp, &[(-103.972_08, TINY)]);
    check(math::exp2, &[(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (128.0, INF)]);
    check(math::exp2, &[(-149.0, TINY), (-150.0, 0.0), (-149.999, TINY), (f32::MIN, 0.0)]);
    for exponent in -126..128 {
        let power = f32::from_bits(((exponent + 127) as u32) << 23);
        check(math::exp2, &[(exponent as f32, power)]);
        check(math::log2, &[(power, exponent as f32)]);
    }
}

#[test]
fn logarithms() {
    for log in [math::ln, math::log2] {
        check(log, &[(1.0, 0.0), (0.0, -INF), (-0.0, -INF), (INF, INF)]);
        check(log, &[(-TINY, NAN), (-1.0, NAN), (-INF, NAN)]);
    }
    check(math::log2, &[(TINY, -149.0)]);
}

#[test]
fn roots() {
    check(math::sqrt, &[(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, NAN), (-TINY, NAN)]);
    check(math::rsqrt, &[(0.0, INF), (-0.0, -INF), (INF, 0.0), (-INF, NAN), (-TINY, NAN)]);
    check(math::rsqrt, &[(4.0, 0.5), (0.25, 2.0)]);
}

#[test]
fn fractions() {
    check(math::fract, &[(0.0, 0.0), (-0.0, 0.0), (-2.0, 0.0), (INF, NAN), (-INF, NAN)]);
    check(math::fract, &[(-0.25, -0.25), (8_388_607.5, 0.5), (8_388_609.0, 0.0), (TINY, TINY)]);
}

/// The list of C99, annex F.9.1.4.
#[test]
fn atan2() {
    let three_quarters = 3.0 * FRAC_PI_4;
    for y in [TINY, 1.0, f32::MAX] {
        for x in [0.0, -0.0] {
            check_pairs(math::atan2, &[(y, x, FRAC_PI_2), (-y, x, -FRAC_PI_2)]);
        }
        check_pairs(math::atan2, &[(0.0, y, 0.0), (-0.0, y, -0.0), (0.0, -y, PI), (-0.0, -y, -PI)]);
        check_pairs(math::atan2, &[(y, -INF, PI), (-y, -INF, -PI), (y, INF, 0.0), (-y, INF, -0.0)]);
        check_pairs(math::atan2, &[(INF, y, FRAC_PI_2), (-INF, y, -FRAC_PI_2)]);
        check_pairs(math::atan2, &[(y, NAN, NAN), (NAN, y, NAN)]);
    }
    check_pairs(math::atan2, &[(0.0, -0.0, PI), (-0.0, -0.0, -PI), (0.0, 0.0, 0.0)]);
    check_pairs(math::atan2, &[(-0.0, 0.0, -0.0), (NAN, INF, NAN), (INF, NAN, NAN)]);
    check_pairs(math::atan2, &[(INF, -INF, three_quarters), (-INF, -INF, -three_quarters)]);
    check_pairs(math::atan2, &[(INF, INF, FRAC_PI_4), (-INF, INF, -FRAC_PI_4)]);
}

/// The list of C99, annex F.9.4.4.
#[test]
fn pow() {
    let even_and_odd = [(1.0, true), (3.0, true), (16_777_215.0, true), (8_388_609.0, true)];
    let others = [(2.0, false), (0.5, false), (16_777_216.0, false), (1e30, false), (INF, false)];
    for (y, odd) in even_and_odd.into_iter().chain(others) {
        let signed = |value: f32| if odd { -value } else { value };
        check_pairs(math::pow, &[(0.0, y, 0.0), (0.0, -y, INF)]);
        check_pairs(math::pow, &[(-0.0, y, signed(0.0)), (-0.0, -y, signed(INF))]);
        check_pairs(math::pow, &[(INF, y, INF), (INF, -y, 0.0)]);
        check_pairs(math::pow, &[(-INF, y, signed(INF)), (-INF, -y, signed(0.0))]);
    }
    for any in [0.0, -0.0, TINY, 1.0, -1.0, 2.5, -7.0, INF, -INF, NAN] {
        check_pairs(math::pow, &[(any, 0.0, 1.0), (any, -0.0, 1.0), (1.0, any, 1.0)]);
    }
    check_pairs(math::pow, &[(-1.0, INF, 1.0), (-1.0, -INF, 1.0)]);
    check_pairs(
        math::pow,
        &[(0.5, INF, 0.0), (-0.5, -INF, INF), (2.0, INF, INF), (-2.0, -INF, 0.0)],
    );
    check_pairs(math::pow, &[(-2.0, 0.5, NAN), (-2.0, 1e-30, NAN), (-TINY, 2.5, NAN)]);
    check_pairs(math::pow, &[(-2.0, 3.0, -8.0), (-2.0, 2.0, 4.0), (-2.0, -1.0, -0.5)]);
    check_pairs(math::pow, &[(NAN, 1.0, NAN), (2.0, NAN, NAN), (0.0, NAN, NAN), (NAN, INF, NAN)]);
    check_pairs(math::pow, &[(2.0, 128.0, INF), (2.0, -149.0, TINY), (2.0, -151.0, 0.0)]);
}

#[test]
fn rem() {
    check_pairs(math::rem, &[(0.0, 1.0, 0.0), (-0.0, 1.0, -0.0), (-6.0, 3.0, -0.0)]);
    check_pairs(math::rem, &[(5.5, INF, 5.5), (-5.5, -INF, -5.5), (INF, 2.0, NAN)]);
    check_pairs(math::rem, &[(1.0, 0.0, NAN), (0.0, -0.0, NAN), (INF, INF, NAN), (NAN, 1.0, NAN)]);
    check_pairs(math::rem, &[(1.0, NAN, NAN), (-INF, NAN, NAN), (INF, NAN, NAN)]);
    check_pairs(math::rem, &[(f32::MAX, TINY, 0.0), (TINY, f32::MAX, TINY)]);
    check_pairs(math::rem, &[(f32::MAX, 3.0 * TINY, f32::MAX % (3.0 * TINY))]);
}
