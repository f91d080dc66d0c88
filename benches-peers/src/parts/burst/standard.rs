//! The standard library, one element at a time.

use std::hint::black_box;

use super::loops;
use super::work::{self, AXIS, Angles, Spinners};
use crate::harness::{Cell, Reading};

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
        loops::spin([x, y, z, w], speeds, axis, f32::sin_cos);
    }
    let operation = |Spinners { rotations, speeds }: &mut Spinners| {
        let [x, y, z, w] = rotations.each_mut().map(|column| column.get_mut());
        run(x, y, z, w, speeds.get(), black_box(AXIS));
    };
    cell.run(Spinners::new(), operation, Spinners::result)
}

pub(super) fn sum_1m(cell: Cell) -> Reading {
    let addends = work::addends();
    let operation = |sum: &mut f32| *sum = black_box(black_box(&addends).iter().sum());
    cell.run(0.0, operation, |sum| sum.to_bits().into())
}

pub(super) fn sincos_1m(cell: Cell) -> Reading {
    #[inline(never)]
    fn run(angles: &[f32], sines: &mut [f32], cosines: &mut [f32]) {
        for ((angle, sin), cos) in angles.iter().zip(sines).zip(cosines) {
            (*sin, *cos) = angle.sin_cos();
        }
    }
    let operation = |Angles { angles, sines, cosines }: &mut Angles| run(angles, sines, cosines);
    cell.run(Angles::new(), operation, Angles::result)
}
