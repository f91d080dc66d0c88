//! The noises: ranges, continuity, zeros, and equal bits at every level.

use ancho_burst::math::Random;
use ancho_burst::math::noise::*;
use ancho_burst::{CpuLevel, dispatch_at_most};

type Noise = fn(u32, [f32; 4]) -> f32;

/// Every noise as a function of four coordinates, and the number of those that it uses.
const NOISES: [(&str, usize, Noise); 13] = [
    ("value_2d", 2, |seed, [x, y, ..]| value_2d(seed, [x, y])),
    ("value_3d", 3, |seed, [x, y, z, _]| value_3d(seed, [x, y, z])),
    ("value_4d", 4, value_4d),
    ("perlin_2d", 2, |seed, [x, y, ..]| perlin_2d(seed, [x, y])),
    ("perlin_3d", 3, |seed, [x, y, z, _]| perlin_3d(seed, [x, y, z])),
    ("perlin_4d", 4, perlin_4d),
    ("simplex_2d", 2, |seed, [x, y, ..]| simplex_2d(seed, [x, y])),
    ("simplex_3d", 3, |seed, [x, y, z, _]| simplex_3d(seed, [x, y, z])),
    ("simplex_4d", 4, simplex_4d),
    ("cellular_2d.nearest", 2, |seed, [x, y, ..]| cellular_2d(seed, [x, y]).nearest),
    ("cellular_2d.second", 2, |seed, [x, y, ..]| cellular_2d(seed, [x, y]).second),
    ("cellular_3d.nearest", 3, |seed, [x, y, z, _]| cellular_3d(seed, [x, y, z]).nearest),
    ("cellular_3d.second", 3, |seed, [x, y, z, _]| cellular_3d(seed, [x, y, z]).second),
];

fn points(count: usize, size: f32) -> impl Iterator<Item = [f32; 4]> {
    let mut random = Random::new(11);
    std::iter::repeat_with(move || std::array::from_fn(|_| random.range(-size..size))).take(count)
}

#[test]
fn values_fill_the_documented_range() {
    for (name, _, noise) in NOISES {
        let (mut least, mut most, mut sum, mut squares) = (f32::MAX, f32::MIN, 0.0, 0.0);
        for (index, point) in points(40_000, 50.0).enumerate() {
            let value = noise(index as u32 % 7, point);
            (least, most) = (least.min(value), most.max(value));
            sum += f64::from(value);
            squares += f64::from(value * value);
        }
        let (mean, mean_square) = (sum / 40_000.0, squares / 40_000.0);
        if name.starts_with("cellular") {
            let limit = match name {
                "cellular_2d.nearest" => 1.1,
                "cellular_2d.second" => 1.4,
                "cellular_3d.nearest" => 1.18,
                _ => 1.32,
            };
            assert!(
                least >= 0.0 && most <= limit && most > limit * 0.7,
                "{name}: {least} to {most}"
            );
            continue;
        }
        assert!(least >= -1.0 && most <= 1.0, "{name}: {least} to {most}");
        assert!(least < -0.6 && most > 0.6, "{name}: {least} to {most}");
        assert!(mean.abs() < 0.02 && mean_square > 0.03, "{name}: {mean}, {mean_square}");
    }
}

#[test]
fn nothing_jumps_at_borders_of_cells() {
    // Steps of 2^-10 across many cells, along axes and diagonals. A missed point or corner would be a jump.
    for (name, dimensions, noise) in NOISES {
        for (line, start) in points(60, 20.0).enumerate() {
            let direction: [f32; 4] = std::array::from_fn(|axis| match line % 6 {
                5 => 1.0,
                4 => [1.0, -1.0, 0.5, -0.25][axis],
                along => f32::from(u8::from(axis == along % dimensions)),
            });
            let mut last = f32::NAN;
            for step in 0..4096 {
                let offset = step as f32 / 1024.0;
                let value = noise(3, std::array::from_fn(|i| start[i] + direction[i] * offset));
                assert!(
                    last.is_nan() || (value - last).abs() <= 0.02,
                    "{name} at {start:?} + {offset}: {last}, {value}"
                );
                last = value;
            }
        }
    }
}

#[test]
fn gradient_noise_is_zero_at_its_lattice() {
    for point in points(2000, 1000.0) {
        let [x, y, z, w] = point.map(f32::floor);
        for seed in [0, 1, u32::MAX] {
            assert_eq!(perlin_2d(seed, [x, y]), 0.0);
            assert_eq!(perlin_3d(seed, [x, y, z]), 0.0);
            assert_eq!(perlin_4d(seed, [x, y, z, w]), 0.0);
        }
    }
    // In 3D the skewed lattice has points with exact coordinates: all even, or all odd halves.
    for point in points(500, 30.0) {
        let [x, y, z, _] = point.map(f32::floor);
        let even = ((x + y + z) as i32).rem_euclid(3) as f32;
        let [i, j, k] = [x + (3.0 - even) % 3.0, y, z];
        let back = (i + j + k) / 6.0;
        let value = simplex_3d(5, [i - back, j - back, k - back]);
        assert!(value.abs() < 1e-3, "{value}");
    }
}

#[test]
fn cellular_distances_are_those_of_a_wider_search() {
    // Walk down the slope of the distance, from a fine grid, to find all scattered points of 8 × 8 cells.
    let nearest = |x, y| cellular_2d(2, [x, y]).nearest;
    let mut places: Vec<[f32; 2]> = Vec::new();
    for start in 0..1024 {
        let [mut x, mut y] = [(start % 32) as f32 * 0.25 + 0.1, (start / 32) as f32 * 0.25 + 0.1];
        for _ in 0..30 {
            let distance = nearest(x, y);
            let slope = [nearest(x + 1e-3, y) - distance, nearest(x, y + 1e-3) - distance];
            let length = slope[0].hypot(slope[1]).max(1e-6);
            x -= slope[0] / length * distance;
            y -= slope[1] / length * distance;
        }
        let is_new = places.iter().all(|at| (at[0] - x).hypot(at[1] - y) > 0.02);
        if is_new && nearest(x, y) < 1e-3 {
            places.push([x, y]);
        }
    }
    assert!(places.len() >= 60, "{}", places.len());
    for [x, y, ..] in points(2000, 1.0) {
        let [x, y] = [x * 2.0 + 4.0, y * 2.0 + 4.0];
        let mut distances: Vec<f32> =
            places.iter().map(|at| (at[0] - x).hypot(at[1] - y)).collect();
        distances.sort_by(f32::total_cmp);
        let cell = cellular_2d(2, [x, y]);
        assert!((cell.nearest - distances[0]).abs() < 2e-3, "{cell:?}: {:?}", &distances[..3]);
        assert!((cell.second - distances[1]).abs() < 2e-3, "{cell:?}: {:?}", &distances[..3]);
    }
}

#[test]
fn other_seeds_and_cells_are_not_correlated() {
    // The points of cellular noise stay near the centres of cells, which are the same for all seeds.
    for (name, dimensions, noise) in NOISES.into_iter().take(9) {
        let mean = |seed: u32, shift: [f32; 4]| {
            let pairs = points(20_000, 500.0).map(|point| {
                let moved = std::array::from_fn(|axis| point[axis] + shift[axis]);
                (f64::from(noise(0, point)), f64::from(noise(seed, moved)))
            });
            let sums = pairs.fold([0.0; 5], |s, (a, b)| {
                [s[0] + a, s[1] + b, s[2] + a * b, s[3] + a * a, s[4] + b * b]
            });
            let [a, b, ab, aa, bb] = sums.map(|sum| sum / 20_000.0);
            (ab - a * b) / ((aa - a * a) * (bb - b * b)).sqrt()
        };
        for seed in [1, 2, 0x8000_0000] {
            assert!(mean(seed, [0.0; 4]).abs() < 0.03, "{name}, seed {seed}");
        }
        for axis in 0..dimensions {
            for distance in [4.0, 64.0, 256.0] {
                let shift = std::array::from_fn(|other| if other == axis { distance } else { 0.0 });
                assert!(mean(0, shift).abs() < 0.03, "{name}, {distance} along axis {axis}");
            }
        }
    }
}

#[test]
fn coordinates_beyond_the_limit_yield_nan() {
    for (name, dimensions, noise) in NOISES {
        for axis in 0..dimensions {
            for wrong in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1_048_577.0, f32::MIN] {
                let mut point = [0.3; 4];
                point[axis] = wrong;
                assert_eq!(noise(1, point).to_bits(), f32::NAN.to_bits(), "{name} of {wrong}");
            }
            let mut point = [0.3; 4];
            point[axis] = -1_048_576.0;
            assert!(noise(1, point).is_finite(), "{name}");
        }
    }
}

#[test]
fn a_fractal_is_the_weighted_mean_of_its_octaves() {
    let constant = Fractal::<5>::default().sum([0.5, 0.5], |_, _| 0.25);
    assert_eq!(constant, 0.25);
    let octaves = std::cell::RefCell::new(Vec::new());
    let fractal = Fractal::<10> { lacunarity: 3.0, gain: 0.5 };
    let sum = fractal.sum([1.0], |octave, [x]| {
        octaves.borrow_mut().push((octave, x));
        f32::from(u8::from(octave == 1))
    });
    let expected: Vec<_> = (0..10).map(|octave| (octave, 3_f32.powi(octave as i32))).collect();
    assert_eq!(octaves.into_inner(), expected);
    assert!((sum - 0.5 / (2.0 - 1.0 / 512.0)).abs() < 1e-6);
}

#[test]
fn every_level_computes_the_same_bits() {
    CpuLevel::V4.limit();
    let points: Vec<[f32; 4]> = points(1001, 100.0).collect();
    let hash = |level| {
        let mut outputs = vec![[0.0_f32; 12]; points.len()];
        dispatch_at_most(
            level,
            #[inline(always)]
            || {
                for (&[x, y, z, w], output) in points.iter().zip(&mut outputs) {
                    let (flat, deep) = (cellular_2d(1, [x, y]), cellular_3d(2, [x, y, z]));
                    *output = [
                        value_2d(3, [x, y]),
                        value_3d(4, [x, y, z]),
                        value_4d(5, [x, y, z, w]),
                        perlin_2d(6, [x, y]),
                        perlin_3d(7, [x, y, z]),
                        perlin_4d(8, [x, y, z, w]),
                        simplex_2d(9, [x, y]),
                        simplex_3d(10, [x, y, z]),
                        simplex_4d(11, [x, y, z, w]),
                        flat.nearest,
                        flat.second,
                        deep.second,
                    ];
                }
            },
        );
        outputs.iter().flatten().fold(0xcbf2_9ce4_8422_2325_u64, |hash, output| {
            (hash ^ u64::from(output.to_bits())).wrapping_mul(0x0000_0100_0000_01b3)
        })
    };
    for level in CpuLevel::ALL {
        assert_eq!(hash(level), HASH, "at {level}");
    }
}

/// One hash for every level, build profile and platform. A change here changes the results of every replayed simulation.
const HASH: u64 = 6_558_746_731_818_409_118;
