//! Every function of `math` is within its documented error, on samples.
//!
//! `cargo xtask math` does the same with all arguments.

use crate::common;

use common::{BINARY, UNARY, error_in_ulp};

/// Returns both signs of every exponent, including those of zero, infinity and NaN, with a thousand mantissas. The mantissas are
/// the ends, and steps in between that share no factor with powers of two.
fn samples() -> Vec<f32> {
    let mantissas: Vec<u32> =
        (0..1021).map(|step| step * 8_209).chain([1, 2, 0x7f_fffe, 0x7f_ffff]).collect();
    let mut samples = Vec::with_capacity(512 * mantissas.len());
    for head in 0..512_u32 {
        samples.extend(mantissas.iter().map(|mantissa| f32::from_bits((head << 23) | mantissa)));
    }
    samples
}

/// Returns numbers of any size, from a linear congruence.
fn random_numbers(seed: u64, count: usize) -> Vec<f32> {
    let mut state = seed;
    let step = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        f32::from_bits((state >> 32) as u32)
    };
    (0..count).map(step).collect()
}

/// Returns numbers with exponents between -8 and 7, like most numbers in programs.
fn moderate_numbers(seed: u64, count: usize) -> Vec<f32> {
    let moderate = |number: f32| {
        let bits = number.to_bits();
        f32::from_bits((bits & 0x807f_ffff) | (((bits >> 23 & 15) + 127 - 8) << 23))
    };
    random_numbers(seed, count).into_iter().map(moderate).collect()
}

#[test]
fn functions_of_one_argument_keep_their_bound() {
    let inputs = samples();
    let mut outputs = vec![0.0; inputs.len()];
    for case in UNARY {
        (case.ours)(&inputs, &mut outputs);
        for (&input, &output) in inputs.iter().zip(&outputs) {
            let truth = (case.reference)(f64::from(input));
            let error = error_in_ulp(output, truth);
            assert!(
                error <= case.bound,
                "{}({input:e}) is {output:e}, {error} ulp from {truth:e}",
                case.name
            );
        }
    }
}

#[test]
fn functions_of_two_arguments_keep_their_bound() {
    const COUNT: usize = 1 << 17;
    let pairs = [
        (random_numbers(1, COUNT), random_numbers(2, COUNT)),
        (moderate_numbers(3, COUNT), moderate_numbers(4, COUNT)),
        (random_numbers(5, COUNT), moderate_numbers(6, COUNT)),
        (moderate_numbers(7, COUNT), random_numbers(8, COUNT)),
    ];
    let mut outputs = vec![0.0; COUNT];
    for case in BINARY {
        for (first, second) in &pairs {
            (case.ours)(first, second, &mut outputs);
            for ((&first, &second), &output) in first.iter().zip(second).zip(&outputs) {
                let truth = (case.reference)(f64::from(first), f64::from(second));
                let error = error_in_ulp(output, truth);
                assert!(
                    error <= case.bound,
                    "{}({first:e}, {second:e}) is {output:e}, {error} ulp from {truth:e}",
                    case.name
                );
            }
        }
    }
}

/// The two finite `f32` that are nearest to a quarter turn.
#[test]
fn angles_next_to_a_quarter_turn_keep_their_bound() {
    for bits in [0x6f79_be45, 0x50a3_e87f] {
        let angle = f32::from_bits(bits);
        let (sin, cos) = f64::from(angle).sin_cos();
        assert!(sin.abs().min(cos.abs()) < 1e-8, "this is not the angle");
        let (our_sin, our_cos) = ancho_burst::math::sincos(angle);
        assert!(error_in_ulp(our_sin, sin) <= 1.55 && error_in_ulp(our_cos, cos) <= 1.55);
    }
}
