//! Every function of `math` yields the same bits at every CPU level, in debug and in release.

use crate::common;

use ancho_burst::math::{self, FloatMode};
use ancho_burst::{CpuLevel, dispatch};
use common::{BINARY, UNARY, error_in_ulp};

const COUNT: usize = 1 << 17;

/// Returns numbers, half of any size, half between 2^-8 and 2^8.
fn numbers(seed: u64) -> Vec<f32> {
    let mut state = seed;
    let step = |index| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let bits = (state >> 32) as u32;
        let moderate = (bits & 0x807f_ffff) | (((bits >> 23 & 15) + 127 - 8) << 23);
        f32::from_bits(if index % 2 == 0 { bits } else { moderate })
    };
    (0..COUNT).map(step).collect()
}

fn hash(outputs: &[f32]) -> u64 {
    outputs.iter().fold(0xcbf2_9ce4_8422_2325, |hash, output| {
        (hash ^ u64::from(output.to_bits())).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Returns the hash of each function's results for the numbers.
fn hashes() -> Vec<(&'static str, u64)> {
    let (first, second) = (numbers(1), numbers(2));
    let mut outputs = vec![0.0; COUNT];
    let mut hashes = Vec::new();
    for case in UNARY {
        (case.ours)(&first, &mut outputs);
        hashes.push((case.name, hash(&outputs)));
    }
    for case in BINARY {
        (case.ours)(&first, &second, &mut outputs);
        hashes.push((case.name, hash(&outputs)));
    }
    // Only finite numbers, so that the sums are meaningful.
    let (first, second) = (&moderate(&first), &moderate(&second));
    let reductions = dispatch(
        #[inline(always)]
        || {
            [FloatMode::Strict, FloatMode::Fast]
                .map(|mode| [math::sum(first, mode), math::dot(first, second, mode)])
        },
    );
    for (name, values) in ["strict", "fast"].into_iter().zip(reductions) {
        hashes.push((name, hash(&values)));
    }
    hashes
}

fn moderate(numbers: &[f32]) -> Vec<f32> {
    numbers.iter().copied().skip(1).step_by(2).collect()
}

#[test]
fn the_bits_are_the_same_at_every_level() {
    for level in CpuLevel::ALL {
        if level.limit() == level {
            assert_eq!(hashes(), HASHES, "at {level}");
        }
    }
}

#[test]
fn all_forms_of_sine_and_cosine_agree() {
    let angles = numbers(3);
    let (mut sines, mut cosines) = (vec![0.0; COUNT], vec![0.0; COUNT]);
    math::sincos_slice(&angles, &mut sines, &mut cosines);
    let bits = |(sin, cos): (f32, f32)| (sin.to_bits(), cos.to_bits());
    for ((&angle, &sin), &cos) in angles.iter().zip(&sines).zip(&cosines) {
        let both = bits(math::sincos(angle));
        assert_eq!(both, bits((sin, cos)), "the slice, at {angle:e}");
        assert_eq!(both, bits((math::sin(angle), math::cos(angle))), "at {angle:e}");
        if angle.abs() <= 8192.0 {
            assert_eq!(both, bits(math::sincos_near(angle)), "near, at {angle:e}");
        }
    }
}

#[test]
fn a_slice_without_large_angles_gives_the_same() {
    let angles: Vec<f32> = (0..1500).map(|index| index as f32 * 0.37 - 250.0).collect();
    let (mut sines, mut cosines) = (vec![0.0; 1499], vec![0.0; 1600]);
    math::sincos_slice(&angles, &mut sines, &mut cosines);
    for ((&angle, &sin), &cos) in angles.iter().zip(&sines).zip(&cosines) {
        assert_eq!((sin, cos), math::sincos(angle));
    }
    assert_eq!(cosines[1499..], [0.0; 101]);
}

#[test]
fn exact_functions_agree_with_the_standard_library() {
    let (first, second) = (numbers(4), numbers(5));
    for (&x, &y) in first.iter().zip(&second) {
        let same = |ours: f32, std: f32| error_in_ulp(ours, f64::from(std)) == 0.0;
        assert!(same(math::fract(x), x.fract()), "fract({x:e})");
        assert!(same(math::rem(x, y), x % y), "rem({x:e}, {y:e})");
        assert!(same(math::sqrt(x), x.sqrt()), "sqrt({x:e})");
        assert!(same(math::rsqrt(x), 1.0 / x.sqrt()), "rsqrt({x:e})");
    }
}

/// One hash each, for every level, build profile and platform. A change here changes the results of every replayed simulation,
/// and belongs in the changelog.
const HASHES: [(&str, u64); 22] = [
    ("sin", 0x320f_b8e2_a4ff_7d9e),
    ("cos", 0x4295_6f91_4baf_5080),
    ("sincos_near.0", 0x2eba_e2e6_bfab_4134),
    ("sincos_near.1", 0xb54a_5639_92be_1674),
    ("tan", 0xa25f_c53d_e17d_b2b3),
    ("asin", 0x7022_f9c9_0835_5e98),
    ("acos", 0xbe28_cf07_f6bc_6228),
    ("atan", 0xe94e_bccb_68e6_86db),
    ("exp", 0x841e_bbaf_8ade_cb53),
    ("exp2", 0xf52b_5a22_6aad_76fe),
    ("ln", 0x83d8_e243_70d3_c790),
    ("log2", 0x5143_1c2b_6cb5_7424),
    ("sqrt", 0x0019_1161_be09_07a5),
    ("rsqrt", 0x45a3_03f0_34b0_fae2),
    ("fract", 0xcbd2_a863_5dbe_1173),
    ("pow(x, 0.7)", 0xa663_d9a1_ee24_2c08),
    ("rem(x, 0.7)", 0xa761_fe82_db20_202f),
    ("atan2", 0x7922_a9c2_4d2a_8294),
    ("pow", 0x2df5_6477_8483_7d4f),
    ("rem", 0x15be_738b_40e2_de2b),
    ("strict", 0x838f_684d_9b0a_e645),
    ("fast", 0x8390_2e4d_9afd_c6ea),
];
