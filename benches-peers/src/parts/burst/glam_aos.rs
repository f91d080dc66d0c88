//! glam's quaternions, one after the other in memory: a rotation is a vector of four lanes.

use std::hint::black_box;

use glam::{Quat, Vec3};

use super::work::{self, AXIS, SPINNERS, STEP, Spinners};
use crate::harness::{Cell, Reading};

pub(super) fn quat_spin(cell: Cell) -> Reading {
    #[inline(never)]
    fn run(rotations: &mut [Quat], speeds: &[f32], axis: Vec3) {
        for (rotation, speed) in rotations.iter_mut().zip(speeds) {
            *rotation = rotation.normalize() * from_axis_angle(axis, speed * STEP);
        }
    }
    let Spinners { rotations, speeds } = Spinners::new();
    let [x, y, z, w] = rotations.each_ref().map(|column| column.get());
    let rotation = |index: usize| Quat::from_xyzw(x[index], y[index], z[index], w[index]);
    let operation = |rotations: &mut Vec<Quat>| {
        run(rotations, speeds.get(), Vec3::from_array(black_box(AXIS)));
    };
    cell.run((0..SPINNERS).map(rotation).collect(), operation, |rotations| {
        work::spun(rotations.iter().map(Quat::to_array))
    })
}

/// Copies `Quat::from_axis_angle` line by line, with the sine and cosine that glam uses by default.
/// If another crate in this program enabled glam's feature `libm`, glam's own function would use
/// slower ones.
#[inline(always)]
fn from_axis_angle(axis: Vec3, angle: f32) -> Quat {
    let (sin, cos) = (angle * 0.5).sin_cos();
    let part = axis * sin;
    Quat::from_xyzw(part.x, part.y, part.z, cos)
}
