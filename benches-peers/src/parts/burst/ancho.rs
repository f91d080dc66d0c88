//! ancho: kernels at the detected CPU level, which is AVX2 where available.

use std::hint::black_box;

use ancho_burst::math::{self, FloatMode};
use ancho_burst::{CpuLevel, burst, in_columns};
use glam::Vec3;

use super::loops;
use super::work::{self, AXIS, Angles, Bodies, BodyColumns, Movers, STEP, Spinners};
use crate::harness::{Cell, Reading, Run};

pub(super) fn advance(cell: Cell) -> Reading {
    #[burst]
    fn run(positions: &mut [f32], velocities: &[f32], seconds: f32) {
        loops::advance(positions, velocities, seconds);
    }
    let operation = |Movers { positions, velocities }: &mut Movers| {
        run(positions.get_mut(), velocities.get(), black_box(STEP));
    };
    cell.run(Movers::new(), operation, Movers::result)
}

pub(super) fn quat_spin(cell: Cell) -> Reading {
    #[burst]
    fn run(
        x: &mut [f32],
        y: &mut [f32],
        z: &mut [f32],
        w: &mut [f32],
        speeds: &[f32],
        axis: [f32; 3],
    ) {
        loops::spin([x, y, z, w], speeds, axis, math::sincos_near);
    }
    let operation = |Spinners { rotations, speeds }: &mut Spinners| {
        let [x, y, z, w] = rotations.each_mut().map(|column| column.get_mut());
        run(x, y, z, w, speeds.get(), black_box(AXIS));
    };
    cell.run(Spinners::new(), operation, Spinners::result)
}

pub(super) fn sum_1m(cell: Cell) -> Reading {
    #[burst]
    fn run(addends: &[f32]) -> f32 {
        math::sum(addends, FloatMode::Fast)
    }
    let addends = work::addends();
    let operation = |sum: &mut f32| *sum = black_box(run(black_box(&addends)));
    cell.run(0.0, operation, |sum| sum.to_bits().into())
}

pub(super) fn sincos_1m(cell: Cell) -> Reading {
    #[burst]
    fn run(angles: &[f32], sines: &mut [f32], cosines: &mut [f32]) {
        math::sincos_slice(angles, sines, cosines);
    }
    let operation = |Angles { angles, sines, cosines }: &mut Angles| run(angles, sines, cosines);
    cell.run(Angles::new(), operation, Angles::result)
}

/// Measures a closure in a function of the user, whose loop is in a function of the library.
pub(super) fn large_closure_vec3(cell: Cell) -> Reading {
    #[burst(closures)]
    fn run(positions: &mut [Vec3], velocities: &mut [Vec3], targets: &[Vec3]) {
        in_columns((positions, velocities, targets), |position, velocity, target| {
            loops::steer(position, velocity, target);
        });
    }
    let operation = |Bodies { positions, velocities, targets }: &mut Bodies| {
        run(&mut positions.0, &mut velocities.0, &targets.0);
    };
    cell.run(Bodies::new(), operation, Bodies::result)
}

pub(super) fn large_closure(cell: Cell) -> Reading {
    #[burst]
    #[expect(
        clippy::too_many_arguments,
        reason = "of parameters the compiler knows they are apart"
    )]
    fn run(
        x: &mut [f32],
        y: &mut [f32],
        z: &mut [f32],
        u: &mut [f32],
        v: &mut [f32],
        w: &mut [f32],
        a: &[f32],
        b: &[f32],
        c: &[f32],
    ) {
        loops::steer_columns([x, y, z], [u, v, w], [a, b, c]);
    }
    let operation = |BodyColumns { positions, velocities, targets }: &mut BodyColumns| {
        let [x, y, z] = positions.each_mut().map(|column| column.get_mut());
        let [u, v, w] = velocities.each_mut().map(|column| column.get_mut());
        let [a, b, c] = targets.each_ref().map(|column| column.get());
        run(x, y, z, u, v, w, a, b, c);
    };
    cell.run(BodyColumns::new(), operation, BodyColumns::result)
}

/// Measures a case with the CPU level limited to that of the build. Each cell has its own process, so no other cell is limited.
pub(super) fn at_baseline(run: Run, cell: Cell) -> Reading {
    CpuLevel::Baseline.limit();
    run(cell)
}
