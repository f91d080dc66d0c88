//! glam, as the workspace has it, gives the same bits at every CPU level, in debug and in release.
//!
//! Its trigonometry is that of the crate `libm`, the same on every platform. What it does with vector
//! instructions (`Quat`, `Vec4`, `Mat4` and the like) is the same at every level, since it is chosen when glam is
//! compiled, but not on every platform: additions are in another order on ARM, and fused with
//! multiplications there and in builds for CPUs with FMA.

use ancho_burst::{CpuLevel, dispatch_at_most};
use glam::{Mat3, Vec2, Vec3};

const COUNT: usize = 4096;

/// Angles of up to some turns, in no order.
fn angles() -> Vec<f32> {
    let mut state = 1_u32;
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((state >> 8) as f32 / 8_388_608.0 - 1.0) * 20.0
    };
    std::iter::repeat_with(next).take(COUNT).collect()
}

/// FNV-1a over the bits.
fn hash(numbers: impl Iterator<Item = f32>) -> u64 {
    numbers.fold(0xcbf2_9ce4_8422_2325, |hash, number| {
        (hash ^ u64::from(number.to_bits())).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// What has no vector instructions in it, but all that comes from `libm`.
fn plain(angle: f32) -> [f32; 16] {
    let turned = Vec2::from_angle(angle);
    let vector = Vec3::new(turned.x, angle, turned.y);
    let powers = vector.abs().powf(0.7);
    let logarithms = (powers + 1.0).ln() + (powers + 1.0).log2();
    let exponentials = turned.exp() + turned.exp2();
    let [a, b, c] = Mat3::from_rotation_z(angle).mul_vec3(vector).to_array();
    let rounded = vector.floor() + vector.rem_euclid(Vec3::splat(0.3));
    [
        [turned.x, turned.y, turned.to_angle(), vector.angle_between(Vec3::ONE)],
        [a, b, c, vector.normalize().length()],
        [powers.x, powers.y, logarithms.x, logarithms.y],
        [exponentials.x, exponentials.y, rounded.x, rounded.y],
    ]
    .as_flattened()
    .try_into()
    .expect("four times four")
}

/// What has vector instructions in it, on platforms that have them.
#[cfg(all(target_arch = "x86_64", not(target_feature = "fma")))]
fn with_vectors(angle: f32) -> [f32; 12] {
    use glam::{EulerRot, Mat4, Quat, Vec4};

    let axis = Vec3::new(0.48, 0.6, 0.64);
    let turn = Quat::from_axis_angle(axis, angle) * Quat::from_rotation_x(angle * 0.5);
    let between = turn.slerp(Quat::from_euler(EulerRot::YXZ, angle, 1.0, 0.3), 0.3).normalize();
    let matrix = Mat4::from_rotation_translation(between, axis).inverse();
    let moved = matrix * Vec4::new(angle, 1.0, 2.0, 1.0);
    let (about, by) = turn.to_axis_angle();
    [between.to_array(), moved.to_array(), about.extend(by).to_array()]
        .as_flattened()
        .try_into()
        .expect("three times four")
}

fn assert_one_hash<const N: usize>(function: fn(f32) -> [f32; N], expected: u64) {
    CpuLevel::V4.limit();
    let angles = angles();
    for level in CpuLevel::ALL {
        let found = dispatch_at_most(level, || hash(angles.iter().copied().flat_map(function)));
        assert_eq!(found, expected, "{found:#x} at {level}");
    }
}

#[test]
fn trigonometry_is_the_same_everywhere() {
    assert_one_hash(plain, 0x92f7_8a47_e831_131f);
}

#[test]
#[cfg(all(target_arch = "x86_64", not(target_feature = "fma")))]
fn rotations_are_the_same_at_every_level() {
    assert_one_hash(with_vectors, 0xfe20_f171_b24a_bd28);
}
