//! Bits of glam's operations, in the version of the workspace: those that are the same on every platform, at every CPU level, in
//! debug and in release, and the replacements in `ancho_burst::math` for the others.
//!
//! Each operation is applied to the same 4,096 inputs, and the bits of the results are hashed. The hashes are constants, so that
//! each machine is compared with all others.

use ancho_burst::math::{affine3a, quat, vec3a, vec4};
use ancho_burst::{CpuLevel, dispatch_at_most};
use glam::{Affine3A, EulerRot, Mat3, Mat3A, Mat4, Quat, Vec2, Vec3, Vec3A, Vec4};

const COUNT: usize = 4096;

/// The operands, made without glam.
struct Input {
    numbers: [f32; 32],
    rotations: [Quat; 2],
    /// From 0 to 1.
    fraction: f32,
}

impl Input {
    fn angle(&self) -> f32 {
        self.numbers[0]
    }

    fn vec2(&self) -> Vec2 {
        Vec2::from_slice(&self.numbers[1..])
    }

    fn vec3(&self, number: usize) -> Vec3 {
        Vec3::from_slice(&self.numbers[number * 4..])
    }

    fn vec3a(&self, number: usize) -> Vec3A {
        Vec3A::from(self.vec3(number))
    }

    fn vec4(&self, number: usize) -> Vec4 {
        Vec4::from_slice(&self.numbers[number * 4..])
    }

    fn mat3(&self, number: usize) -> Mat3 {
        Mat3::from_cols_slice(&self.numbers[number * 16..])
    }

    fn mat4(&self, number: usize) -> Mat4 {
        Mat4::from_cols_slice(&self.numbers[number * 16..])
    }

    fn affine(&self, number: usize) -> Affine3A {
        Affine3A::from_cols_slice(&self.numbers[number * 16..])
    }
}

/// Returns numbers of up to several turns, in no order, and rotations of length one.
fn inputs() -> Vec<Input> {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((state >> 8) as f32 / 8_388_608.0 - 1.0) * 20.0
    };
    let mut input = || {
        let numbers = std::array::from_fn(|_| next());
        let mut rotation = || {
            let [x, y, z, w]: [f32; 4] = std::array::from_fn(|_| next());
            let length = (x * x + y * y + z * z + w * w).sqrt();
            Quat::from_xyzw(x / length, y / length, z / length, w / length)
        };
        let rotations = [rotation(), rotation()];
        Input { numbers, rotations, fraction: next() / 40.0 + 0.5 }
    };
    (0..COUNT).map(|_| input()).collect()
}

/// An FNV-1a hash of the bits of results.
struct Hash(u64);

impl Hash {
    fn add(&mut self, numbers: impl AsRef<[f32]>) {
        for number in numbers.as_ref() {
            self.0 = (self.0 ^ u64::from(number.to_bits())).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

/// An operation, and the hash of its results.
type Operation = (&'static str, fn(&Input, &mut Hash), u64);

#[track_caller]
fn assert_hashes(operations: &[Operation]) {
    CpuLevel::V4.limit();
    let inputs = inputs();
    let mut wrong = String::new();
    for &(name, operation, expected) in operations {
        for level in CpuLevel::ALL {
            let found = dispatch_at_most(level, || {
                let mut hash = Hash(0xcbf2_9ce4_8422_2325);
                inputs.iter().for_each(|input| operation(input, &mut hash));
                hash.0
            });
            if found != expected {
                wrong += &format!("{name} at {level}: {found:#018x}\n");
            }
        }
    }
    assert!(wrong.is_empty(), "other hashes:\n{wrong}");
}

#[test]
fn operations_of_glam_that_are_the_same_everywhere() {
    assert_hashes(&[
        (
            "Vec2 angles",
            |i, h| {
                let v = Vec2::from_angle(i.angle());
                h.add([v.x, v.y, v.to_angle(), v.length(), v.perp_dot(i.vec2())]);
            },
            0xb44d_4c3d_9f6a_b327,
        ),
        (
            "Vec2 and Vec3 powers",
            |i, h| {
                let v = i.vec3(0).abs();
                let w = v + 1.0;
                h.add(v.powf(0.7).to_array());
                h.add((w.ln() + w.log2()).to_array());
                h.add((i.vec2() * 0.1).exp().to_array());
                h.add((i.vec2() * 0.1).exp2().to_array());
            },
            0x0952_0494_99af_054c,
        ),
        (
            "Vec3 dot, length, normalize",
            |i, h| {
                let (v, w) = (i.vec3(0), i.vec3(1));
                h.add([v.dot(w), v.length(), v.distance(w), v.angle_between(w)]);
                h.add(v.normalize().to_array());
                h.add(v.cross(w).to_array());
            },
            0xf0d1_ef1f_c03d_0110,
        ),
        (
            "Vec3 lerp, mul_add, reflect, project",
            |i, h| {
                let (v, w) = (i.vec3(0), i.vec3(1));
                h.add(v.lerp(w, i.fraction).to_array());
                h.add(v.mul_add(w, v).to_array());
                h.add(v.reflect(w.normalize()).to_array());
                h.add(v.project_onto(w).to_array());
            },
            0xde20_465d_070c_b9a0,
        ),
        (
            "Vec3 rounding",
            |i, h| {
                let v = i.vec3(0);
                h.add(v.floor().to_array());
                h.add(v.ceil().to_array());
                h.add(v.round().to_array());
                h.add(v.rem_euclid(Vec3::splat(0.3)).to_array());
                h.add(v.fract().to_array());
            },
            0xd7e7_353f_8002_5315,
        ),
        (
            "Vec3 any_orthonormal_pair",
            |i, h| {
                let (a, b) = i.vec3(0).normalize().any_orthonormal_pair();
                h.add(a.to_array());
                h.add(b.to_array());
            },
            0x93e6_f427_17a5_c017,
        ),
        (
            "Mat3 arithmetic",
            |i, h| {
                let (m, n) = (i.mat3(0), i.mat3(1));
                h.add((m * n).to_cols_array());
                h.add((m * i.vec3(6)).to_array());
                h.add([m.determinant()]);
                h.add(m.inverse().to_cols_array());
            },
            0x901c_1157_eef8_a1dc,
        ),
        (
            "Mat3 from rotations",
            |i, h| {
                h.add(Mat3::from_rotation_z(i.angle()).to_cols_array());
                h.add(Mat3::from_axis_angle(Vec3::Y, i.angle()).to_cols_array());
                h.add(Mat3::from_quat(i.rotations[0]).to_cols_array());
            },
            0x5448_631c_92cc_45ee,
        ),
        (
            "Vec4 and Vec3A elements",
            |i, h| {
                let (v, w) = (i.vec4(0), i.vec4(1));
                h.add((v + w * v - w / v).to_array());
                h.add((v * i.fraction).abs().to_array());
                h.add(v.min(w).to_array());
                h.add(v.max(w).to_array());
                h.add(v.recip().to_array());
                let (v, w) = (i.vec3a(0), i.vec3a(1));
                h.add((v + w * v - w / v).to_array());
                h.add(v.min(w).max(-w).to_array());
            },
            0x2634_28a4_3396_b8ac,
        ),
        (
            "Vec4 rem_euclid",
            |i, h| {
                h.add(i.vec4(0).rem_euclid(i.vec4(1)).to_array());
                h.add(i.vec4(0).div_euclid(i.vec4(1)).to_array());
            },
            0xe49e_81ad_c399_fed0,
        ),
        (
            "Quat product, conjugate, sum",
            |i, h| {
                let [q, r] = i.rotations;
                h.add((q * r).to_array());
                h.add(q.conjugate().to_array());
                h.add((q + r * i.fraction).to_array());
            },
            0xe978_f1d3_ecfd_053d,
        ),
        (
            "Quat from angles",
            |i, h| {
                h.add(Quat::from_rotation_x(i.angle()).to_array());
                h.add(Quat::from_rotation_y(i.angle()).to_array());
                h.add(Quat::from_rotation_z(i.angle()).to_array());
                h.add(Quat::from_axis_angle(Vec3::Y, i.angle()).to_array());
                h.add(Quat::from_euler(EulerRot::YXZ, i.angle(), 1.0, 0.3).to_array());
            },
            0xf93d_ddf0_c98a_08e5,
        ),
        (
            "Quat from matrices",
            |i, h| {
                h.add(Quat::from_mat3(&Mat3::from_quat(i.rotations[0])).to_array());
                h.add(Quat::from_mat4(&Mat4::from_quat(i.rotations[0])).to_array());
            },
            0x7126_df71_bec1_0031,
        ),
        (
            "Quat to angles",
            |i, h| {
                let (axis, angle) = i.rotations[0].to_axis_angle();
                h.add(axis.extend(angle).to_array());
                let (a, b, c) = i.rotations[0].to_euler(EulerRot::YXZ);
                h.add([a, b, c]);
            },
            0x3831_6ee5_565a_9f81,
        ),
        (
            "Quat from_scaled_axis",
            |i, h| {
                h.add(Quat::from_scaled_axis(i.vec3(0)).to_array());
            },
            0x0769_3f5a_9d97_efa8,
        ),
        (
            "Mat4 product, Mat4 * Vec4",
            |i, h| {
                let (m, n) = (i.mat4(0), i.mat4(1));
                h.add((m * n).to_cols_array());
                h.add((m * i.vec4(4)).to_array());
                h.add((m + n * i.fraction).to_cols_array());
                h.add(m.transpose().to_cols_array());
            },
            0xb16d_320a_de73_97c8,
        ),
        (
            "Mat4 transform_point3, transform_vector3",
            |i, h| {
                let m = i.mat4(0);
                h.add(m.transform_point3(i.vec3(5)).to_array());
                h.add(m.transform_vector3(i.vec3(5)).to_array());
                h.add(m.project_point3(i.vec3(5)).to_array());
            },
            0x1361_6f4a_80b7_838c,
        ),
        (
            "Mat4 from_scale_rotation_translation",
            |i, h| {
                h.add(
                    Mat4::from_scale_rotation_translation(i.vec3(0), i.rotations[0], i.vec3(1))
                        .to_cols_array(),
                );
                h.add(Mat4::from_rotation_translation(i.rotations[0], i.vec3(1)).to_cols_array());
                h.add(Mat4::from_quat(i.rotations[1]).to_cols_array());
                h.add(Mat4::from_rotation_x(i.angle()).to_cols_array());
            },
            0xfb26_87eb_fed6_93df,
        ),
        (
            "Mat3A product, Mat3A * Vec3A",
            |i, h| {
                let (m, n) = (Mat3A::from(i.mat3(0)), Mat3A::from(i.mat3(1)));
                h.add((m * n).to_cols_array());
                h.add((m * i.vec3a(6)).to_array());
            },
            0x2290_81bf_889b_db40,
        ),
        (
            "Affine3A product",
            |i, h| {
                h.add((i.affine(0) * i.affine(1)).to_cols_array());
            },
            0xdc20_b96c_1f46_8aa2,
        ),
        (
            "Affine3A transform_point3, transform_vector3",
            |i, h| {
                h.add(i.affine(0).transform_point3(i.vec3(5)).to_array());
                h.add(i.affine(0).transform_vector3(i.vec3(5)).to_array());
            },
            0x9511_45b6_010b_d53b,
        ),
        (
            "Affine3A from_scale_rotation_translation",
            |i, h| {
                h.add(
                    Affine3A::from_scale_rotation_translation(i.vec3(0), i.rotations[0], i.vec3(1))
                        .to_cols_array(),
                );
            },
            0x9f07_0cfb_673a_00fe,
        ),
        (
            "Quat::inverse",
            |i, h| {
                h.add(i.rotations[0].inverse().to_array());
            },
            0xfead_e7e4_5f5d_a4f0,
        ),
        (
            "Vec4::lerp",
            |i, h| {
                h.add(i.vec4(0).lerp(i.vec4(1), i.fraction).to_array());
            },
            0x10da_7010_8b81_cfc0,
        ),
        (
            "Vec4::mul_add",
            |i, h| {
                h.add(i.vec4(0).mul_add(i.vec4(1), i.vec4(2)).to_array());
            },
            0xecdd_b3cd_83b1_6464,
        ),
        (
            "Vec3A::dot",
            |i, h| {
                h.add([i.vec3a(0).dot(i.vec3a(1))]);
            },
            0xced4_1e91_4ea2_69e6,
        ),
        (
            "Vec3A::length",
            |i, h| {
                h.add([i.vec3a(0).length()]);
            },
            0x35a9_89c8_34c0_d851,
        ),
        (
            "Vec3A::lerp",
            |i, h| {
                h.add(i.vec3a(0).lerp(i.vec3a(1), i.fraction).to_array());
            },
            0x2655_f9cb_3ff2_0557,
        ),
        (
            "Vec3A::mul_add",
            |i, h| {
                h.add(i.vec3a(0).mul_add(i.vec3a(1), i.vec3a(2)).to_array());
            },
            0xec72_4f03_bd90_051c,
        ),
    ]);
}

#[test]
fn operations_of_math_are_the_same_everywhere() {
    assert_hashes(&[
        (
            "quat::dot",
            |i, h| {
                h.add([quat::dot(i.rotations[0], i.rotations[1])]);
            },
            0xa065_b50b_1a8d_a1b4,
        ),
        (
            "quat::length",
            |i, h| {
                h.add([quat::length(i.rotations[0])]);
            },
            0xad97_a636_86d9_e381,
        ),
        (
            "quat::normalize",
            |i, h| {
                h.add(quat::normalize(Quat::from_vec4(i.vec4(0))).to_array());
            },
            0x15b7_f1d8_722f_63dd,
        ),
        (
            "quat::rotate",
            |i, h| {
                h.add(quat::rotate(i.rotations[0], i.vec3(0)).to_array());
            },
            0x18a7_a7a6_f036_f1f0,
        ),
        (
            "quat::rotate_vec3a",
            |i, h| {
                h.add(quat::rotate_vec3a(i.rotations[0], i.vec3a(0)).to_array());
            },
            0x18a7_a7a6_f036_f1f0,
        ),
        (
            "quat::lerp",
            |i, h| {
                h.add(quat::lerp(i.rotations[0], i.rotations[1], i.fraction).to_array());
            },
            0x8d53_7136_6e54_cc4b,
        ),
        (
            "quat::slerp",
            |i, h| {
                h.add(quat::slerp(i.rotations[0], i.rotations[1], i.fraction).to_array());
            },
            0x9a79_c2b6_97a4_4b5c,
        ),
        (
            "vec4::dot",
            |i, h| {
                h.add([vec4::dot(i.vec4(0), i.vec4(1))]);
            },
            0xf3c9_91dc_7ed0_243e,
        ),
        (
            "vec4::length",
            |i, h| {
                h.add([vec4::length(i.vec4(0))]);
            },
            0x9078_2750_2f2d_c3ba,
        ),
        (
            "vec4::normalize",
            |i, h| {
                h.add(vec4::normalize(i.vec4(0)).to_array());
            },
            0x15b7_f1d8_722f_63dd,
        ),
        (
            "vec3a::dot",
            |i, h| {
                h.add([vec3a::dot(i.vec3a(0), i.vec3a(1))]);
            },
            0xced4_1e91_4ea2_69e6,
        ),
        (
            "vec3a::cross",
            |i, h| {
                h.add(vec3a::cross(i.vec3a(0), i.vec3a(1)).to_array());
            },
            0x2d6a_8807_1bec_8a2c,
        ),
        (
            "vec3a::length",
            |i, h| {
                h.add([vec3a::length(i.vec3a(0))]);
            },
            0x35a9_89c8_34c0_d851,
        ),
        (
            "vec3a::normalize",
            |i, h| {
                h.add(vec3a::normalize(i.vec3a(0)).to_array());
            },
            0xc6df_013d_0a60_325d,
        ),
        (
            "affine3a::inverse",
            |i, h| {
                h.add(affine3a::inverse(i.affine(0)).to_cols_array());
            },
            0xe2f1_5423_0343_3a4f,
        ),
    ]);
}

/// On ARM they have other bits, as do some in builds for CPUs with FMA.
#[test]
#[cfg(all(target_arch = "x86_64", not(target_feature = "fma")))]
fn other_operations_of_glam_are_the_same_at_every_level() {
    assert_hashes(&[
        (
            "Quat::dot",
            |i, h| {
                h.add([i.rotations[0].dot(i.rotations[1])]);
            },
            0xa065_b50b_1a8d_a1b4,
        ),
        (
            "Quat::length",
            |i, h| {
                h.add([i.rotations[0].length()]);
            },
            0xad97_a636_86d9_e381,
        ),
        (
            "Quat::normalize",
            |i, h| {
                h.add(Quat::from_vec4(i.vec4(0)).normalize().to_array());
            },
            0x15b7_f1d8_722f_63dd,
        ),
        (
            "Quat::lerp",
            |i, h| {
                h.add(i.rotations[0].lerp(i.rotations[1], i.fraction).to_array());
            },
            0x8d53_7136_6e54_cc4b,
        ),
        (
            "Quat::slerp",
            |i, h| {
                h.add(i.rotations[0].slerp(i.rotations[1], i.fraction).to_array());
            },
            0xb4a2_c337_0513_42a2,
        ),
        (
            "Quat * Vec3",
            |i, h| {
                h.add((i.rotations[0] * i.vec3(0)).to_array());
            },
            0x18a7_a7a6_f036_f1f0,
        ),
        (
            "Quat::angle_between",
            |i, h| {
                h.add([i.rotations[0].angle_between(i.rotations[1])]);
            },
            0xeaec_3025_2de2_e3fc,
        ),
        (
            "Quat::from_rotation_arc",
            |i, h| {
                h.add(
                    Quat::from_rotation_arc(i.vec3(0).normalize(), i.vec3(1).normalize())
                        .to_array(),
                );
            },
            0xdb95_dc82_c5c1_7ddd,
        ),
        (
            "Quat::rotate_towards",
            |i, h| {
                h.add(i.rotations[0].rotate_towards(i.rotations[1], 0.1).to_array());
            },
            0x67a3_8054_9b17_3500,
        ),
        (
            "Vec4::dot",
            |i, h| {
                h.add([i.vec4(0).dot(i.vec4(1))]);
            },
            0xf3c9_91dc_7ed0_243e,
        ),
        (
            "Vec4::length",
            |i, h| {
                h.add([i.vec4(0).length()]);
            },
            0x9078_2750_2f2d_c3ba,
        ),
        (
            "Vec4::normalize",
            |i, h| {
                h.add(i.vec4(0).normalize().to_array());
            },
            0x15b7_f1d8_722f_63dd,
        ),
        (
            "Vec4::element_product",
            |i, h| {
                h.add([i.vec4(0).element_product()]);
            },
            0xb8bb_a10d_0ca9_4127,
        ),
        (
            "Vec3A::normalize",
            |i, h| {
                h.add(i.vec3a(0).normalize().to_array());
            },
            0xc6df_013d_0a60_325d,
        ),
        (
            "Mat3A::inverse",
            |i, h| {
                h.add(Mat3A::from(i.mat3(0)).inverse().to_cols_array());
            },
            0xb8c4_4672_b263_15d5,
        ),
        (
            "Mat3A::determinant",
            |i, h| {
                h.add([Mat3A::from(i.mat3(0)).determinant()]);
            },
            0xb074_17f8_5c78_d633,
        ),
        (
            "Mat4::determinant",
            |i, h| {
                h.add([i.mat4(0).determinant()]);
            },
            0xe849_0183_ab6e_2be8,
        ),
        (
            "Mat4::inverse",
            |i, h| {
                h.add(i.mat4(0).inverse().to_cols_array());
            },
            0x6c0d_b2c0_3af7_e896,
        ),
        (
            "Affine3A::inverse",
            |i, h| {
                h.add(i.affine(0).inverse().to_cols_array());
            },
            0xe2f1_5423_0343_3a4f,
        ),
    ]);
}
