//! The loops, written once: always inlined, so that they are compiled as part of each subject.

use glam::Vec3;

use super::work::STEP;

/// The loop of `move`.
#[inline(always)]
pub(super) fn advance(positions: &mut [f32], velocities: &[f32], seconds: f32) {
    for (position, velocity) in positions.iter_mut().zip(velocities) {
        *position += velocity * seconds;
    }
}

/// The loop of `quat_spin` over columns. `sincos` returns the sine and the cosine of an angle.
#[inline(always)]
pub(super) fn spin(
    [x, y, z, w]: [&mut [f32]; 4],
    speeds: &[f32],
    axis: [f32; 3],
    sincos: impl Fn(f32) -> (f32, f32),
) {
    let rotations = x.iter_mut().zip(y).zip(z).zip(w);
    for ((((x, y), z), w), speed) in rotations.zip(speeds) {
        let length = (*x * *x + *y * *y + *z * *z + *w * *w).sqrt();
        let (sin, cos) = sincos(speed * (STEP * 0.5));
        let [a, b, c] = axis.map(|part| part * sin);
        let shorten = 1.0 / length;
        let [p, q, r, s] = [*x, *y, *z, *w].map(|part| part * shorten);
        *x = s * a + p * cos + q * c - r * b;
        *y = s * b - p * c + q * cos + r * a;
        *z = s * c + p * b - q * a + r * cos;
        *w = s * cos - p * a - q * b - r * c;
    }
}

/// The body of `large_closure_vec3`, after Reynolds: arrive at a target, keep out of a sphere, within
/// limits of force and speed, in a world that wraps around in one direction.
///
/// Always inlined, so that each subject has it in its own code.
#[inline(always)]
pub(super) fn steer(position: &mut Vec3, velocity: &mut Vec3, target: Vec3) {
    const SPEED: f32 = 10.0;
    const FORCE: f32 = 30.0;
    const SLOWING: f32 = 5.0;
    const SPHERE: Vec3 = Vec3::new(20.0, 10.0, 5.0);
    const RADIUS: f32 = 15.0;

    let offset = target - *position;
    let desired = offset * (SPEED / length(offset).max(SLOWING));
    let arrive = desired - *velocity;

    let away = *position - SPHERE;
    let gap = length(away);
    let push = (RADIUS - gap).max(0.0) / gap.max(1e-3);
    let steering = arrive + away * push;

    let force = steering * (FORCE / length(steering).max(FORCE));
    let faster = *velocity + force * STEP;
    *velocity = faster * (SPEED / length(faster).max(SPEED));

    let moved = *position + *velocity * STEP;
    let wrapped = if moved.x > 120.0 { moved.x - 240.0 } else { moved.x };
    *position = Vec3::new(wrapped, moved.y, moved.z);
}

/// Returns the length of a vector. `Vec3::length` would be a call in a program that enables glam's
/// feature `libm`.
#[inline(always)]
fn length(vector: Vec3) -> f32 {
    vector.length_squared().sqrt()
}

/// The loop of `large_closure`.
#[inline(always)]
pub(super) fn steer_columns(
    [x, y, z]: [&mut [f32]; 3],
    [u, v, w]: [&mut [f32]; 3],
    [a, b, c]: [&[f32]; 3],
) {
    let positions = x.iter_mut().zip(y).zip(z);
    let velocities = u.iter_mut().zip(v).zip(w);
    let targets = a.iter().zip(b).zip(c);
    for ((((x, y), z), ((u, v), w)), ((a, b), c)) in positions.zip(velocities).zip(targets) {
        let (mut position, mut velocity) = (Vec3::new(*x, *y, *z), Vec3::new(*u, *v, *w));
        steer(&mut position, &mut velocity, Vec3::new(*a, *b, *c));
        [*x, *y, *z] = position.to_array();
        [*u, *v, *w] = velocity.to_array();
    }
}
