//! Loops compiled for the CPU that runs them, and vectorised mathematics.

mod ancho;
mod glam_aos;
mod loops;
mod raw;
mod standard;
mod work;

use crate::harness::{Bound, Case, Part, Require, Sampling, Subject, Under};

pub(crate) static PART: Part = Part {
    name: "burst",
    about: "loops compiled for the CPU at hand, and their mathematics",
    subjects: &[
        Subject::ours("ancho"),
        Subject::ours("baseline"),
        Subject::peer("raw"),
        Subject::peer("glam_aos"),
        Subject::peer("std"),
    ],
    cases: &[
        // 2,048 elements.
        Case {
            name: "move",
            sampling: Sampling::Repeat,
            cells: &[
                ("ancho", ancho::advance),
                ("baseline", |cell| ancho::at_baseline(ancho::advance, cell)),
                ("raw", raw::advance),
            ],
            limits: &[],
            requires: &[ratio_at_most("ancho", "raw", 0.85)],
        },
        // 1,024 rotations, normalised and turned.
        Case {
            name: "quat_spin",
            sampling: Sampling::Repeat,
            cells: &[
                ("ancho", ancho::quat_spin),
                ("baseline", |cell| ancho::at_baseline(ancho::quat_spin, cell)),
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
                ("baseline", |cell| ancho::at_baseline(ancho::sum_1m, cell)),
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
                ("baseline", |cell| ancho::at_baseline(ancho::sincos_1m, cell)),
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
                ("baseline", |cell| ancho::at_baseline(ancho::large_closure, cell)),
                ("raw", raw::large_closure),
            ],
            limits: &[],
            requires: &[
                ratio_at_most("baseline", "raw", 1.05),
                ratio_at_most("ancho", "raw", 0.65),
            ],
        },
        // The same, with the vectors in slices.
        Case {
            name: "large_closure_vec3",
            sampling: Sampling::Repeat,
            cells: &[
                ("ancho", ancho::large_closure_vec3),
                ("baseline", |cell| ancho::at_baseline(ancho::large_closure_vec3, cell)),
                ("raw", raw::large_closure_vec3),
            ],
            limits: &[],
            requires: &[
                ratio_at_most("baseline", "raw", 1.05),
                ratio_at_most("ancho", "raw", 0.65),
            ],
        },
    ],
};

const fn ratio_at_most(over: &'static str, under: &'static str, most: f64) -> Require {
    Require { over, under: Under::Subject(under), bound: Bound::AtMost(most) }
}

const fn at_least(over: &'static str, under: &'static str, least: f64) -> Require {
    Require { over, under: Under::Subject(under), bound: Bound::AtLeast(least) }
}
