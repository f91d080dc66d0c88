//! A fixed simulation has one outcome, at every level, in debug and release.

use ancho_burst::{CpuLevel, dispatch_at_most};

const BODIES: usize = 509;
const STEPS: usize = 200;

/// Bodies in columns, which suit kernels.
struct Bodies {
    position: [Vec<f32>; 3],
    velocity: [Vec<f32>; 3],
    spin: [Vec<f32>; 4],
}

impl Bodies {
    fn new() -> Self {
        let mut state = 0x2545_f491_u32;
        let mut column = |range: f32| {
            let next = |_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                ((state >> 8) as f32 / 16_777_216.0 - 0.5) * range
            };
            (0..BODIES).map(next).collect::<Vec<f32>>()
        };
        Self {
            position: [column(100.0), column(100.0), column(100.0)],
            velocity: [column(10.0), column(10.0), column(10.0)],
            spin: [column(1.0), column(1.0), column(1.0), vec![1.0; BODIES]],
        }
    }

    fn step(&mut self) {
        let ([x, y, z], [vx, vy, vz]) = (&mut self.position, &mut self.velocity);
        for i in 0..BODIES {
            let squared = x[i] * x[i] + y[i] * y[i] + z[i] * z[i] + 1.0;
            let pull = -40.0 / (squared * squared.sqrt());
            let drag = if squared > 2500.0 { 0.9 } else { 0.999 };
            vx[i] = (vx[i] + x[i] * pull) * drag;
            vy[i] = (vy[i] + y[i] * pull) * drag;
            vz[i] = (vz[i] + z[i] * pull) * drag;
            x[i] += vx[i] * 0.016;
            y[i] += vy[i] * 0.016;
            z[i] = if z[i] < -40.0 { 40.0 } else { z[i] + vz[i] * 0.016 };
        }
        let [a, b, c, d] = &mut self.spin;
        for i in 0..BODIES {
            // A quaternion times a small rotation about the velocity, normalised.
            let (p, q, r) = (vx[i] * 0.008, vy[i] * 0.008, vz[i] * 0.008);
            let na = a[i] + d[i] * p + b[i] * r - c[i] * q;
            let nb = b[i] + d[i] * q + c[i] * p - a[i] * r;
            let nc = c[i] + d[i] * r + a[i] * q - b[i] * p;
            let nd = d[i] - a[i] * p - b[i] * q - c[i] * r;
            let length = (na * na + nb * nb + nc * nc + nd * nd).sqrt();
            (a[i], b[i], c[i], d[i]) = (na / length, nb / length, nc / length, nd / length);
        }
    }

    /// Returns the FNV-1a hash of the bits.
    fn hash(&self) -> u64 {
        let columns = self.position.iter().chain(&self.velocity).chain(&self.spin);
        columns
            .flatten()
            .flat_map(|value| value.to_bits().to_le_bytes())
            .fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            })
    }
}

#[test]
fn every_level_computes_the_same_bits() {
    CpuLevel::V4.limit();
    for level in CpuLevel::ALL {
        let mut bodies = Bodies::new();
        for _ in 0..STEPS {
            dispatch_at_most(level, || bodies.step());
        }
        assert_eq!(bodies.hash(), 4_246_713_644_995_553_316, "at {level}");
    }
}
