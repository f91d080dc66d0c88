//! The data of the kernels, the computation, and the expected results: the same for every subject.

use glam::Vec3;

use crate::harness::CHECKED_OPERATIONS;

/// Elements of `move`, 16 KiB in all. The data fits in the first-level cache, like the entities of a chunk.
pub(super) const MOVERS: usize = 2_048;
/// Rotations of `quat_spin`, 20 KiB in all.
pub(super) const SPINNERS: usize = 1_024;
/// Bodies of `large_closure_vec3`, 18 KiB in all.
pub(super) const BODIES: usize = 512;
/// Elements of the large cases.
pub(super) const MANY: usize = 1_000_000;
/// Duration of a step, in seconds.
pub(super) const STEP: f32 = 1.0 / 64.0;
/// The tolerance for results with sines. Subjects have their own sines, accurate to an ulp or two, so their bits differ.
const TOLERANCE: f64 = 4e-7;

/// An `f32` for each element, from the start of a cache line on, as a chunk of entities has them.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct Column<const N: usize>([f32; N]);

impl<const N: usize> Column<N> {
    /// Returns numbers from `-size` to `size`, which depend on the seed.
    pub(super) fn random(seed: u32, size: f32) -> Box<Column<N>> {
        let mut column = Box::new(Column([0.0; N]));
        column.0.copy_from_slice(&random(N, seed, size));
        column
    }

    pub(super) fn get(&self) -> &[f32] {
        &self.0
    }

    pub(super) fn get_mut(&mut self) -> &mut [f32] {
        &mut self.0
    }
}

/// Returns numbers from `-size` to `size`, which depend on the seed.
pub(super) fn random(count: usize, seed: u32, size: f32) -> Vec<f32> {
    let mut state = seed;
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((state >> 8) as f32 / 8_388_608.0 - 1.0) * size
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// Returns an FNV-1a hash of the bits of the numbers.
pub(super) fn hash<'n>(numbers: impl IntoIterator<Item = &'n f32>) -> u64 {
    numbers.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash, number| {
        (hash ^ u64::from(number.to_bits())).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Counts the numbers that are within tolerance.
fn near(pairs: impl IntoIterator<Item = (f32, f64)>) -> u64 {
    let is_near = |(found, wanted): &(f32, f64)| (f64::from(*found) - wanted).abs() <= TOLERANCE;
    pairs.into_iter().filter(is_near).count() as u64
}

/// The data of `move`: `positions += velocities * STEP`.
#[derive(Debug)]
pub(super) struct Movers {
    pub(super) positions: Box<Column<MOVERS>>,
    pub(super) velocities: Box<Column<MOVERS>>,
}

impl Movers {
    pub(super) fn new() -> Movers {
        Movers { positions: Column::random(1, 100.0), velocities: Column::random(2, 10.0) }
    }

    pub(super) fn result(&mut self) -> u64 {
        hash(self.positions.get())
    }
}

/// The axis that `quat_spin` turns about, a unit vector, the same for all elements. No component is zero, so there is no shortcut.
pub(super) const AXIS: [f32; 3] = [0.48, 0.6, 0.64];

/// The data of `quat_spin`, in columns: `rotation = normalize(rotation) * axis_angle(AXIS, speed * STEP)`.
#[derive(Debug)]
pub(super) struct Spinners {
    /// The columns x, y, z and w.
    pub(super) rotations: [Box<Column<SPINNERS>>; 4],
    /// The speed of each rotation, in radians per second.
    pub(super) speeds: Box<Column<SPINNERS>>,
}

impl Spinners {
    pub(super) fn new() -> Spinners {
        Spinners {
            rotations: [3, 4, 5, 6].map(|seed| Column::random(seed, 1.0)),
            speeds: Column::random(7, 20.0),
        }
    }

    pub(super) fn result(&mut self) -> u64 {
        let [x, y, z, w] = self.rotations.each_ref().map(|column| column.get());
        spun((0..SPINNERS).map(|index| [x[index], y[index], z[index], w[index]]))
    }
}

/// Counts the components of rotations that are right after the checked operations.
pub(super) fn spun(found: impl Iterator<Item = [f32; 4]>) -> u64 {
    let Spinners { rotations, speeds } = Spinners::new();
    let wanted = |index: usize| {
        let mut rotation = rotations.each_ref().map(|column| f64::from(column.get()[index]));
        for _ in 0..CHECKED_OPERATIONS {
            let length = rotation.iter().map(|part| part * part).sum::<f64>().sqrt();
            let (sin, cos) = (f64::from(speeds.get()[index] * STEP) * 0.5).sin_cos();
            let [a, b, c] = AXIS.map(|part| f64::from(part) * sin);
            rotation = product(rotation.map(|part| part / length), [a, b, c, cos]);
        }
        rotation
    };
    let pairs = |(index, found): (usize, [f32; 4])| found.into_iter().zip(wanted(index));
    near(found.enumerate().flat_map(pairs))
}

fn product([x, y, z, w]: [f64; 4], [a, b, c, d]: [f64; 4]) -> [f64; 4] {
    [
        w * a + x * d + y * c - z * b,
        w * b - x * c + y * d + z * a,
        w * c + x * b - y * a + z * d,
        w * d - x * a - y * b - z * c,
    ]
}

/// Returns the addends of `sum_1m`: multiples of a quarter, small enough that every intermediate sum is exact and all orders
/// yield the same bits.
pub(super) fn addends() -> Vec<f32> {
    random(MANY, 8, 16.0).into_iter().map(|number| number.round() / 4.0).collect()
}

/// The data of `sincos_1m`.
#[derive(Debug)]
pub(super) struct Angles {
    pub(super) angles: Vec<f32>,
    pub(super) sines: Vec<f32>,
    pub(super) cosines: Vec<f32>,
}

impl Angles {
    /// Creates angles of up to a turn in either direction.
    pub(super) fn new() -> Angles {
        let angles = random(MANY, 9, std::f32::consts::TAU);
        Angles { angles, sines: vec![0.0; MANY], cosines: vec![0.0; MANY] }
    }

    /// Counts the sines and cosines that are right.
    pub(super) fn result(&mut self) -> u64 {
        let Angles { angles, sines, cosines } = self;
        let wanted = |angle: &f32| f64::from(*angle).sin_cos();
        let sines = sines.iter().zip(angles.iter()).map(|(sin, angle)| (*sin, wanted(angle).0));
        let cosines = cosines.iter().zip(angles.iter()).map(|(cos, angle)| (*cos, wanted(angle).1));
        near(sines.chain(cosines))
    }
}

/// The data of `large_closure_vec3`, as components in a chunk: one slice of vectors each.
#[derive(Debug)]
pub(super) struct Bodies {
    pub(super) positions: Box<Vectors>,
    pub(super) velocities: Box<Vectors>,
    pub(super) targets: Box<Vectors>,
}

/// A vector for each body, from the start of a cache line on.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Vectors(pub(super) [Vec3; BODIES]);

impl Bodies {
    pub(super) fn new() -> Bodies {
        let vectors = |seeds: [u32; 3], size| {
            let [x, y, z] = seeds.map(|seed| random(BODIES, seed, size));
            let vector = |index| Vec3::new(x[index], y[index], z[index]);
            Box::new(Vectors(std::array::from_fn(vector)))
        };
        Bodies {
            positions: vectors([10, 11, 12], 100.0),
            velocities: vectors([13, 14, 15], 10.0),
            targets: vectors([16, 17, 18], 100.0),
        }
    }

    pub(super) fn result(&mut self) -> u64 {
        hash(self.positions.0.iter().chain(&self.velocities.0).flat_map(Vec3::as_ref))
    }
}

/// The data of `large_closure`: the same bodies, with x, y and z in separate columns.
#[derive(Debug)]
pub(super) struct BodyColumns {
    pub(super) positions: [Box<Column<BODIES>>; 3],
    pub(super) velocities: [Box<Column<BODIES>>; 3],
    pub(super) targets: [Box<Column<BODIES>>; 3],
}

impl BodyColumns {
    pub(super) fn new() -> BodyColumns {
        let columns = |seeds: [u32; 3], size| seeds.map(|seed| Column::random(seed, size));
        BodyColumns {
            positions: columns([10, 11, 12], 100.0),
            velocities: columns([13, 14, 15], 10.0),
            targets: columns([16, 17, 18], 100.0),
        }
    }

    pub(super) fn result(&mut self) -> u64 {
        let columns = self.positions.iter().chain(&self.velocities);
        hash(columns.flat_map(|column| column.get()))
    }
}
