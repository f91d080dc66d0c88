//! Plain loops by hand, compiled as the rest of the program is: for the baseline.

use std::hint::black_box;

use ancho_burst::math;
use glam::Vec3;

use super::loops;
use super::work::{self, AXIS, Bodies, BodyColumns, Movers, STEP, Spinners};
use crate::harness::{Cell, Reading};

pub(super) fn advance(cell: Cell) -> Reading {
    #[inline(never)]
    fn run(positions: &mut [f32], velocities: &[f32], seconds: f32) {
        loops::advance(positions, velocities, seconds);
    }
    let operation = |Movers { positions, velocities }: &mut Movers| {
        run(positions.get_mut(), velocities.get(), black_box(STEP));
    };
    cell.run(Movers::new(), operation, Movers::result)
}

/// Uses ancho's sine and cosine, which are vectorised, and so faster than those of the standard
/// library.
pub(super) fn quat_spin(cell: Cell) -> Reading {
    #[inline(never)]
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

/// Adds the elements in order.
pub(super) fn sum_1m(cell: Cell) -> Reading {
    let addends = work::addends();
    let operation = |sum: &mut f32| {
        let mut total = 0.0;
        for addend in black_box(&addends) {
            total += addend;
        }
        *sum = black_box(total);
    };
    cell.run(0.0, operation, |sum| sum.to_bits().into())
}

pub(super) fn large_closure_vec3(cell: Cell) -> Reading {
    #[inline(never)]
    fn run(positions: &mut [Vec3], velocities: &mut [Vec3], targets: &[Vec3]) {
        for ((position, velocity), target) in positions.iter_mut().zip(velocities).zip(targets) {
            loops::steer(position, velocity, *target);
        }
    }
    let operation = |Bodies { positions, velocities, targets }: &mut Bodies| {
        run(&mut positions.0, &mut velocities.0, &targets.0);
    };
    cell.run(Bodies::new(), operation, Bodies::result)
}

pub(super) fn large_closure(cell: Cell) -> Reading {
    #[inline(never)]
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
