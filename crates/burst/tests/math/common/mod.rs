//! The functions of `math` beside references in `f64`, and the distance between the two.
#![allow(dead_code, reason = "each test file uses its own part")]

use ancho_burst::{dispatch, math};

/// A function of one argument, with its reference and bound.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unary {
    pub(crate) name: &'static str,
    /// The function over a slice, compiled for the level in use.
    pub(crate) ours: fn(&[f32], &mut [f32]),
    pub(crate) reference: fn(f64) -> f64,
    /// The largest documented error, in ulp.
    pub(crate) bound: f64,
}

/// A function of two arguments, with its reference and bound.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Binary {
    pub(crate) name: &'static str,
    pub(crate) ours: fn(&[f32], &[f32], &mut [f32]),
    pub(crate) reference: fn(f64, f64) -> f64,
    pub(crate) bound: f64,
}

macro_rules! unary {
    ($name:literal, $ours:expr, $reference:expr, $bound:literal) => {
        Unary {
            name: $name,
            ours: |inputs, outputs| {
                dispatch(
                    #[inline(always)]
                    || {
                        for (input, output) in inputs.iter().zip(outputs) {
                            *output = $ours(*input);
                        }
                    },
                );
            },
            reference: $reference,
            bound: $bound,
        }
    };
}

macro_rules! binary {
    ($name:literal, $ours:expr, $reference:expr, $bound:literal) => {
        Binary {
            name: $name,
            ours: |first, second, outputs| {
                dispatch(
                    #[inline(always)]
                    || {
                        for ((first, second), output) in first.iter().zip(second).zip(outputs) {
                            *output = $ours(*first, *second);
                        }
                    },
                );
            },
            reference: $reference,
            bound: $bound,
        }
    };
}

/// The references are the platform's functions for `f64`, whose argument is the `f32` exactly. With an error of about one part in
/// 2^53, they place a result to a billionth of an `f32` ulp. That holds for the sine of huge numbers in the libraries of GNU,
/// musl, Apple and Microsoft.
pub(crate) const UNARY: [Unary; 17] = [
    unary!("sin", math::sin, f64::sin, 1.55),
    unary!("cos", math::cos, f64::cos, 1.55),
    unary!("sincos_near.0", |x| math::sincos_near(x).0, |x| near(x).sin(), 1.45),
    unary!("sincos_near.1", |x| math::sincos_near(x).1, |x| near(x).cos(), 1.45),
    unary!("tan", math::tan, f64::tan, 0.51),
    unary!("asin", math::asin, f64::asin, 1.3),
    unary!("acos", math::acos, f64::acos, 1.1),
    unary!("atan", math::atan, f64::atan, 1.65),
    unary!("exp", math::exp, f64::exp, 1.0),
    unary!("exp2", math::exp2, f64::exp2, 1.0),
    unary!("ln", math::ln, f64::ln, 0.85),
    unary!("log2", math::log2, f64::log2, 0.85),
    unary!("sqrt", math::sqrt, f64::sqrt, 0.5),
    unary!("rsqrt", math::rsqrt, |x| 1.0 / x.sqrt(), 1.5),
    unary!("fract", math::fract, f64::fract, 0.0),
    unary!("pow(x, 0.7)", |x| math::pow(x, 0.7), |x| x.powf(f64::from(0.7_f32)), 0.55),
    unary!("rem(x, 0.7)", |x| math::rem(x, 0.7), |x| x % f64::from(0.7_f32), 0.0),
];

pub(crate) const BINARY: [Binary; 3] = [
    binary!("atan2", math::atan2, f64::atan2, 1.75),
    binary!("pow", math::pow, f64::powf, 0.55),
    binary!("rem", math::rem, |x, y| x % y, 0.0),
];

fn near(angle: f64) -> f64 {
    if angle.abs() <= 8192.0 { angle } else { f64::NAN }
}

/// Returns the distance of `ours` from the true value, in ulp of the true value.
///
/// Values without a distance are right or wrong: 0 or infinity. These are NaN, which must have the bits of `f32::NAN`, and the
/// signs of zeros and infinities.
pub(crate) fn error_in_ulp(ours: f32, truth: f64) -> f64 {
    if truth.is_nan() {
        return right(ours.to_bits() == f32::NAN.to_bits());
    }
    if truth == 0.0 || truth.is_infinite() {
        return right(ours.to_bits() == (truth as f32).to_bits());
    }
    if ours.is_nan() || ours.is_sign_negative() != truth.is_sign_negative() {
        return f64::INFINITY;
    }
    // Infinity counts as 2^128, the number after the largest.
    let ours = if ours.is_infinite() { 2_f64.powi(128) } else { f64::from(ours).abs() };
    let truth = truth.abs().min(2_f64.powi(128));
    // One ulp is 2^-23 of the power of two below, but never less than the smallest number.
    let exponent = ((truth.to_bits() >> 52) as i64 - 1023).clamp(-126, 127);
    let ulp = f64::from_bits(((exponent - 23 + 1023) as u64) << 52);
    (ours - truth).abs() / ulp
}

fn right(is_right: bool) -> f64 {
    if is_right { 0.0 } else { f64::INFINITY }
}
