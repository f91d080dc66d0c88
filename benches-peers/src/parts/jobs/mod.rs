//! Running jobs: alone, in a chain, in a fan, in a parallel loop, and idle.
//!
//! All cases use two threads, whatever the subject calls them.

mod ancho;
mod bevy_tasks;
mod paralight;
mod rayon;
mod rayon_inside;
mod serial;
mod spin;
mod work;

use std::time::Duration;

use crate::harness::{Bound, Case, Limit, Part, Require, Run, Sampling, Subject, Under, at_most};

pub(crate) static PART: Part = Part {
    name: "jobs",
    about: "the cost of scheduling",
    subjects: &[
        Subject::ours("ancho"),
        Subject::peer("rayon"),
        Subject::peer("rayon_inside"),
        Subject::peer("bevy_tasks"),
        Subject::peer("paralight"),
        Subject::limit("spin"),
        Subject::limit("serial"),
    ],
    cases: &[
        // One job, scheduled and waited for on the main thread.
        Case {
            name: "empty",
            sampling: Sampling::Repeat,
            cells: EMPTY,
            limits: SERIAL,
            requires: &[of_rayon(0.15)],
        },
        // The same when the workers have gone to sleep.
        Case {
            name: "empty_cold",
            sampling: Sampling::AfterIdle(Duration::from_millis(4)),
            cells: EMPTY,
            limits: SERIAL,
            requires: &[of_rayon(0.15)],
        },
        // 1,000 jobs, each of which depends on the one before.
        Case {
            name: "chain_1000",
            sampling: Sampling::Repeat,
            cells: &[
                ("ancho", ancho::chain),
                ("rayon", rayon::chain),
                ("rayon_inside", rayon_inside::chain),
                ("bevy_tasks", bevy_tasks::chain),
                ("paralight", paralight::chain),
                ("spin", spin::chain),
                ("serial", serial::chain),
            ],
            limits: SERIAL,
            requires: &[of_rayon(0.9)],
        },
        // The same, where each of our jobs also takes the container that the one before wrote, so that scheduling checks the
        // access. The peers have no such check, and run the same code as before.
        Case {
            name: "chain_1000_checked",
            sampling: Sampling::Repeat,
            cells: &[
                ("ancho", ancho::chain_checked),
                ("rayon", rayon::chain),
                ("rayon_inside", rayon_inside::chain),
                ("serial", serial::chain),
            ],
            limits: SERIAL,
            requires: &[of_rayon(0.9)],
        },
        // 1,000 independent jobs, and a wait for all of them.
        Case {
            name: "fan_1000",
            sampling: Sampling::Repeat,
            cells: &[
                ("ancho", ancho::fan),
                ("rayon", rayon::fan),
                ("rayon_inside", rayon_inside::fan),
                ("bevy_tasks", bevy_tasks::fan),
                ("paralight", paralight::fan),
                ("spin", spin::fan),
                ("serial", serial::fan),
            ],
            limits: SERIAL,
            requires: &[of_rayon(0.8)],
        },
        // x = x * 1.0001 + 0.5 on a million floats, in batches.
        parallel_for::<64>("for_1m_b64"),
        parallel_for::<1_024>("for_1m_b1024"),
        parallel_for::<16_384>("for_1m_b16384"),
        // CPU time in a second in which `empty` runs every millisecond.
        Case {
            name: "burn_1khz",
            sampling: Sampling::Burn { period: Duration::from_millis(1) },
            cells: EMPTY,
            limits: SERIAL,
            requires: &[of_rayon(1.0)],
        },
    ],
};

const EMPTY: &[(&str, Run)] = &[
    ("ancho", ancho::empty),
    ("rayon", rayon::empty),
    ("rayon_inside", rayon_inside::empty),
    ("bevy_tasks", bevy_tasks::empty),
    ("paralight", paralight::empty),
    ("spin", spin::empty),
    ("serial", serial::empty),
];

const SERIAL: &[Limit] = &[Limit { subject: "serial", threads: 1.0 }];

const fn parallel_for<const BATCH: usize>(name: &'static str) -> Case {
    Case {
        name,
        sampling: Sampling::Repeat,
        cells: const {
            &[
                ("ancho", ancho::parallel_for::<BATCH>),
                ("rayon", rayon::parallel_for::<BATCH>),
                ("rayon_inside", rayon_inside::parallel_for::<BATCH>),
                ("bevy_tasks", bevy_tasks::parallel_for::<BATCH>),
                ("paralight", paralight::parallel_for::<BATCH>),
                ("spin", spin::parallel_for::<BATCH>),
                ("serial", serial::parallel_for::<BATCH>),
            ]
        },
        limits: &[
            Limit { subject: "serial", threads: 2.0 },
            Limit { subject: "spin", threads: 1.0 },
        ],
        requires: const {
            &[
                of_rayon(0.7),
                Require {
                    over: "serial",
                    under: Under::Subject("ancho"),
                    bound: Bound::AtLeast(1.8),
                },
            ]
        },
    }
}

const fn of_rayon(most: f64) -> Require {
    at_most(most, Under::Subject("rayon"))
}
