//! Typical kernels are vectorised, and `assert_vectorized!` detects kernels that are not.
//!
//! The assertions do nothing in debug builds. `cargo xtask testrelease` runs them.
#![cfg(all(feature = "inspect", feature = "macros", feature = "dispatch"))]

use ancho_burst::inspect::{self, Verdict};
use ancho_burst::math::Random;
use ancho_burst::math::noise::{
    Fractal, cellular_2d, cellular_3d, perlin_4d, simplex_2d, simplex_3d,
};
use ancho_burst::{CpuLevel, assert_vectorized, burst, dispatch};

#[burst]
fn advance(positions: &mut [f32], velocities: &[f32], seconds: f32) {
    for (position, velocity) in positions.iter_mut().zip(velocities) {
        *position += velocity * seconds;
    }
}

#[burst]
fn sum_in_lanes(values: &[f32]) -> f32 {
    let mut lanes = [0.0_f32; 32];
    let (chunks, rest) = values.as_chunks::<32>();
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane += value;
        }
    }
    lanes.iter().sum::<f32>() + rest.iter().sum::<f32>()
}

#[burst]
fn not_vectorised(values: &mut [f32]) {
    for value in values {
        *value = stays_a_call(*value);
    }
}

#[inline(never)]
fn stays_a_call(value: f32) -> f32 {
    value * 2.0 + 1.0
}

/// A loop over batches and the elements of each, as in jobs, around a closure that is not marked.
fn each_element(values: &mut [f32], speeds: &mut [f32], body: impl Fn(&mut f32, &mut f32)) {
    dispatch(
        #[inline(always)]
        || {
            for (values, speeds) in values.chunks_mut(256).zip(speeds.chunks_mut(256)) {
                for (value, speed) in values.iter_mut().zip(speeds) {
                    body(value, speed);
                }
            }
        },
    );
}

/// Twenty lines, not marked: the compiler still copies the closure into three levels.
fn large_closure(values: &mut [f32], speeds: &mut [f32]) {
    each_element(values, speeds, |value, speed| {
        let offset = 100.0 - *value;
        let distance = (offset * offset + 1.0e-6).sqrt();
        let slow = if distance < 5.0 { distance / 5.0 } else { 1.0 };
        let wanted = offset / distance * slow * 10.0;
        let change = wanted - *speed;
        let force = (change * change + 1.0e-6).sqrt();
        let scale = if force > 3.0 { 3.0 / force } else { 1.0 };
        let faster = *speed + change * scale * 0.016;
        let limit = (faster * faster + 1.0e-6).sqrt();
        let limited = if limit > 10.0 { faster * (10.0 / limit) } else { faster };
        let drag = (limited * limited * 0.01 + 1.0).sqrt();
        let bounded = (limited / drag).clamp(-10.0, 10.0);
        let next = *value + bounded * 0.016;
        let outside = if next.abs() > 1000.0 { 0.0 } else { next };
        *speed = bounded;
        *value = outside;
    });
}

#[burst]
fn random_numbers(generators: &mut [Random], values: &mut [f32]) {
    for (random, value) in generators.iter_mut().zip(values) {
        *value = random.next_f32();
    }
}

#[burst]
fn random_ranges(generators: &mut [Random], values: &mut [f32], size: f32, count: i32) {
    for (random, value) in generators.iter_mut().zip(values) {
        *value = random.range(-size..size) + random.range(0..count) as f32;
    }
}

/// States in columns, as `ColumnSlices` has them.
#[burst]
fn random_columns(first: &mut [u32], second: &mut [u32], values: &mut [f32]) {
    for ((first, second), value) in first.iter_mut().zip(second).zip(values) {
        let mut random = Random::from_state([*first, *second]);
        *value = random.normal();
        [*first, *second] = random.state();
    }
}

#[burst]
fn noise_simplex(x: &[f32], y: &[f32], values: &mut [f32]) {
    for ((x, y), value) in x.iter().zip(y).zip(values) {
        let hills = Fractal::<4>::default();
        *value = hills.sum([*x, *y], |octave, point| simplex_2d(octave, point));
        *value += simplex_3d(1, [*x, *y, 0.5]);
    }
}

#[burst]
fn noise_perlin(x: &[f32], y: &[f32], values: &mut [f32]) {
    for ((x, y), value) in x.iter().zip(y).zip(values) {
        *value = perlin_4d(1, [*x, *y, *x + *y, *x - *y]);
    }
}

#[burst]
fn noise_cellular(x: &[f32], y: &[f32], values: &mut [f32]) {
    for ((x, y), value) in x.iter().zip(y).zip(values) {
        *value = cellular_2d(1, [*x, *y]).nearest;
    }
}

#[burst]
fn noise_cellular_3d(x: &[f32], y: &[f32], values: &mut [f32]) {
    for ((x, y), value) in x.iter().zip(y).zip(values) {
        let cell = cellular_3d(1, [*x, *y, 0.5]);
        *value = cell.second - cell.nearest;
    }
}

#[test]
fn random_numbers_and_noise_are_vectorised() {
    let mut generators: Vec<Random> = (0..1000).map(|i| Random::from_index(1, i)).collect();
    let (x, y, mut values) = (vec![0.3; 1000], vec![0.7; 1000], vec![0.0; 1000]);
    random_numbers(&mut generators, &mut values);
    random_ranges(&mut generators, &mut values, 5.0, 10);
    random_columns(&mut vec![1; 1000], &mut vec![2; 1000], &mut values);
    noise_simplex(&x, &y, &mut values);
    noise_perlin(&x, &y, &mut values);
    noise_cellular(&x, &y, &mut values);
    noise_cellular_3d(&x, &y, &mut values);
    for level in CpuLevel::ALL {
        assert_vectorized!(random_numbers, level);
        assert_vectorized!(random_ranges, level);
        assert_vectorized!(random_columns, level);
        assert_vectorized!(noise_simplex, level);
        assert_vectorized!(noise_perlin, level);
        assert_vectorized!(noise_cellular, level);
        assert_vectorized!(noise_cellular_3d, level);
    }
}

fn run_all() {
    let (mut values, mut others) = (vec![1.0; 1000], vec![2.0; 1000]);
    advance(&mut values, &others, 0.5);
    large_closure(&mut values, &mut others);
    not_vectorised(&mut values);
    assert!(sum_in_lanes(&values).is_finite());
}

#[test]
fn example_kernels_are_vectorised() {
    run_all();
    for level in CpuLevel::ALL {
        assert_vectorized!(advance, level);
        assert_vectorized!(sum_in_lanes, level);
    }
}

#[test]
fn a_large_closure_in_the_loop_of_another_is_vectorised() {
    run_all();
    for level in CpuLevel::ALL {
        assert_vectorized!("large_closure", level);
    }
}

#[test]
fn a_call_in_the_loop_fails_the_assertion() {
    run_all();
    let caught = std::panic::catch_unwind(|| assert_vectorized!(not_vectorised, CpuLevel::V3));
    if cfg!(debug_assertions) || !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        caught.expect("the assertion does nothing here");
        return;
    }
    let message = *caught.expect_err("the kernel makes a call").downcast::<String>().unwrap();
    assert_eq!(
        message,
        "kernel `kernels::vectorised::not_vectorised` is not vectorised at v3: 0 packed instructions of 256 bits, 0 \
         packed in all, 0 scalar; it calls kernels::vectorised::stays_a_call (in a loop)"
    );
}

#[test]
fn reports_name_the_kernel_and_show_its_code() {
    run_all();
    if cfg!(debug_assertions) || !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return;
    }
    let report = inspect::kernel("advance").expect("it was run above");
    assert_eq!(inspect::verdict(&report, CpuLevel::V3), Verdict::Vectorized);
    let instance = report.at(CpuLevel::V3).next().expect("there is an instance at v3");
    assert!(instance.calls.is_empty() && instance.counts.fma == 0);
    assert!(instance.assembly.contains("vmulps ymm"), "{}", instance.assembly);
    let error = inspect::kernel("advanced").unwrap_err().to_string();
    assert!(error.starts_with("no kernel is called `advanced`; there are:\n"), "{error}");
    assert!(error.contains("\n  kernels::vectorised::advance\n"), "{error}");
}
