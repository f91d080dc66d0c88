//! Loops compiled for the CPU that runs them, and vectorised mathematics.

mod ancho;
mod baseline;
mod glam_aos;
mod loops;
mod raw;
mod standard;
mod work;

use crate::harness::{Bound, Case, Part, Require, Role, Sampling, Subject, Under};

pub(crate) static PART: Part = Part {
    name: "burst",
    about: "loops compiled for the CPU at hand, and their mathematics",
    subjects: &[
        Subject { name: "ancho", role: Role::Ours },
        Subject { name: "baseline", role: Role::Ours },
        Subject { name: "raw", role: Role::Peer },
        Subject { name: "glam_aos", role: Role::Peer },
        Subject { name: "std", role: Role::Peer },
    ],
    cases: &[
        // 2,048 elements.
        Case {
            name: "move",
            sampling: Sampling::Repeat,
            cells: &[
                ("ancho", ancho::advance),
                ("baseline", baseline::advance),
                ("raw", raw::advance),
            ],
            limits: &[],
            requires: &[at_most("ancho", "raw", 0.85)],
        },
        // 1,024 rotations, normalised and turned.
        Case {
            name: "quat_spin",
            sampling: Sampling::Repeat,
            cells: &[
                ("ancho", ancho::quat_spin),
                ("baseline", baseline::quat_spin),
                ("raw", raw::quat_spin),
                ("glam_aos", glam_aos::quat_spin),
                ("std", standard::quat_spin),
            ],
            limits: &[],
            requires: &[at_least("raw", "ancho", 2.0), at_least("glam_aos", "ancho", 4.0)],
        },
        // A million numbers; in order, except for ours.
        Case {
            name: "sum_1m",
            sampling: Sampling::Repeat,
            cells: &[
                ("ancho", ancho::sum_1m),
                ("baseline", baseline::sum_1m),
                ("raw", raw::sum_1m),
                ("std", standard::sum_1m),
            ],
            limits: &[],
            requires: &[at_least("raw", "ancho", 10.0)],
        },
        // The sines and cosines of a million angles.
        Case {
            name: "sincos_1m",
            sampling: Sampling::Repeat,
            cells: &[
                ("ancho", ancho::sincos_1m),
                ("baseline", baseline::sincos_1m),
                ("std", standard::sincos_1m),
            ],
            limits: &[],
            requires: &[at_least("std", "ancho", 3.0)],
        },
        // Twenty lines of steering for 512 bodies, with a column for each component of their vectors.
        Case {
            name: "large_closure",
            sampling: Sampling::Repeat,
            cells: &[
                ("ancho", ancho::large_closure),
                ("baseline", baseline::large_closure),
                ("raw", raw::large_closure),
            ],
            limits: &[],
            requires: &[at_most("baseline", "raw", 1.05), at_most("ancho", "raw", 0.65)],
        },
        // The same, with the vectors in slices.
        Case {
            name: "large_closure_vec3",
            sampling: Sampling::Repeat,
            cells: &[
                ("ancho", ancho::large_closure_vec3),
                ("baseline", baseline::large_closure_vec3),
                ("raw", raw::large_closure_vec3),
            ],
            limits: &[],
            requires: &[at_most("baseline", "raw", 1.05), at_most("ancho", "raw", 0.65)],
        },
    ],
};

const fn at_most(over: &'static str, under: &'static str, most: f64) -> Require {
    Require { over, under: Under::Subject(under), bound: Bound::AtMost(most) }
}

const fn at_least(over: &'static str, under: &'static str, least: f64) -> Require {
    Require { over, under: Under::Subject(under), bound: Bound::AtLeast(least) }
}
