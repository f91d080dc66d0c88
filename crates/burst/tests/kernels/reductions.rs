//! Sums, dot products, smallest and largest numbers.

use ancho_burst::math::{self, FloatMode};

fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(|index| ((index * 37) % 101) as f32 * 0.37 - 12.5).collect()
}

/// Sums in the order that `FloatMode::Fast` documents, with the simplest code.
fn in_lanes(values: &[f32]) -> f32 {
    let mut lanes = vec![0.0; 32];
    for (index, value) in values.iter().enumerate() {
        lanes[index % 32] += value;
    }
    while lanes.len() > 1 {
        let upper = lanes.split_off(lanes.len() / 2);
        for (lane, other) in lanes.iter_mut().zip(upper) {
            *lane += other;
        }
    }
    lanes[0]
}

#[test]
fn strict_is_the_default_and_keeps_the_order() {
    assert_eq!(FloatMode::default(), FloatMode::Strict);
    let values = [1e8, 1.0, -1e8, 1.0];
    assert_eq!(math::sum(&values, FloatMode::Strict), 1.0);
    assert_eq!(math::dot(&values, &[1.0; 4], FloatMode::Strict), 1.0);
}

#[test]
fn fast_adds_in_the_order_it_documents() {
    for count in [0, 1, 31, 32, 33, 64, 1000, 4096] {
        let values = numbers(count);
        let products: Vec<f32> = values.iter().map(|value| value * 0.3).collect();
        assert_eq!(math::sum(&values, FloatMode::Fast), in_lanes(&values), "{count}");
        let factors = vec![0.3; count + 5];
        assert_eq!(math::dot(&values, &factors, FloatMode::Fast), in_lanes(&products), "{count}");
    }
}

#[test]
fn nothing_sums_to_zero() {
    for mode in [FloatMode::Strict, FloatMode::Fast] {
        assert_eq!(math::sum(&[], mode).to_bits(), 0);
        assert_eq!(math::dot(&[], &[1.0], mode).to_bits(), 0);
    }
    assert_eq!(math::min(&[]), f32::INFINITY);
    assert_eq!(math::max(&[]), f32::NEG_INFINITY);
}

#[test]
fn smallest_and_largest_do_not_depend_on_the_order() {
    let mut values = numbers(100);
    values[40] = f32::NAN;
    values[41] = -0.0;
    for _ in 0..values.len() {
        values.rotate_left(1);
        assert_eq!((math::min(&values), math::max(&values)), (-12.5, 24.5));
    }
    assert_eq!(math::min(&[0.0, -0.0]).to_bits(), math::min(&[-0.0, 0.0]).to_bits());
    assert_eq!(math::max(&[f32::NAN]), f32::NEG_INFINITY);
}
