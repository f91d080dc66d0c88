//! ancho, with the level forced down to that of the build.

use ancho_burst::CpuLevel;

use super::ancho;
use crate::harness::{Cell, Reading, Run};

/// Each cell has its own process, so no other cell is limited.
fn limited(run: Run, cell: Cell) -> Reading {
    CpuLevel::Baseline.limit();
    run(cell)
}

pub(super) fn advance(cell: Cell) -> Reading {
    limited(ancho::advance, cell)
}

pub(super) fn quat_spin(cell: Cell) -> Reading {
    limited(ancho::quat_spin, cell)
}

pub(super) fn sum_1m(cell: Cell) -> Reading {
    limited(ancho::sum_1m, cell)
}

pub(super) fn sincos_1m(cell: Cell) -> Reading {
    limited(ancho::sincos_1m, cell)
}

pub(super) fn large_closure_vec3(cell: Cell) -> Reading {
    limited(ancho::large_closure_vec3, cell)
}

pub(super) fn large_closure(cell: Cell) -> Reading {
    limited(ancho::large_closure, cell)
}
