//! A few kernels to view with `cargo xtask inspect`.
#![expect(clippy::print_stdout, reason = "an example shows what it computed")]

use ancho_burst::burst;

/// Vectorises: slices as parameters, no branches, no calls.
#[burst]
fn advance(positions: &mut [f32], velocities: &[f32], seconds: f32) {
    for (position, velocity) in positions.iter_mut().zip(velocities) {
        *position += velocity * seconds;
    }
}

/// Does not vectorise: each sum needs the previous one, and the order of additions is kept.
#[burst]
fn sum_in_order(values: &[f32]) -> f32 {
    values.iter().sum()
}

/// Vectorises: sixteen sums in parallel, whose order is the same at every level.
#[burst]
fn sum_in_lanes(values: &[f32]) -> f32 {
    let mut lanes = [0.0_f32; 16];
    let (chunks, rest) = values.as_chunks::<16>();
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane += value;
        }
    }
    lanes.iter().sum::<f32>() + rest.iter().sum::<f32>()
}

/// A large closure, marked so that it is inlined into the loop of a library.
#[burst(closures)]
fn steer(positions: &mut [f32], velocities: &mut [f32], targets: &[f32]) {
    each_body(positions, velocities, targets, |position, velocity, target| {
        let offset = target - *position;
        let distance = (offset * offset + 1.0e-6).sqrt();
        let slow = if distance < 5.0 { distance / 5.0 } else { 1.0 };
        let wanted = offset / distance * slow * 10.0;
        let change = wanted - *velocity;
        let force = change.abs();
        let scale = if force > 3.0 { 3.0 / force } else { 1.0 };
        let faster = *velocity + change * scale * 0.016;
        let speed = faster.abs();
        let limited = if speed > 10.0 { faster * (10.0 / speed) } else { faster };
        *velocity = limited;
        *position += limited * 0.016;
    });
}

/// The loop of a library, as in `ancho_jobs`.
#[burst(closures)]
fn each_body(
    positions: &mut [f32],
    velocities: &mut [f32],
    targets: &[f32],
    body: impl Fn(&mut f32, &mut f32, &f32),
) {
    ancho_burst::dispatch(|| {
        for ((position, velocity), target) in positions.iter_mut().zip(velocities).zip(targets) {
            body(position, velocity, target);
        }
    });
}

/// Does not vectorise: the helper stays a call, and runs as compiled for the baseline.
#[burst]
fn with_a_call(values: &mut [f32]) {
    for value in values {
        *value = not_inlined(*value);
    }
}

#[inline(never)]
fn not_inlined(value: f32) -> f32 {
    value * 2.0 + 1.0
}

fn main() {
    let mut positions = vec![1.0; 2048];
    let mut velocities = vec![2.0; 2048];
    let targets = vec![100.0; 2048];
    steer(&mut positions, &mut velocities, &targets);
    advance(&mut positions, &velocities, 0.5);
    with_a_call(&mut positions);
    println!("{} {}", sum_in_order(&positions), sum_in_lanes(&positions));
}
